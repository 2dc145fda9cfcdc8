"""Clocks with a steady rate, and stopwatches."""

from __future__ import annotations

from fractions import Fraction


class Clock:
    """A clock that ticks at a rate (per microsecond).

    Ticks are whole numbers, and the first comes one period after the start.
    """

    def __init__(self, start_us: int, rate: Fraction) -> None:
        self.start_us, self.beats, self.us = start_us, rate.numerator, rate.denominator

    def by(self, time_us: int) -> int:
        """Return how many ticks it has had by a time."""
        return max(0, (time_us - self.start_us) * self.beats // self.us)

    def by_beat_of(self, other: Clock, beat: int, earlier_us: int) -> int:
        """Return how many ticks it has had a delay before the tick of another clock."""
        ahead = (other.start_us - earlier_us - self.start_us) * other.beats + beat * other.us
        return max(0, ahead * self.beats // (other.beats * self.us))


class Stopwatch:
    """Measure for how many microseconds a condition held."""

    def __init__(self) -> None:
        self.total_us, self.since_us = 0, None

    def starts(self, now_us: int) -> None:
        """Start measuring."""
        self.since_us = now_us

    def stops(self, now_us: int) -> None:
        """Stop measuring."""
        self.total_us, self.since_us = self.at(now_us), None

    def at(self, now_us: int) -> int:
        """Return the time measured so far."""
        return self.total_us + (0 if self.since_us is None else now_us - self.since_us)
