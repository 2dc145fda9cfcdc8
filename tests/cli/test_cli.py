"""The command line: exit status, output streams, and complete output files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from samples import sample

from hawb.cli import main

ROOT = Path(__file__).parents[2]
REAL = ROOT / "data" / "real"

STORY = """
scenario: An unsynchronised mirror is promoted after a crash
seed: 1
cluster: {nodes: [a, b, c], version: "3.10"}
steps:
  - set_policy: {name: ha-all, pattern: '^ha\\.', definition: {ha-mode: all}}
  - declare: {queue: ha.orders, node: a}
  - publish: {queue: ha.orders, count: 100}
  - stop: b
  - start: b
  - publish: {queue: ha.orders, count: 10}
  - stop: c
  - kill: a
expect:
  queues: {ha.orders: {master: b, messages: %d}}
"""

SMALL = 'scenario: x\ncluster: {nodes: [a, b], version: "3.10"}\nsteps:\n'


def hawb(*arguments: object, **options):
    return CliRunner().invoke(main, [str(argument) for argument in arguments], catch_exceptions=False, **options)


@pytest.fixture
def story(tmp_path: Path) -> Path:
    file = tmp_path / "story.yaml"
    file.write_text(STORY % 10)
    return file


def test_json_output_of_the_contracts_example(story: Path):
    result = hawb("run", story, "--json")
    assert result.exit_code == 0
    outcome = json.loads(result.stdout)
    assert outcome["queues"]["ha.orders"]["ids"] == [[101, 110]]
    assert outcome["queues"]["ha.orders"]["redelivered"] == [[101, 110]]
    assert outcome["queues"]["ha.orders"]["recoverable_mirrors"] == ["c"]
    assert outcome["queues"]["ha.orders"]["critical_nodes"] == ["b"]
    assert outcome["ledger"]["ha.orders"]["lost"] == [[1, 100]]
    assert outcome["losses"][0]["cause"] == "unsynchronised_promotion"
    assert outcome["events"][outcome["losses"][0]["event"]]["event"] == "messages_lost"
    assert list(outcome) == sorted(outcome)


def test_text_output_of_run(story: Path):
    result = hawb("run", story)
    assert result.exit_code == 0
    assert "ha.orders" in result.stdout
    assert "100" in result.stdout


@pytest.mark.parametrize(("named", "played", "release"), sample([("4.1", "4.0", "4.0.5"), ("4.2", "4.3", "4.3.6")]))
def test_version_without_own_rules_is_played_by_the_nearest_which_each_answer_says(
    tmp_path: Path, named: str, played: str, release: str
):
    text = """\
