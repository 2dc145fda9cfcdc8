"""Compare the costs and benefits of 1 to 7 replicas for a user's own queues, mirrored and quorum.

Each column has its own source: the rules for tolerated failures; `hawb.rules.quorum_costs` for disk and memory; the
engine, which plays a queue with each number of replicas, for bytes on the network; the model of published figures for
messages a second; and a small study, played now, for loss and outage time: by the kernel, or in fewer trials by the
engine where the kernel refuses. None means that no source has the value; no value is guessed.

Own numbers are laid over that study as over any. If they have draws, the trials of the kernel are played in these too,
and intervals include the uncertainty of the rates (`hawb.study.own_draws`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from hawb.exports.queue_rows import QueueFacts
from hawb.planning.assignments import assign
from hawb.planning.beforehand import NOTHING_BEFORE, Beforehand
from hawb.planning.inventory import NETWORK_BYTES_PER_S, Inventory, Queue
from hawb.planning.migration import migrate
from hawb.planning.replication import FEWEST, MOST, RULE, members_for
from hawb.rules import quorum_costs, streams
from hawb.rules.feature_matrix import Feature
from hawb.rules.profiles import Profile
from hawb.rules.quorum import majority, tolerated_failures
from hawb.rules.quorum_profiles import QUORUM_PROFILES
from hawb.scenario.document import Cluster, QueueEntry, Scenario, Step
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.scenario.verbs import PolicyEntry, Publish
from hawb.study.assumed import FAILING
from hawb.study.design import NODES, Design
from hawb.study.draining import ASSUMED_BYTES, rate
from hawb.study.environment import Environment, Traffic
from hawb.study.intervals import Share
from hawb.study.kernel import setup
from hawb.study.live import Weights
from hawb.study.numbers import Numbers, laid_over, left_out
from hawb.study.own_draws import between, drawn, reaching
from hawb.study.prediction import Prediction
from hawb.study.question import Study
from hawb.study.trial_rows import records

REPLICAS = tuple(range(1, MOST + 1))
TYPES = ("classic", "quorum")

HORIZON_DAYS = 90
TRIALS = 1_000
FEW, ONE_IN = 20, 50
"""The engine, some thousand times as slow as the kernel, plays one in `ONE_IN` of the trials, but at least `FEW`."""

PUBLISHED_PER_S, CONSUMED_PER_S = 50, 200
"""Assumed beside `hawb.study.assumed.FAILING`: steady traffic with consumers that keep up.

