"""The history of a trial: the events of a cluster, independent of its design, as whole numbers.

A history depends on environment, cluster size, seed and trial alone, so that two designs get the same one. It holds the
events of the environment. Events that depend on the cluster's state, such as an upgrade that waits for a synchronised
mirror or a client that looks for another node, are decided while it is played (`hawb.study.engine_trial`,
`hawb.study.kernel`).

A history is an array of rows (time_us, kind, nodes), in their order: `kind` is one of the kinds below and `nodes` a set
of nodes as bits (the first node is bit 0), for BURST and RATE a number instead. Events of one moment happen in the
order of their kinds. No event is at or after the horizon.

A node is down until the last failure that keeps it down is over: a rack that fails takes down those of its nodes that
are up, and the end of one failure starts no node that another keeps down. Every draw is keyed by (seed, purpose, trial,
n): `n` counts the unit that fails, its failures, and the draws of each. So a draw that would decide nothing can be left
out, and the others stay the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hawb.study.compiled import compiled, with_arrays
from hawb.study.draws import Lengths, below, uniform
from hawb.study.environment import HOURS, ByHour, Calendar, Environment, Failures, GroupFailures, Traffic
from hawb.study.renewals import DISK, HOW, biased, drawn_as, lasts_us, until_us, weights

HEAL, START, POWER_OFF, KILL, STOP, LOSE_DISK, CUT, CUT_LINK = range(8)
CONSUMERS_BACK, CONSUMERS_AWAY, BURST, RATE, MAINTENANCE, ROLLING_UPGRADE = range(8, 14)
"""The kinds of events.

LOSE_DISK names nodes that are down by then; CUT the nodes on one side of a partition, CUT_LINK the two ends of a link.
BURST is 1 at the beginning of a burst and 0 at its end, RATE the hour of the day that begins. MAINTENANCE names the
node that is next. The design says how it is taken down, and how all nodes are for a ROLLING_UPGRADE.
"""

NAMES = (
    "heal", "start", "power_off", "kill", "stop", "lose_disk", "cut", "cut_link",
    "consumers_back", "consumers_away", "burst", "rate", "maintenance", "rolling_upgrade",
)  # fmt: skip
"""The kinds' names."""

NODE_FAILURES, HOST_FAILURES, RACK_FAILURES, PARTITIONS, BURSTS, CONSUMER_OUTAGES = range(101, 107)
"""Purposes of draws."""

ONE_NODE, ONE_RACK, HALF, ONE_LINK = range(4)
CUTS = {"one_node": ONE_NODE, "one_rack": ONE_RACK, "half": HALF, "one_link": ONE_LINK}

SECOND_US, HOUR_US, DAY_US = 1_000_000, 3_600_000_000, 86_400_000_000


def history(environment: Environment, nodes: int, seed: int, trial: int, horizon_us: int) -> np.ndarray:
    """Return the history of one trial of a cluster with `nodes` nodes."""
    return drawn(sources(environment, nodes), nodes, np.uint64(seed & (2**64 - 1)), trial, horizon_us)


def weights_of(environment: Environment, nodes: int, seed: int, first: int, count: int, horizon_us: int) -> np.ndarray:
    """Return the weights of trials by their histories (`hawb.study.renewals`): 1 each, unless failures are biased."""
    if environment.failure_biasing is None:
        return np.ones(count)
    return weights(sources(environment, nodes), np.uint64(seed & (2**64 - 1)), first, count, horizon_us)


SOURCE = np.dtype(
    [
        *((name, np.int64) for name in ("purpose", "unit", "nodes", "cut", "every_kind", "lasts_kind")),
        *((name, np.float64) for name in ("every_us", "every_shape", "lasts_us", "lasts_shape")),
        *((name, np.float64) for name in ("controlled", "powered_off", "disk_lost")),
        *((name, np.int64) for name in ("first_us", "again_us", "after_us")),
        ("times", np.float64),
    ]
)
"""One source of events: a unit that fails, or planned work.

`unit` numbers the sources of a purpose, `nodes` are the nodes that it takes down. `controlled` and `powered_off` are
shares of all failures (`powered_off` includes `controlled`), `disk_lost` the share among those that are not controlled.
Planned work (`again_us` above 0) begins at `first_us`. Biased failures come `times` as often until nodes have been back
for `after_us`.
"""


