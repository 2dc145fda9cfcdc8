"""Continue a moment: the one way from a state to the next.

A `Turn` opens a moment, the rules change it in place while events happen, and `finish` closes it as a new moment. The
old moment stays as it was.

Events are ordered by (time_us, priority, number). At the same microsecond a step or a fault comes before the reactions
to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from functools import cached_property
from operator import attrgetter
from typing import TypeVar

from msgspec.structs import replace

from hawb.engine.clients.client_state import Consumer, Consumers, Publisher, consumers_of
from hawb.engine.core import agenda, runs
from hawb.engine.core.agenda import EVENT, REACTION, SIDE, TIMER
from hawb.engine.core.ledger import Account, Loss
from hawb.engine.core.moment import Ballot, Moment, Refusal
from hawb.engine.core.mutable_side import MutableSide
from hawb.engine.core.runs import EMPTY, Runs
from hawb.engine.core.settings import Settings, Setup, setup_of
from hawb.engine.core.state import NOWHERE, RUNNING, Node, Queue, Side, State
from hawb.engine.core.trace import OF_NO_STEP, Entry, TraceWriter
from hawb.engine.core.versions import closed, opened
from hawb.engine.raft_groups.group import Proposal, groups_of
from hawb.rules.policies import Policy

Record = TypeVar("Record")
OF_A_SIDE = frozenset(
    ("absent", "master", "up", "policy", "operator_policy", "mirroring", "pending_settings", "limits", "ttl_timer_us")
)
"""Fields of a quorum queue whose value each side of a partition has for itself."""

__all__ = ["OF_A_SIDE", "REACTION", "TIMER", "Turn", "place_of"]


def write(record: Record, fields: dict[str, object]) -> Record:
    """Write fields of a record, and return the record."""
    for field, value in fields.items():
        setattr(record, field, value)
    return record


def place_of(event: object) -> int | None:
    """Return the node at which an event happens, even if the node changes sides; None for an event of a queue."""
    return getattr(event, "node", None)


def of_focus(name: str, doc: str) -> property:
    """Return a property of the turn that reads and writes a field of the current side."""

    def write_to(turn: Turn, value: object) -> None:
        setattr(turn.focus, name, value)

    return property(attrgetter(f"focus.{name}"), write_to, doc=doc)


class TooMuch(Exception):  # noqa: N818 - it reads as what happened
    """More events are scheduled than may be: `count` instead of at most `most`."""

    def __init__(self, count: int, most: int):
        super().__init__(f"{count} events, of which at most {most} may be")
        self.count, self.most = count, most


class Turn:
    """A moment that is being continued: rules change it, `finish` returns the next moment.

    `focus` is the current side of the partition: the one whose queues and policies the turn reads and writes. `because`
    is the number of the trace entry that causes what happens now. Without `traced` no trace is written. `most_events`
    is how many events the cluster may have scheduled since its beginning; None for any number.
    """

    def __init__(self, settings: Settings, moment: Moment, step: int, *, traced: bool = True):
        self.settings = settings
        self.before = moment
        state = moment.state
        self.now_us = state.time_us
        self.step = step
        self.because: int | None = None
        self.nodes: list[Node] = list(map(copy, state.nodes))
        self.sides = {side.number: MutableSide(side) for side in state.sides}
        self.focus = self.sides[state.sides[0].number]
        self.cuts = dict(state.cuts)
        self.suspected = state.suspected
        self.under_way = state.under_way
        self.waiting_changes = state.waiting_changes
        self.connections = state.connections
        self.alarms = state.alarms
        self.unread = state.unread
        self.consumers: dict[str, Consumer] = opened(state.consumers, large=Consumers)
        self.publishers: dict[str, Publisher] = {name: copy(one) for name, one in state.publishers.items()}
        self.flowing = False
        self.unconfirmed = state.unconfirmed
        self.groups = groups_of(state.groups)
        self.awaiting_registration = state.awaiting_registration
        self.committed: list[tuple[str, int, Proposal, int | None]] = []
        self.numbers: dict[str, int] = opened(state.numbers)
        self.agenda = agenda.opened(state.agenda)
        self.counter = state.counter
        self.most_events: int | None = None
        self.ledger: dict[str, Account] = opened(moment.ledger)
        self.losses: list[Loss] = list(moment.losses)
        self.refusals: list[Refusal] = []
        self.ballots: list[Ballot] = []
        self._trace = TraceWriter(moment.entries_so_far) if traced else None

    @cached_property
    def setup(self) -> Setup:
        """Return the settings as whole numbers."""
        return setup_of(self.settings)

    def finish(self) -> Moment:
        """Return the moment that this turn has reached."""
        self.write_flows()
        before = self.before.state
        state = State(
            time_us=self.now_us,
            nodes=self._frozen_nodes(),
            sides=self._frozen_sides(),
            cuts=tuple(self.cuts.items()),
            suspected=self.suspected,
            under_way=self.under_way,
            waiting_changes=self.waiting_changes,
            connections=self.connections,
            alarms=self.alarms,
            unread=self.unread,
            consumers=closed(self.consumers, before.consumers),
            publishers=self._frozen_publishers(),
            unconfirmed=self.unconfirmed,
            groups=closed(self.groups, before.groups, self.groups.copied),
            awaiting_registration=self.awaiting_registration,
            agenda=self.agenda.closed(before.agenda),
            numbers=closed(self.numbers, before.numbers),
            counter=self.counter,
        )
        return Moment(
            state=state,
            ledger=closed(self.ledger, self.before.ledger),
            losses=tuple(self.losses) if self.losses != list(self.before.losses) else self.before.losses,
            refused=tuple(self.refusals),
            entries=tuple(self.entries),
            entries_before=self.before.entries_so_far,
            before=self.before,
            ballots=tuple(self.ballots),
        )

    @property
    def entries(self) -> list[Entry]:
        """Return the trace entries written since the moment that is continued."""
        return self._trace.entries if self._trace else []

    def _frozen_nodes(self) -> tuple[Node, ...]:
        """Return the nodes as values. An unchanged node is the very value of the moment before."""
        known = zip(self.before.state.nodes, self.nodes, strict=True)
        return tuple(before if before == node else copy(node) for before, node in known)

    def _frozen_publishers(self) -> dict[str, Publisher]:
        """Return the publishers as values. An unchanged one is the very value of the moment before."""
        known = self.before.state.publishers
        return {name: known[name] if known.get(name) == one else copy(one) for name, one in self.publishers.items()}

    def _frozen_sides(self) -> tuple[Side, ...]:
        shown = self._shown_side()
        return tuple(self.sides[number].frozen() for number in sorted(self.sides, key=lambda one: (one != shown, one)))

    def _shown_side(self) -> int:
        """Return the number of the first running node's side. A client that names no node acts on it."""
        first = self.first_running()
        shown = self.before.state.sides[0].number if first == NOWHERE else self.nodes[first].side
        return shown if shown in self.sides else min(self.sides)

    # Whose records are read and written

    queues: dict[str, Queue] = of_focus("queues", "The queues as the side in focus knows them.")
    policies: tuple[Policy, ...] = of_focus("policies", "The policies that the side in focus knows.")
    operator_policies: tuple[Policy, ...] = of_focus("operator_policies", "The operator policies that it knows.")
    exchanges: frozenset[str] = of_focus("exchanges", "The declared exchanges that it knows.")

    def look_from(self, node: int) -> None:
        """Make the side of `node` the current side."""
        self.focus = self.sides[self.nodes[node].side]

    def look_from_outside(self) -> None:
        """Make the side current on which a client acts that names no node."""
        self.focus = self.sides[self._shown_side()]

    def each_side(self) -> Iterator[int]:
        """Make each side current in turn and yield its number; at the end restore the side that was current.

        Sides may come and go meanwhile.
        """
        focus = self.focus.number
        for number in list(self.sides):
            if number in self.sides:
                self.focus = self.sides[number]
                yield number
        self.focus = self.sides.get(focus, self.focus)

    def is_here(self, node: int) -> bool:
        """Return True if `node` belongs to the current side."""
        return self.nodes[node].side == self.focus.number

    # What is to happen

    def schedule(
        self,
        delay_us: int,
        event: object,
        because: int | None = None,
        priority: int = REACTION,
        step: int | None = None,
    ) -> int:
        """Put `event` on the agenda `delay_us` from now, and return its number.

        The trace entry `because` and the `step` that cause it are by default the present ones.
        """
        number = self.next_number()
        cause = self.because if because is None else because
        behind = self.step if step is None else step
        self.agenda.add((self.now_us + delay_us, priority, number, cause, behind, self.focus.number, event))
        return number

    def unschedule(self, event: object) -> bool:
        """Take an event off the agenda, and return False if it was not there.

        An event of a queue is taken off for the current side alone.
        """
        here = self.focus.number if place_of(event) is None else None
        found = [entry for entry in self.agenda.of_event(event) if here in (None, entry[SIDE])]
        for entry in found:
            self.agenda.remove(entry)
        return bool(found)

    def cause_of(self, event: object) -> int | None:
        """Return the number of the trace entry that caused a scheduled event; None if it is not scheduled."""
        return next((entry[3] for entry in self.agenda.of_event(event)), None)

    def is_planned(self, event: object) -> bool:
        """Return True if an event is scheduled."""
        return bool(self.agenda.of_event(event))

    def planned(self, queue: str, kind: type) -> list[tuple]:
        """Return a queue's scheduled events of one type, each as (time in microseconds, event)."""
        return [(entry[0], entry[EVENT]) for entry in self.agenda.of_queue(queue) if isinstance(entry[EVENT], kind)]

    def next_number(self) -> int:
        """Return a number never used before in this cluster: for events, synchronisations and random draws."""
        self.counter += 1
        return self.counter

    def next_time_us(self) -> int | None:
        """Return the time of the next scheduled event; None if nothing is scheduled."""
        return self.agenda.next_time_us

    def stand(self, time_us: int) -> None:
        """Advance time to `time_us`, unless that is past, and write the trace of the flows until then."""
        self.write_flows()
        self.now_us = max(self.now_us, time_us)

    def settled(self) -> bool:
        """Return True if nothing but timers is scheduled."""
        return self.agenda.settled

    def take(self) -> object | None:
        """Take the next event off the agenda, advance time to it and make its side current.

        The side of an event is its node's, or for an event without a node the side that scheduled it. Return None for
        an event of a queue whose side is gone. Events about links or the whole cluster happen nevertheless. Raise
        TooMuch if more events have been scheduled than may be.
        """
        if self.most_events is not None and self.counter > self.most_events:
            raise TooMuch(self.counter, self.most_events)
        due_us, _, _, self.because, self.step, side, event = self.agenda.take()
        self.now_us = max(self.now_us, due_us)
        node = place_of(event)
        side = side if node is None else self.nodes[node].side
        if side not in self.sides and getattr(event, "queue", None) is not None and not hasattr(event, "of_all_sides"):
            return None
        self.focus = self.sides.get(side) or next(iter(self.sides.values()))
        return event

    def share_plans(self, side: int, other: int) -> None:
        """Schedule the events of a side's queues for `other` too, which has just split off that side."""
        for due_us, priority, _, cause, step, planned_on, event in sorted(self.agenda):
            if planned_on == side and place_of(event) is None:
                self.agenda.add((due_us, priority, self.next_number(), cause, step, other, event))

    # The present state

    def running(self) -> list[int]:
        """Return the running nodes of the current side, in alphabetical order."""
        return [index for index in range(len(self.nodes)) if self.is_running(index)]

    def is_running(self, node: int) -> bool:
        """Return True if `node` runs and belongs to the current side."""
        value = self.nodes[node]
        return value.status == RUNNING and value.side == self.focus.number

    def runs_anywhere(self, node: int) -> bool:
        """Return True if `node` runs, on any side."""
        return self.nodes[node].status == RUNNING

    def first_running(self) -> int:
        """Return the running node that comes first in the scenario's list; NOWHERE if no node runs."""
        return next((node for node in self.settings.file_order if self.runs_anywhere(node)), NOWHERE)

    def linked(self, a: int, b: int) -> bool:
        """Return True if the link between two nodes is not cut."""
        return not self.cuts or (min(a, b), max(a, b)) not in self.cuts

    def queue_names(self) -> Iterator[str]:
        """Yield the names of all queues in alphabetical order. Queues may be deleted meanwhile."""
        return (name for name in sorted(self.queues) if name in self.queues)

    def consumers_of(self, queue: str) -> list[Consumer]:
        """Return the queue's consumers and clients that hold messages, on the current side."""
        return [one for one in consumers_of(self.consumers, queue) if self.is_here(one.node)]

    def alive(self, queue: Queue, node: int) -> bool:
        """Return True if the process of the queue's replica at `node` runs."""
        if node == queue.master:
            return queue.up
        return node in queue.mirrors and self.is_running(node) and not queue.crashed >> node & 1

    def follows(self, queue: Queue, node: int) -> bool:
        """Return True if the replica at `node` runs and the master's messages reach it.

        For a quorum queue: if the member at `node` knows everything committed, or its content stands for the queue's.
        """
        if queue.has_group:
            return node in queue.synchronised or node == queue.holder
        return self.alive(queue, node) and self.linked(queue.master, node)

    def held_elsewhere(self, name: str) -> Runs:
        """Return the messages that the other sides hold in a queue of that name."""
        contents = [side.queues[name].content for side in self.sides.values()
                    if side is not self.focus and name in side.queues and not side.queues[name].has_group]  # fmt: skip
        return runs.normal(pair for content in contents for pair in content) if contents else EMPTY

    def held_here(self, name: str) -> Runs:
        """Return the messages that the current side holds in a queue of that name."""
        return self.queues[name].content if name in self.queues else EMPTY

    def link_us(self, a: int, b: int) -> int:
        """Return how long a message takes from one node to another; 0 within a node."""
        return 0 if a == b else self.settings.timing.link_latency_us

    # What changes

    def add_queue(self, queue: Queue) -> None:
        """Add a new queue."""
        self.queues[queue.name] = queue
        self.ledger.setdefault(queue.name, Account())

    def own(self, name: str) -> Queue:
        """Return a queue of the current side, to be written to."""
        return self.focus.own(name)

    def owns(self, name: str) -> bool:
        """Return True if the current side's record of a queue is the turn's own, which it may still write to."""
        return self.focus.owns(name)

    def change_queue(self, name: str, **fields) -> Queue:
        """Write fields of a queue, and return it.

        All sides share a quorum queue, apart from the fields `OF_A_SIDE`. When mirrors change, the record on disk is
        written again, and `mirrors_on_disk` is cleared.
        """
        queue = self.focus.own(name)
        mirrors = queue.mirrors, queue.synchronised
        write(queue, fields)
        if queue.mirrors_on_disk and mirrors != (queue.mirrors, queue.synchronised):
            queue.mirrors_on_disk = ()
        if queue.has_group and len(self.sides) > 1:
            shared = {field: value for field, value in fields.items() if field not in OF_A_SIDE}
            for side in self.sides.values():
                if side is not self.focus and name in side.queues:
                    write(side.own(name), shared)
        return queue

    def change_consumer(self, name: str, **fields) -> Consumer:
        """Write fields of a consumer, and return it."""
        consumer = self.consumers[name] = replace(self.consumers[name], **fields)
        return consumer

    def change_publisher(self, name: str, **fields) -> Publisher:
        """Write fields of a publisher, and return it."""
        return write(self.publishers[name], fields)

    def change_node(self, node: int, **fields) -> Node:
        """Write fields of a node, and return it."""
        return write(self.nodes[node], fields)

    def account(self, queue: str) -> Account:
        """Return the queue's account in the ledger."""
        return self.ledger.get(queue, Account())

    def book(self, queue: str, **fields) -> None:
        """Write fields of the queue's account in the ledger."""
        self.ledger[queue] = replace(self.account(queue), **fields)

    # The trace

    def emit(
        self, event: str, node: int = NOWHERE, queue: str | None = None, because: int | None = None, **detail
    ) -> int | None:
        """Write a trace entry and return its number; None if no trace is written.

        While flows of clients with a rate are computed, entries about messages are merged, and `write_flows` writes
        them. An entry about a loss is written at once, because the ledger refers to it.
        """
        if self._trace is None:
            return None
        if self.flowing and "ids" in detail and event != "messages_lost":
            self._trace.flow(event, node, queue, detail)
            return self.because
        step = OF_NO_STEP if self.flowing else self.step
        cause = self.because if because is None else because
        return self._trace.write(self.now_us, step, event, node, queue, detail, cause)

    @property
    def traced(self) -> bool:
        """Return True if a trace is written."""
        return self._trace is not None

    def write_flows(self) -> None:
        """Write the merged trace entries about flows until now."""
        if self._trace is not None:
            self._trace.end_flows(self.now_us)

    def refuse(self, code: int | None, text: str, step: int | None = None) -> None:
        """Record that RabbitMQ refused the present step, or the step given."""
        self.emit("step_refused", code=code, text=text)
        self.refusals.append(Refusal(self.step if step is None else step, code, text))
