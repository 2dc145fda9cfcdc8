"""Hand-written pages: each block of code runs and prints what the page shows."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from played_pages import PAGES, blocks, matches, play

from hawb.docs.sources import CHECKOUT, GENERATED, INCLUDED
from hawb.scenario.load import load
from hawb.study.load import read_study
from hawb.study.numbers import read_numbers

pytestmark = pytest.mark.full

WRITTEN = sorted(page.relative_to(PAGES).as_posix() for page in PAGES.rglob("*.md"))
SHOWN_AS_THEY_ARE = sorted(file for file in INCLUDED.values() if blocks((CHECKOUT / file).read_text("utf-8")))


@pytest.mark.parametrize("page", [page for page in WRITTEN if blocks((PAGES / page).read_text("utf-8"))])
def test_page_shows_the_output_of_its_code(page: str, tmp_path: Path) -> None:
    for shown in play((PAGES / page).read_text("utf-8"), tmp_path):
        assert shown.holds, f"{page}: {shown.what}\n--- the page\n{shown.expected}\n--- what came\n{shown.came}"


@pytest.mark.parametrize("page, commands, statuses, text", [
    ("data/recipes/README.md", 1, ["1"], "hawb_node_safe_to_stop{"),
    ("data/operator/README.md", 2, ["1", "0"], "mirroring-silenced"),
])  # fmt: skip
def test_commands_of_included_pages_run(
    page: str, commands: int, statuses: list[str], text: str, tmp_path: Path
) -> None:
    """Without the rest of a line of the shell: a file to write, a program of the checkout."""
    [block] = blocks((CHECKOUT / page).read_text("utf-8"))
    lines = [line.partition(" > ")[0].replace("127.0.0.1", "localhost").replace(".venv/bin/", "")
             for line in block.text.splitlines()[:commands]]  # fmt: skip
    asked = "".join(f"{line}\n$ echo $?\n" for line in lines)
    shown = [*play(f"```console\n{asked}```\n", tmp_path)]
    assert [one.came.strip() for one in shown[1::2]] == statuses
    assert text in shown[0].came


def test_every_page_is_in_the_table_of_contents() -> None:
    contents = (PAGES / "index.md").read_text("utf-8")
    pages = {page.removesuffix(".md") for page in (*WRITTEN, *GENERATED, *INCLUDED)} - {"index"}
    assert [page for page in sorted(pages) if f"\n{page}\n" not in contents and f"<{page}>\n" not in contents] == []


def test_blocks_of_included_pages_are_valid() -> None:
    """What is a whole study, what is laid over it, one's own numbers; commands are those of the command's own tests or
    make's, and what asks Spark is in those of its source."""
    assert SHOWN_AS_THEY_ARE == [
        "CONTRIBUTING.md", "data/log-events.md", "data/operator/README.md", "data/recipes/README.md",
        "data/studies/README.md",
    ]  # fmt: skip
    page = blocks((CHECKOUT / "data/studies/README.md").read_text("utf-8"))
    study, precision, biasing, control, objectives, numbers, rates = (
        block.text for block in page if block.language == "yaml"
    )
    asked = yaml.safe_load(study)
    read_study(asked)
    read_study(asked | yaml.safe_load(precision))
    read_study(asked | yaml.safe_load(control))
    read_study(asked | yaml.safe_load(objectives))
    [environment] = asked["environments"].values()
    environment |= yaml.safe_load(biasing)
    read_study(asked)
    read_numbers(yaml.safe_load(numbers))
    assert len(read_numbers(yaml.safe_load(rates)).draws) == 2
    assert [block.text.split()[:3] for block in page if block.language == "console"][1] == ["$", "hawb", "rates"]


@pytest.mark.parametrize("text, came, holds", [
    ("a\nb\n", "a\nb\n", True), ("a\n", "a\nb\n", False), ("a\n…\n", "a\nb\nc\n", True), ("…\nc\n", "a\nb\nc\n", True),
    ("a\n…\nc\n", "a\nb\nc\n", True), ("a\n…\nb\n…\nd\n", "a\nb\nc\nd\n", True),
    ("a\n…\nx\n…\nd\n", "a\nb\nc\nd\n", False),
    ("a\nb\n…\nb\nc\n", "a\nb\nc\n", False), ("  …\n", "a\n", True),
])  # fmt: skip
def test_ellipsis_omits_lines(text: str, came: str, holds: bool) -> None:
    assert matches(text, came) is holds


def test_page_with_different_output_fails(tmp_path: Path) -> None:
    story = "```{code-block} yaml\n:caption: s.yaml\n\nscenario: s\ncluster: {nodes: [a]}\n```\n"
    [shown] = play(story + "```console\n$ hawb check s.yaml\nno\n```\n", tmp_path)
    assert not shown.holds
    assert load(tmp_path / "s.yaml").scenario == "s"


def test_untested_block_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nobody plays"):
        list(play("```ruby\nputs 1\n```\n", tmp_path))
