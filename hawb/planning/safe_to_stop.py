"""Say whether it is safe to stop a node now: stop and kill each node on a copy, beside RabbitMQ's health checks.

The checks look at the present state; the simulation shows what happens. `check_if_node_is_quorum_critical` counts a
member as healthy that is still catching up, and `check_if_node_is_mirror_sync_critical` ignores queues without mirrors,
transient messages, and the policy's promotion settings.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from hawb.engine.core import runs
from hawb.engine.core.ledger import Account
from hawb.engine.core.moment import Moment
from hawb.engine.core.state import CLASSIC, RUNNING, STREAM, Queue, Side, State
from hawb.engine.raft_groups.group import STORE
from hawb.exports.imported import ALL_KNOWN, Live
from hawb.planning.alike import alike, full_name
from hawb.planning.beforehand import already_out, for_all, names_of
from hawb.planning.listed_down import listed_remedies
from hawb.planning.out_of_use import METADATA, OutOfUse, is_usable, out_of_use
from hawb.planning.remedies import Remedy, lost, remedies
from hawb.rules.health_checks import mirror_check_applies, quorum_check_applies, types_counted
from hawb.rules.quorum import is_critical
from hawb.scenario.beginning import MICROSECONDS
from hawb.scenario.document import QueueEntry, Scenario
from hawb.scenario.quorum_outcome import is_online
from hawb.scenario.run import Run

COORDINATOR = "rabbit_stream_coordinator"
"""Name of the stream coordinator in RabbitMQ's check; listed beside queues, as METADATA is."""
WAYS = ("stop", "kill")
REASONS = ("queue_down", "queue_unavailable", "messages_lost")
"""Events that explain why a queue suffers, the most informative last."""


FATES = ("waits", "deleted", "stuck")
"""Fates of an unavailable queue. waits: it waits for its node. deleted: it is gone with its node, being exclusive, or
not durable and not mirrored. stuck: it stays, its record names a master that no node brings back, and it can only be
deleted (`hawb.engine.classic.outage.await_master`)."""


class Effect(Struct, frozen=True):
    """The effect of a node's end on a queue, until the cluster has settled without the node.

    `lost` messages are gone for good; `lost_confirmed` of them had been confirmed. `down` is true if the queue is
    unavailable as long as the node is away; `unavailable_s` is how long it is unavailable in any case, in seconds.
    `fate` is one of FATES for a queue that is down. `reason` is the cause of a loss (`trace.CAUSES`), or why no replica
    serves the queue (`queue_down`), or no_majority.
    """

    queue: str
    lost: int
    lost_confirmed: int
    down: bool
    unavailable_s: float
    reason: str | None
    fate: str = "waits"

    @property
    def hurts(self) -> bool:
        """Return True if the queue suffers more than a failover."""
        return bool(self.lost) or self.down


class Forecast(Struct, frozen=True):
    """The effects of a node's end, in each of WAYS.

    It lists the queues that lose messages or are unavailable for a time, worst first, and the queues for which
    RabbitMQ's checks fail on the node. `out_of_use` are the queues, and the metadata store, that are unavailable before
    the node ends.
    """

    node: str
    effects: dict[str, tuple[Effect, ...]]
    quorum_critical: tuple[str, ...]
    mirror_sync_critical: tuple[str, ...]
    out_of_use: tuple[OutOfUse, ...] = ()

    def hurt(self, way: str) -> list[Effect]:
        """Return the queues that lose messages or are unavailable while the node is away."""
        return [effect for effect in self.effects[way] if effect.hurts]

    def missed(self, way: str) -> list[Effect]:
        """Return the hurt queues for which neither of RabbitMQ's checks fails."""
        critical = {*self.quorum_critical, *self.mirror_sync_critical}
        return [effect for effect in self.hurt(way) if effect.queue not in critical]


