"""Beats of clients with a rate, in whole numbers: a clock has so many beats in so many microseconds.

Beat k is k * us / beats microseconds after the clock's start. No time is rounded on the way: whoever asks how many
beats there were gets those that are over, and whoever asks when a beat is gets the first microsecond by which it is.
"""

from __future__ import annotations

SHARED = True  # the kernel of studies compiles this module


def beats_beyond(start_us, beats, us, time_us, had):
    """How many beats beyond those that it `had` a clock has had by then. Mostly none, which takes no quotient."""
    ahead = (time_us - start_us) * beats - had * us
    return ahead // us if ahead >= us else 0


def beyond(clock, time_us, had):
    """The same of a client's clock."""
    return beats_beyond(clock.start_us, clock.per_beats, clock.per_us, time_us, had)


def lasts_us(beat, beats, us):
    """How long a clock takes to one of its beats, or a microsecond's part longer."""
    return -(-beat * us // beats)


def due_us(clock, beat):
    """The first microsecond by which a beat of a client's clock is over."""
    return clock.start_us + lasts_us(beat, clock.per_beats, clock.per_us)


def beats_by_beat(clock, other, beat, later_us):
    """How many beats a clock has had so long after a beat of the other; below 0 where that was before it started. The
    quotient comes first, so that no product grows beyond what whole numbers of 64 bits hold."""
    since_us = other.start_us + later_us - clock.start_us
    above, below = since_us * other.per_beats + beat * other.per_us, other.per_beats * clock.per_us
    return above // below * clock.per_beats + above % below * clock.per_beats // below
