"""Every exercise: its solution in the notebook is accepted, and typical wrong answers are refused with a reason."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import nbformat
import pytest

from hawb.lessons import exercises
from hawb.lessons.exercises import AS_TOLD, HELD_BACK, MOST_STEPS, judged
from hawb.lessons.notebook import EXERCISES

LESSONS = sorted((Path(__file__).parents[1] / "notebooks").glob("1[0-9]-*.ipynb"))
CELLS = [cell for file in LESSONS for cell in nbformat.read(file, as_version=4).cells if cell.cell_type == "code"]
SOLUTION = re.compile(r'# solution\n(.*)# end of solution\ncheck\("([^"]*)", \w+\)', re.DOTALL)
MENTIONED = re.compile(r'\b(predict|truth)\(.*?"(1\d-[a-z-]+)"', re.DOTALL)
TWO = {"ha-mode": "exactly", "ha-params": 2, "ha-sync-mode": "automatic"}
TTL = {"message-ttl": 60000}
AUTOMATIC = {"ha-mode": "all", "ha-sync-mode": "automatic"}
CALLS = {"ha-mode": "all", "ha-promote-on-shutdown": "always"}
SYNC = {"sync_queue": "orders"}
WORKER = {"consume": {"consumer": "worker", "queue": "orders"}}
ALL = {"set_policy": {"name": "ha", "pattern": "^orders", "definition": {"ha-mode": "all"}}}


def solutions() -> dict[str, object]:
    """What the notebooks give as answers, by the exercises' keys."""
    found = {}
    for cell in CELLS:
        if match := SOLUTION.search(cell.source):
            code, key = match.groups()
            found[key] = ast.literal_eval(ast.parse(code).body[-1].value)
    return found


def policy(pattern: str, definition: dict, **fields: object) -> dict:
    """An answer that is a policy."""
    return {"pattern": pattern, "definition": definition} | fields


def stories(*lists: str) -> list[dict]:
    """Steps of one word each: "stop b" is {"stop": "b"}."""
    return [dict([step.split()]) for step in lists]


def acknowledged(consumer: str) -> dict:
    """The step with which a consumer acknowledges all that it has."""
    return {"ack": {"consumer": consumer}}


