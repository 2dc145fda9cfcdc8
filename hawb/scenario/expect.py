"""Compare an outcome with what a scenario expects: maps by the keys written, lists and scalars exactly.

`null` stands for a queue that must not exist. Errors are compared by step and code and, where it is written, by
`contains`.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from hawb.scenario import numbering
from hawb.scenario.outcome import outcome
from hawb.scenario.refused import literal, render_path
from hawb.scenario.run import Run
from hawb.scenario.verbs import Expect

MISSING = object()


class Difference(Struct, frozen=True):
    """A place where an outcome is not as expected. `step` is the index of the expect step, None for the whole file."""

    step: int | None
    place: str
    expected: object
    got: object

    def __str__(self) -> str:
        where = "at the end" if self.step is None else numbering.place(self.step)
        got = "nothing" if self.got is MISSING else literal(self.got)
        return f"{where}: {self.place}: expected {literal(self.expected)}, got {got}"


def check(run: Run, expect: dict | None) -> list[Difference]:
    """Return the differences of a run from its `expect` steps and from the expectation at its end."""
    found = []
    for index, step in enumerate(run.steps):
        if isinstance(step.verb, Expect):
            at_step = outcome(run, run.moment_of(index))
            found += [Difference(index, *rest) for rest in compare(step.verb.outcome, at_step)]
    if expect is not None:
        found += [Difference(None, *rest) for rest in compare(expect, outcome(run))]
    return found


def compare(expected: dict, got: dict) -> Iterator[tuple[str, object, object]]:
    """Yield (place, expected, got) for every difference between a partial outcome and a whole one."""
    for section, wanted in expected.items():
        if section == "errors":
            yield from compare_errors(wanted, got["errors"])
        else:
            yield from compare_values(wanted, got[section], (section,))


def compare_values(expected: object, got: object, path: tuple[str, ...]) -> Iterator[tuple[str, object, object]]:
    """Yield the differences below one place."""
    if isinstance(expected, dict) and isinstance(got, dict):
        for key, wanted in expected.items():
            if wanted is None and path == ("queues",):
                if key in got:
                    yield render_path((*path, key)), None, got[key]
            else:
                yield from compare_values(wanted, got.get(key, MISSING), (*path, key))
    elif expected != got or isinstance(expected, bool) != isinstance(got, bool):
        yield render_path(path), expected, got


def compare_errors(expected: list[dict], got: list[dict]) -> Iterator[tuple[str, object, object]]:
    """Yield the differences of the refused steps, which have to be the same in the same order."""
    for index in range(max(len(expected), len(got))):
        wanted = expected[index] if index < len(expected) else MISSING
        found = got[index] if index < len(got) else MISSING
        if wanted is MISSING or found is MISSING or not error_fits(wanted, found):
            place = render_path(("errors", index))
            yield place, "no error" if wanted is MISSING else wanted, found


def error_fits(expected: dict, got: dict) -> bool:
    """Return True if an error is the one expected."""
    fields = {key: value for key, value in expected.items() if key != "contains"}
    return all(got[key] == value for key, value in fields.items()) and expected.get("contains", "") in got["text"]
