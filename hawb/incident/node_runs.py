"""Find the periods in which each node ran, and how each of them ended.

A broker that is asked to stop logs it, and one that stops by itself (it pauses, or autoheal restarts it) logs why. A
killed broker logs nothing: the only evidence is that its log goes on with a boot without a stop before, or that another
node saw it as down and it never wrote again. A run without a logged end is assumed to continue until `seen_us`.

Times are by the reference clock (`hawb.incident.clocks`), in microseconds since 1970.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from hawb.incident.absences import GONE, Absence, absences
from hawb.incident.clocks import Clock, settled_us
from hawb.incident.events import Event

EndedBy = Literal["stopped", "killed", "paused", "failed", "unknown"]
"""How a node stopped running.

stopped: an operator stopped it. killed: it was killed, crashed, or its host lost power. paused: it stopped by itself
because of a partition. failed: its boot failed. unknown: only other nodes' logs show that it went down.
"""
ASKED = ("node_signalled", "node_stopping")
BY_ITSELF = ("pause_begun", "autoheal_restarting")
COMING = ("node_up", "rabbit_up")
OF_MEMBERS = (
    *COMING, *GONE, "partition_seen", "partition_partial", "alarm_set", "alarm_cleared", "mirror_added",
    "mirror_promoted", "replicas_down", "leader_seen", "autoheal_decided",
)  # fmt: skip
"""Kinds of events that concern only nodes that run, or have run."""
OF_ERLANG = ("process_crashed", "child_ended", "node_silent")
"""Kinds of Erlang reports: 3.8 also writes them to another file, which does not name the node."""
BEFORE_US = 2_000_000
"""Assumed start, before the beginning of the logs, of a node that already ran."""
ENDING = (*ASKED, "node_stopped", "node_halting", "pause_begun")
"""Kinds of events that no broker logs before it boots."""
BEFORE_STARTING = ("node_waiting", "boot_error", "boot_failed")
"""Kinds of events that a broker logs only while it boots."""
FAILED_TOGETHER_US = 60_000_000
"""Maximum time between messages about one failed boot without a new start message."""
AT_ONCE_US = 1_000_000
"""Maximum time between a broker's message about pausing and its stop."""
LATE_US = 2_000_000
"""Tolerance for lines of a broker after it was seen as down: clock offsets are not more precise."""
BEFORE_BOOT_US = 60_000_000
"""Maximum time for which messages may precede the first logged boot and belong to it."""
BOOTING_US = 15_000_000
"""Maximum time for which messages may precede a broker's start message: Ra starts its members first."""


class NodeRun(Struct, frozen=True):
    """A broker on `node` from `from_us` to `until_us`, according to its events `first` and `last`.

    If `first` is no `node_starting`, it already ran when the logs begin. `started_us` is when its boot had finished,
    None if it had not or is not logged. `until_us` and `ended_by` are None if no log records an end; `seen_us` is the
    last time at which it is known to run. `reason` is the reason that Erlang on other nodes logged for its end, if they
    detected it. `halted_us` is when an operator ended the Erlang VM of a paused broker, according to `halting`: it does
    not come back by itself.
    """

    node: str
    from_us: int
    until_us: int | None
    ended_by: EndedBy | None
    first: Event
    last: Event
    seen_us: int
    started_us: int | None = None
    reason: str | None = None
    halted_us: int | None = None
    halting: Event | None = None

    @property
    def ran_before(self) -> bool:
        """Return True if the broker already ran when the logs begin."""
        return self.first.kind not in ("node_starting", *COMING) and self.ended_by != "failed"

    @property
    def comes_back(self) -> bool:
        """Return True if the broker stopped by itself, and will come back by itself."""
        return self.ended_by == "paused" and self.halted_us is None


def node_runs(events: Sequence[Event], clocks: Mapping[str, Clock]) -> list[NodeRun]:
    """Return the node runs in the order in which they began. The events must be in order of time."""
    own: dict[str, list[Timed]] = defaultdict(list)
    named: dict[str, list[Timed]] = defaultdict(list)
    missed: dict[str, list[Absence]] = defaultdict(list)
    for event in events:
        own[event.node].append((settled_us(event, clocks), event))
        if event.kind in OF_MEMBERS and event.peer:
            named[event.peer].append((settled_us(event, clocks), event))
    own = {node: logged for node, logged in own.items() if any(event.kind not in OF_ERLANG for _, event in logged)}
    for absence in absences(events, clocks):
        if not absence.partition:
            missed[absence.peer].append(absence)
    end_us = max((logged[-1][0] for logged in own.values()), default=0)
    found = [run for node in own for run in _logged_runs(own[node], missed[node], end_us)]
    begin_us = min((logged[0][0] for logged in own.values()), default=0) - BEFORE_US
    found += [run for node in named if node not in own
              for run in _seen(node, named[node], missed[node], begin_us, end_us)]  # fmt: skip
    return sorted(found, key=lambda run: (run.from_us, run.node))


