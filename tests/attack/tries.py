"""Draw tries: what is typed behind `hawb`, with files that were changed at random. The same number gives the same try.

The inputs that are changed are those of `data/`. The commands are all that read files, but for those that start a
broker or a notebook: `compare`, `record` and `lab` read by the same functions as `check` and `safe`. `study` ends where
it would start Spark, and `audited` is the part of `audit` that a task of Spark plays for each cluster.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from typing import TypeVar

from mutations import HOSTILE_TEXTS, changed, enlarged

ROOT = Path(__file__).parents[2]
DATA = ROOT / "data"
STDIN = "stdin"
"""The name of the input that is given on standard input."""
OUTPUT = "out"
"""What the names of all outputs begin with."""
LONGEST = 40_000
"""Bytes of an input before it is changed."""
ENLARGED = 0.01
"""The share of tries with a large input."""
VHOSTS = ("", "", "", "", "/=", "shop=", "=")
"""The prefix of a listing's file that tells its virtual host."""
TIMES = ("2026-11-27", "2026-11-27T09:03:21Z", "09:03", "1970-01-01", "9999-12-31T23:59:60+99:99", "now", "-1", "")
RELEASES = ("3.8", "3.10", "3.12.14", "3.13", "4.0", "4.2", "4.3", "4.3.6", "9", "none", "4.0,4.2")


