"""How a story ended, in a sentence, and what to do about it: read off its outcome alone."""

from __future__ import annotations

from hawb.engine.naming import split_queue
from hawb.views.formatting import counted, listing, messages, seconds, shown, size
from hawb.views.markdown import bash_word
from hawb.views.report import MOST_TO_DO, ToDo, Verdict

MOST_COMMANDS = 3
LONG_S = 1.0
"""An outage that is longer is told."""
REMEDIES = {
    "unsynchronised_promotion": (
        "Keep a mirror that lacks messages from taking over: ha-promote-on-failure and ha-promote-on-shutdown"
        " when-synced, ha-sync-mode automatic, or synchronise before a node goes."
    ),
    "transient_message": "Publish persistent messages, and mirror the queue.",
    "transient_queue": "Declare the queue durable, and mirror it.",
    "exclusive_queue": "Keep what must not be lost out of exclusive queues.",
    "dropped_replicas": "Use a quorum queue, or synchronise mirrors before one is left alone.",
    "disk_lost": "Have more replicas than disks that can be lost together.",
    "shrunk_by_force": "Bring back a majority in place of shrinking a queue by force.",
    "node_forgotten": "Start the node once more before it is forgotten, or forget it offline where a mirror is.",
    "side_given_up": "Let one side stop in a partition (pause_minority), or use quorum queues.",
    "node_reset": "Empty or synchronise the node's queues before it is reset.",
    "auto_ack_in_flight": "Acknowledge messages by hand once they are done with.",
}
"""What would have kept messages that were lost for each cause (`hawb.engine.trace.CAUSES`)."""


def verdict(outcome: dict) -> Verdict:
    """No where messages were lost, a queue or confirmed messages are gone; yes with a but where a queue cannot be used,
    or could not for long; yes where everything held."""
    lost = {name: account["lost"] for name, account in outcome["ledger"].items() if account["lost"]}
    if lost:
        confirmed = sum(account["lost_confirmed"] for account in outcome["ledger"].values())
        every = sum(map(size, lost.values()))
        (name, ids), *others = lost.items()
        which = f"{messages(ids)} of {shown(name)}" if not others else f"{counted(every)} of {listing(lost)}"
        known = (
            "not confirmed"
            if not confirmed
            else "though confirmed"
            if confirmed == every
            else f"{confirmed:,} of them confirmed"
        )
        return Verdict("no", f"{which} {'was' if every == 1 else 'were'} lost, {known}")
    away = [name for name, queue in outcome["queues"].items() if queue["state"] in ("down", "minority")]
    if away:
        return Verdict("but", f"{listing(away)} cannot be used at the end; nothing is lost")
    times = {name: of["publish_down_s"] for name, of in outcome["availability"].items()}
    long = sorted((name for name in times if times[name] > LONG_S), key=lambda name: -times[name])
    if long:
        return Verdict(
            "but", f"{listing(long)} could not be used for up to {seconds(times[long[0]])} s; nothing is lost"
        )
    if outcome["partitions"]:
        return Verdict("but", "nodes do not see each other; nothing is lost so far")
    return Verdict("yes", "nothing is lost, and every queue is in use" if outcome["queues"] else "nothing is lost")


def todo(outcome: dict) -> tuple[ToDo, ...]:
    """What to do: whatever would have kept what was lost, bring back nodes, synchronise mirrors."""
    causes = list(dict.fromkeys(loss["cause"] for loss in outcome["losses"]))
    asked = [ToDo(REMEDIES[cause]) for cause in causes if cause in REMEDIES]
    down = [name for name, state in outcome["nodes"].items() if state == "down"]
    if down:
        starts = tuple(f"systemctl start rabbitmq-server   # on {shown(name)}" for name in down[:MOST_COMMANDS])
        asked.append(ToDo(f"Start {listing(down)}: what is there is no longer replicated as it should be.", starts))
    behind = [
        name for name, queue in outcome["queues"].items()
        if set(queue.get("mirrors") or ()) - set(queue.get("synchronised_mirrors") or ())
    ]  # fmt: skip
    if behind:
        commands = tuple(_sync(name) for name in behind[:MOST_COMMANDS])
        asked.append(ToDo(f"Synchronise {listing(behind)} before another node goes; each blocks meanwhile.", commands))
    return tuple(asked[:MOST_TO_DO])


def _sync(queue: str) -> str:
    vhost, name = split_queue(queue)
    return f"rabbitmqctl sync_queue -p {bash_word(vhost)} {'-- ' * name.startswith('-')}{bash_word(name)}"
