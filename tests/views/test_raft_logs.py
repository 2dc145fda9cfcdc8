"""The log view of a quorum queue: every member's term, role, vote and log, as text and as a table."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from views_outcomes import HOSTILE, QUORUM_PARTED

from hawb import Cluster
from hawb.raft.log import NOOP, Log, Run, Snapshot
from hawb.raft.member import Member
from hawb.scenario.load import load, read_scenario
from hawb.scenario.run import Run as Story
from hawb.views.cluster import raft

QUORUM = {"declare": {"queue": "q", "node": "a", "arguments": {"x-queue-type": "quorum"}}}


def table(story: Story, queue: str = "q") -> list[list[str]]:
    """Return the cells of a group's table, header and rows."""
    drawn = raft.html(story.moment().state, story.settings.names, queue)
    root = ElementTree.fromstring(f"<div>{drawn}</div>")
    return [["".join(part.itertext()) for part in row] for row in root.iter("tr")]


def of(*steps: dict, nodes: tuple[str, ...] = ("a", "b", "c")) -> Story:
    return Story.of(read_scenario({"scenario": "s", "cluster": {"nodes": list(nodes)}, "steps": list(steps)}))


def test_logs_are_aligned_by_index():
    story = Story.of(load(QUORUM_PARTED))
    assert table(story) == [
        ["member", "role", "term", "vote", "commit", "1", "2 to 11", "12", "13 to 17", "18 to 22"],
        ["a", "● follower", "2", "c", "17", "t1 noop", "enqueue(1-10)", "t2 noop", "enqueue(11-15)", "enqueue(21-25)"],
        ["b", "✕ down", "2", "c", "17", "t1 noop", "enqueue(1-10)", "t2 noop", "enqueue(11-15)", ""],
        ["c", "⬡ leader", "2", "c", "17", "t1 noop", "enqueue(1-10)", "t2 noop", "enqueue(11-15)", "enqueue(21-25)"],
        ["d", "● follower", "1", "e", "11", "t1 noop", "enqueue(1-10)", "", "", ""],
        ["e", "⬡ leader", "1", "e", "11", "t1 noop", "enqueue(1-10)", "", "", ""],
    ]


def test_committed_and_uncommitted_entries_differ_in_shape_and_text():
    drawn = raft.html(*stands(Story.of(load(QUORUM_PARTED))), "q")
    assert 'title="13 to 17: term 2, committed and on disk"' in drawn
    assert 'title="18 to 22: term 2, not known to be committed and on disk"' in drawn
    assert raft.UNCOMMITTED in drawn
    assert 'aria-label="leader without a majority"' in drawn


def stands(story: Story) -> tuple:
    return story.moment().state, story.settings.names


def test_leader_with_a_majority_has_a_filled_shape():
    assert table(of(QUORUM, {"kill": "b"}))[1][1] == "⬢ leader"
    assert table(of(QUORUM, {"kill": ["b", "c"]}))[1][1] == "⬡ leader"


def test_waiting_commands_are_listed_and_many_are_counted():
    parted = of(QUORUM, {"kill": ["b", "c"]}, *({"publish": {"queue": "q", "count": 2}} for _ in range(5)))
    (line,) = raft.waiting(*stands(parted), "q")
    assert line == (
        "waiting to be committed: enqueue(1-2) of a client on a; enqueue(3-4) of a client on a; enqueue(5-6) of a "
        "client on a; 2 others"
    )
    assert f"<div>{line}</div>" in raft.html(*stands(parted), "q")
    assert raft.waiting(*stands(of(QUORUM)), "q") == []


def test_long_log_shows_its_end_and_counts_the_rest():
    story = of(QUORUM, *({"publish": {"queue": "q", "count": 3}} for _ in range(9)))
    head, first, *_ = table(story)
    assert head[5:] == ["1 to 16", "17 to 19", "20 to 22", "23 to 25", "26 to 28"]
    assert first[5:7] == ["t1 16 entries", "enqueue(16-18)"]


