"""Is it safe to stop a node now, in a sentence, and what would make it safer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hawb.engine.naming import split_queue
from hawb.languages import N_, _
from hawb.planning.safe_to_stop import METADATA, Effect, Forecast
from hawb.views import style
from hawb.views.formatting import counted, listing, shown
from hawb.views.markdown import bash_word
from hawb.views.report import MOST_TO_DO, ToDo, Verdict

MOST_COMMANDS = 3
FEW = 3
"""So many queues and more are counted, not named."""


def verdict(forecasts: Sequence[Forecast]) -> Verdict:
    """Whether a controlled stop of any node, of some or of none is safe: yes where all are, also if they are killed; no
    where none is."""
    hurting = sorted((one for one in forecasts if one.hurt("stop")), key=_worst_first)
    fine = [one.node for one in forecasts if not one.hurt("stop")]
    if not forecasts:
        return Verdict("no", _("no node runs"))
    told = "; ".join(_stops(hurting[:1]) + _stops(hurting[1:]))
    if not fine:
        return Verdict("no", told)
    if hurting:
        return Verdict("but", _("only {nodes}; {told}", nodes=listing(fine), told=told))
    return _if_killed(forecasts, fine)


def line(forecast: Forecast) -> str:
    """Whether it is safe to stop a node, in a line of a log."""
    told = verdict([forecast])
    return f"{style.ANSWERS[told.answer].glyph} {shown(forecast.node)}: {told.sentence}"


def _stops(hurting: Sequence[Forecast]) -> list[str]:
    """What a stop of one of some nodes does."""
    if not hurting:
        return []
    told = {1: N_("stopping {nodes} {harm}"), 2: N_("stopping either of {nodes} {harm}")}.get(
        len(hurting), N_("stopping any of {nodes} {harm}")
    )
    harmed = harm([effect for one in hurting for effect in one.hurt("stop")])
    return [_(told, nodes=listing(one.node for one in hurting), harm=harmed)]


def _if_killed(forecasts: Sequence[Forecast], fine: Sequence[str]) -> Verdict:
    killed = [one for one in sorted(forecasts, key=lambda one: _worst_first(one, "kill")) if one.hurt("kill")]
    if killed:
        told = (
            N_("only if {node} is stopped and not killed: a kill {harm}")
            if len(forecasts) > 1
            else N_("only by a stop: a kill {harm}")
        )
        return Verdict("but", _(told, node=shown(killed[0].node), harm=harm(killed[0].hurt("kill"))))
    told = (
        N_("{node} may be stopped; nothing is lost and every queue stays in use")
        if len(fine) == 1
        else N_("any node may be stopped, one at a time; nothing is lost and every queue stays in use")
    )
    return Verdict("yes", _(told, node=shown(fine[0])))


def harm(effects: Sequence[Effect]) -> str:
    """What becomes of hurt queues, each counted once: loses 5 messages of plain.transient and leaves qq.pair out of
    use."""
    lost = {effect.queue: effect.lost for effect in effects if effect.lost}
    down = dict.fromkeys(effect.queue for effect in effects if effect.down and effect.queue not in lost)
    told = []
    if lost:
        told.append(_("loses {messages} of {queues}", messages=counted(sum(lost.values())), queues=listing(lost)))
    if down:
        queues = listing(down) if len(down) < FEW else counted(len(down), "queue")
        told.append(_("leaves {queues} out of use", queues=queues))
    return told[0] if len(told) == 1 else _("{harm} and {more}", harm=told[0], more=told[1]) if told else ""


def _worst_first(one: Forecast, way: str = "stop") -> tuple[int, int]:
    hurt = one.hurt(way)
    return -sum(effect.lost for effect in hurt), -len(hurt)


def todo(forecasts: Sequence[Forecast]) -> tuple[ToDo, ...]:
    """What to do before a node is stopped, what saves messages first."""
    hurt = {effect.queue: (one.node, effect) for one in forecasts for effect in one.hurt("stop")}
    hurt = {effect.queue: (one.node, effect) for one in forecasts for effect in one.hurt("kill")} | hurt
    unsynchronised = [queue for queue in hurt if any(queue in one.mirror_sync_critical for one in forecasts)]
    gone = [queue for queue, (_, effect) in hurt.items() if effect.lost and queue not in unsynchronised]
    few = [queue for queue, (_, effect) in hurt.items() if effect.reason == "no_majority" and queue != METADATA]
    alone = [queue for queue in hurt if queue not in {*unsynchronised, *gone, *few, METADATA}]
    asked = [_synchronise(unsynchronised), _drain(gone, hurt), _grow(few), _mirror(alone)]
    return tuple(one for one in asked if one is not None)[:MOST_TO_DO]


def _synchronise(queues: Sequence[str]) -> ToDo | None:
    if not queues:
        return None
    what = (
        f"Synchronise {listing(queues)}: the mirrors that would take over lack messages. Each queue blocks meanwhile."
    )
    return ToDo(what, tuple(_commands("rabbitmqctl sync_queue", queues)))


def _drain(queues: Sequence[str], hurt: dict[str, tuple[str, Effect]]) -> ToDo | None:
    if not queues:
        return None
    nodes = listing(dict.fromkeys(hurt[queue][0] for queue in queues))
    what = f"Let consumers empty {listing(queues)} before {nodes} goes: what is in there then is lost."
    vhosts = dict.fromkeys(split_queue(queue)[0] for queue in queues)
    return ToDo(what, tuple(f"rabbitmqctl list_queues -p {bash_word(vhost)} name messages" for vhost in vhosts))


def _grow(queues: Sequence[str]) -> ToDo | None:
    if not queues:
        return None
    what = f"Give {listing(queues)} a member on another node: without one of theirs no majority is left."
    return ToDo(what, tuple(f"{line} NODE" for line in _commands("rabbitmq-queues add_member", queues)))


def _mirror(queues: Sequence[str]) -> ToDo | None:
    if not queues:
        return None
    what = f"Replicate {listing(queues)}, or stop its node when nobody needs it: there is no other copy."
    what = what if len(queues) == 1 else what.replace("its node", "their nodes").replace("needs it", "needs them")
    return ToDo(what, ("hawb migrate definitions.json queues.json",))


def _commands(command: str, queues: Sequence[str]) -> Iterable[str]:
    for queue in queues[:MOST_COMMANDS]:
        vhost, name = split_queue(queue)
        dashes = "-- " if name.startswith("-") else ""
        yield f"{command} -p {bash_word(vhost)} {dashes}{bash_word(name)}"
    if len(queues) > MOST_COMMANDS:
        yield f"# and {counted(len(queues) - MOST_COMMANDS, 'more queue')}"
