"""Stories in other languages: all text but names is translated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pseudo_language import plain_words, pseudo_language, visible

from hawb.languages import language
from hawb.planning.advised import advised
from hawb.scenario.load import load
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.scenario.verbs import VERBS
from hawb.views.formatting import shown
from hawb.views.story import run_report, summary, telling, why
from hawb.views.verdicts import run as run_verdict

SCENARIOS = sorted(Path("data/scenarios").glob("*.yaml"))
EACH = 12
"""Of so many scenarios one is told."""

KEYS = {
    "RabbitMQ", "ha-mode", "ha-params", "ha-sync-mode", "ha-sync-batch-size", "ha-promote-on-failure",
    "ha-promote-on-shutdown", "all", "exactly", "nodes", "manual", "automatic", "always", "when-synced", "True",
    "False", "durable", "exclusive", "persistent", "mode", "confirm", "ack", "true", "false", "x-queue-type", "quorum",
    "x-quorum-initial-group-size", "cluster_partition_handling", "ignore", "pause_minority", "autoheal", *VERBS,
}  # fmt: skip
"""Keys and values of policies and of scenarios, which are the same in every language."""


def played(file: Path) -> dict:
    scenario = load(file)
    run = Run(scenario)
    for step in scenario.steps:
        run.apply(step)
    return outcome(run)


def strings(value: object) -> Iterator[str]:
    """Yield all names and texts in a value, including keys."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from strings(inner)
    elif isinstance(value, str):
        yield value


def names_of(result: dict) -> set[str]:
    """Return the names in an outcome and RabbitMQ's own texts."""
    events = {text for event in result["events"] for text in strings([event["queue"], event["node"], event["detail"]])}
    tables = set(strings([list(result[key]) for key in ("nodes", "queues", "ledger", "consumers", "publishers")]))
    refused = {text for error in result["errors"] for text in (error["text"], " ".join(error["text"].split()))}
    refused |= {text.removesuffix(".") for text in (*refused, *map(shown, refused))}
    refused |= {str(error["code"]) for error in result["errors"]}
    what = {one.rpartition(" ")[2] for event in result["events"] for one in event["detail"].get("what", ())}
    return (events | tables | refused | KEYS | what | {result["scenario"]}) - {"memory", "disk", ""}


def texts(result: dict) -> Iterator[str]:
    """Yield the texts of a story."""
    yield summary.toned_headline(result)["text"]
    yield run_verdict.verdict(result).sentence
    yield from (one.what for one in run_verdict.todo(result))
    yield from summary.reasons(result)
    yield from why.whys(result)
    yield from (one.text for one in telling.sentences(result))
    for queue, account in result["ledger"].items():
        yield from (why.why(result, queue, number) for number in range(1, min(account["published"], 3) + 1))


@pytest.mark.full
def test_texts_of_stories_come_from_the_catalogues(tmp_path: Path) -> None:
    with pseudo_language(tmp_path):
        left = {}
        for file in SCENARIOS[::EACH]:
            result = played(file)
            names = names_of(result)
            advice = run_verdict.todo(result, advised(Run.of(load(file)), result))
            for text in [*texts(result), *(one.what for one in advice)]:
                if words := plain_words(text, names):
                    left[file.name, text] = words
    assert not left


def test_report_of_a_story_is_in_the_language_in_force() -> None:
    result = played(Path("data/scenarios/unsynchronised-mirror-promoted.yaml"))
    with language("zh"):
        chinese = run_report.report(result, width=60)
    with language("pt"):
        portuguese = run_report.report(result)
    assert "✕ 否：ha.orders 的 100 条消息已丢失，全部已确认。" in chinese
    assert "最后一个持有它们的运行中副本是 a 上的主节点" in chinese.replace("\n  ", "")
    assert max(2 * sum(c > "\u2e7f" for c in line) + sum(c < "\u2e80" for c in line)
               for line in chinese.splitlines() if not line.startswith(("name", "     $"))) <= 75  # fmt: skip
    assert "O espelho em b de ha.orders se perdeu com seu nó." in portuguese
    assert "As mensagens 1 a 100 de ha.orders se perderam em 7,006 s." in portuguese


@pytest.mark.parametrize("name", ["zh", "pt"])
def test_why_keeps_numbers_names_and_keys(name: str) -> None:
    result = played(Path("data/scenarios/unsynchronised-mirror-promoted.yaml"))
    with language(name):
        (paragraph,) = why.whys(result)
    mark = "," if name == "pt" else "."
    keys = ("ha-sync-mode", "manual", "ha-promote-on-failure", "always")
    for kept in ("ha.orders", f"7{mark}006", f"6{mark}004", *keys):
        assert kept in paragraph
    assert visible(paragraph) == paragraph
