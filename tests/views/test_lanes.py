"""Lanes: states and roles over time, and an axis that stays readable."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from views_outcomes import HOSTILE, QUORUM_PARTED, UNSYNCHRONISED, hostile, play, recorded, steps

from hawb.views.formatting import shown
from hawb.views.story import lanes
from hawb.views.story.roles import node_states, roles

SVG = "{http://www.w3.org/2000/svg}"


def titles(svg: str) -> list[str]:
    return [title.text for title in ElementTree.fromstring(svg).iter(f"{SVG}title")]


def test_node_states_follow_the_events():
    spans = node_states(play(UNSYNCHRONISED))
    assert [what for _, what in spans["b"]] == ["running", "down", "booting", "running"]
    assert [what for _, what in spans["a"]] == ["running", "down"]


def test_initially_down_node_is_down():
    result = play("scenario: s\ncluster: {nodes: [a, b, c], down: {b: stopped, c: stopped}}\nsteps: [{start: b}]")
    spans = node_states(result)
    assert [what for _, what in spans["b"]] == ["down", "booting", "running"]
    assert [what for _, what in spans["c"]] == ["down"]


def test_roles_follow_the_events():
    spans = roles(play(UNSYNCHRONISED), "ha.orders")
    assert [what for _, what in spans["a"]] == ["none", "master", "none"]
    assert [what for _, what in spans["b"]] == [
        "none", "unsynchronised", "synchronised", "none", "unsynchronised", "master",
    ]  # fmt: skip
    assert spans["b"][-1] == (7.006126, "master")


def test_roles_end_as_the_outcome_has_them():
    result = play(UNSYNCHRONISED)
    last = {node: spans[-1][1] for node, spans in roles(result, "ha.orders").items()}
    assert last == {"a": "none", "b": "master", "c": "none"}


def test_initial_queue_has_its_known_roles():
    result = play(
        """
scenario: standing
cluster: {nodes: [a, b, c]}
policies: [{name: p, pattern: q, definition: {ha-mode: all}}]
queues: [{queue: q, master: a, mirrors: [b, c], synchronised_mirrors: [b, c], messages: 5}]
steps: [{kill: a}]
"""
    )
    spans = roles(result, "q")
    assert [what for _, what in spans["a"]] == ["master", "none"]
    assert [what for _, what in spans["c"]] == ["synchronised"]


def test_roles_of_members_follow_elections_majorities_and_links():
    spans = roles(play(QUORUM_PARTED), "q")
    assert [what for _, what in spans["e"]] == ["none", "follower", "leader", "leader_alone"]
    assert [what for _, what in spans["c"]] == ["none", "follower", "leader", "leader_alone"]
    assert [what for _, what in spans["b"]] == ["none", "follower", "none"]
    healed = roles(play(QUORUM_PARTED + "  - heal: true\n"), "q")
    assert [healed[node][-1][1] for node in "abcde"] == ["follower", "none", "leader", "follower", "follower"]


def test_isolated_leader_stays_leader_in_its_lane():
    result = steps(QUORUM, {"cut": [["a", "c"]]}, {"wait": 75})
    assert {node: spans[-1][1] for node, spans in roles(result, "q").items() if spans[-1][1] != "follower"} in (
        {"a": "leader_alone", "c": "leader"}, {"a": "leader"},
    )  # fmt: skip


def test_lanes_show_added_and_deleted_members():
    result = steps(
        {"declare": {"queue": "q", "node": "a", "arguments": {"x-queue-type": "quorum"}}},
        {"delete_member": {"queue": "q", "node": "c"}},
        {"add_member": {"queue": "q", "node": "c"}},
        {"drain": "b"},
        {"revive": "b"},
        {"crash": {"queue": "q", "node": "a"}},
        {"wait": 5},
        {"delete": {"queue": "q"}},
    )
    spans = roles(result, "q")
    assert [what for _, what in spans["c"]][:4] == ["none", "follower", "none", "follower"]
    assert "follower" in [what for _, what in spans["b"]]
    assert {spans[node][-1][1] for node in "abc"} == {"none"}


def test_leader_without_a_majority_is_outlined_and_elections_are_marked():
    drawn = lanes.svg(play(QUORUM_PARTED), "q")
    assert "e: leader without a majority from 60.009 to 75.015 s" in titles(drawn)
    assert "66.609 s: c was elected to lead q, in term 2." in titles(drawn)
    assert sum("consider each other down" in title for title in titles(drawn)) == 5


QUORUM = {"declare": {"queue": "q", "node": "a", "arguments": {"x-queue-type": "quorum"}}}


PAUSED = """
scenario: s
cluster: {nodes: [a, b, c], cluster_partition_handling: pause_minority}
steps:
  - set_policy: {name: p, pattern: q, definition: {ha-mode: all}}
  - declare: {queue: q, node: b}
  - partition: [[a], [b, c]]
  - wait: 80
