"""The logs of a Raft group entry by entry, as plain values, and the entries that a step truncated.

For each of the last indices it has each member's entry, its term, and if the member knows that it is committed.
"""

from __future__ import annotations

from collections.abc import Sequence

from hawb.engine.core.state import State
from hawb.languages import _
from hawb.raft.group import entries_text
from hawb.raft.log import Log
from hawb.raft.member import LEADER, NOWHERE, ROLES, Member
from hawb.views import style
from hawb.views.cluster.elections import under_way
from hawb.views.cluster.raft import LOOKS, entry_states, heading, members, reaches_majority, titled, waiting
from hawb.views.formatting import commas, counted, shown, whole

LATEST = 14
"""The maximum number of indices shown side by side; earlier entries are only counted."""


def logs(state: State, names: Sequence[str], queue: str, latest: int = LATEST) -> dict | None:
    """Return the logs of the group of a queue, or of the metadata store; None if there is no such group.

    The metadata store's name is `hawb.engine.raft_groups.group.STORE`. `first` is the first index with entries of its
    own, of `latest` at most; `last` is the last index of any member. `waiting` are lines about commands that are not
    committed yet, and about requests and answers of elections that are under way.
    """
    if queue not in state.groups:
        return None
    group = members(state, queue)
    last = max((member.log.last_index for member in group.values()), default=0)
    first = max(1, last - latest + 1)
    return {
        "title": heading(queue),
        "first": first,
        "last": last,
        "members": [_member(state, member, names, first, last) for member in group.values()],
        "waiting": [*waiting(state, names, queue), *(one["text"] for one in under_way(state, names, [queue]))],
    }


def _member(state: State, member: Member, names: Sequence[str], first: int, last: int) -> dict:
    alone = member.role == LEADER and not reaches_majority(state, member)
    role = ROLES[member.role]
    look = "leader_alone" if alone else LOOKS.get(role, role)
    vote = "" if member.voted_for == NOWHERE else shown(names[member.voted_for])
    earlier = min(first - 1, member.log.last_index)
    return {
        "node": shown(names[member.id]),
        "look": look,
        "glyph": style.LOOKS[look].glyph,
        "role": role.replace("_", "-"),
        "term": member.term,
        "vote": vote,
        "commit": member.commit_index,
        "earlier": earlier,
        "entries": [_entry(member, names, index) for index in range(first, last + 1)],
        "told": _(
            "{node}: {role} in term {term}, {entries}, committed up to {commit}",
            node=shown(names[member.id]), role=style.LOOKS[look].label, term=member.term,
            entries=counted(member.log.last_index, "entry"), commit=whole(member.commit_index),
        ),
    }  # fmt: skip


def _entry(member: Member, names: Sequence[str], index: int) -> dict | None:
    """Return a member's entry at an index; None if there is none."""
    log = member.log
    if index > log.last_index:
        return None
    committed, written = index <= member.commit_index, index <= log.written
    if index <= log.snapshot.index:
        text, term = _("snapshot"), log.snapshot.term
    else:
        (run,) = log.between(index, index)
        text, term = shown(entries_text(run, names.__getitem__)), run.term
    return {
        "term": term,
        "text": text,
        "committed": committed,
        "written": written,
        "told": _(
            "entry {index}, term {term}: {text}; {states}", index=whole(index), term=term, text=text,
            states=commas(entry_states(committed, written)),
        ),
    }  # fmt: skip


def cut_off(before: State, after: State, names: Sequence[str]) -> list[dict]:
    """Return the logs from which a leader's entries displaced others between two states."""
    found = []
    for name, group in after.groups.items():
        for node, member in group.members.items():
            was = before.groups[name].members.get(node) if name in before.groups else None
            if was is not None and was.log is not member.log and (entries := _gone(was.log, member.log)):
                words = {"node": shown(names[node]), "entries": counted(entries, "entry"), "queue": titled(name)}
                sentence = _("{node} cuts {entries} off its log of {queue}.", **words)
                found.append({"queue": name, "node": names[node], "entries": entries, "text": sentence})
    return found


def _gone(was: Log, now: Log) -> int:
    """Return the number of entries that a log had and does not have any more, replaced or truncated."""
    kept = min(was.last_index, now.last_index)
    while kept > max(was.snapshot.index, now.snapshot.index) and was.term_at(kept) != now.term_at(kept):
        kept -= 1
    return was.last_index - kept if kept >= now.snapshot.index else 0
