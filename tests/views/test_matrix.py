"""The replica matrix: shapes and text."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from views_outcomes import HOSTILE, QUORUM_PARTED, UNSYNCHRONISED, before_last_step, hostile, play, recorded, steps

from hawb.cluster import Cluster
from hawb.scenario.load import load
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.views import style
from hawb.views.cluster import ledger, matrix
from hawb.views.cluster.replicas import replicas
from hawb.views.formatting import shown

SYNCHRONISING = """
scenario: A synchronisation is under way at the last step
cluster: {nodes: [a, b]}
steps:
  - set_policy: {name: p, pattern: q, definition: {ha-mode: all, ha-sync-mode: automatic}}
  - declare: {queue: q, node: a}
  - stop: b
  - publish: {queue: q, count: 1000000, node: a}
  - {start: b, at: 20}
  - {kill: a, at: 30}
"""

SVG = "{http://www.w3.org/2000/svg}"


def titles(svg: str) -> list[str]:
    return [title.text for title in ElementTree.fromstring(svg).iter(f"{SVG}title")]


def test_text_names_every_replica_with_its_glyph_and_messages():
    was, _ = before_last_step(UNSYNCHRONISED)
    assert matrix.text(was) == (
        "nodes: a running, b running, c down\n"
        "ha.orders (running): a ■ master, 110 messages; b ◔ unsynchronised mirror, 10 messages; "
        "c ✕ left over on disk, 110 messages"
    )


@pytest.mark.parametrize(("share", "glyph"), [(0, "○"), (0.001, "◔"), (0.375, "◔"), (0.5, "◑"), (0.7, "◕"), (1, "◕")])
def test_ring_is_empty_only_without_messages(share, glyph):
    assert style.ring(share) == glyph


def test_roles_differ_by_glyph_or_word_and_never_by_colour_alone():
    looks = list(style.LOOKS.values())
    assert len({look.word for look in looks}) == len(looks)
    for role, other in (("master", "synchronised"), ("synchronised", "unsynchronised"), ("leader", "follower")):
        assert style.LOOKS[role].glyph != style.LOOKS[other].glyph


def test_every_cell_has_its_words_as_title():
    was, _ = before_last_step(UNSYNCHRONISED)
    assert "b: unsynchronised mirror, 10 messages" in titles(matrix.svg(was))


def test_changes_show_former_and_current_values():
    was, now = before_last_step(UNSYNCHRONISED)
    result = titles(matrix.svg(now, was))
    assert "a: running → down" in result
    assert "b: unsynchronised mirror, 10 messages → master, 10 messages" in result
    assert style.CHANGED in matrix.svg(now, was)


def test_nothing_is_marked_without_a_former_outcome():
    assert style.CHANGED not in matrix.svg(play(UNSYNCHRONISED))


def test_counts_show_former_and_current_values():
    was = steps({"declare": {"queue": "q", "node": "a"}}, {"publish": {"queue": "q", "count": 40}})
    now = steps({"declare": {"queue": "q", "node": "a"}}, {"publish": {"queue": "q", "count": 70}})
    assert ">40→70</text>" in matrix.svg(now, was)


def test_deleted_queue_keeps_its_row():
    was = steps({"declare": {"queue": "q", "node": "a"}})
    now = steps({"declare": {"queue": "q", "node": "a"}}, {"delete": {"queue": "q"}})
    assert "q: running → gone" in titles(matrix.svg(now, was))
    assert "q: not there → running" in titles(matrix.svg(was, now))


def test_synchronising_mirror_is_labelled():
    run = Run.of(load(SYNCHRONISING))
    result = outcome(run, run.moment_of(5))
    assert result["queues"]["q"]["state"] == "syncing"
    assert replicas(result["queues"]["q"])["b"].description == "unsynchronised mirror, being synchronised, no messages"
    assert matrix.summary(result).endswith("; syncing: q.")


def test_a_quorum_queue_has_a_leader_and_followers():
    queue = {"type": "quorum", "state": "running", "leader": "a", "members": ["a", "b", "c"], "online": ["a", "b"]}
    data = {"nodes": {"a": "running", "b": "running", "c": "down"}, "queues": {"q": queue}}
    assert matrix.text(data).endswith("q (running, 2 of 3 members online): a ⬢ leader; b ● follower; c ✕ down")


def test_quorum_queue_shows_leader_term_majority_lag_and_uncommitted():
    result = play(QUORUM_PARTED)
    assert matrix.text(result).splitlines()[1] == (
        "q (running, 4 of 5 members online, 10 messages uncommitted): a ● follower, 15 messages; b ✕ down, 15 "
        "messages; c ⬡ leader without a majority in term 2, 15 messages; d ● follower, 10 messages, 6 entries behind; "
        "e ● follower, 10 messages, 6 entries behind"
    )
    svg = matrix.svg(result)
    assert "q: running, 4 of 5 members online, 10 messages uncommitted" in titles(svg)
    assert ">4/5, 10 uncommitted</text>" in svg
    assert ">t2 15</text>" in svg
    assert ">10, 6 behind</text>" in svg


def test_leader_without_a_majority_has_another_shape():
    alone = steps(QUORUM, {"kill": ["b", "c"]})
    assert "a ⬡ leader without a majority in term 1" in matrix.text(alone)
    assert ">minority, 1/3</text>" in matrix.svg(alone)
    shape = matrix.HEXAGON.format(f'fill="none" stroke="{style.LOOKS["leader"].colour}" stroke-width="2"')
    assert shape in matrix.svg(alone)
    assert shape not in matrix.svg(steps(QUORUM, {"kill": "b"}))


def test_each_side_sees_its_own_leader_and_members():
    result = steps(QUORUM, {"publish": {"queue": "q", "count": 4}}, {"partition": [["a"], ["b", "c"]]}, {"wait": 75})
    ours, theirs = matrix.text(result).splitlines()[1:]
    assert ours.startswith("q (minority, 1 of 3 members online, as a sees it): a ⬡ leader without a majority in term 1")
    assert theirs.startswith("q (running, 2 of 3 members online, as b and c see it): b ")
    assert theirs.count("⬢ leader in term 2") == 1
    healed = matrix.text(steps(QUORUM, {"partition": [["a"], ["b", "c"]]}, {"wait": 75}, {"heal": True}))
    assert healed.count("follower") == 2


def test_lag_is_abbreviated_in_narrow_cells():
    nodes = tuple("abcdefgh")
    result = steps(
        {"declare": {"queue": "q", "arguments": {"x-queue-type": "quorum", "x-quorum-initial-group-size": 3}}},
        {"kill": "b"}, {"publish": {"queue": "q", "count": 2000}}, nodes=nodes,
    )  # fmt: skip
    assert ">0 -2000</text>" in matrix.svg(result)


def test_member_on_a_drained_node_is_down():
    assert "a ✕ down" in matrix.text(steps(QUORUM, {"drain": "a"}))


QUORUM = {"declare": {"queue": "q", "node": "a", "arguments": {"x-queue-type": "quorum"}}}


def test_a_recorded_outcome_has_roles_but_no_contents_of_mirrors():
    was, _ = before_last_step(UNSYNCHRONISED)
    assert matrix.text(recorded(was)).endswith("a ■ master, 110 messages; b ○ unsynchronised mirror; c ✕ down")
    assert ElementTree.fromstring(matrix.svg(recorded(was)))


DISPUTED = {
    "nodes": {"a": "running", "b": "running", "c": "running"},
    "partitions": [["a"], ["b", "c"]],
    "queues": {
        "q": {
            "type": "classic", "state": "running", "durable": True, "policy": "p", "master": "a", "mirrors": [],
            "synchronised_mirrors": [], "recoverable_mirrors": ["b", "c"], "messages": 110, "ids": [[1, 110]],
            "replicas": {"a": {"role": "master", "online": True, "synchronised": True, "syncing": False,
                               "messages": 110}},
            "views": [
                {"nodes": ["a"], "state": "running", "master": "a", "mirrors": [], "ids": [[1, 110]]},
                {"nodes": ["b", "c"], "state": "running", "master": "b", "mirrors": ["c"], "ids": [[101, 110]]},
            ],
        }
    },
}  # fmt: skip
"""By hand: two sides of a partition, each with a master."""


def test_queue_seen_differently_by_two_sides_has_two_rows():
    assert matrix.text(DISPUTED).splitlines()[1:] == [
        "q (running, as a sees it): a ■ master, 110 messages",
        "q (running, as b and c see it): b ■ master, 10 messages; c ◍ mirror",
    ]
    result = titles(matrix.svg(DISPUTED))
    assert "q: running, as seen by b, c" in result
    assert result[-3:] == ["a: in another partition", "b: master, 10 messages", "c: mirror"]
    assert matrix.summary(DISPUTED).endswith("; not the same in all partitions: q.")


def test_queue_known_only_to_another_side_has_a_row():
    cluster = Cluster("a", "b", "c", version="4.3").partition(["a"], ["b", "c"]).wait(100)
    result = cluster.declare("theirs", node="b").publish("theirs", 7, node="b").outcome
    assert "theirs" not in result["queues"]
    assert "theirs (running, as b and c see it): b ■ master, 7 messages" in matrix.text(result)
    assert [row.figures["in queue"].now for row in ledger.rows(result)] == [7]


def test_uncommitted_messages_are_shown_in_a_partition():
    apart = {"queue": "orders", "count": 5, "node": "a"}
    declared = {"declare": {"queue": "orders", "node": "a", "arguments": {"x-queue-type": "quorum"}}}
    result = steps(declared, {"partition": [["a"], ["b", "c"]]}, {"wait": 75}, {"publish": apart})
    texts = [text.text for text in ElementTree.fromstring(matrix.svg(result)).iter(f"{SVG}text")]
    assert {"by a, 1/3, 5 uncommitted", "by b+c, 5 uncommitted"} <= set(texts)


def test_extra_fields_of_a_view_are_shown():
    replica = {"online": True, "synchronised": True, "syncing": False, "messages": 10}
    replicas_seen = {"b": replica | {"role": "master"}, "c": replica | {"role": "mirror"}}
    queue = DISPUTED["queues"]["q"]
    views = [queue["views"][0], queue["views"][1] | {"replicas": replicas_seen}]
    text = matrix.text(DISPUTED | {"queues": {"q": queue | {"views": views}}})
    assert text.endswith("b ■ master, 10 messages; c ● synchronised mirror, 10 messages")
    views = [queue["views"][0], queue["views"][1] | {"synchronised_mirrors": ["c"]}]
    text = matrix.text(DISPUTED | {"queues": {"q": queue | {"views": views}}})
    assert text.endswith("b ■ master, 10 messages; c ● synchronised mirror")


def test_sides_are_compared_with_the_queue_before_the_partition():
    whole = {key: value for key, value in DISPUTED["queues"]["q"].items() if key != "views"}
    was = DISPUTED | {"queues": {"q": whole}}
    assert "b: no replica → master, 10 messages" in titles(matrix.svg(DISPUTED, was))
    assert [row.side for row in matrix.rows(was, DISPUTED)] == [()]


def test_alarms_and_maintenance_are_shown_with_the_node():
    result = steps() | {"alarms": [{"node": "b", "resource": "memory"}], "maintenance": ["b", "c"]}
    assert matrix.text(result) == "nodes: a running, b running (memory alarm, maintenance), c running (maintenance)"
    assert "b is running (memory alarm, maintenance)" in matrix.summary(result)
    assert ">running, maintenance</text>" in matrix.svg(result)


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_escaped(name):
    svg = matrix.svg(hostile(name))
    assert {f"{shown(name)}: down", f"{shown(name)}: down, 3 messages"} <= {*titles(svg)}
    assert "<script" not in svg
    assert not re.search("[\x00-\x09\x0b-\x1f\u202a-\u202e]", svg)
    assert len(matrix.text(hostile(name)).splitlines()) == 3


def test_picture_is_accessible_to_screen_readers():
    root = ElementTree.fromstring(matrix.svg(play(UNSYNCHRONISED)))
    assert root.get("role") == "img"
    assert root.get("aria-label") == "Replica matrix of 3 nodes and 1 queue; a is down; c is down."
    assert root.find(f"{SVG}desc").text == matrix.text(play(UNSYNCHRONISED))


def test_common_prefix_of_nodes_is_left_out_of_the_header():
    assert matrix.common_prefix(["rabbit@a", "rabbit@b"]) == "rabbit@"
    assert matrix.common_prefix(["rabbit@a", "hare@b"]) == ""
    assert matrix.common_prefix(["a", "b"]) == ""
