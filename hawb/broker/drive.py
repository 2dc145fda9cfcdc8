"""A scenario driven on a real cluster, step by step: `VERBS` says what each verb is there.

A step begins, as in the contract, when the cluster has settled after the step before, or at its time after the first
one, in real seconds. Settled means here that nothing which can be asked changes any more (`Drive.settle`). What clients
and nodes are told to do runs beside the drive, so that steps of one moment happen before anything reacts to them, and
an answer that comes late is still an error of its own step.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from hawb.broker import membership
from hawb.broker.clients import Clients
from hawb.broker.cluster import BrokerCluster
from hawb.broker.connections import Loop, Refused
from hawb.broker.control import Atom, CallFailed, term
from hawb.broker.namespaces import address
from hawb.broker.nodes import BrokerNode
from hawb.engine.naming import split_queue
from hawb.scenario import verbs
from hawb.scenario.document import Step
from hawb.scenario.forms import OnNodes, Verb

QUIET_S = 0.6
"""How long nothing may change before the cluster counts as settled."""
UNANSWERED_S = 2.5
"""The same while publishers wait for confirms, which may never come."""
HANGING_S = 90
"""The same while an operation has no answer: RabbitMQ tries for a minute before it refuses one."""
SYNC_S = 600
ERLANG_NAME = re.compile(r"n\d+@10\.77\.0\.\d+")


class Drive:
    """A booted cluster, its clients, and what was refused so far."""

    def __init__(self, cluster: BrokerCluster):
        self.cluster = cluster
        self.loop = Loop(cluster.network.hub)
        hosts = {name: address(node.number) for name, node in cluster.nodes.items()}
        self.clients = Clients(self.loop.loop, hosts)
        self.errors: list[dict[str, Any]] = []
        self.members = set(cluster.entry.nodes)
        self.known: set[str] = set()
        self._pool = ThreadPoolExecutor(8)
        self._jobs: list[Future] = []
        self._operations: list[Future] = []
        self._step = 0
        self._beginning: float | None = None

    def close(self) -> None:
        """Ends clients and threads; what still waits for an answer is given up."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self.loop.close()

    # --- steps ---

    def apply(self, index: int, step: Step) -> None:
        """Begins a step; `expect` and `wait` only take their time."""
        self._await(step)
        self._step = index
        if isinstance(step.verb, verbs.Wait):
            time.sleep(step.verb.seconds)
        elif not isinstance(step.verb, verbs.Expect):
            VERBS[type(step.verb)](self, step.verb)

    def _await(self, step: Step) -> None:
        if step.at is None or self._beginning is None:
            self.settle()
        if self._beginning is None:
            self._beginning = time.monotonic() - (step.at or 0)
        if step.at is not None:
            time.sleep(max(0.0, self._beginning + step.at - time.monotonic()))

    def settle(self) -> None:
        """Waits until nothing changes: nodes, queues as each node knows them, and what clients hear."""
        seen, since = None, time.monotonic()
        while True:
            jobs = [job for job in self._jobs if not job.done()]
            operations = [operation for operation in self._operations if not operation.done()]
            now = (len(jobs), len(operations), self.clients.traffic, self.snapshot())
            if now != seen:
                seen, since = now, time.monotonic()
            quiet_s = HANGING_S if operations else UNANSWERED_S if self.clients.unconfirmed else QUIET_S
            busy = jobs or any("syncing" in repr(view) for view in now[3].values())
            if not busy and time.monotonic() - since > quiet_s:
                self._jobs, self._operations = [], operations
                return
            time.sleep(0.05)

    def snapshot(self) -> dict[str, Any]:
        """What each running node knows: the nodes that it sees, and the queues."""
        views = {}
        for name, node in self.cluster.nodes.items():
            state = self.cluster.state(node)
            views[name] = {"state": state}
            if state == "running":
                try:
                    known = self.cluster.ask(node, "rabbit_mnesia", "cluster_nodes", Atom("running"))
                    views[name]["nodes"] = sorted(known)
                    views[name]["queues"] = self.cluster.control.evaluate(f"control:queues('{node.erlang}')")
                except CallFailed as failed:
                    views[name]["failed"] = str(failed)
        return views

    # --- what verbs are made of ---

    def refuse(self, code: int | None, text: str, step: int | None = None) -> None:
        """A step was refused."""
        text = ERLANG_NAME.sub(lambda found: self.cluster.names.get(found[0], found[0]), text)
        self.errors.append({"step": self._step if step is None else step, "code": code, "text": text})

    def first_running(self, name: str | None = None) -> BrokerNode | None:
        """The node of that name, or the first one that runs; None, and the step is refused, if it does not run."""
        if name is None:
            found = self.cluster.running()[:1]
            if not found:
                self.refuse(None, "no node is running")
            return found[0] if found else None
        node = self.cluster.nodes[name]
        if self.cluster.state(node) != "running":
            self.refuse(None, f"node '{name}' is not running")
            return None
        return node

    def client(self, node: str | None, operation: Callable[[str], Coroutine]) -> None:
        """A client at a node does something."""
        found = self.first_running(node)
        if found is not None:
            self.operate(operation(found.name))

    def operate(self, operation: Coroutine) -> None:
        """Something that a client does goes on its way."""
        step = self._step

        async def guarded() -> None:
            try:
                await operation
            except Refused as refused:
                self.refuse(refused.code, refused.text, step)

        self._operations.append(self.loop.run(guarded()))

    def job(self, work: Callable[..., Any], *arguments: Any) -> None:
        """Something that takes its time with nodes; what it returns, if anything, is why it was refused."""
        step = self._step

        def guarded() -> None:
            try:
                reason = work(*arguments)
            except CallFailed as failed:
                reason = str(failed)
            if reason is not None:
                self.refuse(None, reason, step)

        self._jobs.append(self._pool.submit(guarded))

    def tell(self, module: str, function: str, *arguments: Any, timeout_s: float = 60) -> None:
        """`rabbitmqctl`, asked of the first running node."""
        node = self.first_running()
        if node is not None:
            self.job(lambda: reason_of(self.cluster.ask(node, module, function, *arguments, timeout_s=timeout_s)))


