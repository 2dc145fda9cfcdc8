"""Can the queues be moved to quorum queues: in a sentence, and what has to be done for it."""

from __future__ import annotations

from hawb.planning.crossing import later
from hawb.planning.migration import Migration, Move
from hawb.views.formatting import counted, listing, shown
from hawb.views.report import MOST_TO_DO, ToDo, Verdict


def verdict(plan: Migration) -> Verdict:
    """Yes where queues need nothing but the type, no where one of them cannot be a quorum queue."""
    counts, every = plan.counts, len(plan.moves)
    stay = [move for move in plan.moves if move.verdict == "not"]
    changed = [move for move in plan.moves if move.verdict == "ready with changes"]
    done = counts["quorum already"]
    already = f"; {done:,} {'is a quorum queue' if done == 1 else 'are quorum queues'} already" if done else ""
    if not plan.moves:
        return Verdict("yes", "there is no queue to be moved")
    if stay:
        why = f", because of this: {shown(_why(stay[0]))}" if len(stay) == 1 else ""
        return Verdict("no", f"{len(stay):,} of {counted(every, 'queue')} cannot be quorum queues: {_names(stay)}{why}")
    if changed:
        need = f"{len(changed):,} of {counted(every, 'queue')} {'needs' if len(changed) == 1 else 'need'} changes first"
        return Verdict("but", f"{need}: {_names(changed)}{already}")
    if plan.clashes:
        clashes = counted(len(plan.clashes), "clash", "clashes")
        return Verdict("but", f"{clashes} {'has' if len(plan.clashes) == 1 else 'have'} to be settled first{already}")
    if not counts["ready"]:
        return Verdict("yes", "every queue is a quorum queue already")
    return Verdict("yes", f"nothing changes for {counted(counts['ready'], 'queue')} but the type{already}")


def _names(moves: list[Move]) -> str:
    return listing(move.queue.full_name for move in moves)


def _why(move: Move) -> str:
    return "; ".join(one.what for one in move.weights["blocks"] or move.reasons)


def todo(plan: Migration, command: str) -> tuple[ToDo, ...]:
    """What to do: settle clashes, change who declares queues, leave those that cannot be moved, follow the runbook."""
    asked = []
    if plan.clashes:
        names = listing(dict.fromkeys(clash.name for clash in plan.clashes))
        asked.append(ToDo(f"Settle {counted(len(plan.clashes), 'clash', 'clashes')} first: {names}."))
    if plan.crossing is not None and plan.crossing.refused:
        told = "; ".join(f"{listing(one.names)}: {shown(one.do)}" for one in plan.crossing.refused)
        asked.append(ToDo(f"Change what {plan.target.release} refuses. {told}."))
    anew = [move for move in plan.moves if move.redeclare is not None and move.type == "quorum"]
    if anew:
        asked.append(ToDo(f"Change the applications that declare {_names(anew)}: declared as before they are refused."))
    if waiting := later(plan):
        asked.append(ToDo(f"Leave {_names(waiting)} for the end of the road: no release before 4.0 takes them."))
    if any(move.verdict == "not" for move in plan.moves):
        stay = [move for move in plan.moves if move.verdict == "not"]
        asked.append(ToDo(f"Decide about {_names(stay)}: a classic queue has one replica from 4.0 on."))
    runbook = ToDo("Follow the runbook, which comes with the definitions to import.", (command,))
    return (*asked[: MOST_TO_DO - 1], runbook)
