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
from msgspec.structs import fields, replace

from hawb.engine import advance
from hawb.engine.clients.steady.flows import has_flows
from hawb.engine.core.agenda import CAUSE, EVENT, NUMBER, PRIORITY, SIDE, STEP, TIME_US, TIMER
from hawb.engine.core.ledger import Account
from hawb.engine.core.state import Queue
from hawb.engine.core.turn import Turn
from hawb.engine.raft_groups.elections import LEAST_PATIENCE_US
from hawb.engine.raft_groups.events import (
    LeaderElected,
    LogCut,
    MajorityReached,
    MembersAbreast,
    RaftArrives,
    RaftWritten,
)
from hawb.engine.raft_groups.group import Group
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
    """The changes by a first election. `kept` keeps the values alive whose identities are in its key."""

    lasts_us: int
    numbers: int
    members: dict[int, Member]
    applied: int
    record: dict[str, object]
    account: Account
    said: tuple[Said, ...]
    kept: tuple[object, ...]


class Start(Struct, frozen=True):
    """A moment in which only the events of one new group are pending."""

    queue: Queue
    group: Group
    entries: tuple[tuple, ...]
    step: int
    key: tuple
    kept: tuple[object, ...]


Courses = dict[tuple, Course | None]
"""The courses of a run by what they begin with; None if they cannot be repeated."""


def settle(turn: Turn, courses: Courses) -> None:
    """Let events happen until the cluster is settled, as `advance.until_settled` does."""
    start = start_of(turn)
    course = None if start is None else courses.get(start.key)
    if course is not None and start is not None and repeats(turn, start, course):
        return
    if start is None or start.key in courses or len(courses) == MOST_COURSES:
        advance.until_settled(turn)
    else:
        courses[start.key] = played(turn, start)


def start_of(turn: Turn) -> Start | None:
    """Return the situation in which only a new group's events are pending; None if there is no such group.

    Return None too if clients use its queue, or the cluster is divided.
    """
    state, event = turn.before.state, turn.agenda.next_event
    name = getattr(event, "queue", None)
    group, queue, account = turn.groups.get(name), turn.queues.get(name), turn.ledger.get(name)
    if type(event) not in OF_ELECTIONS or group is None or queue is None or account is None or group.applied:
        return None
    busy = (state.publishers, state.unconfirmed, state.awaiting_registration, state.waiting_changes, state.unread,
            state.under_way, state.cuts, state.suspected, state.sides[1:], group.waiting)  # fmt: skip
    if any(busy) or has_flows(turn) or any(one.queue == name for one in turn.consumers.values()):
        return None
    entries = tuple(turn.agenda.of_queue(name))
    steps = {entry[STEP] for entry in entries}
    if len(entries) != turn.agenda.pending or len(steps) > 1 or any(entry[PRIORITY] == TIMER for entry in entries):
        return None
    if any(getattr(entry[EVENT], "group", group.number) != group.number for entry in entries):
        return None
    if account != Account(down=account.down) or any(run.command != NOOP for run in runs_of(group)):
        return None
    side, first = state.sides[0], turn.before.entries_so_far
    kept = *state.nodes, side.policies, side.operator_policies
    down = account.down
    key = (
        tuple(map(id, kept)), side.number, state.alarms,
        down.total_us, None if down.since_us is None else state.time_us - down.since_us,
        replace(queue, name=""), tuple(group.members.items()), *without_names(group, "members"),
        tuple(
            (entry[TIME_US] - state.time_us, entry[PRIORITY], entry[NUMBER] - state.counter,
             None if entry[CAUSE] is None else entry[CAUSE] - first, entry[SIDE], *without_names(entry[EVENT]))
            for entry in entries
        ),
    )  # fmt: skip
    (step,) = steps
    return Start(queue, group, entries, step, key, kept)


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
    """Settle the cluster, and return the course of its events; None if it cannot be repeated."""
    name, before = start.queue.name, start.queue
    begun_us, counter, planned = turn.now_us, turn.counter, len(turn.agenda)
    of_election = True
    while not turn.settled():
        event = turn.agenda.next_event
        of_election &= type(event) in OF_ELECTIONS and event.queue == name
        advance.step(turn)
    lasts_us = turn.now_us - begun_us
    group, queue, account = turn.groups.get(name), turn.queues.get(name), turn.ledger[name]
    if not of_election or group is None or queue is None or lasts_us >= patience_us(turn):
        return None
    record = {one.name: getattr(queue, one.name) for one in fields(Queue)
              if getattr(queue, one.name) != getattr(before, one.name)}  # fmt: skip
    unlike = replace(group, members=start.group.members, applied=0) != start.group
    if (
        unlike
        or not record.keys() <= CHANGED
        or len(turn.agenda) != planned - len(start.entries)
        or turn.refusals
        or account != Account(down=account.down)
        or account.down.since_us is not None
        or any(run.command != NOOP for run in runs_of(group))
        or any((entry.queue, entry.step) != (name, start.step) for entry in turn.entries)
    ):
        return None
    first = turn.before.entries_so_far
    said = tuple(
        Said(one.t_us - begun_us, one.event, one.node, one.detail, None if one.because is None else one.because - first)
        for one in turn.entries
    )
    return Course(lasts_us, turn.counter - counter, group.members, group.applied, record, account, said, start.kept)


def repeats(turn: Turn, start: Start, course: Course) -> bool:
    """Apply a course to a queue that begins as the course did; return False if something else happens meanwhile."""
    begun_us, next_us = turn.now_us, turn.agenda.next_time_besides_us(start.entries)
    if next_us is not None and next_us <= begun_us + course.lasts_us:
        return False
    for entry in start.entries:
        turn.agenda.remove(entry)
    name, first, turn.step = start.queue.name, turn.before.entries_so_far, start.step
    for one in course.said:
        turn.now_us = begun_us + one.after_us
        turn.because = None if one.because is None else first + one.because
        turn.emit(one.event, node=one.node, queue=name, **one.detail)
    turn.now_us = begun_us + course.lasts_us
    turn.counter += course.numbers
    turn.change_queue(name, **course.record)
    turn.groups[name] = replace(start.group, members=course.members, applied=course.applied)
    turn.ledger[name] = course.account
    return True
