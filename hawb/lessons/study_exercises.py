"""Check exercises on studies and the linter: an answer is a design or a setting, judged by the study, model or linter.

As in the lessons, an answer is also played in environments that the reader has not seen: other seeds and failures. A
judge returns the first thing that is wrong as a sentence, or None.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from textwrap import fill
from typing import TYPE_CHECKING

from msgspec import Struct

from hawb.lessons.exercises import Verdict
from hawb.lessons.worst_case import mirrored, worst
from hawb.planning import inventory
from hawb.planning.lint import lint
from hawb.rules.policies import Policy
from hawb.scenario.checkout import data_folder_for
from hawb.scenario.refused import ScenarioRefused, render
from hawb.study.load import read_study
from hawb.study.prediction import NotMeasuredError
from hawb.study.sync_duration import duration
from hawb.study.throughput import one_queue
from hawb.views.formatting import percent
from hawb.views.study.estimates import DOWN, LOSS, Shown, cell_value, number

if TYPE_CHECKING:
    from hawb.study.live import Estimate

DAY_S = 86_400
PAGE = 116
TRIALS = 128
MOST_LONGER = 1.02
ENOUGH = 0.9


class StudyExercise(Struct, frozen=True):
    """An exercise: `judge` returns what is wrong with an answer, or None.

    An answer is a map of exactly these `keys`.
    """

    question: str
    keys: tuple[str, ...]
    judge: Callable[[dict], str | None]
    right: str = "Right, here and in environments that you have not seen."

    def __repr__(self) -> str:
        return fill(f"{self.question} An answer gives: {', '.join(self.keys)}.", PAGE, break_on_hyphens=False)


def exercise(key: str) -> StudyExercise:
    """Return the exercise of a key. Raise KeyError for an unknown key."""
    return EXERCISES[key]


def check(key: str, answer: Mapping[str, object]) -> Verdict:
    """Play an answer and return the verdict. Raise KeyError for an unknown key."""
    exercise = EXERCISES[key]
    if not isinstance(answer, dict) or set(answer) != set(exercise.keys):
        return Verdict(False, f"{render(answer)}: an answer is a map of {', '.join(exercise.keys)}.")
    try:
        wrong = exercise.judge(answer)
    except (ScenarioRefused, NotMeasuredError, TypeError, AttributeError) as refused:
        return Verdict(False, f"The answer cannot be played: {refused}")
    return Verdict(wrong is None, wrong or exercise.right)


def played(
    design: Mapping[str, object], around: Mapping[str, object], seed: int, trials: int = TRIALS
) -> list[Estimate]:
    """Return the estimates for a design in years of an environment. Raise ScenarioRefused."""
    from hawb.study.live import live  # it takes pyarrow: a teacher's folder needs the questions alone

    return live(read_study({
        "study": "an answer", "seed": seed, "trials": trials, "horizon_days": 365,
        "designs": {"answer": dict(design)}, "environments": {"given": dict(around)},
    }))  # fmt: skip


def number_in(estimates: list[Estimate], shown: Shown) -> float:
    """Return one number of a design's estimates."""
    return cell_value(estimates, "answer", "given", shown)[0]


# Racks that fail


def racks(every_days: float, groups: int) -> dict:
    """Return an environment in which only racks fail, each for an hour."""
    failing = {"groups": groups, "every": {"mean_s": every_days * DAY_S}, "repair": {"mean_s": 3600}}
    return {"rack_failures": failing, "traffic": {"publish_per_s": 20, "consume_per_s": 100}}


MOST_DOWN_MINUTES = 15


def survives_racks(answer: dict) -> str | None:
    """Require that a queue is available while one of three racks is down, with the fewest members."""
    members = answer["replicas"]
    for every_days, seed in ((60, 1), (90, 2)):
        down = number_in(played({"queue_type": "quorum", "version": "3.13"} | answer, racks(every_days, 3), seed), DOWN)
        if down > MOST_DOWN_MINUTES:
            return f"With {render(members)} members it is out of use for {number(down)} minutes a year."
    if members <= 3:
        return None
    return f"{members} members are enough, but fewer members are, too: each member writes every message."


