"""The Raft group of a quorum queue or of the metadata store: each member's term, role and vote, and all logs.

Outcomes do not contain this, so it is drawn from the engine's state. A column begins at each index where one of the
logs, or a member's knowledge of its log, changes, and logs stand below each other by index. So the reader sees at once
which member lacks which entries, and where logs differ. A member whose node is down is drawn with the log on its disk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from hawb.engine.core.state import RUNNING, STARTED, State
from hawb.engine.raft_groups.group import STORE, Group
from hawb.languages import N_, _, ngettext
from hawb.raft.group import command_text, describe, entries_text
from hawb.raft.member import DOWN, LEADER, NOWHERE, ROLES, Member
from hawb.rules.quorum import majority
from hawb.views import style
from hawb.views.formatting import counted, listing, shown, whole

SHOWN_RUNS, SHOWN_WAITING = 4, 3
"""The maximum number of a log's columns, besides one for all earlier entries, and of listed waiting commands."""

COLUMNS = (N_("member"), N_("role"), N_("term"), N_("vote"), N_("commit"))

CELL = "padding:0 4px;text-align:left;white-space:nowrap"
AGREED, WAITING = style.LOOKS["follower"].colour, style.LOOKS["waiting"].colour
COMMITTED = f"{CELL};background:{AGREED}33;border:1px solid {AGREED}"
UNCOMMITTED = f"{CELL};border:1px dashed {WAITING}"
MISSING = f"{CELL};color:{style.FAINT}"


LOOKS = {"pre_vote": "waiting", "candidate": "waiting"}
"""The looks of roles that share one with another role."""


class Cell(Struct, frozen=True):
    """A column of a member's log.

    `committed` is True if the member knows that the entries are committed, False if it does not, None if there are no
    entries.
    """

    text: str
    about: str
    committed: bool | None


def members(state: State, queue: str) -> dict[int, Member]:
    """Return the members of a queue's group by node.

    A member that does not run has the role down and the log on its disk. Raise ValueError if the queue is not a quorum
    queue.
    """
    if queue not in state.groups:
        known = ", ".join(map(repr, state.groups)) or "none"
        raise ValueError(f"there is no quorum queue {queue!r}; those that there are: {known}")
    group = state.groups[queue]
    return {
        node: member if _runs(state, group, node) else replace(member, role=DOWN, log=member.log.on_disk(), peers=())
        for node, member in sorted(group.members.items())
    }


def _runs(state: State, group: Group, node: int) -> bool:
    statuses = STARTED if group.name == STORE else (RUNNING,)
    return state.nodes[node].status in statuses and not group.stopped >> node & 1


def text(state: State, names: Sequence[str], queue: str) -> str:
    """Return the group as `hawb.raft.group.describe` draws it, followed by the commands that wait for a majority."""
    drawn = describe(members(state, queue), lambda node: shown(names[node]))
    return drawn + "".join(f"{line}\n" for line in waiting(state, names, queue))


def waiting(state: State, names: Sequence[str], queue: str) -> list[str]:
    """Return a line about the clients' commands that are not committed yet, as a list; empty if there are none."""
    asked = [
        _("{command} of a client on {node}", command=command_text(proposal), node=shown(names[proposal.node]))
        if proposal.node >= 0
        else command_text(proposal)
        for proposal in state.groups[queue].waiting
    ]
    if not asked:
        return []
    more = len(asked) - SHOWN_WAITING
    others = [ngettext("{count} other", "{count} others", more, count=whole(more))] if more > 0 else []
    return [_("waiting to be committed: {commands}", commands=shown("; ".join([*asked[:SHOWN_WAITING], *others])))]


def html(state: State, names: Sequence[str], queue: str) -> str:
    """Return the group as an HTML table."""
    group = members(state, queue)
    cuts = _cuts(group)
    head = "".join(f'<th scope="col" style="{CELL};color:{style.FAINT}">{_(name)}</th>' for name in COLUMNS)
    head += "".join(
        f'<th scope="col" style="{CELL};color:{style.FAINT};font-weight:400">{_range(first, then - 1)}</th>'
        for first, then in pairwise(cuts)
    )
    alone = {node for node, member in group.items() if member.role == LEADER and not reaches_majority(state, member)}
    body = "".join(_row(member, node in alone, names, cuts) for node, member in group.items())
    lines = "".join(f"<div>{escape(line)}</div>" for line in waiting(state, names, queue))
    return (
        f'<table style="border-collapse:separate;border-spacing:1px;font:11px {style.FONT};color:{style.INK}">'
        f'<caption style="text-align:left;font-weight:600">{escape(heading(queue))}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{lines}"
    )


