"""What exports of after tell that no log does."""

from __future__ import annotations

from made_up_story import happening, us

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


def told(queues, policies=None, steps=(), operator_policies=(LIMIT,)):
    document = {"queues": queues, "policies": policies or [], "operator_policies": operator_policies}
    later = Exports(document, policies is not None)
    found = later_steps(later, BEFORE, steps, us(60))
    assert [step.at_us for step in found] == [us(60) + place * BETWEEN_US for place in range(len(found))]
    assert len([*doubts(found)]) == len(found)
    return [step.verb for step in found]


def test_queues_that_only_one_listing_has_were_declared_or_deleted():
    assert told(LISTED) == [verbs.Delete("old"), verbs.Declare("new", "b", arguments={"x-max-length": 5})]


def test_what_a_log_tells_of_is_not_told_again():
    source = (happening(5, "queue_declared", "a", "new"),)
    steps = [TimedStep(us(5), verbs.Declare("new", "a"), source), TimedStep(us(6), verbs.Delete("old"), source)]
    assert told(LISTED, steps=steps) == []
    assert told(LISTED, steps=[*steps, TimedStep(us(7), verbs.Delete("new"), source)])[-1].queue == "new"


def test_definitions_alone_tell_of_no_queue_and_a_listing_of_no_policy():
    assert told([{"queue": "kept"}], [ALL]) == [verbs.ClearPolicy("two")]
    cleared = [verbs.ClearPolicy("two"), verbs.ClearOperatorPolicy("limit")]
    assert told([{"queue": "kept"}], [ALL], operator_policies=()) == cleared
    other = ALL | {"definition": {"ha-mode": "exactly", "ha-params": 2}}
    assert told([{"queue": "kept"}], [other, TWO]) == [verbs.SetPolicy(**other)]
    steps = [TimedStep(us(5), verbs.SetPolicy(**other), ())]
    assert told([{"queue": "kept"}], [other, TWO], steps) == []
    assert told([LISTED[0], {"queue": "old", "master": "a"}]) == []


def test_members_that_changed_meanwhile_are_those_of_the_listing_of_after():
    before = Before({"version": "3.10"}, [], [], [{"queue": "q", "leader": "a", "members": ["a", "b", "c"]}], [])
    later = Exports({"queues": [{"queue": "q", "leader": "a", "members": ["a", "d", "e"]}]}, False)
    steps = [TimedStep(us(5), verbs.AddMember("q", "d"), ()), TimedStep(us(6), verbs.ForgetClusterNode("b", "a"), ())]
    assert [step.verb for step in later_steps(later, before, steps, us(60))] == [
        verbs.AddMember("q", "e"), verbs.DeleteMember("q", "c")]  # fmt: skip
    kept = Before({"version": "3.8"}, [], [], before.queues, [])
    assert verbs.DeleteMember("q", "b") in [step.verb for step in later_steps(later, kept, steps, us(60))]
    anew = [TimedStep(us(7), verbs.Declare("q", "a", arguments={"x-queue-type": "quorum"}), ())]
    assert not later_steps(later, before, anew, us(60))


def test_a_policy_that_the_release_refuses_was_not_set():
    before = Before({}, [], [], [], [Doubt(kind="policy_refused", name="all")])
    later = Exports({"queues": [], "policies": [ALL], "operator_policies": []}, True)
    assert not later_steps(later, before, (), us(60))