WRONG = {
    "10-two-copies": [
        (policy("orders", TWO), "The policy reaches reorders.eu too"),
        (policy("^orders.", TWO), "The policy reaches orders-eu too"),
        (policy(r"^orders\.eu", TWO), r"It works in the cluster that you see, but .* orders\.us is not mirrored"),
        (policy(r"^orders\.", {"ha-mode": "all"}), "has 3 running replicas, two were asked for"),
        (policy(r"^orders\.", {"ha-mode": "exactly", "ha-params": 2}), "lacks the messages that were there before it"),
        (policy(r"^orders\.", {"ha-mode": "exactly", "ha-params": "2"}), "refused by RabbitMQ: .* takes an integer"),
        (policy(r"^orders\.", TWO | {"max-length": 1}), "orders.eu has 1 message left of 100"),
        (policy(r"^orders\.", TWO | {"expires": 1000}), "The queue orders.eu is gone"),
        (policy(r"^orders\.", TWO | {"ha-mode": "nodes", "ha-params": ["a", "b"]}), "but not in one of the nodes"),
    ],
    "10-ttl": [
        (policy(r"\.tmp$", TTL, priority=1), "is no longer mirrored"),
        (policy(r"\.tmp$", TWO | TTL), "at the same priority: RabbitMQ leaves open"),
        (policy(r"\.tmp$", TWO | TTL, priority=-1), "still follows ha"),
        (policy("^orders", TWO | TTL, priority=1), "orders.eu no longer follows the policy ha"),
        (policy(r"\.tmp$", TWO | {"message-ttl": 60}, priority=1), "A message-ttl is in milliseconds"),
        (policy(r"\.tmp$", TWO | {"expires": 60000}, priority=1), "The queue orders.eu.tmp is gone"),
        (policy(r"\.tmp$", TTL, name="ha", priority=1), "is no longer mirrored"),
        (policy(r"\.tmp$", TWO, priority=1), "still has 100 messages"),
        (policy(r"\.tmp$", {"ha-mode": "all"} | TTL, priority=1), "has 3 running replicas"),
    ],
    "10-late-mirror": [
        ([], "it had no mirror"),
        ([ALL], "with it went 100 messages: b and c held nothing from before the policy"),
        ([ALL, {"wait": 60}], "with it went 100 messages"),
        (
            [ALL | {"set_policy": ALL["set_policy"] | {"definition": {"ha-mode": "all", "max-length": 1}}}],
            "Messages are gone before a is killed",
        ),
        (
            [ALL | {"set_policy": ALL["set_policy"] | {"definition": {"ha-mode": "nodes", "ha-params": ["b"]}}}, SYNC],
            "The master is no longer on a",
        ),
        ([{"sync_queue": "orders"}, ALL], "Step 1 is refused by RabbitMQ: not_mirrored"),
        ([ALL, {"kill": "a"}], "Step 2, {'kill': 'a'}: here a step is one of set_policy"),
        (
            [ALL | {"set_policy": ALL["set_policy"] | {"definition": {"ha-mode": "nodes", "ha-params": ["b"]}}}],
            "with it went 100 messages: b held nothing",
        ),
    ],
    "11-lose": [
        (stories("kill a"), "b took over and was synchronised"),
        (stories("kill a", "kill b", "kill c"), "a and b are down at once"),
        (stories("stop b", "start b", "kill a"), "c took over and was synchronised"),
        (stories("stop b", "start b", "stop c", "start c", "stop a"), "Down is not lost"),
        (stories("stop b", "start b", "stop c", "start c"), "Nothing is lost: a, the master, has everything"),
    ],
    "11-haste": [
        (policy(r"^orders\.", {"ha-mode": "all"}), "b took over 0.3 s after its boot"),
        (
            policy(r"^orders\.", {"ha-mode": "all", "ha-sync-mode": "automatic"}),
            "not in one of the nodes .*, with 40,000 messages: With rabbit@north went 40,000 messages",
        ),
        (policy(r"^orders\.", {"ha-mode": "all", "ha-promote-on-shutdown": "when-synced"}), "With a went 100 messages"),
        (
            policy(r"^orders\.", {"ha-mode": "all", "ha-promote-on-failure": "when-synced", "max-length": 3}),
            "orders.eu has 3 messages left of 100",
        ),
        (policy("^other", {"ha-mode": "all"}), "has no mirrors, one on every other node was asked for"),
    ],
    "11-restart": [
        (stories("stop b", "start b", "stop a", "start a"), "orders was down for 6.0 s"),
        (stories("stop b", "start b", "sync_queue orders", "stop a", "start a"), "Only b has the messages"),
        (stories("stop b", "start b", "sync_queue orders"), "a was not restarted"),
        (stories("stop b", "start b", "kill a", "start a"), "That cost 100 messages"),
        (stories("stop b", "start b", "sync_queue orders", "stop a"), "At the end a is not running"),
        ([], "No node was restarted"),
    ],
    "12-drain": [
        ([], "b still lacks 100 messages: nobody has acknowledged"),
        ([{"close": "stuck"}, WORKER], "b still lacks 100 messages"),
        ([WORKER, acknowledged("worker")], "lacks 1 message still, and the consumer stuck holds what it lacks"),
        ([{"nack": {"consumer": "stuck"}}, WORKER, acknowledged("worker")], "the consumer stuck holds what it lacks"),
        (
            [{"nack": {"consumer": "stuck", "requeue": False}}, WORKER, acknowledged("worker")],
            "1 message went without having been acknowledged",
        ),
        (
            [{"close": "stuck"}, {"get": {"queue": "orders", "count": 100}}],
            "but not in one of .* with 40,000 messages: rabbit@east still lacks 39,900 messages",
        ),
        ([SYNC], "here a step is one of consume"),
    ],
    "12-batch": [
        (policy(r"^media\.", AUTOMATIC), "a batch of films kept the link so long"),
        (policy(r"^media\.", AUTOMATIC | {"ha-sync-batch-size": 1}), "a batch of films kept the link so long"),
        (policy(r"^media\.", AUTOMATIC | {"ha-sync-batch-size": 1400}), "a batch of films kept the link so long"),
        (policy(r"^media\.", AUTOMATIC | {"ha-sync-batch-size": 100}), "was blocked for 70.0 s: each batch pays"),
        (policy(r"^media\.", {"ha-mode": "all", "ha-sync-batch-size": 1000}), "Nobody synchronised media.eu.events"),
        (policy(r"^media\.", TWO | {"ha-sync-batch-size": 1000}), "has 1 mirror, one on every other node was asked"),
        (policy(r"^media\.eu", AUTOMATIC | {"ha-sync-batch-size": 1000}), "but not in .* media.us.events has no mirr"),
        (policy(r"^media\.", AUTOMATIC | {"ha-sync-batch-size": 0}), "takes an integer greater than 0, 0 given"),
    ],
    "12-idle": [
        (policy(r"^archive\.", AUTOMATIC), "at the same priority: RabbitMQ leaves open"),
        (policy(r"^archive\.", AUTOMATIC, priority=-1), "still follows ha"),
        (policy("archive", AUTOMATIC, priority=1), r"reaches orders\.archive\.eu too"),
        (policy("^archive", AUTOMATIC, priority=1), "reaches archived-eu too"),
        (policy(r"^archive\.", {"ha-mode": "all"}, priority=1), "the mirrors of archive.eu on b and c are not synch"),
        (policy(r"^archive\.", {"ha-sync-mode": "automatic"}, priority=1), "refused by RabbitMQ: .* ha-mode must be"),
        (policy(r"^archive\.", TWO, priority=1), "archive.eu has 1 mirror; ha gave it one on every other node"),
        (policy(r"^archive\.", AUTOMATIC | {"max-length": 1}, priority=1), "has 1 message left of 100"),
    ],
    "13-calls": [
        (policy(r"^orders\.", {"ha-mode": "all"}), "a was stopped, and orders.eu was down for 36.0 s"),
        (policy(r"^orders\.", CALLS | {"ha-promote-on-failure": "when-synced"}), "a was killed, and orders.eu was"),
        (
            policy(r"^orders\.", AUTOMATIC),
            "with 40,000 messages: rabbit@north was stopped, and orders.jobs.late was down for 36.0 s",
        ),
        (policy(r"^orders\.eu$", CALLS), "but not in one of .*: orders.us has no mirrors"),
        (policy(r"^orders\.", TWO | CALLS | {"ha-mode": "exactly"}), "has 1 mirror, one on every other node was asked"),
        (policy(r"^orders\.", CALLS | {"expires": 10_000}), "The queue orders.eu is gone"),
        (policy(r"^orders\.", CALLS | {"ha-promote-on-shutdown": "yes"}), 'refused by RabbitMQ: .* must be "always"'),
    ],
    "13-night": [
        (stories("stop a", "stop b", "stop c", "start c", "start b", "start a"), "In the morning orders has no mess"),
        (stories("stop b", "stop c", "stop a", "start b", "start c"), "At the end a, b and c are not running"),
        (stories("stop c", "stop b", "stop a", "start a", "start b"), "At the end c is not running"),
        ([{"stop": ["a", "b", "c"]}, {"start": ["a", "b", "c"]}], "a, b and c went at once; node by node was"),
        (stories("stop a", "start a", "stop b", "start b"), "At no time were all nodes down"),
        ([{"set_policy": {"name": "two"}}], "here a step is one of stop, start"),
    ],
    "13-moment": [
        ([{"kill": ["a", "b"]}], "Nothing is lost: c has all messages"),
        (stories("kill c", "start c", "kill a"), "Nothing is lost: b has all messages"),
        (stories("kill c", "start c", "kill a", "kill b"), "waits for b, on whose disk .* Down is not lost"),
        (stories("kill c", "start c", "kill b", "kill a"), "waits for a, on whose disk .* Down is not lost"),
        ([{"kill": ["a", "b", "c"]}], "waits for a, on whose disk"),
        (stories("stop c", "start c"), "here a step is one of kill, start"),
    ],
}
REFUSALS = [(key, answer, says) for key, answers in WRONG.items() for answer, says in answers]
NO_ANSWERS = [
    (..., "There is no answer yet"),
    (None, "There is no answer yet"),
    (7, "7 is not"),
    ("pattern: [", "The answer cannot be read: line 2: not YAML"),
    (b"a", "cannot be read"),
    ({1: 2}, "cannot be read"),
    ("", "cannot be read"),
]