class Outlook(Struct, frozen=True):
    """The forecasts, the queues that are unavailable now, and the remedies in order.

    `live` lists what no file says; effects on queues whose state is unknown are left out. `mirrors` is True if the
    release has mirrored queues.
    """

    forecasts: tuple[Forecast, ...]
    out_of_use: tuple[OutOfUse, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    live: Live = ALL_KNOWN
    mirrors: bool = True

    @classmethod
    def of(cls, found: Outlook | Sequence[Forecast]) -> Outlook:
        """Return `found` as an Outlook, which may be a sequence of forecasts."""
        return found if isinstance(found, Outlook) else cls(tuple(found), found[0].out_of_use if found else ())


def safe_to_stop(run: Run, nodes: Iterable[str] | None = None) -> list[Forecast]:
    """Return the forecast for each running node, or only for those in `nodes`, after the run has settled.

    The run stays as it is.
    """
    names, state = run.settings.names, run.moment().state
    running = [names[index] for index in state.running()]
    chosen = running if nodes is None else [node for node in nodes if node in running]
    out = out_of_use(run)
    return [
        Forecast(
            node,
            {way: _effects(run, way, node) for way in WAYS},
            quorum_critical(state, names.index(node), run.settings.profile.version),
            mirror_sync_critical(state, names.index(node)),
            out,
        )
        for node in chosen
    ]


def outlook(scenario: Scenario, nodes: Iterable[str] | None = None, live: Live = ALL_KNOWN) -> tuple[Run, Outlook]:
    """Return the run of a scenario, and the whole answer at its end: forecasts, queues out of use, and remedies.

    Of an export only one queue of each kind is played (`hawb.planning.alike`). `live` has the facts about the running
    cluster that the files have, and says which ones they lack. Without a listing of nodes there are no forecasts.
    """
    unknown = {*live.unlisted, *live.listed_down}
    kinds = alike(scenario, unknown=unknown)
    run, nodes = Run.of(kinds.scenario), None if nodes is None else list(nodes)
    out = already_out(run, kinds, live)
    if not live.nodes_listed:
        return run, Outlook((), out, (), live, run.settings.profile.mirroring)
    plain = safe_to_stop(run, nodes)
    forecasts = [_of_all(one, kinds.kinds, unknown, out) for one in plain]
    hurt = [effect for way in WAYS for one in plain for effect in one.hurt(way)]
    known = {name for name, entries in kinds.kinds.items() if unknown.isdisjoint(map(full_name, entries))}
    known |= {effect.queue for effect in hurt} - kinds.kinds.keys()
    found = remedies(
        run, partial(harm, nodes=nodes),
        tuple(dict.fromkeys(effect.queue for effect in hurt if effect.lost and effect.queue in known)),
        tuple(dict.fromkeys(effect.queue for effect in hurt if effect.down and effect.queue in known)),
    )  # fmt: skip
    whole = (*listed_remedies(scenario, live), *(for_all(one, kinds.kinds) for one in found))
    return run, Outlook(tuple(forecasts), out, whole, live, run.settings.profile.mirroring)


def harm(run: Run, nodes: Sequence[str] | None) -> tuple[int, ...]:
    """Return the measure of an answer for `hawb.planning.remedies`; smaller is better.

    The tuple holds the messages lost, the unavailable queues, and what a stop, and then a kill, of any of the nodes
    does.
    """
    forecasts = safe_to_stop(run, nodes)
    found = [lost(run), len(out_of_use(run))]
    for way in WAYS:
        hurt = [effect for one in forecasts for effect in one.hurt(way)]
        found += [sum(effect.lost for effect in hurt), len({effect.queue for effect in hurt}), len(hurt)]
    return tuple(found)


def _of_all(
    forecast: Forecast, kinds: Mapping[str, Sequence[QueueEntry]], unknown: Container[str], out: tuple[OutOfUse, ...]
) -> Forecast:
    """Return the forecast for all queues whose state is known, from a forecast for their representatives."""

    def every(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted(name for one in names for name in names_of(one, kinds) if name not in unknown))

    effects = {
        way: [other for one in those for other in _alike(one, kinds) if other.queue not in unknown]
        for way, those in forecast.effects.items()
    }
    return Forecast(
        forecast.node,
        {way: tuple(sorted(those, key=_worst_first)) for way, those in effects.items()},
        every(forecast.quorum_critical),
        every(forecast.mirror_sync_critical),
        out,
    )


def _alike(effect: Effect, kinds: Mapping[str, Sequence[QueueEntry]]) -> Iterator[Effect]:
    """Yield the effects on all queues that were simulated by one representative, given the effect on this one.

    If the representative loses all its messages, so does each of these queues; otherwise each loses the same number.
    """
    entries = kinds.get(effect.queue, ())
    if len(entries) < 2:
        yield effect
        return
    everything = effect.lost == entries[0].messages
    for entry in entries:
        lost = entry.messages if everything else effect.lost
        yield replace(effect, queue=full_name(entry), lost=lost)


def _worst_first(effect: Effect) -> tuple:
    return -effect.lost, not effect.down, -effect.unavailable_s, effect.queue


def _effects(run: Run, way: str, node: str) -> tuple[Effect, ...]:
    """Return what one way to end a node does to each queue."""
    ahead, before = run.copy(), run.moment()
    ahead.apply_plain({way: node})
    after = ahead.moment()
    reasons = _reasons(after, len(run.steps))
    found = [_effect(name, before, after, reasons.get(name)) for name in before.ledger if is_usable(before.state, name)]
    found += _effect_on_metadata(before, after, len(run.steps))
    harmful = [effect for effect in found if effect.hurts or effect.unavailable_s]
    return tuple(sorted(harmful, key=_worst_first))


def _effect_on_metadata(before: Moment, after: Moment, step: int) -> list[Effect]:
    """Return the effect on the metadata store, if there is one and it accepted writes.

    While it rejects writes, nothing can be declared, deleted or set.
    """
    if not any(side.store is not None and side.store.up for side in before.state.sides):
        return []
    since_us, lasted_us = None, 0
    for entry in after.trace():
        if entry.step == step and entry.event == "metadata_unavailable":
            since_us = entry.t_us if since_us is None else since_us
        elif entry.step == step and entry.event == "metadata_available" and since_us is not None:
            since_us, lasted_us = None, lasted_us + entry.t_us - since_us
    down = not any(side.store.up for side in after.state.sides)
    lasted_us += after.state.time_us - since_us if down and since_us is not None else 0
    return [Effect(METADATA, 0, 0, down, lasted_us / MICROSECONDS, "no_majority" if down else None)]


def _effect(name: str, before: Moment, after: Moment, reason: str | None) -> Effect:
    was, now = before.ledger[name], after.ledger[name]
    lost = runs.minus(now.lost, was.lost)
    return Effect(
        queue=name,
        lost=runs.size(lost),
        lost_confirmed=runs.size(runs.common(lost, now.confirmed)),
        down=not is_usable(after.state, name),
        unavailable_s=(_down_us(now, after) - _down_us(was, before)) / MICROSECONDS,
        reason=reason,
        fate=_fate(after.state, name),
    )


def _fate(state: State, name: str) -> str:
    """Return which of FATES an unavailable queue has."""
    found = [side.queues[name] for side in state.sides if name in side.queues]
    if not found:
        return "deleted"
    return "waits" if any(queue.durable for queue in found) else "stuck"


def _down_us(account: Account, moment: Moment) -> int:
    return account.down.at(moment.state.time_us)


def _reasons(moment: Moment, step: int) -> dict[str, str]:
    """Return why queues suffered from a step, according to its events."""
    found: dict[str, tuple[int, str]] = {}
    for entry in moment.trace():
        if entry.step == step and entry.queue is not None and entry.event in REASONS:
            weight = REASONS.index(entry.event)
            reason = entry.detail.get("cause") or entry.detail.get("reason") or "no_majority"
            if weight >= found.get(entry.queue, (0, ""))[0]:
                found[entry.queue] = (weight, reason)
    return {name: reason for name, (_, reason) in found.items()}


# RabbitMQ's own checks


def quorum_critical(state: State, node: int, version: str) -> tuple[str, ...]:
    """Return the queues for which `check_if_node_is_quorum_critical` fails on a node.

    They have a member there, and their online members are a bare majority or fewer. 4.3 also checks the metadata store,
    and releases that check streams (3.13 and later) also check the stream coordinator
    (`rabbit_upgrade_preparation:endangered_critical_components`).
    """
    if not quorum_check_applies(_members(state), state.nodes[node].drained, version):
        return ()
    types = types_counted(version)
    seen = [(side, queue) for side, queue in _seen_at(state, node) if queue.type in types]
    failing = [queue.name for side, queue in seen if _quorum_fails(state, side, queue, node)]
    if coordinator_fails(state, version):
        failing.append(COORDINATOR)
    return (*sorted(failing), *((METADATA,) if _store_fails(state) else ()))


def coordinator_fails(state: State, version: str) -> bool:
    """Return True if the check fails for the stream coordinator.

    That needs a release that checks streams, at least one stream, and running nodes, each with a coordinator member,
    that are a bare majority or fewer.
    """
    if not any(queue.type in types_counted(version) and queue.type == STREAM for queue in state.queues.values()):
        return False
    return is_critical(sum(node.status == RUNNING for node in state.nodes), _members(state))


def _store_fails(state: State) -> bool:
    """Return True if the running members of the metadata store are a bare majority or fewer."""
    group = state.groups.get(STORE)
    if group is None:
        return False
    return is_critical(sum(state.nodes[node].status == RUNNING for node in group.members), len(group.members))


def _quorum_fails(state: State, side: Side, queue: Queue, node: int) -> bool:
    if node not in queue.members:
        return False
    stopped = state.groups[queue.name].stopped
    online = [member for member in queue.members if is_online(state, side, member) and not stopped >> member & 1]
    return is_critical(len(online), len(queue.members))


def mirror_sync_critical(state: State, node: int) -> tuple[str, ...]:
    """Return the queues for which `check_if_node_is_mirror_sync_critical` fails on a node.

    They are mirrored queues with their master there and no synchronised mirror online.
    """
    if not mirror_check_applies(_members(state)):
        return ()
    return tuple(sorted(queue.name for _, queue in _seen_at(state, node) if _mirrors_fail(state, queue, node)))


def _mirrors_fail(state: State, queue: Queue, node: int) -> bool:
    if queue.type != CLASSIC or not queue.mirrored or queue.owner is not None or queue.master != node or not queue.up:
        return False
    return not any(state.nodes[mirror].status == RUNNING for mirror in queue.synchronised if mirror in queue.mirrors)


def _members(state: State) -> int:
    return sum(node.member for node in state.nodes)


def _seen_at(state: State, node: int) -> Iterable[tuple[Side, Queue]]:
    """Return the queues as the node's partition knows them."""
    side = next(side for side in state.sides if side.number == state.nodes[node].side)
    return ((side, queue) for queue in side.queues.values())
