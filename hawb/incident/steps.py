"""Turn events into steps of a scenario: what an operator did, or what happened to a node.

What follows by the rules (promotions, elections, pauses, mirrors that join) is no step; the scenario is compared by it.
Steps have the times of the logs. What was detected late, such as a silent link, is placed that much earlier, and a boot
so that it ends when it did.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from hawb.engine.core.naming import split_queue
from hawb.engine.core.state import CLASSIC
from hawb.incident.absences import SILENCE
from hawb.incident.cluster_event import TOGETHER_US, ClusterEvent, is_healing
from hawb.incident.step_context import AT_ONCE_US, JOINING_US, StepContext, TimedStep, booted_us
from hawb.rules.policies import Policy, effective_definition, matching
from hawb.scenario import verbs
from hawb.scenario.fields import Verb

MISSED_US = 500_000
"""Maximum time between a promotion and the other replicas' detection, as all get the same messages."""
GIVING_US = 15_000_000
"""Maximum time until masters are transferred after a command."""
GIVEN_AWAY = ("partition_begun", "node_drained", "rebalanced", "node_forgotten", "node_paused")
"""Why a master may be another's without having crashed."""


def stopped(context: StepContext, one: ClusterEvent) -> Iterator[TimedStep]:
    """Yield a stop, except that of a node that joins or is reset."""
    if not context.joins(one):
        yield TimedStep(one.at_us, verbs.Stop((one.node or "",)), (one,))


def paused(context: StepContext, one: ClusterEvent) -> Iterator[TimedStep]:
    """Yield a stop of a node that autoheal restarts, if that is to be followed."""
    if context.healed and is_healing(one):
        node = one.node or ""
        chosen = [other for other in context.found if other.kind == "autoheal" and node in other.nodes
                  and 0 <= one.at_us - other.at_us <= JOINING_US]  # fmt: skip
        context.doubt("healed", node=node, from_us=one.at_us)
        yield TimedStep(one.at_us, verbs.Stop((node,)), (one, *chosen[-1:]))


def killed(context: StepContext, one: ClusterEvent) -> Iterator[TimedStep]:
    """Yield a kill, or a power failure for a node that fell silent.

    The power failure is placed as long before as other nodes take to detect it.
    """
    node = one.node or ""
    if one.reason == SILENCE:
        run = next(run for run in context.node_runs if run.node == node and run.until_us == one.at_us)
        context.doubt("silent_since", node=node, until_us=one.at_us)
        yield TimedStep(max(run.seen_us, one.at_us - context.silence_us), verbs.PowerOff((node,)), (one,))
        return
    if not any(event.peer == node for event in one.events):
        context.doubt("end_unseen", node=node, from_us=one.at_us)
    if one.kind == "node_gone":
        context.doubt("no_log", node=node)
    yield TimedStep(one.at_us, verbs.Kill((node,)), (one,))


def started(context: StepContext, one: ClusterEvent) -> Iterator[TimedStep]:
    """Yield a boot of a node that was down, on an empty disk if it says so.

    A node that comes back by itself has no step. A boot that has not ended when the logs do, and does not wait for
    other nodes, has had no effect yet.
    """
    node, last = one.node or "", context.last_end(one)
    if last is None or (last.comes_back and not context.is_healed(last)) or context.joins(one):
        return
    if context.boots_still(one):
        return
    begins_us = one.at_us
    if not context.near("node_waiting", node, one.at_us, JOINING_US) and (took_us := booted_us(one)):
        begins_us = max((last.halted_us or last.until_us or 0) + 1, one.at_us + took_us - context.boot_us)
    disk = context.near("disk_lost", node, one.at_us, TOGETHER_US * 3)
    if disk:
        yield TimedStep(begins_us - 1, verbs.Wipe(node), (disk,))
    missing = [other for other in context.found if other.kind == "node_joined" and context.lost_disk(other)
               and context.forgotten_how(other) == one]  # fmt: skip
    for other in missing:
        yield TimedStep(begins_us - 1, verbs.ForgetClusterNode(other.node or "", node, offline=True), (other,))
    forced = not missing and context.is_forced(one)
    if forced:
        context.doubt("forced_boot", node=node, from_us=begins_us)
    yield TimedStep(begins_us, verbs.ForceBoot(node) if forced else verbs.Start((node,)), (one,))


