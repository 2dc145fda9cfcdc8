"""Policies and operator policies are set and cleared, and queues react.

Both kinds are matched in the same way, each by itself: one policy and one operator policy apply to a queue, and their
definitions are merged key by key. In a cluster's state, a queue's record and the trace, names of operator policies have
a prefix (`USER`, `OPERATOR`).

Source: `rabbit_policy`, `rabbit_mirror_queue_misc:update_mirrors`. Setting a policy changes at once the record of each
queue that it now applies to. The queue's master checks its mirrors a little later and sees only the last of several
quick changes (`hawb.engine.classic.mirrors.take_effect`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import Generic, TypeVar

from msgspec.structs import replace

from hawb.engine.classic.ports import on_record
from hawb.engine.classic.record_ports import is_replicated
from hawb.engine.clients import consuming, deadlines
from hawb.engine.cluster import metadata
from hawb.engine.core.events import (
    ClearPolicy,
    PolicyChanged,
    PolicyCompared,
    PolicyTakesEffect,
    SetPolicy,
)
from hawb.engine.core.naming import split_queue
from hawb.engine.core.operations import AdoptPolicy
from hawb.engine.core.state import CLASSIC, NOWHERE, STREAM, Queue, bits_of
from hawb.engine.core.turn import TIMER, Turn
from hawb.engine.queues import expiry
from hawb.engine.queues import limits as lengths
from hawb.engine.quorum import requests
from hawb.rules import limits, policies, quorum_declaration, streams
from hawb.rules.beginnings import ByBeginning, beginning
from hawb.rules.patterns import Match
from hawb.rules.policies import Mirroring, Policy
from hawb.rules.profiles import HA_SETTINGS
from hawb.rules.quorum_declaration import QuorumSettings
from hawb.rules.quorum_profiles import QUORUM_PROFILES

T = TypeVar("T")

SIMULATED_SETTINGS = HA_SETTINGS | limits.LIMIT_SETTINGS | {"queue-master-locator", "consumer-timeout"}
"""Policy settings that hawb has rules for. Others are kept, and the trace says that they change nothing."""

USER, OPERATOR = "", "operator_"
"""The two kinds of policies, by the prefix of their names."""

KINDS = {USER: "user", OPERATOR: "operator"}
"""The trace's words for the kinds, where no name has the prefix."""


@dataclass(frozen=True)
class InForce:
    """The policy and the operator policy that apply to a queue. Most queues of a cluster are under the same few."""

    policy: Policy | None
    operator_policy: Policy | None

    @cached_property
    def definition(self) -> Mapping[str, object]:
        """Return the merged definition of both."""
        return policies.effective_definition(self.policy, self.operator_policy)

    @cached_property
    def mirroring(self) -> Mirroring | None:
        """Return the mirroring that the merged definition asks for."""
        return policies.mirroring(self.definition)

    def record(self, queue_type: str, arguments: tuple[tuple[str, object], ...]) -> dict[str, object]:
        """Return the fields of a queue's record that depend on its policies, for a queue with these arguments."""
        limited = queue_type == CLASSIC
        return {
            "policy": name_of(self.policy),
            "operator_policy": name_of(self.operator_policy),
            "mirroring": self.mirroring,
            "limits": limits.limits(self.definition, dict(arguments)) if limited else limits.NO_LIMITS,
        }


_together = lru_cache(maxsize=256)(InForce)


class _Known(Generic[T]):
    """Policies that a side knows, or settings.

    They are equal only to the very same object: comparing thousands of policies takes longer than matching a queue.
    """

    def __init__(self, given: T) -> None:
        self.given = given

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Known) and self.given is other.given

    def __hash__(self) -> int:
        return id(self.given)


@lru_cache(maxsize=4)
def _settled(_settings: _Known, _policies: _Known, _operator_policies: _Known) -> dict[str, Queue]:
    return {}


@lru_cache(maxsize=16)
def _by_vhost(known: _Known[tuple[Policy, ...]]) -> dict[str, ByBeginning[Policy]]:
    """Return policies by their virtual hosts, and there by the beginnings of the names that they could match."""
    found: dict[str, list[Policy]] = defaultdict(list)
    for policy in known.given:
        found[policy.vhost].append(policy)
    return {vhost: ByBeginning(those, attrgetter("pattern")) for vhost, those in found.items()}


def set_policy(turn: Turn, policy: Policy, kind: str = USER) -> None:
    """Run `rabbitmqctl set_policy` or `set_operator_policy`. The caller has validated the policy."""
    if metadata.defer_if_blocked(turn, SetPolicy(turn.first_running(), policy, kind)):
        return
    had, known = of_kind(turn, kind), settled_queues(turn)
    left = [other for other in had if (other.vhost, other.name) != (policy.vhost, policy.name)]
    setattr(turn, f"{kind}policies", (*left, policy))
    turn.because = record_policy(turn, f"{kind}policy_set", policy)
    replaced = [other for other in had if (other.vhost, other.name) == (policy.vhost, policy.name)]
    reconsider_all(turn, policy.vhost, kind, [*replaced, policy], known)


