"""The queue table, the report of `hawb run`, and the ledger."""

from __future__ import annotations

import json
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from views_outcomes import HOSTILE, UNSYNCHRONISED, before_last_step, hostile, play, policy, recorded, steps

from hawb.scenario.load import load
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.views.cluster import ledger, queue_table
from hawb.views.cluster.queue_table import list_queues
from hawb.views.formatting import shown
from hawb.views.story.run_report import report
from hawb.views.tables import NAME_CELL, WIDTH, cell


def test_table_is_that_of_rabbitmqctl_with_the_number_of_replicas():
    result = steps(
        policy(ha_mode="exactly", ha_params=2),
        {"declare": {"queue": "two", "node": "a"}},
        {"publish": {"queue": "two", "count": 1500, "node": "a"}},
        {"clear_policy": "p"},
        {"declare": {"queue": "plain", "node": "b"}},
        policy(ha_mode="all"),
    )
    assert list_queues(result).splitlines() == [
        "name    policy    type     state      messages  node                   mirrors    synchronised mirrors",
        "plain   p         classic  running           0  b +2                   [a, c]     [a, c]",
        "two     p         classic  running        1500  a (+2 unsynchronised)  [b, c]     []",
    ]


def test_the_virtual_host_has_a_column_when_there_are_several():
    result = steps({"declare": {"queue": "shop::q"}}, {"declare": {"queue": "q"}})
    assert [line.split()[:2] for line in list_queues(result).splitlines()] == [
        ["vhost", "name"],
        ["/", "q"],
        ["shop", "q"],
    ]


def test_quorum_queues_have_members_in_place_of_mirrors():
    queue = {"type": "quorum", "state": "running", "policy": None, "messages": 3, "leader": "a"}
    data = {"queues": {"q": queue | {"members": ["a", "b", "c"], "online": ["a", "b"]}}}
    assert list_queues(data).splitlines() == [
        "name    policy    type    state      messages  node    members    online",
        "q                 quorum  running           3  a +2    [a, b, c]  [a, b]",
    ]


def test_uncommitted_messages_are_not_counted():
    quorum = {"declare": {"queue": "q", "node": "a", "arguments": {"x-queue-type": "quorum"}}}
    result = steps(quorum, {"kill": ["b", "c"]}, {"publish": {"queue": "q", "count": 7}})
    assert list_queues(result).splitlines() == [
        "name    policy    type    state       messages    uncommitted  node    members    online",
        "q                 quorum  minority           0              7  a +2    [a, b, c]  [a]",
    ]
    (row,) = ledger.rows(result)
    assert (row.figures["published"].now, row.figures["in queue"].now, row.figures["uncommitted"].now) == (7, 0, 7)
    assert "uncommitted" in ledger.html(result)
    leaderless = steps(quorum, {"kill": ["a", "b"]})
    assert list_queues(leaderless).splitlines()[1].split()[4:6] == ["none", "+3"]


def test_names_that_look_like_numbers_stay_names():
    assert "1e5" in list_queues(steps({"declare": {"queue": "1e5"}}))


def test_long_lists_of_nodes_are_shortened():
    nodes = tuple(f"n{index}" for index in range(8))
    result = steps(policy(ha_mode="all"), {"declare": {"queue": "q"}}, nodes=nodes)
    assert "[n1, n2, n3, 4 more]" in list_queues(result)


def test_table_without_queues_states_it():
    assert list_queues(steps({"wait": 1})) == "There is no queue."


def test_the_report_has_table_story_losses_and_refusals():
    text = report(steps({"declare": {"queue": "q"}}, {"delete": {"queue": "x"}}, {"purge": "nothing"}))
    assert text.splitlines()[:3] == [
        "Is every message kept, every queue in use and every step accepted?",
        "✕ No: nothing is lost, and every queue can be used; RabbitMQ refused step 3.",
        "  steps. RabbitMQ 3.10, after 0.0 s: a running, b running, c running",
    ]
    assert "What was lost" not in text
    assert "step 3: 404 NOT_FOUND - no queue 'nothing' in vhost '/'" in text
    lost = report(play(UNSYNCHRONISED))
    assert "  7.006  a was killed.\n           rabbit on node a down" in lost
    assert "What was lost, and why\n  Messages 1 to 100 of ha.orders were lost at 7.006 s." in lost
    assert lost.splitlines()[1].startswith("✕ No: 100 messages of ha.orders are lost, all of them confirmed")


