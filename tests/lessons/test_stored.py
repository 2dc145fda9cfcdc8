"""Stored lessons: right answers come from the stored run, solutions from their marks, pictures without spoilers."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from hawb.languages import language
from hawb.lessons.notebook import EXERCISES, GAMES
from hawb.lessons.stored import NotStored, Predicted, Solved, calls, lesson, run
from hawb.lessons.study_exercises import EXERCISES as OF_STUDIES
from hawb.lessons.view import TRUTH

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SVG = "<svg><title>The cluster</title><desc>\n nodes: a &amp; b</desc><g><title>part</title></g></svg>"
ASKED = 'predict("Who?", ["b", "c"], "11-who", "b")'


def output(**data: str):
    """An output of a cell; `truth` and `svg` stand for their types."""
    types = {"text": "text/plain", "truth": TRUTH, "svg": "image/svg+xml", "png": "image/png"}
    return new_output("execute_result", {types[name]: text for name, text in data.items()})


def predicted(text: str = "Predict: Who? [b, c]", truth: str = "It is: b.", source: str = ASKED, **more: str):
    return new_code_cell(source, outputs=[output(text=text, truth=truth, **more)])


def read(*cells):
    """A lesson of these cells; texts are Markdown."""
    made = [new_markdown_cell(cell) if isinstance(cell, str) else cell for cell in cells]
    return lesson("99-a-lesson.ipynb", new_notebook(cells=made))


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.name)
def test_every_stored_notebook_has_all_answers_and_solutions(file):
    notebook = nbformat.read(file, as_version=4)
    found = lesson(file.name, notebook)
    called = [call for cell in notebook.cells if cell.cell_type == "code" for call in calls(cell.source)]
    asking = [key for function, key in called if function in ("predict", "exercise", "game")]
    assert [one.key for one in found.asked] == asking
    for one in found.asked:
        if isinstance(one, Solved):
            assert one.solution and one.verdict.startswith("✓"), one.key
            assert all(one.task)
        elif one.choices:
            assert one.answer in one.choices, one.key
        else:
            assert one.answer.isdecimal(), one.key
    assert all(picture.about and picture.source.startswith("data:image/") for picture in found.pictures)


def test_all_exercises_and_games_are_in_the_lessons():
    found = [one.key for file in NOTEBOOKS for one in lesson(file.name, nbformat.read(file, 4)).asked
             if isinstance(one, Solved)]  # fmt: skip
    assert sorted(found) == sorted([*EXERCISES, *GAMES, *OF_STUDIES])


def test_the_answer_is_that_of_the_stored_run_with_what_the_lesson_shows():
    found = read("# 99 · A lesson", predicted(truth="It is: c.\n b was killed.\n c took over."))
    assert found.title == "99 · A lesson"
    assert found.asked == (Predicted("11-who", "Who?", "b, c", "c", (" b was killed.", " c took over.")),)


@pytest.mark.parametrize("truth", ["It is: b. As you said.", "It is: b. You said c: why not?"])
def test_the_guess_of_the_reader_whose_run_is_stored_is_left_out(truth):
    assert read(predicted("Predict: Who? [b, c]\n" + truth, truth)).asked[0].answer == "b"


def test_the_answer_of_a_study_is_in_a_later_cell():
    asked = predicted("Predict: How many? [a number]", "", 'predict("How many?", int, "30-many")')
    result = new_code_cell('truth("30-many", many)', outputs=[output(text="It is: 7.")])
    assert read(asked, "Then the study.", result, "That is why.").asked == (
        Predicted("30-many", "How many?", "", "7", (), "That is why."),
    )


@pytest.mark.parametrize(
    ("after", "why"),
    [
        (["<details><summary>Why?</summary>\n\nBecause *b*.\n\n</details>\n\nThe next story."], "Because *b*."),
        (["It was b. See what b did:"], "It was b."),
        (["Look:"], ""),
        (["## The next part\n\nA story."], ""),
        ([predicted(source=ASKED.replace("11-who", "11-again")), "Not of the first."], ""),
        ([], ""),
    ],
)
def test_the_explanation_is_what_is_folded_or_follows(after, why):
    assert read(predicted(), *after).asked[0].why == why


@pytest.mark.parametrize(
    "cell",
    [new_code_cell(ASKED), predicted(text="Rate mal: Who? [b, c]"), predicted(truth="b"), predicted(truth="")],
)
def test_a_missing_answer_is_not_made_up(cell):
    with pytest.raises(NotStored, match="11-who"):
        read(cell)


def test_a_solution_comes_with_the_task_its_hints_and_the_verdict():
    source = 'steps = ...\n# solution\nsteps = "[]"\n# end of solution\ncheck("11-lose", steps)'
    solved = new_code_cell(source, outputs=[output(text="✓ Right.")])
    [one] = read(new_code_cell('exercise("11-lose")'), solved).asked
    exercise = EXERCISES["11-lose"]
    assert (one.task[0], one.hints, one.solution, one.verdict) == (
        exercise.question, exercise.hints, 'steps = "[]"', "✓ Right.",
    )  # fmt: skip


def test_without_a_solution_there_is_no_verdict():
    unsolved = new_code_cell('check("11-lose", ...)', outputs=[output(text="✕ There is no answer yet.")])
    [one] = read(new_code_cell('exercise("11-lose")'), unsolved).asked
    assert (one.solution, one.verdict) == ("", "")


def test_an_unknown_exercise_and_a_solution_without_end_are_refused():
    with pytest.raises(ValueError, match=r"'99-none'.*no such exercise"):
        read(new_code_cell('exercise("99-none")'))
    with pytest.raises(ValueError, match="no end"):
        read(new_code_cell("# solution\n1"))


def test_cells_that_are_not_python_and_keys_that_are_not_texts_have_no_calls():
    assert [*calls("%time predict(1)"), *calls("check(key, 1)\npredict()")] == []
    assert [*calls('predict(question, key="11-who", choices=int)')] == [("predict", "11-who")]


def test_a_picture_has_its_section_the_paragraph_before_it_and_its_description():
    before = "# Title\n\n## Part\n\nA story.\n\nIts *end*.\n\n- a list"
    [one] = read(before, predicted(svg=SVG, png="AAAA"), "After it.").pictures
    assert (one.section, one.before, one.question, one.about) == (
        "Part", "Its *end*.", "Who?", "nodes: a & b",
    )  # fmt: skip
    assert one.source.startswith("data:image/svg+xml;base64,")


def test_an_explanation_is_not_shown_with_the_next_picture():
    after = "<details><summary>Why?</summary>\n\nIt was b.\n\n</details>"
    looked, again = (new_code_cell("look(cluster)", outputs=[output(svg=SVG)]) for _ in range(2))
    pictures = read("A story.", predicted(svg=SVG), after, looked, "Its sequel.", again).pictures
    assert [one.before for one in pictures] == ["A story.", "A story.", "Its sequel."]


def test_a_figure_without_a_description_is_described_by_what_follows():
    drawn = new_code_cell("figure()", outputs=[output(png="AA\nAA", text="<Figure size 1>")])
    [one] = read("## Costs", drawn, "Squares are queues.\n\nMore.").pictures
    assert (one.about, one.source) == ("A figure about: Costs. Squares are queues.", "data:image/png;base64,AAAA")


def test_the_picture_of_a_solution_is_left_out():
    source = 'moves = ...\n# solution\nmoves = []\n# end of solution\nplay("11-game", moves)'
    assert read(new_code_cell(source, outputs=[output(svg=SVG, text="✓")])).pictures == ()


def test_a_translated_lesson_is_read_in_its_language():
    notebook = nbformat.read(ROOT / "notebooks" / "11-a-node-dies.ipynb", as_version=4)
    english = lesson("11", notebook)
    with language("pt"):
        portuguese = lesson("11", notebook)
    assert portuguese.title != english.title
    first, same = portuguese.asked[0], english.asked[0]
    assert (first.key, first.answer) == (same.key, same.answer)
    assert first.question != same.question and first.why != same.why
    assert portuguese.asked[-1].task != english.asked[-1].task


@pytest.mark.full
def test_a_notebook_without_outputs_is_run_apart_from_the_readers_answers(tmp_path, monkeypatch):
    monkeypatch.setenv("HAWB_ANSWERS", str(tmp_path / "mine.json"))
    monkeypatch.setenv("HAWB_LANGUAGE", "pt")
    source = f"from hawb.lessons import predict\nfrom pathlib import Path\nPath('here').touch()\n{ASKED}"
    notebook = new_notebook(cells=[new_code_cell(source)])
    done = run(notebook, tmp_path)
    assert lesson("99", done).asked[0].answer == "b"
    assert notebook.cells[0].outputs == []
    assert (tmp_path / "here").exists() and not (tmp_path / "mine.json").exists()
