"""Interruptions as the trial's clients see them: `hawb.study.client_times` for the kernel."""

from __future__ import annotations

from hawb.engine.clients.steady.interruptions import NOT_YET
from hawb.study.compiled import inner
from hawb.study.kernel.state import ACTIVE
from hawb.study.kernel.steady import is_confirmed, is_delivered, late_us, since_us


@inner
def begin(t):
    """Note that neither client was served so far."""
    t.book.unconfirmed_since = t.book.undelivered_since = NOT_YET


@inner
def watch_clients(t):
    """Note since when offered messages are not confirmed, and ready ones not delivered."""
    watch(t, t.publisher, t.book)


@inner
def watch(t, p, times):
    """Note in `times` since when messages of a publisher and for the consumer are not confirmed and not delivered."""
    now_us = t.moment.now_us
    offers = t.rates[t.moment.bursts, t.moment.hour][0] > 0
    is_served = not offers or is_confirmed(t, p)
    if is_served:
        times.unconfirmed_us += late_us(times.unconfirmed_since, now_us, t.setup.deadline_us)
    times.unconfirmed_since = since_us(times.unconfirmed_since, is_served, now_us)
    is_served = not t.consumer.wanted or (t.consumer.state == ACTIVE and is_delivered(t, t.consumer))
    if is_served:
        times.undelivered_us += late_us(times.undelivered_since, now_us, t.setup.deadline_us)
    times.undelivered_since = since_us(times.undelivered_since, is_served, now_us)


@inner
def unconfirmed_us(t):
    """Return for how long offered messages were not confirmed in time."""
    return t.book.unconfirmed_us + late_us(t.book.unconfirmed_since, t.moment.now_us, t.setup.deadline_us)


@inner
def undelivered_us(t):
    """Return for how long ready messages were not delivered in time."""
    return t.book.undelivered_us + late_us(t.book.undelivered_since, t.moment.now_us, t.setup.deadline_us)
