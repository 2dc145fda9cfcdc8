"""Load a scenario from a file, or refuse it with the reason.

The structs of `document`, `verbs` and `expected` define what a file may contain; this module follows their types field
by field, so that a refusal names the place, what was given and what is accepted.

Decisions:

* The nodes of a file are those of its cluster and those that a `join` names anywhere in it.
* Plain values from elsewhere (a form, a planner) are read like files: `read_scenario` and `read_step`.
* Files of other kinds (a study) are read by the same `Reader` from their own structs, see `read_file`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from hawb.scenario import inputs, text
from hawb.scenario.document import Scenario, Step, Uncompared
from hawb.scenario.expected import ExpectedOutcome
from hawb.scenario.fields import Bare, Flag, Name, NameOrMap, OnNodes, Verb
from hawb.scenario.kinds import Kind, fields_of, kind_of
from hawb.scenario.refused import LONGEST, NOTHING, QUOTE, ScenarioRefused, Where, did_you_mean, render
from hawb.scenario.size import check_size
from hawb.scenario.verbs import VERBS

__all__ = ["Reader", "ScenarioRefused", "load", "load_known", "read_file", "read_scenario", "read_step"]

Read = TypeVar("Read")
KnownDifferences = Annotated[
    dict[Name, Uncompared], msgspec.Meta(description="a map of scenarios' names, each with fields and reason")
]


def load(source: Path | str | bytes, file: str | None = None, *, limited: bool = False) -> Scenario:
    """Return the scenario of a file (a `Path`) or of a text (`str`, `bytes`); `file` is its name in messages.

    `limited` is True for files that commands read: then limits of size apply (`hawb.scenario.size`). Raise
    ScenarioRefused, and no other error, if the scenario is not valid.
    """

    def read(given: Any) -> Scenario:
        if limited:
            check_size(given)
        return read_scenario(given)

    return read_file(source, file, read)


def load_known(file: Path) -> dict[str, Uncompared]:
    """Return the fields known to differ between model and broker, by the names of scenario files without their ending.

    Raise ScenarioRefused.
    """

    def known(given: Any) -> dict[str, Uncompared]:
        text.check_values(given)
        return Reader(()).value(kind_of(KnownDifferences), given, ())

    return read_file(file, None, known)


def read_file(source: Path | str | bytes, file: str | None, read: Callable[[Any], Read]) -> Read:
    """Return the result of `read` for the plain values of a file or a text. A refusal gets its line and file.

    Raise ScenarioRefused.
    """
    content = source
    if isinstance(source, Path):
        file = file or str(source)
        content = _read_bytes(source, file)
    try:
        return read(text.parse(content))
    except ScenarioRefused as refused:
        refused.file = file
        _find(refused, content)
        raise


def read_scenario(given: Any) -> Scenario:
    """Return the scenario of plain values (maps, lists, text, numbers). Raise ScenarioRefused."""
    text.check_values(given)
    return Reader(_node_names(given)).struct(Scenario, given, ())


def read_step(given: Any, nodes: Iterable[str], index: int = 0) -> Step:
    """Return the step of plain values, such as {"kill": "a", "at": 3}, in a file with these `nodes`.

    `index` is the step's index in messages. Raise ScenarioRefused.
    """
    text.check_values(given)
    return Reader(tuple(nodes)).step(given, ("steps", index))


def _read_bytes(path: Path, file: str) -> bytes:
    try:
        return inputs.content(path, text.MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ScenarioRefused(f"the file cannot be read: {reason}", file=file) from None


def _find(refused: ScenarioRefused, content: str | bytes) -> None:
    """Add to a refusal its line, and the letters of an unquoted scalar that YAML does not read as text."""
    if refused.line is not None or not refused.path:
        return
    place = text.locate(content, refused.path)
    if place is None:
        return
    refused.line = place.line
    if refused.hint == QUOTE and place.letters and len(place.letters) <= LONGEST:
        refused.hint = f'{place.letters} without quotes is not text in YAML; write "{place.letters}"'


def _node_names(given: Any) -> tuple[str, ...]:
    """Return the nodes that a file names, as far as they can be read before its types are checked."""

    def inside(value: Any, key: str, kind: type) -> Any:
        found = value.get(key) if isinstance(value, dict) else None
        return found if isinstance(found, kind) else kind()

    nodes = inside(inside(given, "cluster", dict), "nodes", list)
    joining = [inside(step, "join", str) for step in inside(given, "steps", list)]
    return tuple(dict.fromkeys(name for name in (*nodes, *joining) if isinstance(name, str) and name))


class Reader:
    """Read plain values by the types of the structs, in a file that knows `nodes`.

    A partial reader only checks: it builds no struct and requires no field.
    """

    def __init__(self, nodes: tuple[str, ...], partial: bool = False) -> None:
        self._nodes = dict.fromkeys(nodes)
        self._partial = partial

    def struct(self, struct: type[msgspec.Struct], given: Any, path: Where) -> Any:
        """Return a struct from a map of its fields."""
        known = fields_of(struct)
        if not isinstance(given, dict):
            raise _refused("not a map", path, given, f"a map with the keys {', '.join(known)}")
        for key in given:
            if key not in known:
                raise _unknown("key", key, path, known)
        missing = [field for field in known.values() if field.required and field.key not in given]
        if missing and not self._partial:
            raise _refused(f"{missing[0].key} is missing", path, NOTHING, missing[0].kind.accepted)
        values = {known[key].name: self.value(known[key].kind, inner, (*path, key)) for key, inner in given.items()}
        return given if self._partial else _build(struct, values, path)

    def value(self, kind: Kind, given: Any, path: Where) -> Any:
        """Return the value of a field."""
        if kind.struct is Step:
            return self.step(given, path)
        if kind.struct and (isinstance(given, dict) or kind.hint is kind.struct):
            return self.struct(kind.struct, given, path)
        if kind.holds_outcome and isinstance(given, dict):
            return Reader(tuple(self._nodes), partial=True).struct(ExpectedOutcome, given, path)
        if kind.item and isinstance(given, list):
            items = tuple(self.value(kind.item, inner, (*path, index)) for index, inner in enumerate(given))
            return items if kind.holds_structs else _convert(kind, items, given, path)
        if kind.entry and isinstance(given, dict):
            return {key: self._entry(kind, key, inner, (*path, key)) for key, inner in given.items()}
        value = _convert(kind, given, given, path)
        if kind.names_node and isinstance(value, str) and value not in self._nodes:
            hint = did_you_mean(given, self._nodes)
            raise _refused("not a node of this cluster", path, given, _listed(tuple(self._nodes)), hint)
        return value

    def _entry(self, kind: Kind, key: str, given: Any, path: Where) -> Any:
        """Return the value of an entry of a map with free keys, and check its key."""
        self.value(kind.key, key, path)
        return self.value(kind.entry, given, path)

    def step(self, given: Any, path: Where) -> Step:
        """Return a step: one verb, and perhaps a time."""
        if not isinstance(given, dict):
            raise _refused("not a map", path, given, "a map with one verb, and optionally `at`")
        verbs = [key for key in given if key != "at"]
        for verb in verbs:
            if verb not in VERBS:
                raise _unknown("verb", verb, path, VERBS)
        if len(verbs) != 1:
            raise _refused(f"{len(verbs)} verbs in one step", path, verbs, "one verb in a step")
        at = fields_of(Step)["at"].kind
        return Step(
            self.verb(VERBS[verbs[0]], given[verbs[0]], (*path, verbs[0])),
            self.value(at, given.get("at"), (*path, "at")),
        )

    def verb(self, verb: type[Verb], given: Any, path: Where) -> Verb:
        """Return a verb from its argument, in the form of its class."""
        if issubclass(verb, Flag):
            if given is not True:
                raise _refused("not true", path, given, "true")
            return verb()
        if issubclass(verb, Bare):
            (only,) = fields_of(verb).values()
            one = issubclass(verb, OnNodes) and not isinstance(given, list | dict)
            value = (self.value(only.kind.item, given, path),) if one else self.value(only.kind, given, path)
            return _build(verb, {only.name: value}, path)
        if issubclass(verb, NameOrMap) and not isinstance(given, dict):
            given = {"name": given}
        return self.struct(verb, given, path)


def _convert(kind: Kind, value: Any, given: Any, path: Where) -> Any:
    """Return a value without structs in it, within the bounds of its type; `given` is how it was written."""
    try:
        return msgspec.convert(value, kind.hint)
    except msgspec.ValidationError:
        hint = ""
        if kind.text and isinstance(given, bool | int | float):
            hint = QUOTE
        if kind.number and isinstance(given, str) and given[:1] in set("+-.0123456789"):
            hint = "write the number without quotes; YAML reads 1.0e+3 as a number, but not 1e3"
        raise _refused("not accepted", path, given, kind.accepted, hint) from None


def _build(struct: type[msgspec.Struct], values: dict[str, Any], path: Where) -> Any:
    """Return the struct, or refuse it if its fields contradict each other."""
    try:
        return struct(**values)
    except ValueError as error:
        raise ScenarioRefused(str(error), path) from None


def _unknown(what: str, given: str, path: Where, known: Iterable[str]) -> ScenarioRefused:
    return _refused(f"unknown {what}", (*path, given), given, ", ".join(known), did_you_mean(given, known))


def _listed(names: tuple[str, ...]) -> str:
    """Return names of the file as a message shows them, the first twenty if they are many."""
    shown = [name if name.isprintable() and len(name) <= LONGEST else render(name) for name in names[:20]]
    return ", ".join(shown) + (f" and {len(names) - 20} more" if len(names) > 20 else "")


def _refused(problem: str, path: Where, given: Any, accepted: str = "", hint: str = "") -> ScenarioRefused:
    return ScenarioRefused(problem, path, given=given, accepted=accepted, hint=hint)
