"""Store stories of real clusters: the nodes' whole logs, and the true course of events.

A story is a folder `RELEASE/NAME` with

* a log file of each node, gzipped, without traces of the machine (`witness.neutral`);
* `scenario.yaml`, the scenario that was driven;
* `definitions.json`, `queues-before.json` and `nodes-before.json`: what an operator would have exported before the
  faults began, and `definitions-after.json`, `queues-after.json` and `nodes-after.json` at the end;
* `seen.json.gz`, the nodes' views in between, at each change;
* `story.json`, the driver's knowledge: when each step began, and the outcome, with messages by their numbers.

The same story gives the same bytes: no file says when or where it was stored.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hawb.broker.export_files import Export
from hawb.broker.real import Played
from hawb.broker.witness import Witness
from hawb.scenario.dump import dump
from hawb.scenario.saving import write

SCENARIO = "scenario.yaml"
OUTCOME = ("nodes", "partitions", "queues", "deleted", "ledger", "consumers", "publishers", "errors")
"""The parts of an outcome that are kept."""


def name_of(file: Path) -> str:
    """Return the name of a scenario's file; for a stored one, that of its folder."""
    return file.parent.name if file.name == SCENARIO else file.stem


def story(name: str, played: Played, witness: Witness) -> dict[str, Any]:
    """Return the driver's knowledge of a story.

    `exported_before` is the step before which the first exports were made.
    """
    broker = played.outcome["broker"]
    return {
        "scenario": name,
        "release": broker["rabbitmq"],
        "erlang": broker["erlang"],
        "names": dict(witness.names),
        "begun": witness.begun,
        "exported_before": witness.export_at,
        **{part: played.outcome[part] for part in OUTCOME if part in played.outcome},
    }


def save(folder: Path, name: str, played: Played, witness: Witness) -> None:
    """Write a story in place of the folder's content. Raise OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    for stale in folder.iterdir():
        stale.unlink()
    for log, text in witness.logs.items():
        write(folder / f"{log}.gz", packed(text))
    write(folder / SCENARIO, dump(played.scenario))
    for moment, export in (("before", witness.before), ("after", witness.after)):
        save_export(folder, moment, export)
    write(folder / "seen.json.gz", packed(lines(witness.sightings)))
    write(folder / "story.json", keyed(story(name, played, witness)))


def save_export(folder: Path, moment: str, export: Export) -> None:
    """Write the files of an export."""
    if export.definitions is not None:
        name = "definitions.json" if moment == "before" else "definitions-after.json"
        write(folder / name, keyed({part: Rows(content) if isinstance(content, list) else content
                                    for part, content in export.definitions.items()}))  # fmt: skip
    write(folder / f"queues-{moment}.json", lines(export.queues))
    write(folder / f"nodes-{moment}.json", lines(export.nodes))


class Rows(list):
    """A list whose items are written on a line each."""


def keyed(parts: dict[str, Any]) -> str:
    """Return JSON with each key on a line of its own."""
    rows = (f" {json.dumps(key)}: {lines(value).rstrip() if isinstance(value, Rows) else plain(value)}"
            for key, value in sorted(parts.items()))  # fmt: skip
    return "{\n" + ",\n".join(rows) + "\n}\n"


def lines(items: Iterable[Any]) -> str:
    """Return JSON of a list with each item on a line of its own."""
    rows = [plain(item) for item in items]
    return "[\n" + ",\n".join(rows) + "\n]\n" if rows else "[]\n"


def plain(value: Any) -> str:
    """Return JSON on one line, with sorted keys."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def packed(text: str) -> bytes:
    """Return a text gzipped, without a timestamp."""
    return gzip.compress(text.encode(), mtime=0)
