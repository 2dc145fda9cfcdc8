"""The sheet of answers and the slides: complete, escaped, and without an address."""

from __future__ import annotations

import base64
import hashlib
import re

import pytest
from html_pages import Page

from hawb.lessons.class_pages import answer_sheet, prose, slides
from hawb.lessons.stored import Lesson, Picture, Predicted, Solved

NASTY = "<script>alert('1')</script>"
SOURCE = "data:image/png;base64,AAAA"
ASKED = Predicted("99-who", "Who?", "b, c", "c", (" 1 s  b was killed.",), "Because *b* [was](https://a.b) killed.")
ASKS = "Do it.", "The answer is a list."
TASK = Solved("99-it", "Exercise 99-it", ASKS, ("Think.", "Hard."), "x = [1]\ny = 2", "✓ Right.")
PICTURE = Picture("Part", "A *story*.", "Who?", "nodes: a, b", SOURCE)
LESSON = Lesson("99.ipynb", "99 · A lesson", (ASKED, TASK), (PICTURE,))


def words(page: str) -> str:
    """Return the words of a page's body."""
    body = re.sub(r"(?s)<script>.*?</script>", "", page[page.index("<body>") :])
    return " ".join(re.sub("<[^>]+>", " ", body).split())


def test_sheet_has_questions_answers_and_solutions_in_order():
    found = words(answer_sheet([LESSON]))
    wanted = ["99 · A lesson", "1. Who?", "Choices: b, c", "Right: c", "1 s b was killed.", "Because b was killed.",
              "Exercise 99-it", "Do it.", "The answer is a list.", "A solution", "x = [1] y = 2", "✓ Right.", "Hints",
              "Think.", "Hard."]  # fmt: skip
    places = [found.rindex(each) for each in wanted]
    assert places == sorted(places)


def test_sheet_says_that_a_number_is_guessed_and_that_a_solution_is_missing():
    number, unsolved = Predicted("99-many", "How many?", "", "7"), Solved("99-x", "Exercise 99-x", ("Do.",), (), "")
    found = words(answer_sheet([Lesson("99.ipynb", "99", (number, unsolved), ())]))
    assert "Guess a number." in found and "Choices" not in found
    assert "The notebook has no solution." in found and "Hints" not in found


def test_lessons_that_ask_or_show_nothing_are_left_out():
    silent = Lesson("01.ipynb", "Contents", (), ())
    assert "Contents" not in answer_sheet([silent, LESSON]) + slides([silent, LESSON])


def test_slides_begin_with_the_lesson_and_leave_out_the_answer():
    page = slides([LESSON])
    assert words(page) == ("Slides of the lessons 99 · A lesson 1 picture 1 / 2"
                           " 99 · A lesson Part A story . Who? 2 / 2")  # fmt: skip
    assert f'<img src="{SOURCE}" alt="nodes: a, b">' in page


def test_only_the_script_of_the_keys_may_run():
    page = slides([LESSON])
    [script] = re.findall(r"(?s)<script>(.*?)</script>", page)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page
    assert "<script" not in answer_sheet([LESSON])


@pytest.mark.parametrize("made", [answer_sheet, slides])
def test_pages_fetch_nothing_and_name_no_address(made):
    page = made([LESSON])
    assert "http:" not in page and "https:" not in page
    addresses = [value for _tag, attributes in Page(page).elements for name, value in attributes.items()
                 if name in ("src", "href")]  # fmt: skip
    assert addresses and all(address.startswith(("data:", "#")) for address in addresses)


@pytest.mark.parametrize("made", [answer_sheet, slides])
def test_every_text_is_escaped(made):
    asked = Predicted(NASTY, NASTY, NASTY, NASTY, (NASTY,), NASTY)
    task = Solved(NASTY, NASTY, (NASTY,), (NASTY,), NASTY, NASTY)
    picture = Picture(NASTY, NASTY, NASTY, NASTY + '"', SOURCE + '"><i>')
    page = made([Lesson(NASTY, NASTY, (asked, task), (picture,))])
    assert NASTY not in page and "<i>" not in page
    assert "&lt;script&gt;alert" in page


def test_prose_has_the_words_of_links_and_pictures():
    assert prose("[a](https://b.c) ![d](e.png) <b> `f`") == "<p>a d &lt;b&gt; <code>f</code></p>\n"
