"""Facts that only exports from after the incident have."""

from __future__ import annotations

from made_up_story import occurred, us

from hawb.incident.before import Before, Exports
from hawb.incident.doubts import Doubt
from hawb.incident.later import BETWEEN_US, doubts, later_steps
from hawb.incident.step_context import TimedStep
from hawb.scenario import verbs

ALL, TWO = ({"name": name, "pattern": "^q", "definition": {"ha-mode": "all"}} for name in ("all", "two"))
LIMIT = {"name": "limit", "pattern": "^q", "definition": {"max-length": 5}}
CLASSIC = [{"queue": "old", "master": "a"}, {"queue": "kept", "master": "a"}]
BEFORE = Before({"version": "3.10"}, [ALL, TWO], [LIMIT], CLASSIC, [])
LISTED = [{"queue": "kept", "master": "b"}, {"queue": "new", "master": "b", "arguments": {"x-max-length": 5}}]


def steps_of(queues, policies=None, steps=(), operator_policies=(LIMIT,)):
    document = {"queues": queues, "policies": policies or [], "operator_policies": operator_policies}
    later = Exports(document, policies is not None)
    found = later_steps(later, BEFORE, steps, us(60))
    assert [step.at_us for step in found] == [us(60) + place * BETWEEN_US for place in range(len(found))]
    assert len([*doubts(found)]) == len(found)
    return [step.verb for step in found]


def test_queues_in_one_listing_only_were_declared_or_deleted():
    assert steps_of(LISTED) == [verbs.Delete("old"), verbs.Declare("new", "b", arguments={"x-max-length": 5})]


def test_logged_changes_are_not_repeated():
    source = (occurred(5, "queue_declared", "a", "new"),)
    steps = [TimedStep(us(5), verbs.Declare("new", "a"), source), TimedStep(us(6), verbs.Delete("old"), source)]
    assert steps_of(LISTED, steps=steps) == []
    assert steps_of(LISTED, steps=[*steps, TimedStep(us(7), verbs.Delete("new"), source)])[-1].queue == "new"


def test_definitions_say_nothing_of_queues_and_listings_nothing_of_policies():
    assert steps_of([{"queue": "kept"}], [ALL]) == [verbs.ClearPolicy("two")]
    cleared = [verbs.ClearPolicy("two"), verbs.ClearOperatorPolicy("limit")]
    assert steps_of([{"queue": "kept"}], [ALL], operator_policies=()) == cleared
    other = ALL | {"definition": {"ha-mode": "exactly", "ha-params": 2}}
    assert steps_of([{"queue": "kept"}], [other, TWO]) == [verbs.SetPolicy(**other)]
    steps = [TimedStep(us(5), verbs.SetPolicy(**other), ())]
    assert steps_of([{"queue": "kept"}], [other, TWO], steps) == []
    assert steps_of([LISTED[0], {"queue": "old", "master": "a"}]) == []


def test_changed_members_are_those_of_the_later_listing():
    before = Before({"version": "3.10"}, [], [], [{"queue": "q", "leader": "a", "members": ["a", "b", "c"]}], [])
    later = Exports({"queues": [{"queue": "q", "leader": "a", "members": ["a", "d", "e"]}]}, False)
    steps = [TimedStep(us(5), verbs.AddMember("q", "d"), ()), TimedStep(us(6), verbs.ForgetClusterNode("b", "a"), ())]
    assert [step.verb for step in later_steps(later, before, steps, us(60))] == [
        verbs.AddMember("q", "e"), verbs.DeleteMember("q", "c")]  # fmt: skip
    kept = Before({"version": "3.8"}, [], [], before.queues, [])
    assert verbs.DeleteMember("q", "b") in [step.verb for step in later_steps(later, kept, steps, us(60))]
    anew = [TimedStep(us(7), verbs.Declare("q", "a", arguments={"x-queue-type": "quorum"}), ())]
    assert not later_steps(later, before, anew, us(60))


def test_invalid_policy_was_not_set():
    before = Before({}, [], [], [], [Doubt(kind="policy_refused", name="all")])
    later = Exports({"queues": [], "policies": [ALL], "operator_policies": []}, True)
    assert not later_steps(later, before, (), us(60))
