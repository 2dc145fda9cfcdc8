"""Drive a scenario on a real cluster, step by step; `actions` applies each verb.

A step begins, as in the contract, when the cluster has settled after the step before, or at its time after the first
one, in real seconds. Settled means here that nothing that can be queried changes any more (`Drive.settle`). Operations
of clients and nodes run in the background, so that steps of one moment happen before anything reacts to them, and a
late answer is still an error of its own step.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

from pika.exceptions import AMQPError

from hawb.broker.clients import Clients
from hawb.broker.cluster import BrokerCluster
from hawb.broker.connections import Loop, Refused
from hawb.broker.control import Atom, CallFailed, reason_of, reasons_of_rows, term
from hawb.broker.namespaces import address
from hawb.broker.node_logs import NodeLogs
from hawb.broker.nodes import BrokerNode
from hawb.engine.core.naming import join_queue
from hawb.rules.quorum import majority
from hawb.scenario import verbs
from hawb.scenario.document import Step
from hawb.scenario.fields import Verb

QUIET_S = 0.6
"""The time without changes after which the cluster counts as settled, in seconds."""
CALM_S = 0.25
"""The quiet time in a scenario that does nothing to nodes and links: reactions come at once there."""
SLOW_S = 1.5
"""The least quiet time on slow links, on which traffic shows only after a while."""
UNCONFIRMED_S = 2.0
"""The quiet time while publishers wait for confirms of classic queues: these come at once, or never."""
UNANSWERED_S = 6.0
"""The quiet time while publishers wait for confirms of a quorum queue.

Every 5 s its leader sends unanswered entries again (`quorum_tick_interval`).
"""
ROUNDS = 6
"""The maximum number of link latencies between two visible changes, as in a transaction of Mnesia."""
HANGING_S = 90
"""The quiet time while an operation has no answer: RabbitMQ tries for a minute before it refuses one."""
WORK_S = 120
"""The time limit for a queue's work, in seconds; after it the cluster counts as settled anyway."""
TAKEOVER_S = 20
"""Seconds that the drive waits, once, for mirrors without a master, or a majority without a leader.

One of them takes over within seconds, or none ever does, as among members of a queue that was declared again while one
of them was down.
"""
LOOK_S = 0.05
"""The least time between two looks at a cluster, in seconds."""
PAUSE = 2
"""The time until the next look, as a multiple of the duration of a look."""
LOOKS = 4
"""The least quiet time, as a multiple of the duration of a look: slow answers mean a slow machine."""
VIEW_S = 15
"""The time limit for a node to return its view, in seconds."""
BUILDING = "hawb-building"
"""The beginning of names that are used only while the start of a scenario is built."""
SILENT = "silent"
"""The state of a queue that does not answer (`control.erl`)."""
BROKEN = re.compile(r"(?<=,)\n\s+")
"""The line breaks that Erlang puts into a long term; their places depend on the length of nodes' names."""
ERLANG_NAME = re.compile(r"n\d+@10\.77\.0\.\d+")


Action = Callable[["Drive", Any], None]
"""The function that applies a verb to a real cluster."""


