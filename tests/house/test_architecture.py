"""Architecture: permitted imports, length of files, names of tests, and duplicate functions of engine and kernel."""

from __future__ import annotations

import ast
import copy
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import hawb

HAWB = Path(hawb.__file__).parent
KERNEL = HAWB / "study" / "kernel"
ROOMS = ("process", "languages", "rules", "raft", "engine", "scenario", "cluster", "exports", "broker", "conformance",
         "planning", "study", "incident", "views", "lab", "cli", "lessons", "site", "docs")  # fmt: skip
"""A room imports from those before it alone, as CONTRIBUTING.md has them."""
VIEWS = ("", "cluster", "story", "rules", "broker", "planning", "study", "incident")
"""So do the parts of the views, beginning with what stands in none of them."""
VERDICTS = {"run": "story", "study": "study", "replicas": "study", "incident": "incident"}
"""The part of the views to which the verdict of a command belongs; other verdicts belong to `planning`."""
MOST_LINES = 600
TESTS = HAWB.parent / "tests"
BESIDE_ROOMS = {"attack", "given", "house"}
"""Folders of tests that are of no room: inputs changed at random, what tests share, and the project itself."""
NOUNS = {"raft": "raft", "lessons": "lessons", "cli": "cli", "docs": "pages"}
"""With what a test begins that is of several modules of its room: Raft's rules, each of which takes all of a member;
what a lesson is made of, from the guess to the teacher's file; what a user meets whichever command he types; what is
written by hand and played."""
STRICT = ("invalid-argument-type", "invalid-assignment", "invalid-explicit-return", "unsupported-operator")
"""The rules of ty that are also on for modules that engine and kernel share."""
LEAST_STATEMENTS = 3
"""Shorter functions are alike without being the same rule."""


def module_of(file: Path) -> str:
    """Return the module name of a file of hawb."""
    return ".".join(file.relative_to(HAWB.parent).with_suffix("").parts).removesuffix(".__init__")


@cache
def modules() -> dict[str, ast.Module]:
    """Return the syntax trees of all modules of hawb by module name."""
    return {module_of(file): ast.parse(file.read_text(encoding="utf-8")) for file in sorted(HAWB.rglob("*.py"))}


def imported(module: str) -> Iterator[str]:
    """Yield the modules of hawb that a module imports at its top level."""
    for statement in modules()[module].body:
        if isinstance(statement, ast.ImportFrom) and statement.module and statement.module.startswith("hawb"):
            for alias in statement.names:
                inner = f"{statement.module}.{alias.name}"
                yield inner if inner in modules() else statement.module


