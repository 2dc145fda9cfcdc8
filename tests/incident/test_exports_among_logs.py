"""Exports and logs are distinguished by content."""

from __future__ import annotations

import gzip
import json

import pytest
from inventories import FILES
from kept_logs import STORIES, logs

from hawb.incident.exports import is_export, parted

TEXT = "2026-11-27 08:55:23.1+00:00 [info] <0.1.0> node 'rabbit@a' up\n"
LINE = json.dumps({"time": "2026-11-27 08:55:23.1+00:00", "level": "info", "msg": "node 'rabbit@a' up"})


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_exports_of_a_real_cluster_are_recognised(file):
    assert is_export(file)


@pytest.mark.parametrize("story", STORIES[:3], ids=lambda folder: folder.name)
def test_logs_of_real_clusters_are_recognised(story):
    assert parted([story, *logs(story)]) == ([story, *logs(story)], [])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TEXT, False),
        (f"{LINE}\n{LINE}\n", False),
        (LINE, False),
        (json.dumps({"MESSAGE": "x", "__REALTIME_TIMESTAMP": "1"}), False),
        (json.dumps({"log": TEXT, "stream": "stdout"}), False),
        ("", False),
        ("no\tlog\n", False),
        ("{", False),
        ('{"queues": [], "policies": []}', True),
        (json.dumps({"queues": [], "policies": []}, indent=1), True),
        ("\ufeff[]", True),
        ("[]", True),
        ('{"items": [], "page": 1}', True),
        ("Timeout: 60.0 seconds ...\nListing queues for vhost / ...\nname\tmessages\nq\t5\n", True),
    ],
)
def test_other_files_are_recognised_by_content(tmp_path, text, expected):
    file = tmp_path / "given"
    file.write_text(text, encoding="utf-8")
    assert is_export(file) is expected


def test_truncated_file_is_read_as_a_log(tmp_path):
    file = tmp_path / "rabbit@a.log.gz"
    file.write_bytes(gzip.compress(TEXT.encode() * 1000)[:20])
    assert not is_export(file)


def test_missing_file_is_refused(tmp_path):
    with pytest.raises(OSError, match="none"):
        parted([tmp_path / "none"])