def of_kind(turn: Turn, kind: str) -> tuple[Policy, ...]:
    """Return all policies, or all operator policies."""
    return getattr(turn, f"{kind}policies")


def record_policy(turn: Turn, event: str, policy: Policy) -> int:
    """Write a trace entry about a policy, and return its number.

    Write another one on the settings that change nothing in hawb.
    """
    entry = turn.emit(
        event, name=policy.name, pattern=policy.pattern, definition=policy.definition, priority=policy.priority,
        vhost=policy.vhost,
    )  # fmt: skip
    of_quorum_queues = dict(QUORUM_PROFILES[turn.settings.profile.version].settings)
    left = [key for key, _ in policy.settings if key not in SIMULATED_SETTINGS and key not in of_quorum_queues]
    if left:
        turn.emit("not_simulated", because=entry, what=[f"policy setting {key}" for key in left])
    return entry


def clear_policy(turn: Turn, name: str, vhost: str, kind: str = USER) -> None:
    """Run `rabbitmqctl clear_policy` or `clear_operator_policy`."""
    if metadata.defer_if_blocked(turn, ClearPolicy(turn.first_running(), name, vhost, kind)):
        return
    had, known = of_kind(turn, kind), settled_queues(turn)
    left = tuple(policy for policy in had if (policy.vhost, policy.name) != (vhost, name))
    if left == had:
        words = f"{kind}policy".replace("_", " ")
        turn.refuse(None, f"Parameter does not exist: {words} '{name}' in vhost '{vhost}'")
        return
    setattr(turn, f"{kind}policies", left)
    turn.because = turn.emit(f"{kind}policy_cleared", name=name, vhost=vhost)
    reconsider_all(turn, vhost, kind, [one for one in had if (one.vhost, one.name) == (vhost, name)], known)


def in_force(turn: Turn, name: str, queue_type: str, *, declaring: bool = False) -> InForce:
    """Return the policies that apply to a queue."""
    return _together(*(applying(turn, name, queue_type, kind, declaring) for kind in (USER, OPERATOR)))


def applying(turn: Turn, name: str, queue_type: str, kind: str, declaring: bool) -> Policy | None:
    """Return the one policy of a kind that applies to a queue; None if there is none.

    Write a trace entry where RabbitMQ leaves the choice open, and where matching a pattern was given up.
    """
    vhost, short = split_queue(name)
    there = _by_vhost(_Known(of_kind(turn, kind))).get(vhost)
    if there is None:
        return None
    matching = []
    for policy in there.of(short):
        match = policies.matched(policy, short)
        if match is Match.GAVE_UP:
            turn.emit("pattern_gave_up", queue=name, policy=policy.name, pattern=policy.pattern, kind=KINDS[kind])
        elif match is Match.YES:
            matching.append(policy)
    found = policies.candidates(matching, vhost, queue_type, turn.settings.profile, declaring=declaring)
    tied = policies.ties(found)
    if tied:
        names = [policy.name for policy in tied]
        turn.emit("policy_tie", queue=name, policies=names, chosen=found[0].name, kind=KINDS[kind])
    return found[0] if found else None


def name_of(policy: Policy | None) -> str | None:
    """Return the name of a policy as a queue's record has it."""
    return None if policy is None else policy.name


def reconsider_all(
    turn: Turn, vhost: str, kind: str, changed: Iterable[Policy], known: Mapping[str, Queue]
) -> None:
    """Match the policies of one kind again with every queue of a virtual host.

    Skip a queue whose record is only on disks: it returns with the policy that it had, until policies change again
    (`rabbit_policy:update_policies`, which reads the table in memory). `changed` are the new, changed and cleared
    policies. `known` is the earlier result of `settled_queues`: a queue whose record has not changed since is settled,
    unless its name begins as the patterns of `changed` do.
    """
    begins = tuple(beginning(policy.pattern) for policy in changed)
    settled, consumed_from = settled_queues(turn), deadlines.queues_with_timers(turn)
    for name in turn.queue_names():
        had = turn.queues[name]
        if had.vhost != vhost:
            if known.get(name) is had:
                settled[name] = had
            continue
        if had.absent:
            continue
        if known.get(name) is had and not split_queue(name)[1].startswith(begins):
            settled[name] = had
        else:
            written = len(turn.entries)
            reconsider(turn, name, kind)
            if turn.queues[name] is had and turn.traced and len(turn.entries) == written and not turn.owns(name):
                settled[name] = had
        if name in consumed_from:
            deadlines.plan_anew(turn, name)


