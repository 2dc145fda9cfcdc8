"""The JSON Schemas of the answers of commands with --json, stored in `hawb/schemas` and printed by `hawb schema`.

`python -m hawb.views.schemas` writes them. Their version is in `$id`. It changes if a key is removed or changes its
meaning, and never if a key is added.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

FOLDER = Path(__file__).parents[1] / "schemas"
VERSION = 1
DIALECT = "https://json-schema.org/draft/2020-12/schema"
COMMANDS = ("audit", "explore", "incident", "lint", "migrate", "rates", "replicas", "run", "safe", "study", "upgrade")
"""The commands with --json."""

OF_CLASSIC = "mirrored master mirrors synchronised_mirrors recoverable_mirrors"
OF_GROUPS = "leader members online term commit_index tolerated_failures log_entries disk_bytes memory_bytes uncommitted"
OF_RUNS = {
    "Outcome": {"requested_version", "metadata_store", "unnoticed"},
    "Queue": {*OF_CLASSIC.split(), *OF_GROUPS.split(), "views", "replicas_by_view"},
    "Replica": {"term", "behind"},
}
"""The optional keys of an outcome."""


def kept(command: str) -> str:
    """Return the stored schema of a command's answer. Raise KeyError for a command without one."""
    if command not in COMMANDS:
        raise KeyError(command)
    return (FOLDER / f"{command}.json").read_text(encoding="utf-8")


def schema(command: str) -> dict[str, Any]:
    """Return the schema of a command's answer, made from its type."""
    from hawb.views import answers, incident_answers

    if command == "run":
        return _headed(command, _of_outcomes())
    forms: dict[str, Any] = {
        "audit": (answers.Audited,),
        "explore": (answers.Explored,),
        "incident": (incident_answers.Incident, incident_answers.LogEvents),
        "lint": (list[answers.Linted],),
        "migrate": (answers.Migrated,),
        "rates": (answers.Rated,),
        "replicas": (answers.ReplicaCounts,),
        "safe": (list[answers.SafeNode],),
        "study": (list[answers.Estimate],),
        "upgrade": (answers.Upgrade, answers.Road),
    }
    types, named = msgspec.json.schema_components(forms[command], ref_template="#/$defs/{name}")
    return _headed(command, {**(types[0] if len(types) == 1 else {"anyOf": [*types]}), "$defs": named})


def _headed(command: str, form: dict[str, Any]) -> dict[str, Any]:
    _tidy(form)
    return {
        "$schema": DIALECT,
        "$id": f"urn:hawb:schema:{VERSION}:{command}",
        "title": f"hawb {command} --json",
        "$comment": "Within a version keys are added; none is removed or changes its meaning.",
        **form,
    }


def _tidy(part: Any) -> None:
    """Put descriptions on one line, in any release of Python, and make keys with a default required.

    Such keys may be left out when a struct is made, but they are always in the JSON.
    """
    for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        _tidy(inner)
    if isinstance(part, dict):
        if isinstance(text := part.get("description"), str):
            part["description"] = " ".join(text.split())
        if isinstance(keys := part.get("properties"), dict):
            by_default = {key for key, form in keys.items() if "default" in form}
            part["required"] = sorted({*part.get("required", ()), *by_default})
            for key in by_default:
                del keys[key]["default"]


def _of_outcomes() -> dict[str, Any]:
    """Return the schema of outcomes, made from that of expected outcomes.

    It lacks the part of an error's text and the mark of a queue that must not exist, which only expectations have.
    """
    from hawb.scenario.expected import ExpectedOutcome

    text = json.dumps(msgspec.json.schema(ExpectedOutcome)).replace("Expected", "")
    schema = json.loads(text)
    schema["$defs"]["Outcome"]["description"] = "The moment at which a run ends."
    schema["$defs"]["Error"]["properties"].pop("contains")
    schema["$defs"]["Outcome"]["properties"]["queues"]["additionalProperties"] = {"$ref": "#/$defs/Queue"}
    for name, form in schema["$defs"].items():
        form.pop("additionalProperties", None)
        form["required"] = sorted(form["properties"].keys() - OF_RUNS.get(name, set()))
    return schema


def main() -> None:
    """Write all schemas."""
    FOLDER.mkdir(exist_ok=True)
    for command in COMMANDS:
        (FOLDER / f"{command}.json").write_text(json.dumps(schema(command), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