# A policy for a deep queue


def nightly(every_days: float, controlled: float) -> dict:
    """Return an environment in which consumers work four hours a day and nodes often restart for ten minutes."""
    constant = {"distribution": "constant"}
    return {
        "node_failures": {
            "every": {"mean_s": every_days * DAY_S}, "repair": {"mean_s": 600}, "controlled_share": controlled,
        },
        "traffic": {
            "publish_per_s": 100, "consume_per_s": 1000,
            "consumer_outages": {"every": {"mean_s": 14_400} | constant, "lasts": {"mean_s": 72_000} | constant},
        },
    }  # fmt: skip


def keeps_all(answer: dict) -> str | None:
    """Require that a policy loses no message however nodes go down, without waiting for their return."""
    for nodes, controlled, seed in ((2, 0.0, 1), (2, 1.0, 2), (3, 0.5, 3)):
        design = {"queue_type": "classic", "nodes": nodes, "replicas": 2, "version": "3.10", "policy": answer}
        estimates = played(design, nightly(5, controlled), seed)
        how = {0.0: "are killed", 1.0: "are stopped"}.get(controlled, "are stopped or killed")
        if loss := number_in(estimates, LOSS):
            return f"Where {nodes} nodes {how}, {percent(loss)} of the years lose confirmed messages."
        if (down := number_in(estimates, DOWN)) > 60:
            return f"Where {nodes} nodes {how}, the queue is out of use for {number(down)} minutes a year."
    return None


# A procedure for upgrades


def upgrades(down_s: float, publish_per_s: float) -> dict:
    """Return an environment with a monthly upgrade in the daytime; consumers work in the night."""
    constant = {"distribution": "constant"}
    return {
        "rolling_upgrades": {"every_days": 30, "first_day": 14, "at_hour": 16, "down_s": down_s},
        "traffic": {
            "publish_per_s": publish_per_s, "consume_per_s": 500,
            "consumer_outages": {"every": {"mean_s": 14_400} | constant, "lasts": {"mean_s": 72_000} | constant},
        },
    }  # fmt: skip


def upgrades_well(answer: dict) -> str | None:
    """Require that a procedure upgrades a queue with manual synchronisation without loss and without an outage."""
    design = {"queue_type": "classic", "nodes": 3, "replicas": 3, "version": "3.10"}
    design |= {"policy": {"ha-sync-mode": "manual"}, "upgrade": {"between_s": 1} | answer}
    for down_s, publish_per_s in ((20, 50), (120, 40)):
        estimates = played(design, upgrades(down_s, publish_per_s), seed=1, trials=16)
        when = f"Where each node is away for {down_s} s,"
        if loss := number_in(estimates, LOSS):
            return f"{when} {percent(loss)} of the years lose confirmed messages."
        if (down := number_in(estimates, DOWN)) > 1:
            return f"{when} the queue is out of use for {number(down)} minutes a year."
    return None


# The size of a batch


def fits_the_link(answer: dict) -> str | None:
    """Require a synchronisation batch size that is small enough for the link and costs little time."""
    batch_size = answer["ha-sync-batch-size"]
    if batch_size == 1:
        return "In a policy 1 means the broker's own batch size, 4,096 messages unless the configuration sets another."
    for size_bytes, network_mb_s in ((100_000, 50), (1_000_000, 100)):
        asked = {"messages": 200_000, "size_bytes": size_bytes, "network_mb_s": network_mb_s}
        found = duration(batch_size=batch_size, **asked)
        if slow := [warning for warning in found.warnings if "net_ticktime" in warning]:
            return f"With messages of {size_bytes:,} bytes on {network_mb_s} MB/s {slow[0]}."
        if found.value > MOST_LONGER * duration(batch_size=4096, **asked).value:
            return f"It takes {number(found.value)} s, more than batches of 4,096 would."
    return None


