"""Do the queues outlive so many failures with the replicas that they have, in a sentence, and what to change."""

from __future__ import annotations

from hawb.engine.naming import split_queue
from hawb.rules.quorum import tolerated_failures
from hawb.study.replicas import Advice, WhatIf
from hawb.views.formatting import counted, listing
from hawb.views.markdown import bash_word
from hawb.views.report import ToDo, Verdict

MOST_COMMANDS = 3


def verdict(found: WhatIf) -> Verdict:
    """No where queues do not outlive so many failures, or nodes are too few for it; yes with a but where mirrored ones
    do while their mirrors are synchronised, or files do not tell; yes where a majority of each outlives them."""
    failures, every = counted(found.failures, "failure"), counted(len(found.advice), "queue")
    few = [one for one in found.advice if one.has is not None and tolerated(one) < found.failures]
    unknown = [one for one in found.advice if one.has is None]
    mirrored = [one for one in found.advice if one.queue.type == "classic" and (one.has or 0) > 1]
    if not found.advice:
        return Verdict("yes", "there is no queue")
    if few:
        does = "does" if len(few) == 1 else "do"
        return Verdict("no", f"{len(few):,} of {every} {does} not outlive {failures}: {_names(few)}")
    if found.nodes is not None and found.nodes < found.members:
        return Verdict("no", f"{counted(found.nodes, 'node')} are too few for {failures}: {found.members} are needed")
    if unknown:
        of = "of none" if len(unknown) == len(found.advice) else f"not of {_names(unknown)}"
        return Verdict("but", f"only as far as files tell, and {of} they tell how many replicas there are")
    if mirrored and found.failures:
        which = f"{len(mirrored):,} of {every} only" if len(mirrored) < len(found.advice) else "only"
        return Verdict("but", f"{which} while mirrors are synchronised: {_names(mirrored)}")
    return Verdict("yes", f"every queue outlives {failures}")


def tolerated(one: Advice) -> int:
    """How many failures a queue outlives with the replicas that it has: a mirrored one all but one of them, while its
    mirrors are synchronised; others as long as a majority is left."""
    has = one.has or 0
    return has - 1 if one.queue.type == "classic" else tolerated_failures(has)


def todo(found: WhatIf) -> tuple[ToDo, ...]:
    """What to do: add nodes, grow quorum queues, move classic queues, look at those that cannot be moved."""
    asked = []
    if found.nodes is not None and found.nodes < found.members:
        asked.append(ToDo(f"Add nodes: {found.members} hold a member each."))
    quorum = [one for one in found.advice if one.queue.type == "quorum" and (one.has or one.replicas) < one.replicas]
    if quorum:
        commands = tuple(_add(one) for one in quorum[:MOST_COMMANDS])
        asked.append(ToDo(f"Give {_names(quorum)} {found.members} members.", commands))
    movable = [one for one in found.advice if one.queue.type == "classic" and one.type == "quorum"]
    if movable:
        told = f"Move {counted(len(movable), 'classic queue')} to quorum queues of {counted(found.members, 'member')}."
        asked.append(ToDo(told, ("hawb migrate definitions.json queues.json -o plan/",)))
    stay = [one for one in found.advice if one.type == "classic" and one.blockers]
    if stay:
        asked.append(ToDo(f"Decide about {_names(stay)}, which cannot be quorum queues: mirror them, or do without what"
                          " keeps them."))  # fmt: skip
    return tuple(asked[:3])


def _names(queues: list[Advice]) -> str:
    return listing(one.queue.full_name for one in queues)


def _add(one: Advice) -> str:
    vhost, name = split_queue(one.queue.full_name)
    return f"rabbitmq-queues add_member -p {bash_word(vhost)} {'-- ' * name.startswith('-')}{bash_word(name)} NODE"
