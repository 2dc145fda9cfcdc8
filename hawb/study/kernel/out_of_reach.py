"""Messages between a quorum queue and a consumer on the other side of a cut link, for a whole network: there are none.

A leader that loses the connection to a consumer which lives returns its messages. The consumer still answers for them:
they are stale. `partitioned_quorum` has what these functions do where links may fail.
"""

from __future__ import annotations

from hawb.study.compiled import inner


@inner
def hold_up(t, sender):
    """Do nothing: no link is cut, so that no delivery waits for one."""


@inner
def stale_count(t):
    """Return 0: whenever messages are returned, the consumer is gone."""
    return 0


@inner
def late_answers(t, count):
    """Return 0: no answer is late."""
    return 0


@inner
def answer_stale(t, count):
    """Return how many of so many answers are for messages that the queue waits for: all."""
    return count


@inner
def note_stale(t):
    """Do nothing: the consumer that holds messages which are returned is gone."""


@inner
def forget_stale(t):
    """Do nothing: no messages are stale."""


@inner
def carry_stale(t):
    """Do nothing: no messages are stale."""
