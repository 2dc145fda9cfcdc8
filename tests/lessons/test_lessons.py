"""The lessons' plain Python: predictions, the file of answers, rules looked up, and the learner's edition."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from hawb.cluster import Cluster
from hawb.lessons import answers, predictions
from hawb.lessons.answers import AnswersRefused
from hawb.lessons.learner import build, without_solutions
from hawb.lessons.notebook import beside, check, exercise, logs, look, predict, reset_lesson, show_rule, tell, truth
from hawb.lessons.predictions import Prediction
from hawb.lessons.rule_sources import rule, rule_text
from hawb.lessons.view import PredictionView
from hawb.rules import promotion

ROOT = Path(__file__).parents[2]
NUMBERS = ("1[0-9]", "20", "2[78]")
LESSONS = sorted(file for number in NUMBERS for file in (ROOT / "notebooks").glob(f"{number}-*.ipynb"))
ANSWERED = re.compile(r" = \.\.\.\n(?:check|play)\(")
NASTY = "<script>alert('1')</script>"

each = pytest.mark.parametrize("file", LESSONS, ids=lambda file: file.name)


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of answers, which each test has for itself."""
    file = tmp_path / "class" / "mine.json"
    monkeypatch.setenv(answers.VARIABLE, str(file))
    return file


# Predictions


def test_a_guess_can_be_changed_until_the_truth_is_out(kept):
    asked = Prediction("Who?", ["b", "c"], "11-who")
    assert asked.guess is None
    asked.take("b")
    assert asked.take("c") == "Your guess: c. Now run the next cell."
    assert predictions.truth("11-who", "b") == "It is: b. You said c: why not?"
    assert asked.take("b") == "The run is over, and your guess was c."
    assert json.loads(kept.read_text())["guesses"] == {"11-who": {"question": "Who?", "guess": "c", "truth": "b"}}


def test_a_right_guess_and_none():
    Prediction("How many?", int, "11-many").take("7")
    assert predictions.truth("11-many", 7) == "It is: 7. As you said."
    assert predictions.truth("11-unasked", 7) == "It is: 7."
    assert Prediction("?", ["b", "c"], "11-unasked").take("b") == "The run is over, and there was no guess."


@pytest.mark.parametrize("value", ["seven", -1, 1.5, True, "-1", ""])
def test_what_is_no_number_is_told_and_not_kept(value, kept):
    assert "accepted: a whole number" in Prediction("How many?", int, "11-many").take(value)
    assert not kept.exists()


def test_a_number_may_be_typed_as_the_lessons_write_it():
    assert "Your guess: 300010." in Prediction("How many?", int, "11-many").take(" 300,010 ")
    for typed in ("3,00", ",300", "1,2345"):
        assert "accepted: a whole number" in Prediction("How many?", int, "11-many").take(typed)


def test_it_is_seen_where_a_choice_ends():
    assert "accepted: yes, no" not in Prediction("?", ["yes, at once", "no"], "11-when").take("x")
    assert "accepted: yes, at once | no" in Prediction("?", ["yes, at once", "no"], "11-when").take("x")
    assert repr(PredictionView(Prediction("?", ["yes, at once", "no"], "11-when"))) == "Predict: ? [yes, at once | no]"


def test_a_guess_that_the_question_no_longer_offers_is_none():
    Prediction("?", ["old", "new"], "11-who").take("old")
    assert Prediction("?", ["new", "other"], "11-who").guess is None


def test_a_question_without_a_choice_is_refused():
    with pytest.raises(ValueError, match="two choices or more"):
        Prediction("?", ["this"], "11-one")


# The file of answers


def test_answers_are_kept_with_their_attempts_and_any_value_can_be_given(kept):
    for given in ({"pattern": "^orders"}, lambda: None, None):
        check("10-two-copies", given)
    answer = json.loads(kept.read_text())["answers"]["10-two-copies"]
    assert (answer["attempts"], answer["right"], answer["answer"]) == (3, False, None)
    check("10-two-copies", len)
    assert json.loads(kept.read_text())["answers"]["10-two-copies"]["answer"] == "<built-in function len>"


def test_the_same_answers_give_the_same_bytes(kept):
    def bytes_after(*keys: str) -> bytes:
        kept.unlink(missing_ok=True)
        for key in keys:
            truth(key, 1)
        return kept.read_bytes()

    assert bytes_after("10-a", "10-b") == bytes_after("10-b", "10-a")


