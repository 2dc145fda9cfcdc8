"""Texts of the broker beside those of the model: the stored table and page agree with the recordings."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace
from recorded_scenarios import DATA, OF_A_MACHINE, scenario_of

from hawb.broker import node_logs, recordings
from hawb.views.broker import texts
from hawb.views.broker.text_page import as_csv, as_page
from hawb.views.broker.texts import Reason, Row, Statement, form, reason_for

LOGS = sorted((DATA / "recorded").glob("*/*.log"))
WHY = texts.reasons(DATA / "text-differences.yaml")
ANEW = "write it anew: python -m hawb.views.broker.text_page"


@cache
def rows() -> list[Row]:
    """Return the table from the recordings and the current model."""
    return texts.table(DATA, WHY)


def test_stored_table_is_up_to_date() -> None:
    assert (DATA / "texts.csv").read_text(encoding="utf-8") == as_csv(rows()), ANEW


def test_stored_page_is_up_to_date() -> None:
    assert (DATA / "texts.md").read_text(encoding="utf-8") == as_page(rows()), ANEW


def test_differing_texts_have_a_reason() -> None:
    assert [row.said for row in rows() if not row.said.equal and row.reason is None] == []


def test_every_reason_is_needed() -> None:
    given = {row.reason for row in rows()}
    assert [known for known in WHY if known.reason not in given] == []


@pytest.mark.parametrize("kind", texts.KINDS)
@pytest.mark.parametrize("release", ["3.8", "3.10", "4.0"])
def test_each_release_has_been_asked_for_each_kind(release: str, kind: str) -> None:
    assert any(row.said.equal for row in rows() if (row.said.release, row.said.kind) == (release, kind))


@pytest.mark.parametrize("file", LOGS, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_log_belongs_to_the_current_scenario_and_names_no_machine(file: Path) -> None:
    played, lines = node_logs.read(file)
    command = f"hawb record --log --broker {file.parent.name} data/scenarios/{file.stem}.yaml"
    assert played == recordings.digest(scenario_of(file)), f"its steps have changed: {command}"
    text = "\n".join(line.text for line in lines)
    for node in scenario_of(file).known_nodes:  # a scenario may name its nodes as Erlang does
        text = re.sub(rf"\b{re.escape(node)}\b", "", text)
    assert OF_A_MACHINE.findall(text) == []


# --- what the table is made of ---


@pytest.mark.parametrize(
    ("text", "its_form"),
    [
        ("NOT_FOUND - no queue 'q' in vhost '/'", "NOT_FOUND - no queue '…' in vhost '…'"),
        ("rabbit on node a down", "rabbit on node … down"),
        ("Promoting mirror <b> to leader", "Promoting mirror <…> to leader"),
        ("This node is being revived from maintenance (drain) mode",) * 2,
        ("Node 'b' thinks it's clustered with node 'd'", "Node '…' thinks it's clustered with node '…'"),
        ("a new leader {'%2F_q',a} in term 1", "a new leader {'…',…} in term …"),
        ("Autoheal: we were selected to restart; winner is a", "Autoheal: we were selected to restart; winner is …"),
        ("Autoheal: I am the winner, waiting for [c,b] to stop", "Autoheal: I am the winner, waiting for … to stop"),
        ("[\"throw\", \"not_found\"]",) * 2,
        ("Validation failed\n\n<<\"x\">> is not a valid max age", "Validation failed\n\n… is not a valid max age"),
        (None, None),
    ],
)
def test_form_of_a_text_has_no_names_or_numbers(text: str | None, its_form: str | None) -> None:
    assert form(text) == its_form


def test_text_is_joined_into_one_line() -> None:
    assert texts.laid('Error:\nno [{<<"a">>,\n    1}]\n') == 'no [{<<"a">>,1}]'


def test_reason_applies_to_its_kind_releases_and_patterns() -> None:
    said = Statement("3.8", "ctl", "x", 0, "the last node cannot be removed: last_node", "last_node")
    known = Reason("ctl", "why", model="last node", broker="^last_node$", releases=("3.8",))
    assert reason_for(said, [known]) == "why"
    assert reason_for(said._replace(release="4.0"), [known]) is None
    assert reason_for(said, [replace(known, scenarios=("y",))]) is None
    assert reason_for(said._replace(broker=None), [known]) is None
    assert reason_for(said._replace(kind="log"), [known]) is None
    assert reason_for(said._replace(model="last_node"), [known]) is None


def test_a_file_of_reasons_with_another_key_is_refused(tmp_path) -> None:
    (tmp_path / "why.yaml").write_text("- {kind: log, reason: x, text: y}\n")
    with pytest.raises(msgspec.ValidationError, match="text"):
        texts.reasons(tmp_path / "why.yaml")


def test_log_line_of_one_side_only_is_listed() -> None:
    data = {"version": "3.10", "events": [], "errors": []}
    found = list(texts.logged(Statement("3.10", "", "x", 0, None, None), data, [node_logs.LogLine(1, "a", "text")]))
    assert found == [Statement("3.10", "log", "x", 1, None, "text")]