def test_split_batch_lists_the_messages_of_each_part():
    late = {"publish": {"queue": "q", "count": 3, "node": "a"}}
    parted = of(QUORUM, late, {"partition": [["a"], ["b", "c"]]}, late, {"kill": "a"}, {"wait": 30})
    head, a, *_ = table(parted)
    assert dict(zip(head[6:], a[6:], strict=True)) == {
        "2 to 4": "enqueue(1-3)", "5": "enqueue(4)", "6 to 7": "enqueue(5-6)",
    }  # fmt: skip
    assert "2..4 enqueue(1-3)| 5..7 enqueue(4-6)~" in raft.text(*stands(parted), "q")


def test_a_new_group_and_an_empty_member_can_be_drawn():
    assert table(of(QUORUM))[1][5:] == ["t1 noop"]
    story = of(QUORUM, {"stop": "c"}, {"wipe": "c"}, {"add_member": {"queue": "q", "node": "b"}})
    assert [row[0] for row in table(story)[1:]] == ["a", "b"]


def test_entries_that_are_not_on_disk_and_snapshots_are_marked():
    log = Log.of(Snapshot(3, 1, (0, 1))).append(Run(4, 2, 2, NOOP)).append(Run(6, 1, 3, NOOP)).write(0, 5)
    member = Member(0, log, term=3, commit_index=4)
    assert raft.cell(member, ["a"], 1, 3) == raft.Cell("snapshot", "1 to 3: in the snapshot", committed=True)
    assert raft.cell(member, ["a"], 4, 4).text == "t2 noop"
    assert raft.cell(member, ["a"], 5, 5, term=2) == raft.Cell(
        "noop", "5: term 2, not known to be committed and on disk", committed=False
    )
    assert raft.cell(member, ["a"], 6, 6) == raft.Cell(
        "t3 noop, not on disk", "6: term 3, not known to be committed and not on disk", committed=False
    )
    assert raft.cell(member, ["a"], 4, 6).text == "t2, t3 3 entries, not on disk"
    assert raft.cell(member, ["a"], 7, 9) == raft.Cell("", "7 to 9: no entry", committed=None)


def test_a_group_is_drawn_as_it_will_be_at_a_time():
    slow = {"link_latency_s": 1, "fsync_s": 0.5}
    cluster = Cluster("a", "b", timing=slow).declare("q", arguments={"x-queue-type": "quorum"}).publish("q", at=20)
    before = cluster.raft("q")
    assert "a  leader    1     a          a       t1: 1 noop| 2 enqueue(1)~" in cluster.raft("q", at=21.2)
    assert "b  follower  1     a          a       t1: 1 noop|~ 2 enqueue(1)" in cluster.raft("q", at=21.2)
    assert "b  follower  1     a          a       t1: 1 noop| 2 enqueue(1)~" in cluster.raft("q", at=22.6)
    assert cluster.raft("q", at=30) == cluster.raft("q") == before
    with pytest.raises(ValueError, match=r"19\.5 s is in the past: the last step was played at 20 s"):
        cluster.raft("q", at=19.5)


def test_a_cluster_in_python_draws_its_group_as_text():
    cluster = Cluster("a", "b", "c").declare("q", arguments={"x-queue-type": "quorum"}).kill("b", "c").publish("q", 5)
    assert cluster.raft("q") == (
        "   role    term  voted for  leader  log\n"
        "a  leader  1     a          a       t1: 1 noop| 2..6 enqueue(1-5)~\n"
        "                                    peers: b 1 next 7, c 1 next 7\n"
        "b  down    1     a          a       t1: 1 noop|~\n"
        "c  down    1     a          a       t1: 1 noop|~\n"
        "waiting to be committed: enqueue(1-5) of a client on a\n"
    )
    with pytest.raises(ValueError, match="there is no quorum queue 'x'; those that there are: 'q'"):
        cluster.raft("x")


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_escaped(name):
    declared = {"declare": {"queue": name, "node": name, "arguments": {"x-queue-type": "quorum"}}}
    story = of(declared, {"publish": {"queue": name, "count": 3}}, {"kill": "other"},
               {"publish": {"queue": name, "count": 3}}, nodes=(name, "other"))  # fmt: skip
    drawn = raft.html(*stands(story), name)
    assert len(table(story, name)) == 3
    assert "<script" not in drawn
    assert not re.search("[\x00-\x1f\u202a-\u202e]", drawn)
    assert not re.search("[\x00-\x09\x0b-\x1f\u202a-\u202e]", raft.text(*stands(story), name))
