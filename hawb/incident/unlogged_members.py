"""Find members of quorum queues that no log says were added, and no listing has.

They log a leader, as `hawb.incident.added_again` explains.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from hawb.incident.added_again import MEMBERSHIP_CHANGES, added_again
from hawb.incident.before import Before
from hawb.incident.cluster_event import ClusterEvent
from hawb.incident.events import Event, queue_of
from hawb.incident.step_context import TimedStep
from hawb.rules.quorum_profiles import QUORUM_PROFILES
from hawb.scenario import verbs


def with_unlogged_members(
    before: Before, found: Sequence[ClusterEvent], seen: Iterable[tuple[int, Event]], begins_us: int
) -> tuple[Before, list[TimedStep]]:  # fmt: skip
    """Return the initial state with members that logs reveal, and the steps that added those that appear later.

    Members are in the initial state if they had found a leader by then though a listing does not have them. `seen` are
    the leaders that members found.
    """
    # A listing shows the queue declared last before the scenario begins; when it was made is unknown.
    declared_us = {one.queue: one.at_us for one in found if one.kind == "queue_declared" and one.at_us <= begins_us}
    absent = [(declared_us.get(entry["queue"], 0) + 1, "member_removed", entry["queue"], node)
              for entry in before.queues if entry.get("members")
              for node in before.cluster["nodes"] if node not in entry["members"]]  # fmt: skip
    changes = [*absent, *(change for one in found for change in _changes(one, before))]
    there: dict[str, list[str]] = {}
    steps = []
    for at_us, event in added_again(changes, seen):
        queue = queue_of(event) or ""
        if at_us <= begins_us:
            there.setdefault(queue, []).append(event.node)
        else:
            source = ClusterEvent(kind="member_added", at_us=at_us, node=event.node, queue=queue, events=(event,))
            steps.append(TimedStep(at_us, verbs.AddMember(queue, event.node), (source,)))
    queues = [entry | {"members": [*entry["members"], *there[entry["queue"]]]} if entry["queue"] in there else entry
              for entry in before.queues]  # fmt: skip
    return replace(before, queues=queues), steps


def _changes(one: ClusterEvent, before: Before) -> Iterator[tuple[int, str, str | None, str | None]]:
    """Yield what an event shows of membership; the members of a queue that is declared again are others."""
    if one.kind in MEMBERSHIP_CHANGES:
        yield one.at_us, one.kind, one.queue, one.node
    elif one.kind == "queue_declared":
        yield one.at_us, "queue_deleted", one.queue, None
    elif one.kind == "node_forgotten" and QUORUM_PROFILES[before.cluster["version"]].shrinks_as_forgetting:
        groups = (entry["queue"] for entry in before.queues if entry.get("members"))
        yield from ((one.at_us, "member_removed", queue, one.node) for queue in groups)
