"""Past moments of a story in the lab's controller: viewing them and acting in them."""

from __future__ import annotations

from conftest import controller

from hawb.lab.controller import Controller
from hawb.scenario.outcome import outcome

lab = controller
"""What these tests call the lab is its controller."""


def test_each_moment_can_be_viewed_and_the_last_is_the_present(lab):
    end, seen = lab.outcome, []
    for position in range(lab.moments):
        lab.look_at(position)
        seen.append((lab.outcome["time_s"], len(lab.outcome["events"]), lab.story_place[0]))
        assert (lab.now.position, lab.looks_back) == (position, position < lab.moments - 1)
        result = len(lab.outcome["events"])
        assert lab.outcome["events"] == end["events"][:result]
        assert all(event["t"] > lab.outcome["time_s"] for event in end["events"][result:])
    assert seen == sorted(seen)
    assert lab.outcome is end
    assert not lab.can_undo


def test_viewing_moments_is_undone_at_once(lab):
    end = lab.outcome
    for position in (3, 12, 7):
        lab.look_at(position)
    lab.undo()
    assert lab.outcome is end
    lab.redo()
    assert lab.now.position == 7


def test_action_at_a_past_moment_is_inserted_and_later_steps_stay(lab):
    story = [step.name for step in lab.now.run.steps]
    before_the_stop = next(n for n, t in enumerate(lab.now.moments_us) if t > 6_016_000)
    lab.look_at(before_the_stop)
    now, played = lab.outcome["time_s"], lab.story_place[0]
    lab.act("sync_queue", "ha.orders")
    step = lab.now.run.steps[-1]
    assert (step.at, lab.story_place) == (now, (played + 1, len(story) + 1))
    assert not lab.looks_back
    while lab.next_step:
        lab.step_forward()
    lab.act("kill", "a")
    assert lab.outcome["ledger"]["ha.orders"]["lost"] == []


def test_typed_time_overrides_the_shown_moment(lab):
    lab.look_at(12)
    lab.at = "6.2"
    lab.act("kill", "a")
    assert lab.now.run.steps[-1].at == 6.2


def test_time_passes_from_the_shown_moment(lab):
    lab.look_at(12)
    now = lab.outcome["time_s"]
    lab.pass_time(0.1)
    lab.pass_time(0.1)
    wait = lab.now.run.steps[-1]
    assert (wait.at, wait.verb.seconds, lab.now.before.at_s) == (now, 0.2, now)
    assert lab.outcome["time_s"] >= now + 0.2


def test_messages_in_flight_at_a_moment_are_shown_in_flight():
    lab = Controller()
    lab.act("publish", {"queue": "ha.orders", "count": 5})
    lab.look_at(lab.moments - 2)
    assert lab.outcome["ledger"]["ha.orders"]["confirmed"] == [[1, 110]]
    assert lab.now.was is None


def test_outcome_of_a_moment_does_not_depend_on_earlier_views(lab):
    lab.act("publisher", {"name": "p", "queue": "ha.orders", "rate": 100, "node": "b"})
    lab.act("consume", {"consumer": "c", "queue": "ha.orders", "rate": 60})
    lab.pass_time(3)
    lab.act("kill", "a")
    for position in range(0, lab.moments, 3):
        lab.look_at(position)
        assert lab.outcome == outcome(lab.now.run, lab.now.moment)


def test_events_already_rendered_are_reused(lab):
    before = lab.outcome["events"]
    lab.act("kill", "a")
    assert lab.outcome["events"][0] is before[0]
    lab.look_at(lab.moments - 2)
    assert lab.outcome["events"][0] is before[0]
