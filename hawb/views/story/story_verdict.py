"""How a story ended, in a sentence, and what to do about it: read off its outcome alone."""

from __future__ import annotations

from hawb.engine.naming import split_queue
from hawb.languages import N_, Plural, _, ngettext
from hawb.views.formatting import counted, listing, messages, seconds, shown, size
from hawb.views.markdown import bash_word
from hawb.views.report import MOST_TO_DO, ToDo, Verdict

MOST_COMMANDS = 3
LONG_S = 1.0
"""An outage that is longer is told."""
REMEDIES = {
    "unsynchronised_promotion": N_(
        "Keep a mirror that lacks messages from taking over: ha-promote-on-failure and ha-promote-on-shutdown"
        " when-synced, ha-sync-mode automatic, or synchronise before a node goes."
    ),
    "transient_message": N_("Publish persistent messages, and mirror the queue."),
    "transient_queue": N_("Declare the queue durable, and mirror it."),
    "exclusive_queue": N_("Keep what must not be lost out of exclusive queues."),
    "dropped_replicas": N_("Use a quorum queue, or synchronise mirrors before one is left alone."),
    "disk_lost": N_("Have more replicas than disks that can be lost together."),
    "shrunk_by_force": N_("Bring back a majority in place of shrinking a queue by force."),
    "node_forgotten": N_("Start the node once more before it is forgotten, or forget it offline where a mirror is."),
    "side_given_up": N_("Let one side stop in a partition (pause_minority), or use quorum queues."),
    "node_reset": N_("Empty or synchronise the node's queues before it is reset."),
    "auto_ack_in_flight": N_("Acknowledge messages by hand once they are done with."),
}
"""What would have kept messages that were lost for each cause (`hawb.engine.trace.CAUSES`)."""


LOST = {
    "none": Plural("{messages} of {queues} was lost, not confirmed", "{messages} of {queues} were lost, not confirmed"),
    "all": Plural(
        "{messages} of {queues} was lost, though confirmed", "{messages} of {queues} were lost, though confirmed"
    ),
    "some": Plural(
        "{messages} of {queues} was lost, {confirmed} of them confirmed",
        "{messages} of {queues} were lost, {confirmed} of them confirmed",
    ),
}
"""What was lost, by how much of it had been confirmed."""


def verdict(outcome: dict) -> Verdict:
    """No where messages were lost, a queue or confirmed messages are gone; yes with a but where a queue cannot be used,
    or could not for long; yes where everything held."""
    lost = {name: account["lost"] for name, account in outcome["ledger"].items() if account["lost"]}
    if lost:
        confirmed = sum(account["lost_confirmed"] for account in outcome["ledger"].values())
        every = sum(map(size, lost.values()))
        (name, ids), *others = lost.items()
        which = {
            "messages": counted(every) if others else messages(ids),
            "queues": listing(lost) if others else shown(name),
        }
        known = "none" if not confirmed else "all" if confirmed == every else "some"
        return Verdict("no", ngettext(*LOST[known], every, confirmed=f"{confirmed:,}", **which))
    away = [name for name, queue in outcome["queues"].items() if queue["state"] in ("down", "minority")]
    if away:
        return Verdict("but", _("{queues} cannot be used at the end; nothing is lost", queues=listing(away)))
    times = {name: of["publish_down_s"] for name, of in outcome["availability"].items()}
    long = sorted((name for name in times if times[name] > LONG_S), key=lambda name: -times[name])
    if long:
        could_not = N_("{queues} could not be used for up to {t} s; nothing is lost")
        return Verdict("but", _(could_not, queues=listing(long), t=seconds(times[long[0]])))
    if outcome["partitions"]:
        return Verdict("but", _("nodes do not see each other; nothing is lost so far"))
    if not outcome["queues"]:
        return Verdict("yes", _("nothing is lost"))
    return Verdict("yes", _("nothing is lost, and every queue is in use"))


def todo(outcome: dict) -> tuple[ToDo, ...]:
    """What to do: whatever would have kept what was lost, bring back nodes, synchronise mirrors."""
    causes = list(dict.fromkeys(loss["cause"] for loss in outcome["losses"]))
    asked = [ToDo(_(REMEDIES[cause])) for cause in causes if cause in REMEDIES]
    down = [name for name, state in outcome["nodes"].items() if state == "down"]
    if down:
        starts = tuple(
            f"systemctl start rabbitmq-server   # on {shown(name)}" for name in down[:MOST_COMMANDS]
        )
        start = N_("Start {nodes}: what is there is no longer replicated as it should be.")
        asked.append(ToDo(_(start, nodes=listing(down)), starts))
    behind = [
        name for name, queue in outcome["queues"].items()
        if set(queue.get("mirrors") or ()) - set(queue.get("synchronised_mirrors") or ())
    ]  # fmt: skip
    if behind:
        commands = tuple(_sync(name) for name in behind[:MOST_COMMANDS])
        synchronise = N_("Synchronise {queues} before another node goes; each blocks meanwhile.")
        asked.append(ToDo(_(synchronise, queues=listing(behind)), commands))
    return tuple(asked[:MOST_TO_DO])


def _sync(queue: str) -> str:
    vhost, name = split_queue(queue)
    return f"rabbitmqctl sync_queue -p {bash_word(vhost)} {'-- ' * name.startswith('-')}{bash_word(name)}"
