"""Do the queues outlive so many failures with the replicas that they have, in a sentence, and what to change."""

from __future__ import annotations

from hawb.engine.naming import split_queue
from hawb.study.replicas import Advice, WhatIf
from hawb.views.formatting import counted, listing
from hawb.views.markdown import bash_word
from hawb.views.report import ToDo, Verdict

MOST_COMMANDS = 3


def verdict(found: WhatIf) -> Verdict:
    """Yes where each queue has as many replicas as recommended, or more; no where some have fewer, or nodes are too
    few; yes with a but where files do not tell."""
    failures, every = counted(found.failures, "failure"), len(found.advice)
    few = short(found)
    if not every:
        return Verdict("yes", "there is no queue")
    if found.nodes is not None and found.nodes < found.members:
        return Verdict("no", f"{counted(found.nodes, 'node')} are too few for {failures}; {found.members} are needed")
    if few:
        names = listing(one.queue.full_name for one in few)
        have = "has" if len(few) == 1 else "have"
        return Verdict(
            "no", f"{len(few):,} of {counted(every, 'queue')} {have} fewer replicas than {failures} take: {names}"
        )
    unknown = [one for one in found.advice if one.has is None]
    if unknown:
        of = "of none" if len(unknown) == every else f"not of {listing(one.queue.full_name for one in unknown)}"
        return Verdict("but", f"only as far as files tell: {of} how many replicas there are")
    return Verdict("yes", f"each of {counted(every, 'queue')} has the replicas that {failures} take")


def short(found: WhatIf) -> list[Advice]:
    """The queues with fewer replicas than recommended."""
    return [one for one in found.advice if one.has is not None and one.has < one.replicas]


def todo(found: WhatIf) -> tuple[ToDo, ...]:
    """What to do: add nodes, grow quorum queues, move classic queues, look at those that cannot be moved."""
    asked = []
    if found.nodes is not None and found.nodes < found.members:
        asked.append(ToDo(f"Add nodes: {found.members} hold a member each."))
    quorum = [one for one in short(found) if one.queue.type == "quorum"]
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
