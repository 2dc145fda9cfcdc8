"""Build a scenario's beginning on a real cluster: its policies, and queues with mirrors in the order of the file.

A queue is declared at its master and gets its mirrors one after the other by a policy of its own: those that are to be
synchronised while it is empty, the others once it has its messages. Then that policy is cleared, and the file's apply.
The result is checked, since some beginnings cannot be built like this (a later mirror synchronised before an older
one).
"""

from __future__ import annotations

from typing import Any

from hawb.broker.actions import ACTIONS, definition_of, set_operator_policy, set_policy
from hawb.broker.cluster import CannotPlay
from hawb.broker.drive import BUILDING, Drive
from hawb.broker.observe import queues_of
from hawb.engine.core.naming import join_queue, split_queue
from hawb.scenario.document import QueueEntry, Scenario, Step
from hawb.scenario.verbs import AddMember, Declare, DeleteMember, Get, Kill, Publish, Stop, TransferLeadership


def build(drive: Drive, scenario: Scenario) -> None:
    """Bring a booted, empty cluster to the scenario's beginning. Raise CannotPlay."""
    for vhost in sorted(vhosts(scenario) - {"/"}):
        drive.cluster.add_vhost(vhost)
    for entry in scenario.queues:
        build_queue(drive, entry)
    for policy in scenario.policies:
        set_policy(drive, policy)
        drive.settle()
    for policy in scenario.operator_policies:
        set_operator_policy(drive, policy)
        drive.settle()
    for entry in scenario.queues:
        end_building(drive, entry)
    take_down(drive, scenario)
    check(drive, scenario)
    for account in drive.clients.accounts.values():
        # These messages were confirmed so that they are on disk; in the scenario they are there from the start.
        account.confirmed.clear()


def vhosts(scenario: Scenario) -> set[str]:
    """Return the virtual hosts that a scenario names."""
    named = {entry.vhost for entry in (*scenario.policies, *scenario.operator_policies)}
    for part in (*scenario.queues, *(step.verb for step in scenario.steps)):
        if vhost := getattr(part, "vhost", None):
            named.add(vhost)
        queues = (getattr(part, "queue", None), *getattr(part, "queues", ()))
        named |= {split_queue(queue)[0] for queue in queues if queue}
    return named


def build_queue(drive: Drive, entry: QueueEntry) -> None:
    """Build one queue: declare it, add its replicas in order, and publish its messages."""
    home = entry.master if entry.type == "classic" else entry.leader
    arguments = {**entry.arguments, **({} if entry.type == "classic" else {"x-queue-type": entry.type})}
    if sent_elsewhere(drive, entry):
        building_policy(drive, entry, {"queue-master-locator": "client-local"})
    declared = Declare(entry.queue, home, entry.durable, auto_delete=entry.auto_delete, arguments=arguments)
    ACTIONS[Declare](drive, declared)
    drive.finish()
    change_members(drive, entry)
    synchronised = [node for node in entry.mirrors if node in entry.synchronised_mirrors]
    mirror_on(drive, entry, synchronised)
    if entry.messages:
        run(drive, Publish(queue=entry.queue, count=entry.messages, size=entry.size, node=home))
    if entry.unacknowledged:
        run(drive, Get(entry.queue, entry.unacknowledged, ack=False, consumer=f"{BUILDING} {entry.queue}"))
    later = [node for node in entry.mirrors if node not in synchronised]
    mirror_on(drive, entry, later, before=synchronised)


def change_members(drive: Drive, entry: QueueEntry) -> None:
    """Give a quorum queue the members of the file; RabbitMQ chooses them at random."""
    if not entry.members:
        return
    name = join_queue(*split_queue(entry.queue))
    there = queues_of(drive, drive.snapshot())[name]["members"]
    for node in entry.members:
        if node not in there:
            run(drive, AddMember(entry.queue, node))
    for node in there:
        if node not in entry.members:
            run(drive, DeleteMember(entry.queue, node))
    if queues_of(drive, drive.snapshot())[name]["leader"] != entry.leader:
        run(drive, TransferLeadership(entry.queue, entry.leader))


def sent_elsewhere(drive: Drive, entry: QueueEntry) -> bool:
    """Return True if the cluster's settings could place a queue's master on another node than the file says."""
    return entry.master is not None and drive.cluster.entry.queue_master_locator != "client-local"


def mirror_on(drive: Drive, entry: QueueEntry, mirrors: list[str], before: list[str] | None = None) -> None:
    """Add mirrors one after the other."""
    placed = list(before or [])
    for mirror in mirrors:
        placed.append(mirror)
        building_policy(drive, entry, {"ha-mode": "nodes", "ha-params": [entry.master, *placed]})


def building_policy(drive: Drive, entry: QueueEntry, definition: dict[str, Any]) -> None:
    """Set a queue's policy while it is built, with priority over all others."""
    vhost, name = split_queue(entry.queue)
    drive.rabbitmqctl(
        "rabbit_policy", "parse_set", vhost, f"{BUILDING} {name}", f"^{escaped(name)}$",
        definition_of(drive, definition), 1_000_000, "queues", "hawb",
    )  # fmt: skip
    drive.settle()


def end_building(drive: Drive, entry: QueueEntry) -> None:
    """Clear the policy that built a queue."""
    vhost, name = split_queue(entry.queue)
    if entry.mirrors or sent_elsewhere(drive, entry):
        drive.rabbitmqctl("rabbit_policy", "delete", vhost, f"{BUILDING} {name}", "hawb")
        drive.settle()


def escaped(name: str) -> str:
    """Return a queue's name as a pattern."""
    return "".join(letter if letter.isalnum() else f"\\x{{{ord(letter):x}}}" for letter in name)


def take_down(drive: Drive, scenario: Scenario) -> None:
    """Take down the nodes that are down at the start, in their order."""
    for name, how in scenario.cluster.down.items():
        run(drive, Stop((name,)) if how == "stopped" else Kill((name,)))


def run(drive: Drive, verb: Any) -> None:
    """Take a step of the building, and wait until the cluster has settled."""
    drive.apply(-1, Step(verb))
    drive.settle()


def check(drive: Drive, scenario: Scenario) -> None:
    """Raise CannotPlay if a queue differs from the file, or a step was refused."""
    if drive.errors:
        raise CannotPlay(drive.errors[0]["text"])
    found = queues_of(drive, drive.snapshot())
    for entry in scenario.queues:
        queue = found.get(join_queue(*split_queue(entry.queue)))
        if queue is None:
            raise CannotPlay(f"queue {entry.queue} is not there")
        wanted = as_written(entry)
        got = {key: queue.get(key, value) for key, value in wanted.items()}
        if got != wanted:
            raise CannotPlay(f"queue {entry.queue} stands as {got}, not as {wanted}")


def as_written(entry: QueueEntry) -> dict[str, Any]:
    """Return the queue as the file has it, in the words of an outcome; without fields that a declaration decides."""
    if entry.members:
        return {"leader": entry.leader, "members": sorted(entry.members), "messages": entry.messages}
    if entry.master is None:
        return {}
    return {
        "master": entry.master,
        "mirrors": list(entry.mirrors),
        "synchronised_mirrors": sorted(entry.synchronised_mirrors),
        "messages": entry.messages,
    }
