"""The Raft group of a quorum queue, or of the metadata store, as it stands: of each member its term, role and vote, and
its log beside the others'.

No outcome tells this, so it is drawn from the engine's state. Columns begin wherever one of the logs, or what a member
knows of its log, changes, and logs stand below each other by index: who lacks what, and where two logs differ, is seen
at once. A member whose node is down is drawn as its disk has it.
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
"""How many columns a log has at most, beside one for all earlier entries, and how many waiting commands are listed."""

COLUMNS = (N_("member"), N_("role"), N_("term"), N_("vote"), N_("commit"))

CELL = "padding:0 4px;text-align:left;white-space:nowrap"
AGREED, WAITING = style.LOOKS["follower"].colour, style.LOOKS["waiting"].colour
COMMITTED = f"{CELL};background:{AGREED}33;border:1px solid {AGREED}"
UNCOMMITTED = f"{CELL};border:1px dashed {WAITING}"
MISSING = f"{CELL};color:{style.FAINT}"


LOOKS = {"pre_vote": "waiting", "candidate": "waiting"}
"""The looks of roles that share one with another role."""


class Cell(Struct, frozen=True):
    """A member's log in one column: `text`, and whether the member knows the entries there to be committed and has them
    on disk; None where it has no entry."""

    text: str
    about: str
    committed: bool | None


def members(state: State, queue: str) -> dict[int, Member]:
    """The members of a queue's group by their nodes; one that does not run has the role down and what is on its disk.
    Raises ValueError for what is no quorum queue."""
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
    """The group as `hawb.raft.group.describe` draws it, and the commands that wait for a majority."""
    drawn = describe(members(state, queue), lambda node: shown(names[node]))
    return drawn + "".join(f"{line}\n" for line in waiting(state, names, queue))


def waiting(state: State, names: Sequence[str], queue: str) -> list[str]:
    """A line about the commands that clients have asked for and that are not committed, if there are any."""
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
    """The group as an HTML table."""
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
    """What a group is called."""
    return _("the metadata store") if queue == STORE else shown(queue)


def heading(queue: str) -> str:
    """What stands above a group's logs."""
    return _("Raft log of {queue}", queue=titled(queue))


def reaches_majority(state: State, leader: Member) -> bool:
    """Whether a leader reaches a majority of its group."""
    cut = {frozenset(link) for link, _ in state.cuts}
    near = [node for node in leader.members if state.nodes[node].status == RUNNING and {node, leader.id} not in cut]
    return len(near) >= majority(len(leader.members))


def _cuts(group: dict[int, Member]) -> list[int]:
    """Where columns begin, and the index behind the last: wherever in any log a run begins, or the committed entries or
    those on disk end. All but the last columns become one."""
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
            f'<span role="img" aria-label="{look.told}" title="{look.told}" style="color:{look.colour}">{look.glyph}'
            f"</span> {role.replace('_', '-')}",
            f"{member.term}",
            f"<bdi>{escape(vote)}</bdi>",
            whole(member.commit_index),
        )
    )
    cells = "".join(map(_cell, cells_of(member, names, cuts)))
    name = escape(shown(names[member.id]))
    return f'<tr><th scope="row" style="{CELL};font-weight:600"><bdi>{name}</bdi></th>{parts}{cells}</tr>'


def _cell(told: Cell) -> str:
    shape = MISSING if told.committed is None else COMMITTED if told.committed else UNCOMMITTED
    return f'<td style="{shape}" title="{escape(told.about)}">{escape(told.text)}</td>'


def cells_of(member: Member, names: Sequence[str], cuts: Sequence[int]) -> Iterator[Cell]:
    """A member's log between each two of the `cuts`; a term is written where it differs from the entry before."""
    term = None
    for first, then in pairwise(cuts):
        yield cell(member, names, first, then - 1, term)
        term = member.log.term_at(then - 1)


def cell(member: Member, names: Sequence[str], first: int, last: int, term: int | None = None) -> Cell:
    """A member's log from entry `first` to `last`, behind an entry of `term`."""
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
    told = entries_text(runs[0], names.__getitem__) if len(runs) == 1 else counted(end - first + 1, "entry")
    told = told if terms == [term] else f"{', '.join(f't{term}' for term in terms)} {told}"
    words = {"entries": _range(first, end), "terms": listing(terms), "states": listing(states)}
    about = _("{entries}: term {terms}, {states}", **words)
    told = shown(told)
    return Cell(told if on_disk else _("{entries}, not on disk", entries=told), about, committed)


def entry_states(committed: bool, on_disk: bool) -> list[str]:
    """What a member knows of an entry, and whether its disk has it, in words."""
    known = _("committed") if committed else _("not known to be committed")
    return [known, _("on disk") if on_disk else _("not on disk")]
