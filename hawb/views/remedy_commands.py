"""Remedies as to-dos: each a sentence with the commands that apply it, names filled in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hawb.engine.core.naming import split_queue
from hawb.languages import N_, Plural, _, ngettext
from hawb.planning.listed_down import vhosts_of
from hawb.planning.out_of_use import METADATA
from hawb.planning.remedies import Remedy
from hawb.views.formatting import commas, counted, listing, paragraph, shown
from hawb.views.hawb_commands import DEFINITIONS, EXPORT, asking
from hawb.views.markdown import bash_word
from hawb.views.report import ToDo

MOST_COMMANDS = 3
START = "systemctl start rabbitmq-server   # on {}"
REJOIN = Plural(
    "Reset {nodes} and join it to {to} again: the cluster has forgotten it, and it would not boot.",
    "Reset {nodes} and join them to {to} again: the cluster has forgotten them, and they would not boot.",
)
JOIN = Plural("Join {nodes} to {to} again: it has been reset.", "Join {nodes} to {to} again: they have been reset.")
DELETE = Plural(
    "Delete the members of {queues} on {nodes}, which has left the cluster.",
    "Delete the members of {queues} on {nodes}, which have left the cluster.",
)
REPLACE = Plural(
    "Delete the members of {queues} on {nodes}, which has left the cluster, then add members on {added}.",
    "Delete the members of {queues} on {nodes}, which have left the cluster, then add members on {added}.",
)
RESTART_VHOST = Plural(
    "Start the virtual host {vhosts} on {nodes} again: it failed, and {queues} stopped with it.",
    "Start the virtual hosts {vhosts} on {nodes} again: they failed, and {queues} stopped with them.",
)
ADD_MEMBER = Plural(
    "Give {queues} a member on {nodes}: without it, the next failure leaves no majority.",
    "Give {queues} members on {nodes}: without them, the next failure leaves no majority.",
)
REPLICATE = Plural(
    "Replicate {queues}, or stop its node when no client needs it: there is no other copy.",
    "Replicate {queues}, or stop their nodes when no client needs them: there is no other copy.",
)
"""The sentences, by the number of nodes, members or queues."""

MEMBERS = {
    ("add_member", False): "rabbitmq-queues add_member", ("delete_member", False): "rabbitmq-queues delete_member",
    ("add_member", True): "rabbitmq-streams add_replica", ("delete_member", True): "rabbitmq-streams delete_replica",
}  # fmt: skip
"""The commands that change the members of a queue, or the replicas of a stream."""


def either(names: Sequence[str]) -> str:
    """Return names as alternatives: a; a or b; a, b or c."""
    *most, last = map(shown, names)
    return _("{most} or {last}", most=commas(most), last=last) if most else last


def to_do(remedy: Remedy, files: Sequence[str] = ()) -> ToDo:
    """Return a remedy as a to-do; `files` are those of its cluster, if there are any."""
    return ToDo(_sentence(remedy), tuple(_commands(remedy, files)))


def _sentence(remedy: Remedy) -> str:
    nodes = listing(remedy.nodes)
    queues = listing(_("the metadata store") if name == METADATA else name for name in remedy.queues)
    match remedy.kind:
        case "mend":
            return _mending(remedy)
        case "start_one":
            words = {"nodes": either(remedy.nodes), "queues": queues}
            return _("Start {nodes}: one of them is enough to bring back {queues}.", **words)
        case "start" if remedy.queues:
            return _("Start {nodes}: that brings back {queues}.", nodes=nodes, queues=queues)
        case "start":
            return _("Start {nodes}: until then, queues lack the replicas there.", nodes=nodes)
        case "restart":
            return _("Restart {nodes}: that brings back {queues}, whose process has ended.", nodes=nodes, queues=queues)
        case "restart_vhost":
            vhosts = listing(vhosts_of(remedy))
            return ngettext(*RESTART_VHOST, len(vhosts_of(remedy)), vhosts=vhosts, nodes=nodes, queues=queues)
        case "start_synchronise":
            start = N_(
                "Start {nodes}, then synchronise {queues}: mirrors there lack messages. Each queue blocks meanwhile."
            )
            return _(start, nodes=nodes, queues=queues)
        case "rejoin":
            return paragraph(_rejoining(remedy))
        case "join":
            return ngettext(*JOIN, len(remedy.nodes), nodes=nodes, to=shown(remedy.at))
        case "replace":
            started = [node for step in remedy.steps for node in step.get("start", ())]
            start = _("Start {nodes}.", nodes=listing(started)) if started else ""
            added = _about(remedy, "add_member", "node")
            words = {"queues": queues, "nodes": nodes, "added": listing(added)}
            return paragraph([start, ngettext(*(REPLACE if added else DELETE), len(remedy.nodes), **words)])
        case "synchronise":
            return _("Synchronise {queues} before another node stops. Each queue blocks meanwhile.", queues=queues)
        case "empty":
            empty = N_("Let consumers empty {queues} before a node stops: messages that are left there are lost.")
            return _(empty, queues=queues)
        case "add_member":
            return ngettext(*ADD_MEMBER, len(remedy.steps), queues=queues, nodes=nodes)
        case _other:
            return ngettext(*REPLICATE, len(remedy.queues), queues=queues)


def _rejoining(remedy: Remedy) -> Iterator[str]:
    nodes, added = listing(remedy.nodes), _about(remedy, "add_member", "node")
    if deleted := _about(remedy, "delete_member", "node"):
        queues = listing(_about(remedy, "delete_member", "queue"))
        yield ngettext(*DELETE, len(deleted), queues=queues, nodes=listing(deleted))
    yield ngettext(*REJOIN, len(remedy.nodes), nodes=nodes, to=shown(remedy.at))
    if added and added.keys() <= {*remedy.nodes}:
        yield _("Then give {queues} a member there.", queues=listing(remedy.queues))
    elif added:
        yield _("Then give {queues} members on {nodes}.", queues=listing(remedy.queues), nodes=listing(added))


def _about(remedy: Remedy, verb: str, key: str) -> dict[object, None]:
    """Return the queues or nodes of a remedy's steps with one verb, each once."""
    return dict.fromkeys(step[verb][key] for step in remedy.steps if verb in step)


