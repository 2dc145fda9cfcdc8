"""Propose what brings back queues whose processes have ended, by a listing, on nodes that run.

A classic queue whose process crashed six times within ten seconds stays crashed until its node boots again
(`rabbit_amqqueue_sup`, `rabbit_amqqueue:recover`), and so does a queue without a majority whose members have ended.
That is played. `rabbitmqctl restart_vhost` does nothing for these: their virtual host runs
(`rabbit_vhost_sup_sup:start_vhost`, already_started). A classic queue is stopped on a node that runs if its virtual
host has failed there (`rabbit_vhost_process`, `rabbit_amqqueue:mark_local_durable_queues_stopped`). The same command
then recovers its queues. The engine knows no failed virtual hosts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from msgspec.structs import replace

from hawb.engine.classic.crashes import MOST_RESTARTS
from hawb.engine.core.naming import split_queue
from hawb.exports.imported import Live
from hawb.planning.alike import full_name
from hawb.planning.out_of_use import out_of_use
from hawb.planning.remedies import Remedy, Step, improved, played
from hawb.scenario.document import QueueEntry, Scenario
from hawb.scenario.run import Run


def listed_remedies(scenario: Scenario, live: Live) -> Iterator[Remedy]:
    """Yield the remedies for queues that a listing reports as out of use although their nodes run."""
    if not live.nodes_listed or not live.listed_down:
        return
    stopped: dict[str, list[str]] = defaultdict(list)
    ended: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for entry in scenario.queues:
        name = full_name(entry)
        home = [entry.master] if entry.master is not None and entry.type == "classic" else entry.stopped_members
        nodes = tuple(node for node in home if node not in scenario.cluster.down)
        state = live.listed_down.get(name)
        if not nodes or state is None:
            continue
        if entry.type == "classic" and state == "stopped":
            stopped[nodes[0]].append(name)
        elif (entry.type != "classic" or state == "crashed") and _comes_back(scenario, entry, _restarts(nodes)):
            ended[nodes].append(name)
    for node, names in stopped.items():
        yield Remedy("restart_vhost", (node,), tuple(sorted(names)), ())
    for nodes, names in ended.items():
        yield Remedy("restart", nodes, tuple(sorted(names)), _restarts(nodes))


def vhosts_of(remedy: Remedy) -> tuple[str, ...]:
    """Return the virtual hosts of a remedy's queues, each once."""
    return tuple(dict.fromkeys(split_queue(queue)[0] for queue in remedy.queues))


def _restarts(nodes: tuple[str, ...]) -> tuple[Step, ...]:
    return tuple({verb: [node]} for node in nodes for verb in ("stop", "start"))


def _comes_back(scenario: Scenario, entry: QueueEntry, steps: tuple[Step, ...]) -> bool:
    """Return True if steps bring back a queue whose processes have ended: those of a classic queue by crashes."""
    run = Run.of(replace(scenario, queues=(entry,)))
    if entry.type == "classic":
        run = played(run, [{"crash": {"queue": entry.queue}}] * (MOST_RESTARTS + 1)) or run
    if not _is_out(run, entry):
        return False
    ahead = improved(run, steps)
    return ahead is not None and not _is_out(ahead, entry)


def _is_out(run: Run, entry: QueueEntry) -> bool:
    return full_name(entry) in {one.queue for one in out_of_use(run)}
