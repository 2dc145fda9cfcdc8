"""Remedies as things to do: each in a sentence, with the commands that do it, names filled in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hawb.engine.naming import split_queue
from hawb.languages import _
from hawb.planning.remedies import Remedy
from hawb.views.broker_commands import START, join_commands, queue_words, reset_commands
from hawb.views.formatting import commas, counted, listing, shown
from hawb.views.markdown import bash_word
from hawb.views.report import ToDo

MOST_COMMANDS = 3
MEMBERS = {
    ("add_member", False): "rabbitmq-queues add_member", ("delete_member", False): "rabbitmq-queues delete_member",
    ("add_member", True): "rabbitmq-streams add_replica", ("delete_member", True): "rabbitmq-streams delete_replica",
}  # fmt: skip
"""The commands that change the members of a queue, or the replicas of a stream."""


def either(names: Sequence[str]) -> str:
    """a; a or b; a, b or c."""
    *most, last = map(shown, names)
    return _("{most} or {last}", most=commas(most), last=last) if most else last


def to_do(remedy: Remedy, files: Sequence[str] = ()) -> ToDo:
    """A remedy as a thing to do; `files` are those of the cluster that it is about, where there are any."""
    return ToDo(_sentence(remedy), tuple(_commands(remedy, files)))


def _sentence(remedy: Remedy) -> str:
    nodes, queues = listing(remedy.nodes), listing(remedy.queues)
    one = len(remedy.queues) == 1
    match remedy.kind:
        case "start_one":
            return f"Start {either(remedy.nodes)}: one of them is enough to bring back {queues}."
        case "start":
            told = f"that brings back {queues}" if remedy.queues else "queues have replicas there that do not run"
            return f"Start {nodes}: {told}."
        case "start_synchronise":
            blocks = "Each queue blocks meanwhile."
            return f"Start {nodes}, then synchronise {queues}: the mirrors there lack messages. {blocks}"
        case "rejoin":
            more = f" Then give {queues} a member there." if remedy.queues else ""
            it = "it does" if len(remedy.nodes) == 1 else "they do"
            return f"Reset {nodes} and join the cluster again: it has forgotten {nodes}, and {it} not boot.{more}"
        case "replace":
            added = [step["add_member"]["node"] for step in remedy.steps if "add_member" in step]
            more = f", then add members on {listing(dict.fromkeys(added))}" if added else ""
            has = "has" if len(remedy.nodes) == 1 else "have"
            return f"Delete the members of {queues} on {nodes}, which {has} left the cluster{more}."
        case "synchronise":
            return f"Synchronise {queues}: the mirrors that would take over lack messages. Each queue blocks meanwhile."
        case "empty":
            return f"Let consumers empty {queues} before a node goes: what is in there then is lost."
        case "add_member":
            members = "a member" if len(remedy.steps) == 1 else "members"
            has = "it has" if one else "they have"
            return f"Give {queues} {members} on {nodes}: without one of those that {has} no majority is left."
        case _other:
            those = "its node when nobody needs it" if one else "their nodes when nobody needs them"
            return f"Replicate {queues}, or stop {those}: there is no other copy."


def _commands(remedy: Remedy, files: Sequence[str]) -> Iterator[str]:
    if remedy.kind == "start_one":
        yield START.format(either(remedy.nodes))
    elif remedy.kind == "make_quorum":
        yield f"hawb migrate {' '.join(map(bash_word, files))}" if files else "hawb migrate definitions.json"
    elif remedy.kind == "empty":
        vhosts = dict.fromkeys(split_queue(queue)[0] for queue in remedy.queues)
        yield from (f"rabbitmqctl list_queues -p {bash_word(vhost)} name messages" for vhost in vhosts)
    else:
        lines = [command for step in remedy.steps for command in _command(step, remedy)]
        many = remedy.kind in ("synchronise", "add_member") and len(lines) > MOST_COMMANDS
        yield from lines[:MOST_COMMANDS] if many else lines
        if many:
            yield f"# and {counted(len(lines) - MOST_COMMANDS, 'more command')}"


def _command(step: Mapping[str, object], remedy: Remedy) -> Iterator[str]:
    [(verb, argument)] = step.items()
    match verb:
        case "start":
            yield from (START.format(shown(node)) for node in argument)
        case "kill":
            yield f"systemctl stop rabbitmq-server   # on {shown(argument)}"
        case "reset":
            yield from reset_commands(argument)
        case "join":
            yield from join_commands(argument, remedy.at)
        case "sync_queue":
            yield f"rabbitmqctl sync_queue {queue_words(argument)}"
        case "add_member" | "delete_member":
            queue = argument["queue"]
            yield f"{MEMBERS[verb, queue in remedy.streams]} {queue_words(queue)} {bash_word(argument['node'])}"