def reason_of(answer: Any) -> str | None:
    """Why rabbitmqctl would end with an error; None if it would not."""
    if isinstance(answer, list) and answer and answer[0] in ("error_string", "error", "not_migrated"):
        reason = answer[1] if len(answer) > 1 else answer[0]
        return reason if isinstance(reason, str) else json.dumps(reason)
    return None


def resource(queue: str) -> tuple:
    """A queue's name as Erlang has it."""
    vhost, name = split_queue(queue)
    return Atom("resource"), vhost, Atom("queue"), name


# --- policies ---


def definition_of(drive: Drive, definition: dict[str, Any]) -> str:
    """A policy's definition as JSON, with the nodes' Erlang names."""
    found = dict(definition)
    if isinstance(found.get("ha-params"), list):
        found["ha-params"] = [drive.cluster.erlang.get(name, name) if isinstance(name, str) else name
                              for name in found["ha-params"]]  # fmt: skip
    return json.dumps(found)


def set_policy(drive: Drive, verb: verbs.PolicyEntry, function: str = "parse_set") -> None:
    drive.tell(
        "rabbit_policy", function, verb.vhost, verb.name, verb.pattern, definition_of(drive, verb.definition),
        verb.priority, verb.apply_to, "hawb",
    )  # fmt: skip


def set_operator_policy(drive: Drive, verb: verbs.SetOperatorPolicy) -> None:
    set_policy(drive, verb, "parse_set_op")


def clear_policy(drive: Drive, verb: verbs.ClearPolicy) -> None:
    drive.tell("rabbit_policy", "delete", verb.vhost, verb.name, "hawb")


