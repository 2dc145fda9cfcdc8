"""A turn: the one way from a state to the next.

A `Turn` starts from a moment, is changed in place by the rules while events happen, and ends as a new moment; the old
one stays as it was.

Events are ordered by (time_us, priority, number). The act of a person or a fault comes before reactions to it at the
same microsecond.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from functools import cached_property
from operator import attrgetter
from typing import TypeVar

from msgspec.structs import replace

from hawb.engine.clients.client_state import Consumer, Publisher
from hawb.engine.core import agenda, runs
from hawb.engine.core.agenda import EVENT, REACTION, SIDE, TIMER
from hawb.engine.core.ledger import Account, Loss
from hawb.engine.core.moment import Moment, Refusal
from hawb.engine.core.open_side import OpenSide
from hawb.engine.core.runs import EMPTY, Runs
from hawb.engine.core.settings import Settings, Setup, setup_of
from hawb.engine.core.state import NOWHERE, RUNNING, Node, Queue, Side, State
from hawb.engine.core.trace import Entry
from hawb.engine.core.trace_writer import OF_NO_STEP, TraceWriter
from hawb.engine.core.versions import closed, opened
from hawb.engine.raft_groups.group import Proposal, groups_of
from hawb.rules.policies import Policy

Record = TypeVar("Record")
OF_A_SIDE = frozenset(
    ("absent", "master", "up", "policy", "operator_policy", "mirroring", "untold_settings", "limits", "ttl_timer_us")
)
"""The fields of a quorum queue that sides of a partition know differently."""

__all__ = ["OF_A_SIDE", "REACTION", "TIMER", "Turn", "place_of"]


def write(record: Record, fields: dict[str, object]) -> Record:
    """Writes fields of a record."""
    for field, value in fields.items():
        setattr(record, field, value)
    return record


def place_of(event: object) -> int | None:
    """The node at which an event happens, whatever side it is on by then; None for an event of a queue as such."""
    return getattr(event, "node", None)


def of_focus(name: str, told: str) -> property:
    """A property of the turn for the field of that name of the side in focus, to be read and written."""

    def write_to(turn: Turn, value: object) -> None:
        setattr(turn.focus, name, value)

    return property(attrgetter(f"focus.{name}"), write_to, doc=told)


class Turn:
    """A moment being continued: handlers write it, `finish` gives the next one. Only one that is `told` has a trace."""

    def __init__(self, settings: Settings, moment: Moment, step: int, *, told: bool = True):
        self.settings = settings
        self.before = moment
        state = moment.state
        self.now_us = state.time_us
        self.step = step
        self.because: int | None = None
        self.nodes: list[Node] = list(map(copy, state.nodes))
        self.sides = {side.number: OpenSide(side) for side in state.sides}
        self.focus = self.sides[state.sides[0].number]
        self.cuts = dict(state.cuts)
        self.suspected = state.suspected
        self.under_way = state.under_way
        self.stalled = state.stalled
        self.connections = state.connections
        self.alarms = state.alarms
        self.unread = state.unread
        self.consumers: dict[str, Consumer] = opened(state.consumers)
        self.publishers: dict[str, Publisher] = {name: copy(one) for name, one in state.publishers.items()}
        self.flowing = False
        self.unconfirmed = state.unconfirmed
        self.groups = groups_of(state.groups)
        self.held_back = state.held_back
        self.committed: list[tuple[str, int, Proposal, int | None]] = []
        self.numbers: dict[str, int] = opened(state.numbers)
        self.agenda = agenda.opened(state.agenda)
        self.counter = state.counter
        self.ledger: dict[str, Account] = opened(moment.ledger)
        self.losses: list[Loss] = list(moment.losses)
        self.refusals: list[Refusal] = []
        self._trace = TraceWriter(moment.entries_so_far) if told else None

    @cached_property
    def setup(self) -> Setup:
        """The settings as whole numbers."""
        return setup_of(self.settings)

    def finish(self) -> Moment:
        """The moment that this turn has reached."""
        self.tell_flows()
        before = self.before.state
        state = State(
            time_us=self.now_us,
            nodes=self._frozen_nodes(),
            sides=self._frozen_sides(),
            cuts=tuple(self.cuts.items()),
            suspected=self.suspected,
            under_way=self.under_way,
            stalled=self.stalled,
            connections=self.connections,
            alarms=self.alarms,
            unread=self.unread,
            consumers=closed(self.consumers, before.consumers),
            publishers=self._frozen_publishers(),
            unconfirmed=self.unconfirmed,
            groups=closed(self.groups, before.groups, self.groups.copied),
            held_back=self.held_back,
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
        )

    @property
    def entries(self) -> list[Entry]:
        """The entries of the trace since the moment that is continued."""
        return self._trace.entries if self._trace else []

    def _frozen_nodes(self) -> tuple[Node, ...]:
        """The nodes as values; unchanged nodes are the very values of the moment before."""
        known = zip(self.before.state.nodes, self.nodes, strict=True)
        return tuple(before if before == node else copy(node) for before, node in known)

    def _frozen_publishers(self) -> dict[str, Publisher]:
        """The publishers as values; unchanged publishers are the very values of the moment before."""
        known = self.before.state.publishers
        return {name: known[name] if known.get(name) == one else copy(one) for name, one in self.publishers.items()}

    def _frozen_sides(self) -> tuple[Side, ...]:
        shown = self._shown_side()
        return tuple(self.sides[number].frozen() for number in sorted(self.sides, key=lambda one: (one != shown, one)))

    def _shown_side(self) -> int:
        """The number of the side that is shown first, and on which a client acts that names no node: the first running
        node's."""
        first = self.first_running()
        shown = self.before.state.sides[0].number if first == NOWHERE else self.nodes[first].side
        return shown if shown in self.sides else min(self.sides)

    # Whose records are read and written

    queues: dict[str, Queue] = of_focus("queues", "The queues as the side in focus knows them.")
    policies: tuple[Policy, ...] = of_focus("policies", "The policies that the side in focus knows.")
    operator_policies: tuple[Policy, ...] = of_focus("operator_policies", "The operator policies that it knows.")
    exchanges: frozenset[str] = of_focus("exchanges", "The declared exchanges that it knows.")

    def look_from(self, node: int) -> None:
        """Puts the side of `node` in focus: from now on its records are read and written."""
        self.focus = self.sides[self.nodes[node].side]

    def look_from_outside(self) -> None:
        """Puts the side in focus on which a client acts that names no node."""
        self.focus = self.sides[self._shown_side()]

    def each_side(self) -> Iterator[int]:
        """Puts one side after the other in focus, safe against sides that come and go meanwhile, and at the end the
        former one if it is still there."""
        focus = self.focus.number
        for number in list(self.sides):
            if number in self.sides:
                self.focus = self.sides[number]
                yield number
        self.focus = self.sides.get(focus, self.focus)

    def is_here(self, node: int) -> bool:
        """Whether `node` belongs to the side in focus."""
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
        """Puts `event` on the agenda `delay_us` from now, for the trace entry and the step behind it (by default those
        at hand); returns its number."""
        number = self.next_number()
        cause = self.because if because is None else because
        behind = self.step if step is None else step
        self.agenda.add((self.now_us + delay_us, priority, number, cause, behind, self.focus.number, event))
        return number

    def unschedule(self, event: object) -> bool:
        """Take an event of a node, or of a queue of the side in focus, off the agenda; False if there is none."""
        here = self.focus.number if place_of(event) is None else None
        found = [entry for entry in self.agenda.of_event(event) if here in (None, entry[SIDE])]
        for entry in found:
            self.agenda.remove(entry)
        return bool(found)

    def cause_of(self, event: object) -> int | None:
        """The trace entry behind an event on the agenda; None if it does not stand there."""
        return next((entry[3] for entry in self.agenda.of_event(event)), None)

    def is_planned(self, event: object) -> bool:
        """Whether an event stands on the agenda."""
        return bool(self.agenda.of_event(event))

    def planned(self, queue: str, kind: type) -> list[tuple]:
        """The planned events of one kind about a queue, each as (when it is due in microseconds, event)."""
        return [(entry[0], entry[EVENT]) for entry in self.agenda.of_queue(queue) if isinstance(entry[EVENT], kind)]

    def next_number(self) -> int:
        """A number never given before in this cluster's life: for events, synchronisations and draws."""
        self.counter += 1
        return self.counter

    def next_time_us(self) -> int | None:
        """When the next event is due; None when nothing will happen."""
        return self.agenda.next_time_us

    def stand(self, time_us: int) -> None:
        """Stops time at `time_us`, if that is not past, and writes entries about what flowed until then."""
        self.tell_flows()
        self.now_us = max(self.now_us, time_us)

    def settled(self) -> bool:
        """Whether only timers are left."""
        return self.agenda.settled

    def take(self) -> object | None:
        """Takes the next event off the agenda, moves time to it and puts its side in focus: that of its node, or for an
        event without a node the side on which it was planned. None for an event of a queue whose side is gone; events
        about links or the whole cluster happen nevertheless."""
        due_us, _, _, self.because, self.step, side, event = self.agenda.take()
        self.now_us = max(self.now_us, due_us)
        node = place_of(event)
        side = side if node is None else self.nodes[node].side
        if side not in self.sides and getattr(event, "queue", None) is not None and not hasattr(event, "of_all_sides"):
            return None
        self.focus = self.sides.get(side) or next(iter(self.sides.values()))
        return event

    def share_plans(self, side: int, other: int) -> None:
        """Plans the events of a side's queues on another side too, which has just split off it."""
        for due_us, priority, _, cause, step, planned_on, event in list(self.agenda):
            if planned_on == side and place_of(event) is None:
                self.agenda.add((due_us, priority, self.next_number(), cause, step, other, event))

    # The present state

    def running(self) -> list[int]:
        """Running nodes of the side in focus, in alphabetical order."""
        return [index for index in range(len(self.nodes)) if self.is_running(index)]

    def is_running(self, node: int) -> bool:
        """Whether `node` runs, on the side in focus."""
        value = self.nodes[node]
        return value.status == RUNNING and value.side == self.focus.number

    def runs_anywhere(self, node: int) -> bool:
        """Whether `node` runs, on whatever side."""
        return self.nodes[node].status == RUNNING

    def first_running(self) -> int:
        """The first running node of all in the order of the scenario's list; NOWHERE if none runs."""
        return next((node for node in self.settings.file_order if self.runs_anywhere(node)), NOWHERE)

    def linked(self, a: int, b: int) -> bool:
        """Whether messages of one of two nodes reach the other."""
        return not self.cuts or (min(a, b), max(a, b)) not in self.cuts

    def queue_names(self) -> Iterator[str]:
        """All queues in alphabetical order, safe against queues that go meanwhile."""
        return (name for name in sorted(self.queues) if name in self.queues)

    def consumers_of(self, queue: str) -> list[Consumer]:
        """The consumers and holders of a queue on the side in focus, whether they are subscribed or not."""
        return [one for one in self.consumers.values() if one.queue == queue and self.is_here(one.node)]

    def alive(self, queue: Queue, node: int) -> bool:
        """Whether the queue's replica at `node` is a running process."""
        if node == queue.master:
            return queue.up
        return node in queue.mirrors and self.is_running(node) and not queue.crashed >> node & 1

    def follows(self, queue: Queue, node: int) -> bool:
        """Whether the queue's replica at `node` is a running process that the master's messages reach; for a quorum
        queue, whether the member there knows all that is committed, or its content stands for the queue's."""
        if queue.has_group:
            return node in queue.synchronised or node == queue.holder
        return self.alive(queue, node) and self.linked(queue.master, node)

    def held_elsewhere(self, name: str) -> Runs:
        """The messages that other sides than the one in focus have in a queue of that name."""
        contents = [side.queues[name].content for side in self.sides.values()
                    if side is not self.focus and name in side.queues and not side.queues[name].has_group]  # fmt: skip
        return runs.normal(pair for content in contents for pair in content) if contents else EMPTY

    def held_here(self, name: str) -> Runs:
        """The messages of a queue of that name on the side in focus."""
        return self.queues[name].content if name in self.queues else EMPTY

    def link_us(self, a: int, b: int) -> int:
        """How long a message takes from one node to another; nothing within a node."""
        return 0 if a == b else self.settings.timing.link_latency_us

    # What changes

    def add_queue(self, queue: Queue) -> None:
        """Adds a new queue, under its name."""
        self.queues[queue.name] = queue
        self.ledger.setdefault(queue.name, Account())

    def own(self, name: str) -> Queue:
        """A queue of the side in focus, to be written to."""
        return self.focus.own(name)

    def change_queue(self, name: str, **fields) -> Queue:
        """The queue with other fields. A quorum queue is one on all sides, but for the leader and the policies that a
        side knows. When mirrors change, the record on disk is written, which names none."""
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
        """The consumer with other fields."""
        consumer = self.consumers[name] = replace(self.consumers[name], **fields)
        return consumer

    def change_publisher(self, name: str, **fields) -> Publisher:
        """The publisher with other fields."""
        return write(self.publishers[name], fields)

    def change_node(self, node: int, **fields) -> Node:
        """The node with other fields."""
        return write(self.nodes[node], fields)

    def account(self, queue: str) -> Account:
        """The queue's entry in the ledger."""
        return self.ledger.get(queue, Account())

    def book(self, queue: str, **fields) -> None:
        """Writes fields of the queue's entry in the ledger."""
        self.ledger[queue] = replace(self.account(queue), **fields)

    # The trace

    def emit(
        self, event: str, node: int = NOWHERE, queue: str | None = None, because: int | None = None, **detail
    ) -> int | None:
        """Writes an entry of the trace and returns its number, None where no trace is written. While clients' flows are
        taken in, entries about messages are put together and written by `tell_flows`; but for a loss, whose entry the
        ledger points to."""
        if self._trace is None:
            return None
        if self.flowing and "ids" in detail and event != "messages_lost":
            self._trace.flow(event, node, queue, detail)
            return self.because
        step = OF_NO_STEP if self.flowing else self.step
        cause = self.because if because is None else because
        return self._trace.write(self.now_us, step, event, node, queue, detail, cause)

    def tell_flows(self) -> None:
        """Writes the entries about what flowed until now."""
        if self._trace is not None:
            self._trace.end_flows(self.now_us)

    def refuse(self, code: int | None, text: str, step: int | None = None) -> None:
        """Notes that RabbitMQ refused the step at hand."""
        self.emit("step_refused", code=code, text=text)
        self.refusals.append(Refusal(self.step if step is None else step, code, text))
