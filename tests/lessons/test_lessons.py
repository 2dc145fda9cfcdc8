"""Lessons: predictions, the file of answers, rules, and the learner's edition."""

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
from hawb.lessons.notebook import (
    beside,
    check,
    exercise,
    logs,
    look,
    play,
    predict,
    reset_lesson,
    show_rule,
    tell,
    truth,
)
from hawb.lessons.predictions import Prediction
from hawb.lessons.question import OWN as FRONT
from hawb.lessons.question import Question
from hawb.lessons.rule_sources import rule, rule_text
from hawb.lessons.switchboard import Switches
from hawb.lessons.view import text_of
from hawb.rules import promotion
from hawb.views.tables import Table

ROOT = Path(__file__).parents[2]
NUMBERS = ("1[0-9]", "20", "2[78]")
LESSONS = sorted(file for number in NUMBERS for file in (ROOT / "notebooks").glob(f"{number}-*.ipynb"))
ALL_LESSONS = sorted(file for file in (ROOT / "notebooks").glob("[12]*.ipynb"))
MOST_VISIBLE = 25
MOST_WORDS = 900
"""The maximum number of words of a lesson's prose, without explanations that are folded."""
"""So many cells of a lesson show their code; of a hidden one JupyterLab shows the first line, which is its label."""
ANSWERED = re.compile(r" = \.\.\.\n(?:check|play)\(")
NASTY = "<script>alert('1')</script>"

