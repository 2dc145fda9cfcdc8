"""The last step as movements for the animation: kinds, order and phases."""

from __future__ import annotations

import json

from views_outcomes import LEADER_ALONE, UNSYNCHRONISED, before_last_step, play, steps

from hawb.engine.core.trace import EVENTS
from hawb.scenario.load import load
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.views.cluster.raft_entries import cut_off
from hawb.views.story.movements import CLIENT, KINDS, MOST, movements

MIRRORED = {"set_policy": {"name": "p", "pattern": ".*", "definition": {"ha-mode": "all"}}}
DECLARE = {"declare": {"queue": "q", "node": "a"}}
QUORUM = {"declare": {"queue": "q", "node": "a", "arguments": {"x-queue-type": "quorum"}}}


def kinds(*given: dict, **more: object) -> list[str]:
    """Return the kinds of movements of the last of these steps."""
    return [one["kind"] for one in movements(steps(*given, **more), None)]


def test_every_kind_belongs_to_a_known_event():
    assert KINDS.keys() <= EVENTS.keys()


def test_publish_moves_to_master_mirrors_and_back_as_a_confirm():
    shown = movements(steps(MIRRORED, DECLARE, {"publish": {"queue": "q", "count": 5}}), None)
    published, confirmed = shown
    assert published["routes"] == [[CLIENT, "a"], ["a", "b"], ["a", "c"]]
    assert (published["count"], published["places"]) == (5, ["a", "b", "c"])
    assert confirmed["routes"] == [["a", CLIENT]]
    assert (published["phase"], confirmed["phase"]) == (0, 1)
    assert published["t"] < confirmed["t"]


def test_promotion_shows_the_lost_messages():
    was, now = before_last_step(UNSYNCHRONISED)
    shown = movements(now, was)
    assert [one["kind"] for one in shown] == ["end", "down", "take_over", "lose"]
    assert shown[2]["routes"] == [["a", "b"]]
    assert (shown[3]["routes"], shown[3]["count"]) == ([["a", "a"]], 100)
    assert all(one["text"].endswith(".") for one in shown)
    assert json.loads(json.dumps(shown)) == shown


def test_election_shows_votes():
    shown = movements(steps(QUORUM, {"publish": {"queue": "q", "count": 5}}, {"kill": "a"}), None)
    elected = next(one for one in shown if one["kind"] == "elect")
    assert [then for _, then in elected["routes"]] == [elected["node"]]
    assert "a" not in elected["places"]


def test_deliveries_and_acks_are_shown():
    consume = {"consume": {"consumer": "c", "queue": "q", "node": "b"}}
    publish = {"publish": {"queue": "q", "count": 5, "node": "a"}}
    shown = movements(steps(MIRRORED, DECLARE, publish, consume), None)
    delivered = next(one for one in shown if one["kind"] == "deliver")
    assert delivered["routes"] == [["a", "b"], ["b", CLIENT]]
    assert "acknowledge" in kinds(MIRRORED, DECLARE, publish, consume, {"ack": {"consumer": "c", "count": 5}})


def test_synchronisation_moves_from_master_to_mirrors():
    late = (MIRRORED, DECLARE, {"stop": "b"}, {"publish": {"queue": "q", "count": 50}}, {"start": "b"})
    shown = movements(steps(*late, {"sync_queue": "q"}), None)
    assert [one["kind"] for one in shown][:2] == ["synchronise", "synchronised"]
    assert shown[0]["routes"] == [["a", "b"]]


def test_cut_and_healed_links_are_shown():
    part = {"partition": [["a"], ["b", "c"]]}
    assert movements(steps(part), None)[0]["routes"] == [["a", "b"], ["a", "c"]]
    assert kinds(part, {"heal": True})[0] == "heal"


def test_equal_events_at_one_time_are_one_phase():
    queues = [{"declare": {"queue": f"q{number}", "node": "a"}} for number in range(5)]
    shown = movements(steps(MIRRORED, *queues, {"kill": "a"}), None)
    down = [one["phase"] for one in shown if one["kind"] == "down"]
    assert (len(down), len(set(down))) == (5, 1)


def test_long_step_shows_its_last_phases():
    """Each message expires at its own time, and there are more messages than phases."""
    expiring = {"declare": {"queue": "q", "node": "a", "arguments": {"x-message-ttl": 10_000}}}
    published = [{"publish": {"queue": "q", "count": 1}, "at": 1 + number / 10} for number in range(MOST + 5)]
    shown = movements(steps(expiring, *published, {"wait": 30}), None)
    assert [one["phase"] for one in shown] == [*range(MOST)]
    assert shown[0]["text"].startswith("Message 6 of q ") and shown[-1]["text"].startswith("Message 45 of q ")


def test_truncated_log_is_shown_at_the_end():
    story = Run.of(load(LEADER_ALONE + "  - heal: true\n"))
    was = story.rewound(len(story.steps) - 1)
    cuts = cut_off(was.moment().state, story.moment().state, story.settings.names)
    assert [(cut["queue"], cut["node"]) for cut in cuts] == [("q", "a")]
    assert cuts[0]["entries"] >= 3
    shown = movements(outcome(story), outcome(was), cuts)
    assert [one["kind"] for one in shown] == ["heal", "publish", "confirm", "cut_log"]
    assert shown[-1]["places"] == ["a"]


def test_empty_story_has_no_movements():
    assert movements(play("scenario: nothing\ncluster: {nodes: [a]}\nsteps: []\n"), None) == []
