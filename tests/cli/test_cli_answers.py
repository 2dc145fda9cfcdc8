"""The form of answers of every command: question, Yes, No or Cannot tell, at most three pieces of advice with real
names, and the matching exit status."""

from __future__ import annotations

import json
import re
import shlex
import tracemalloc
from collections import Counter
from collections.abc import Callable
from functools import partial
from html import unescape
from pathlib import Path

import pytest
from answered_reports import estimate, risk
from click.testing import CliRunner, Result
from counted_work import growth, lines_run
from samples import sample

from hawb.cli import SECTIONS, every_command, main
from hawb.study.audit import Summary
from hawb.views.report import EXIT_STATUSES, Report
from hawb.views.study import audit, study_report
from hawb.views.style import ANSWERS
from hawb.views.terminal import text

CLUSTER = 'scenario: "{name}"\ncluster: {{nodes: [a, b, c], version: "{version}"}}\nsteps:\n{steps}'
QUORUM = "  - declare: {queue: q, node: a, arguments: {x-queue-type: quorum}}\n  - publish: {queue: q, count: 5}\n"
CLASSIC = "  - declare: {queue: q, node: a}\n  - publish: {queue: q, count: 5}\n"
MIRRORED = "  - set_policy: {name: ha, pattern: '^q', definition: {ha-mode: all, ha-sync-mode: automatic}}\n" + CLASSIC
OUT_OF_USE = QUORUM + "  - kill: [b, c]\n"
LOST = "  - declare: {queue: q, node: a, durable: false}\n  - publish: {queue: q, count: 5}\n  - kill: a\n"
PARTED = MIRRORED + "  - partition: [[a], [b, c]]\n  - wait: 70\n"
JUST_PARTED = PARTED.removesuffix("  - wait: 70\n")
TEMPORARY = MIRRORED.replace("node: a", "node: a, durable: false")
EXPORT = '{"rabbit_version": "3.13.7", "vhosts": [{"name": "/"}], "policies": [], "queues": [%s]}'
QUEUE = '{"name": "q", "vhost": "/", "durable": true, "auto_delete": false, "arguments": {}}'
BOOTED = (
    "2026-04-22 09:00:00.000001+00:00 [info] <0.9.0>  Starting RabbitMQ 3.13.7 on Erlang 26.2.5\n"
    "2026-04-22 09:00:00.000002+00:00 [info] <0.9.0>  node           : rabbit@n1\n"
    "2026-04-22 09:00:05.000001+00:00 [info] <0.9.0> Server startup complete; 3 plugins started.\n"
)
FAILED = BOOTED.splitlines(keepends=True)[0] + BOOTED.splitlines(keepends=True)[1] + (
    "2026-04-22 09:05:00.000001+00:00 [error] <0.9.0> BOOT FAILED\n"
    "2026-04-22 09:05:00.000002+00:00 [error] <0.9.0> {error,timeout_waiting_for_tables}\n"
)  # fmt: skip
UNKNOWN = BOOTED + "2026-04-22 09:06:00.000001+00:00 [error] <0.99.0> frobnicator lost its marbles\n"

KILLED = "".join(
    f"{day} 0{hour}{rest}\n"
    for day in (f"2026-0{month}-{day:02}" for month in (4, 5, 6) for day in range(1, 29))
    for hour in (1, 2)
    for rest in (line[13:] for line in BOOTED.splitlines())
)
"""A node that began to run twice a day, and never stopped in between: it was killed."""

ANSWERED = [
    ("run", QUORUM, "yes"), ("run", LOST, "no"), ("run", PARTED, "unknown"),
    ("run", JUST_PARTED, "unknown"),
    ("safe --node b", QUORUM, "yes"), ("safe --node a", OUT_OF_USE, "no"), ("safe", EXPORT % QUEUE, "unknown"),
    ("lint", QUORUM, "yes"), ("lint", CLASSIC, "no"),
    ("replicas --trials 0", QUORUM, "yes"), ("replicas --trials 0", CLASSIC, "no"),
    ("replicas --trials 0", EXPORT % QUEUE.replace("{}", '{"x-queue-type": "stream"}'), "unknown"),
    ("upgrade", QUORUM, "yes"), ("upgrade", OUT_OF_USE, "no"), ("upgrade", EXPORT % QUEUE, "unknown"),
    ("migrate", MIRRORED, "yes"), ("migrate", TEMPORARY, "no"),
    ("explore --faults 0 --operations 0", QUORUM, "yes"),
    ("explore --operations 0 --without power_off --scenario worst.yaml", LOST.removesuffix("  - kill: a\n"), "no"),
    ("incident", BOOTED, "yes"), ("incident", FAILED, "no"), ("incident", UNKNOWN, "unknown"),
    ("rates", KILLED, "yes"), ("rates", BOOTED, "no"),
]  # fmt: skip
PLACEHOLDER = re.compile(r"…|\b(NODE|NAME|FILES?|FOLDER|LOGS|QUEUE|HOST|STUDY|SCENARIO|DEFINITIONS|VHOST)\b")
DONE = ("run", "rates")
"""Commands whose exit status is 0 whatever the answer: what was asked for is done."""
WRITES = re.compile(r"(?:export_definitions|>|--(?:scenario|runbook|plan|numbers)) (\S+)")
"""What in a command is followed by the file that it writes."""


