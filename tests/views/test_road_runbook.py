"""The runbook of an upgrade path: commands in order, with escaped names."""

from __future__ import annotations

import json
import re
import subprocess
from itertools import pairwise

import pytest
from html_pages import FETCHING, Page
from inventories import cluster, policy, queue
from migrations import MATRIX, real
from views_outcomes import HOSTILE

from hawb.planning.crossing import crossed
from hawb.rules.upgrade_releases import RELEASES
from hawb.rules.upgrade_road import leg, road
from hawb.study.draining import drains
from hawb.views.planning import migration as view
from hawb.views.planning import road_runbook
from hawb.views.planning.migration_runbook import runbook

OLDER = [*pairwise(RELEASES)]


def text(*policies, queues=(), version: str = "3.13", to: str = "4.3", **more) -> str:
    made = cluster(*policies, queues=list(queues), version=version, release=f"{version}.1", **more)
    plan = crossed(made, to, MATRIX)
    before = plan.crossing.before if plan.crossing else None
    return runbook(plan, drains(move.queue for move in (before or plan).moved), MATRIX)


def headings(result: str) -> list[str]:
    outside = re.sub(r"(?ms)^(`{3,})bash$.*?^\1$", "", result)
    return re.findall(r"^## (.*)$", outside, re.MULTILINE)


def test_steps_are_in_order_with_the_move_before_4_0():
    mirrored = text(policy(ha_mode="all"), queues=[queue("q")], version="3.10")
    assert [each for each in headings(mirrored) if each.startswith("Step")] == [
        "Step 1: 3.10 -> 3.11", "Step 2: 3.11 -> 3.12", "Step 3: 3.12 -> 3.13",
        "Step 4: the move to quorum queues, on 3.13", "Step 5: 3.13 -> 4.2", "Step 6: 4.2 -> 4.3",
    ]  # fmt: skip
    assert mirrored.index("delete_queue") < mirrored.index("clear_policy p") < mirrored.index("Step 5: ")
    assert [each for each in headings(text(version="4.0", queues=[queue("q")])) if each.startswith("Step")] == [
        "Step 1: 4.0 -> 4.2", "Step 2: 4.2 -> 4.3", "Step 3: the move to quorum queues, on 4.3",
    ]  # fmt: skip


def test_khepri_is_enabled_as_a_step_before_4_3():
    shown = text(policy(ha_mode="all"), queues=[queue("q")])
    before, after = shown.split("Step 3: ")
    assert "enable_feature_flag khepri_db" not in before and "enable_feature_flag khepri_db" in after
    rolled = before.split("### After the last node")[-1]
    assert "enable_feature_flag rabbitmq_4.2.0" in rolled and "enable_feature_flag all" not in rolled
    assert "none is disabled but khepri_db" in before and "none is disabled but" not in after


@pytest.mark.parametrize(
    ("nodes", "result"),
    [("a", "its own majority"), ("ab", "Add a third node first"), ("abc", "no second one may go down meanwhile"),
     ("abcde", "1 more may go down meanwhile"), ("", "needs a majority of the nodes")],
)  # fmt: skip
def test_metadata_outage_is_stated_for_the_number_of_nodes(nodes: str, result: str):
    assert result in text(queues=[queue("q")], nodes=dict.fromkeys(nodes, True))


def test_transient_queues_that_prevent_booting_are_named():
    shown = text(queues=[queue("goes", durable=False)])
    assert "What 4.3.6 refuses of it" in headings(shown)
    assert "no node boots while the cluster has one" in shown and "`goes`" in shown


def test_mirrors_are_waited_for_only_while_there_are_any():
    first, *_, last = (road_runbook.node_lines(each, mirrors) for each, mirrors in zip(
        road("3.12", "4.3"), (True, False, False), strict=True))  # fmt: skip
    assert any("synchronized_mirror" in line for line in first)
    assert not any("mirror" in line for line in last)
    assert any("Erlang 26.0" in line for line in first) and not any("Erlang" in line for line in last)


