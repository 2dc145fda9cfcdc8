"""Beats of clients with a rate, in whole numbers: a clock has so many beats in so many microseconds.

Beat k is k * us / beats microseconds after the clock's start. No time is rounded on the way: whoever asks how many
beats there were gets those that are over, and whoever asks when a beat is gets the first microsecond by which it is.
"""

from __future__ import annotations


def beats_by(start_us: int, beats: int, us: int, time_us: int) -> int:
    """How many beats a clock has had by then."""
    return max(0, (time_us - start_us) * beats // us)


def beats_beyond(start_us: int, beats: int, us: int, time_us: int, had: int) -> int:
    """How many beats beyond those that it `had` a clock has had by then. Mostly none, which takes no quotient."""
    ahead = (time_us - start_us) * beats - had * us
    return ahead // us if ahead >= us else 0


def beat_us(beat: int, beats: int, us: int) -> int:
    """How long a clock takes to one of its beats, or a microsecond's part longer."""
    return -(-beat * us // beats)


def beats_by_beat(later_us: int, beat: int, beats: int, us: int, others_beats: int, others_us: int) -> int:
    """How many beats another clock has had so long after a beat of one that started with it; below 0 where that was
    before both. The quotient comes first, so that no product grows beyond what whole numbers of 64 bits hold."""
    above, below = later_us * beats + beat * us, beats * others_us
    return above // below * others_beats + above % below * others_beats // below