def test_the_report_fits_a_terminal():
    assert max(map(len, report(play(UNSYNCHRONISED)).splitlines())) <= WIDTH


@pytest.mark.parametrize("name", HOSTILE)
def test_report_contains_no_control_characters(name):
    text = report(hostile(name))
    assert all(character.isprintable() or character in "\n\u2068\u2069" for character in text)
    assert f"3 messages of {shown(name)} are lost" in " ".join(text.split())


def test_a_recorded_outcome_has_a_report():
    assert report(recorded(play(UNSYNCHRONISED))) == report(play(UNSYNCHRONISED))


def test_running_a_scenario_imports_no_heavy_package():
    program = (
        "import sys\nimport hawb.views.story.report, hawb.views.story.run_report\n"
        "heavy = {'pandas', 'matplotlib', 'numpy', 'pyspark', 'numba', 'ipywidgets'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).returncode == 0


def test_cell_with_former_and_current_value_is_wider():
    assert "max-width:48em" not in cell("b", "b", NAME_CELL)
    assert cell("b", "a", NAME_CELL).rpartition("max-width:")[2].startswith("48em")


def test_ledger_shows_former_and_current_values():
    was, now = before_last_step(UNSYNCHRONISED)
    (row,) = ledger.rows(now, was)
    assert {column: (figure.was, figure.now) for column, figure in row.figures.items()} == {
        "published": (110, 110),
        "confirmed": (110, 110),
        "nacked": (0, 0),
        "in queue": (110, 10),
        "uncommitted": (0, 0),
        "acknowledged": (0, 0),
        "otherwise removed": (0, 0),
        "refused": (0, 0),
        "lost": (0, 100),
        "lost after confirm": (0, 100),
        "would be redelivered": (0, 10),
        "delivered twice": (0, 0),
    }
    assert row.figures["in queue"].change == -100


def test_the_ledger_marks_what_changed():
    was, now = before_last_step(UNSYNCHRONISED)
    assert "110 → 10" in ledger.html(now, was)
    assert "→" not in ledger.html(now)
    assert "nacked" not in ledger.html(now)


def test_deleted_queue_keeps_its_ledger():
    result = steps({"declare": {"queue": "q"}}, {"publish": {"queue": "q", "count": 3}}, {"delete": {"queue": "q"}})
    (row,) = ledger.rows(result, steps({"wait": 1}))
    assert (row.figures["published"].now, row.figures["in queue"].now, row.figures["otherwise removed"].now) == (
        3,
        0,
        3,
    )


def test_the_queue_table_marks_what_changed():
    was, now = before_last_step(UNSYNCHRONISED)
    html = queue_table.html(now, was)
    assert "<bdi>a (+1 unsynchronised)</bdi> → <bdi>b</bdi>" in html
    assert "→" not in queue_table.html(now)


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_escaped(name):
    for html in (ledger.html(hostile(name)), queue_table.html(hostile(name))):
        texts = [*ElementTree.fromstring(html).itertext()]
        assert {shown(name), shown(f"{name}2")} <= {*texts}


def test_views_need_nothing_but_json():
    answer = json.loads(json.dumps(play(UNSYNCHRONISED)))
    assert report(answer) == report(play(UNSYNCHRONISED))


def test_in_a_partition_each_side_has_its_own_table():
    steps = [
        "declare: {queue: q, node: a}",
        "publish: {queue: q, count: 10, node: a}",
        "partition: [[a], [b, c]]",
        "wait: 75",
        "publish: {queue: q, count: 5, node: b}",
        "declare: {queue: theirs, node: b}",
    ]
    policy = "policies: [{name: p, pattern: ^q$, definition: {ha-mode: all}}]"
    story = "".join(f"  - {step}\n" for step in steps)
    result = outcome(Run.of(load(f"scenario: t\ncluster: {{nodes: [a, b, c]}}\n{policy}\nsteps:\n{story}")))
    assert result["queues"].keys() == {"q"} and result["queues_elsewhere"].keys() == {"theirs"}
    ours, others = report(result).split("\n\n")[1:3]
    assert ours.startswith("As a sees it:") and "theirs" not in ours and "10" in ours
    assert others.startswith("As b and c see it:") and "theirs" in others and "15" in others