def asked(folder: Path, words: str, content: str) -> Result:
    """Run a command on a file with this scenario, export or log."""
    command, *options = words.replace("worst.yaml", str(folder / "worst.yaml")).split()
    if command in ("incident", "rates"):
        file, text = folder / "rabbit@n1.log", content
    elif content.startswith("{"):
        file, text = folder / "definitions.json", content
    else:
        version = "4.0" if content in (QUORUM, OUT_OF_USE) else "3.13"
        file, text = folder / "story.yaml", CLUSTER.format(name="a story", version=version, steps=content)
    file.write_text(text, encoding="utf-8")
    return CliRunner().invoke(main, [command, str(file), *options], catch_exceptions=False)


def first_line(page: Path) -> str:
    """Return question and answer of a page, as a terminal shows them."""
    text = page.read_text(encoding="utf-8")
    [question] = re.findall(r"<h1>(.*?)</h1>", text)
    [(glyph, sentence)] = re.findall(r'<p class="verdict \w+"><span[^>]*>(.)</span><span>(.*?)</span></p>', text)
    result = unescape(re.sub(r"<[^>]*>|[\u2066-\u2069]", "", f"{question} {glyph} {sentence}"))
    return " ".join(result.split())


def what_to_do(result: str, answer: str) -> list[str]:
    """Check the advice of a report, and return its commands."""
    todo = re.search(r"\nWhat to do\n(.*?)(\n\n|\Z)", result, re.DOTALL)
    assert todo is not None or answer == "yes", result
    if todo is not None:
        assert 1 <= len(re.findall(r"^  \d\. ", todo[1], re.MULTILINE)) <= 3
        assert result.index("\nWhat to do\n") == result.index("\n\n") + 1, result  # nothing but the answer comes before
    for last in ("\nWhat is assumed\n", "\nWhat the files do not say\n"):
        after = result.partition(last)[2].partition("\n\n")[2]
        assert last not in result or not after.strip() or after.startswith("What "), result
    commands = re.findall(r"^[# ]*\$ (.*)$", result, re.MULTILINE)
    assert PLACEHOLDER.search("\n".join([todo[1] if todo else "", *commands])) is None
    return commands


@pytest.mark.parametrize(("words", "content", "answer"), ANSWERED, ids=[f"{one[0]}-{one[2]}" for one in ANSWERED])
def test_answer_has_question_word_status_and_advice(tmp_path, words, content, answer):
    page = tmp_path / "answer.html"
    result = asked(tmp_path, f"{words} -o {page}", content)
    question, _, rest = result.stdout.removeprefix("# ").replace("\n# ", "\n").partition("\n")
    assert question.endswith("?"), result.stdout + result.stderr
    assert rest.startswith(f"{ANSWERS[answer].glyph} {ANSWERS[answer].label}: "), result.stdout
    assert result.exit_code == (0 if words in DONE else EXIT_STATUSES[answer])
    assert "note: " not in result.stderr and result.stderr.endswith(f"{page}: the answer as a page\n")
    assert " ".join(result.stdout.replace("\n# ", "\n").split()).removeprefix("# ").startswith(first_line(page))
    commands = what_to_do(result.stdout, answer)
    made = {name for command in commands for name in WRITES.findall(command)}
    for word in (word for command in commands for word in shlex.split(command, comments=True)):
        is_file = re.fullmatch(r"[\w./@-]+\.(json|ya?ml|txt|log)", word.partition("=")[2] or word)
        assert not is_file or word in made or Path(word).exists(), commands


def compared(*pairs: tuple[str, float, float]) -> Report:
    """Return the report of a study whose designs have these differences from the first."""
    measures = ("lost_confirmed", "publish_down_s")
    rows = [estimate(design, measure, *ends) for measure in measures for design, *ends in pairs]
    return study_report.report_of("Designs", rows, pairs[0][0], command="hawb study designs.yaml --output tables")


def fleet(*risks: str, refused: str = "") -> Report:
    """Return the report of an audit with these risks and an unreadable file."""
    files = [{"file": refused, "place": "line 1", "given": "nothing", "accepted": "an object"}] if refused else []
    return audit.report_of(Summary(3, {"classic": 9}, [risk(code) for code in risks], [], files))