def sources(environment: Environment, nodes: int) -> np.ndarray:
    """Return the sources of events in an environment for a cluster of `nodes` nodes, as a table of `SOURCE`."""
    table: list[dict] = []
    all_nodes = (1 << nodes) - 1
    if environment.node_failures:
        table += [failing(environment.node_failures, NODE_FAILURES, node, 1 << node) for node in range(nodes)]
    for purpose, groups in ((HOST_FAILURES, environment.host_failures), (RACK_FAILURES, environment.rack_failures)):
        table += [failing(groups, purpose, unit, taken) for unit, taken in enumerate(dealt(groups, nodes)) if taken]
    if environment.failure_biasing:
        biasing = environment.failure_biasing
        how = {"times": biasing.times, "after_us": round(biasing.after_s * SECOND_US)}
        table = [source | how for source in table]
    if environment.partitions:
        cut = CUTS[environment.partitions.cut]
        table.append({"purpose": PARTITIONS, "cut": cut, "nodes": all_nodes} | times(environment.partitions))
    for purpose, given in (
        (BURSTS, environment.traffic.bursts),
        (CONSUMER_OUTAGES, environment.traffic.consumer_outages),
    ):
        table += [{"purpose": purpose} | times(given)] if given else []
    table += planned(environment.maintenance, MAINTENANCE) + planned(environment.rolling_upgrades, ROLLING_UPGRADE)
    table += [
        {"purpose": RATE, "unit": hour, "first_us": (hour or HOURS) * HOUR_US, "again_us": DAY_US}
        for hour in range(HOURS)
        if changes(environment.traffic, hour)
    ]
    racks = dealt(environment.rack_failures, nodes)
    table += [{"purpose": ONE_RACK, "unit": unit, "nodes": taken} for unit, taken in enumerate(racks)]
    filled = np.zeros(len(table), SOURCE).view(np.recarray)
    for row, values in zip(filled, table, strict=True):
        for name, value in values.items():
            row[name] = value
    return filled


def dealt(groups: GroupFailures | None, nodes: int) -> list[int]:
    """Return the nodes of each rack or host, as bits: they are dealt in turn."""
    if groups is None:
        return []
    return [sum(1 << node for node in range(unit, nodes, groups.groups)) for unit in range(min(groups.groups, nodes))]


def failing(given: Failures, purpose: int, unit: int, nodes: int) -> dict:
    """Return a node, host or rack as a source of events."""
    uncontrolled = 1 - given.controlled_share
    return {
        "purpose": purpose, "unit": unit, "nodes": nodes, "controlled": given.controlled_share,
        "powered_off": given.controlled_share + given.power_off_share,
        "disk_lost": min(1.0, given.disk_loss_share / uncontrolled) if given.disk_loss_share else 0.0,
    } | times(given)  # fmt: skip


def times(given: Any) -> dict:
    """Return the distributions of the time to an event and of its duration."""
    every, lasts = Lengths.of(given.every), Lengths.of(given.repair if isinstance(given, Failures) else given.lasts)
    return {
        "every_kind": every.kind, "every_us": every.scale_us, "every_shape": every.shape,
        "lasts_kind": lasts.kind, "lasts_us": lasts.scale_us, "lasts_shape": lasts.shape,
    }  # fmt: skip


def planned(given: Calendar | None, kind: int) -> list[dict]:
    """Return a calendar as a source of events; empty without a calendar."""
    if given is None:
        return []
    first_us = given.first_day * DAY_US + round(given.at_hour * HOUR_US)
    return [{"purpose": kind, "first_us": first_us, "again_us": round(given.every_days * DAY_US)}]


def changes(traffic: Traffic, hour: int) -> bool:
    """Return True if a rate differs between an hour of the day and the hour before."""
    rates = (traffic.publish_per_s, traffic.consume_per_s)
    return any(rate_at(rate, hour) != rate_at(rate, hour - 1) for rate in rates)


def rate_at(rate: float | ByHour, hour: int) -> float:
    """Return a rate in an hour of the day."""
    return rate[hour % HOURS] if isinstance(rate, tuple) else rate