@pytest.mark.parametrize(("older", "newer"), [*OLDER, ("3.13", "4.2"), ("3.13", "4.1"), ("4.0", "4.2")])
def test_every_command_is_valid_shell(older: str, newer: str):
    result = "\n\n".join(road_runbook.step(leg(older, newer), "x", "4.3", ["a", "b"]))
    blocks = re.findall(r"(?ms)^```bash$\n(.*?)^```$", result)
    assert len(blocks) == 3 + (newer == "4.3")
    for block in blocks:
        subprocess.run(["bash", "-n"], input=block.encode(), check=True)
    assert "None" not in result and "{" not in result


def test_step_that_skips_releases_names_the_release_of_each_change():
    result = "\n".join(road_runbook.before(leg("3.13", "4.2")))
    assert "| 4.0 | mirrored queues" in result and "| 4.1 | clients with a frame" in result
    assert "changed in the same stop of each node" in result
    assert "3.11.18 or later" in "\n".join(road_runbook.before(leg("3.11", "3.12")))


@pytest.mark.parametrize("name", [*HOSTILE, "`x`", "a|b", "```\n# x", "-o", "$(reboot)"])
def test_names_are_escaped(name: str):
    made = cluster(policy(name, ha_mode="all", max_length=1), queues=[queue(name, durable=False), queue(f"{name}2")],
                   version="3.13", nodes={name: True}, release="3.13.7`<i>\u202e")  # fmt: skip
    plan = crossed(made, "4.3", MATRIX)
    shown = runbook(plan, [], MATRIX)
    assert "\u202e" not in shown and "\x1b" not in shown and "<i>" not in re.sub(r"`[^`\n]*`", "", shown)
    assert len(headings(shown)) == len(headings(text(queues=[queue("q", durable=False), queue("q2")])))
    page = Page(view.page(plan, shown))
    assert not [tag for tag, _ in page.elements if tag in FETCHING]
    rows = [line for line in shown.splitlines() if line.startswith("| ")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} <= {3, 4, 5, 6}


def test_long_lists_of_names_are_counted():
    many = [queue(f"q{number:02}", durable=False) for number in range(30)]
    made = cluster(queues=many, release="4.2.1", version="4.0")
    shown = runbook(crossed(made, "4.3", MATRIX), [], MATRIX)
    assert "| 30 | `q00`" in shown and "`q19` and 10 more" in shown


def test_plan_without_a_path_has_no_steps():
    assert "Step 1" not in runbook(real(), [], MATRIX) and "## In place" in runbook(real(), [], MATRIX)


def test_blue_green_runbook_imports_users_and_moves_messages():
    shown = text(policy(ha_mode="all"), queues=[queue("q")])
    part = shown.split("## In a new cluster")[1].split("\n## ")[0]
    order = ["definitions definitions.json", "{users, permissions, topic_permissions}", "definitions users.json",
             "list_permissions -p /", "enable rabbitmq_shovel", "set_parameter -p VHOST shovel",
             "# on the old cluster"]  # fmt: skip
    assert [part.index(each) for each in order] == sorted(part.index(each) for each in order)
    for block in re.findall(r"(?ms)^```bash$\n(.*?)^```$", part):
        subprocess.run(["bash", "-n"], input=block.encode(), check=True)
    parameter = re.search(r"shovel 'drain QUEUE' '(.*)'$", part, re.MULTILINE)[1]
    assert json.loads(parameter)["ack-mode"] == "on-confirm"


def test_differences_of_real_nodes_are_stated():
    shown = text(policy(ha_mode="all"), queues=[queue("q")])
    assert "RabbitMQ counts it as empty" in shown
    assert "restore the copy of its data folder" in shown and "exit status 69 if some are" in shown
    at_the_end = shown.split(": 4.2 -> 4.3")[1]
    assert "check_local_alarms" not in at_the_end and '--node="$NODE" alarms' in at_the_end