class Drive:
    """A booted cluster, its clients, and the steps refused so far.

    `actions` has the action of each verb (`hawb.broker.actions`), and `on_look` is called with each snapshot.
    """

    def __init__(self, cluster: BrokerCluster, actions: Mapping[type[Verb], Action], quiet_s: float = QUIET_S):
        self.cluster, self._actions, self._quiet_s = cluster, actions, quiet_s
        self.loop = Loop(cluster.network.hub)
        hosts = {name: address(node.number) for name, node in cluster.nodes.items()}
        self.clients = Clients(self.loop.loop, hosts)
        self.logs = NodeLogs(cluster.nodes.values(), cluster.names)
        self.errors: list[dict[str, Any]] = []
        self.drained: set[str] = set()
        self.alarms: set[tuple[str, str]] = set()
        # The nodes that are members by their own disk, even if other nodes differ.
        self.members = set(cluster.entry.nodes)
        self._pool, self._in_order = ThreadPoolExecutor(8), ThreadPoolExecutor(1)
        self._jobs: list[Future] = []
        self._operations: list[Future] = []
        self._step = 0
        self._beginning: float | None = None
        self._settled = False
        # Replicas that did not take over, as they were at that time.
        self._given_up: set[str] = set()
        self._untimed = False
        # The scenario's time that has passed at least, in seconds.
        self._over_s = 0.0
        self.on_look: Callable[[dict[str, Any]], None] | None = None

    def close(self) -> None:
        """End clients and threads; operations that still wait for an answer are dropped."""
        for pool in (self._pool, self._in_order):
            pool.shutdown(wait=False, cancel_futures=True)
        self.loop.close()

    # --- steps ---

    def begin(self, steps: Sequence[Step]) -> None:
        """Start the scenario's time with the next step.

        Links get the scenario's latency at the first step with a time: earlier steps only set things up, and would take
        many times that latency here.
        """
        self._beginning = None
        if all(step.at is None for step in steps):
            self._slow_down()

    def _slow_down(self) -> None:
        links = self.cluster.links
        if links and not links.slow:
            links.slow_down()
            self._quiet_s = max(SLOW_S, self._quiet_s + ROUNDS * self.cluster.entry.timing.link_latency_s)

    def apply(self, index: int, step: Step) -> None:
        """Begin a step; `expect` and `wait` only take their time."""
        self._await(step)
        self._step = index
        self.logs.begin(index)
        if isinstance(step.verb, verbs.Expect):
            return
        self._settled = False
        if isinstance(step.verb, verbs.Wait):
            time.sleep(step.verb.seconds)
            self._over_s += step.verb.seconds
        else:
            self._actions[type(step.verb)](self, step.verb)

    def _await(self, step: Step) -> None:
        if (step.at is None or self._beginning is None) and not self._settled:
            self.settle()
        if self._beginning is None:
            self._beginning = time.monotonic() - (step.at or 0)
        if step.at is not None:
            self._over_s = max(self._over_s, step.at)
            if self._untimed:
                # A step that took longer here than in the scenario delays all later ones.
                self._beginning = max(self._beginning, time.monotonic() - self._over_s)
            time.sleep(max(0.0, self._beginning + self._over_s - time.monotonic()))
            self._slow_down()
        self._untimed = step.at is None

    def settle(self) -> None:
        """Wait until nothing changes in nodes, in queues as each node knows them, and for clients.

        Raise CannotPlay if a node hangs.
        """
        began = time.monotonic()
        seen, since = None, began
        while True:
            for job in filter(Future.done, self._jobs):
                job.result()
            jobs = [job for job in self._jobs if not job.done()]
            operations = [operation for operation in self._operations if not operation.done()]
            asked = time.monotonic()
            views = self.snapshot()
            answered_in_s = time.monotonic() - asked
            seen_views = without_counts(views) if self.clients.steady else views
            carrying = self._carrying
            now = (len(jobs), len(operations), self.clients.traffic, carrying, seen_views)
            if now != seen:
                seen, since = now, time.monotonic()
            rows = [row for view in views.values() for row in view.get("queues", ())]
            quiet_s = max(self._quiet_s, HANGING_S if operations else self._patience_s(rows), LOOKS * answered_in_s)
            past_s = time.monotonic() - began
            # A request for a synchronisation that an alarm suspends gets no answer until the alarm is over.
            working = carrying or any(self._works(row, past_s) for row in rows)
            busy = (jobs and not self.held) or (past_s < WORK_S and working)
            if not busy and time.monotonic() - since > quiet_s:
                self._jobs, self._operations = jobs, operations
                self._given_up = {replicas(row) for row in rows if unserved(row)}
                self._settled = True
                return
            # Nodes that only answered looks would take longer to settle.
            time.sleep(max(LOOK_S, min(PAUSE * answered_in_s, quiet_s / 2)))

    def _patience_s(self, rows: Iterable[dict[str, Any]]) -> float:
        """Return how long publishers that wait for confirms may still get one, in seconds."""
        waiting = self.clients.unconfirmed.keys()
        classic = {join_queue(row["vhost"], row["name"]) for row in rows if "members" not in row}
        return UNANSWERED_S if waiting - classic else UNCONFIRMED_S if waiting else 0.0

    @property
    def _carrying(self) -> bool:
        """Return True if a slow link still carries traffic of nodes, and no steady client keeps it busy."""
        links = self.cluster.links
        return bool(links) and links.slow and links.busy and not self.clients.steady

    def _works(self, row: dict[str, Any], past_s: float = 0.0) -> bool:
        """Return True if a queue synchronises, or a replica is to take over.

        A queue that sends a batch does not answer; nor does one behind broken links, but that is no work, and neither
        is a synchronisation that an alarm suspends.
        """
        information, whole = row["information"], self.cluster.network.whole
        if information == SILENT or row.get("backlog"):
            return whole and not self.held
        if information is not None:
            return "syncing" in information.get("state", ()) and not self.held
        hopeful = past_s <= TAKEOVER_S and replicas(row) not in self._given_up
        return whole and row["live"] and unserved(row) and hopeful

    @property
    def held(self) -> bool:
        """Return True if a memory alarm suspends every synchronisation."""
        return any(resource == "memory" and self.cluster.nodes[node].alive for node, resource in self.alarms)

    def finish(self) -> None:
        """Wait until every operation of clients and nodes has its answer."""
        wait([*self._jobs, *self._operations])

    def snapshot(self) -> dict[str, Any]:
        """Return the view of each running node: the nodes that it sees, and the queues."""
        views = {name: {"state": self.cluster.state(node)} for name, node in self.cluster.nodes.items()}
        unplugged = self.cluster.network.unplugged
        asked = [self.cluster.erlang[name] for name, view in views.items() if view["state"] == "running"]
        unpowered = [node.erlang for node in self.cluster.nodes.values() if node.number in unplugged]
        nodes, others = (term([Atom(one) for one in names]) for names in (asked, unpowered))
        try:
            reports = self.cluster.control.evaluate(f"control:views({nodes}, {others})", VIEW_S * max(1, len(asked)))
        except CallFailed as failed:
            reports = {erlang: {"failed": str(failed)} for erlang in asked}
        for erlang, view in reports.items():
            views[self.cluster.names[erlang]] |= view | ({"nodes": sorted(view["nodes"])} if "nodes" in view else {})
        if self.on_look:
            self.on_look(views)
        return views

    # --- parts of verbs ---

    def refuse(self, code: int | None, text: str, step: int | None = None) -> None:
        """Record that a step was refused."""
        text = BROKEN.sub("", text)
        text = ERLANG_NAME.sub(lambda found: self.cluster.names.get(found[0], found[0]), text)
        self.errors.append({"step": self._step if step is None else step, "code": code, "text": text})

    def first_running(self, name: str | None = None) -> BrokerNode | None:
        """Return the node of that name, or the first running member.

        If it does not run, refuse the step and return None.
        """
        if name is None:
            found = next((node for node in self.cluster.running() if node.name in self.members), None)
            if found is None:
                self.refuse(None, "no node is running")
            return found
        node = self.cluster.nodes[name]
        if not self.cluster.is_running(node):
            self.refuse(None, f"node '{name}' is not running")
            return None
        return node

    def client(self, node: str | None, operation: Callable[[str], Coroutine]) -> None:
        """Start an operation of a client at a node, or at the first one that accepts clients."""
        if node is None and self.drained:
            running = [other.name for other in self.cluster.running()]
            node = next((name for name in running if name in self.members - self.drained), None)
        found = self.first_running(node)
        if found is not None:
            self.operate(operation(found.name))

    def operate(self, operation: Coroutine) -> None:
        """Start an operation of a client; a refusal counts for the current step."""
        step = self._step

        async def guarded() -> None:
            try:
                await operation
            except Refused as refused:
                self.refuse(refused.code, refused.text, step)
            except AMQPError as error:
                # The client library itself refuses, such as for a closed channel.
                self.refuse(None, str(error) or type(error).__name__, step)

        self._settled = False
        self._operations.append(self.loop.run(guarded()))

    def job(self, work: Callable[..., Any], *arguments: Any, in_order: bool = False) -> None:
        """Start work with nodes in the background; it returns the reason or reasons of a refusal, or None.

        Jobs that are `in_order` wait for each other, as a person's commands do.
        """
        step = self._step

        def guarded() -> None:
            try:
                found = work(*arguments)
            except CallFailed as failed:
                found = str(failed)
            for reason in found if isinstance(found, list) else [found] * (found is not None):
                self.refuse(None, reason, step)

        self._settled = False
        self._jobs.append((self._in_order if in_order else self._pool).submit(guarded))

    def rabbitmqctl(
        self, module: str, function: str, *arguments: Any, timeout_s: float = 60, in_order: bool = False
    ) -> None:
        """Call a function of the first running node, as `rabbitmqctl` does.

        A node that dies before it answers refuses nothing.
        """
        node = self.first_running()
        if node is None:
            return

        def asked() -> str | None:
            try:
                return reason_of(self.cluster.ask(node, module, function, *arguments, timeout_s=timeout_s))
            except CallFailed:
                if node.alive:
                    raise
                return None

        self.job(asked, in_order=in_order)

    def rabbitmq_queues(self, module: str, function: str, *arguments: Any, timeout_s: float) -> None:
        """Call a function for many queues on the first running node, as `rabbitmq-queues` does."""
        node = self.first_running()
        if node is not None:
            self.job(lambda: reasons_of_rows(self.cluster.ask(node, module, function, *arguments, timeout_s=timeout_s)))


def unserved(row: dict[str, Any]) -> bool:
    """Return True if a queue has mirrors, or a majority of its members, and no process answers for it."""
    if row["information"] is not None:
        return False
    if "members" in row:
        return len(row["online"]) >= majority(len(row["members"]))
    return isinstance(row.get("mirrors"), list) and bool(row["mirrors"])


def replicas(row: dict[str, Any]) -> str:
    """Return a text that identifies a queue's replicas, in the broker's own form."""
    return repr([row.get(key) for key in ("vhost", "name", "process", "mirrors", "online")])


def without_counts(views: dict[str, Any]) -> dict[str, Any]:
    """Return the nodes' views without counts of messages and of waiting operations.

    Steady clients change these counts.
    """
    return {
        name: view | {"queues": [row | {"information": state_of(row), "backlog": 0} for row in view.get("queues", ())]}
        for name, view in views.items()
    }


def state_of(row: dict[str, Any]) -> Any:
    """Return a queue's state alone."""
    return row["information"].get("state") if isinstance(row["information"], dict) else row["information"]