def clear_operator_policy(drive: Drive, verb: verbs.ClearOperatorPolicy) -> None:
    drive.tell("rabbit_policy", "delete_op", verb.vhost, verb.name, "hawb")


# --- clients ---


def by_client(method: str) -> Callable[[Drive, Verb], None]:
    """A verb that a client does at the node that it names, if it names one."""

    def act(drive: Drive, verb: Verb) -> None:
        drive.client(getattr(verb, "node", None), lambda node: getattr(drive.clients, method)(verb, node))

    return act


def ack(drive: Drive, verb: verbs.Ack) -> None:
    drive.operate(drive.clients.answer(verb.consumer, verb.count, "ack"))


def nack(drive: Drive, verb: verbs.Nack) -> None:
    drive.operate(drive.clients.answer(verb.consumer, verb.count, "requeue" if verb.requeue else "reject"))


def cancel(drive: Drive, verb: verbs.Cancel) -> None:
    drive.operate(drive.clients.cancel(verb.consumer))


def close(drive: Drive, verb: verbs.Close) -> None:
    drive.operate(drive.clients.close(verb.name))


# --- nodes and links ---


def nodes_of(drive: Drive, verb: OnNodes) -> list[BrokerNode]:
    return [drive.cluster.nodes[name] for name in verb.nodes]


def on_nodes(work: Callable[[Drive, list[BrokerNode]], str | None]) -> Callable[[Drive, OnNodes], None]:
    """A verb for nodes that takes its time."""
    return lambda drive, verb: drive.job(work, drive, nodes_of(drive, verb))


def on_node(work: Callable[[Drive, BrokerNode], str | None]) -> Callable[[Drive, Any], None]:
    """A verb for a node that takes its time."""
    return lambda drive, verb: drive.job(work, drive, drive.cluster.nodes[verb.node])


def kill(drive: Drive, verb: verbs.Kill) -> None:
    for node in nodes_of(drive, verb):
        node.kill()


def power_off(drive: Drive, verb: verbs.PowerOff) -> None:
    nodes = nodes_of(drive, verb)
    for node in nodes:
        drive.cluster.network.unplug(node.number)
    for node in nodes:
        node.kill()
        drive.loop.loop.call_soon_threadsafe(drive.clients.node_lost, node.name)


def partition(drive: Drive, verb: verbs.Partition) -> None:
    for number, group in enumerate(verb.groups):
        for other in verb.groups[number + 1 :]:
            cut_links(drive, [(here, there) for here in group for there in other])


def cut(drive: Drive, verb: verbs.Cut) -> None:
    cut_links(drive, verb.links)


def cut_links(drive: Drive, links: Any) -> None:
    for here, there in links:
        drive.cluster.network.cut(drive.cluster.nodes[here].number, drive.cluster.nodes[there].number)


def heal(drive: Drive, _verb: verbs.Heal) -> None:
    for node in drive.cluster.nodes.values():
        drive.cluster.network.mend(node.number)


def alarm(drive: Drive, verb: verbs.Alarm | verbs.ClearAlarm) -> None:
    node = drive.first_running(verb.node)
    if node is not None:
        what = Atom("resource_limit"), Atom(verb.resource), Atom(node.erlang)
        if isinstance(verb, verbs.Alarm):
            drive.job(lambda: reason_of(drive.cluster.ask(node, "rabbit_alarm", "set_alarm", (what, []))))
        else:
            drive.job(lambda: reason_of(drive.cluster.ask(node, "rabbit_alarm", "clear_alarm", what)))


def maintenance(function: str) -> Callable[[Drive, Any], None]:
    def act(drive: Drive, verb: verbs.Drain | verbs.Revive) -> None:
        node = drive.first_running(verb.node)
        if node is not None:
            drive.job(lambda: reason_of(drive.cluster.ask(node, "rabbit_maintenance", function, timeout_s=SYNC_S)))

    return act


