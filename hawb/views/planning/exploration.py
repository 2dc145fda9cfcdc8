"""What a search for the worst case has found, for a terminal and as JSON."""

from __future__ import annotations

from typing import Any

from hawb.planning.explore import Progress, Question
from hawb.scenario.dump import dump, plain
from hawb.views.formatting import counted, listing


def report(question: Question, answer: Progress, with_story: bool) -> str:
    """The answer as text: the story as a scenario with what was looked at above it, or that there is none."""
    if answer.story is None:
        return f"{_none(question, answer)}\n{extent(answer)}"
    told = [f"{question.goal}, {listing(answer.harmed)}: the shortest story within {bound(question)}", extent(answer)]
    return "".join(f"# {line}\n" for line in told) + (dump(answer.story).rstrip() if with_story else "")


def _none(question: Question, answer: Progress) -> str:
    if answer.over:
        return f"{question.goal}: no such story within {bound(question)}"
    steps = counted(answer.depth, "step")
    return f"{question.goal}: no such story of up to {steps} within {bound(question)}; longer ones were not all tried"


def bound(question: Question) -> str:
    """The bound of a search, in words."""
    most = question.most
    return f"{counted(most.faults, 'fault')} and {counted(most.operations, 'operation')}"


def extent(answer: Progress) -> str:
    """How much a search has looked at, in words."""
    return f"{counted(answer.states, 'distinct state')}, {counted(answer.tried, 'step')} played"


def rate(progress: Progress, elapsed_s: float) -> str:
    """The progress of a search, in a line."""
    each = f", {progress.states / elapsed_s:,.0f} a second" if elapsed_s else ""
    return f"{extent(progress)}{each}; stories of {progress.depth + 1}: {progress.left:,} states left"


def plain_answer(question: Question, answer: Progress) -> dict[str, Any]:
    """The answer as plain values: what was asked, whether the search is over, what it found."""
    return {
        "for": question.goal,
        "faults": question.most.faults,
        "operations": question.most.operations,
        "verbs": sorted(question.verbs),
        "over": answer.over,
        "depth": answer.depth,
        "states": answer.states,
        "steps_played": answer.tried,
        "queues": list(answer.harmed),
        "story": answer.story and plain(answer.story),
    }