def room_of(module: str) -> str:
    """Return the room of a module, or "" for a module at the top level."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def part_of_views(module: str) -> str:
    """Return the folder of `hawb.views` of a view, or "" for what all views share."""
    parts = module.split(".")
    if parts[2:3] == ["verdicts"]:
        return VERDICTS.get(parts[-1], "planning")
    return parts[2] if len(parts) > 2 and (HAWB / "views" / parts[2]).is_dir() else ""


def shapes(*folders: Path) -> dict[str, str]:
    """Return the functions of the modules in folders by the shape of their bodies, without names and constants."""
    found = {}
    for module in (module_of(file) for folder in folders for file in folder.rglob("*.py")):
        for function in (node for node in modules()[module].body if isinstance(node, ast.FunctionDef)):
            body = function.body[1:] if ast.get_docstring(function) else function.body
            if sum(isinstance(node, ast.stmt) for one in body for node in ast.walk(one)) >= LEAST_STATEMENTS:
                shape = Nameless().visit(copy.deepcopy(ast.Module(body, [])))
                found[ast.dump(shape)] = f"{module}.{function.name}"
    return found


class Nameless(ast.NodeTransformer):
    """Remove names, attributes and constants from code."""

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name("", node.ctx)

    def visit_Attribute(self, node: ast.Attribute) -> ast.Attribute:
        return ast.Attribute(self.visit(node.value), "", node.ctx)

    def visit_keyword(self, node: ast.keyword) -> ast.keyword:
        return ast.keyword("", self.visit(node.value))

    def visit_Constant(self, _node: ast.Constant) -> ast.Constant:
        return ast.Constant(0)


def test_imports_have_no_cycles() -> None:
    list(TopologicalSorter({module: set(imported(module)) - {module} for module in modules()}).static_order())


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_import_only_rooms_above(room: str) -> None:
    before = {"", room, *ROOMS[: ROOMS.index(room)]}
    wrong = {(module, other) for module in modules() if room_of(module) == room
             for other in imported(module) if room_of(other) not in before}  # fmt: skip
    assert not wrong


def test_views_import_only_views_above() -> None:
    place = {module: VIEWS.index(part_of_views(module)) for module in modules() if room_of(module) == "views"}
    assert not {(one, other) for one in place for other in imported(one) if place.get(other, 0) > place[one]}


def test_every_room_is_listed() -> None:
    assert {room_of(module) for module in modules() if (HAWB / room_of(module)).is_dir()} - {""} <= set(ROOMS)


def test_files_are_not_too_long() -> None:
    lines = {str(file.relative_to(HAWB.parent)): len(file.read_text(encoding="utf-8").splitlines())
             for room in ("hawb", "tests", "benchmarks") for file in (HAWB.parent / room).rglob("*.py")}  # fmt: skip
    assert not {file: count for file, count in lines.items() if count > MOST_LINES}


def test_test_files_have_unique_names() -> None:
    """pytest takes two files of one name for the same module."""
    names = Counter(file.name for file in TESTS.rglob("*.py"))
    assert not {name for name, count in names.items() if count > 1}


def test_tests_are_in_folders_named_after_rooms() -> None:
    folders = {file.parent.relative_to(TESTS).as_posix() for file in TESTS.rglob("test_*.py")}
    assert folders <= {*ROOMS, *BESIDE_ROOMS}


@pytest.mark.parametrize("room", ROOMS)
def test_test_files_are_named_after_modules_of_their_room(room: str) -> None:
    nouns = {NOUNS[room]} if room in NOUNS else set()
    nouns |= {part for module in modules() if room_of(module) == room for part in module.split(".")[2:]}
    stems = {file.stem.removeprefix("test_") for file in (TESTS / room).glob("test_*.py")}
    assert not {stem for stem in stems if not any(f"{stem}_".startswith(f"{noun}_") for noun in nouns)}


def shared_modules() -> list[str]:
    """Return the names of the modules that engine and kernel share."""
    mark = ast.dump(ast.parse("SHARED = True").body[0])
    return [module for module, tree in modules().items() if mark in map(ast.dump, tree.body)]


def untyped(function: ast.FunctionDef) -> bool:
    """Return True if a parameter of a function, or what it returns, has no type."""
    arguments = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    return function.returns is None or not all(argument.annotation for argument in arguments)


def test_shared_functions_are_typed() -> None:
    assert len(shared_modules()) > 30
    assert not [f"{module}.{node.name}" for module in shared_modules() for node in ast.walk(modules()[module])
                if isinstance(node, ast.FunctionDef) and untyped(node)]  # fmt: skip


def test_shared_functions_take_what_they_declare() -> None:
    """Everywhere else ty checks only names and the number of arguments (pyproject.toml)."""
    files = [f"{module.replace('.', '/')}.py" for module in shared_modules()]
    rules = [part for rule in STRICT for part in ("--error", rule)]
    ty = [Path(sys.executable).with_name("ty"), "check", "--python", sys.prefix, "--output-format", "concise", *rules]
    checked = subprocess.run([*ty, *files], cwd=HAWB.parent, capture_output=True, text=True)
    assert checked.stdout.strip() == "All checks passed!"


def test_kernel_functions_do_not_duplicate_engine_functions() -> None:
    of_engine, of_kernel = shapes(HAWB / "engine", HAWB / "raft", HAWB / "rules"), shapes(KERNEL)
    assert {(of_kernel[shape], of_engine[shape]) for shape in of_engine.keys() & of_kernel.keys()} == set()