def titled(queue: str) -> str:
    """Return the name of a group."""
    return _("the metadata store") if queue == STORE else shown(queue)


def heading(queue: str) -> str:
    """Return the heading of a group's logs."""
    return _("Raft log of {queue}", queue=titled(queue))


def reaches_majority(state: State, leader: Member) -> bool:
    """Return True if a leader reaches a majority of its group."""
    cut = {frozenset(link) for link, _ in state.cuts}
    near = [node for node in leader.members if state.nodes[node].status == RUNNING and {node, leader.id} not in cut]
    return len(near) >= majority(len(leader.members))


def _cuts(group: dict[int, Member]) -> list[int]:
    """Return the indices at which columns begin, and the index after the last.

    A column begins where a run begins in any log, or where the committed entries or those on disk end. If there are too
    many columns, the earlier ones become one.
    """
    last = max((member.log.last_index for member in group.values()), default=0)
    ends = {1, last + 1}
    for member in group.values():
        ends |= {member.log.snapshot.index + 1, member.commit_index + 1, member.log.written + 1}
        ends |= {run.first for run in member.log.runs} | {member.log.last_index + 1}
    cuts = sorted(end for end in ends if end <= last + 1)
    return [1, *cuts[-SHOWN_RUNS - 1 :]] if len(cuts) > SHOWN_RUNS + 2 else cuts


def _range(first: int, last: int) -> str:
    return whole(first) if first == last else _("{first} to {last}", first=whole(first), last=whole(last))


def _row(member: Member, alone: bool, names: Sequence[str], cuts: list[int]) -> str:
    role = ROLES[member.role]
    look = style.LOOKS["leader_alone" if alone else LOOKS.get(role, role)]
    vote = "" if member.voted_for == NOWHERE else shown(names[member.voted_for])
    parts = "".join(
        f'<td style="{CELL}">{part}</td>'
        for part in (
            f'<span role="img" aria-label="{look.label}" title="{look.label}" style="color:{look.colour}">{look.glyph}'
            f"</span> {role.replace('_', '-')}",
            f"{member.term}",
            f"<bdi>{escape(vote)}</bdi>",
            whole(member.commit_index),
        )
    )
    cells = "".join(map(_cell, cells_of(member, names, cuts)))
    name = escape(shown(names[member.id]))
    return f'<tr><th scope="row" style="{CELL};font-weight:600"><bdi>{name}</bdi></th>{parts}{cells}</tr>'


def _cell(one: Cell) -> str:
    shape = MISSING if one.committed is None else COMMITTED if one.committed else UNCOMMITTED
    return f'<td style="{shape}" title="{escape(one.about)}">{escape(one.text)}</td>'


def cells_of(member: Member, names: Sequence[str], cuts: Sequence[int]) -> Iterator[Cell]:
    """Yield a member's log between each two of the `cuts`; a term is written where it differs from the entry before."""
    term = None
    for first, then in pairwise(cuts):
        yield cell(member, names, first, then - 1, term)
        term = member.log.term_at(then - 1)


def cell(member: Member, names: Sequence[str], first: int, last: int, term: int | None = None) -> Cell:
    """Return a member's log from entry `first` to `last`, after an entry of `term`."""
    log, where = member.log, _range(first, last)
    if last <= log.snapshot.index:
        return Cell(_("snapshot"), _("{entries}: in the snapshot", entries=where), committed=True)
    runs = log.between(first, last)
    if not runs:
        return Cell("", _("{entries}: no entry", entries=where), committed=None)
    end = runs[-1].last
    committed, on_disk = end <= member.commit_index, end <= log.written
    states = entry_states(committed, on_disk)
    terms = list(dict.fromkeys(run.term for run in runs))
    label = entries_text(runs[0], names.__getitem__) if len(runs) == 1 else counted(end - first + 1, "entry")
    label = label if terms == [term] else f"{', '.join(f't{term}' for term in terms)} {label}"
    words = {"entries": _range(first, end), "terms": listing(terms), "states": listing(states)}
    about = _("{entries}: term {terms}, {states}", **words)
    label = shown(label)
    return Cell(label if on_disk else _("{entries}, not on disk", entries=label), about, committed)


def entry_states(committed: bool, on_disk: bool) -> list[str]:
    """Return in words if a member knows that an entry is committed, and if the entry is on its disk."""
    known = _("committed") if committed else _("not known to be committed")
    return [known, _("on disk") if on_disk else _("not on disk")]
