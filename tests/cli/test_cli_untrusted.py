"""Untrusted input: names are escaped on terminals and pages, values are described by length, and file names may be
any bytes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from samples import of_the_day

from hawb.cli import main

DATA = Path(__file__).parents[2] / "data"
MARKS = "\u2028\u2029\u202e\u2066\u200f\u061c\x85\x1b[31m\x00\x7f"
"""Separators of lines and paragraphs, marks of direction, and characters of control."""
ALLOWED = "\u2068\u2069\xa0"
"""Marks around names, and the space between a number and its unit."""
SECRET = "amqp://user:secret@host/" + "x" * 300
LOG = (
    "2026-11-27 09:03:21.252405+00:00 [error] <0.217.0> Mirrored queue 'q{0}' in vhost '/': Slave <n{0}@h.1.2.0> saw"
    " deaths of mirrors <m{0}@h.1.2.0>\n"
    "2026-11-27 09:03:22.252405+00:00 [info] <0.217.0> rabbit on node 'm{0}@h' down\n"
    "2026-11-27 09:03:23.252405+00:00 [error] <0.9.0> something else {0}\n"
)


def named(name: str) -> str:
    """Return a name with control characters."""
    return f"{name}{MARKS}"


def cluster(folder: Path) -> list[str]:
    """Write an export and listings whose names all have control characters."""
    nodes = [named("n@h"), named("m@h")]
    queue = {"name": named("q"), "vhost": named("v"), "durable": True, "auto_delete": False, "arguments": {}}
    policy = {"vhost": named("v"), "name": named("p"), "pattern": ".", "apply-to": "all", "priority": 0,
              "definition": {"ha-mode": "nodes", "ha-params": nodes}}  # fmt: skip
    exchange = {"name": named("x"), "vhost": named("v"), "type": named("t"), "durable": True, "auto_delete": False,
                "internal": False, "arguments": {}}  # fmt: skip
    return written(folder, {
        named("definitions"): {
            "rabbit_version": "3.10.8", "vhosts": [{"name": named("v"), "limits": {named("limit"): 1}}],
            "queues": [queue, queue | {"name": named("r"), "arguments": {"x-queue-type": named("type")}}],
            "policies": [policy], "exchanges": [exchange], "bindings": [], named("section"): [],
        },
        named("queues"): [
            queue | {"node": nodes[0], "slave_nodes": nodes[1:], "synchronised_slave_nodes": [], "messages": 5,
                     "state": named("running"), "policy": named("other")},
        ],
        named("nodes"): [{"name": name, "running": True, "partitions": nodes[:1]} for name in nodes],
    })  # fmt: skip


def written(folder: Path, documents: dict[str, Any]) -> list[str]:
    """Write documents as files with these names, without characters that file names cannot have."""
    files = [folder / f"{name.replace(chr(0), '')}.json" for name in documents]
    for file, document in zip(files, documents.values(), strict=True):
        file.write_text(json.dumps(document), encoding="utf-8")
    return [str(file) for file in files]


def story(folder: Path) -> list[str]:
    """Write a scenario whose names all have control characters, with an unmet expectation."""
    a, b, queue = named("a"), named("b"), named("q")
    file = folder / f"story{MARKS.replace(chr(0), '')}.yaml"
    file.write_text(json.dumps({
        "scenario": named("title"), "cluster": {"nodes": [a, b], "version": "3.10"},
        "policies": [{"name": named("all"), "pattern": ".", "definition": {"ha-mode": "all"}}],
        "steps": [
            {"declare": {"queue": queue, "node": a}}, {"publish": {"queue": queue, "count": 5}},
            {"consume": {"consumer": named("c"), "queue": queue, "node": b, "prefetch": 1}},
            {"declare": {"queue": queue, "node": a, "durable": False}}, {"stop": b}, {"kill": a},
        ],
        "expect": {"queues": {queue: {"messages": 999}, named("none"): {}}},
    }).replace("\\u0000", ""), encoding="utf-8")  # fmt: skip
    return [str(file)]


def log(folder: Path) -> list[str]:
    """Write a log whose names have control characters."""
    file = folder / f"log{MARKS.replace(chr(0), '')}.log"
    file.write_text(LOG.format(MARKS.replace("\x00", "")), encoding="utf-8")
    return [str(file)]


GIVEN = {"CLUSTER": cluster, "STORY": story, "LOG": log}


@pytest.mark.parametrize("words", [
    "safe CLUSTER -o O", "safe CLUSTER --format line", "safe CLUSTER --format prometheus", "lint CLUSTER --report O",
    "lint CLUSTER --format sarif", "lint CLUSTER --format junit", "migrate CLUSTER -o O",
    "upgrade CLUSTER --full-stop -o O --report P --scenario S", "run STORY --report O", "check STORY",
    "check STORY --format sarif", "check STORY --format junit", "safe STORY -o O", "migrate STORY -o O",
    "upgrade STORY --full-stop -o O --report P --scenario S", "explore STORY --faults 1 --operations 0 -o S --report O",
    "incident LOG -o O --scenario S", "incident LOG --events --clients", "incident CLUSTER", "run LOG", "run missing",
    "safe STORY --node missing", "study STORY --output S",
])  # fmt: skip
def test_unprintable_characters_are_escaped(tmp_path: Path, words: str):
    (tmp_path / "to").mkdir()
    typed: list[str] = []
    for word in words.split():
        places = {name: str(tmp_path / "to" / name) for name in "OPS"}
        places["missing"] = named("missing").replace("\x00", "")
        typed += GIVEN[word](tmp_path) if word in GIVEN else [places.get(word, word)]
    result = CliRunner().invoke(main, typed)
    assert result.exit_code in (0, 1, 2, 3), result.stderr
    written = [file.read_text(encoding="utf-8") for file in (tmp_path / "to").rglob("*") if file.is_file()]
    for item in (result.stdout, result.stderr, *written):
        assert {c for c in item if not c.isprintable()} <= {"\n", *ALLOWED}


def import_of(tmp_path: Path) -> Result:
    """Return the result of an import."""
    definitions, *listings = cluster(tmp_path)
    options = [word for file in listings for word in ("--queues", file)]
    return CliRunner().invoke(main, ["import", definitions, *options, "-o", "-"])


def test_import_keeps_names_and_escapes_them_in_notes(tmp_path: Path):
    imported = import_of(tmp_path)
    assert imported.exit_code == 0 and imported.stderr.count("note: ") > 5
    assert {c for c in imported.stdout + imported.stderr if not c.isprintable()} <= {"\n", *ALLOWED}
    outcome = CliRunner().invoke(main, ["run", "-", "--json"], input=imported.stdout_bytes)
    assert [*json.loads(outcome.stdout)["queues"]] == [f"{named('v')}::{named('q')}"]


@pytest.mark.parametrize("key", ["rabbit_version", "rabbitmq_version", "type", "state"])
@pytest.mark.parametrize("words", [
    "upgrade FILES --full-stop", "upgrade FILES --to 4.0", "migrate FILES", "safe FILES", "lint FILES",
])  # fmt: skip
def test_unknown_value_is_described_by_its_length(tmp_path: Path, key: str, words: str):
    queue = {"name": "q", "vhost": "/", "durable": True, "auto_delete": False, "arguments": {}}
    listed = queue | {"node": "a@h", "messages": 1} | ({key: SECRET} if key in ("type", "state") else {})
    export = {"vhosts": [{"name": "/"}], "queues": [queue], "policies": []}
    files = written(tmp_path, {
        "definitions": export | ({} if key in ("type", "state") else {key: SECRET}),
        "queues": [listed], "nodes": [{"name": "a@h", "running": True}],
    })  # fmt: skip
    typed = [one for word in words.split() for one in (files if word == "FILES" else [word])]
    result = CliRunner().invoke(main, typed)
    assert result.exit_code in (0, 1, 2, 3)
    assert "secret" not in result.output
    if words in ("upgrade FILES --full-stop", "safe FILES"):
        assert f"a text of length {len(SECRET)})" in " ".join(result.output.split())


def test_rabbitmqs_text_about_a_value_is_truncated(tmp_path: Path):
    policy = {"vhost": "/", "name": "p", "pattern": "y" * 999, "apply-to": "all", "priority": 0,
              "definition": {"ha-mode": "z" * 999}}  # fmt: skip
    files = written(tmp_path, {"definitions": {"rabbit_version": "3.10.8", "vhosts": [{"name": "/"}], "queues": [],
                                               "policies": [policy]}})  # fmt: skip
    for words in ("lint", "lint --json", "safe"):
        shown = "".join(CliRunner().invoke(main, [words.split()[0], *files, *words.split()[1:]]).output.split())
        assert "y" * 300 not in shown and "z" * 300 not in shown


@pytest.mark.parametrize("words", [
    "run STORY --report O", "check STORY --format sarif", "check STORY --format junit", "safe EXPORT -o O",
    "lint EXPORT --format sarif", "lint EXPORT --format junit", "lint EXPORT --report O", "lint EXPORT --json",
    "migrate EXPORT -o O", "upgrade STORY --full-stop -o O --report P", "incident BROKEN", "run BROKEN",
    "check BROKEN", "lint BROKEN", "safe BROKEN", "import BROKEN -o -", "rates BROKEN",
    "explore STORY --faults 1 --operations 0 -o O --report P",
])  # fmt: skip
def test_file_names_and_keys_may_be_any_bytes(tmp_path: Path, words: str):
    given = {"STORY": DATA / "scenarios" / "unsynchronised-mirror-promoted.yaml",
             "EXPORT": DATA / "real" / "definitions.json"}  # fmt: skip
    files = {"O": tmp_path / os.fsdecode(b"o\xff"), "P": tmp_path / os.fsdecode(b"p\xff")}
    for name, ending in (("STORY", ".yaml"), ("EXPORT", ".json"), ("BROKEN", ".json")):
        files[name] = tmp_path / os.fsdecode(b"\xff\xc1" + ending.encode())
        files[name].write_bytes(given[name].read_bytes() if name in given else b'{"\xc1": 1}')
        if name in words:
            break
    result = CliRunner().invoke(main, [str(files.get(word, word)) for word in words.split()])
    assert result.exit_code in ((2,) if "BROKEN" in words else (0, 1, 3)), result.stderr
    for word in "OP":
        for file in [files[word], *files[word].rglob("*")]:
            assert not file.is_file() or file.read_bytes().decode()
    if "sarif" in words:
        assert json.loads(result.stdout_bytes.decode())["version"] == "2.1.0"


SLOW = {
    "rabbit_version": "3.10.8", "users": [], "vhosts": [{"name": "/"}], "permissions": [], "parameters": [],
    "policies": [{"vhost": "/", "name": "p0", "pattern": "^(a+)+$", "apply-to": "all", "definition": {"ha-mode": "all"},
                  "priority": 0}],
    "queues": [{"name": f"{'a' * 40}{number}!", "vhost": "/", "durable": True, "auto_delete": False, "arguments": {}}
               for number in range(10_000)],
}  # fmt: skip
"""An export of 10,000 queues, for each of which the search for a policy's pattern would go on for years."""


@pytest.mark.full
@pytest.mark.parametrize("words", of_the_day(["safe", "lint", "migrate", "upgrade", "replicas --trials 0"], 2))
def test_policy_with_an_endless_pattern_is_named(tmp_path: Path, words: str):
    """All searches together take at most 100,000,000 steps, which is seconds."""
    (tmp_path / "redos.json").write_text(json.dumps(SLOW))
    refused = CliRunner().invoke(main, [*words.split(), str(tmp_path / "redos.json")])
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr.startswith("the pattern of policy 'p0' takes too many steps to match\n  given: '^(a+)+$'\n")