# Compiled


@compiled
def drawn(table, nodes, seed, trial, horizon_us):
    """Return the history that the sources of a table make."""
    spells, count = np.empty((128, 5), np.int64), 0
    events, filled, is_biased = np.empty((256, 3), np.int64), 0, False
    for source in range(len(table)):
        purpose = table[source].purpose
        if purpose >= NODE_FAILURES:
            if table[source].times > 0:
                is_biased = True
            else:
                spells, count = renewals(table, source, nodes, seed, trial, horizon_us, spells, count)
        elif purpose != ONE_RACK:
            events, filled = calendar(table[source], purpose, nodes, horizon_us, events, filled)
    if is_biased:
        failures, failed, _ = biased(table, seed, trial, horizon_us)
        for k in range(failed):
            begin_us, end_us, source, failure = failures[k]
            spells, count = with_spell(table, source, nodes, seed, trial, failure, begin_us, end_us, spells, count)
    events, filled = falls(spells[:count], nodes, horizon_us, events, filled)
    return in_order(events, filled)


@with_arrays
def grown(rows, count):
    """Return an array with room for one more row."""
    if count < len(rows):
        return rows
    more = np.empty((2 * len(rows), rows.shape[1]), np.int64)
    for k in range(count):  # for more[:count] numba would compile the texts of its errors for seconds
        for column in range(rows.shape[1]):
            more[k, column] = rows[k, column]
    return more


@with_arrays
def with_event(events, filled, time_us, kind, nodes):
    """Return the events with one more, and their number."""
    events = grown(events, filled)
    events[filled, 0], events[filled, 1], events[filled, 2] = time_us, kind, nodes
    return events, filled + 1


@with_arrays
def in_order(rows, count):
    """Return the first `count` rows by time, and those of one moment by their second and third columns.

    The rows of each source are already in order, so a few runs are merged two by two.
    """
    order, merged = np.arange(count), np.empty(count, np.int64)
    stretches = count
    while stretches > 1:
        stretches = start = 0
        while start < count:
            middle = end_of_stretch(rows, order, start, count)
            end = end_of_stretch(rows, order, middle, count)
            merge(rows, order, merged, start, middle, end)
            stretches, start = stretches + 1, end
        order, merged = merged, order
    ordered = np.empty((count, 3), np.int64)
    for k in range(count):
        for column in range(3):
            ordered[k, column] = rows[order[k], column]
    return ordered


@with_arrays
def end_of_stretch(rows, order, start, count):
    """Return the end of the ordered run that begins at `start`."""
    end = min(start + 1, count)
    while end < count and not is_before(rows[order[end]], rows[order[end - 1]]):
        end += 1
    return end


@with_arrays
def merge(rows, order, merged, start, middle, end):
    """Merge two ordered runs, adjacent in `order`, into one in `merged`."""
    left, right = start, middle
    for k in range(start, end):
        if right == end or (left < middle and not is_before(rows[order[right]], rows[order[left]])):
            merged[k], left = order[left], left + 1
        else:
            merged[k], right = order[right], right + 1


@with_arrays
def is_before(one, other):
    """Return True if a row comes before another, by the first column in which they differ."""
    for column in range(3):
        if one[column] != other[column]:
            return one[column] < other[column]
    return False


@with_arrays
def calendar(source, kind, nodes, horizon_us, events, filled):
    """Return the events of a calendar, with their number.

    Maintenance takes the next node in turn; a rate has its hour in place of nodes.
    """
    turn, time_us = 0, source.first_us
    while time_us < horizon_us:
        about = (1 << nodes) - 1
        if kind == MAINTENANCE:
            about = 1 << turn % nodes
        elif kind == RATE:
            about = source.unit
        events, filled = with_event(events, filled, time_us, kind, about)
        turn, time_us = turn + 1, time_us + source.again_us
    return events, filled


@with_arrays
def renewals(table, number, nodes, seed, trial, horizon_us, spells, count):
    """Return the spells of one source that fails independently of the others, with their number."""
    time_us, failure = 0, 0
    while True:
        time_us += until_us(table[number], seed, trial, failure)
        if time_us >= horizon_us:
            return spells, count
        end_us = time_us + lasts_us(table[number], seed, trial, failure)
        spells, count = with_spell(table, number, nodes, seed, trial, failure, time_us, end_us, spells, count)
        failure, time_us = failure + 1, end_us