@dataclass(frozen=True)
class Try:
    """Words behind `hawb`, and files by their names."""

    words: tuple[str, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def command(self) -> str:
        """The command's name."""
        return self.words[0]


T = TypeVar("T")
Seeds = Mapping[str, bytes]
Draw = Callable[[Random], Seeds]


@cache
def _all(pattern: str) -> list[Path]:
    return sorted(DATA.glob(pattern))


def _content(file: Path) -> bytes:
    return file.read_bytes()[:LONGEST]


def story(random: Random) -> Seeds:
    """Draw a scenario."""
    return {"story.yaml": _content(random.choice(_all("scenarios/*.yaml")))}


def export(random: Random) -> Seeds:
    """Draw the export of a cluster, with some of its listings."""
    if random.random() < 0.1:
        return {"orders.yaml": _content(DATA / "operator" / "orders.yaml")}
    real = DATA / "real"
    definitions = random.choice(("definitions.json",) * 4 + ("policies.json", "api-policies.json"))
    queues = random.choice((None, "list_queues.json", "list_queues.json", "list_queues.txt", "list_queues-shop.txt",
                            "api-queues.json"))
    nodes = random.choice((None, "cluster_status.json", "api-overview.json", "api-nodes.json"))
    return {name: _content(real / name) for name in (definitions, queues, nodes) if name}


def cluster(random: Random) -> Seeds:
    """Draw a scenario, or an export of a cluster."""
    return (story if random.random() < 0.3 else export)(random)


def _some(random: Random, of: list[T], most: int) -> list[T]:
    return random.sample(of, min(len(of), most))


def logs(random: Random) -> Seeds:
    """Draw the logs of a cluster: parts of them, as long logs take long."""
    found = {}
    for file in _some(random, sorted(random.choice(_all("logs/*/*")).iterdir()), 3):
        content = file.read_bytes()
        lines = (gzip.decompress(content) if file.suffix == ".gz" else content).splitlines(keepends=True)
        start = random.randrange(max(1, len(lines) - 200)) if ".log" in file.name else 0
        found[file.name.removesuffix(".gz")] = b"".join(lines[start : start + 200])[:LONGEST]
    return found


def logs_and_export(random: Random) -> Seeds:
    """Draw the logs of a cluster, sometimes with an export."""
    return {**logs(random), **(export(random) if random.random() < 0.2 else {})}


def nothing(_random: Random) -> Seeds:
    """Return no files: all that is read are words."""
    return {}


def study(random: Random) -> Seeds:
    """Draw a study."""
    return {"study.yaml": _content(random.choice(_all("studies/*.yaml")))}


COMMANDS: dict[str, tuple[Draw, tuple[str, ...]]] = {
    "run": (story, ("", "--json", "-o out.html", "--language zh", "--language pt -o out.html")),
    "check": (story, ("", "--format sarif", "--format junit")),
    "explore": (story, tuple(f"--faults 1 --states 150 --operations {rest}" for rest in (
        "0", "1 --for unavailable", "0 --for diverged --json", "1 -o out.html", "0 --scenario out.yaml",
        "1 --without publish --seconds 0.5"))),
    "safe": (cluster, ("", "--json", "--format line", "--format prometheus", "-o out.html", "--node rabbit@a",
                      "--node {text} --json")),
    "lint": (cluster, ("", "--json", "--format sarif", "--format junit", "-o out.html", "--network-mb-s 0.001")),
    "import": (export, ("-o -", "-o out.yaml", "--numbers -", "--numbers out.yaml", "--numbers - --queue orders")),
    # Trials would have the kernel compiled, which takes a minute.
    "replicas": (cluster, ("--trials 0", "--trials 0 --json", "--trials 0 --failures 2 -o out.html",
                           "--trials 0 --seed 1 --numbers numbers.yaml")),
    "upgrade": (cluster, ("", "--json", "--to {release}", "--to 4.3 --via {release} --json", "--full-stop",
                          "--drain --runbook -", "--from {release} --to 4.3", "--order {text}", "-o out.html",
                          "--runbook out.md --scenario out.yaml", "--numbers numbers.yaml",
                          "--objective {text} --wait synced", "--away-s 0 --gantt out.svg")),
    "migrate": (cluster, ("", "--json", "--to 4.3", "--to {release} --via {release}", "--from {release} -o out.html",
                          "--plan out")),
    "incident": (logs_and_export, ("", "--json", "--events", "--events --clients", "-o out.html", "--scenario -",
                                   "--since {time}", "--until {time} --json", "--zone {text}", "--after after.json",
                                   "--after after.json --json", "--unpacked-mb 0.01", "--unpacked-ratio 1")),
    "rates": (logs, ("", "--json", "--numbers -", "--numbers out.yaml -o out.html", "--since {time} --until {time}",
                     "--zone {text} --unpacked-mb 0.01")),
    "study": (study, ("--output out --master spark://127.0.0.1:1",
                      "--output out --master spark://127.0.0.1:1 --numbers numbers.yaml",
                      "--output out --master spark://127.0.0.1:1 --baseline {text}",
                      "--output out --master spark://127.0.0.1:1 --vary {text} --faults 1 --losses 1 --compact",
                      "--output out --master spark://127.0.0.1:1 --vary timing.election_s --rows-per-file 1")),
    "rule": (nothing, ("{text}", "{text} {text}", "promote on shutdown", "delivery limit {text}")),
    "audited": (export, ("",)),
}  # fmt: skip
"""The commands that are tried, with the inputs that each reads and the options that it is given."""
NUMBERS = "numbers.yaml"
"""A file of the reader's own numbers."""
AFTER = "after.json"
"""An export from after an incident."""


def drawn(number: int, own_numbers: bytes = b"", commands: tuple[str, ...] = tuple(COMMANDS)) -> Try:
    """Return the try with a number. `own_numbers` is what a file of one's own numbers holds before it is changed."""
    random = Random(number)
    command = commands[number % len(commands)]
    draw, choices = COMMANDS[command]
    options = [_filled(random, word) for word in random.choice(choices).split()]
    seeds, others = dict(draw(random)), list(draw(random).values())
    inputs = list(seeds)
    seeds |= _of_options(random, options, own_numbers)
    aimed = _some(random, list(seeds), random.choice((1, 1, 2)))
    files = {name: changed(random, name, content, random.choice(others)) if name in aimed else content
             for name, content in seeds.items()}  # fmt: skip
    if files and random.random() < ENLARGED:
        name = random.choice(list(files))
        files[name] = enlarged(random, name, files[name])
    within = random.choice(VHOSTS) if draw in (export, cluster) else ""
    arguments = ["--queues=" + within + name if command == "import" and at else within * bool(at) + name
                 for at, name in enumerate(inputs)]  # fmt: skip
    if command != "audited" and len(inputs) == 1 and random.random() < 0.1:
        files[STDIN] = files.pop(inputs[0])
        arguments = ["-"]
    elif command == "rates":  # a folder is a cluster
        return Try((command, "logs", *options), {f"logs/{name}": content for name, content in files.items()})
    return Try((command, *arguments, *options), files)


def _of_options(random: Random, options: Sequence[str], own_numbers: bytes) -> Seeds:
    """Return the files that options name."""
    after = random.choice(("definitions.json", "list_queues.json", "api-queues.json", "policies.json"))
    given = {NUMBERS: own_numbers, AFTER: _content(DATA / "real" / after)}
    return {name: content for name, content in given.items() if name in options}


def as_seeded(command: str, own_numbers: bytes) -> list[Try]:
    """Return tries of a command with inputs as they are in `data/`, each of its options once."""
    draw, choices = COMMANDS[command]
    found = []
    for at, choice in enumerate(choices):
        random = Random(at)
        files = dict(draw(random))
        arguments = ["--queues=" + name if command == "import" and at else name for at, name in enumerate(files)]
        options = [_filled(random, word) for word in choice.split()]
        files |= _of_options(random, options, own_numbers)
        found.append(Try((command, *arguments, *options), files))
    return found


def _filled(random: Random, word: str) -> str:
    typed = [text for text in HOSTILE_TEXTS if not set(text) & set("\0\ud800")]
    texts = {"{release}": RELEASES, "{time}": TIMES, "{text}": typed}
    return random.choice(texts[word]) if word in texts else word
