"""A Raft group drawn as text: a line for each member, and one for a leader's progress records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from hawb.raft.log import Configuration, Log, Noop, Run
from hawb.raft.member import NOWHERE, ROLES, Member

Names = Callable[[int], str]

COLUMNS = ("", "role", "term", "voted for", "leader", "log")
NO_MEMBER = "-"


def describe(group: Mapping[int, Member | None], names: Names = str) -> str:
    """Return terms, votes, roles and logs of a group's members by their numbers, None for one that is down.

    A log is written term by term, with a batch of entries as one; `|` marks the member's commit index and `~` the last
    entry on its disk. A line below a leader shows each peer's match index and next index.
    """
    rows = [COLUMNS]
    for member in sorted(group):
        rows.extend(_rows(member, group[member], names))
    widths = [max(len(row[at]) for row in rows) for at in range(len(COLUMNS) - 1)]
    return "\n".join("  ".join([*map(str.ljust, row, widths), row[-1]]).rstrip() for row in rows) + "\n"


def _rows(number: int, member: Member | None, names: Names) -> Iterable[tuple[str, ...]]:
    if member is None:
        yield names(number), "down", "", "", "", ""
        return
    voted_for, leader = (NO_MEMBER if one == NOWHERE else names(one) for one in (member.voted_for, member.leader))
    log = draw(member.log, member.commit_index, names)
    yield names(number), ROLES[member.role], str(member.term), voted_for, leader, log
    if member.peers:
        known = (f"{names(peer.id)} {peer.match_index} next {peer.next_index}" for peer in member.peers)
        yield "", "", "", "", "", "peers: " + ", ".join(known)


def draw(log: Log, commit_index: int, names: Names = str) -> str:
    """Return a log as text: its snapshot's index and its entries."""
    parts = [f"[..{log.snapshot.index}]"] if log.snapshot.index else []
    marks = _marks_at(log, commit_index, log.snapshot.index)
    parts.extend([marks] if marks else [])
    parts.extend(_by_term(_cut(log, commit_index), names, lambda index: _marks_at(log, commit_index, index)))
    return " ".join(parts)


def draw_runs(runs: Iterable[Run], names: Names = str) -> str:
    """Return entries as text, term by term."""
    return " ".join(_by_term(runs, names, lambda index: ""))


def _by_term(runs: Iterable[Run], names: Names, marks_at: Callable[[int], str]) -> Iterable[str]:
    term = None
    for run in runs:
        if run.term != term:
            yield f"t{run.term}:"
        yield _entries(run, names) + marks_at(run.last)
        term = run.term


def _cut(log: Log, commit_index: int) -> Iterable[Run]:
    """Yield the runs, each cut where a mark stands inside it."""
    for run in log.runs:
        ends = sorted({commit_index, log.written, run.last})
        first = run.first
        for end in (end for end in ends if first <= end <= run.last):
            yield run.part(first, end)
            first = end + 1


def _marks_at(log: Log, commit_index: int, index: int) -> str:
    return ("|" if index == commit_index else "") + ("~" if index == log.written else "")


def _entries(run: Run, names: Names) -> str:
    where = str(run.first) if run.count == 1 else f"{run.first}..{run.last}"
    return f"{where} {entries_text(run, names)}"


def entries_text(run: Run, names: Names = str) -> str:
    """Return a batch's command as text. A command that stands for several says which of them this part is."""
    part = getattr(run.command, "part", None)
    return command_text(part(run.offset, run.count) if part else run.command, names)


def command_text(command: object, names: Names = str) -> str:
    """Return an entry's command as text."""
    match command:
        case Noop():
            return "noop"
        case Configuration(members):
            return "members=" + "+".join(names(member) for member in members)
        case _:
            return str(command)
