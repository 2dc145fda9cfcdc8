"""Members of quorum queues that no log says were added, and no listing has: they find a leader, as
`hawb.incident.added_again` tells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from hawb.incident.added_again import LATE_US, added_again
from hawb.incident.before import Before
from hawb.incident.events import Event, queue_of
from hawb.incident.happening import Happening
from hawb.incident.teller import Told
from hawb.rules.quorum_profiles import QUORUM_PROFILES
from hawb.scenario import verbs


def told_by_members(
    before: Before, told: Sequence[Told], seen: Iterable[tuple[int, Event]], begins_us: int
) -> Iterator[Told]:  # fmt: skip
    """The steps that added those who are no members by how the cluster stood when the story begins, and find a leader
    later. `seen` are the leaders that members found."""
    absent = [(begins_us - 2 * LATE_US, "member_removed", entry["queue"], node) for entry in before.queues
              if entry.get("members") for node in before.cluster["nodes"] if node not in entry["members"]]  # fmt: skip
    changes = [*absent, *(change for step in told for change in _changes(step, before))]
    since = ((at_us, event) for at_us, event in seen if at_us > begins_us)
    for at_us, event in added_again(changes, since):
        queue = queue_of(event) or ""
        source = Happening(kind="member_added", at_us=at_us, node=event.node, queue=queue, events=(event,))
        yield Told(at_us, verbs.AddMember(queue, event.node), (source,))


def _changes(step: Told, before: Before) -> Iterator[tuple[int, str, str | None, str | None]]:
    """What a step tells of who is a member."""
    match step.verb:
        case verbs.AddMember(queue=queue, node=node):
            yield step.at_us, "member_added", queue, node
        case verbs.DeleteMember(queue=queue, node=node):
            yield step.at_us, "member_removed", queue, node
        case verbs.Declare(queue=queue) | verbs.Delete(queue=queue):
            yield step.at_us, "queue_deleted", queue, None
        case verbs.ForgetClusterNode(node=node) if QUORUM_PROFILES[before.cluster["version"]].shrinks_as_forgetting:
            groups = (entry["queue"] for entry in before.queues if entry.get("members"))
            yield from ((step.at_us, "member_removed", queue, node) for queue in groups)
