"""Settle a cluster after a declaration of a quorum queue or stream: its first election, repeated for other queues.

A new group on running nodes elects its first leader by the same messages, at the same distances, as a group of another
name did. A scenario that declares thousands of such queues plays each course of events once (`Courses`) and applies
what it changed to the other queues. The moment is equal to the one that playing it again would give: a course is only
kept if it concerned its queue alone and nothing in it was drawn from the seed, and only repeated where it begins from
an equal situation and nothing else happens meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hawb.engine import advance
from hawb.engine.clients.client_state import consumers_of
from hawb.engine.clients.steady.flows import has_flows
from hawb.engine.core.agenda import CAUSE, EVENT, NUMBER, PRIORITY, SIDE, STEP, TIME_US, TIMER
from hawb.engine.core.events import MetadataChanged
from hawb.engine.core.ledger import Account
from hawb.engine.core.operations import Declare
from hawb.engine.core.state import Queue
from hawb.engine.core.turn import Turn
from hawb.engine.quorum import fifo
from hawb.engine.raft_groups.elections import LEAST_PATIENCE_US
from hawb.engine.raft_groups.events import (
    LeaderElected,
    LogCut,
    MajorityReached,
    MembersAbreast,
    RaftArrives,
    RaftWritten,
)
from hawb.engine.raft_groups.group import Group, copied
from hawb.raft.log import NOOP
from hawb.raft.member import Member

OF_ELECTIONS = {RaftArrives, RaftWritten, LeaderElected, MajorityReached, MembersAbreast, LogCut}
"""The kinds of events that happen in a course that can be repeated."""
CHANGED = {"master", "up", "holder", "contents", "synchronised"}
"""The fields of a queue's record that such a course may change."""
NAMES = ("name", "number", "queue", "group")
"""The fields by which groups and their events differ from those of another queue."""
MOST_COURSES = 128


class Said(Struct, frozen=True):
    """A trace entry of a course: its time from the course's beginning, and its cause counted from the first entry."""

    after_us: int
    event: str
    node: int
    detail: Mapping[str, object]
    because: int | None


class Course(Struct, frozen=True):
    """The changes that a first election makes, with times relative to its start.

    `kept` holds references to the values whose ids are part of its key, so that no other value can get the same id.
    """

    lasts_us: int
    led_from_us: int | None
    numbers: int
    members: dict[int, Member]
    applied: int
    record: dict[str, object]
    account: Account
    said: tuple[Said, ...]
    kept: tuple[object, ...]


class Start(Struct, frozen=True):
    """The situation after a declaration, in which only the events of one new group are pending.

    `queue` and `group` are copies, `first` is the number of the next trace entry.
    """

    queue: Queue
    group: Group
    entries: tuple[tuple, ...]
    step: int
    first: int
    key: tuple
    kept: tuple[object, ...]


Courses = dict[tuple, Course | None]
"""The courses of a run by what they begin with; None if they cannot be repeated."""


def settle(turn: Turn, courses: Courses) -> None:
    """Let events happen until the cluster is settled, as `advance.until_settled` does."""
    event = turn.agenda.next_event
    if type(event) is Declare and turn.agenda.pending == 1 and not has_flows(turn):
        advance.step(turn)
        while type(turn.agenda.next_event) is MetadataChanged:
            advance.step(turn)
        start = start_of(turn, event.queue)
        course = None if start is None else courses.get(start.key)
        if start is not None and course is not None and repeats(turn, start, course):
            return
        if start is not None and start.key not in courses and len(courses) < MOST_COURSES:
            courses[start.key] = played(turn, start)
    advance.until_settled(turn)


def start_of(turn: Turn, name: str) -> Start | None:
    """Return the situation in which only the events of a queue's new group are pending; None if it is another one.

    Return None too if clients use the queue, or the cluster is divided.
    """
    group, queue, account = turn.groups.get(name), turn.queues.get(name), turn.ledger.get(name)
    if group is None or queue is None or account is None or group.applied or not turn.traced:
        return None
    busy = (turn.publishers, turn.unconfirmed, turn.awaiting_registration, turn.waiting_changes, turn.unread,
            turn.under_way, turn.cuts, turn.suspected, len(turn.sides) > 1, group.waiting, turn.committed)  # fmt: skip
    if any(busy) or has_flows(turn) or consumers_of(turn.consumers, name):
        return None
    entries = tuple(turn.agenda.of_queue(name))
    if not entries or len(entries) != turn.agenda.pending or any(entry[PRIORITY] == TIMER for entry in entries):
        return None
    if any(getattr(entry[EVENT], "group", group.number) != group.number for entry in entries):
        return None
    step, nodes = entries[0][STEP], turn.before.state.nodes
    if any(entry[STEP] != step for entry in entries) or tuple(turn.nodes) != nodes:
        return None
    if account != Account(down=account.down) or any(run.command != NOOP for run in runs_of(group)):
        return None
    if queue.fifo is not None and queue.fifo != fifo.new(turn):
        return None
    queue, group, down = replace(queue), copied(group), account.down
    first = turn.before.entries_so_far + len(turn.entries)
    kept = *nodes, turn.focus.policies, turn.focus.operator_policies
    key = (
        tuple(map(id, kept)), turn.focus.number, turn.alarms,
        down.total_us, None if down.since_us is None else turn.now_us - down.since_us,
        replace(queue, name="", fifo=None), tuple(group.members.items()), *without_names(group, "members"),
        tuple(
            (entry[TIME_US] - turn.now_us, entry[PRIORITY], entry[NUMBER] - turn.counter,
             None if entry[CAUSE] is None else entry[CAUSE] - first, entry[SIDE], *without_names(entry[EVENT]))
            for entry in entries
        ),
    )  # fmt: skip
    return Start(queue, group, entries, step, first, key, kept)


