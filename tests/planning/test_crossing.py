"""The move to quorum queues on an upgrade path: its place between the steps, and queues moved at the end."""

from __future__ import annotations

import pytest
from inventories import FILES, cluster, policy, queue
from migrations import MATRIX

from hawb.planning import inventory
from hawb.planning.crossing import RELEASE_UNKNOWN, crossed, later
from hawb.rules.upgrade_road import NoRoad


def plan(version: str = "3.13", to: str = "4.3", release: str | None = "", **more):
    made = cluster(policy(ha_mode="all"), queues=[queue("q.plain"), queue("q.ranked", arguments={"x-max-priority": 5})],
                   version=version, release=f"{version}.1" if release == "" else release)  # fmt: skip
    return crossed(made, to, MATRIX, **more)


def test_queues_are_moved_before_the_step_that_ends_mirroring():
    found = plan("3.10")
    assert found.crossing is not None and found.crossing.before is not None
    assert [leg.name for leg in found.crossing.legs][found.crossing.moves_before] == "3.13 -> 4.2"
    assert found.crossing.before.target.version == "3.13"


def test_queues_that_need_a_later_release_move_at_the_end():
    found = plan()
    assert [move.queue.name for move in later(found)] == ["q.ranked"]
    assert [move.queue.name for move in found.moved] == ["q.plain", "q.ranked"]
    assert later(plan("4.0")) == [] and later(plan("3.10", "3.13")) == []


def test_queues_are_moved_at_the_end_since_4_0():
    found = plan("4.0")
    assert found.crossing is not None and found.crossing.before is None
    assert found.crossing.moves_before == len(found.crossing.legs) == 2


@pytest.mark.parametrize(("version", "to"), [("3.13", "3.13"), ("4.0", "3.13")])
def test_same_or_older_release_has_no_path(version: str, to: str):
    assert plan(version, to).crossing is None


def test_unknown_release_has_no_path():
    assert plan(release=None).notes[-1] == RELEASE_UNKNOWN and plan(release=None).crossing is None
    with pytest.raises(NoRoad, match="name it with --from"):
        plan(release=None, via=[])
    with pytest.raises(NoRoad, match=r"release '3\.7\.28': not one of"):
        plan(release="3.7.28", via=[])
    assert plan(release="3.7.28").crossing is None


def test_release_is_read_from_the_files():
    assert inventory.of_files(FILES).release == "3.10.8"
    assert inventory.of_files(FILES, "3.12.14").release == "3.12.14"
    assert plan("3.10", release="3.12.14").runs == "3.12.14, by the rules of 3.10.8"
