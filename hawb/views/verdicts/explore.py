"""The verdict of `hawb explore`: if a cluster survives every story that the search has tried, and what to do next."""

from __future__ import annotations

from typing import Any, NamedTuple

from hawb.planning.explore import Progress, Question
from hawb.planning.moves import MOVES
from hawb.scenario.document import Step
from hawb.scenario.dump import plain
from hawb.views.formatting import counted, listing, shown
from hawb.views.hawb_commands import asking
from hawb.views.report import ToDo, Verdict

HOLDS = {
    "lost-confirmed": ("no confirmed message is lost", "confirmed messages of {queues} are lost"),
    "unavailable": ("every queue is served by a node", "no node serves {queues}"),
    "diverged": (
        "both partitions of each queue hold the same messages",
        "two partitions continue with different messages of {queues}",
    ),
}
"""The clauses for each goal: if no story reaches it, and if one does."""
QUESTIONS = {
    "lost-confirmed": "Is every confirmed message safe?", "unavailable": "Does every queue stay in use?",
    "diverged": "Do all partitions keep the same messages?",
}  # fmt: skip
FAULTS_AGAIN = 9
STORY = "story.yaml"
"""The file name in the command that saves the story."""


class Files(NamedTuple):
    """The file of the scenario with which a search begins, and the file to which the story goes; "" for none."""

    scenario: str = ""
    story: str = ""


UNNAMED = Files()




def verdict(question: Question, answer: Progress) -> Verdict:
    """Return the verdict: no if a story reaches the goal, yes if none within the bound does.

    Return unknown if the search ended before every story within the bound was tried.
    """
    held, broken = HOLDS[question.goal]
    if answer.story is not None:
        steps_text = "; ".join(map(step_in_words, new_steps(answer)))
        steps = counted(len(new_steps(answer)), "step")
        return Verdict("no", f"{broken.format(queues=listing(answer.harmed))} after {steps}: {steps_text}")
    if answer.over:
        return Verdict("yes", f"{held} within {bound(question)}")
    steps = counted(answer.depth, "step")
    return Verdict(
        "unknown", f"the search is not complete: {held} in stories of up to {steps} with at most {bound(question)}"
    )


def bound(question: Question) -> str:
    """Return the bound of a search, in words."""
    most = question.most
    return f"{counted(most.faults, 'fault')} and {counted(most.operations, 'operation')}"


def new_steps(answer: Progress) -> tuple[Step, ...]:
    """Return the steps that the search has added to those of the cluster."""
    return () if answer.story is None else tuple(answer.story.steps[-(answer.depth + 1) :])


def step_in_words(step: Step) -> str:
    """Return a step as the user would type it, without its time: kill a."""
    return f"{step.name} {_in_words(plain(step)[step.name])}".strip()


def _in_words(value: Any) -> str:
    if isinstance(value, list):
        return (
            " | ".join(map(_in_words, value))
            if any(isinstance(one, list) for one in value)
            else ", ".join(map(shown, value))
        )
    if isinstance(value, dict):
        return _in_words([one for one in value.values() if isinstance(one, str)])
    return "" if value is None or value is True else shown(value)


def todo(question: Question, answer: Progress, files: Files = UNNAMED) -> tuple[ToDo, ...]:
    """Return what to do next: play the story and try single changes against it, or search further."""
    scenario = (files.scenario,) if files.scenario else ()
    if answer.story is not None:
        kept = () if files.story else asking("explore", scenario, *_asked(question), f"--scenario {STORY}")
        story = (files.story or STORY,) if files.story or kept else ()
        lab = "Open the story in the lab, which tries each single change that could prevent this."
        return (
            ToDo("Play the story to read why.", (*kept, *asking("run", story))),
            ToDo(lab, asking("lab", story)),
        )
    if not answer.over:
        return (
            ToDo(
                "Let the search finish, or leave out verbs, for a complete answer.",
            ),
        )
    if question.most.faults >= FAULTS_AGAIN:
        return ()
    return (
        ToDo(
            "Search with one more fault.",
            asking("explore", scenario, *_asked(question, more=1)),
        ),
    )


def _asked(question: Question, more: int = 0) -> tuple[str, ...]:
    """Return the options that ask the question again, with `more` faults in addition."""
    most, without = question.most, sorted(MOVES.keys() - question.verbs)
    options = (f"--for {question.goal}", f"--faults {most.faults + more}", f"--operations {most.operations}")
    return (*options, *(f"--without {verb}" for verb in without))
