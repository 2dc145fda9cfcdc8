"""Record a story while it is driven: exports before and after, nodes' views in between, and their whole logs.

The first steps of a story that begins with an empty cluster set it up. The first export follows these steps: it is made
before the first step that does more (`trouble`).

Nodes' views are queried over Erlang, not read from logs, so that they can be compared with the logs. They are queried
about twenty times a second while a step waits for the cluster to settle, and not while a step only lets time pass.
Exports are those of `export_files`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

from hawb.broker.drive import Drive
from hawb.broker.export_files import Export, export
from hawb.broker.node_logs import WRITTEN_S
from hawb.broker.nodes import BrokerNode
from hawb.broker.observe import named, queues_of
from hawb.scenario import verbs
from hawb.scenario.document import Step

SETTING_UP = (
    verbs.SetPolicy, verbs.SetOperatorPolicy, verbs.Declare, verbs.Bind, verbs.Publish, verbs.Consume, verbs.Expect,
)  # fmt: skip
"""Verbs that set up a story."""
SEEN = ("state", "master", "mirrors", "synchronised_mirrors", "leader", "members", "online", "views")
"""The fields of a queue whose changes are recorded."""
PLACE = "/var/lib/hawb"
"""The replacement of a cluster's folder in its logs."""
COOKIE = re.compile(r"(?<=cookie hash)(\s*: )\S+")
CONSOLE = "console"
"""A node's console output is in its log too."""


class Witness:
    """The record of one story.

    `before` is the export made before step `export_at`, and `after` the one at the end. `sightings` are the changes of
    the nodes' views. `begun` has the times at which steps began (`NodeLogs.begun`). `logs` are the texts of the nodes'
    logs by file.
    """

    def __init__(self) -> None:
        self.before: Export | None = None
        self.after: Export | None = None
        self.export_at = 0
        self.sightings: list[dict[str, Any]] = []
        self.names: Mapping[str, str] = {}
        self.begun: list[tuple[float, int | None]] = []
        self.logs: dict[str, str] = {}
        self._known: dict[str, dict[str, Any]] = {"nodes": {}, "sees": {}, "queues": {}}

    def begin(self, drive: Drive, steps: Sequence[Step]) -> None:
        """Start recording. The cluster of the drive must have been built."""
        self.names, self.export_at = drive.cluster.names, trouble(steps)
        drive.on_look = lambda views: self.look(drive, views)

    def step(self, drive: Drive, index: int) -> None:
        """Export the state if it is to be exported before this step."""
        if index == self.export_at:
            drive.settle()
            self.before = export(drive)

    def end(self, drive: Drive) -> None:
        """Export the state after the last step, when the cluster has settled, and read the logs."""
        self.after = export(drive)
        self.before = self.before or self.after
        drive.on_look = None
        self.begun = drive.logs.begun
        time.sleep(WRITTEN_S)
        home = str(next(iter(drive.cluster.nodes.values())).directory.parent)
        for node in drive.cluster.nodes.values():
            self.logs |= {name: neutral(text, home) for name, text in logs_of(node).items()}

    def look(self, drive: Drive, views: dict[str, Any]) -> None:
        """Record how the views differ from those of the last call."""
        now = {
            "nodes": {name: view["state"] for name, view in views.items()},
            "sees": {name: sorted(named(drive, view["nodes"])) for name, view in views.items() if "nodes" in view},
            "queues": {name: {key: queue[key] for key in SEEN if key in queue}
                       for name, queue in queues_of(drive, views).items()},
        }  # fmt: skip
        changed = {part: changes(self._known[part], now[part]) for part in now}
        self._known = now
        if news := {part: found for part, found in changed.items() if found}:
            self.sightings.append({"at": round(time.time(), 3), **news})


def changes(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """Return the entries that are new or changed, and None for those that are gone."""
    return {key: now.get(key) for key in sorted(before.keys() | now.keys()) if before.get(key) != now.get(key)}


def trouble(steps: Sequence[Step]) -> int:
    """Return the index of the first step that does more than set up the cluster; 0 if there is none.

    If other steps happen at the same time, return the index of the first of these.
    """
    index = next((index for index, step in enumerate(steps) if not isinstance(step.verb, SETTING_UP)), 0)
    while index and steps[index].at is not None:
        index -= 1
    return index


def logs_of(node: BrokerNode) -> dict[str, str]:
    """Return the logs of a node by the names of their files.

    They are a.log, and for some releases a-crash.log and a-upgrade.log.
    """
    found = {}
    for file in sorted(node.directory.rglob("*.log")):
        kind = file.stem.rpartition("_")[2]
        if kind == CONSOLE or node.data in file.parents:
            continue
        if text := file.read_text(encoding="utf-8", errors="replace"):
            found[f"{node.name}.log" if kind == "broker" else f"{node.name}-{kind}.log"] = text
    return found


def neutral(text: str, home: str) -> str:
    """Return a log without traces of the machine.

    The folder of the cluster, the one above it, and hashes of cookies are replaced.
    """
    text = text.replace(home, PLACE).replace(home.rpartition("/")[0], PLACE)
    return COOKIE.sub(r"\1…", text)
