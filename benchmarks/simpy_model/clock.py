"""Clocks: what beats at a steady rate, and what is measured."""

from __future__ import annotations

from fractions import Fraction


class Clock:
    """Beats at a rate (a microsecond) from a moment on, in whole numbers: the first one comes a period after it."""

    def __init__(self, start_us: int, rate: Fraction) -> None:
        self.start_us, self.beats, self.us = start_us, rate.numerator, rate.denominator

    def by(self, time_us: int) -> int:
        """How many beats it has had by then."""
        return max(0, (time_us - self.start_us) * self.beats // self.us)

    def by_beat_of(self, other: Clock, beat: int, earlier_us: int) -> int:
        """How many beats it has had so long before the beat of another clock."""
        ahead = (other.start_us - earlier_us - self.start_us) * other.beats + beat * other.us
        return max(0, ahead * self.beats // (other.beats * self.us))


class Stopwatch:
    """How long something has been so, in microseconds."""

    def __init__(self) -> None:
        self.total_us, self.since_us = 0, None

    def starts(self, now_us: int) -> None:
        """It is so from now on."""
        self.since_us = now_us

    def stops(self, now_us: int) -> None:
        """It is so no longer."""
        self.total_us, self.since_us = self.at(now_us), None

    def at(self, now_us: int) -> int:
        """How long by now."""
        return self.total_us + (0 if self.since_us is None else now_us - self.since_us)