def joined(context: StepContext, one: ClusterEvent) -> Iterator[TimedStep]:
    """Yield the joining of a node, and the loss of its disk if it lost it.

    The cluster would not have accepted it again as long as it was a member.
    """
    if context.lost_disk(one):
        node = one.node or ""
        signs = [context.near(kind, node, one.at_us, JOINING_US) for kind in ("disk_lost", "node_forgotten")]
        verb = verbs.Reset(node) if context.forgotten_how(one) == "reset" else verbs.Wipe(node)
        yield TimedStep(one.at_us - 1, verb, (one, *filter(None, signs)))
    yield TimedStep(one.at_us, verbs.Join(one.node or ""), (one,))


def parted(context: StepContext, one: ClusterEvent) -> Iterator[TimedStep]:
    """Yield broken links: between partitions, or single ones."""
    at_us = one.at_us
    if one.reason == SILENCE:
        context.doubt("silent_since", from_us=at_us - context.silence_us, until_us=at_us)
        at_us -= context.silence_us
    links = set(one.pairs)
    sides = sides_of(one.nodes, links)
    across = {(one, other) for some in sides for others in sides if some != others for one in some for other in others
              if one < other}  # fmt: skip
    if len(sides) > 1 and across == links:
        yield TimedStep(at_us, verbs.Partition(tuple(sides)), (one,))
    else:
        yield TimedStep(at_us, verbs.Cut(tuple(sorted(links))), (one,))


def sides_of(nodes: Sequence[str], links: set[tuple[str, str]]) -> list[tuple[str, ...]]:
    """Return the nodes in groups that still reach each other if these links are broken."""
    sides: list[list[str]] = []
    for node in nodes:
        near = [side for side in sides if any((min(node, one), max(node, one)) not in links for one in side)]
        merged = sorted([node, *(one for side in near for one in side)])
        sides = [*(side for side in sides if side not in near), merged]
    return [tuple(side) for side in sorted(sides)]


def healed(_: StepContext, one: ClusterEvent) -> Iterator[TimedStep]:
    """Yield the repair of all links."""
    yield TimedStep(one.at_us, verbs.Heal(), (one,))


def forgotten(context: StepContext, one: ClusterEvent) -> Iterator[TimedStep]:
    """Yield the removal of a cluster node, except one that left by itself."""
    if not context.left(one):
        yield TimedStep(one.at_us, verbs.ForgetClusterNode(one.node or "", one.events[-1].node), (one,))


def reset(context: StepContext, one: ClusterEvent) -> Iterator[TimedStep]:
    """Yield the reset of a node, except the one that is part of joining (`rabbit_mnesia:join_cluster`).

    A node that the cluster had removed could not have joined without a reset.
    """
    joined = context.near("node_joined", one.node, one.at_us, AT_ONCE_US)
    forgotten = context.last_of("node_forgotten", one)
    if joined is None or (
        forgotten and not context.lost_disk(joined) and not context.last_of("node_joined", one, forgotten)
    ):
        yield TimedStep(one.at_us, verbs.Reset(one.node or ""), (one,))


def on_node(verb: Callable[[str], Verb]) -> Callable[[StepContext, ClusterEvent], Iterator[TimedStep]]:
    """Return a function that yields an operation on a node."""

    def step_at_node(_: StepContext, one: ClusterEvent) -> Iterator[TimedStep]:
        yield TimedStep(one.at_us, verb(one.node or one.events[0].node), (one,))

    return step_at_node