each = pytest.mark.parametrize("file", LESSONS, ids=lambda file: file.name)


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use a separate file of answers for each test."""
    file = tmp_path / "class" / "mine.json"
    monkeypatch.setenv(answers.VARIABLE, str(file))
    return file


# Predictions


WHO = ("Who?", ["b", "c"], "11-who", "b")
MANY = ("How many?", int, "11-many", 7)


def test_first_guess_is_stored_with_the_answer(kept):
    asked = Prediction(*WHO)
    assert asked.guess is None
    assert asked.take("c") == "It is: b. You said c: why not?"
    assert asked.take("b") == "It is: b. You said c: why not?"
    assert asked.guess == "c"
    assert json.loads(kept.read_text())["guesses"] == {"11-who": {"question": "Who?", "guess": "c", "truth": "b"}}


def test_right_guess_and_no_guess():
    assert Prediction(*MANY).take("7") == "It is: 7. As you said."
    assert predictions.reply(None, 7) == "It is: 7."


def test_guess_can_be_changed_before_the_run(kept):
    view = predict(*WHO[:3])
    view.asked.guess = "b"
    assert view.asked.reply == "Your guess: b. The answer follows further down."
    view.asked.guess = "c"
    assert truth("11-who", "b") == "It is: b. You said c: why not?"
    view.asked.guess = "b"
    assert view.asked.reply == "It is: b. You said c: why not?"
    assert "text/vnd.hawb.truth" not in view._repr_mimebundle_()
    assert json.loads(kept.read_text())["guesses"] == {"11-who": {"question": "Who?", "guess": "c", "truth": "b"}}


@pytest.mark.parametrize(
    ("value", "choices", "guess"),
    [
        ("b", ["b", "c"], "b"), ("d", ["b", "c"], None), (None, ["b", "c"], None), (["b"], ["b", "c"], None),
        (7, int, 7), (" 300,010 ", int, 300_010), ("0", int, 0), ("3,00", int, None), (",300", int, None),
        ("1,2345", int, None), ("seven", int, None), (-1, int, None), (1.5, int, None), (True, int, None),
        ("-1", int, None), ("", int, None), (None, int, None),
    ],
)  # fmt: skip
def test_values_are_mapped_to_choices(value, choices, guess):
    assert predictions.parsed(value, choices) == guess


def test_invalid_guess_is_refused_and_not_stored(kept):
    with pytest.raises(ValueError, match=r"'seven' is not a possible answer; accepted: a whole number"):
        Prediction(*MANY).take("seven")
    assert not kept.exists()


def test_choices_are_visibly_separated():
    assert Prediction("?", ["yes, at once", "no"], "11-when", "no").accepted == "yes, at once | no"
    assert Prediction("?", ["yes", "no"], "11-when", "no").accepted == "yes, no"


def test_guess_that_is_no_longer_offered_is_ignored():
    Prediction("?", ["old", "new"], "11-who", "new").take("old")
    assert Prediction("?", ["new", "other"], "11-who", "new").guess is None


def test_a_question_without_a_choice_or_with_another_truth_is_refused():
    with pytest.raises(ValueError, match="two choices or more"):
        Prediction("?", ["this"], "11-one", "this")
    with pytest.raises(ValueError, match="none of the choices"):
        Prediction("?", ["this", "that"], "11-one", "neither")


# The file of answers


def test_answers_are_stored_with_their_attempts(kept):
    for given in ({"pattern": "^orders"}, lambda: None, None):
        check("10-two-copies", given)
    answer = json.loads(kept.read_text())["answers"]["10-two-copies"]
    assert (answer["attempts"], answer["right"], answer["answer"]) == (3, False, None)
    check("10-two-copies", len)
    assert json.loads(kept.read_text())["answers"]["10-two-copies"]["answer"] == "<built-in function len>"


@pytest.mark.parametrize("answered", [lambda: check("11-lose", ...), lambda: play("11-three-moves", ...)])
def test_page_without_code_says_where_exercises_are_answered(answered, kept, monkeypatch):
    monkeypatch.setenv("SERVER_SOFTWARE", "voila/0.5.13")
    assert repr(answered()) == "You answer this exercise in code: open the lesson in JupyterLab."
    assert not kept.exists()


def test_page_without_code_shows_the_verdict_on_an_answer_in_the_notebook(monkeypatch):
    monkeypatch.setenv("SERVER_SOFTWARE", "voila/0.5.13")
    assert "Nothing is lost" in check("11-lose", [{"kill": "a"}]).says


def test_the_same_answers_give_the_same_bytes(kept):
    def bytes_after(*keys: str) -> bytes:
        kept.unlink(missing_ok=True)
        for key in keys:
            Prediction("?", int, key, 1).take(1)
        return kept.read_bytes()

    assert bytes_after("10-a", "10-b") == bytes_after("10-b", "10-a")


def test_restarting_a_lesson_keeps_the_others(kept):
    for key in ("10-late-mirror", "11-lose"):
        check(key, ...)
        Prediction("?", int, f"{key}-guess", 1).take(1)
    assert "Lesson 10 begins anew" in reset_lesson(10)
    left = answers.read()
    assert (list(left.guesses), list(left.answers)) == (["11-lose-guess"], ["11-lose"])


@pytest.mark.parametrize("content", ["", "[]", '{"guesses": {"10-a": {"guess": {}}}}', '{"format": 1, "pupils": []}'])
def test_other_file_is_not_overwritten(content, kept):
    kept.parent.mkdir()
    kept.write_text(content)
    with pytest.raises(
        AnswersRefused, match=r"mine\.json: the file of answers does not hold answers(.|\n)*HAWB_ANSWERS"
    ):
        Prediction("?", int, "10-a", 1).take(1)
    assert kept.read_text() == content


def test_a_file_that_cannot_be_written_is_named_with_what_to_do(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv(answers.VARIABLE, str(tmp_path / "file" / "mine.json"))
    with pytest.raises(AnswersRefused, match="HAWB_ANSWERS"):
        Prediction("?", int, "10-a", 1).take(1)


def test_answers_are_stored_beside_the_notebook_by_default(monkeypatch):
    monkeypatch.delenv(answers.VARIABLE)
    assert answers.answers_file() == Path("hawb-answers.json")


# Rules


def test_rule_is_shown_with_code_source_and_evidence():
    text = rule_text(rule("candidate"))
    assert text == rule_text(rule("promotion.candidate")) == rule_text(rule(promotion.candidate))
    assert "candidate, hawb/rules/promotion.py" in text
    assert "def candidate(master, mirrors, alive):" in text
    assert "Source: `rabbit_mirror_queue_misc:remove_from_queue`" in text
    assert "- By default, the oldest mirror takes over" in text
    assert "(oldest-mirror-is-who-joined-first.yaml)" in text


def test_recording_of_a_real_broker_is_shown():
    found = [one for one in rule("matches").scenarios if one.name == "policy-pattern-is-a-search"]
    assert "RabbitMQ 3.10.8, recorded " in found[0].recorded[0]
    assert "ha.orders running on a" in found[0].recorded[0]
    cancelled = [one for one in rule("abort_sync").scenarios if one.name == "sync-cancelled"]
    assert cancelled[0].recorded[0].endswith("ha.orders running on a with no messages, synchronised on b")


def test_rule_about_time_is_in_the_engine():
    shown = rule("mirrors.synchronise_drained")
    assert shown.file == "hawb/engine/classic/mirrors.py"
    assert shown.name == "synchronise_drained"
    assert "rabbit_mirror_queue_slave" in shown.source


def test_rule_outside_a_checkout_shows_code_only(outside_checkouts):
    shown = rule("candidate")
    assert (shown.says, shown.scenarios, shown.name) == ((), (), "candidate")
    assert rule("transfer_leadership").scenarios == ()


def test_rule_shows_its_evidence_with_notebooks_only(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert rule("candidate").scenarios


@pytest.mark.parametrize("given", ["candidates", "mirror_placement.candidate", len, "", "."])
def test_unknown_rule_is_refused(given):
    with pytest.raises(ValueError, match="rule"):
        rule(given)


# Widgets


def mirrored() -> Cluster:
    cluster = Cluster("a", "b", "c", version="3.10").set_policy("ha", "^orders", {"ha-mode": "all"})
    return cluster.declare("orders", node="a").publish("orders", 10)


def test_answer_and_explanation_appear_after_the_guess():
    before = mirrored()
    after = before.copy().kill("a")
    view = predict(*WHO, ("of", 2), tell(after.why("orders", 1)), before=before, after=after)
    assert repr(view) == "Predict: Who? [b, c]"
    assert (view.asked.reply, view.asked.picture.keys(), view.explanation.children) == ("", {"before"}, ())
    view.asked.guess = "b"
    assert view.asked.reply == "It is: b. As you said."
    assert "of 2" in view.explanation.children[0].value and "of 2" in repr(view)
    assert view.asked.picture["after"]["nodes"][0]["state"] == "down"
    assert "take_over" in [one["kind"] for one in view.asked.picture["movements"]]


@pytest.mark.parametrize(
    ("choices", "asked"),
    [(("b", "c"), {"guess": "b"}), (int, {"guess": "1"}), (("b", "c"), {"over": True})],
)
def test_a_click_is_answered_in_few_messages_and_the_reply_comes_first(choices, asked, monkeypatch):
    after = mirrored().kill("a")
    truth = 1 if choices is int else "b"
    view, sent = predict("Who?", choices, "97-few", truth, "Why so.", before=mirrored(), after=after), []
    monkeypatch.setattr(Question, "_send", lambda _self, message, **_rest: sent.append(message))
    view.asked.set_state(asked)
    assert [message["method"] for message in sent] == ["update"] * len(sent) and len(sent) <= 2
    assert {"reply", "picture"} <= sent[0]["state"].keys()
    assert view.asked.over and view.explanation.children


def test_explained_text_is_proportional_and_everything_else_keeps_its_columns():
    view = predict(*WHO, "Why so.", ["a   1", "bc  2"])
    view.asked.over = True
    page = view.explanation.children[0].value
    assert '<p class="hawb-said">Why so.</p>' in page
    assert '<pre class="hawb-said">a   1\nbc  2</pre>' in page


def test_stored_guess_is_shown_again():
    predict(*WHO).asked.guess = "c"
    again = predict(*WHO)
    assert (again.asked.guess, again.asked.over) == ("c", True)
    again.asked.guess = "b"
    assert (again.asked.guess, again.asked.reply) == ("c", "It is: b. You said c: why not?")


def unsynchronised() -> Cluster:
    return mirrored().stop("b").start("b").publish("orders", 5).stop("c")


def test_changes_that_keep_the_lost_messages_can_be_tried():
    before = unsynchronised()
    after = before.copy().kill("a")
    view = predict(*WHO, before=before, after=after)
    view.asked.asks = True
    assert view.asked.tries is None  # not before the guess
    view.asked.asks = False
    view.asked.guess = "b"
    assert view.asked.picture["lost"] is True
    view.asked.asks = True
    assert [one["what"] for one in view.asked.tries] == [
        "ha-sync-mode: automatic", "sync_queue, completed before the kill", "ha-promote-on-failure: when-synced",
    ]  # fmt: skip
    first = view.asked.tries[0]
    assert first["keeps"] == "keeps all: 10 messages"
    (cell,) = [row["cells"]["b"] for row in first["scene"]["rows"] if row["queue"] == "orders"]
    assert (cell["count"], cell["was"]["count"]) == ("15", "5")


def test_earlier_loss_is_not_tried_again():
    before = unsynchronised().kill("a")
    after = before.copy().publish("orders", 1)
    view = predict(*WHO, before=before, after=after)
    view.asked.guess = "b"
    view.asked.asks = True
    assert (view.asked.picture["lost"], view.asked.tries) == (False, None)


def test_answer_is_shown_without_a_guess(kept):
    view = predict(*WHO, "Why so.")
    view.asked.over = True
    assert view.asked.reply == "It is: b."
    assert view.explanation.children and not kept.exists()


def test_stored_notebook_hides_the_answer():
    view = predict(*WHO, ["one", ("two", 3)], before=mirrored())
    bundle = view._repr_mimebundle_()
    assert bundle["text/plain"] == "Predict: Who? [b, c]"
    assert bundle["text/vnd.hawb.truth"] == "It is: b.\none\ntwo 3"
    assert bundle["image/svg+xml"].startswith("<svg ")
    assert "It is" not in bundle["image/svg+xml"]


@pytest.mark.parametrize("widget", [Question, Switches], ids=lambda widget: widget.__name__)
def test_the_front_ends_take_no_markup_and_have_the_colours_of_the_style(widget):
    front = widget._esm.replace("http://www.w3.org/2000/svg", "")
    banned = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "fetch(", "http:", "https:")
    assert not [word for word in banned if word in front]
    assert re.findall(r"#[0-9A-Fa-f]{3,8}\b", (FRONT / "lesson.css").read_text(encoding="utf-8")) == []


def test_story_without_further_steps_is_not_played():
    view = predict(*WHO, before=mirrored(), after=Cluster("a", "b"))
    view.asked.over = True
    assert (len(view.asked.picture["after"]["nodes"]), view.asked.picture["movements"]) == (2, [])


def test_logs_are_shown_at_each_time():
    cluster = Cluster("a", "b", "c").declare("q", node="a", arguments={"x-queue-type": "quorum"}).kill("a", at=20)
    shown = logs(cluster, "q", 20.1, 21)
    assert re.findall("at .* s", repr(shown)) == re.findall("at .* s", re.sub("<[^>]*>", "\n", shown.value))
    assert repr(shown).count("follower") == 3
    assert shown.value.count("> follower</td>") == 3
    assert repr(logs(cluster, "q")) == cluster.raft("q").rstrip()


def test_widgets_have_a_static_picture():
    cluster = Cluster("a", "b", "c").declare("q", node="a", arguments={"x-queue-type": "quorum"})
    panels = beside({"before": cluster, "a is killed": cluster.copy().kill("a")})
    for shown in (look(cluster), panels, logs(cluster, "q"), logs(cluster, "q", 20)):
        bundle = shown._repr_mimebundle_()
        assert bundle["image/svg+xml"].startswith("<svg ")
        assert bundle["text/plain"] == repr(shown)
    assert repr(panels).splitlines()[0] == "before"
    assert "image/svg+xml" not in show_rule("candidate")._repr_mimebundle_()


def test_number_field_accepts_empty_and_reports_nonsense():
    view = predict(*MANY)
    view.asked.guess = NASTY
    assert "is not a possible answer" in view.asked.reply
    assert (view.asked.guess, view.asked.over) == (None, False)
    view.asked.guess = "0"
    assert answers.read().guesses["11-many"].guess == 0


def test_shown_text_is_escaped():
    view = predict(*WHO, NASTY, (NASTY,))
    view.asked.over = True
    assert "<script" not in view.explanation.children[0].value
    assert view.explanation.children[0].value.count("&lt;script") == 2


def test_unwritable_guess_is_reported_in_place(kept):
    view = predict(*WHO)
    kept.parent.mkdir()
    kept.write_text("nonsense")
    view.asked.guess = "c"
    assert "does not hold answers" in view.asked.reply
    assert not view.asked.over


def test_text_forms_are_complete():
    shown = exercise("11-restart")
    assert shown._repr_mimebundle_()["text/plain"] == repr(shown)
    assert "hint 3" in shown.value
    assert "rabbit_mirror_queue_misc" in show_rule("candidate").value


def test_exercises_need_no_widgets():
    code = "import sys, hawb.lessons.mirrored_queues; sys.exit('ipywidgets' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_long_story_line_wraps_beside_its_time():
    first, second, third = repr(tell("     6.003 s  b " + "words " * 20 + "\n     7.000 s  c")).splitlines()
    assert (first[:15], second.index("w"), third) == ("     6.003 s  b", 14, "     7.000 s  c")


def test_text_is_wrapped():
    result = tell("one\n" + "a word " * 30 + "\nha-promote-on-failure", last=2)
    assert repr(result).splitlines()[0].startswith("a word")
    assert all(len(line) <= 116 for line in repr(result).splitlines())


# What a reader sees of the notebooks


def is_visible(cell: nbformat.NotebookNode) -> bool:
    """Return True for a cell whose code JupyterLab and Voilà show."""
    return cell.cell_type == "code" and not cell.metadata.get("jupyter", {}).get("source_hidden")


@pytest.mark.parametrize("file", ALL_LESSONS, ids=lambda file: file.name)
def test_number_of_cells_with_visible_code_is_limited(file):
    cells = nbformat.read(file, as_version=4).cells
    assert sum(map(is_visible, cells)) <= MOST_VISIBLE
    hidden = [cell.source for cell in cells if cell.cell_type == "code" and not is_visible(cell)]
    assert not [source for source in hidden if "# solution" in source or "predict(" in source]


@pytest.mark.parametrize("file", ALL_LESSONS, ids=lambda file: file.name)
def test_prose_that_is_not_folded_is_short(file):
    cells = nbformat.read(file, as_version=4).cells
    prose = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    shown = re.sub(r"<details>.*?</details>|(?<=\])\([^)]*\)", "", prose, flags=re.DOTALL)
    assert len(re.findall(r"[A-Za-z0-9][\w'’.-]*", shown)) <= MOST_WORDS


@pytest.mark.parametrize("file", ALL_LESSONS, ids=lambda file: file.name)
def test_visible_outputs_do_not_contain_answers_of_predictions(file):
    outputs = [out for cell in nbformat.read(file, as_version=4).cells for out in cell.get("outputs", ())]
    shown = [text for out in outputs for kind, text in out.get("data", {}).items() if kind != "text/vnd.hawb.truth"]
    assert not [text for text in shown if "It is: " in text]


# The learner's edition


def test_solutions_are_removed():
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
    assert edition.metadata == solved.metadata


def test_cell_with_only_a_solution_is_removed(tmp_path):
    cells = [
        nbformat.v4.new_markdown_cell(text) for text in ("<!-- solution -->\nSo.\n<!-- end of solution -->", "", "x")
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "n.ipynb")
    (written,) = build([tmp_path / "n.ipynb"], tmp_path / "learner")
    assert [cell.source for cell in nbformat.read(written, as_version=4).cells] == ["", "x"]


def test_table_is_explained_in_aligned_columns():
    table = Table("How orders is", ("policy", "a is stopped"), [("both", "down")])
    assert text_of(table) == "How orders is\npolicy  a is stopped\nboth    down"
    assert text_of(("lost:", 3)) == "lost: 3"