# A factor for biased failures


RARE_TRIALS = 2000
WORTH_AT_LEAST = 1 / 3
WIDEST = 4


def rarely(every_days: float, biasing: dict) -> dict:
    """Return an environment in which nodes rarely fail, and a queue is deep for six hours of each day."""
    constant = {"distribution": "constant"}
    return {
        "node_failures": {"every": {"mean_s": every_days * DAY_S}, "repair": {"mean_s": 3600}},
        "failure_biasing": biasing | {"after_s": 28_800},
        "traffic": {
            "publish_per_s": 50, "consume_per_s": 200,
            "consumer_outages": {"every": {"mean_s": 64_800} | constant, "lasts": {"mean_s": 21_600} | constant},
        },
    }  # fmt: skip


def tells_the_rare(answer: dict) -> str | None:
    """Require a factor that estimates a rare loss to a factor of `WIDEST` and keeps a third of the trials' weight."""
    design = {"queue_type": "classic", "nodes": 3, "replicas": 2, "version": "3.10"}
    design |= {"policy": {"ha-sync-mode": "manual"}}
    for every_days, seed in ((657, 1), (500, 2)):
        estimates = played(design, rarely(every_days, answer), seed, RARE_TRIALS)
        worth = estimates[0]["effective_trials"]
        when = f"Where a node fails every {every_days} days,"
        if worth < WORTH_AT_LEAST * RARE_TRIALS:
            return f"{when} {RARE_TRIALS:,} trials are worth {worth:,.0f} plain ones: the factor is too large."
        _, low, high = cell_value(estimates, "answer", "given", LOSS)
        if high > WIDEST * low:
            return f"{when} the share of losses is from {percent(low)} to {percent(high)}: the factor is too small."
    return None


# How many unconfirmed messages


