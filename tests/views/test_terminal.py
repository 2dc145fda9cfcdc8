"""Reports in a terminal: order of the page, any width, and colours if supported."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from unittest import mock

import pytest
from answered_reports import MAKERS, answered
from hypothesis import given
from hypothesis import strategies as st
from views_outcomes import HOSTILE

from hawb.views import style, terminal
from hawb.views.formatting import shown
from hawb.views.report import Part, Report, ToDo, Verdict
from hawb.views.tables import WIDTH, Table
from hawb.views.terminal import columns, text

ANSI = re.compile(r"\x1b\[[\d;]*m")
WIDTHS = (60, 80, 120)


def wide(line: str) -> int:
    """Return how many columns a line takes; bidirectional isolates take none."""
    return len(line.replace("\u2068", "").replace("\u2069", ""))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", MAKERS)
def test_report_fits_the_width_and_keeps_the_order(name: str, width: int):
    report = answered(name)[0]
    result = text(report, width)
    assert [line for line in result.splitlines() if wide(line) > width and not line.startswith("     $ ")] == []
    assert " ".join(result.split()).startswith(f"{report.question} {style.ANSWERS[report.verdict.answer].glyph} ")
    ordered = [result.index("What to do"), *(result.index(f"\n{part.title[:20]}") for part in report.parts),
               result.index("What is assumed")]  # fmt: skip
    assert ordered == sorted(ordered)


@pytest.mark.parametrize("name", MAKERS)
def test_colours_do_not_change_the_text(name: str):
    report = answered(name)[0]
    plain, coloured = text(report), text(report, colour=True)
    assert "\x1b" not in plain and "\x1b[1;3" in coloured
    bare = [line.rstrip() for line in ANSI.sub("", coloured).splitlines()]
    assert bare == plain.splitlines()


@pytest.mark.parametrize("width", range(30, 60))
def test_number_and_its_unit_stay_on_one_line_of_a_table(width: int):
    rows = [("orders", "cannot be used for 0.001 s, then blocked for 12 min", "95 % of it"), ("bills", "nothing", "")]
    result = columns(rows, ("queue", "what happens", "share"), width)
    for whole in ("0.001 s", "12 min", "95 %"):
        assert any(whole in line for line in result.splitlines()), result


def test_column_shrinks_before_a_table_becomes_a_list():
    rows = [("plain.transient", "loses 5 messages and is deleted", "its queue was not durable and its process ended")]
    heads = ("queue", "what happens", "why")
    assert columns(rows, heads, 120).count("\n") == 1
    lines = columns(rows, heads, 60).splitlines()
    assert lines[0].split() == ["queue", "what", "happens", "why"] and len(lines) > 2
    assert max(map(len, lines)) <= 60
    stacked = columns(rows, heads, 30).splitlines()
    assert stacked[:3] == ["plain.transient", "  what happens: loses 5", "  messages and is deleted"]


def test_words_of_usual_length_are_not_broken():
    rows = [("error", "promotes-always-on-shutdown", "ha-promote-on-shutdown always with ha-mode all")]
    for width in (50, 60, 70, 80, 90):
        lines = columns(rows, ("severity", "code", "what"), width)
        assert "promotes-always-on-shutdown" in lines and "ha-promote-on-shutdown" in lines
        assert max(map(len, lines.splitlines())) <= width


def test_table_without_a_width_is_not_wrapped():
    rows = [["x" * 150, "y" * 100]]
    assert columns(rows, ("a", "b"), None).splitlines() == [f"{'a':<152}b", f"{'x' * 150}  {'y' * 100}"]


def test_column_width_is_the_display_width():
    lines = columns([["主节点已同步的镜像", 5]], ("节点", "n"), None)
    assert lines.splitlines() == [f"节点{' ' * 16}n", "主节点已同步的镜像  5"]


def test_columns_are_aligned_and_lines_end_with_their_text():
    lines = columns([["q", 5, "a"], ["longer.name", 1200, ""]], ("name", "messages", "node"), right=[1])
    assert lines.splitlines() == [
        "name           messages  node",
        "q                     5  a",
        "longer.name        1200",
    ]


CELLS = st.text(st.sampled_from("ab 主\u2068\u0301\n1"), max_size=12).map(str.strip)


@given(rows=st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=5), right=st.sets(st.sampled_from([0, 1, 2])))
def test_a_table_whose_cells_fit_is_laid_out_as_rich_does(rows: list[tuple[str, ...]], right: set[int]):
    here = columns(rows, ("first", "节点", ""), None, right)
    with mock.patch.object(terminal, "_fit", lambda *_: False):
        assert columns(rows, ("first", "节点", ""), None, right) == here


def test_only_the_first_rows_of_a_long_table_are_printed():
    rows = [(f"q{number}", "a") for number in range(terminal.MOST_ROWS + 1)]
    queues = Part("Queues", Table("Queues", ("name", "node"), rows))
    printed = text(Report("", "", Verdict("yes", "all"), parts=(queues,)))
    assert len(re.findall(r"^q\d+ +a$", printed, re.MULTILINE)) == terminal.MOST_ROWS
    assert "first 3,000 of 3,001 rows; --json and -o have all of them" in printed


def test_columns_of_numbers_are_found():
    table = Table("t", ("queue", "lost", "away", "n"), [("q", "1,200", "0.3 s", 4), ("r", "", "12.0 s", 5)])
    assert table.numbers() == [1, 2, 3]
    assert Table("t", ("a",), []).numbers() == []


@pytest.mark.parametrize("name", HOSTILE)
def test_names_contain_no_terminal_control_characters(name: str):
    part = Part(name, Table(name, (name, "b"), [(name, name)]), (name,))
    report = Report(name, name, Verdict("no", name), (ToDo(name),), (part,), (name,), (name,))
    for width in WIDTHS:
        result = text(report, width)
        assert all(letter.isprintable() or letter in "\n\u2068\u2069" for letter in result)
        assert shown(name) in result


class Screen:
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("given", "colour"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
)
def test_colours_are_used_only_by_terminals_that_support_them(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], colour: bool
):
    monkeypatch.setattr(sys, "stdout", Screen())
    for key, value in ({"TERM": "xterm", "COLUMNS": "93"} | given).items():
        monkeypatch.setenv(key, value)
    if "NO_COLOR" not in given:
        monkeypatch.delenv("NO_COLOR", raising=False)
    assert terminal.terminal() == (93, colour)


def test_piped_output_is_plain_and_unwrapped():
    environment = os.environ | {"COLUMNS": "60", "FORCE_COLOR": "1", "CLICOLOR_FORCE": "1", "TERM": "xterm-256color"}
    program = (
        "from hawb.views.terminal import for_terminal, terminal\nfrom hawb.views.report import Report, Verdict\n"
        "print(terminal(), for_terminal(Report('q', 'about', Verdict('no', 'because'))))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout == f"({WIDTH}, False) q\n✕ No: because.\n  about\n"


@pytest.mark.parametrize("imported", ["hawb", "hawb.cli", "hawb.views.story.run_report", "hawb.views.page"])
def test_rich_is_imported_only_for_drawing(imported: str):
    program = f"import sys, {imported}; sys.exit('rich' in sys.modules or 'tabulate' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
