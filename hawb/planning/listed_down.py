"""Propose what brings back classic queues that a listing reports as crashed or stopped on a node that runs.

A queue whose process crashed six times within ten seconds stays crashed until its node boots again
(`rabbit_amqqueue_sup`, `rabbit_amqqueue:recover`), which the engine plays. `rabbitmqctl restart_vhost` does nothing for
it: its virtual host runs (`rabbit_vhost_sup_sup:start_vhost`, already_started). A queue is stopped on a node that runs
if its virtual host has failed there (`rabbit_vhost_process`, `rabbit_amqqueue:mark_local_durable_queues_stopped`). The
same command then recovers its queues. The engine knows no failed virtual hosts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from hawb.engine.classic.crashes import MOST_RESTARTS
from hawb.engine.core.naming import split_queue
from hawb.exports.imported import Live
from hawb.planning.alike import full_name
from hawb.planning.out_of_use import out_of_use
from hawb.planning.remedies import Remedy, improved, played
from hawb.scenario.document import QueueEntry, Scenario
from hawb.scenario.run import Run


def listed_remedies(scenario: Scenario, live: Live) -> Iterator[Remedy]:
    """Yield the remedies for queues that a listing reports as stopped or crashed on a node that runs."""
    if not live.nodes_listed or not live.listed_down:
        return
    stopped: dict[str, list[str]] = defaultdict(list)
    crashed: dict[str, list[QueueEntry]] = defaultdict(list)
    for entry in scenario.queues:
        name, home = full_name(entry), entry.master
        if entry.type != "classic" or home is None or home in scenario.cluster.down:
            continue
        if live.listed_down.get(name) == "stopped":
            stopped[home].append(name)
        elif live.listed_down.get(name) == "crashed":
            crashed[home].append(entry)
    for node, names in stopped.items():
        yield Remedy("restart_vhost", (node,), tuple(sorted(names)), ())
    for node, entries in crashed.items():
        steps = ({"stop": [node]}, {"start": [node]})
        back = [full_name(entry) for entry in entries if _comes_back(scenario, entry, steps)]
        if back:
            yield Remedy("restart", (node,), tuple(sorted(back)), steps)


def vhosts_of(remedy: Remedy) -> tuple[str, ...]:
    """Return the virtual hosts of a remedy's queues, each once."""
    return tuple(dict.fromkeys(split_queue(queue)[0] for queue in remedy.queues))


def _comes_back(scenario: Scenario, entry: QueueEntry, steps: tuple[Mapping[str, object], ...]) -> bool:
    """Return True if steps bring back a queue once its process has crashed for good."""
    run = Run.of(replace(scenario, queues=(entry,)))
    crash = {"crash": {"queue": entry.queue}}
    run = played(run, [crash] * (MOST_RESTARTS + 1)) or run
    if entry.queue not in {one.queue for one in out_of_use(run)}:
        return False
    ahead = improved(run, steps)
    return ahead is not None and entry.queue not in {one.queue for one in out_of_use(ahead)}