@with_arrays
def with_spell(table, number, nodes, seed, trial, failure, begin_us, end_us, spells, count):
    """Return the spells with one more: a row (begin_us, end_us, kind, nodes, disk lost), and their number."""
    source, n = table[number], drawn_as(table[number], failure)
    kind, taken, lost = kind_of(source, seed, trial, n), source.nodes, 0
    if source.purpose == PARTITIONS:
        taken = cut_off(table, source.cut, nodes, seed, trial, n)
    elif kind != STOP and source.disk_lost > 0:
        lost = int(uniform(seed, source.purpose, trial, n | DISK) < source.disk_lost)
    spells = grown(spells, count)
    spells[count, 0], spells[count, 1], spells[count, 2] = begin_us, end_us, kind
    spells[count, 3], spells[count, 4] = taken, lost
    return spells, count + 1


@with_arrays
def kind_of(source, seed, trial, n):
    """Return the kind of a source's next event; a draw decides whether a failure is a stop, power loss or kill."""
    purpose = source.purpose
    if purpose == BURSTS:
        return BURST
    if purpose == CONSUMER_OUTAGES:
        return CONSUMERS_AWAY
    if purpose == PARTITIONS:
        return CUT_LINK if source.cut == ONE_LINK else CUT
    if source.powered_off == 0:
        return KILL
    u = uniform(seed, purpose, trial, n | HOW)
    return STOP if u < source.controlled else POWER_OFF if u < source.powered_off else KILL


@with_arrays
def cut_off(table, cut, nodes, seed, trial, n):
    """Return the nodes of one side of a partition, or the ends of one link, as bits."""
    if cut == ONE_RACK:
        racks = [table[row].nodes for row in range(len(table)) if table[row].purpose == ONE_RACK]
        return racks[below(len(racks), seed, PARTITIONS, trial, n | HOW)]
    wanted = 1 if cut == ONE_NODE else 2 if cut == ONE_LINK else nodes // 2
    chosen = 0
    for k in range(min(wanted, nodes)):
        left = [node for node in range(nodes) if not chosen >> node & 1]
        chosen |= 1 << left[below(len(left), seed, PARTITIONS, trial, n | HOW | k << 26)]
    return chosen


@with_arrays
def falls(spells, nodes, horizon_us, events, filled):
    """Return the events that spells make, with their number.

    Nodes go down with the first spell that takes them and come back at the end of the last. Where one spell ends as
    another begins, they stay down.
    """
    count = len(spells)
    ends = np.empty((2 * count, 3), np.int64)
    for k in range(count):
        ends[2 * k, 0], ends[2 * k, 1], ends[2 * k, 2] = spells[k, 0], 0, k
        ends[2 * k + 1, 0], ends[2 * k + 1, 1], ends[2 * k + 1, 2] = spells[k, 1], 1, k
    ends = in_order(ends, 2 * count)
    holding = np.zeros(nodes, np.int64)
    for k in range(len(ends)):
        time_us, over, spell = ends[k, 0], ends[k, 1], ends[k, 2]
        if time_us >= horizon_us:
            break
        kind, taken = spells[spell, 2], spells[spell, 3]
        if kind in (STOP, POWER_OFF, KILL):
            about = change(holding, taken, over)
            kind = START if over else kind
            if not over and spells[spell, 4]:
                events, filled = with_event(events, filled, time_us, LOSE_DISK, taken)
            if about == 0:
                continue
        elif kind == BURST:
            about = 1 - over
        else:
            about = taken
            if over:
                kind = CONSUMERS_BACK if kind == CONSUMERS_AWAY else HEAL
        events, filled = with_event(events, filled, time_us, kind, about)
    return events, filled


@with_arrays
def change(holding, taken, over):
    """Return the nodes among `taken` that go down as a spell begins, or come back as it ends, as bits."""
    moved = 0
    for node in range(len(holding)):
        if taken >> node & 1:
            holding[node] += -1 if over else 1
            if holding[node] == (0 if over else 1):
                moved |= 1 << node
    return moved