# --- replicas ---


def crash(drive: Drive, verb: verbs.Crash) -> None:
    asked = drive.first_running()
    if asked is None:
        return
    name = term(resource(verb.queue))
    home = "none" if verb.node is None else term(Atom(drive.cluster.erlang[verb.node]))
    expression = f"control:crash({term(Atom(asked.erlang))}, {name}, {home})"
    drive.job(lambda: "no running process" if drive.cluster.control.evaluate(expression) != "ok" else None)


def mirroring(function: str) -> Callable[[Drive, Any], None]:
    def act(drive: Drive, verb: verbs.SyncQueue | verbs.CancelSyncQueue) -> None:
        drive.tell("rabbit_mirror_queue_misc", function, resource(verb.queue), timeout_s=SYNC_S)

    return act


def transfer_leadership(drive: Drive, verb: verbs.TransferLeadership) -> None:
    node = drive.first_running()
    if node is not None:
        there = drive.cluster.erlang[verb.node]
        here, there, name = (term(value) for value in (Atom(node.erlang), Atom(there), resource(verb.queue)))
        expression = (
            f"case control:call({here}, rabbit_amqqueue, lookup, [{name}], 5000) of"
            f" {{ok, Q}} -> control:call({here}, rabbit_mirror_queue_misc, transfer_leadership, [Q, {there}], 60000);"
            f" Other -> Other end"
        )
        drive.job(lambda: reason_of(drive.cluster.control.evaluate(expression, 70)))


def rebalance(drive: Drive, _verb: verbs.Rebalance) -> None:
    drive.tell("rabbit_amqqueue", "rebalance", Atom("all"), ".*", ".*", timeout_s=SYNC_S)


def forget_cluster_node(drive: Drive, verb: verbs.ForgetClusterNode) -> None:
    origin = drive.cluster.nodes[verb.from_] if verb.from_ else drive.first_running()
    if origin is not None:
        drive.job(membership.forget, drive, drive.cluster.nodes[verb.node], origin, verb.offline)


VERBS: dict[type[Verb], Callable[[Drive, Any], None]] = {
    verbs.SetPolicy: set_policy,
    verbs.SetOperatorPolicy: set_operator_policy,
    verbs.ClearPolicy: clear_policy,
    verbs.ClearOperatorPolicy: clear_operator_policy,
    verbs.Declare: by_client("declare"),
    verbs.Delete: by_client("delete"),
    verbs.Purge: by_client("purge"),
    verbs.Bind: by_client("bind"),
    verbs.Publish: by_client("publish"),
    verbs.Consume: by_client("consume"),
    verbs.Get: by_client("get"),
    verbs.Ack: ack,
    verbs.Nack: nack,
    verbs.Cancel: cancel,
    verbs.Close: close,
    verbs.Stop: on_nodes(membership.stop),
    verbs.Kill: kill,
    verbs.PowerOff: power_off,
    verbs.Start: on_nodes(membership.start),
    verbs.Wipe: on_node(membership.wipe),
    verbs.ForceBoot: on_node(membership.force_boot),
    verbs.Join: on_node(membership.join),
    verbs.Reset: on_node(membership.reset),
    verbs.ForgetClusterNode: forget_cluster_node,
    verbs.Drain: maintenance("drain"),
    verbs.Revive: maintenance("revive"),
    verbs.Crash: crash,
    verbs.Partition: partition,
    verbs.Cut: cut,
    verbs.Heal: heal,
    verbs.Alarm: alarm,
    verbs.ClearAlarm: alarm,
    verbs.SyncQueue: mirroring("sync_queue"),
    verbs.CancelSyncQueue: mirroring("cancel_sync_queue"),
    verbs.TransferLeadership: transfer_leadership,
    verbs.Rebalance: rebalance,
}
"""The verbs that can be driven, beside `wait` and `expect`."""