def member_added(_: StepContext, one: ClusterEvent) -> Iterator[TimedStep]:
    """Yield the addition of a quorum queue's member."""
    yield TimedStep(one.at_us, verbs.AddMember(one.queue or "", one.node or ""), (one,))


def member_removed(context: StepContext, one: ClusterEvent) -> Iterator[TimedStep]:
    """Yield the removal of a quorum queue's member, except those on a node that is forgotten."""
    if not any(other.kind == "node_forgotten" and other.node == one.node and 0 <= one.at_us - other.at_us <= JOINING_US
               for other in context.found):  # fmt: skip
        yield TimedStep(one.at_us, verbs.DeleteMember(one.queue or "", one.node or ""), (one,))


def declared(context: StepContext, one: ClusterEvent) -> Iterator[TimedStep]:
    """Yield the declaration of a quorum queue.

    Take its arguments from a later listing, unless the queue was declared again in between.
    """
    again = any(other.kind == one.kind and other.queue == one.queue and other.at_us > one.at_us
                for other in context.found)  # fmt: skip
    listed = {} if again else context.later_arguments.get(one.queue or "", {})
    arguments = listed | {"x-queue-type": "quorum", "x-quorum-initial-group-size": one.count or 1}
    yield TimedStep(one.at_us, verbs.Declare(one.queue or "", one.events[0].node, arguments=arguments), (one,))


def deleted(_: StepContext, one: ClusterEvent) -> Iterator[TimedStep]:
    """Yield the deletion of a queue."""
    yield TimedStep(one.at_us, verbs.Delete(one.queue or ""), (one,))


def alarmed(_: StepContext, one: ClusterEvent) -> Iterator[TimedStep]:
    """Yield the setting or clearing of an alarm, except the clearing when its node ends."""
    verb = verbs.Alarm if one.kind == "alarm_set" else verbs.ClearAlarm
    if one.name in ("memory", "disk") and one.reason != "dead":
        yield TimedStep(one.at_us, verb(one.node or "", one.name), (one,))


def policy_set(context: StepContext, one: ClusterEvent) -> Iterator[TimedStep]:
    """Yield the setting of a policy.

    The log has its name, but neither its definition nor whether it was accepted: the line is logged for refused
    policies too (`rabbit_policy:parse_set0`), and for operator policies. Later definitions have the last policy of each
    name.
    """
    name = one.name or ""
    again = any(other.kind == one.kind and other.name == name and other.at_us > one.at_us for other in context.found)
    if not again and (policy := context.later_policies.get(name)):
        yield TimedStep(one.at_us, verbs.SetPolicy(**policy), (one,))
        return
    operator_policy = next((entry for entry in context.operator_policies if entry["name"] == name), None)
    if policy := context.policies.get(name):
        yield TimedStep(one.at_us, verbs.SetPolicy(**policy), (one,))
    elif operator_policy:
        yield TimedStep(one.at_us, verbs.SetOperatorPolicy(**operator_policy), (one,))
    known = policy or operator_policy
    context.doubt("policy_as_exported" if known else "policy_unknown", name=one.name, from_us=one.at_us)


def moved(context: StepContext, one: ClusterEvent) -> Iterator[TimedStep]:
    """Yield the transfer of a leader, except one by rebalancing or draining."""
    if not any(other.kind in ("rebalanced", "node_drained") and 0 <= one.at_us - other.at_us <= JOINING_US
               for other in context.found):  # fmt: skip
        yield TimedStep(one.at_us, verbs.TransferLeadership(one.queue or "", one.node or ""), (one,))


