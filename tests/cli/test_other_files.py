"""Files of other kinds given as a scenario: the error names the kind and the right command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hawb.cli import main

ROOT = Path(__file__).parents[2]
SMALL = 'scenario: "ünïcode"\ncluster: {nodes: [a]}\nsteps:\n  - wait: 1\n'
LOG = "2026-11-20 09:47:12.974 [info] <0.234.0> \n Starting RabbitMQ 3.10.8 on Erlang 25.1\n"

OTHERS = {
    "definitions.json": ('{"rabbit_version": "3.10.8", "queues": [], "policies": [], "vhosts": []}',
                         "a definitions export", "hawb import {file} "),
    "queues.json": ('[{"name": "q", "vhost": "/", "messages": 3, "node": "rabbit@a"}]', "a listing", "--queues {file}"),
    "nodes.json": ('[{"name": "rabbit@a", "running": true}]', "a listing", "--queues {file}"),
    "queues.txt": ("Timeout: 60.0 seconds ...\nListing queues for vhost / ...\nname\tmessages\nq\t3\n", "a listing",
                   "--queues {file}"),
    "status.json": ('{"running_nodes": ["rabbit@a"]}', "a listing", "--queues {file}"),
    "rabbit@a.log": (LOG, "a log of RabbitMQ", "hawb incident {file}"),
    "old.log": ("=INFO REPORT==== 4-Mar-2017::12:00:01 ===\nStarting RabbitMQ 3.6.6\n", "a log of RabbitMQ",
                "hawb incident {file}"),
    "json.log": ('{"time":"2026-11-20 09:47:12","level":"info","msg":"Starting RabbitMQ","pid":"<0.1.0>"}\n' * 2,
                 "a log of RabbitMQ", "hawb incident {file}"),
    "study.yaml": ("study: Which?\ntrials: 3\n", "a study", "hawb study {file} --output study-tables"),
    "numbers.yaml": ("numbers: Ours\nenvironment: {}\n", "numbers for a study", "--numbers {file}"),
    "manifest.yaml": ("apiVersion: rabbitmq.com/v1beta1\nkind: Queue\nmetadata: {name: q}\nspec: {name: q}\n",
                      "a manifest of RabbitMQ's operators", "hawb import {file} "),
}  # fmt: skip


def hawb(*arguments: object) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)])


@pytest.mark.parametrize("command", ["run", "check", "explore"])
@pytest.mark.parametrize("name", OTHERS)
def test_file_of_another_kind_is_named_with_its_command(name: str, command: str, tmp_path: Path):
    text, what, use = OTHERS[name]
    file = tmp_path / name
    file.write_text(text)
    printed = hawb(command, file)
    assert printed.exit_code == 2 and not printed.stdout
    assert f"this is {what}" in printed.stderr and use.format(file=file) in printed.stderr


def test_invalid_scenario_is_still_recognised_as_a_scenario(tmp_path: Path):
    file = tmp_path / "drill.yaml"
    file.write_text(SMALL + "queue: []\n")
    assert "this is" not in hawb("run", file).stderr and "did you mean queues?" in hawb("run", file).stderr
    file.write_text("colour: red\n")
    assert "unknown key" in hawb("run", file).stderr


def test_files_written_by_hawb_are_named(tmp_path: Path):
    (tmp_path / "drill.yaml").write_text(SMALL)
    (tmp_path / "outcome.json").write_text(hawb("run", tmp_path / "drill.yaml", "--json").stdout)
    assert "this is the outcome of a scenario" in hawb("run", tmp_path / "outcome.json").stderr


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("as_json", [False, True])
def test_a_scenario_is_read_with_a_byte_order_mark_and_in_utf_16(encoding: str, as_json: bool, tmp_path: Path):
    plain, other = tmp_path / "plain.yaml", tmp_path / "other.yaml"
    text = json.dumps({"scenario": "ü", "cluster": {"nodes": ["a"]}, "steps": []}) if as_json else SMALL
    plain.write_text(text, encoding="utf-8")
    other.write_bytes(text.encode(encoding))
    assert hawb("run", other, "--json").stdout == hawb("run", plain, "--json").stdout != ""


def test_no_line_break_is_printed_as_an_escape(tmp_path: Path):
    file = tmp_path / "drill.yaml"
    refused = '  - set_policy: {name: p, pattern: ".*", definition: {ha-mode: most}}\n'
    expected = '  - expect: {errors: [{step: 0, contains: "a\\nb"}]}\n'
    file.write_text("scenario: |\n  A title\n  of two lines\ncluster: {nodes: [a]}\nsteps:\n" + refused + expected)
    assert "A title of two lines. " in hawb("run", file).stdout
    assert "\\n" not in hawb("run", file).stdout + hawb("check", file).stdout
    file.write_text("A text\nof several lines\n")
    assert "\\n" not in hawb("run", file).stderr
