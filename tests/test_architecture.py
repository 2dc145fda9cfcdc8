"""The house: who may import whom, how long a file may be, and which functions of the engine stand twice."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import hawb
from hawb.engine.booting import arrival
from hawb.engine.classic import copies, failover_ports, journal, ports, record_ports
from hawb.engine.network import ports as network_ports
from hawb.engine.nodes import ports as node_ports
from hawb.engine.stopping import departure
from hawb.raft import ports as raft_ports

HAWB = Path(hawb.__file__).parent
KERNEL = HAWB / "study" / "kernel"
ROOMS = ("rules", "raft", "engine", "scenario", "cluster", "broker", "planning", "study", "views", "lab", "cli",
         "lessons")  # fmt: skip
"""A room imports from those before it alone, as CONTRIBUTING.md has them."""
MOST_LINES = 400
PORTS = {
    name
    for module in (node_ports, network_ports, departure, arrival, ports, failover_ports, record_ports, copies,
                   raft_ports)
    for name in module.PORTS
} | {name for name in vars(journal) if name.startswith("say_")}
"""What is other for the kernel on purpose."""
TWINS = Path(__file__).with_name("twins.txt")
"""Names of functions that both have, and that are no ports: rules that stand twice, and a few names that two functions
happen to share. Who writes one of them once takes its line out."""


def module_of(file: Path) -> str:
    """The name under which a file of hawb is imported."""
    return ".".join(file.relative_to(HAWB.parent).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_of(file): ast.parse(file.read_text(encoding="utf-8")) for file in sorted(HAWB.rglob("*.py"))}


def imported(module: str) -> Iterator[str]:
    """The modules of hawb that a module imports as it is imported itself."""
    for statement in MODULES[module].body:
        if isinstance(statement, ast.ImportFrom) and statement.module and statement.module.startswith("hawb"):
            for alias in statement.names:
                inner = f"{statement.module}.{alias.name}"
                yield inner if inner in MODULES else statement.module


def room_of(module: str) -> str:
    """The room in which a module stands; what stands at the door is in none."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def functions(*folders: Path) -> set[str]:
    """The names of functions of the modules in folders and below them."""
    files = (file for folder in folders for file in folder.rglob("*.py"))
    trees = (MODULES[module_of(file)] for file in files)
    return {node.name for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_no_module_imports_itself_by_way_of_others() -> None:
    list(TopologicalSorter({module: set(imported(module)) - {module} for module in MODULES}).static_order())


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_are_imported_one_way(room: str) -> None:
    before = {"", room, *ROOMS[: ROOMS.index(room)]}
    wrong = {(module, other) for module in MODULES if room_of(module) == room
             for other in imported(module) if room_of(other) not in before}  # fmt: skip
    assert not wrong


def test_every_room_has_its_place() -> None:
    assert {room_of(module) for module in MODULES if (HAWB / room_of(module)).is_dir()} - {""} <= set(ROOMS)


def test_no_file_is_long() -> None:
    lines = {str(file.relative_to(HAWB.parent)): len(file.read_text(encoding="utf-8").splitlines())
             for room in ("hawb", "tests", "benchmarks") for file in (HAWB.parent / room).rglob("*.py")}  # fmt: skip
    assert not {file: count for file, count in lines.items() if count > MOST_LINES}


def test_twins_of_the_kernel_are_all_known() -> None:
    both = functions(HAWB / "engine", HAWB / "raft", HAWB / "rules") & functions(KERNEL) - PORTS
    known = TWINS.read_text(encoding="utf-8").split()
    assert known == sorted(both)
