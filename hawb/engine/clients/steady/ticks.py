"""Ticks of clients with a rate, in whole numbers: a clock has so many ticks in so many microseconds.

Tick k is k * us / ticks microseconds after the clock's start. No time is rounded on the way: the number of ticks is
that of the ticks that are over, and the time of a tick is the first microsecond by which it is over.
"""

from __future__ import annotations

from hawb.engine.clients.client_state import Clock

SHARED = True  # the kernel of studies compiles this module


def ticks_beyond(start_us: int, ticks: int, us: int, time_us: int, had: int) -> int:
    """Return how many ticks a clock has had by `time_us`, beyond the `had` ticks that were counted before.

    The result is mostly 0, so the division is left out for it.
    """
    ahead = (time_us - start_us) * ticks - had * us
    return ahead // us if ahead >= us else 0


def beyond(clock: Clock, time_us: int, had: int) -> int:
    """Return how many ticks a client's clock has had by `time_us`, beyond the `had` ticks counted before."""
    return ticks_beyond(clock.start_us, clock.per_ticks, clock.per_us, time_us, had)


def lasts_us(tick: int, ticks: int, us: int) -> int:
    """Return the microseconds from a clock's start to one of its ticks, rounded up."""
    return -(-tick * us // ticks)


def due_us(clock: Clock, tick: int) -> int:
    """Return the time of a tick of a client's clock, rounded up to microseconds."""
    return clock.start_us + lasts_us(tick, clock.per_ticks, clock.per_us)


def ticks_by_tick(clock: Clock, other: Clock, tick: int, later_us: int) -> int:
    """Return how many ticks a clock has had `later_us` after a tick of the other; negative before its start.

    The quotient comes first, so that no product grows beyond what whole numbers of 64 bits hold.
    """
    since_us = other.start_us + later_us - clock.start_us
    above, below = since_us * other.per_ticks + tick * other.per_us, other.per_ticks * clock.per_us
    return above // below * clock.per_ticks + above % below * clock.per_ticks // below
