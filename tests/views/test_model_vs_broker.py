"""Tables of model and broker: verdicts, counts, and the message if no broker can run."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from msgspec.structs import replace
from views_outcomes import HOSTILE

from hawb.broker import real, roots
from hawb.broker.real import CannotPlay, Played
from hawb.broker.recordings import Recording
from hawb.scenario.document import Scenario, Uncompared
from hawb.scenario.load import load
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.views.broker import model_vs_broker
from hawb.views.broker.model_vs_broker import AGREES, CHANCE, DIFFERS, KNOWN, NOT_REPORTED, RACY, Kept
from hawb.views.formatting import html
from hawb.views.tables import Table

DATA = Path(__file__).parents[2] / "data"
STORY = """
scenario: Published
cluster: {nodes: [a, b], version: "3.10"}
steps:
  - declare: {queue: q, node: a}
  - publish: {queue: q, count: 3}
  - declare: {queue: other, node: b}
"""


def recorded(scenario: Scenario) -> dict:
    """Return the outcome of a broker that agrees with the model."""
    full = outcome(Run.of(scenario))
    queues = {
        name: {key: value for key, value in queue.items() if key != "replicas"}
        for name, queue in full["queues"].items()
    }
    seen = {key: full[key] for key in ("nodes", "consumers", "errors", "deleted")}
    return seen | {"queues": queues, "broker": {"rabbitmq": "3.10.8", "erlang": "25.2.3"}}


def kept(known: dict | None = None, racy: dict | None = None, **changed: object) -> Kept:
    """Return a recording of the story with queue q `changed`."""
    scenario = load(STORY)
    if racy:
        scenario = replace(scenario, racy=Uncompared(**racy))
    seen = recorded(scenario)
    seen["queues"]["q"] |= changed
    return Kept("story", scenario, Recording("-", 1, seen, {}, "-", "-"), Uncompared(**known) if known else None)


def verdicts(case: Kept) -> dict[str, str]:
    return {field.name: field.verdict for field in model_vs_broker.fields(case.played, case.known)}


def test_equal_outcomes_agree_in_every_field():
    found = verdicts(kept())
    assert {name for name, verdict in found.items() if verdict != AGREES} == {
        name for name in found if name.endswith(".replicas") or name.startswith("ledger.")
    } | {"availability", "events", "losses", "time_s", "maintenance", "alarms", "partitions",
         "queues_elsewhere", "atoms"}  # fmt: skip
    assert set(found.values()) == {AGREES, NOT_REPORTED}
    assert model_vs_broker.verdict(kept()) == AGREES


@pytest.mark.parametrize(
    ("verdict", "parts"),
    [
        (DIFFERS, {}),
        (KNOWN, {"known": {"fields": ["queues.q.messages"], "reason": "so it is"}}),
        (RACY, {"racy": {"fields": ["queues.q.messages"], "reason": "a matter of luck"}}),
    ],
)
def test_difference_has_the_name_of_its_reason(verdict: str, parts: dict):
    case = kept(messages=2, **parts)
    assert verdicts(case)["queues.q.messages"] == model_vs_broker.verdict(case) == verdict
    assert verdicts(case)["queues.q.state"] == AGREES


def test_field_that_is_not_compared_is_not_counted_as_equal():
    case = kept(racy={"fields": ["queues.q.messages"], "reason": "a matter of luck"})
    assert (verdicts(case)["queues.q.messages"], model_vs_broker.verdict(case)) == (AGREES, RACY)


def test_elected_leader_is_not_compared():
    case = model_vs_broker.recording("quorum-leader-killed", data=DATA)
    assert (verdicts(case)["queues.orders.leader"], model_vs_broker.verdict(case)) == (CHANCE, AGREES)


def test_queue_in_one_outcome_only_differs():
    case = kept()
    case.recording.outcome["queues"].pop("other")
    assert {field for field, verdict in verdicts(case).items() if verdict == DIFFERS} == {
        field for field in verdicts(case) if field.startswith("queues.other.")
    }


def test_ledger_of_a_queue_without_publishers_is_not_compared():
    """Only the model counts dead letters as published."""
    case = kept()
    case.recording.outcome["ledger"] = {"q": {"published": 0, "confirmed": [], "nacked": [], "acknowledged": []}}
    assert verdicts(case)["ledger.q.confirmed"] == NOT_REPORTED


def test_pair_lists_fields_that_either_reports():
    table = model_vs_broker.pair(kept(messages=2), "queues.q")
    assert table.columns == ("field", "model", "RabbitMQ 3.10.8", "verdict")
    assert ("messages", "3", "2", DIFFERS) in table.rows
    assert ("replicas", "a: master", "", NOT_REPORTED) in table.rows
    assert [row[0] for row in model_vs_broker.pair(kept(), "ledger.q").rows] == ["confirmed"]


def test_recordings_are_counted_by_release_and_type():
    differing = kept(messages=2)
    quorum = model_vs_broker.recording("quorum-leader-killed", data=DATA)
    table = model_vs_broker.tally([kept(), kept(), differing, quorum])
    assert table.rows == [
        ("3.10", "classic", 2, 0, 0, 1, 3), ("3.10", "quorum, or both", 1, 0, 0, 0, 1), ("all", "", 3, 0, 0, 1, 4),
    ]  # fmt: skip
    fields = dict(model_vs_broker.tally_of_fields([differing]).rows)
    assert (fields["✕ differs"], fields["≠ known difference"], sum(fields.values())) == (1, 0, len(verdicts(differing)))


def test_every_recording_is_listed_with_its_reasons():
    found = model_vs_broker.all_recordings(DATA)
    assert len(found) == len(list((DATA / "recorded").glob("*/*.json")))
    known = model_vs_broker.reasons(found, KNOWN)
    assert {row[0] for row in known.rows} == {each.name for each in found if each.known}
    with pytest.raises(KeyError, match="none is not recorded"):
        model_vs_broker.recording("none", data=DATA)


@pytest.mark.parametrize("name", HOSTILE)
def test_text_from_files_is_escaped(name: str):
    table = Table(name, (name,), [(name,)])
    assert "<script" not in table._repr_html_() and table._repr_html_().count(html(name)) == 3
    assert not set("\x1b\u202e") & set(repr(table) + table._repr_html_())
    assert len(repr(Table("-", ("-",), [(name,)])).splitlines()) == 3


def test_values_are_shown_briefly():
    values = (None, [], True, 1234, ["a", "b"], [[1, 3]], model_vs_broker.ABSENT)
    assert [model_vs_broker.brief(value) for value in values] == [
        "none", "none", "yes", "1,234", "a and b", "messages 1 to 3", "",
    ]  # fmt: skip
    assert model_vs_broker.brief({"x": [], "y": [[1, 2]]}) == "y: messages 1 to 2"
    assert model_vs_broker.brief({"x": []}) == "none"


# Live


@pytest.fixture
def able(monkeypatch):
    """Simulate a machine that can run a broker."""
    monkeypatch.setattr(model_vs_broker, "lacking", list)
    monkeypatch.setattr(roots, "found", lambda _version: object())
    monkeypatch.setattr(real, "bench", contextlib.nullcontext)


def test_missing_requirements_are_listed(monkeypatch):
    monkeypatch.setattr(model_vs_broker, "lacking", lambda: ["root's rights, for network namespaces"])
    monkeypatch.setattr(roots, "found", lambda _version: None)
    said = model_vs_broker.live(kept(), "queues.q", ask=True)
    assert said == (
        "No real broker can run here without root's rights, for network namespaces; a RabbitMQ 3.10, such as"
        " Debian's package rabbitmq-server. The recording is used instead."
    )


def test_broker_runs_only_on_request(able, monkeypatch):
    def play(_bench: object, scenario: Scenario, _version: str) -> Played:
        return Played(scenario, recorded(scenario), {})

    monkeypatch.setattr(real, "play", play)
    assert model_vs_broker.live(kept(), "queues.q") == (
        "A RabbitMQ 3.10 can run here. Call with ask=True to play the story on it: about a minute."
    )
    assert model_vs_broker.live(kept(), "queues.q", ask=True) == model_vs_broker.pair(kept(), "queues.q")


def test_unplayable_story_is_reported_not_raised(able, monkeypatch):
    def play(*_: object) -> Played:
        raise CannotPlay("the cluster did not answer")

    monkeypatch.setattr(real, "play", play)
    said = model_vs_broker.live(kept(), "queues.q", ask=True)
    assert said == "The story could not be played: the cluster did not answer"