FAR_APART = estimate("plain") | {"share": 0.0, "mean": 0.0}
ON_SPARK = [
    ("study", compared(("plain", 0.0, 0.0), ("better", -3.0, -1.0)), "yes"),
    ("study", compared(("plain", 0.0, 0.0), ("alike", -1.0, 1.0)), "no"),
    ("study", study_report.report_of("One", [estimate("plain")], "plain", command="hawb study one.yaml"), "no"),
    ("study", study_report.report_of("One", [FAR_APART], "plain", command="hawb study one.yaml"), "unknown"),
    ("audit", fleet("matches-everything"), "yes"), ("audit", fleet("no-policy"), "no"),
    ("audit", fleet(refused="x.json"), "unknown"),
]  # fmt: skip
"""Reports of the commands that start Spark, with made-up results."""


@pytest.mark.parametrize(("report", "answer"), [one[1:] for one in ON_SPARK], ids=[f"{a}-{c}" for a, _, c in ON_SPARK])
def test_answer_of_a_spark_command_has_the_same_form(report: Report, answer: str):
    shown = text(report)
    question, _, rest = shown.partition("\n")
    assert question.endswith("?") and rest.startswith(f"{ANSWERS[answer].glyph} {ANSWERS[answer].label}: "), shown
    what_to_do(shown, answer)


@pytest.mark.parametrize("command", sorted({words.split()[0] for words, *_ in ANSWERED} - {*DONE}))
def test_help_lists_the_exit_statuses(command):
    shown = " ".join(CliRunner().invoke(main, [command, "--help"]).stdout.split())
    assert "xit status" in shown
    assert all(re.search(rf"\b{status}\b", shown.partition("xit status")[2]) for status in (0, 1, 2, 3)), shown


def test_command_list_has_each_command_once_with_a_sentence():
    output = CliRunner().invoke(main, ["--help"]).stdout
    assert sorted(name for names in SECTIONS.values() for name in names) == [*every_command()]
    for heading in SECTIONS:
        assert f"\n{heading}:\n" in output
    assert "..." not in output.partition("\n")[2]


def declared(kind: str, queues: int) -> list[dict]:
    """Return steps that declare queues of a type."""
    return [{"declare": {"queue": f"q{number}", "node": "a", "arguments": {"x-queue-type": kind}}}
            for number in range(queues)]  # fmt: skip


def restarted(times: int) -> list[dict]:
    """Return steps that repeatedly restart and synchronise the mirrors of a queue."""
    ha = {"name": "ha", "pattern": "q", "definition": {"ha-mode": "all", "ha-sync-mode": "automatic"}}
    begun = [{"set_policy": ha}, {"declare": {"queue": "q", "node": "a"}}, {"publish": {"queue": "q", "count": 5}}]
    return begun + [{"stop": "b"}, {"start": "b"}, {"publish": {"queue": "q", "count": 1}}] * times


@pytest.mark.full
@pytest.mark.parametrize("kind", ["classic", "quorum", "stream"])
def test_4000_declarations_take_less_than_200_mb(kind: str) -> None:
    def peak(queues: int) -> int:
        cluster = {"nodes": ["a", "b", "c"], "version": "4.3"}
        story = json.dumps({"scenario": "a", "cluster": cluster, "steps": declared(kind, queues)})
        tracemalloc.start()
        assert CliRunner().invoke(main, ["run", "-"], input=story).exit_code == 0
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(3)  # what is imported and kept once
    assert (peak(120) - peak(80)) / 40 < 80e6 / 4000  # Python, hawb and its libraries take the rest


STORIES = {kind: partial(declared, kind) for kind in ("classic", "quorum", "stream")} | {"restarts": restarted}


@pytest.mark.parametrize("steps", sample(STORIES.values()), ids=[*STORIES])
def test_work_of_run_grows_linearly_with_events(
    steps: Callable[[int], list[dict]], tmp_path: Path
) -> None:
    page = ["-o", str(tmp_path / "page.html")] if steps is restarted else []

    def played(size: int) -> None:
        version = "3.10" if steps is restarted else "4.3"
        cluster = {"nodes": ["a", "b", "c"], "version": version}
        story = {"scenario": "a", "cluster": cluster, "steps": steps(size)}
        assert CliRunner().invoke(main, ["run", "-", *page], input=json.dumps(story)).exit_code == 0

    def work(size: int) -> Counter[str]:
        return lines_run(lambda: played(size))

    played(3)  # what is imported and kept once is no work
    found = growth(work, 20 if steps is STORIES["classic"] else 5)
    assert {"engine", "planning", "views"} <= found.keys()
    assert {room: grown for room, grown in found.items() if grown > 1.02} == {}
