"""The verdict on an incident: messages certainly lost, spontaneous failures, possible losses, or none of these.

Certain losses follow from the story by RabbitMQ's rules, whatever clients did. Possible losses depend on what clients
sent meanwhile, which is not in the logs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from shlex import quote

from msgspec.structs import replace

from hawb.engine.core.naming import split_queue
from hawb.incident import causes
from hawb.incident.asked import WHOLE
from hawb.incident.cluster_event import ClusterEvent
from hawb.incident.fault_rules import CLASSIC_STORE
from hawb.incident.faults import BROKEN
from hawb.incident.losses import APART, Possible, QueueLosses
from hawb.incident.not_logs import not_logs, what
from hawb.incident.reading import BOOT_FAILED
from hawb.incident.still import still
from hawb.incident.understanding import Incident
from hawb.planning.harm import Harm
from hawb.views.formatting import counted, listing, shown
from hawb.views.hawb_commands import DEFINITIONS, EXPORT
from hawb.views.incident.headline import FAULTS, worst
from hawb.views.incident.lost_messages import WHAT, because, begins, dangers, fate, perhaps
from hawb.views.incident.names import Names
from hawb.views.incident.sentences import Sentence, sentences, sides, sides_in_words
from hawb.views.incident.times import date_and_time, day
from hawb.views.markdown import bash_word
from hawb.views.planning.missing_files import QUEUES, listed_in
from hawb.views.report import MOST_TO_DO, ToDo, Verdict
from hawb.views.story.keeping import keeping

MOST_FAULTS, FEW_FAULTS, LONG_US = 30, 5, 24 * 3600 * 1_000_000
"""A story is long with more faults than the first number, or with more than the second that are over a day apart."""
FILE_DESCRIPTORS = "file descriptor"
"""The name of an alarm that blocks no publishers but new connections."""
WITHOUT_EXPORTS = frozenset({"no_listing", "no_definitions"})
"""Doubts that exports of the cluster, given with the logs, would settle."""


def verdict(incident: Incident, names: Names) -> Verdict:
    """Return the verdict on an incident.

    No: messages are certainly lost, messages of a listing are lost unless clients had consumed them, something other
    than a process failed spontaneously, or at the end the cluster is partitioned, a node is down or waits to boot, or
    an alarm is in force. Unknown: messages may be lost, a process crashed and no log line says what happened
    afterwards, or input that may be about a fault was not read. Yes: none of these.
    """
    dropped, endangered, broken = _dropped(incident), _endangered(incident), breakages(incident, names)
    lost = [one for one in incident.losses if one.certain]
    also = f". Possibly lost: {_perhaps(endangered, incident, names)}" if endangered else ""
    if lost:
        return Verdict("no", f"{certainly(lost)}{_besides(broken)}{also}")
    if broken and broken[0].kind != "process_crashed":
        return Verdict("no", f"{broken[0].text.removesuffix('.')}{_others(broken)}{also}")
    if timeless := next((one for one in incident.reading.unread if one.text.startswith(BOOT_FAILED)), None):
        why = f"{names.line(timeless)}: {shown(timeless.text)}"
        return Verdict("no", f"a boot failed, at an unknown time ({why})")
    if dropped and not (endangered and endangered[0][0].listed):
        return Verdict("unknown", dropped)
    if endangered:
        listed = endangered[0][0].listed
        sentence = f"{_perhaps(endangered, incident, names)} {fate(endangered[0][0], 'are')}"
        return Verdict("no" if listed else "unknown", sentence)
    if incident.outcome and incident.outcome["partitions"]:
        return Verdict("no", "the cluster is still partitioned at the end, and partitions that restart will lose"
                             " the messages that only they have")  # fmt: skip
    if lasting := [*_lasting(incident, names)]:
        only_gone = {one.kind for one in still(incident)} == {"node_gone"}
        return Verdict("unknown" if only_gone else "no", "; ".join(lasting))
    if why := next(filter(None, (_unexplained(broken), *_not_read(incident, names))), ""):
        return Verdict("unknown", why)
    if incident.no_scenario:
        return Verdict("yes" if incident.is_quiet else "unknown", shown(incident.no_scenario))
    if not incident.losses and _begins_late(incident):
        return Verdict("unknown", "no log names a queue, and no listing was given")
    if not incident.losses:
        return Verdict("yes", "the logs show no queue that could have lost messages")
    return Verdict("yes", "no event in the logs has lost a message")


def breakages(incident: Incident, names: Names) -> list[Sentence]:
    """Return the spontaneous failures in the span of the report, the worst first."""
    return worst(sentences([one for one in incident.covered if one.kind in BROKEN], names))


def _besides(broken: Sequence[Sentence]) -> str:
    return f". Besides, {broken[0].text.removesuffix('.')}{_others(broken)}" if broken else ""


def _others(broken: Sequence[Sentence]) -> str:
    return f"; {counted(len(broken) - 1, 'other fault')} below" if len(broken) > 1 else ""


def _lasting(incident: Incident, names: Names) -> Iterator[str]:
    """Yield clauses about what is still wrong when the logs end."""
    for one in still(incident):
        node, since = names.node(one.node or ""), names.time(one.at_us)
        if one.kind == "alarm_set" and one.name == FILE_DESCRIPTORS:
            yield f"{node} has accepted no connections since {since}: it is short of file descriptors"
        elif one.kind == "alarm_set":
            yield f"publishers have been blocked since {since}: {node} is short of {shown(one.name)}"
        elif one.kind == "node_waiting":
            yield f"{node} has not booted: it still waits for other nodes"
        elif one.kind == "node_paused":
            yield f"{node} has been paused since {since}"
        elif one.kind == "node_gone":
            yield f"{node} has been gone since {since}, and its own log is missing"
        elif one.kind == "partition_found":
            yield f"{sides_in_words(sides(one.pairs), names)} found at {since} that they had been partitioned"
        elif one.pairs:
            yield f"{sides_in_words(sides(one.pairs), names)} have not seen each other since {since}"
        else:
            yield f"{node} has been down since {since}: it ended without a shutdown"


def _unexplained(broken: Sequence[Sentence]) -> str:
    return f"{broken[0].text.removesuffix('.')}, and no log line says what happened afterwards" if broken else ""


def _not_read(incident: Incident, names: Names) -> Iterator[str]:
    """Yield clauses about input that hawb has not read and that may be about a fault: unknown lines and files."""
    reading = incident.reading
    if reading.unread:
        first, many = reading.unread[0], reading.severe > 1
        yield (f"hawb does not know {counted(reading.severe, 'message')} of level error or worse, "
               f"{'the first' if many else 'that'} in {names.line(first)}: {shown(first.text)}")  # fmt: skip
    yield from (f"{shown(file.file)} is not a RabbitMQ log: {what(file)}" for file in not_logs(reading))
    yield from (f"{shown(file.file)} could not be read to the end: {shown(file.refused)}" for file in reading.files
                if file.refused)  # fmt: skip


def _dropped(incident: Incident) -> str:
    """Return a clause about messages that were missing when queues recovered; "" if there are none."""
    dropped = [one for one in incident.cluster_events if one.kind == "messages_dropped"]
    if not dropped:
        return ""
    count, queues = sum(one.count or 0 for one in dropped), dict.fromkeys(shown(one.queue) for one in dropped)
    were = "was" if count == 1 else "were"
    return (f"{counted(count, 'persistent message')} of {listing(queues)} {were} on record but missing after an"
            " unclean shutdown: lost, or consumed before")  # fmt: skip


def _begins_late(incident: Incident) -> bool:
    """Return True if no log contains a boot and no listing was given: there may have been queues that no log names."""
    doubts = {doubt.kind for doubt in incident.reconstructed.doubts} if incident.reconstructed else {"no_listing"}
    return "no_listing" in doubts and not any(one.kind == "node_started" for one in incident.cluster_events)


def todo(incident: Incident, names: Names) -> tuple[ToDo, ...]:
    """Return what to do.

    The to-dos repair faults, rejoin partitions, start nodes and end alarms, narrow the span, name changes that would
    have kept messages, name spans to ask publishers about, and name files to add.
    """
    asked = [*_mending(incident, names), *_rejoining(incident, names), *_ending(incident), *_narrower(incident)]
    asked += _keeping(incident)
    spans = dict.fromkeys((loss.from_us, loss.until_us) for one in incident.losses for loss in one.possible
                          if not loss.only)  # fmt: skip
    if spans:
        from_us, until_us = max(spans, key=lambda span: span[1] - span[0])
        when = f"by {names.time(until_us)}"
        if from_us > begins(incident):
            when = f"from {names.time(from_us)} to {names.time(until_us)}"
        asked.append(ToDo(f"Ask the publishers which messages were confirmed {when}: RabbitMQ does not log that."))
    if incident.reconstructed is None and asked:
        return tuple(asked[:MOST_TO_DO])
    if incident.reconstructed is None and incident.asked != WHOLE:
        return (ToDo("Use a longer period, or leave out --since and --until."),)
    if incident.reconstructed is None:
        return (ToDo("Give the logs of all nodes, from before the incident on: this story could not be played."),)
    if WITHOUT_EXPORTS & {doubt.kind for doubt in incident.reconstructed.doubts}:
        asked.append(ToDo("Add a definitions export and a queue listing: policies and numbers of messages are not"
                          " in the logs.",
                          (EXPORT, listed_in(QUEUES),
                           f"hawb incident {_logs(incident)} {DEFINITIONS} {QUEUES}")))  # fmt: skip
    asked.append(ToDo("Change the story and play it again.",
                      (f"hawb incident {_logs(incident)} --scenario story.yaml", "hawb lab story.yaml")))  # fmt: skip
    return tuple(asked[:MOST_TO_DO])


def _logs(incident: Incident) -> str:
    """Return the logs as words of a command."""
    return " ".join(map(bash_word, incident.paths or [Path(file.file).name for file in incident.reading.files]))


BOOTS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    causes.FLAG: ("Boot {node} with its previous release, enable all stable feature flags, and upgrade it again.",
                  ("rabbitmqctl -n {node} enable_feature_flag all",)),
    causes.DENIED: ("Delete what uses {these} while the previous release runs. If the new release denies a feature"
                    " only by default, its configuration can permit this feature.", ("rabbitmqctl"
                        " list_deprecated_features --used",)),
    causes.FLAGS: ("Enable all stable feature flags on the running nodes, and start {node} again. If its release"
                   " is too new, go back to the previous one.", ("rabbitmqctl enable_feature_flag all",)),
    causes.CLUSTER: ("Find out which nodes still list {node} as a member. If none does, save its disk, reset it,"
                     " and join it again.", ("rabbitmqctl cluster_status",)),
    causes.VERSIONS: ("Install on the host of {node} the release of RabbitMQ and the Erlang that the other nodes run.",
                      ("rabbitmq-diagnostics server_version", "rabbitmq-diagnostics erlang_version")),
    causes.EMPTY: ("Find out where the data of {node} is, such as a volume that is not mounted. If it is gone, forget"
                   " {node} on another node, reset it, and join it again.", ("rabbitmqctl cluster_status",)),
    causes.LEADER: ("Start the other members of the cluster of {node}: a majority must run at the same time.", ()),
    causes.TABLES: ("Start {others} first. Only if that is impossible for good, have {node} boot alone.",
                    ("rabbitmqctl -n {node} force_boot",)),
    causes.SCHEMA: ("Boot {node} with the release that wrote its disk, or save its disk, reset it, and join it again.",
                    ()),
    causes.UPGRADE: ("Start the disc node that stopped last first, with the new release, then {node}.", ()),
    causes.PORT: ("Find what uses the port on the host of {node}, end it, and start {node} again.", ("ss -ltnp",)),
    causes.COOKIE: ("Make the user that runs RabbitMQ the owner of the Erlang cookie file on {node}, with mode 400.",
                    ()),
    causes.DISK: ("Free space on the disk of {node}, and start it again.", ("df -h",)),
    causes.ACCESS: ("Make the user that runs RabbitMQ the owner of the data, log and configuration folders of {node}.",
                    ()),
    causes.OPEN_FILES: ("Raise the limit of open files for RabbitMQ on the host of {node}, and start it again.",
                        ("rabbitmq-diagnostics -n {node} status",)),
    causes.LISTENER: ("Correct the address, port or certificates of the listener in the configuration of {node}, and"
                      " start it again. A port below 1024 needs a privilege.", ()),
    causes.ADDRESS: ("Let {node} listen on an address of its host, and start it again.", ()),
    causes.DEFINITIONS: ("Correct the definitions that the configuration of {node} names, or leave them out, and start"
                         " it again.", ()),
    causes.PLUGINS: ("Install the plugin for the release of {node}, or disable it, and start {node} again.",
                     ("rabbitmq-plugins list --offline",)),
    causes.DAMAGE: ("Save the disk of {node} before anything else. Then forget it, reset it, and join it again, so that"
                    " it is sent what the other members have.", ()),
    causes.SETTINGS: ("Correct the setting that the lines before the failure name, and start {node} again.", ()),
    causes.HOST: ("Make sure that the host of {node} resolves the names of all hosts of the cluster, and start it"
                  " again.", ()),
    causes.ERLANG: ("Install an Erlang version that the release of {node} supports on its host, and start it again.",
                    ()),
}
"""The remedy for a failed boot, by its cause, with commands."""
QUEUE_STATES = "rabbitmqctl -n {node} list_queues --vhost {vhost} name type state"
FAULT_TODO: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "data_corrupt": ("If a majority of the other members of {queue} runs, delete its member on {node} and add it"
                     " again: it then receives the whole log. Check the disk of {node}.",
                     ("rabbitmq-queues -n {node} quorum_status {name} --vhost {vhost}",)),
    "vhost_failed": ("Save the disk of {node}, and start the virtual host {name} there again.",
                     ("rabbitmqctl -n {node} restart_vhost --vhost {name}",)),
    "queue_crashed": ("Check whether {queue} works again.", (QUEUE_STATES,)),
    "store_crashed": ("Check whether {node} is a member of the metadata store again.",
                      ("rabbitmq-diagnostics -n {node} metadata_store_status",)),
    "coordinator_failed": ("Check whether a majority of the stream coordinator's members runs.",
                           ("rabbitmq-streams -n {node} coordinator_status",)),
    "stream_failed": ("Check which replicas of the stream run.",
                      ("rabbitmqctl -n {node} list_queues name type state",)),
    "cookie_refused": ("Give {node} and {name} the same Erlang cookie.", ()),
    "disk_full": ("Free space on the disk of {node}. Then check that all queues there run.",
                  ("df -h", "rabbitmqctl -n {node} list_queues name type state")),
    "files_exhausted": ("Raise the limit of open files for RabbitMQ on the host of {node}, and start it again.",
                        ("rabbitmq-diagnostics -n {node} status",)),
    "erlang_ended": ("Read the end of the log of {node} and its erl_crash.dump, and start it again.", ()),
    "vhost_down": ("Find out why the virtual host {name} stopped on {node}, and start it there again.",
                   ("rabbitmqctl -n {node} restart_vhost --vhost {name}",)),
    "operation_failed": ("List the queues that are out of use: RabbitMQ failed here, not the client.",
                         ("rabbitmqctl -n {node} list_queues name type state",)),
    "flag_not_enabled": ("Start all nodes of the cluster, and enable the feature flag again.",
                         ("rabbitmqctl -n {node} enable_feature_flag all",)),
    "discovery_failed": ("Check that {node} reaches the backend of its peer discovery, and that the nodes form one"
                         " cluster.", ("rabbitmqctl -n {node} cluster_status",)),
    "queue_unavailable": ("Start the node of {queue}, or find out why its process does not run there.",
                          (QUEUE_STATES,)),
    "operation_timed_out": ("Check whether all queues have a leader, and whether the disk of {node} is fast enough.",
                            ("rabbitmqctl -n {node} list_queues name type state",)),
    "consumer_timed_out": ("Let consumers acknowledge sooner, or raise consumer_timeout (30 minutes by default).",
                           ("rabbitmqctl -n {node} environment",)),
    "application_ended": ("Read the lines before the application ended, and start {node} again.", ()),
}
"""The remedies for other faults, with commands."""
DAMAGED = ("Save the disk of {node} and check it: {damaged} there is damaged. Where a majority of the other members"
           " of a queue runs, delete its member on {node} and add it again: it then receives the whole log.",
           ("rabbitmqctl -n {node} list_queues name type state",))  # fmt: skip
DAMAGED_CLASSIC = ("Save the disk of {node} and check it: without mirrors there is no other copy of what a classic"
                   " queue cannot read there.", ("rabbitmqctl -n {node} list_queues name type state",))  # fmt: skip
"""The remedies for damaged data of an unknown queue."""
OF_VHOSTS = ("vhost_failed", "vhost_down")


def _mending(incident: Incident, names: Names) -> Iterator[ToDo]:
    """Yield what to do about the worst spontaneous failure."""
    found = sorted((one for one in incident.covered if one.kind in BROKEN),
                   key=lambda one: (BROKEN.index(one.kind), one.at_us))  # fmt: skip
    if not found:
        yield from _reading(incident, names)
        return
    one, fills = found[0], _fills(found[0])
    if one.kind == "clusters_apart":
        kept, *others = one.nodes
        yield ToDo(f"Decide which cluster to keep, for example that of {names.node(kept)}. Save the messages and"
                   " definitions that only the other clusters have: joining deletes them. Then join their nodes to"
                   " it.",
                   tuple(f"rabbitmqctl -n {node} {command}" for node in others
                         for command in ("stop_app", "reset", f"join_cluster {kept}", "start_app")))  # fmt: skip
        return
    what, commands = FAULT_TODO.get(one.kind, ("", ()))
    if one.kind == "queue_unavailable" and one.name:
        what, commands = "Start {others}: {queue} is on its disk.", ("systemctl start rabbitmq-server   # on {others}",)
    if one.kind == "data_corrupt" and one.queue is None:
        what, commands = DAMAGED_CLASSIC if one.name == CLASSIC_STORE else DAMAGED
    if one.kind == "erlang_ended":
        what, commands = BOOTS.get(causes.MARKS.get(one.reason or "", ""), (what, commands))
    if one.kind in ("boot_failed", "boot_error"):
        what, commands = BOOTS.get(causes.MARKS.get(one.reason or "", ""), ("", ()))
        if not what and one.events:
            yield ToDo(f"Read the log from {names.line(one.events[0])} on: hawb does not know why {fills['node']} did"
                       " not boot.")  # fmt: skip
    if what:
        yield ToDo(what.format_map(fills), tuple(command.format_map(fills) for command in commands))


def _reading(incident: Incident, names: Names) -> Iterator[ToDo]:
    """Yield where to read on about error messages that hawb does not know."""
    if unread := incident.reading.unread:
        these = "this error message" if incident.reading.severe == 1 else "these error messages"
        lines = listing(names.line(one) for one in unread)
        yield ToDo(f"Read {lines} and the lines before and after: hawb does not know {these}.")


def _fills(one: ClusterEvent) -> dict[str, str]:
    vhost, name = split_queue(one.queue) if one.queue else ("/", one.name or "")
    others = listing(one.name.split(", ")) if one.name else "the other nodes"
    return {"node": shown(one.node or ""), "queue": shown(one.queue or "the queue"), "others": others,
            "damaged": shown(one.name or "data"), "these": shown(one.name or "the deprecated features"),
            "vhost": quote(shown(vhost)),
            "name": quote(shown(name)) if one.queue or one.kind in OF_VHOSTS else shown(name)}  # fmt: skip


def _rejoining(incident: Incident, names: Names) -> Iterator[ToDo]:
    """Yield how to end a partition that lasts until the end of the logs.

    Nodes that do not run are in no partition. If the user's span ends before the logs do, the end of the partition is
    not in the report, so there is no to-do.
    """
    goes_on = any(incident.asked.is_over(one.at_us) for one in incident.cluster_events)
    if incident.outcome and (sides := incident.outcome["partitions"]) and not goes_on:
        apart = sides_in_words(sides, names)
        yield ToDo(f"The cluster is still partitioned into {apart}. Decide which partition to keep. Save the messages"
                   " that only other partitions have, then restart the nodes of those partitions.")  # fmt: skip


def _ending(incident: Incident) -> Iterator[ToDo]:
    """Yield how to end what is still wrong when the logs end."""
    for one in still(incident):
        node = shown(one.node or "")
        if one.kind == "alarm_set" and one.name == "disk":
            yield ToDo(f"Free space on the disk of {node}: its alarm blocks publishers everywhere.", ("df -h",))
        elif one.kind == "alarm_set" and one.name == FILE_DESCRIPTORS:
            yield ToDo(f"Raise the limit of open files for RabbitMQ on the host of {node}, or close connections.",
                       (f"rabbitmq-diagnostics -n {node} status",))  # fmt: skip
        elif one.kind == "alarm_set":
            yield ToDo(f"Find out what {node} needs its {shown(one.name)} for: its alarm blocks publishers everywhere.",
                       (f"rabbitmq-diagnostics -n {node} memory_breakdown",))  # fmt: skip
        elif one.kind == "node_gone":
            yield ToDo(f"Give the log of {node} too.")
        elif one.pairs or one.kind == "node_paused":
            yield from ()
        elif one.kind == "node_waiting":
            yield ToDo(f"Start the nodes that {node} waits for, those that stopped last first.")
        else:
            yield ToDo(f"Start {node}.", (f"systemctl start rabbitmq-server   # on {node}",))


def _narrower(incident: Incident) -> Iterator[ToDo]:
    """Yield, for a long story, how to ask about one incident of it: the last with a loss."""
    faults = [one.at_us for one in incident.covered if one.kind in FAULTS]
    if len(faults) > MOST_FAULTS or (len(faults) > FEW_FAULTS and faults[-1] - faults[0] > LONG_US):
        period = f"{counted(len(faults), 'fault')} from {date_and_time(faults[0])} to {date_and_time(faults[-1])}"
        costs = [loss.at_us for one in incident.losses
                 for loss in (*one.certain, *(danger for danger in one.possible if not danger.only))]  # fmt: skip
        last = day(max(costs, default=faults[-1]))
        yield ToDo(f"Examine one incident at a time: these are {period}, played as one story.",
                   (f"hawb incident {_logs(incident)} --since {last} --until {last}",))  # fmt: skip


def _keeping(incident: Incident) -> Iterator[ToDo]:
    """Yield the changes that would keep lost messages, the best first; queues with the same changes share a to-do."""
    are = "are" if incident.outcome and incident.outcome["losses"] else "may be"

    def lost(harms: Sequence[Harm]) -> str:
        return f"the messages of {listing(harm.queue for harm in harms)} that {are} lost"

    yield from keeping(incident.keepers, lost, lambda one: shown(one.change.what))


def certainly(lost: Sequence[QueueLosses]) -> str:
    """Return how many messages of which queues are certainly lost, and why, as the sentence after a No."""
    count = sum(one.certainly_lost for one in lost)
    causes = {loss.cause for one in lost for loss in one.certain}
    why = f": {because(causes.pop(), count)}" if len(causes) == 1 else ""
    return f"{counted(count)} of {listing(one.queue for one in lost)} {'is' if count == 1 else 'are'} lost{why}"


def _endangered(incident: Incident) -> list[tuple[Possible, list[str]]]:
    """Return the possible losses of the worst kind, each with its queues.

    Those with messages of a listing come first, then the longest spans.
    """
    spans: dict[Possible, list[tuple[str, int]]] = {}
    found = [(one.queue, loss) for one in incident.losses for loss in dangers(one)]
    weightiest = min((loss.only for _, loss in found), key=[*WHAT].index, default="")
    for queue, loss in found:
        if loss.only == weightiest:
            spans.setdefault(replace(loss, listed=None, at_us=0), []).append((queue, loss.listed or 0))
    merged = [(replace(loss, listed=sum(count for _, count in of) or None), [queue for queue, _ in of])
            for loss, of in spans.items()]  # fmt: skip
    return sorted(merged, key=lambda one: (not one[0].listed, one[0].cause == APART,
                                         one[0].from_us - one[0].until_us, one[0].from_us))  # fmt: skip


def _perhaps(endangered: Sequence[tuple[Possible, list[str]]], incident: Incident, names: Names) -> str:
    """Return the first possible loss in words, with the number of other spans."""
    (loss, queues), *others = endangered
    more = f", or in {counted(len(others), 'other period')}," if others else ""
    return perhaps(loss, names, listing(queues), begins(incident)) + more
