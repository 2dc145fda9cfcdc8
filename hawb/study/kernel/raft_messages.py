"""What a member wants done, which stands in `out` after a step, in its order: `hawb.engine.raft_messages`."""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel.quorum_state import (
    COMMIT,
    COMMITTED,
    FIFTH,
    FIRST,
    FOURTH,
    GENERATION,
    LAST,
    SECOND,
    SEND,
    SOURCE,
    TARGET,
    TERM,
    TERM_SENT,
    THIRD,
    TYPE,
    WRITE,
    WRITTEN,
)
from hawb.study.kernel.state import KIND


@inner
def say(t, kind, node, first, second):
    """Something is to be done that is no message."""
    row = t.queue.out
    if row == len(t.out):
        raise OverflowError("more is to be done than a trial has room for")
    t.out[row, KIND], t.out[row, SOURCE], t.out[row, FIRST], t.out[row, SECOND] = kind, node, first, second
    t.queue.out += 1


@inner
def tell(t, type_, node, to, first, second, third, fourth, fifth):
    """A message is to be sent."""
    row = t.queue.out
    say(t, SEND, node, first, second)
    t.out[row, TARGET], t.out[row, TYPE], t.out[row, TERM_SENT] = to, type_, t.members[node, TERM]
    t.out[row, THIRD], t.out[row, FOURTH], t.out[row, FIFTH] = third, fourth, fifth


@inner
def write(t, node, last, generation):
    """What a step has put into the log, which was so before, goes to disk."""
    member = t.members[node]
    if member[LAST] > member[WRITTEN] and (member[LAST] != last or member[GENERATION] != generation):
        say(t, WRITE, node, member[GENERATION], member[LAST])


@inner
def commit(t, node, index):
    """Entries are committed."""
    say(t, COMMITTED, node, t.members[node, COMMIT] + 1, index)
    t.members[node, COMMIT] = index
