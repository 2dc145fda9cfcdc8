"""Default queue types of virtual hosts: the releases that have them, and the queues that get them."""

from __future__ import annotations

import pytest

from hawb.rules.queue_types import has_default_types, release_numbers, takes_default_type


@pytest.mark.parametrize(
    ("release", "has"),
    [
        ("3.8.9", False), ("3.10.7", False), ("3.10.8", True), ("3.10.8-1", True), ("3.11.0", True), ("4.3.6", True),
        ("3.9", False), ("3.10", True), ("3.10-management", True), ("latest", False),
    ],
)  # fmt: skip
def test_virtual_hosts_have_default_types_since_3_10_8(release: str, has: bool):
    assert has_default_types(release) is has


def test_series_counts_as_its_newest_release():
    assert release_numbers("3.10") > release_numbers("3.10.25") > release_numbers("3.10.8")
    assert release_numbers("latest") is None


@pytest.mark.parametrize(
    ("durable", "exclusive", "auto_delete", "takes"),
    [
        (True, False, False, True), (None, None, None, True), (False, False, False, False), (True, True, False, False),
        (True, False, True, False),
    ],
)  # fmt: skip
def test_only_durable_shared_queues_get_the_default_type(durable, exclusive, auto_delete, takes: bool):
    assert takes_default_type(durable, exclusive, auto_delete) is takes