def taken_over(context: StepContext, one: ClusterEvent) -> Iterator[TimedStep]:
    """Yield the crash of a master's process, or the transfer of a master.

    It was a crash if a mirror took over, and replicas saw one as down on a node that ran, reached the others, and was
    not ordered to give up its masters. It was a transfer if the master was dropped and is a mirror again, which no
    policy does that drops it (`rabbit_mirror_queue_misc:transfer_leadership`).
    """
    misses = [other for other in context.found if other.kind == "mirrors_missed" and other.queue == one.queue
            and abs(other.at_us - one.at_us) <= MISSED_US]  # fmt: skip
    missed = {node for other in misses for node in other.nodes}
    before = [other for other in context.found if 0 <= one.at_us - other.at_us <= GIVING_US]
    given = any(other.kind in GIVEN_AWAY for other in before)
    dropped = any(_is_of(other, "mirror_dropped", one, missed) for other in before)
    gone = {run.node for run in context.node_runs
            if run.until_us is not None and -TOGETHER_US <= one.at_us - run.until_us <= GIVING_US}  # fmt: skip
    running = {run.node for run in context.node_runs if run.from_us < one.at_us <= run.seen_us}
    if given or not missed or not missed <= running - gone:
        return
    if not dropped:
        yield TimedStep(one.at_us, verbs.Crash(one.queue or ""), (one,))
    elif any(_is_of(other, "mirror_added", one, missed) for other in context.found
             if 0 <= other.at_us - one.at_us <= TOGETHER_US):  # fmt: skip
        yield TimedStep(one.at_us, verbs.TransferLeadership(one.queue or "", one.node or ""), (one,))


def _is_of(other: ClusterEvent, kind: str, one: ClusterEvent, nodes: set[str]) -> bool:
    """Return True if an event of a kind concerns a queue's replica on one of the nodes."""
    return other.kind == kind and other.queue == one.queue and other.node in nodes


def crashed(_: StepContext, one: ClusterEvent) -> Iterator[TimedStep]:
    """Yield the crash of a queue process."""
    yield TimedStep(one.at_us, verbs.Crash(one.queue or "", one.node), (one,))


def synchronised(context: StepContext, one: ClusterEvent) -> Iterator[TimedStep]:
    """Yield a synchronisation that an operator asked for: one without a policy that makes it automatic."""
    queue = one.queue or ""
    if one.reason == "needless" or _automatic(context, queue):
        return
    yield TimedStep(one.at_us, verbs.SyncQueue(queue), (one,))
    if one.reason == "cancelled" and one.until_us:
        yield TimedStep(one.until_us, verbs.CancelSyncQueue(queue), (one,))


def _automatic(context: StepContext, queue: str) -> bool:
    """Return True if a policy has the mirrors of a queue synchronised as they join."""
    decides = []
    for entries in (context.policies.values(), context.operator_policies):
        policies = [Policy.of(**entry) for entry in entries]
        found = matching(policies, *split_queue(queue), CLASSIC, context.profile, declaring=False)
        decides.append(found[0] if found else None)
    return effective_definition(*decides).get("ha-sync-mode") == "automatic"


STEPS: dict[str, Callable[[StepContext, ClusterEvent], Iterator[TimedStep]]] = {
    "node_stopped": stopped,
    "node_paused": paused,
    "node_killed": killed,
    "node_gone": killed,
    "node_started": started,
    "node_drained": on_node(verbs.Drain),
    "node_revived": on_node(verbs.Revive),
    "node_joined": joined,
    "node_forgotten": forgotten,
    "node_reset": reset,
    "partition_begun": parted,
    "partition_healed": healed,
    "member_added": member_added,
    "member_removed": member_removed,
    "queue_shrunk": on_node(verbs.ForceShrink),
    "queue_declared": declared,
    "queue_deleted": deleted,
    "queue_moved": moved,
    "queue_restarted": crashed,
    "mirror_promoted": taken_over,
    "synchronisation": synchronised,
    "alarm_set": alarmed,
    "alarm_cleared": alarmed,
    "policy_set": policy_set,
    "rebalanced": on_node(lambda _: verbs.Rebalance()),
}
"""Functions that turn each kind of event into steps; others follow from the rules."""
