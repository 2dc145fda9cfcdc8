"""The types of the JSON answers of commands, from which their JSON Schemas are made (`hawb.views.schemas`).

Within a version keys are added, and none is removed or changes its meaning; so readers must ignore unknown keys. The
docstrings of the types are the descriptions in the schemas.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from hawb.planning.advice import Severity
from hawb.planning.migration import Clash, Verdict
from hawb.planning.out_of_use import OutOfUse
from hawb.planning.quorum_translation import Reason
from hawb.planning.redeclaring import Redeclaration
from hawb.planning.refused_there import Refused
from hawb.planning.safe_to_stop import Effect
from hawb.planning.upgrade import Prediction, Stage
from hawb.rules.upgrade_releases import Fact
from hawb.study.own_upgrade import Within


class SafeNode(TypedDict):
    """The effects of a node's end on queues.

    `effects` lists the queues that suffer from a controlled stop and from a kill, worst first. `quorum_critical` and
    `mirror_sync_critical` are the queues for which RabbitMQ's own checks fail on the node. `out_of_use` are the queues
    that are unavailable before the node ends.
    """

    node: str
    effects: dict[Literal["stop", "kill"], list[Effect]]
    quorum_critical: list[str]
    mirror_sync_critical: list[str]
    out_of_use: list[OutOfUse]


class Finding(TypedDict):
    """A mistake in a policy, a queue or a node: what it is, how severe, why, and the remedy."""

    code: str
    severity: Severity
    kind: Literal["policy", "operator policy", "queue", "node"]
    name: str
    what: str
    why: str
    source: str
    remedy: str
    detail: dict[str, Any]


class InForce(TypedDict):
    """The policy and operator policy that apply to a queue, and those that match it but do not apply."""

    queue: str
    type: str
    policy: str | None
    operator_policy: str | None
    silenced: list[str]
    silenced_operator_policies: list[str]


class Linted(TypedDict):
    """The policies in force in a cluster, and all findings, worst first."""

    cluster: str
    queues: list[InForce]
    findings: list[Finding]


Explored = TypedDict("Explored", {
    "for": str, "faults": int, "operations": int, "verbs": list[str], "over": bool, "depth": int, "states": int,
    "steps_played": int, "queues": list[str], "story": dict[str, Any] | None,
})  # fmt: skip
"""The question, how far the search came, and the shortest story that ends in harm, as in a scenario's file."""


class Plan(TypedDict):
    """An upgrade plan: the times of each node's restart, the prediction, and the steps of the rehearsal.

    A plan of a full stop also has the orders of stops and starts, and `stuck`, the node that waits forever for the
    nodes in `waits_for`, if there is one.
    """

    name: str
    stages: list[Stage]
    prediction: Prediction
    rehearsal_steps: list[dict[str, Any]]
    stops: NotRequired[list[str]]
    starts: NotRequired[list[str]]
    together: NotRequired[int]
    stuck: NotRequired[str | None]
    waits_for: NotRequired[list[str]]


class OwnTimes(TypedDict):
    """The times of `--numbers` in a plan. `within` has the 95 % intervals of its prediction, null without draws."""

    numbers: str
    away_s: float | None
    timing: dict[str, float]
    sources: dict[str, str]
    within: Within | None


class Upgrade(TypedDict):
    """The best plan, other plans, and how the search went. `exact` is true if the search left out no plan."""

    plan: Plan
    others: list[Plan]
    tried: int
    exact: bool
    objective: NotRequired[list[str]]
    waits: NotRequired[list[str]]
    queues: NotRequired[int]
    kinds: NotRequired[int]
    width: NotRequired[int]
    never: NotRequired[list[str]]
    own_times: NotRequired[OwnTimes]


class Erlang(TypedDict):
    """The releases of Erlang that a release of RabbitMQ runs on."""

    least: str
    most: str
    note: str


Removed = TypedDict("Removed", {"with": str, "what": str, "source": str, "do": str})
Leg = TypedDict("Leg", {
    "from": str, "to": str, "release": str, "least": str | None, "erlang": Erlang, "flags": list[str],
    "flags_of_plugins": list[str], "new_flags": list[str], "removed": list[Removed], "meanwhile": list[Fact],
    "source": str,
})  # fmt: skip


