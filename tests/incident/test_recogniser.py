"""Rules for log messages recognise their messages and no others."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest
from kept_logs import STORIES, logs, text
from known_fault_messages import MESSAGES

from hawb.incident.entries import Reader
from hawb.incident.events import KINDS, Event
from hawb.incident.reading import RECOGNISER
from hawb.incident.recogniser import CLIPPED, Recogniser
from hawb.incident.rules import OLDER, RULES, Rule
from hawb.rules.profiles import PROFILES


@cache
def of_the_kept_logs() -> tuple[str, ...]:
    """Return each distinct message of the stored logs."""
    files = [file for story in STORIES for file in logs(story)]
    return tuple({entry.text.lstrip(): 1 for file in files for entry in Reader().entries(text(file).splitlines())})


def test_each_message_is_recognised_with_its_kind_and_fields(subtests: pytest.Subtests):
    for message, kind, item in MESSAGES:
        with subtests.test(msg="kind and fields", message=message[:60]):
            rule, found = RECOGNISER.find(message)
            assert (rule.kind, found) == (kind, item)


def test_every_rule_matches_a_message():
    found = {rule for message in (*of_the_kept_logs(), *(one for one, *_ in MESSAGES))
             if (known := RECOGNISER.find(message)) for rule in [known[0].says]}  # fmt: skip
    assert [rule.says for rule in RULES if rule.says not in found] == []


def test_prefilters_do_not_change_the_result():
    """Checks of the first word and a literal text only exclude what would not match."""

    class Slow(Recogniser):
        def find(self, message: str) -> tuple[Rule, dict] | None:
            words = [*self._by_word.get(message.split(None, 1)[0], ()), *self._others]
            rest = [known for listed in self._by_word.values() for known in listed if known not in words]
            for known in (*words, *rest):
                if found := known.reads.match(message):
                    return known.rule, found.groupdict()
            return None

    slow = Slow()
    for message in (*(one for one, *_ in MESSAGES), *of_the_kept_logs()):
        quick, thorough = RECOGNISER.find(message), slow.find(message)
        assert (quick and quick[0]) == (thorough and thorough[0]), message


def test_very_long_line_is_matched_quickly():
    """Clients choose names, so a name may repeat the texts that rules search for."""
    name = ", vhost: ', user: ', duration: '): " * 30_000
    assert RECOGNISER.find(f"Mirrored queue '{name}") is None
    _, found = RECOGNISER.find(f"closing AMQP connection <0.1.0> ({name}")
    assert max(map(len, found.values())) < CLIPPED


def releases(rule: Rule) -> Iterator[str]:
    yield from rule.releases.split("-")


def test_rules_name_kinds_releases_and_sources():
    for rule in RULES:
        assert rule.kind in KINDS
        assert set(releases(rule)) <= PROFILES.keys() | OLDER
        assert rule.source.partition(":")[0]
        assert set(rule.fixed) <= set(Event.__struct_fields__)


def test_every_kind_has_a_rule():
    assert {rule.kind for rule in RULES} == set(KINDS)
