"""Every rule is checked by a scenario: `hawb check data/scenarios` catches any small change of hawb/rules.

Each mutant (`mutator`) replaces its module, hawb is imported again, and scenarios are played until one fails its
expectations: first those that caught earlier mutants, then those listed in `mutant_catchers`. hawb imports in some ten
milliseconds, so this is simpler and safer than changing code objects in place. A mutant that hangs counts as caught.
One with which hawb cannot be imported does not count.

No ready-made tool: mutmut and cosmic-ray run a test command per mutant in a process of its own, which takes half a
second where this takes a hundredth, and cannot say "caught by a scenario, whatever the unit tests say".
"""

from __future__ import annotations

import ast
import importlib
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest
from conftest import DAY, LONG
from equivalent_mutants import EQUIVALENT
from mutant_catchers import CATCHERS
from mutator import mutants

from hawb import rules
from hawb.scenario.text import parse

pytestmark = pytest.mark.full

SCENARIOS = sorted((Path(__file__).parents[2] / "data" / "scenarios").glob("*.yaml"))
NOT_PLAYED = {
    "__init__", "arguments_read", "atoms", "beginnings", "quorum_costs", "feature_matrix", "health_checks",
    "nearest_profile", "owned_queues", "queue_types", "redeclaration", "upgrade_releases", "upgrade_road",
}  # fmt: skip
"""Modules that decide nothing in the engine: what they reckon or tell is held by their own tests."""
RULES = sorted(path for path in Path(rules.__file__).parent.glob("*.py") if path.stem not in NOT_PLAYED)
EVERY = 1 if LONG else 40
FIRST = 0 if LONG else 20 * (DAY % 2)
"""Every `EVERY`-th mutant of a module is played, from number `FIRST` on, which alternates from day to day."""
LONGEST_S = 5
"""Processor time after which a scenario counts as one that never ends; the slowest takes a tenth of one."""

Plays = Callable[[object], bool]
"""Whether a scenario, given as plain values, ends as it expects to."""


class HangsError(Exception):
    """Raised when a scenario does not end."""


class Instead:
    """An importer for one module only: the mutant."""

    def __init__(self, name: str, tree: ast.Module):
        self.name, self.tree = name, tree

    def find_spec(self, name: str, _path=None, _target=None) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name == self.name else None

    def create_module(self, _spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(ast.fix_missing_locations(self.tree), self.name, "exec"), vars(module))


@contextmanager
def hawb_with(name: str, tree: ast.Module) -> Iterator[Plays]:
    """Import hawb again with the module `name` replaced. Restore the former modules at the end."""
    ours = {known: module for known, module in sys.modules.items() if known.partition(".")[0] == "hawb"}
    for known in ours:
        del sys.modules[known]
    sys.meta_path.insert(0, importer := Instead(name, tree))
    try:
        load, run, expect = (importlib.import_module(f"hawb.scenario.{part}") for part in ("load", "run", "expect"))

        def plays(given: object) -> bool:
            scenario = load.read_scenario(given)
            return not expect.check(run.Run.of(scenario), scenario.expect)

        yield plays
    finally:
        sys.meta_path.remove(importer)
        for known in [known for known in sys.modules if known.partition(".")[0] == "hawb"]:
            del sys.modules[known]
        sys.modules.update(ours)


@contextmanager
def ended_after(seconds: float) -> Iterator[None]:
    """Raise HangsError after so many seconds of CPU time, and again each second: Python drops exceptions that are
    raised in a finalizer."""

    def hangs(_signal, _frame) -> None:
        raise HangsError

    before = signal.signal(signal.SIGVTALRM, hangs)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@cache
def given_in(file: Path) -> object:
    """Return a scenario's file as plain values."""
    return parse(file.read_bytes())


def catches(file: Path, plays: Plays) -> bool:
    """Return True if a scenario fails its expectations."""
    try:
        with ended_after(LONGEST_S):
            return not plays(given_in(file))
    except Exception:
        return True


def caught_by(plays: Plays, order: list[Path]) -> Path | None:
    """Return the first scenario that catches the mutant, and move it to the front of the order."""
    found = next((file for file in order if catches(file, plays)), None)
    if found is not None:
        order.remove(found)
        order.insert(0, found)
    return found


def survivors(path: Path, known: list[str]) -> tuple[list[str], Counter]:
    """Return the mutants of a module that no scenario catches, and counts of results. Skip known equivalent ones."""
    tree, name = ast.parse(path.read_bytes()), f"{rules.__name__}.{path.stem}"
    first, left, became = CATCHERS.get(path.stem, ()), [], Counter()
    order = sorted(SCENARIOS, key=lambda file: file.stem not in first)
    for place, mutant in enumerate(mutants(tree)):
        if mutant in known:
            became[mutant] += 1
            continue
        if place % EVERY != FIRST:
            continue
        try:
            with hawb_with(name, tree) as plays:
                caught = caught_by(plays, order)
        except Exception:
            continue
        became["caught" if caught else "not caught"] += 1
        if caught is None:
            left.append(mutant)
    return left, became


def test_listed_catchers_exist():
    assert {name for names in CATCHERS.values() for name in names} <= {file.stem for file in SCENARIOS}


@pytest.mark.parametrize("path", RULES, ids=lambda path: path.stem)
def test_each_mutant_is_caught_by_a_scenario(path: Path):
    known = [mutant for listed in EQUIVALENT.get(path.stem, {}).values() for mutant in listed]
    left, became = survivors(path, known)
    print(f"{path.stem}: {became['caught']} mutants caught, {len(left)} not, {len(known)} decide the same")
    assert left == []
    assert [mutant for mutant in known if not became[mutant]] == [], "no such mutant"