@pytest.mark.parametrize("key", EXERCISES)
def test_the_solution_is_right(key):
    verdict = judged(EXERCISES[key], solutions()[key])
    assert verdict.right, verdict
    assert repr(verdict).startswith("✓ Right, in this cluster and in 3 others")


@pytest.mark.parametrize(("key", "answer", "says"), REFUSALS)
def test_a_wrong_answer_is_told_what_is_wrong(key, answer, says):
    verdict = judged(EXERCISES[key], answer)
    assert not verdict.right
    assert re.search(says, verdict.says), verdict.says


@pytest.mark.parametrize("key", EXERCISES)
@pytest.mark.parametrize(("answer", "says"), NO_ANSWERS)
def test_what_is_no_answer_is_told_what_one_is(key, answer, says):
    verdict = judged(EXERCISES[key], answer)
    assert not verdict.right
    assert says in verdict.says


def test_every_exercise_has_wrong_answers_hints_and_a_place_in_its_lesson():
    assert list(WRONG) == list(EXERCISES) == list(solutions())
    for key, each in EXERCISES.items():
        assert len(WRONG[key]) >= 2
        assert len(each.hints) >= 2
    assert {key.partition("-")[0] for key in EXERCISES} == {file.name.partition("-")[0] for file in LESSONS}


