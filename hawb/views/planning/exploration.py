"""The result of a search for the worst case: for a terminal, as one page and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from hawb.planning.explore import Progress, Question
from hawb.planning.explore_kinds import Worst
from hawb.scenario.dump import dump, plain
from hawb.scenario.outcome import outcome as outcome_of
from hawb.scenario.run import Run
from hawb.views.formatting import counted, listing
from hawb.views.page import report_page
from hawb.views.report import Report
from hawb.views.story import report as story_report
from hawb.views.tables import WIDTH
from hawb.views.terminal import text
from hawb.views.verdicts.explore import QUESTIONS, UNNAMED, Files, bound, todo, verdict

ASSUMED = (
    "The answer holds for the model, within the limits of the search. The search leaves out crashes of single"
    " processes, single cut links, alarms, policy changes and consumers.",
)


def report(question: Question, answer: Progress, with_story: bool) -> str:
    """Return the answer as plain text: the story as a scenario below a comment, or that there is no story."""
    return answer_text(question, answer, with_story, WIDTH, colour=False)


def answer_text(
    question: Question, answer: Progress, with_story: bool, width: int, colour: bool, files: Files = UNNAMED
) -> str:
    """Return the answer for a terminal.

    With a story, everything above it is a comment, so that the whole is a valid scenario.
    """
    found = report_of(question, answer, files)
    if not with_story or answer.story is None:
        return text(found, width, colour)
    above = "".join(f"# {line}".rstrip() + "\n" for line in text(found, width - 2, colour).splitlines())
    return above + dump(answer.story).rstrip()


def report_of(question: Question, answer: Progress, files: Files = UNNAMED, notes: Sequence[str] = ()) -> Report:
    """Return the report on a search; `notes` are about the cluster with which it begins."""
    goal = f"Searched for: {question.goal}. {extent(answer)}."
    asked = todo(question, answer, files)
    return Report(QUESTIONS[question.goal], goal, verdict(question, answer), asked, (), (*ASSUMED, *notes))


def page(question: Question, answer: Progress, files: Files = UNNAMED, notes: Sequence[str] = ()) -> str:
    """Return one page with the story that was found and its outcome; the page fetches and runs nothing."""
    found = report_of(question, answer, files, notes)
    if answer.story is None:
        return report_page(found)
    outcome = outcome_of(Run.of(answer.story))
    found = replace(found, parts=story_report.report_of(outcome).parts)
    return report_page(found, *story_report.drawn(outcome, dump(answer.story)))


def of_kinds(found: Worst) -> list[str]:
    """Return notes on a search by kinds of queues: how many there are, and which queues a story harms."""
    queues = sum(len(kind.queues) for kind in found.kinds)
    notes = [f"{counted(queues, 'queue')} of {counted(len(found.kinds), 'kind')} (type, policies, arguments, replicas):"
             f" one of each was searched, alone."]  # fmt: skip
    if found.harmed:
        notes.append(f"Within {bound(found.question)} a story harms {listing(found.harmed)}.")
    if open_kinds := [kind.queues[0] for kind in found.kinds if not kind.answer.over]:
        notes.append(f"The search is not complete for {listing(open_kinds)}. hawb explore can search further.")
    return notes


def extent(answer: Progress) -> str:
    """Return the number of states and steps that a search has played, in words."""
    return f"{counted(answer.states, 'distinct state')}, {counted(answer.tried, 'step')} played"


def rate(progress: Progress, elapsed_s: float) -> str:
    """Return the progress of a search in one line."""
    each = f", {progress.states / elapsed_s:,.0f} a second" if elapsed_s else ""
    return f"{extent(progress)}{each}; stories of {progress.depth + 1}: {progress.left:,} states left"


def plain_answer(question: Question, answer: Progress) -> dict[str, Any]:
    """Return the answer as plain values: the question, whether the search is over, and the story that was found."""
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