def settled_queues(turn: Turn) -> dict[str, Queue]:
    """Return the records of the queues that the last change of policies did not change.

    The result belongs to the policies of the current side. The next change of a policy looks again only at queues that
    have another record by then, and at queues that it may concern.
    """
    return _settled(_Known(turn.settings), _Known(turn.policies), _Known(turn.operator_policies))


def reconsider(turn: Turn, name: str, kind: str) -> None:
    """Match the policies of one kind again for one queue.

    Other nodes than before may get a mirror, including those whose process has crashed for good and is off the record.
    """
    had = turn.queues[name]
    found = in_force(turn, name, had.type)
    record = found.record(had.type, had.arguments)
    wanted = group_settings(turn, found, had.type, had.arguments) if had.has_group else None
    settled = wanted == (had.pending_settings or had.quorum_settings)
    if settled and all(getattr(had, field) == value for field, value in record.items()):
        return
    field = f"{kind}policy"
    was = getattr(had, field)
    crashed = had.crashed & bits_of({had.master, *had.mirrors} - {NOWHERE})
    # rabbit_amqqueue:update writes the record to disk as it is, with mirrors; store_queue writes it without.
    on_disk = on_record(had) if had.durable else ()
    # 3.8 gives a quorum queue that is being declared a policy that mirrors, and fails to end the mirroring before it
    # would inform the queue of another policy (`rabbit_amqqueue:policy_changed`, `update_mirroring`).
    pending = wanted if had.mirroring is not None or requests.misses_policy(turn, had) else None
    queue = turn.change_queue(name, crashed=crashed, mirrors_on_disk=on_disk, pending_settings=pending, **record)
    queue = turn.change_queue(name, mirrored=queue.type == CLASSIC and is_replicated(queue))
    entry = turn.emit(f"{field}_applied", queue=name, policy=getattr(queue, field), was=was)
    if queue.type == CLASSIC:
        for event in (PolicyTakesEffect(name), PolicyChanged(name, queue.master)):
            turn.schedule(turn.settings.timing.link_latency_us, event, entry)
    elif queue.type == STREAM:
        turn.change_queue(name, quorum_settings=wanted, pending_settings=None)
    elif pending is None:
        requests.put(turn, name, AdoptPolicy(name), NOWHERE)


def group_settings(
    turn: Turn, found: InForce, kind: str, arguments: tuple[tuple[str, object], ...]
) -> QuorumSettings:
    """Return the settings of a quorum queue or stream under the policies that apply to it, and with its arguments."""
    settings = turn.settings
    if kind == STREAM:
        return streams.settings(found.definition, dict(arguments))
    return quorum_declaration.quorum_settings(
        found.definition, dict(arguments), settings.profile, settings.quorum_cluster_size
    )


def adopt(turn: Turn, event: AdoptPolicy) -> None:
    """Let a quorum queue apply a changed policy, as `rabbit_quorum_queue:policy_changed` asks."""
    queue = turn.queues[event.queue]
    wanted = group_settings(turn, in_force(turn, queue.name, queue.type), queue.type, queue.arguments)
    lengths.adopt_settings(turn, queue.name, wanted)
    consuming.deliver(turn, queue.name)


def watch(turn: Turn, name: str) -> None:
    """Schedule the check at a new leader's first tick of whether its queue applies its policy, since 4.0.0.

    Source: `rabbit_quorum_queue:handle_tick`, `maybe_apply_policies`.
    """
    queue, profile = turn.queues[name], QUORUM_PROFILES[turn.settings.profile.version]
    if profile.compares_policies and queue.pending_settings is not None:
        delay_us = 0 if profile.ticks_at_once else expiry.TICK_US
        turn.schedule(delay_us, PolicyCompared(name, queue.master), priority=TIMER)


def compared(turn: Turn, event: PolicyCompared) -> None:
    """Let a quorum queue apply a policy that changed while it had no leader, unless it has already done so."""
    queue = turn.queues.get(event.queue)
    if queue is not None and queue.master == event.node and seems_changed(turn, queue):
        turn.change_queue(event.queue, pending_settings=None)
        requests.put(turn, event.queue, AdoptPolicy(event.queue), NOWHERE)


def seems_changed(turn: Turn, queue: Queue) -> bool:
    """Return True if a leader that compares finds that its queue's settings differ from its policy's.

    Where a release overlooks the delivery limit, that alone is no difference.
    """
    pending, known = queue.pending_settings, queue.quorum_settings
    if pending is None or known is None:
        return pending is not None
    if QUORUM_PROFILES[turn.settings.profile.version].overlooks_delivery_limit:
        return replace(pending, delivery_limit=known.delivery_limit) != known
    return True