scenario: A quorum queue loses its leader
cluster: {{nodes: [a, b, c], version: "{}"}}
queues: [{{queue: orders, type: quorum, leader: a, members: [a, b, c], messages: 10}}]
steps: [{{kill: a}}]
"""
    files = {version: tmp_path / f"{version}.yaml" for version in (named, played)}
    for version, file in files.items():
        file.write_text(text.format(version))
    outcomes = {version: json.loads(hawb("run", file, "--json").stdout) for version, file in files.items()}
    assert outcomes[named].pop("requested_version") == named
    assert outcomes[named] == outcomes[played] and outcomes[played]["version"] == played
    assert f"RabbitMQ {named}, played by the rules of {played}" in " ".join(hawb("run", files[named]).stdout.split())
    assert "played by" not in hawb("run", files[played]).stdout
    for command in ("safe", "upgrade", "explore"):
        shown = " ".join(hawb(command, files[named], "--json").output.split())
        note = f"release '{named}': profile {played} is the nearest, with the rules of {release}"
        assert note in shown, command
        assert note not in " ".join(hawb(command, files[played], "--json").output.split()), command


def test_scenario_from_standard_input(story: Path):
    assert hawb("run", "-", "--json", input=story.read_text()).stdout == hawb("run", story, "--json").stdout


def test_check_prints_ok_or_the_differences(tmp_path: Path, story: Path):
    other = tmp_path / "other.yaml"
    other.write_text(STORY % 11)
    result = hawb("check", story, other)
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0].startswith("ok") and "story.yaml" in lines[0]
    assert lines[1].startswith("differs") and "other.yaml" in lines[1]
    assert "queues['ha.orders'].messages: expected 11, got 10" in lines[2]


@pytest.mark.parametrize("command", ["run", "check"])
def test_full_disk_is_reported_in_one_line(story: Path, command: str):
    line = [sys.executable, "-m", "hawb.cli", command, story]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (2, "standard output: No space left on device\n")


def test_title_is_escaped_on_one_line(tmp_path: Path):
    file = tmp_path / "escapes.yaml"
    file.write_text(SMALL.replace("x", r'"\e[31m\a\n"', 1) + "  - wait: 1\n")
    assert hawb("check", file).stdout == f"ok       {file}: " r"\x1b[31m\x07" "\n"


def test_check_names_a_refused_file_and_checks_the_rest(tmp_path: Path, story: Path):
    result = hawb("check", tmp_path / "absent.yaml", story)
    assert result.exit_code == 2
    assert "absent.yaml" in result.stderr
    assert "story.yaml" in result.stdout


@pytest.mark.parametrize("seed", ["0", "1", "12345"])
def test_output_is_the_same_bytes_under_any_hash_seed(story: Path, seed: str):
    command = [sys.executable, "-m", "hawb.cli", "run", str(story), "--json"]
    other = subprocess.run(command, env={"PYTHONHASHSEED": seed}, cwd=ROOT, capture_output=True, check=True).stdout
    assert other.decode() == hawb("run", story, "--json").stdout


BAD = {
    "malformed": ("scenario: [", "not YAML"),
    "truncated": (SMALL + "  - publish: {queue: q, cou", "not YAML at column"),
    "binary": ("\x00\x01\x02\x7f", ""),
    "nested": ("[" * 100_000, ""),
    "aliases": ("a: &a [x, x]\n" + "".join(f"{c}: &{c} [*{p}, *{p}]\n" for p, c in zip("abcdefghi", "bcdefghij", strict=True)), ""),  # noqa: E501
    "code": ("scenario: !!python/object/apply:os.system ['echo pwned']", "tag"),
    "unknown verb": (SMALL + "  - explode: a", "explode"),
    "unknown key": (SMALL + "  - publish: {queue: q, count: 1, colour: red}", "colour"),
    "unknown node": (SMALL + "  - kill: z", "steps[0] (the 1st step)"),
    "nan": (SMALL + "  - wait: .nan", "steps[0] (the 1st step)"),
    "infinity": (SMALL + "  - wait: .inf", "steps[0] (the 1st step)"),
    "true for 1": (SMALL + "  - publish: {queue: q, count: true}", "count"),
    "negative": (SMALL + "  - publish: {queue: q, count: -1}", "-1"),
    "float for a version": (SMALL.replace('"3.10"', "3.10"), "quote"),
    "a stream that is read": (
        SMALL + "  - declare: {queue: q, arguments: {x-queue-type: stream}}\n  - consume: {queue: q, consumer: c}",
        "q is a stream",
    ),
    "a policy that could not be in force": (SMALL.replace("steps:", "policies: [{name: p, pattern: x, definition: {ha-mode: al}}]"), "ha-mode"),  # noqa: E501
    "an expectation that no outcome can have": (SMALL + "  []\nexpect: {queues: {q: {colour: red}}}", "colour"),
}


@pytest.mark.parametrize("name", BAD)
def test_invalid_input_gives_one_clear_message(tmp_path: Path, name: str):
    text, said = BAD[name]
    file = tmp_path / "bad.yaml"
    file.write_text(text)
    for command in (["run", "--json"], ["run"], ["check"]):
        result = hawb(command[0], file, *command[1:])
        assert result.exit_code == 2
        assert result.stdout == ""
        assert "bad.yaml" in result.stderr
        assert said in result.stderr
        assert len(result.stderr.splitlines()) <= 5
        assert "Traceback" not in result.stderr


def test_import_writes_a_scenario_that_plays(tmp_path: Path):
    output = tmp_path / "cluster.yaml"
    result = hawb("import", REAL / "definitions.json", "--queues", REAL / "api-queues.json", "-o", output)
    assert result.exit_code == 0
    assert result.stdout == ""
    assert "note:" in result.stderr
    played = json.loads(hawb("run", output, "--json").stdout)
    assert len(played["queues"]) == 31
    assert played["queues"]["orders.tmp.carts"] | {"replicas": None} == {
        **played["queues"]["orders.tmp.carts"],
        "replicas": None,
        "policy": "ttl-10min",
        "mirrored": False,
        "master": "c@10.77.9.3",
    }
    assert played["queues"]["qq.payments"]["type"] == "quorum"


@pytest.mark.parametrize("listing", ["api-queues.json", "list_queues.txt", "list_queues.json", None])
def test_import_from_any_listing_plays(tmp_path: Path, listing: str | None):
    output = tmp_path / "cluster.yaml"
    listings = [] if listing is None else ["--queues", REAL / listing]
    assert hawb("import", REAL / "definitions.json", *listings, "-o", output).exit_code == 0
    assert hawb("run", output, "--json").exit_code == 0


def test_refused_import_keeps_the_existing_file(tmp_path: Path):
    bad, output = tmp_path / "bad.json", tmp_path / "cluster.yaml"
    bad.write_text('{"queues": [')
    output.write_text("precious")
    result = hawb("import", bad, "-o", output)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "bad.json" in result.stderr
    assert output.read_text() == "precious"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["bad.json", "cluster.yaml"]


def test_unwritable_import_is_reported(tmp_path: Path):
    result = hawb("import", REAL / "definitions.json", "-o", tmp_path / "absent" / "cluster.yaml")
    assert result.exit_code == 2
    assert "absent" in result.stderr
    assert "Traceback" not in result.stderr


def test_run_imports_no_heavy_package(story: Path):
    code = (
        "import sys; from hawb.cli import main\n"
        f"try: main(['run', {str(story)!r}, '--json'])\n"
        "except SystemExit: pass\n"
        "print(sorted({'pyspark', 'matplotlib', 'pandas', 'numba', 'numpy', 'ipywidgets'} & set(sys.modules)))"
    )
    printed = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    assert printed.splitlines()[-1] == "[]"


def test_run_answers_in_the_requested_language_and_json_is_the_same(story: Path, tmp_path: Path):
    page = tmp_path / "page.html"
    output = hawb("run", story, "--language", "zh", "-o", page).stdout
    assert "该做什么" in output
    assert '<html lang="zh-Hans">' in page.read_text("utf-8")
    output = hawb("run", story, env={"HAWB_LANGUAGE": "pt_BR.UTF-8"}).stdout
    assert "O que se perdeu, e por quê" in output
    plain = hawb("run", story, "--json").stdout
    assert hawb("run", story, "--json", "--language", "pt").stdout == plain
    refused = hawb("run", story, "--language", "fr")
    assert refused.exit_code == 2
    assert "'fr'; its languages are en, zh, pt" in refused.stderr
