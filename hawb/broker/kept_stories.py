"""Stories of real clusters as they are kept: the nodes' whole logs, and what truly happened.

A story is a folder `RELEASE/NAME` with

* a log file of each node, gzipped, without what is its machine's (`witness.neutral`);
* `scenario.yaml`, what was driven;
* `definitions.json`, `queues-before.json` and `nodes-before.json`: what an operator would have exported before the
  trouble began, and `definitions-after.json`, `queues-after.json` and `nodes-after.json` at the end;
* `seen.json.gz`, what nodes knew in between, each time that something had changed;
* `story.json`, what the driver knows: when each step began, and the outcome, with messages by their numbers.

The same bytes come of the same story: nothing is written that tells when or where it was kept.
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
    """What a scenario's file is called; one that was kept has the name of its folder."""
    return file.parent.name if file.name == SCENARIO else file.stem


def story(name: str, played: Played, witness: Witness) -> dict[str, Any]:
    """What the driver of a story knows. `exported_before` is the step before which the exports of before were made."""
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
    """Writes a story in place of what the folder has. Raises OSError."""
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
    """Writes the files of an export."""
    if export.definitions is not None:
        name = "definitions.json" if moment == "before" else "definitions-after.json"
        write(folder / name, keyed({part: Rows(told) if isinstance(told, list) else told
                                    for part, told in export.definitions.items()}))  # fmt: skip
    write(folder / f"queues-{moment}.json", lines(export.queues))
    write(folder / f"nodes-{moment}.json", lines(export.nodes))


class Rows(list):
    """A list of which each item is to stand on a line of its own."""


def keyed(parts: dict[str, Any]) -> str:
    """JSON with each key on a line of its own."""
    rows = (f" {json.dumps(key)}: {lines(value).rstrip() if isinstance(value, Rows) else plain(value)}"
            for key, value in sorted(parts.items()))  # fmt: skip
    return "{\n" + ",\n".join(rows) + "\n}\n"


def lines(items: Iterable[Any]) -> str:
    """JSON of a list with each item on a line of its own."""
    rows = [plain(item) for item in items]
    return "[\n" + ",\n".join(rows) + "\n]\n" if rows else "[]\n"


def plain(value: Any) -> str:
    """JSON on one line, in one order."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def packed(text: str) -> bytes:
    """A text gzipped, the same at any time."""
    return gzip.compress(text.encode(), mtime=0)
