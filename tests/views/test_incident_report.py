"""The report on an incident as data, text, page and JSON."""

from __future__ import annotations

import json
from functools import cache

import pytest
from html_pages import FETCHING, Page
from incidents import AUTOHEAL, SOME, certain, incident, kept, possible, with_losses
from json_schemas import validate
from kept_logs import title
from samples import sample

from hawb.incident.doubts import Doubt
from hawb.incident.understanding import understand
from hawb.views.incident.incident_json import plain
from hawb.views.incident.incident_page import page
from hawb.views.incident.incident_report import COMPARED, LOST, STORY, Account, account, doubted, report_of
from hawb.views.incident.picture import MOST_MARKS
from hawb.views.tables import Table
from hawb.views.terminal import text


@cache
def account_of(story: str) -> Account:
    return account(incident(story))


def rows(of: Account, heading: str) -> list[tuple]:
    [table] = [part.table for part in report_of(of).parts if part.title == heading]
    assert isinstance(table, Table)
    return table.rows


def test_story_shows_node_states_and_log_lines():
    assert rows(account_of("3.10/promotion-table-stop"), STORY)[3] == (
        4, "08:59:49", "✕   ●", "n1 was asked to stop (a.log.gz:157, b.log.gz:133, b.log.gz:143).",
    )  # fmt: skip


def test_predicted_losses_are_in_story_and_picture():
    found = account(with_losses(certain(), possible(from_s=9)))
    sentences = [one for one in found.story if not one.events]
    assert [one.text for one in sentences] == [
        "7 messages of orders were lost: the partition that had them was discarded.",
        "Messages of orders that came in from 09:00:09 to 09:00:18 at n2 or n3 were lost, if there were any: the"
        " partition that had them was discarded.",
    ]  # fmt: skip
    assert [one.number for one in found.story] == [*range(1, len(found.story) + 1)]
    marks = [(mark.look, mark.node, mark.number) for mark in found.picture.marks if mark.look == "endangered"]
    assert marks == [("endangered", node, sentences[1].number) for node in ("n2", "n3")]


def test_losses_are_grouped_by_cause_and_time():
    found = account(with_losses(certain(), kept("a"), kept("b")))
    assert [row[:4] for row in rows(found, LOST)] == [
        ("orders", "▼ 7", "none", "15"), ("a and b", "none", "none", "6 in all"),
    ]  # fmt: skip
    found = account(with_losses(possible(), possible(only="auto_ack"), possible(only="transient")))
    assert [row[2].split(" from")[0] for row in rows(found, LOST)] == [
        "◌ messages that came in", "◌ messages that were not persistent and came in",
        "◌ messages that were on the way to consumers with automatic acknowledgement,",
    ]  # fmt: skip


def test_contradiction_shows_the_log_line_and_the_expectation():
    apart = rows(account_of("3.8/promotion-table-kill"), COMPARED)
    lines = [row for row in apart if row[1] == "both.behind got a mirror on n2."]
    assert [row[2:] for row in lines] == [("a.log.gz:1558", "nothing")]
    expected = [row[3] for row in apart if row[1] == "nothing"]
    assert "n2, a synchronised mirror, took over both.behind from n1 with no messages." in expected


def test_agreement_of_log_and_rules_is_stated():
    [part] = [part for part in report_of(account_of("4.3/quorum-leader-killed")).parts if part.title == COMPARED]
    assert part.table is None and part.notes[0].startswith("Nowhere: all ")


def test_doubts_about_several_queues_are_one_sentence():
    doubts = [Doubt(kind="mirrors_unknown", queue=queue) for queue in ("q", "r", "q")]
    doubts += [Doubt(kind="no_log", node="a"), Doubt(kind="no_log", node="b")]
    assert [*doubted(doubts)] == [
        "No file says which mirrors of q and r were synchronised: hawb assumes that all were.",
        "There is no log of a: hawb derives from the other nodes' logs when a stopped or failed.",
        "There is no log of b: hawb derives from the other nodes' logs when b stopped or failed.",
    ]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_lines_fit_the_width(width):
    lines = text(report_of(account_of(AUTOHEAL)), width=width).splitlines()
    assert max(len(line) for line in lines if not line.lstrip().startswith("$ ")) <= width


@pytest.mark.parametrize("story", sample(SOME, 5), ids=title)
def test_page_fetches_nothing_and_agrees_with_the_json(story):
    found = account_of(title(story))
    read = Page(page(found))
    assert not {tag for tag, _ in read.elements} & {*FETCHING}
    values = json.loads(json.dumps(plain(found)))
    validate("incident", values)
    assert values["verdict"]["sentence"] in read.said
    assert [one["text"] for one in values["story"]] == [one.text for one in found.story]
    assert all(one.text in read.said for one in found.story)


def test_clients_are_not_named():
    for report in (page(account_of(AUTOHEAL)), json.dumps(plain(account_of(AUTOHEAL)))):
        assert "guest" not in report


def test_names_are_escaped(tmp_path):
    said = ["RabbitMQ is asked to stop...",
            "Mirrored queue '<b>q' in vhost '/': Adding mirror on node 'rabbit@b': <0.1.0>"]  # fmt: skip
    file = tmp_path / "rabbit@<i>.log"
    head = "2026-11-27 08:55:0{}.000001+00:00 [info] <0.1.0> {}\n"
    file.write_text("".join(head.format(at, one) for at, one in enumerate(said)))
    drawn = page(account(understand([file])))
    assert "<b>q" not in drawn and "<i>.log" not in drawn
    assert "&lt;b&gt;q" in drawn


def test_empty_logs_give_a_report(tmp_path):
    (tmp_path / "rabbit@a.log").write_text("")
    found = account(understand([tmp_path]))
    assert "? Cannot tell: hawb recognises no line of these files" in text(report_of(found))
    assert "<svg" not in page(found)


def test_story_shows_dates_and_the_picture_the_end_of_a_long_one(tmp_path):
    said = "".join(
        f"2026-07-{day:02} 10:00:00.000000+00:00 [info] <0.1.0>  Starting RabbitMQ 3.10.8 on Erlang 25.2.3 [jit]\n"
        f"2026-07-{day:02} 10:00:{at:02}.000000+00:00 [info] <0.1.0> RabbitMQ is asked to stop...\n"
        for at, day in enumerate(range(1, 31), 20)
    )
    for node in "abc":
        (tmp_path / f"rabbit@{node}.log").write_text(said)
    found = account(understand([tmp_path]))
    assert found.story[0].text.endswith("booted RabbitMQ 3.10.8.")
    times = [row[1] for row in rows(found, STORY)]
    assert (times[0], times[-1]) == ("2026-07-01 10:00:00", "2026-07-30 10:00:49")
    assert found.picture.title.endswith(f" The picture begins at {times[-MOST_MARKS // 3]}.")
    assert len(found.picture.marks) == MOST_MARKS
    assert min(span.from_us for span in found.picture.spans) == found.picture.marks[0].at_us


def test_node_with_a_single_line_has_no_lane(tmp_path):
    (tmp_path / "rabbit@a.log").write_text("2026-07-01 10:00:00.000000+00:00 [info] <0.1.0> node 'rabbit@b' up\n")
    found = account(understand([tmp_path]))
    assert "<svg" not in page(found)
    assert "rabbit@a" in text(report_of(found))
