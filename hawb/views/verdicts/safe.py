"""The verdict on stopping a node now, and what would make it safer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from msgspec.structs import replace

from hawb.languages import N_, Plural, _, ngettext
from hawb.planning.beforehand import Beforehand
from hawb.planning.out_of_use import METADATA, OutOfUse
from hawb.planning.remedies import Remedy
from hawb.planning.safe_to_stop import Effect, Forecast, Outlook
from hawb.views import style
from hawb.views.formatting import counted, joined, listing, shown
from hawb.views.planning.missing_files import missing, what_is_missing
from hawb.views.remedy_commands import either, to_do
from hawb.views.report import MOST_TO_DO, ToDo, Verdict

FEW = 3
"""From this number on, queues are counted instead of named; it is also the maximum number of clauses of one kind."""

OUT = {
    "no_majority": N_("{down} of {replicas} members down"),
    "no_majority out_of_reach": N_("{down} of {replicas} members out of reach"),
    "no_majority mixed": N_("{down} of {replicas} members down or out of reach"),
    "no_leader": N_("no leader reaches a majority of the members"),
    "node_down": N_("node {nodes} is down"),
    "node_down paused": N_("node {nodes} is paused"),
    "master_awaited": N_("the mirrors wait for node {nodes}"),
    "failed": N_("the process has ended"),
    "listed": N_("{state} in a listing"),
}
"""The sentence about a queue out of use, by its `reason`, or by `reason` and `state` where the state says more."""
RUN_AGAIN = ("mend", "start", "start_one", "start_synchronise")
"""The kinds of remedies after which more of the members run."""
ALREADY = Plural("{queues} is already out of use ({reason})", "{queues} are already out of use ({reason})")
STORE = N_("the metadata store is already out of use ({reason})")


def verdict(found: Outlook | Sequence[Forecast]) -> Verdict:
    """Return the verdict on a controlled stop of any of the nodes.

    No: a queue is already out of use, the stop of a node harms queues, or no node runs. Unknown: files are missing. Yes
    with a but: only a kill harms queues.
    """
    found = Outlook.of(found)
    hurting = sorted((one for one in found.forecasts if one.hurt("stop")), key=_worst_first)
    fine = [one.node for one in found.forecasts if not one.hurt("stop")]
    reasons = [*already(found.out_of_use), *_stops(hurting)]
    if hurting and fine and not found.out_of_use and found.live.known:
        reasons.append(_("only {nodes} may be stopped", nodes=listing(fine)))
    if reasons:
        return Verdict("no", start_first("; ".join(reasons), found.remedies))
    if not found.live.known:
        return Verdict("unknown", what_is_missing(found.live))
    if not found.forecasts:
        return Verdict("no", _("no node runs"))
    return _if_killed(found.forecasts, fine)


def lines(found: Outlook) -> str:
    """Return a log line for each node that says if it is safe to stop; one line if there is no forecast."""
    if not found.forecasts:
        answer = verdict(found)
        return f"{style.ANSWERS[answer.answer].glyph} {answer.sentence}"
    each = [(one.node, verdict(replace(found, forecasts=(one,)))) for one in found.forecasts]
    return "\n".join(f"{style.ANSWERS[answer.answer].glyph} {shown(node)}: {answer.sentence}" for node, answer in each)


def already(out: Sequence[OutOfUse]) -> list[str]:
    """Return clauses about what is out of use before any node stops; queues with the same reason share a clause."""
    alike: dict[tuple[bool, str], list[str]] = defaultdict(list)
    for one in out:
        alike[one.queue == METADATA, why_out(one)].append(one.queue)
    parts = [
        _(STORE, reason=reason) if store else ngettext(*ALREADY, len(queues), queues=listing(queues), reason=reason)
        for (store, reason), queues in alike.items()
    ]
    if len(parts) <= FEW:
        return parts
    return [_("{queues} are already out of use", queues=counted(len(out), "queue"))]


def why_out(one: OutOfUse) -> str:
    """Return why a queue is out of use, in words."""
    reason = OUT.get(f"{one.reason} {one.state}", OUT[one.reason])
    words = {"down": f"{len(one.down):,}", "replicas": f"{one.replicas:,}", "nodes": listing(one.down)}
    return _(reason, **words, state=shown(one.state))


def start_first(why: str, remedies: Sequence[Remedy]) -> str:
    """Return a reason, followed by the nodes to start so that queues come back, if that helps."""
    first = next((one for one in remedies if one.kind in ("start", "start_one") and one.queues), None)
    if first is None:
        return why
    nodes = either(first.nodes) if first.kind == "start_one" else listing(first.nodes)
    return _("{why}. Start {nodes} first", why=why, nodes=nodes)


def out_verdict(before: Beforehand) -> Verdict | None:
    """Return the verdict no if a queue is already out of use; None if no queue is."""
    if not before.out_of_use:
        return None
    return Verdict("no", start_first("; ".join(already(before.out_of_use)), before.remedies))


def remedies_todo(before: Beforehand) -> tuple[ToDo, ...]:
    """Return the remedies to apply to a cluster before anything else."""
    return tuple(to_do(one, before.files) for one in before.remedies)


def before_a_plan(before: Beforehand, planned: Sequence[ToDo]) -> tuple[ToDo, ...]:
    """Return the remedies for a cluster, followed by the to-dos of a plan.

    If other nodes run after the remedies, the last to-do is to ask again instead, because the plan is for the nodes
    that run now.
    """
    asked = remedies_todo(before)
    if not any(one.kind in RUN_AGAIN for one in before.remedies):
        return (*asked, *planned)[:MOST_TO_DO]
    return (*asked[: MOST_TO_DO - 1], ToDo("Then ask again: the plan below is only for the nodes that run now."))


def _stops(hurting: Sequence[Forecast]) -> list[str]:
    """Return clauses about what a stop of each of some nodes does; nodes with the same effects share a clause."""
    alike: dict[tuple, list[Forecast]] = defaultdict(list)
    for one in hurting:
        alike[tuple(sorted((effect.queue, effect.lost) for effect in one.hurt("stop")))].append(one)
    parts = []
    for those in list(alike.values())[:FEW]:
        some = {1: N_("stopping {nodes} {harm}"), 2: N_("stopping either of {nodes} {harm}")}.get(
            len(those), N_("stopping any of {nodes} {harm}")
        )
        parts.append(_(some, nodes=listing(one.node for one in those), harm=harm(those[0].hurt("stop"))))
    if rest := [one.node for those in list(alike.values())[FEW:] for one in those]:
        parts.append(_("stopping {nodes} harms queues too", nodes=joined(map(shown, rest))))
    return parts


def _if_killed(forecasts: Sequence[Forecast], fine: Sequence[str]) -> Verdict:
    killed = [one for one in sorted(forecasts, key=lambda one: _worst_first(one, "kill")) if one.hurt("kill")]
    if killed:
        parts = (
            N_("only if {node} is stopped and not killed: a kill {harm}")
            if len(forecasts) > 1
            else N_("only by a stop: a kill {harm}")
        )
        return Verdict("but", _(parts, node=shown(killed[0].node), harm=harm(killed[0].hurt("kill"))))
    parts = (
        N_("{node} may be stopped; nothing is lost and every queue stays in use")
        if len(fine) == 1
        else N_("any node may be stopped, one at a time; nothing is lost and every queue stays in use")
    )
    return Verdict("yes", _(parts, node=shown(fine[0])))


def harm(effects: Sequence[Effect]) -> str:
    """Return the harm to queues: loses 5 messages of plain.transient and leaves qq.pair out of use.

    Each queue is counted once.
    """
    lost = {effect.queue: effect.lost for effect in effects if effect.lost}
    down = dict.fromkeys(effect.queue for effect in effects if effect.down and effect.queue not in lost)
    parts = []
    if lost:
        parts.append(_("loses {messages} of {queues}", messages=counted(sum(lost.values())), queues=listing(lost)))
    if down:
        queues = [name for name in down if name != METADATA]
        named = queues if len(queues) < FEW else [counted(len(queues), "queue")]
        store = [_("the metadata store")] if METADATA in down else []
        parts.append(_("leaves {queues} out of use", queues=listing([*named, *store])))
    return parts[0] if len(parts) == 1 else _("{harm} and {more}", harm=parts[0], more=parts[1]) if parts else ""


def _worst_first(one: Forecast, way: str = "stop") -> tuple[int, int]:
    hurt = one.hurt(way)
    return -sum(effect.lost for effect in hurt), -len(hurt)


def todo(found: Outlook, files: Sequence[str] = ()) -> tuple[ToDo, ...]:
    """Return what to do before a node is stopped, each checked by the engine, and which files to add.

    `files` are the files that were given. If the verdict is unknown, the missing files come first.
    """
    asked = [to_do(one, files) for one in found.remedies]
    lacking = [*missing(found.live, files, "safe", found.mirrors)]
    return tuple([*lacking, *asked] if verdict(found).answer == "unknown" else [*asked, *lacking])[:MOST_TO_DO]
