"""Places in files of the queues and policies that the linter names."""

from __future__ import annotations

from pathlib import Path

import pytest

from hawb.planning import places as room
from hawb.planning.places import Place, places


def test_operator_policy_is_found_among_the_parameters(tmp_path: Path):
    file = tmp_path / "definitions.json"
    file.write_text(
        '{"policies": [\n{"name": "p", "vhost": "shop"}],\n'
        '"parameters": [{"component": "shovel", "name": "s"},\n{"component": "operator_policy", "name": "o"}]}'
    )
    assert places([file]) == {
        ("policy", "shop::p"): Place(str(file), 2),
        ("operator policy", "o"): Place(str(file), 4),
    }


def test_entries_without_a_virtual_host_belong_to_the_given_one(tmp_path: Path):
    file = tmp_path / "definitions.json"
    file.write_text('{"queues": [{"name": "q"}]}')
    assert places([f"shop={file}"]) == {("queue", "shop::q"): Place(str(file), 1)}


def test_first_file_with_an_entry_counts(tmp_path: Path):
    first, second = tmp_path / "definitions.json", tmp_path / "queues.json"
    first.write_text('{"queues": [{"name": "q"}]}')
    second.write_text('[\n{"name": "q"},\n{"name": "r"}]')
    assert places([first, second]) == {("queue", "q"): Place(str(first), 1), ("queue", "r"): Place(str(second), 3)}


@pytest.mark.parametrize(
    "content", ["", "queues: [{name", '{"queues": 7, "steps": [3], "items": {}}', "a: &x [*x]", "\ud800"]
)
def test_unreadable_file_has_no_places(content: str, tmp_path: Path):
    file = tmp_path / "definitions.json"
    file.write_text(content, errors="surrogatepass")
    assert places([file, tmp_path / "not there"]) == {}


def test_large_file_is_not_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "definitions.json"
    file.write_text('{"queues": [{"name": "q"}]}')
    monkeypatch.setattr(room, "MOST_BYTES", 9)
    assert places([file]) == {}