def test_answers_of_steps_are_bounded_and_their_refusals_name_the_step():
    several = judged(EXERCISES["11-lose"], stories("stop b") * (MOST_STEPS + 1))
    assert f"These are {MOST_STEPS + 1} steps" in several.says
    unknown = judged(EXERCISES["11-lose"], stories("stop b", "start x"))
    assert "Step 2 cannot be played: start: " in unknown.says
    late = judged(EXERCISES["11-lose"], [{"stop": "b"}, {"start": "b", "at": "soon"}])
    assert "Step 2 cannot be played: at: not accepted" in late.says


def test_node_names_of_an_answer_are_translated_with_the_clusters():
    names = dict(zip(AS_TOLD.nodes, HELD_BACK[0].nodes, strict=True))
    given = [{"publish": {"queue": "abc", "node": "a"}}, {"stop": ["b", "c"]}, {"wait": 3}]
    wanted = [{"publish": {"queue": "abc", "node": "w3"}}, {"stop": ["w1", "w2"]}, {"wait": 3}]
    assert exercises.renamed(given, names) == wanted


def test_held_back_clusters_differ_in_everything():
    assert all(len(set(each)) == len(each) for each in zip(AS_TOLD, *HELD_BACK, strict=True))
    orders = {tuple(sorted(range(3), key=each.nodes.__getitem__)) for each in (AS_TOLD, *HELD_BACK)}
    assert len(orders) >= 3


def test_every_prediction_has_its_truth_among_its_choices_and_after_it():
    asked, told = {}, []
    for cell in CELLS:
        for function, key in MENTIONED.findall(cell.source):
            text = "".join(output.get("data", {}).get("text/plain", "") for output in cell.outputs)
            if function == "predict":
                asked[key] = re.search(r"\[(.*)\]$", text)[1]
            else:
                told.append(key)
                value = re.search(r"It is: (.*)\.$", text)[1]
                assert value.isdecimal() if asked[key] == "a number" else value in asked[key], key
    assert list(asked) == told
    assert len(told) >= 6 * len(LESSONS)