Timed = tuple[int, Event]
FROM = attrgetter("from_us")
"""Orders absences."""


def _logged_runs(own: Sequence[Timed], missed: Sequence[Absence], end_us: int) -> Iterator[NodeRun]:
    """Yield the runs of a node that has a log."""
    boots = [*_boots(own)]
    before = own[: boots[0]] if boots else own
    if before and (not boots or own[boots[0]][0] - before[0][0] > BEFORE_BOOT_US
                   or any(event.kind in ENDING for _, event in before)):  # fmt: skip
        boots.insert(0, 0)
    for begin, end in pairwise([*boots, len(own)]):
        yield _run_of(own[begin:end], missed, own[end][0] if end < len(own) else None, end_us)


def _boots(own: Sequence[Timed]) -> Iterator[int]:
    """Yield the places at which a boot begins; a failure before the broker logs its start is a boot too."""
    booting, failed_us = bool(own) and own[0][1].kind in BEFORE_STARTING, -FAILED_TOGETHER_US
    if booting:
        yield 0
    for place, (at_us, event) in enumerate(own):
        if event.kind == "node_starting":
            if place or not booting:
                yield place
            booting = True
        elif event.kind == "boot_failed":
            if not booting and at_us - failed_us > FAILED_TOGETHER_US:
                yield place
            booting, failed_us = False, at_us
        elif event.kind in ("node_started", *ENDING):
            booting = False


def _run_of(events: Sequence[Timed], missed: Sequence[Absence], next_us: int | None, end_us: int) -> NodeRun:
    """Return the run that begins with the first of these events, up to the next boot at `next_us`, if any."""
    from_us, first = events[0]
    started_us = next((at_us for at_us, event in events if event.kind == "node_started"), None)
    stop = next(((at_us, event) for at_us, event in events if event.kind in ASKED), None)
    failed = next(((at_us, event) for at_us, event in events if event.kind == "boot_failed"), None)
    until_us = end_us + 1 if next_us is None else next_us
    written = [at_us for at_us, _ in events if next_us is None or at_us < next_us - BOOTING_US] or [from_us]
    begin = bisect_left(missed, max(from_us, written[-1] - LATE_US), key=FROM)
    meanwhile = missed[begin : bisect_left(missed, until_us, lo=begin, key=FROM)]
    gone = [absence for absence in meanwhile
            if next_us is not None or absence.until_us is None or absence.until_us > events[-1][0]]  # fmt: skip

    def run(last: Timed, ended_by: EndedBy, seen_us: int) -> NodeRun:
        reason = next((absence.reason for absence in gone if absence.reason), None)
        return NodeRun(first.node, from_us, last[0], ended_by, first, last[1], seen_us, started_us, reason)

    if failed is not None and (stop is None or failed[0] <= stop[0]):
        return run(failed, "failed", failed[0])
    if stop is not None:
        if not any(event.kind in BY_ITSELF and abs(at_us - stop[0]) <= AT_ONCE_US for at_us, event in events):
            return run(stop, "stopped", stop[0])
        halt = next(((at_us, event) for at_us, event in events if event.kind == "node_halting"), (None, None))
        return replace(run(stop, "paused", stop[0]), halted_us=halt[0], halting=halt[1])
    if gone:
        return run((gone[0].from_us, gone[0].down), "killed", min(written[-1], gone[0].from_us))
    if next_us is not None:
        return run(events[-1], "killed", events[-1][0])
    return NodeRun(first.node, from_us, None, None, first, events[-1][1], end_us, started_us)


def _seen(
    node: str, named: Sequence[Timed], missed: Sequence[Absence], begin_us: int, end_us: int
) -> Iterator[NodeRun]:  # fmt: skip
    """Yield the runs of a node without a log, as other nodes saw it go down and come up.

    A node that is named before it is seen to come up already ran when the logs begin.
    """
    up = [timed for timed in named if timed[1].kind == "rabbit_up"] or [
        timed for timed in named if timed[1].kind == "node_up"
    ]
    if named[0][1].kind not in COMING:
        up.insert(0, (begin_us, named[0][1]))
    until_us = begin_us
    for from_us, first in up:
        if from_us < until_us:
            continue
        place = bisect_right(missed, from_us, key=FROM)
        gone = missed[place] if place < len(missed) else None
        until_us = gone.from_us if gone else end_us + 1
        if gone:
            yield NodeRun(node, from_us, until_us, "unknown", first, gone.down, until_us, from_us, gone.reason)
        else:
            yield NodeRun(node, from_us, None, None, first, first, end_us, from_us)


def is_booting(run: NodeRun) -> bool:
    """Return True if a node is still booting as the logs end."""
    return run.until_us is None and run.started_us is None and run.first.kind == "node_starting"