class Roll(Upgrade):
    """A rolling upgrade on the way, by the rules of a release. `moved` is true if mirrored queues were moved before."""

    steps: list[str]
    rules: str
    moved: bool


class Road(TypedDict):
    """The upgrades that lead to a release (`hawb upgrade --to`), and the plan of each."""

    road: list[Leg]
    rolls: list[Roll]


class Move(TypedDict):
    """A queue's move to quorum queues: ready, ready with changes, impossible or unnecessary, and the reasons.

    `redeclaration` has the arguments for which RabbitMQ refuses an application that declares the queue as before;
    `redeclare` is the first of them for a move in place.
    """

    queue: str
    verdict: Verdict
    type: str
    arguments: dict[str, Any]
    reasons: list[Reason]
    redeclare: str | None
    redeclaration: Redeclaration | None


class PolicyPart(TypedDict):
    """One of the policies that replace a policy."""

    name: str
    apply_to: str
    priority: int
    pattern: str
    definition: dict[str, Any]
    stands_in: bool


class Split(TypedDict):
    """A policy, and the policies that replace it."""

    policy: str
    operator: bool
    becomes: list[PolicyPart]


Migrated = TypedDict("Migrated", {
    "to": str, "release": str, "from": str, "counts": dict[str, int], "queues": list[Move], "policies": list[Split],
    "clashes": list[Clash], "left_out": dict[str, int], "notes": list[str], "runs": str | None, "road": list[Leg],
    "refused": list[Refused], "moved_later": list[str], "definitions": dict[str, Any],
})  # fmt: skip


class Rate(TypedDict):
    """Messages a second by published figures, with its interval."""

    value: float
    low: float
    high: float
    error: float | None
    warnings: list[str]


class LostConfirmed(TypedDict):
    """The number of trials in which confirmed messages were lost, and the interval of their share."""

    trials: int
    with_loss: int
    share_low: float
    share_high: float


class DownSeconds(TypedDict):
    """The seconds of a trial in which the queue was unavailable.

    A mean without an interval has `trials_for_mean`, about the number of trials that one takes; null if it was never
    unavailable.
    """

    mean: float
    mean_low: float | None
    mean_high: float | None
    trials_for_mean: float | None
    most: float


class Replicas(TypedDict):
    """The costs and benefits of a type and number of replicas; null if no source knows."""

    type: str
    replicas: int
    tolerated: int
    disk_bytes: int | float | None
    memory_bytes: int | float | None
    network: int | float | None
    messages_per_s: Rate | None
    lost_confirmed: LostConfirmed | None
    down_s: DownSeconds | None


class Recommended(TypedDict):
    """A queue's type and number of replicas, and the recommended ones.

    `online` is how many replicas are online, `survives` how many more nodes the queue can lose, and `declared` the
    number of replicas that a stream is declared with (null: unknown, or one on each node).
    """

    queue: str
    type: str
    has: int | None
    recommended_type: str
    recommended: int | None
    blockers: list[str]
    online: int | None
    survives: int | None
    declared: int | None


class ReplicaCounts(TypedDict):
    """The costs and benefits of 1 to 7 replicas for a cluster's queues, and the recommended number for each queue."""

    release: str
    nodes: int
    messages: int
    size_bytes: int
    assumed_size: bool
    failures: int
    members: int
    rule: str
    trials: int
    seed: int
    horizon_days: int
    replicas: list[Replicas]
    queues: list[Recommended]
    legend: list[str]


class Example(TypedDict):
    """An example of a finding."""

    cluster: str
    thing: str


class Risk(TypedDict):
    """A kind of finding: the numbers of queues, of policies and nodes, and of clusters that have it."""

    severity: Severity
    code: str
    queues: int
    policies_and_nodes: int
    clusters: int
    example: Example


class Blocker(TypedDict):
    """Something that blocks a move to quorum queues."""

    blocker: str
    queues: int
    clusters: int


class RefusedFile(TypedDict):
    """A file that could not be read, and why."""

    file: str
    place: str
    given: str
    accepted: str


