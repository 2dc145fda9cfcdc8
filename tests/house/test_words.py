"""Words that were replaced by RabbitMQ's, Raft's or Python's own do not come back."""

from __future__ import annotations

import ast
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REPLACED = {
    "told", "tell", "tells", "untold", "retold", "hollow", "unburied", "bury", "stray", "astray", "heir", "heirless",
    "strike", "heed", "heeds", "hears", "parked", "vain", "twin", "nobody", "somebody", "everybody", "whoever", "whom",
    "wish", "wishes", "befall", "befalls",
}  # fmt: skip
"""A name says instead which process sends, reports, receives or returns what, or which node or member is meant."""
CODE = ("hawb/engine", "hawb/raft", "hawb/rules", "hawb/study/kernel")
ROOMS = ("broker", "cli", "conformance", "docs", "exports", "incident", "lab", "languages", "planning", "scenario",
         "site", "study", "views")  # fmt: skip
IN_JSON = {("incident_answers.py", "Told"), ("incident_answers.py", "NotTold"), ("incident_answers.py", "untold"),
           ("chain.py", "told")}  # fmt: skip
"""Names that programs read, in `--json`, in its schemas or in the lab's messages: they stay as they are."""
WITH_ANSWERS = {"cli", "views"}
"""Rooms whose docstrings name the answer "Cannot tell"."""


def files(*folders: str) -> list[Path]:
    """Return the Python files of folders."""
    command = ["git", "ls-files", "-z", *(f"{folder}/*.py" for folder in folders)]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in found.split("\0") if name]


def names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the names that a module gives to functions, classes, parameters, variables and fields, with their lines."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                yield node.lineno, name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield node.lineno, name


def replaced(text: str) -> set[str]:
    """Return the replaced words in a name or a sentence."""
    return REPLACED & set(re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower()))


@pytest.mark.parametrize("folder", [*CODE, *(f"hawb/{room}" for room in ROOMS), "tests"])
def test_names_have_no_replaced_words(folder: str) -> None:
    trees = {file: ast.parse(file.read_text(encoding="utf-8")) for file in files(folder)}
    assert trees
    assert not [f"{file.relative_to(ROOT)}:{line}: {name}" for file, tree in trees.items()
                for line, name in names(tree) if replaced(name) and (file.name, name) not in IN_JSON]  # fmt: skip


def remarks(file: Path) -> Iterator[tuple[int, str]]:
    """Yield the docstrings and comments of a file, each with its line."""
    with tokenize.open(file) as lines:
        for token in tokenize.generate_tokens(lines.readline):
            if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and token.string.startswith('"""')):
                yield token.start[0], token.string


@pytest.mark.parametrize("folder", [*CODE, *(f"hawb/{room}" for room in ROOMS if room not in WITH_ANSWERS)])
def test_docstrings_and_comments_have_no_replaced_words(folder: str) -> None:
    assert not [f"{file.relative_to(ROOT)}:{line}: {found}" for file in files(folder)
                for line, text in remarks(file) if (found := replaced(re.sub(r"`[^`]*`", "", text)))]  # fmt: skip


def test_replaced_words_are_found_in_names_and_sentences() -> None:
    assert replaced("told_byLeader whom") == {"told", "whom"}
