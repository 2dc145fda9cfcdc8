"""`hawb lint`: what it prints, what it takes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner
from inventories import FILES, ROOT

from hawb.cli import main


def hawb(*arguments: object):
    return CliRunner().invoke(main, ["lint", *map(str, arguments)], catch_exceptions=False)


def test_the_command_prints_what_is_in_force_what_was_found_and_what_to_do():
    result = hawb(*FILES)
    assert result.exit_code == 1
    assert result.stdout.startswith("✕ No: queue orders.tmp.carts: not mirrored: 'ttl-10min' applies alone")
    assert "1 error, 7 warnings, 11 notes in 31 queues and 7 policies\n" in result.stdout
    assert "ttl-10min      none               orders-safe  1: orders.tmp.carts" in result.stdout
    assert "Write the ha settings into the policy that applies too" in result.stdout
    assert all(len(line) <= 120 for line in result.stdout.splitlines())


def test_the_command_gives_json_without_anybodys_password():
    result = hawb("--json", *FILES)
    [told] = json.loads(result.stdout)
    assert told["queues"][0].keys() >= {"queue", "policy", "silenced"}
    assert told["findings"][0]["code"] == "mirroring-silenced"
    for user in json.loads(FILES[0].read_text())["users"]:
        assert user["password_hash"] not in result.output


def test_the_command_takes_scenarios_each_for_itself():
    names = ("unsynchronised-mirror-promoted.yaml", "rebalance-of-equally-long-queues.yaml")
    result = hawb(*(ROOT / "data" / "scenarios" / name for name in names))
    assert result.exit_code == 1
    assert f"{names[0]}: no errors, 1 warning" in " ".join(result.stdout.split())
    assert f"{names[1]}: 3 errors" in " ".join(result.stdout.split())


def test_a_slow_link_is_told_to_the_command(tmp_path: Path):
    export = {
        "queues": [{"name": "q", "vhost": "/", "durable": True, "auto_delete": False, "arguments": {}}],
        "policies": [{"name": "ha", "vhost": "/", "pattern": "q", "apply-to": "queues", "priority": 0,
                      "definition": {"ha-mode": "all", "ha-sync-batch-size": 50_000}}],
    }  # fmt: skip
    file = tmp_path / "definitions.json"
    file.write_text(json.dumps(export))
    assert hawb(file).exit_code == 0
    assert "sync-batch-over-ticktime" in hawb("--network-mb-s", 0.5, file).stdout


def test_a_bad_file_is_refused_with_its_place(tmp_path: Path):
    (tmp_path / "definitions.json").write_text('{"queues": [}')
    result = hawb(tmp_path / "definitions.json")
    assert result.exit_code == 2
    assert "line 1, column 13" in result.stderr
