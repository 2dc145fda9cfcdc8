"""Every exercise: its solution in the notebook is accepted, and typical wrong answers are refused with a reason."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from answer_steps import stories
from wrong_answers_day_after import ON_THE_DAY_AFTER
from wrong_answers_metadata import ON_METADATA
from wrong_answers_mirrored import ON_MIRRORED_QUEUES
from wrong_answers_planning import ON_PLANNING
from wrong_answers_quorum import ON_QUORUM_QUEUES
from wrong_answers_today import ON_TODAY

from hawb.lessons import exercises
from hawb.lessons.exercises import AS_SHOWN, HELD_BACK, MOST_STEPS, judged
from hawb.lessons.notebook import EXERCISES
from hawb.lessons.view import TRUTH

if TYPE_CHECKING:
    from nbformat import NotebookNode

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
LESSONS = sorted(file for number in ("1[0-9]", "20", "2[78]") for file in NOTEBOOKS.glob(f"{number}-*.ipynb"))
TAKES_CHECK = re.compile(r"from hawb\.lessons import (\w+, )*check\b")
SOLUTION = re.compile(r'# solution\n(.*)# end of solution\ncheck\("([^"]*)", \w+\)', re.DOTALL)
PREDICTED = re.compile(r'\bpredict\(.*?"(\d\d-[a-z-]+)"', re.DOTALL)


@cache
def with_exercises() -> list[Path]:
    """Return the notebooks with exercises. Those of studies are in tests/lessons/test_study_exercises.py."""
    return [file for file in sorted(NOTEBOOKS.glob("*.ipynb")) if TAKES_CHECK.search(file.read_text("utf-8"))]


@cache
def code_cells() -> list[NotebookNode]:
    """Return the code cells of the notebooks with exercises, in order."""
    import nbformat  # takes long

    cells = (cell for file in with_exercises() for cell in nbformat.read(file, as_version=4).cells)
    return [cell for cell in cells if cell.cell_type == "code"]


@cache
def solutions() -> dict[str, object]:
    """Return the answers that the notebooks give, by the keys of the exercises."""
    found = {}
    for cell in code_cells():
        if match := SOLUTION.search(cell.source):
            code, key = match.groups()
            found[key] = ast.literal_eval(ast.parse(code).body[-1].value)
    return found


WRONG = ON_MIRRORED_QUEUES | ON_QUORUM_QUEUES | ON_PLANNING | ON_METADATA | ON_TODAY | ON_THE_DAY_AFTER
NO_ANSWERS = [
    (..., "There is no answer yet"),
    (None, "There is no answer yet"),
    (7, "7 is not"),
    ("pattern: [", "The answer cannot be read: line 2: not YAML"),
    (b"a", "cannot be read"),
    ({1: 2}, "cannot be read"),
    ("", "There is no answer yet"),
]


@pytest.mark.parametrize("key", EXERCISES)
def test_an_exercise_accepts_its_solution_and_refuses_wrong_answers(key: str, subtests: pytest.Subtests):
    exercise = EXERCISES[key]
    with subtests.test(msg="the solution of the notebook is right"):
        verdict = judged(exercise, solutions()[key])
        assert verdict.right, verdict
        assert repr(verdict).startswith("✓ Right, in this cluster and in 3 others")
    for number, (answer, says) in enumerate(WRONG[key]):
        with subtests.test(msg="a wrong answer is refused with the reason", number=number, answer=answer):
            verdict = judged(exercise, answer)
            assert not verdict.right
            assert re.search(says, verdict.says), verdict.says
    for answer, says in NO_ANSWERS:
        with subtests.test(msg="a value that is no answer is refused, with the form that an answer has", answer=answer):
            verdict = judged(exercise, answer)
            assert not verdict.right
            assert says in verdict.says


def test_every_exercise_has_wrong_answers_hints_and_a_place_in_its_lesson():
    assert list(WRONG) == list(EXERCISES) == list(solutions())
    for key, each in EXERCISES.items():
        assert len(WRONG[key]) >= 2
        assert len(each.hints) >= 2
    assert {key.partition("-")[0] for key in EXERCISES} == {file.name.partition("-")[0] for file in with_exercises()}
    assert {*LESSONS} <= {*with_exercises()}


def test_answers_of_steps_are_bounded_and_their_refusals_name_the_step():
    several = judged(EXERCISES["11-lose"], stories("stop b") * (MOST_STEPS + 1))
    assert f"The answer has {MOST_STEPS + 1} steps" in several.says
    unknown = judged(EXERCISES["11-lose"], stories("stop b", "start x"))
    assert "Step 2 cannot be played: start: " in unknown.says
    late = judged(EXERCISES["11-lose"], [{"stop": "b"}, {"start": "b", "at": "soon"}])
    assert "Step 2 cannot be played: at: not accepted" in late.says


def test_node_names_of_an_answer_are_translated_with_the_clusters():
    names = dict(zip(AS_SHOWN.nodes, HELD_BACK[0].nodes, strict=True))
    given = [{"publish": {"queue": "abc", "node": "a"}}, {"stop": ["b", "c"]}, {"wait": 3}]
    wanted = [{"publish": {"queue": "abc", "node": "w3"}}, {"stop": ["w1", "w2"]}, {"wait": 3}]
    assert exercises.renamed(given, names) == wanted


def test_hidden_clusters_differ_in_everything():
    assert all(len(set(each)) == len(each) for each in zip(AS_SHOWN, *HELD_BACK, strict=True))
    orders = {tuple(sorted(range(3), key=each.nodes.__getitem__)) for each in (AS_SHOWN, *HELD_BACK)}
    assert len(orders) >= 3


def test_answer_of_every_prediction_is_among_its_choices():
    found = []
    for cell in code_cells():
        for key in PREDICTED.findall(cell.source):
            found.append(key)
            shown = next(output.data for output in cell.outputs if TRUTH in output.get("data", {}))
            choices = re.search(r"\[(.*)\]$", shown["text/plain"])[1]
            value = re.match(r"It is: (.*)\.$", shown[TRUTH], re.MULTILINE)[1]
            assert value.isdecimal() if choices == "a number" else value in choices, key
    assert len(set(found)) == len(found)
    assert len(found) >= 6 * len(LESSONS)