def runs_of(group: Group) -> list[Any]:
    """Return the runs of entries in all logs of a group."""
    return [run for member in group.members.values() for run in member.log.runs]


def without_names(record: Any, *besides: str) -> tuple:
    """Return the kind of an event or group and its fields, but for those that name the queue or the group."""
    left_out = {*NAMES, *besides}
    return type(record), *(getattr(record, name) for name in record.__struct_fields__ if name not in left_out)


def patience_us(turn: Turn) -> int:
    """Return a time in which no member asks for votes whose election timer is set in a course.

    The order of such members is drawn from the seed (`hawb.engine.raft_groups.elections.patience_us`).
    """
    return max(LEAST_PATIENCE_US, turn.setup.election_us - 4 * turn.setup.link_us)


def played(turn: Turn, start: Start) -> Course | None:
    """Settle the cluster, and return the course of its events; None if other queues cannot repeat this course."""
    name, before = start.queue.name, start.queue
    begun_us, counter, planned, written = turn.now_us, turn.counter, len(turn.agenda), len(turn.entries)
    of_election = True
    while not turn.settled():
        event = turn.agenda.next_event
        of_election &= type(event) in OF_ELECTIONS and getattr(event, "queue", None) == name
        advance.step(turn)
    lasts_us = turn.now_us - begun_us
    group, queue, account = turn.groups.get(name), turn.queues.get(name), turn.ledger[name]
    entries = turn.entries[written:]
    if not of_election or group is None or queue is None or lasts_us >= patience_us(turn):
        return None
    led_from_us = None
    if queue.fifo is not None and before.fifo is not None:
        led_from_us = queue.fifo.led_from_us - begun_us
        before = replace(before, fifo=replace(before.fifo, led_from_us=queue.fifo.led_from_us))
    record = {field: getattr(queue, field) for field in Queue.__struct_fields__
              if getattr(queue, field) != getattr(before, field)}  # fmt: skip
    if (
        replace(group, members=start.group.members, applied=0) != start.group
        or not record.keys() <= CHANGED
        or len(turn.agenda) != planned - len(start.entries)
        or turn.refusals
        or account != Account(down=account.down)
        or account.down.since_us is not None
        or any(run.command != NOOP for run in runs_of(group))
        or any((entry.queue, entry.step) != (name, start.step) for entry in entries)
    ):
        return None
    said = tuple(
        Said(one.t_us - begun_us, one.event, one.node, one.detail,
             None if one.because is None else one.because - start.first)
        for one in entries
    )  # fmt: skip
    return Course(
        lasts_us, led_from_us, turn.counter - counter, copied(group).members, group.applied, record, account, said,
        start.kept,
    )  # fmt: skip


def repeats(turn: Turn, start: Start, course: Course) -> bool:
    """Apply the recorded course of a first election to a queue that starts in the same way.

    Return False, and do nothing, if another event is due before the course ends.
    """
    begun_us, next_us = turn.now_us, turn.agenda.next_time_besides_us(start.entries)
    if next_us is not None and next_us <= begun_us + course.lasts_us:
        return False
    for entry in start.entries:
        turn.agenda.remove(entry)
    name, turn.step = start.queue.name, start.step
    for one in course.said:
        turn.now_us = begun_us + one.after_us
        turn.because = None if one.because is None else start.first + one.because
        turn.emit(one.event, node=one.node, queue=name, **one.detail)
    turn.now_us = begun_us + course.lasts_us
    turn.counter += course.numbers
    record = course.record
    if start.queue.fifo is not None and course.led_from_us is not None:
        record = record | {"fifo": replace(start.queue.fifo, led_from_us=begun_us + course.led_from_us)}
    turn.change_queue(name, **record)
    turn.groups[name] = replace(start.group, members=course.members, applied=course.applied)
    turn.ledger[name] = course.account
    return True
