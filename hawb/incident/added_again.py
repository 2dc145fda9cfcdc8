"""Find members of quorum queues that were added again without a log message about it.

Before 3.13 `rabbit_quorum_queue:add_member` logs nothing; but a node without a member receives nothing from a leader. A
member that finds a leader on a node that had lost its member was added again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hawb.incident.events import Event, queue_of

MEMBERSHIP_CHANGES = ("member_removed", "member_added", "member_change_failed", "queue_deleted")
"""Kinds of events that show if a member exists; a queue that is declared again has other members."""
LATE_US = 1_000_000
"""Maximum time for which a removed member may still seem to log."""


def added_again(
    changes: Iterable[tuple[int, str, str | None, str | None]], seen: Iterable[tuple[int, Event]]
) -> Iterator[tuple[int, Event]]:
    """Yield the first message that shows that a member was added again, with its time.

    `changes` are times, kinds of `MEMBERSHIP_CHANGES`, queues and nodes; `seen` are messages about leaders that members
    found.
    """
    removed: dict[tuple[str | None, str | None], int] = {}
    ordered = [*((at_us, 0, (kind, queue, node)) for at_us, kind, queue, node in changes),
            *((at_us, 1, event) for at_us, event in seen)]  # fmt: skip
    for at_us, _, one in sorted(ordered, key=lambda entry: entry[:2]):
        if isinstance(one, Event):
            about = queue_of(one), one.node
            if at_us - removed.get(about, at_us) > LATE_US:
                removed.pop(about)
                yield at_us, one
        elif one[0] == "member_removed":
            removed[one[1:]] = at_us
        else:
            removed = {about: since_us for about, since_us in removed.items() if about[0] != one[1]
                       or (about[1] != one[2] and one[0] != "queue_deleted")}  # fmt: skip
