"""The verdict on a migration to quorum queues, and what to do for it."""

from __future__ import annotations

from hawb.planning.crossing import later
from hawb.planning.migration import Migration, Move
from hawb.views.formatting import counted, listing, shown
from hawb.views.hawb_commands import DEFINITIONS, EXPORT
from hawb.views.planning import applications
from hawb.views.report import MOST_TO_DO, ToDo, Verdict

STAY = {"stream": ("a stream", "streams"), "classic": ("a classic queue", "classic queues")}
"""The words for queues that keep their type: for one and for several."""


def verdict(plan: Migration) -> Verdict:
    """Return the verdict: yes if only the type changes, yes with a but if more has to change first.

    Return no if a queue cannot be a quorum queue, unknown if a file is missing that decides it. Only the queues that
    the migration concerns are counted.
    """
    affected, stay, changed = plan.affected, plan.with_verdict("not"), plan.with_verdict("ready with changes")
    unknown_facts = [move for move in plan.moved if move.unknown_facts]
    also = _unaffected(plan)
    beside = f"; {', '.join(also)}" if also else ""
    if not plan.queues_listed:
        return Verdict("unknown", "no file lists queues")
    if not plan.moves:
        return Verdict("yes", "there is no queue, and nothing to do")
    if stay:
        why = shown(_why(stay[0])) if len(stay) == 1 else ""
        why = why and (f", because it {why}" if why.startswith("is ") else f": {why}")
        return Verdict("no", f"{_of(stay, affected)} cannot be {_quorum_queues(stay)}{why}{beside}")
    if unknown_facts:
        missing = listing(dict.fromkeys(what for move in unknown_facts for what in move.unknown_facts))
        return Verdict("unknown", f"no file contains {missing} of {_of(unknown_facts, affected)}{beside}")
    if changed:
        return Verdict("but", f"{_of(changed, affected)} {_need(changed)} changes first{beside}")
    if plan.clashes:
        clashes = counted(len(plan.clashes), "conflict")
        return Verdict("but", f"{clashes} must be resolved first{beside}")
    if not affected and len(also) == 1 and plan.with_verdict("quorum already"):
        return Verdict("yes", "every queue is already a quorum queue; nothing to do")
    if not affected:
        return Verdict("yes", f"{', '.join(also)}; nothing to do")
    return Verdict("yes", f"nothing changes for {_of(affected, affected)} but the type{beside}")


def _unaffected(plan: Migration) -> list[str]:
    """Return clauses about the queues that the migration does not concern, one for each kind."""
    done = len(plan.with_verdict("quorum already"))
    parts = [f"{done:,} {'is a quorum queue' if done == 1 else 'are quorum queues'} already"] if done else []
    kinds: dict[tuple[str, str], list[Move]] = {}
    for move in plan.with_verdict("stays"):
        kinds.setdefault(STAY.get(move.queue.type, ("as it is", "as they are")), []).append(move)
    for (one, several), moves in kinds.items():
        parts.append(f"{_names(moves)} stays {one}" if len(moves) == 1 else f"{len(moves):,} stay {several}")
    return parts


def _of(moves: list[Move], affected: list[Move]) -> str:
    """Return some of the queues that the migration concerns: their number, the total, and their names."""
    if len(affected) == 1:
        return _names(moves)
    if len(moves) == len(affected):
        return f"{len(moves):,} queues ({_names(moves)})"
    return f"{len(moves):,} of {counted(len(affected), 'queue')} ({_names(moves)})"


def _need(moves: list[Move]) -> str:
    return "needs" if len(moves) == 1 else "need"


def _quorum_queues(moves: list[Move]) -> str:
    return "a quorum queue" if len(moves) == 1 else "quorum queues"


def _names(moves: list[Move]) -> str:
    return listing(move.queue.full_name for move in moves)


def _why(move: Move) -> str:
    return "; ".join(one.what for one in move.weights["blocks"] or move.reasons)


def todo(plan: Migration, command: tuple[str, ...] = ()) -> tuple[ToDo, ...]:
    """Return what to do.

    The to-dos are: resolve clashes, change applications that declare queues, decide about queues that cannot be
    migrated, and follow the runbook, which `command` writes.
    """
    asked = []
    if not plan.queues_listed or any(move.unknown_facts for move in plan.moved):
        again = (one.replace("migrate", f"migrate {DEFINITIONS}", 1) for one in command)
        asked.append(ToDo("Export the definitions and run this command with them.", (EXPORT, *again)))
    if clashes := [clash for clash in plan.clashes if clash.code != "redeclare"]:
        names = listing(dict.fromkeys(clash.name for clash in clashes))
        asked.append(ToDo(f"Resolve {counted(len(clashes), 'conflict')} first: {names}."))
    asked += applications.todo(plan)
    if plan.crossing is not None and plan.crossing.refused:
        refusals = "; ".join(f"{listing(one.names)}: {shown(one.do)}" for one in plan.crossing.refused)
        asked.append(ToDo(f"Change the settings and declarations that {plan.target.release} refuses. {refusals}."))
    if waiting := later(plan):
        asked.append(ToDo(f"Move {_names(waiting)} last: no release before 4.0 accepts them."))
    if stay := plan.with_verdict("not"):
        asked.append(ToDo(_decide(stay, plan)))
    if plan.moved or (plan.crossing is not None and plan.crossing.refused):
        runbook = "Follow the runbook, which comes with the definitions to import."
        return (*asked[: MOST_TO_DO - 1], ToDo(runbook, command))
    return tuple(asked[:MOST_TO_DO])


def _decide(stay: list[Move], plan: Migration) -> str:
    """Return the decision to make about queues that cannot be migrated."""
    mirrored = [] if plan.target.mirroring else [move for move in stay if move.mirrored]
    if mirrored:
        return f"Decide about {_names(mirrored)}: mirrored today, with one replica from 4.0 on."
    return f"Decide about {_names(stay)}: leave classic, or declare again without the setting that prevents the move."