Losses of power, lost disks and partitions, which `data/studies/replicas.yaml` has, are left out: the table has to be
ready in a minute.
"""

AROUND = "assumed"

PUBLISHED = 100


class Down(Struct, frozen=True):
    """The time that the queue was unusable in a trial, in seconds of the horizon.

    It has the mean with its interval, and the longest. Without an interval, `takes` is the number of trials that one
    takes (`hawb.study.intervals.ends_of_mean`).
    """

    mean_s: float
    low_s: float | None
    high_s: float | None
    most_s: float
    takes: float | None = None


class Played(Struct, frozen=True):
    """The results of one design's trials: how many lost confirmed messages, and how long the queue was unusable.

    `refused` is the reason why the engine played them and not the kernel. `open_share` is the uncertainty from the
    rates of the share of trials with a loss; the interval of `down` includes its own.
    """

    lost: Share
    down: Down
    refused: str | None = None
    open_share: float = 0.0

    @property
    def share_interval(self) -> tuple[float, float]:
        """Return the ends of the 95 % interval for the share of trials with a loss."""
        low, high = reaching(self.lost.some / self.lost.trials, *self.lost.interval, self.open_share)
        return max(0.0, low), min(1.0, high)


class Cell(Struct, frozen=True, kw_only=True):
    """A type and number of replicas.

    The queue stays usable after `tolerated` failures; a mirrored queue only while its mirrors are synchronised. Bytes
    are those of all replicas of all queues together, `network` is how often the bytes of a message cross the network.
    None means that no source has the value.
    """

    queue_type: str
    replicas: int
    tolerated: int
    disk_bytes: int
    memory_bytes: int | None
    network: float
    rate: Prediction | None
    played: Played | None


class Advice(Struct, frozen=True):
    """The advice for a queue: its number of replicas, the recommended number and type, and obstacles to a quorum queue.

    `has` and `online` (the replicas that run) are None if not known. `declared` is the number of members that a
    declaration gives a stream (None: one on each node).
    """

    queue: Queue
    has: int | None
    replicas: int
    type: str
    blockers: list[str]
    online: int | None = None
    declared: int | None = None

    @property
    def survives(self) -> int | None:
        """Return how many more nodes the queue can lose and stay usable; None if no file has its replicas.

        For a mirrored queue it is all replicas but one, while they are synchronised; for a group the running members
        beyond a majority.
        """
        if self.has is None:
            return None
        if self.queue.type == "classic":
            return self.has - 1
        return max((self.has if self.online is None else self.online) - majority(self.has), 0)


class WhatIf(Struct, frozen=True, kw_only=True):
    """The whole answer: the queues, their depth and message size, the cells, and the recommended number of members.

    `nodes` is None if not known; `notes` name other facts that the files lack; `own` are the numbers that were laid
    over the trials; `before` is the state of the cluster.
    """

    profile: Profile
    nodes: int | None
    queues: list[Queue]
    messages: int
    size_bytes: int
    assumed_size: bool
    failures: int
    members: int
    advice: list[Advice]
    cells: list[Cell]
    trials: int
    seed: int
    rule: str = RULE
    notes: tuple[str, ...] = ()
    own: Numbers | None = None
    before: Beforehand = Beforehand()


def what_if(
    inventory: Inventory, matrix: Mapping[str, Feature], failures: int = 1, trials: int = TRIALS, seed: int = 0,
    watch: Callable[[int], None] = lambda _: None, own: Numbers | None = None, before: Beforehand = NOTHING_BEFORE,
) -> WhatIf:  # fmt: skip
    """Return the answer for a cluster. Raise ScenarioRefused if `own` does not give a valid study.

    `matrix` says which settings quorum queues do not support. `watch` is called with the number of finished cells.
    `own` numbers override those of the study.
    """
    queues = _asked_about(inventory)
    messages = sum(queue.facts.messages or 0 for queue in queues)
    size_bytes, assumed = _size(queues)
    nodes = len(inventory.nodes) or None
    cells = []
    assumed_study = study(inventory, trials, seed)
    asked = laid_over(assumed_study, own) if assumed_study and own else assumed_study
    in_draws = drawn(assumed_study, own) if assumed_study and own and own.draws else None
    for queue_type, replicas in _designs(inventory.profile):
        cells.append(_cell(queue_type, replicas, queues, size_bytes, inventory.profile, asked, in_draws))
        watch(len(cells))
    return WhatIf(
        profile=inventory.profile, nodes=nodes, queues=queues, messages=messages, size_bytes=size_bytes,
        assumed_size=assumed, failures=failures, members=members_for(failures, nodes),
        advice=list(_advice(inventory, matrix, failures, nodes)), cells=cells, trials=trials, seed=seed,
        notes=(*inventory.notes, *_on_streams(inventory), *_on_numbers(assumed_study, own)), own=own, before=before,
    )  # fmt: skip


def _on_numbers(asked: Study | None, own: Numbers | None) -> list[str]:
    """Return notes on own numbers that have no effect here."""
    if own is None:
        return []
    if asked is None:
        return [f"{own.numbers}: not used, because no trial is simulated"]
    nothing = left_out(asked, own)
    return [f"{own.numbers}: left out, because it happens in no trial here: {', '.join(nothing)}"] if nothing else []


def _on_streams(inventory: Inventory) -> list[str]:
    """Return notes on streams, which the figures leave out, with their number of replicas if known."""
    found = [queue for queue in inventory.queues if queue.type == "stream"]
    if not found:
        return []
    known = [len(queue.facts.members) for queue in found if queue.facts.members]
    of_them = f"with {sum(known)} known replicas of {len(known)} of them" if known else "with unknown replicas"
    streams = "1 stream" if len(found) == 1 else f"{len(found)} streams"
    return [f"the figures of costs leave out {streams}, {of_them}: the nodes also carry these streams"]


def study(inventory: Inventory, trials: int = TRIALS, seed: int = 0) -> Study | None:
    """Return the small study to play, with the same failures by trial for every design, or None.

    It is None without trials or queues, and if the network cannot carry the published messages to seven replicas: the
    study would only show a saturated network.
    """
    queues = _asked_about(inventory)
    size_bytes, _ = _size(queues)
    if trials == 0 or not queues or PUBLISHED_PER_S * size_bytes * MOST >= NETWORK_BYTES_PER_S:
        return None
    designs = {_name(*one): design(*one, inventory.profile) for one in _designs(inventory.profile)}
    return Study(
        study="How many replicas?", seed=seed, designs=designs, environments={AROUND: environment(size_bytes)},
        trials=trials, horizon_days=HORIZON_DAYS,
    )  # fmt: skip


def _asked_about(inventory: Inventory) -> list[Queue]:
    return [queue for queue in inventory.queues if queue.type in TYPES and not queue.facts.exclusive]


def _name(queue_type: str, replicas: int) -> str:
    return f"{queue_type}-{replicas}"


def _advice(
    inventory: Inventory, matrix: Mapping[str, Feature], failures: int, nodes: int | None
) -> Iterator[Advice]:
    """Yield the advice for each queue.

    It is a quorum queue of `members_for`. A queue that cannot be a quorum queue is mirrored on a majority of the nodes,
    as the guide to mirroring says, if the release has mirroring and the queue can outlive its node.
    """
    for move in migrate(inventory, inventory.profile.version, matrix).moves:
        queue, facts = move.queue, move.queue.facts
        if queue.type not in TYPES or facts.exclusive:
            continue
        blockers = [] if move.type == "quorum" else [one.what for one in move.reasons]
        alone = queue.type == "classic" and facts.mirrors is None and inventory.policies_listed and not move.mirrored
        has = len(facts.members) if facts.members else 1 if alone else _mirrored(facts)
        online = _online(facts)
        if not blockers:
            yield Advice(queue, has, members_for(failures, nodes), "quorum", [], online)
        else:
            mirrored = inventory.profile.mirroring and move.mirrored
            yield Advice(queue, has, majority(nodes or FEWEST) if mirrored else 1, "classic", blockers, online)
    for assignment in assign(inventory).assignments:
        queue, facts = assignment.queue, assignment.queue.facts
        if queue.type == "stream" and not facts.exclusive:
            declared = streams.settings(assignment.in_force.definition or {}, facts.arguments or {}).group_size
            has = len(facts.members) if facts.members else None
            yield Advice(
                queue, has, members_for(failures, nodes), "stream", [], _online(facts),
                None if declared == streams.ALL_MEMBERS else declared,
            )  # fmt: skip


def _mirrored(facts: QueueFacts) -> int | None:
    return None if facts.mirrors is None else 1 + len(facts.mirrors)


def _online(facts: QueueFacts) -> int | None:
    return None if facts.online is None or not facts.members else len(facts.members) - len(facts.offline())


def _designs(profile: Profile) -> Iterator[tuple[str, int]]:
    """Yield the types and numbers of replicas in a release: without mirroring a classic queue has one."""
    for queue_type in TYPES:
        for replicas in REPLICAS:
            if queue_type == "quorum" or replicas == 1 or profile.mirroring:
                yield queue_type, replicas


def _size(queues: Sequence[Queue]) -> tuple[int, bool]:
    """Return the mean size of a message, and whether it is assumed."""
    sizes = [(queue.facts.messages, queue.facts.message_bytes) for queue in queues if queue.facts.message_bytes]
    counted = sum(messages or 0 for messages, _ in sizes)
    return (-(-sum(size for _, size in sizes) // counted), False) if counted else (ASSUMED_BYTES, True)


def _cell(
    queue_type: str, replicas: int, queues: Sequence[Queue], size_bytes: int, profile: Profile, asked: Study | None,
    in_draws: Study | None,
) -> Cell:  # fmt: skip
    depths = [(queue.facts.messages or 0, _own_size(queue, size_bytes)) for queue in queues]
    return Cell(
        queue_type=queue_type,
        replicas=replicas,
        tolerated=tolerated_failures(replicas) if queue_type == "quorum" else replicas - 1,
        disk_bytes=sum(quorum_costs.disk_bytes(messages, size, replicas) for messages, size in depths),
        memory_bytes=_memory(depths, replicas, profile) if queue_type == "quorum" else None,
        network=_network(queue_type, replicas, size_bytes, profile),
        rate=rate(queue_type, size_bytes, replicas),
        played=_played(asked, _name(queue_type, replicas), in_draws) if asked else None,
    )


def _own_size(queue: Queue, size_bytes: int) -> int:
    facts = queue.facts
    is_known = facts.messages and facts.message_bytes is not None
    return -(-facts.message_bytes // facts.messages) if is_known else size_bytes


def _memory(depths: Sequence[tuple[int, int]], replicas: int, profile: Profile) -> int:
    """Return the bytes of message bodies that all members hold in memory, without limits of the queue."""
    if not QUORUM_PROFILES[profile.version].keeps_bodies:
        return 0
    none = quorum_costs.NO_LIMIT
    return replicas * sum(quorum_costs.memory_bytes(messages, size, none, none) for messages, size in depths)


def _network(queue_type: str, replicas: int, size_bytes: int, profile: Profile) -> float:
    """Return how often the bytes of a published message cross the network, as the engine counts them."""
    given = design(queue_type, replicas, profile)
    entry = given.queue()
    traffic = outcome(Run.of(_story(entry, given.policies(), size_bytes, profile)))["availability"][entry.queue]
    return traffic["bytes_replicated"] / (PUBLISHED * size_bytes)


def _story(entry: QueueEntry, policies: tuple[PolicyEntry, ...], size_bytes: int, profile: Profile) -> Scenario:
    return Scenario(
        scenario="What is published",
        cluster=Cluster(nodes=NODES[:MOST], version=profile.version),
        policies=policies,
        queues=(entry,),
        steps=(Step(Publish(queue=entry.queue, count=PUBLISHED, size=size_bytes)),),
    )


def design(queue_type: str, replicas: int, profile: Profile) -> Design:
    """Return a queue of a type with `replicas` replicas, on seven nodes."""
    mirrored = queue_type == "classic" and replicas > 1
    policy = {"ha-sync-mode": "automatic"} if mirrored else {}
    return Design(queue_type=queue_type, nodes=MOST, replicas=replicas, version=profile.version, policy=policy)


def environment(size_bytes: int) -> Environment:
    """Return the environment assumed for any cluster."""
    traffic = Traffic(publish_per_s=PUBLISHED_PER_S, consume_per_s=CONSUMED_PER_S, message_size_bytes=size_bytes)
    return Environment(node_failures=FAILING, traffic=traffic)


def _played(asked: Study, name: str, in_draws: Study | None) -> Played:
    """Return the results of a design in the study."""
    refused = setup.refused(asked.designs[name], asked.environments[AROUND])
    trials = min(asked.trials, max(FEW, asked.trials // ONE_IN)) if refused else asked.trials
    batch = records(asked, name, AROUND, 0, trials)
    lost, down_s = batch["lost_confirmed"].to_numpy(), batch["queue_down_s"].to_numpy()
    mean_s, low_s, high_s, takes = Weights(batch).mean_of(down_s).values()
    open_share = 0.0
    if in_draws and not refused:
        open_s, open_share = _open(in_draws, name)
        if low_s is not None:
            low_s, high_s = reaching(mean_s, low_s, high_s, open_s)
    down = Down(mean_s, low_s, high_s, float(down_s.max()), takes)
    return Played(Share(int((lost > 0).sum()), trials), down, refused, open_share)


def _open(in_draws: Study, name: str) -> tuple[float, float]:
    """Return the uncertainty from the rates of a design's outage seconds, and of its share of trials with a loss."""
    down, share = [], []
    for environment in in_draws.environments:
        batch = records(in_draws, name, environment, 0, in_draws.trials)
        weights = Weights(batch)
        down.append(weights.in_batches(batch["queue_down_s"].to_numpy()))
        share.append(weights.in_batches(batch["lost_confirmed"].to_numpy() > 0))
    return between(down), between(share)
