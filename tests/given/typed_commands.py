"""Each command of hawb as somebody types it, and a program that plays them wherever it is run.

The program needs nothing but hawb and what `pip install hawb` brings. It reads a list of commands as JSON, each a list
of words, and writes a list of what came of each: status, output, what went to standard error, which modules of
extras have been imported so far, and where it reached by sockets.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
HEAVY = ("IPython", "anywidget", "covertable", "ipywidgets", "llvmlite", "matplotlib", "numba", "numpy", "pandas",
         "pika", "pyarrow", "pyspark")  # fmt: skip

REACHES = ("socket.bind", "socket.connect", "socket.getaddrinfo", "socket.gethostbyaddr", "socket.gethostbyname",
           "socket.sendmsg", "socket.sendto")  # fmt: skip
"""What Python's audit hooks call it if a program reaches others by a socket, or lets them reach it."""


class Typed(NamedTuple):
    """What is typed behind `hawb`, with {real} for an export of a cluster, {story} for a scenario, {logs} for those
    of a cluster, {fleet} for those of several and {to} for a folder to write in; the exit status, and the extras that
    it takes."""

    words: str
    status: int = 0
    extras: frozenset[str] = frozenset()
    slow: bool = False

    def filled(self, to: Path) -> list[str]:
        """Return the words with file names filled in."""
        real = [str(ROOT / "data" / "real" / f"{name}.json") for name in ("definitions", "api-queues", "api-nodes")]
        story = str(ROOT / "data" / "scenarios" / "unsynchronised-mirror-promoted.yaml")
        fleet = ROOT / "data" / "logs" / "4.3"
        found = {"{real}": real, "{story}": [story], "{export}": real[:1], "{fleet}": [str(fleet)],
                 "{logs}": [str(fleet / "wide-partition-4-3")]}  # fmt: skip
        return [one.replace("{to}", str(to)) for word in self.words.split() for one in found.get(word, [word])]


def takes(*extras: str) -> frozenset[str]:
    """Return the extras of a command."""
    return frozenset(extras)


BROKER, FIGURES, LAB, STUDY = takes("broker"), takes("figures"), takes("lab"), takes("study")
ANSWERS = (
    Typed("run {story}"), Typed("run --json {story}"), Typed("check {story}"),
    Typed("rule promote on shutdown"), Typed("rule promotion.candidate"),
    Typed("safe {real}", 1), Typed("safe --json {real}", 1),
    Typed("explore {story} --faults 1 --operations 0"), Typed("explore --json {story} --faults 1 --operations 0"),
    Typed("lint {real}", 1), Typed("lint --json {real}", 1),
    Typed("upgrade {story}"), Typed("upgrade --json {story}"), Typed("upgrade --full-stop {story}"),
    Typed("upgrade {story} --to 3.13"),
    Typed("migrate {real}", 1), Typed("migrate --json {real}", 1),
    Typed("import {export} -o -"), Typed("import {export} --numbers -"),
    Typed("lint --format sarif {real}", 1), Typed("lint --format junit {real}", 1),
    Typed("check --format sarif {story}"), Typed("check --format junit {story}"),
    Typed("safe --format prometheus {real}", 1), Typed("schema safe"), Typed("incident {logs}"),
    Typed("incident --json {logs}"), Typed("incident --events {logs}"),
)  # fmt: skip
"""Answers in text and JSON: a pipeline asks for them, and none may wait for a library of figures or tables."""

WRITTEN = (
    Typed("run -o {to}/run.html {story}"), Typed("safe -o {to}/safe.html {real}", 1),
    Typed("explore -o {to}/explore.html {story} --faults 1 --operations 0"),
    Typed("lint -o {to}/lint.html {real}", 1), Typed("upgrade {story} --runbook {to}/runbook.md"),
    Typed("upgrade {story} --numbers {to}/none.yaml", 2), Typed("migrate {real} --plan {to}/plan", 1),
    Typed("incident {logs} -o {to}/incident.html --scenario {to}/story.yaml"),
    Typed("watch --api http://127.0.0.1:1 -o -", 2), Typed("safe --live http://127.0.0.1:1 --node a", 2),
    Typed("upgrade {story} -o {to}/upgrade.html", 0, FIGURES),
    Typed("upgrade {story} --gantt {to}/upgrade.svg", 0, FIGURES),
    Typed("run --on broker {to}/none.yaml", 2, BROKER), Typed("compare {to}/none.yaml", 2, BROKER),
    Typed("record {to}/none.yaml", 2, BROKER),
    Typed("fuzz --on model --count 1 --replays 0 --out {to}/fuzz", 0, BROKER),
    Typed("replicas --trials 0 {real}", 1, STUDY), Typed("replicas --trials 0 -o {to}/replicas.html {real}", 1,
                                                         FIGURES | STUDY),
    Typed("study {to}/none.yaml --output {to}/study", 2, STUDY),
    Typed("rates {fleet}", 0, STUDY), Typed("rates --json {fleet}", 0, STUDY),
    Typed("rates {fleet} --numbers {to}/own.yaml -o {to}/rates.html", 0, FIGURES | STUDY),
    Typed("lessons --class {to}/class 10 12", 0, LAB),
    Typed("audit --json {real}", 0, STUDY, slow=True),
    Typed("explore --master local[1] {story} --faults 1 --operations 0", 0, STUDY, slow=True),
)  # fmt: skip
"""Pages, files, and what takes an extra; that of a real broker or a study is asked for a file that is not there."""

SERVED = (Typed("lab --folder {to}/hawb {story}", 0, LAB), Typed("lessons --folder {to}/hawb", 0, LAB))
"""What goes on until it is told to stop, where it can."""

EVERY = (*ANSWERS, *WRITTEN, *SERVED)
PATIENCE_S = 540
"""When to give up on a program that plays them."""


def play(commands: list[list[str]]) -> list[dict[str, object]]:
    """Play commands in sequence in this process."""
    from click.testing import CliRunner

    from hawb.cli import main

    found = []
    reached: list[str] = []
    sys.addaudithook(lambda event, given: event in REACHES and reached.append(f"{event} {given[1:]}"))
    for words in commands:
        reached.clear()
        result = CliRunner().invoke(main, words, env={"HAWB_API_USER": "u", "HAWB_API_PASSWORD": "p"})
        crash = result.exception if result.exc_info and result.exc_info[0] is not SystemExit else None
        imported = [name for name in HEAVY if name in sys.modules]
        found.append({"status": result.exit_code, "out": result.stdout, "err": result.stderr,
                      "crash": crash and repr(crash), "imported": imported, "reached": [*reached]})  # fmt: skip
    return found


if __name__ == "__main__":
    json.dump(play(json.load(sys.stdin)), sys.stdout)