def _mending(remedy: Remedy) -> str:
    """Return how to end a partition: empty the queues of nodes to restart, repair the network, restart them."""
    words = {"sides": " | ".join(map(listing, remedy.sides)), "nodes": listing(remedy.nodes)}
    if not remedy.nodes:
        mend = N_("Repair the network between {sides}: until then they do not see each other.")
        return _(mend, **words) if remedy.sides else _("Repair the network: paused nodes wait for it.")
    commands = []
    if remedy.queues:
        empty = N_("Let consumers empty {queues} on {node}: otherwise, messages that only this partition has are lost.")
        commands.append(_(empty, queues=listing(remedy.queues), node=shown(remedy.nodes[0])))
    if remedy.cut:
        mend = N_(
            "Repair the network between {sides}, then restart {nodes}: the partition lasts until then."
        )
    else:
        mend = N_("Restart {nodes}: the network works, but {sides} stay partitioned until then.")
    return paragraph([*commands, _(mend, **words)])


def _commands(remedy: Remedy, files: Sequence[str]) -> Iterator[str]:
    if remedy.kind == "start_one":
        yield START.format(either(remedy.nodes))
    elif remedy.kind == "make_quorum":
        yield from () if files else (EXPORT,)
        yield from asking("migrate", files or (DEFINITIONS,))
    elif remedy.kind == "restart_vhost":
        for vhost in vhosts_of(remedy):
            yield f"rabbitmqctl -n {bash_word(remedy.nodes[0])} restart_vhost --vhost {bash_word(vhost)}"
    elif remedy.kind == "empty":
        vhosts = dict.fromkeys(split_queue(queue)[0] for queue in remedy.queues)
        yield from (f"rabbitmqctl list_queues -p {bash_word(vhost)} name messages" for vhost in vhosts)
    elif remedy.kind in ("replace", "rejoin"):
        queues = [*(_about(remedy, "delete_member", "queue") | _about(remedy, "add_member", "queue"))]
        first = [step for step in remedy.steps if _queue_of(step) not in queues[MOST_COMMANDS:]]
        if remedy.kind == "replace":
            first.sort(key=lambda step: queues.index(_queue_of(step)) if _queue_of(step) in queues else -1)
        yield from (command for step in first for command in _command(step, remedy))
        if len(queues) > MOST_COMMANDS:
            yield f"# and the same for {counted(len(queues) - MOST_COMMANDS, 'more queue')}"
    else:
        lines = [command for step in remedy.steps for command in _command(step, remedy)]
        many = remedy.kind in ("synchronise", "add_member") and len(lines) > MOST_COMMANDS
        yield from lines[:MOST_COMMANDS] if many else lines
        if many:
            yield f"# and {counted(len(lines) - MOST_COMMANDS, 'more command')}"


def _queue_of(step: Mapping[str, object]) -> object:
    [argument] = step.values()
    return argument["queue"] if isinstance(argument, dict) else None


def _command(step: Mapping[str, object], remedy: Remedy) -> Iterator[str]:
    [(verb, argument)] = step.items()
    match verb:
        case "start":
            yield from (START.format(shown(node)) for node in argument)
        case "stop":
            yield from (f"rabbitmqctl -n {bash_word(node)} stop" for node in argument)
        case "kill":
            yield f"systemctl stop rabbitmq-server   # on {shown(argument)}"
        case "reset":
            yield from reset_commands(argument)
        case "join":
            yield from [*reset_commands(argument)][:1] if remedy.kind == "join" else ()
            yield from join_commands(argument, remedy.at)
        case "sync_queue":
            yield f"rabbitmqctl sync_queue {queue_words(argument)}"
        case "add_member" | "delete_member":
            yield member_command(verb, argument["queue"], argument["node"], remedy.streams)


def member_command(verb: str, queue: str, node: str, streams: frozenset[str]) -> str:
    """Return the command that adds or deletes the member of a queue on a node.

    `streams` are the queues that are streams.
    """
    return f"{MEMBERS[verb, queue in streams]} {queue_words(queue)} {bash_word(node)}"


def reset_commands(node: str) -> Iterator[str]:
    """Yield the commands that reset a node that does not boot: Erlang starts on it without RabbitMQ."""
    yield f"RABBITMQ_NODE_ONLY=true rabbitmq-server -detached   # on {shown(node)}"
    yield f"rabbitmqctl -n {bash_word(node)} reset"


def join_commands(node: str, to: str) -> Iterator[str]:
    """Yield the commands that join a node to another node's cluster and start it, after those that reset it."""
    yield f"rabbitmqctl -n {bash_word(node)} join_cluster {bash_word(to)}"
    yield f"rabbitmqctl -n {bash_word(node)} stop"
    yield START.format(shown(node))


def queue_words(queue: str) -> str:
    """Return a queue as arguments of a command: -p shop ha."""
    vhost, name = split_queue(queue)
    return f"-p {bash_word(vhost)} {'-- ' * name.startswith('-')}{bash_word(name)}"
