"""The signature of a verb as a method of `hawb.Cluster`, its argument, and an example.

`python -m hawb.scenario.signatures` writes `hawb/cluster_verbs.pyi`, which editors and type checkers read.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, structs

from hawb.scenario.fields import Bare, Flag, Verb
from hawb.scenario.script import SEVERAL
from hawb.scenario.verbs import VERBS

STUBS = Path(__file__).parents[1] / "cluster_verbs.pyi"
HEAD = '''"""The methods of `hawb.Cluster` for verbs, except `publish`. Made by `python -m hawb.scenario.signatures`."""

from collections.abc import Iterable
from typing import Any, Literal, Self

class Verbs:
'''
SAMPLES = {
    "queue": '"orders"', "node": '"a"', "nodes": '"a"', "name": '"ha-orders"', "pattern": 'r"^orders$"',
    "definition": '{"ha-mode": "all"}', "exchange": '"logs"', "routing_key": '"app"', "rate": "100", "count": "10",
    "consumer": '"worker"', "groups": '["a"], ["b", "c"]', "links": '("a", "b")', "seconds": "60",
    "outcome": '{"losses": []}', "publisher.name": '"app"', "close.name": '"app"',
}  # fmt: skip
"""A sample value for each required field, or for that of one verb, as Python writes it."""


def signature(struct: type[Verb]) -> inspect.Signature:
    """Return the signature of a verb's method: the verb's fields, and `at`, the time of the step in seconds."""
    parameter = inspect.Parameter
    parameters = [parameter("self", parameter.POSITIONAL_OR_KEYWORD)]
    hints = get_type_hints(struct)
    for field in structs.fields(struct):
        several = issubclass(struct, SEVERAL)
        kind = parameter.VAR_POSITIONAL if several else parameter.POSITIONAL_OR_KEYWORD
        default = parameter.empty
        if not several and not field.required:
            default = None if field.default is NODEFAULT else field.default
        annotation = written(get_args(hints[field.name])[0] if several else hints[field.name])
        if default is None and "None" not in annotation:
            annotation += " | None"
        parameters.append(parameter(field.name, kind, default=default, annotation=annotation))
    at = parameter("at", parameter.KEYWORD_ONLY, default=None, annotation="float | None")
    return inspect.Signature([*parameters, at], return_annotation="Self")


def written(hint: Any) -> str:
    """Return a type as a stub writes it; a list of any kind may be given for a tuple."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return written(args[0])
    if origin in (Union, types.UnionType):
        return " | ".join(dict.fromkeys(written(arg) for arg in args))
    if origin is tuple:
        return f"Iterable[{written(args[0])}]"
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, args))}]"
    if origin is dict:
        return f"dict[{', '.join(map(written, args))}]"
    return {type(None): "None", Any: "Any"}.get(hint) or hint.__name__


def argument(struct: type[Verb], given: dict[str, object]) -> object:
    """Return a verb's argument as a file writes it."""
    if issubclass(struct, Flag):
        return True
    if issubclass(struct, Bare):
        return _plain(next(iter(given.values())))
    names = {field.name: field.encode_name for field in structs.fields(struct)}
    return {names[key]: _plain(value) for key, value in given.items()}


def _plain(value: object) -> object:
    return (
        [_plain(one) for one in value] if isinstance(value, Iterable) and not isinstance(value, str | dict) else value
    )


def description(name: str, struct: type[Verb]) -> str:
    """Return the docstring of a verb's method: what the verb does, and an example."""
    required = [field.name for field in structs.fields(struct) if field.required]
    samples = [SAMPLES.get(f"{name}.{field}") or SAMPLES[field] for field in required]
    return f"{inspect.getdoc(struct)}\n\nExample: `cluster.{name}({', '.join(samples)})`"


def stubs() -> str:
    """Return the text of `hawb/cluster_verbs.pyi`."""
    return HEAD + "\n".join(_stub(name, struct) for name, struct in VERBS.items() if name != "publish")


def _stub(name: str, struct: type[Verb]) -> str:
    # `Signature` prints annotations, which are strings here, with their quotes.
    shown = re.sub(r": '((?:[^'\\]|\\.)*)'", r": \1", str(signature(struct))).replace(r"\'", "'")
    lines = [line and f"        {line}" for line in f'"""{description(name, struct)}\n"""'.splitlines()]
    return "\n".join([f"    def {name}{shown}:", *lines, ""])


if __name__ == "__main__":
    STUBS.write_text(stubs(), encoding="utf-8")
