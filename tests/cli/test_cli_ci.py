"""`hawb lint` and `hawb check` for continuous integration: SARIF with lines, JUnit with cases."""

from __future__ import annotations

from pathlib import Path

import yaml
from ci_forms import cases_of, place_of, results_of
from click.testing import CliRunner, Result
from inventories import FILES

from hawb.cli import main

STORY = """\
scenario: A policy of nothing
cluster: {nodes: [a, b], version: "3.10"}
policies:
  - {name: none, pattern: '^nothing$', definition: {ha-mode: all}}
steps:
  - declare: {queue: orders, node: a}
  - expect: {nodes: {a: down}}
expect:
  queues:
    orders: {messages: 1}
"""


def hawb(*arguments: object) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)], catch_exceptions=False)


def story(folder: Path) -> Path:
    file = folder / "a story.yaml"
    file.write_text(STORY)
    return file


def line_of(file: Path, words: str) -> int:
    """Return the number of the line with these words, from 1."""
    return next(number for number, line in enumerate(file.read_text().splitlines(), 1) if words in line)


def test_lint_names_the_line_of_the_queue_in_an_export():
    result = hawb("lint", "--format", "sarif", *FILES)
    assert result.exit_code == 1
    found = results_of(result.stdout)
    first = found[0]
    assert (first["ruleId"], first["level"]) == ("mirroring-silenced", "error")
    file, line = place_of(first)
    assert file == FILES[0].as_uri()
    assert '"name": "orders.tmp.carts"' in "".join(FILES[0].read_text().splitlines()[line - 1 : line + 8])
    assert len(found) == 19


def test_lint_names_the_line_of_the_policy_in_a_scenario(tmp_path: Path):
    file = story(tmp_path)
    found = {result["ruleId"]: result for result in results_of(hawb("lint", "--format", "sarif", file).stdout)}
    assert place_of(found["matches-nothing"]) == (file.as_uri(), line_of(file, "name: none"))
    assert place_of(found["no-policy"]) == (file.as_uri(), line_of(file, "declare"))


def test_a_relative_name_is_a_relative_address(tmp_path: Path, monkeypatch):
    story(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert {place_of(one)[0] for one in results_of(hawb("lint", "--format", "sarif", "a story.yaml").stdout)} == {
        "a%20story.yaml"
    }


def test_fingerprint_does_not_change_with_the_line_number(tmp_path: Path):
    file = story(tmp_path)
    before = results_of(hawb("lint", "--format", "sarif", file).stdout)
    file.write_text(f"# a comment\n{STORY}")
    after = results_of(hawb("lint", "--format", "sarif", file).stdout)
    assert [one["partialFingerprints"] for one in before] == [one["partialFingerprints"] for one in after]
    assert [place_of(one)[1] + 1 for one in before] == [place_of(one)[1] for one in after]


def test_lint_has_a_case_for_each_kind_of_finding():
    result = hawb("lint", "--format", "junit", *FILES)
    assert result.exit_code == 1
    cases = cases_of(result.stdout)
    [failed] = cases["mirroring-silenced"]
    assert failed.tag == "failure" and "orders.tmp.carts" in failed.attrib["message"]
    [case] = cases["no-policy"]
    assert case.tag == "system-out" and case.text.startswith("warning: ")
    assert cases["policy-refused"] == []


def test_check_names_the_line_of_the_expectation(tmp_path: Path):
    file = story(tmp_path)
    result = hawb("check", "--format", "sarif", file)
    assert result.exit_code == 1
    at_step, at_end = results_of(result.stdout)
    assert place_of(at_step) == (file.as_uri(), line_of(file, "- expect"))
    assert place_of(at_end) == (file.as_uri(), line_of(file, "  queues:"))
    assert "queues.orders.messages: expected 1, got 0" in at_end["message"]["text"]


def test_a_file_is_read_once_for_the_lines_of_all_its_expectations(tmp_path: Path, monkeypatch):
    parsed: list[object] = []
    parse = yaml.parse
    monkeypatch.setattr(yaml, "parse", lambda *given, **options: parsed.append(given) or parse(*given, **options))
    steps = "".join(f"  - expect: {{queues: {{q{number}: {{state: running}}}}}}\n" for number in range(9))
    (tmp_path / "a.yaml").write_text(f"scenario: a\ncluster: {{nodes: [a]}}\nsteps:\n{steps}")
    found = results_of(hawb("check", "--format", "sarif", tmp_path / "a.yaml").stdout)
    assert [place_of(one)[1] for one in found] == [*range(4, 13)]
    assert len(parsed) == 2  # to play it, and for the lines


def test_check_reports_failed_refused_and_passed_cases(tmp_path: Path):
    refused, passed = tmp_path / "refused.yaml", tmp_path / "passed.yaml"
    refused.write_text("scenario: x\ncluster: {nodes: [a]}\nsteps:\n  - stopp: a\n")
    passed.write_text("scenario: Nothing happens\ncluster: {nodes: [a]}\nsteps: []\nexpect: {nodes: {a: running}}\n")
    files = (story(tmp_path), refused, passed)
    result = hawb("check", "--format", "junit", *files)
    assert result.exit_code == 2
    found = {name.rpartition("/")[2]: [one.tag for one in inside] for name, inside in cases_of(result.stdout).items()}
    assert found == {
        "a story.yaml: A policy of nothing": ["failure"],
        "refused.yaml": ["error"],
        "passed.yaml: Nothing happens": [],
    }
    by_rule = {one["ruleId"]: one for one in results_of(hawb("check", "--format", "sarif", *files).stdout)}
    assert place_of(by_rule["scenario-refused"]) == (refused.as_uri(), 4)
    assert "accepted: " in by_rule["scenario-refused"]["message"]["text"]


def test_names_are_escaped(tmp_path: Path):
    file = tmp_path / "story.yaml"
    name = "]]><x>&\\u0007\\u202e\\n"
    file.write_text(f'scenario: "{name}"\ncluster: {{nodes: [a]}}\nsteps:\n  - declare: {{queue: "{name}", node: a}}\n')
    for command in ("lint", "check"):
        cases_of(hawb(command, "--format", "junit", file).stdout)
        assert "\x07" not in hawb(command, "--format", "sarif", file).stdout