def test_a_lesson_starts_over_and_the_others_stay(kept):
    for key in ("10-late-mirror", "11-lose"):
        check(key, ...)
        truth(f"{key}-guess", 1)
    assert "Lesson 10 begins anew" in reset_lesson(10)
    left = answers.read()
    assert (list(left.guesses), list(left.answers)) == (["11-lose-guess"], ["11-lose"])


@pytest.mark.parametrize("content", ["", "[]", '{"guesses": {"10-a": {"guess": {}}}}', '{"format": 1, "pupils": []}'])
def test_a_file_that_holds_no_answers_is_left_alone(content, kept):
    kept.parent.mkdir()
    kept.write_text(content)
    with pytest.raises(
        AnswersRefused, match=r"mine\.json: the file of answers does not hold answers(.|\n)*HAWB_ANSWERS"
    ):
        truth("10-a", 1)
    assert kept.read_text() == content


def test_a_file_that_cannot_be_written_is_named_with_what_to_do(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv(answers.VARIABLE, str(tmp_path / "file" / "mine.json"))
    with pytest.raises(AnswersRefused, match="HAWB_ANSWERS"):
        truth("10-a", 1)


def test_answers_stand_beside_the_notebook_unless_told_otherwise(monkeypatch):
    monkeypatch.delenv(answers.VARIABLE)
    assert answers.answers_file() == Path("hawb-answers.json")


# Rules


def test_a_rule_is_shown_with_its_code_its_source_and_what_shows_it():
    text = rule_text(rule("candidate"))
    assert text == rule_text(rule("promotion.candidate")) == rule_text(rule(promotion.candidate))
    assert "candidate, hawb/rules/promotion.py" in text
    assert "def candidate(master, mirrors, alive):" in text
    assert "Source: `rabbit_mirror_queue_misc:remove_from_queue`" in text
    assert "- The longest running mirror takes over" in text
    assert "(oldest-mirror-is-who-joined-first.yaml)" in text


def test_what_a_real_broker_did_is_told_where_it_was_recorded():
    told = [one for one in rule("matches").scenarios if one.name == "policy-pattern-is-a-search"]
    assert "RabbitMQ 3.10.8, recorded " in told[0].recorded[0]
    assert "ha.orders running on a" in told[0].recorded[0]
    cancelled = [one for one in rule("abort_sync").scenarios if one.name == "sync-cancelled"]
    assert cancelled[0].recorded[0].endswith("ha.orders running on a with no messages, synchronised on b")


def test_a_rule_about_time_is_the_engines():
    told = rule("mirrors.synchronise_drained")
    assert told.file == "hawb/engine/classic/mirrors.py"
    assert told.name == "synchronise_drained"
    assert "rabbit_mirror_queue_slave" in told.source


def test_without_a_checkout_a_rule_is_its_code_alone(outside_checkouts):
    told = rule("candidate")
    assert (told.says, told.scenarios, told.name) == ((), (), "candidate")
    assert rule("transfer_leadership").scenarios == ()


def test_a_class_that_has_only_the_notebooks_has_what_stands_behind_a_rule(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert rule("candidate").scenarios


@pytest.mark.parametrize("given", ["candidates", "selection.candidate", len, "", "."])
def test_what_is_no_rule_is_refused(given):
    with pytest.raises(ValueError, match="rule"):
        rule(given)


# Widgets


def test_a_prediction_takes_the_guess_and_shows_it_again():
    view = predict("Who is <b>master</b>?", ["b", "c"], "11-who")
    assert "&lt;b&gt;master" in view.children[0].value
    view.field.value = "c"
    assert "Your guess: c" in view.said.value
    assert predict("Who?", ["b", "c"], "11-who").field.value == "c"
    assert repr(view) == "Predict: Who is <b>master</b>? [b, c]"


def test_logs_are_shown_at_each_of_the_times():
    cluster = Cluster("a", "b", "c").declare("q", node="a", arguments={"x-queue-type": "quorum"}).kill("a", at=20)
    shown = logs(cluster, "q", 20.1, 21)
    assert re.findall("at .* s", repr(shown)) == re.findall("at .* s", re.sub("<[^>]*>", "\n", shown.value))
    assert repr(shown).count("follower") == 3
    assert shown.value.count("> follower</td>") == 3
    assert repr(logs(cluster, "q")) == cluster.raft("q").rstrip()


def test_what_is_looked_at_has_a_picture_for_pages_that_are_only_read():
    cluster = Cluster("a", "b", "c").declare("q", node="a", arguments={"x-queue-type": "quorum"})
    panels = beside({"before": cluster, "a is killed": cluster.copy().kill("a")})
    for shown in (look(cluster), panels, logs(cluster, "q"), logs(cluster, "q", 20)):
        bundle = shown._repr_mimebundle_()
        assert bundle["image/svg+xml"].startswith("<svg ")
        assert bundle["text/plain"] == repr(shown)
    assert repr(panels).splitlines()[0] == "before"
    assert "image/svg+xml" not in show_rule("candidate")._repr_mimebundle_()


def test_a_number_can_be_nothing_and_nonsense_is_escaped():
    view = predict("How many?", int, "11-many")
    view.field.value = "0"
    assert answers.read().guesses["11-many"].guess == 0
    view.field.value = NASTY
    assert "<script" not in view.said.value
    assert "&lt;script" in view.said.value


def test_a_guess_that_cannot_be_kept_is_answered_in_its_place(kept):
    view = predict("Who?", ["b", "c"], "11-who")
    kept.parent.mkdir()
    kept.write_text("nonsense")
    view.field.value = "c"
    assert "does not hold answers" in view.said.value


def test_text_forms_are_whole():
    shown = exercise("11-restart")
    assert shown._repr_mimebundle_()["text/plain"] == repr(shown)
    assert "hint 3" in shown.value
    assert "rabbit_mirror_queue_misc" in show_rule("candidate").value


def test_exercises_need_no_widgets():
    code = "import sys, hawb.lessons.mirrored_queues; sys.exit('ipywidgets' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_line_of_a_story_that_is_too_long_goes_on_beside_its_time():
    first, second, third = repr(tell("     6.003 s  b " + "words " * 20 + "\n     7.000 s  c")).splitlines()
    assert (first[:15], second.index("w"), third) == ("     6.003 s  b", 14, "     7.000 s  c")


def test_a_text_is_told_in_lines_that_fit():
    told = tell("one\n" + "a word " * 30 + "\nha-promote-on-failure", last=2)
    assert repr(told).splitlines()[0].startswith("a word")
    assert all(len(line) <= 116 for line in repr(told).splitlines())


# The learner's edition


def test_solutions_are_taken_out():
    source = "a = ...\n# solution\na = 1\n# end of solution\ncheck(a)"
    assert without_solutions(source) == "a = ...\ncheck(a)"
    assert without_solutions("Why?\n\n<!-- solution -->\nSo.\n<!-- end of solution -->") == "Why?"
    assert without_solutions("# a solution\n# solutions") == "# a solution\n# solutions"


@pytest.mark.parametrize("source", ["# solution", "# end of solution", "# solution\n# solution\n# end of solution"])
def test_markers_come_in_pairs(source):
    with pytest.raises(ValueError, match=r"marker|no end"):
        without_solutions(source)


@each
def test_the_learners_edition_has_no_answers_and_no_outputs(file, tmp_path):
    solved = nbformat.read(file, as_version=4)
    (written,) = build([file], tmp_path / "learner")
    edition = nbformat.read(written, as_version=4)
    nbformat.validate(edition)
    taken = sum("# solution" in cell.source for cell in solved.cells)
    assert taken >= 3
    assert sum(len(ANSWERED.findall(cell.source)) for cell in edition.cells) == taken
    assert all("solution" not in cell.source for cell in edition.cells if cell.cell_type == "code")
    assert all(not cell.outputs and cell.execution_count is None for cell in edition.cells if cell.cell_type == "code")
    assert max(len(cell.source.splitlines()) for cell in edition.cells if cell.cell_type == "code") <= 6
    assert edition.metadata == solved.metadata


def test_a_cell_that_is_nothing_but_a_solution_is_left_out(tmp_path):
    cells = [
        nbformat.v4.new_markdown_cell(text) for text in ("<!-- solution -->\nSo.\n<!-- end of solution -->", "", "x")
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "n.ipynb")
    (written,) = build([tmp_path / "n.ipynb"], tmp_path / "learner")
    assert [cell.source for cell in nbformat.read(written, as_version=4).cells] == ["", "x"]
