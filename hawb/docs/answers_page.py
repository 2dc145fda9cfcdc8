"""Write the page of the commands' answers with --json, from the schemas that are published with hawb."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from hawb.docs.prose import line
from hawb.views import markdown
from hawb.views.schemas import COMMANDS, VERSION, kept

HEAD = f"""# Answers as JSON

This page lists the keys that `hawb COMMAND --json` writes. `hawb schema COMMAND` prints the same as a JSON Schema, with
which you can check an answer. All answers have version {VERSION}. Within a version, hawb may add keys, but it never
removes a key or changes its meaning. So ignore keys that you do not know.

"""
WORDS = {
    "string": "text", "integer": "a whole number", "number": "a number", "boolean": "true or false", "null": "null",
    "object": "a map", "array": "a list",
}  # fmt: skip


def answers_page() -> str:
    """Return the page: a section for each command, with a table for each struct of its answer."""
    return HEAD + "\n".join(part for command in COMMANDS for part in _command(command))


def _command(command: str) -> Iterator[str]:
    root = json.loads(kept(command))
    yield f"## `hawb {command} --json`\n"
    yield f"{_of(root, command)[:1].upper()}{_of(root, command)[1:]}. ([The schema](../../../schemas/{command}.json))\n"
    for name, form in root.get("$defs", {}).items():
        yield f"({_place(command, name)})=\n### {name} ({command})\n"
        if text := form.get("description"):
            yield line(text) + "\n"
        yield _table(form, command) + "\n"


def _table(form: dict[str, Any], command: str) -> str:
    required = form.get("required", ())
    rows = [(f"`{key}`", _of(kind, command), "" if key in required else "may be missing")
            for key, kind in form.get("properties", {}).items()]  # fmt: skip
    return markdown.table(("key", "what it holds", ""), rows) if rows else _of(form, command) + "."


def _of(kind: dict[str, Any], command: str) -> str:
    """Return what a value is, in words."""
    if "$ref" in kind:
        name = kind["$ref"].rpartition("/")[2]
        return f"[{name}](#{_place(command, name)})"
    if "anyOf" in kind:
        return " or ".join(dict.fromkeys(_of(one, command) for one in kind["anyOf"]))
    if "enum" in kind:
        return ", ".join(markdown.code(str(one)) for one in kind["enum"])
    if isinstance(items := kind.get("items"), dict) and items:
        return f"a list of {_of(items, command)}"
    if isinstance(values := kind.get("additionalProperties"), dict) and values:
        return f"a map, each {_of(values, command)}"
    return WORDS.get(kind.get("type", ""), "anything")


def _place(command: str, name: str) -> str:
    return f"answer-{command}-{name}".lower()
