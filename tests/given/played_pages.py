"""The blocks of code of the documentation's pages, played as somebody would who reads a page from its top.

A block says by its language what it is: `console` is commands behind `$`, each with what it shows; `python` is
executed, and a `text` block behind it is what it prints; `yaml` with a caption is a file of that name. Where a line of
what is shown is `…`, lines are left out. Run as a program, this writes what is shown anew wherever nothing is left out:

    python tests/given/played_pages.py hawb/docs/pages/tutorial.md
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from click.testing import CliRunner
from management_api import LOGIN, serving

from hawb.cli import main
from hawb.views import terminal

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "hawb" / "docs" / "pages"
BLOCK = re.compile(
    r"^```(?:\{code-block\} )?(?P<language>\w+)\n(?::caption: (?P<name>\S+)\n\n?)?(?P<text>.*?)^```$", re.M | re.S
)
LEFT_OUT = "…"
EXPORT = {"definitions.json": "definitions.json", "queues.json": "api-queues.json", "nodes.json": "api-nodes.json"}
"""The files that pages speak of as the reader's own, and those of `data/real` that stand for them."""
COLUMNS = 88
"""As wide as a page shows a terminal."""
LIVE = "http://localhost:15672"
"""Where a page has a running cluster."""


class Block(NamedTuple):
    """A code block: its language, its file's name if it has one, its text, and its place in the page."""

    language: str
    name: str | None
    text: str
    span: tuple[int, int]


class Shown(NamedTuple):
    """The output of a command or a program that a page shows, the actual output, and the place of the former."""

    what: str
    expected: str
    came: str
    span: tuple[int, int]

    @property
    def holds(self) -> bool:
        """Return True if both are equal apart from what is left out."""
        return matches(self.expected, self.came)


def blocks(page: str) -> list[Block]:
    """Return the blocks of a page, in order."""
    found = BLOCK.finditer(page)
    return [Block(one["language"], one["name"], one["text"], one.span("text")) for one in found]


def matches(text: str, came: str) -> bool:
    """Return True if the shown output is the actual one, with any lines in place of `…`."""
    parts = re.split(rf"^\s*{LEFT_OUT}\n", text, flags=re.M)
    if len(parts) == 1:
        return text == came
    if not came.startswith(parts[0]) or not came.endswith(parts[-1]):
        return False
    at = len(parts[0])
    for part in parts[1:-1]:
        at = came.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return at <= len(came) - len(parts[-1])


def play(page: str, folder: Path) -> Iterator[Shown]:
    """Play a page's blocks in a folder that has an export of a cluster, and yield each output."""
    for name, real in EXPORT.items():
        shutil.copy(ROOT / "data" / "real" / real, folder / name)
    (folder / "data").symlink_to(ROOT / "data")
    namespace: dict[str, object] = {}
    printed: str | None = None
    narrow = mock.patch.object(terminal, "terminal", lambda: (COLUMNS, False))
    with serving() as server, contextlib.chdir(folder), narrow:
        for block in blocks(page):
            if block.language == "console":
                yield from _console(block, server.url)
            elif block.language == "python":
                out = io.StringIO()
                with contextlib.redirect_stdout(out):
                    exec(compile(block.text, "page", "exec"), namespace)
                printed = out.getvalue()
            elif block.language == "text" and printed is not None:
                yield Shown("the Python above", block.text, printed, block.span)
                printed = None
            elif block.language == "yaml" and block.name:
                (folder / block.name).write_text(block.text, encoding="utf-8")
            else:
                raise ValueError(f"a block that nobody plays: {block.language}, {block.text[:40]!r}")


def _console(block: Block, live: str) -> Iterator[Shown]:
    """Return the commands of a block, and what each outputs, including standard error."""
    status, at = 0, block.span[0]
    for part in re.split(r"^(?=\$ )", block.text, flags=re.M):
        command, _, text = part.removeprefix("$ ").partition("\n")
        began, at = at + len(part) - len(text), at + len(part)
        if not part:
            continue
        if command == "echo $?":
            came = f"{status}\n"
        else:
            name, *words = shlex.split(command.replace(LIVE, live), comments=True)
            if name != "hawb":
                raise ValueError(f"a command that nobody plays: {command}")
            login = dict(zip(("HAWB_API_USER", "HAWB_API_PASSWORD"), LOGIN, strict=True))
            result = CliRunner().invoke(main, words, env=login)
            if result.exception and not isinstance(result.exception, SystemExit):
                raise result.exception
            status, came = int(result.exit_code), result.output.replace(live, LIVE)
        yield Shown(command, text, came, (began, at))


def written_anew(page: str) -> str:
    """Return the page with the actual outputs, wherever nothing is left out."""
    with tempfile.TemporaryDirectory() as folder:
        for shown in reversed([*play(page, Path(folder))]):
            if not re.search(rf"^\s*{LEFT_OUT}$", shown.expected, re.M):
                page = page[: shown.span[0]] + shown.came + page[shown.span[1] :]
            elif not shown.holds:
                sys.stderr.write(f"$ {shown.what}\n{shown.came}")
    return page


if __name__ == "__main__":
    for file in map(Path, sys.argv[1:]):
        file.write_text(written_anew(file.read_text("utf-8")), encoding="utf-8")