def enough_in_flight(answer: dict) -> str | None:
    """Require limits with which a publisher reaches ENOUGH of a queue's rate, and half of which do not."""
    for queue_type, replicas in (("classic", 2), ("quorum", 3)):
        limit, model = answer[queue_type], one_queue(queue_type)
        asked = {"setup": "c5.4xlarge io1 3.8.4", "size_bytes": 1024, "replicas": replicas}
        most = model.rate(in_flight=None, **asked).value
        share = model.rate(in_flight=limit, **asked).value / most
        if share < ENOUGH:
            return f"With {render(limit)} unconfirmed messages, a {queue_type} queue has {percent(share)} of its rate."
        if model.rate(in_flight=max(1, limit // 2), **asked).value / most >= ENOUGH:
            return f"Half of {render(limit)} is enough for a {queue_type} queue, and halves the latency."
    return None


# A policy that overrides another


SILENCING, SILENCED, CARTS, TTL_MS = "ttl-10min", "orders-safe", "orders.tmp.carts", 600_000
REAL = ("definitions", "api-queues", "api-nodes")


def silences_nothing(answer: dict) -> str | None:
    """Require, in the exports of `data/real`, that the queue keeps its TTL and is mirrored as its neighbours are."""
    given = inventory.of_files([data_folder_for("data/real") / "real" / f"{name}.json" for name in REAL])
    safe = next(policy for policy in given.policies if policy.name == SILENCED).definition
    given.policies = [
        Policy.of(policy.name, policy.pattern, answer["definition"], policy.priority, policy.apply_to, policy.vhost)
        if policy.name == SILENCING else policy
        for policy in given.policies
    ]  # fmt: skip
    found = lint(given)
    carts = next(one for one in found.assigned.assignments if one.queue.full_name == CARTS)
    if (ttl := (carts.in_force.definition or {}).get("message-ttl")) != TTL_MS:
        return f"{CARTS} has a TTL of {render(ttl)}; the task asks for {TTL_MS} ms."
    if missing := [key for key, value in safe.items() if carts.in_force.definition.get(key) != value]:
        return f"{CARTS} does not have {', '.join(missing)} as its neighbours under {SILENCED} have."
    errors = [finding for finding in found.findings if finding.severity == "error"]
    return f"{errors[0].where}: {errors[0].what}" if errors else None


# The worst case


def stands_the_search(answer: dict) -> str | None:
    """Require that no story of one fault and two operations loses messages that two replicas had confirmed."""
    found = worst(mirrored(**{key.removeprefix("ha-").replace("-", "_"): value for key, value in answer.items()}),
                  "lost-confirmed", 1, 2, "stop start kill publish")  # fmt: skip
    if found.answer.story is None:
        return None
    added = found.answer.story.steps[3:]
    steps = [f"{step.name} {' '.join(getattr(step.verb, 'nodes', ()))}".strip() for step in added]
    return f"There is a story that loses confirmed messages: {', then '.join(steps)}."


EXERCISES: dict[str, StudyExercise] = {
    "25-silenced": StudyExercise(
        "In data/real, the policy ttl-10min overrides orders-safe for orders.tmp.carts. Write a definition for "
        "ttl-10min, so that the queue keeps its TTL of ten minutes and is mirrored like the queues under orders-safe, "
        "and the linter finds no error.",
        ("definition",), silences_nothing, "Right.",
    ),
    "26-policy": StudyExercise(
        "A queue has two copies on three nodes of 3.10. Write a policy with which no story of one kill and two "
        "operations (stops, starts, publishes) loses a confirmed message.",
        ("ha-sync-mode", "ha-promote-on-shutdown", "ha-promote-on-failure"), stands_the_search, "Right: there is none.",
    ),
    "30-racks": StudyExercise(
        "The nodes are distributed over three racks in turn, so the first and the fourth node are in the first rack. "
        "Sometimes a rack fails for an hour. How many nodes and members does a quorum queue need at least to stay "
        "available?",
        ("nodes", "replicas"), survives_racks,
    ),
    "31-policy": StudyExercise(
        "A classic queue of 3.10 has two copies on two or three nodes. The nodes restart every few days, and consumers "
        "work four hours a day. Write a policy with which no confirmed message is lost, whether nodes are stopped or "
        "killed, and the queue waits for a node for at most an hour a year.",
        ("ha-sync-mode", "ha-promote-on-shutdown", "ha-promote-on-failure"), keeps_all,
    ),
    "32-batch": StudyExercise(
        "A synchronisation copies 200,000 messages: messages of 100 kB over a link of 50 MB/s, or messages of 1 MB "
        "over a link of 100 MB/s. Choose a batch size that does not disconnect the nodes from each other, and does not "
        "make the synchronisation slower.",
        ("ha-sync-batch-size",), fits_the_link,
    ),
    "33-procedure": StudyExercise(
        "A mirrored queue of 3.10 on three nodes has ha-sync-mode manual. It has many messages whenever the nodes are "
        "upgraded, once a month. Choose a procedure (true or false for each key) with which no message is lost, and "
        "the queue is down for less than a minute a year.",
        ("sync_queue", "await_online_synchronized_mirror", "drain"), upgrades_well,
    ),
    "34-factor": StudyExercise(
        "A queue has two copies and ha-sync-mode manual, and each node fails once in 500 to 657 days. Choose the "
        "factor by which nodes fail more often while one of them is down. With 2,000 trials, the upper end of the "
        "interval of the share of losses must be at most four times its lower end, and the trials must be worth at "
        "least a third as many plain trials.",
        ("times",), tells_the_rare,
    ),
    "35-limits": StudyExercise(
        "One publisher sends messages of 1 kB to one queue, on the machines of the published figures. How many "
        "unconfirmed messages does the publisher need, for each queue type, to reach nine tenths of the highest rate? "
        "Twice as many as needed is too many.",
        ("classic", "quorum"), enough_in_flight,
    ),
}  # fmt: skip
