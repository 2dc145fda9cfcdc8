"""The table of behaviours and rules: search, page and `hawb rule`."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from hawb.cli import main
from hawb.lessons import rule_sources
from hawb.lessons.behaviours import all_behaviours, found, nearest
from hawb.lessons.rule_sources import rule
from hawb.lessons.rules_page import as_page

DATA = Path(__file__).parents[2] / "data"
ANEW = "write it anew: python -m hawb.lessons.rules_page"


@pytest.fixture
def read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have each guide and each scenario parsed once, however many rules name it."""
    monkeypatch.setattr(yaml, "safe_load", cache(yaml.safe_load))
    monkeypatch.setattr(rule_sources, "load", cache(rule_sources.load))


@pytest.mark.usefixtures("read_once")
def test_each_behaviour_has_a_rule_with_a_source_and_scenarios(subtests: pytest.Subtests):
    for behaviour in all_behaviours():
        with subtests.test(msg=behaviour.asked, rule=behaviour.name):
            shown = rule(behaviour.function)
            assert shown.source.startswith("Source:"), behaviour.name
            assert len(shown.says) == len(behaviour.says)
            assert shown.scenarios, behaviour.name
            assert {one.name for one in shown.scenarios} >= set(behaviour.scenarios)
            assert (Path(__file__).parents[2] / shown.file).exists()


def test_each_rule_is_listed_once():
    counts = Counter(behaviour.function for behaviour in all_behaviours())
    assert [function for function, count in counts.items() if count > 1] == []


@pytest.mark.parametrize(
    ("words", "name"),
    [("promotion", "promotion.candidate"), ("promote-on-shutdown", "promotion.takes_mirrors_down"),
     ("promote on failure", "promotion.refuses_on_failure"), ("confirms", "confirming.answer_us"),
     ("nacks", "confirms.replica_crashed"), ("delivery limit", "limits.is_given_up"),
     ("reject-publish", "limits.room"), ("at-least-once", "dead_letters.keep"),
     ("rebalance", "rebalancing.next_to_move"), ("maintenance", "maintenance.drain"),
     ("forget --offline", "membership.forget_offline"), ("election", "election.up_to_date"),
     ("AUTOHEAL", "partitions.wins"), ("boot order", "booting.awaited"), ("net_ticktime", "links.time_out")],
)  # fmt: skip
def test_search_finds_the_rule_first(words: str, name: str):
    assert found(words)[0].name == name


def test_search_does_not_match_common_prefixes():
    assert {behaviour.function.__name__ for behaviour in found("election")} == {"up_to_date", "on_pre_vote"}
    assert found("lection") == []


@pytest.mark.parametrize(
    ("words", "name"),
    [("net_ticktime link timeout", "links.time_out"), ("rabbitmqctl reset the node", "membership.reset"),
     ("redeclare queue inequivalent arg", "queue_arguments.first_difference"),
     ("queue master forgotten offline promote mirror", "promotion.offline_candidate"),
     ("publisher nack crash", "confirms.replica_crashed"), ("ack after failover new master", "places.meant"),
     ("memory alarm blocks publisher", "alarms.blocks_publishing")],
)  # fmt: skip
def test_search_finds_rules_by_natural_words(words: str, name: str):
    assert (found(words) or nearest(words))[0].name == name


def test_nearest_rules_are_suggested_if_none_matches():
    result = run("publisher", "blocked", "while", "starting")
    assert result.exit_code == 0
    first, second, *_ = result.output.splitlines()
    assert first == "No rule has all the words of 'publisher blocked while starting'. The most similar rules are:"
    assert second.startswith("alarms.blocks_publishing, hawb/engine/cluster/alarms.py: ")


@pytest.mark.usefixtures("read_once")
def test_page_is_up_to_date():
    assert (DATA / "rules.md").read_text(encoding="utf-8") == as_page(), ANEW


def run(*arguments: str):
    return CliRunner().invoke(main, ["rule", *arguments])


def test_one_rule_is_shown_with_its_code():
    result = run("autoheal")
    assert result.exit_code == 0
    assert result.output.startswith("autoheal: which partition wins\n\nwins, hawb/rules/partitions.py\n")
    assert "(autoheal-who-wins.yaml)" in result.output
    assert run("partitions.wins").output == result.output


def test_several_rules_are_named_with_their_places():
    result = run("pause")
    assert result.exit_code == 0
    title = "pause_minority: when a node is in the majority"
    assert f"partitions.has_majority, hawb/rules/partitions.py: {title}\n" in result.output


@pytest.mark.parametrize(("given", "hint"), [("autohael", "did you mean autoheal? "), ("qzx", "data/rules.md")])
def test_unknown_rule_is_refused_with_suggestions(given: str, hint: str):
    result = run(given)
    assert result.exit_code == 2
    assert f"no rule matches '{given}'" in result.output
    assert hint in result.output