"""


def test_paused_node_has_no_role():
    result = play(PAUSED)
    assert node_states(result)["a"][-1][1] == "paused"
    assert roles(result, "q")["a"][-1][1] == "none"
    result = play(PAUSED.replace("node: b", "node: c").replace("partition: [[a], [b, c]]", "cut: [[a, b]]"))
    assert [what for _, what in roles(result, "q")["a"]] == ["none", "unsynchronised", "synchronised", "none"]
    assert any(title.startswith("a: paused from") for title in titles(lanes.svg(result)))


def test_node_without_power_is_down_at_once_and_has_no_role():
    result = play(PAUSED.replace("partition: [[a], [b, c]]", "power_off: b").replace("wait: 80", "wait: 1"))
    assert [what for _, what in node_states(result)["b"]] == ["running", "down"]
    assert [what for _, what in roles(result, "q")["b"]] == ["none", "master", "none"]


def test_cut_and_healed_links_are_marked_on_both_lanes():
    result = titles(
        lanes.svg(
            play(
                "scenario: s\ncluster: {nodes: [a, b, c]}\n"
                "steps: [{cut: [[a, b]], at: 1}, {wait: 2}, {heal: true}, {wait: 1}]"
            )
        )
    )
    assert len([title for title in result if title.startswith("1.0 s")]) == 2
    assert len([title for title in result if title.startswith("3.0 s")]) == 3


def test_unknown_queue_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="there is no queue 'x'; this outcome has 'ha"):
        lanes.svg(play(UNSYNCHRONISED), "x")


def test_faults_promotions_and_losses_are_marked_with_sentences():
    result = titles(lanes.svg(play(UNSYNCHRONISED), "ha.orders"))
    assert "7.006 s: a was killed." in result
    assert any(title.startswith("7.006 s: b, a mirror that was not synchronised, took over") for title in result)
    assert "7.006 s: Messages 1 to 100 of ha.orders were lost: the new master does not have them." in result
    assert "a: master from 0.0 to 7.006 s" in result


def test_marks_of_other_queues_are_left_out():
    other = UNSYNCHRONISED.replace("  - stop: b\n", "  - declare: {queue: other, node: b}\n  - stop: b\n")
    assert any("other is down" in title for title in titles(lanes.svg(play(other))))
    assert not any("other is down" in title for title in titles(lanes.svg(play(other), "ha.orders")))


@given(st.lists(st.floats(min_value=0, max_value=1e6), min_size=2, max_size=30, unique=True))
def test_axis_keeps_order_and_limits_gaps(moments):
    scale = lanes.axis(sorted(moments))
    steps = [right - left for left, right in pairwise(scale.places.values())]
    assert min(steps) >= lanes.MOMENT * (1 - 1e-9)
    assert max(steps) <= min(steps) * lanes.GAP / lanes.MOMENT * (1 + 1e-9)
    assert scale.width >= lanes.WIDTH - 1e-6


def test_idle_time_is_cut_visibly():
    assert lanes.axis([0.0, 1.0, 1.5]).cuts == []
    assert len(lanes.axis([0.0, 1.0, 3600.0]).cuts) == 1


def test_a_story_without_steps_has_only_the_band_of_its_node():
    drawn = lanes.svg(play("scenario: s\ncluster: {nodes: [a]}\nsteps: []"))
    assert titles(drawn) == ["The state of each node over 0.0 s.", "a", "a: running from 0.0 to 0.0 s"]


def test_a_recorded_outcome_has_lanes():
    assert "took over" in lanes.svg(recorded(play(UNSYNCHRONISED)), "ha.orders")


TAGS = ("svg", "title", "desc", "g", "path", "rect", "text")


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_escaped(name):
    for queue in (None, name):
        drawn = ElementTree.fromstring(svg := lanes.svg(hostile(name), queue))
        assert {element.tag.removeprefix(SVG) for element in drawn.iter()} == {*TAGS}
        assert drawn.get("aria-label") == titles(svg)[0]
        assert queue is None or shown(name) in drawn.get("aria-label")
        assert {shown(name), f"1.01 s: {shown(name)} was killed."} <= {*titles(svg)}