class Audited(TypedDict):
    """The result of an audit of many clusters."""

    clusters: int
    types: dict[str, int]
    risks: list[Risk]
    blockers: list[Blocker]
    refused: list[RefusedFile]


class Sensitivity(TypedDict):
    """An assumed number, at half, as played and at twice, and the difference from the baseline at each."""

    assumption: str
    values: list[float]
    differences: list[float]


class Estimate(TypedDict):
    """A measure of a design in an environment.

    It has the mean over trials, the share of trials in which the measure is not 0, and how much higher the mean is than
    the baseline's, each with its interval. `trials_for_mean` is about the number of trials that the interval of the
    mean takes; null if it has one, or if no trial had any. `open_…` is the half-width that an interval would have if
    only the rates were uncertain; it needs numbers with draws. `together_…` is the interval of the difference that
    holds simultaneously with those of all other comparisons. `p50`, `p90` and `p99` are quantiles of trials, and
    `above` is the share of trials above the objective. With a control in the study, `gain` says how many times as many
    plain trials of the engine would tell the mean as well, `control_trials` is the number of trials of the control, and
    `control` is how the control differs from the design and the environment; it is missing where the kernel plays
    these. `unseen_by_control` is the number of the engine's trials that had any in years in which the control had none.
    The mean is the plain one where the gain is below 1.5, or where these are all trials that had any. `exact` is the
    mean of `queue_down_s`, calculated from a Markov chain instead of from trials, and `no_exact` is the reason why a
    design has none.
    """

    design: str
    environment: str
    measure: str
    trials: int
    effective_trials: float
    mean: float
    mean_low: float | None
    mean_high: float | None
    trials_for_mean: float | None
    share: float
    share_low: float | None
    share_high: float | None
    difference: float | None
    difference_low: float | None
    difference_high: float | None
    open_mean: NotRequired[float]
    open_share: NotRequired[float]
    open_difference: NotRequired[float]
    gain: NotRequired[float]
    control: NotRequired[str]
    control_trials: NotRequired[int]
    unseen_by_control: NotRequired[int]
    exact: NotRequired[float]
    no_exact: NotRequired[str]
    together_low: NotRequired[float]
    together_high: NotRequired[float]
    least_difference: NotRequired[float]
    sensitivity: NotRequired[list[Sensitivity]]
    p50: NotRequired[float | None]
    p50_low: NotRequired[float | None]
    p50_high: NotRequired[float | None]
    p90: NotRequired[float | None]
    p90_low: NotRequired[float | None]
    p90_high: NotRequired[float | None]
    p99: NotRequired[float | None]
    p99_low: NotRequired[float | None]
    p99_high: NotRequired[float | None]
    objective: NotRequired[float]
    above: NotRequired[float]
    above_low: NotRequired[float]
    above_high: NotRequired[float]


class FittedRate(TypedDict):
    """A kind of duration: its meaning, how many ended and how many were still open, and the fitted distribution.

    The fit is null if no duration ended. It has the mean with its interval, the distribution, its shape, and the AICc
    of each distribution.
    """

    kind: str
    means: str
    ended: int
    open: int
    mean_s: float | None
    mean_low_s: float | None
    mean_high_s: float | None
    distribution: str | None
    shape: float | None
    aicc: dict[str, float]


class FailureCounts(TypedDict):
    """The number of failures of each kind. `disk_lost` are among those that were not controlled stops."""

    stopped: int
    power_off: int
    killed: int
    disk_lost: int
    unknown: int


class UnreadLog(TypedDict):
    """A log that could not be read to its end, and why."""

    file: str
    reason: str


class Rated(TypedDict):
    """The failure rates of clusters by their logs.

    `together` counts common failures by the number of nodes that failed, `groups` is the number of racks over which the
    nodes are distributed accordingly, and `numbers` is the file for --numbers of hawb study.
    """

    clusters: int
    nodes: int
    watched_s: float
    rates: list[FittedRate]
    failures: dict[str, FailureCounts]
    together: dict[str, int]
    groups: int
    numbers: dict[str, Any]
    refused: list[UnreadLog]
