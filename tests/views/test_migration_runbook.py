"""The runbook of a move to quorum queues: escaped names, times, and simulation of both procedures."""

from __future__ import annotations

import re
import subprocess

import pytest
from html_pages import FETCHING, Page
from inventories import cluster, policy, queue
from migrations import BOTH, MATRIX, OLD, at_work, planned
from views_outcomes import HOSTILE

from hawb.cluster import Cluster
from hawb.study.draining import drains
from hawb.views.formatting import size
from hawb.views.planning import migration as view
from hawb.views.planning.migration_runbook import runbook

QUORUM, NEW = {"x-queue-type": "quorum"}, "new::orders"

# What it says


def last_argument(line: str) -> str:
    """Return the last argument that a shell passes to the program."""
    script = 'rabbitmqctl() { printf %s "${@: -1}"; }; ' + line
    return subprocess.run(["bash", "-c", script], capture_output=True, check=True).stdout.decode()


@pytest.mark.parametrize("name", [*HOSTILE, "`x`", "a|b", "```\n# x", "-o", "$(reboot)", "'; reboot; '"])
def test_names_are_escaped(name: str):
    made = cluster(policy(name, ha_mode="all", **{name: 1}), queues=[queue(name, messages=5), queue(name, "v|`")])
    plan = planned(made, "4.0")
    text = runbook(plan, drains(move.queue for move in plan.moves), MATRIX)
    page = Page(view.page(plan, text))
    assert not [tag for tag, _ in page.elements if tag in FETCHING]
    assert "\u202e" not in text and "\x1b" not in text
    assert len(re.findall(r"^#+ ", re.sub(r"(?ms)^(`{3,})console$.*?^\1$", "", text), re.M)) == 7
    lines = re.findall(r"^rabbitmqctl delete_queue .*$", text, re.M)
    assert [last_argument(line) for line in lines] == [name, name]
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} <= {3, 4, 6}


def test_name_in_a_clash_is_escaped():
    made = cluster(policy("a|b`<i>", "^q", ha_mode="all", max_length=1), queues=BOTH[:2])
    text = runbook(planned(made, "3.13"), [], MATRIX)
    assert r"a\|b\`&lt;i&gt; (classic), a\|b\`&lt;i&gt;-quorum (quorum)" in text


def test_time_has_an_error_and_names_what_it_omits():
    deep = queue("q", messages=3_000_000, message_bytes=3_000_000_000)
    text = runbook(planned(cluster(policy(ha_mode="all"), queues=[deep])), drains([deep]), MATRIX)
    assert "3,000,000" in text and "median error is" in text and "The model leaves out" in text
    assert re.search(r"\d+ min, \d+ min to \d+ min", text)
    assert runbook(planned(cluster()), [], MATRIX).count("no listing was given") == 1


def test_unmeasured_size_has_no_time():
    assert drains([queue("q", messages=5, message_bytes=5 * 2**24)])[0].seconds is None


# Its ways, played


def lost(made: Cluster) -> int:
    return sum(size(each["removed"]["deleted"]) + size(each["refused"]) for each in made.ledger.values())


def at_s(made: Cluster, event: str) -> list[float]:
    return [each["t"] for each in made.events if each["event"] == event]


def test_move_by_new_virtual_hosts_keeps_publishing_order_and_messages():
    made = at_work().declare(NEW, node="a", arguments=QUORUM).close("shop")
    made.publisher("shop 2", NEW, rate=10, node="b").wait(30).close("worker").delete(OLD, if_empty=True)
    made.consume("worker 2", NEW, rate=20, prefetch=10, node="c").wait(30)
    assert (lost(made), made.errors) == (0, [])
    assert at_s(made, "publisher_started")[1] - at_s(made, "publisher_closed")[0] < 1
    assert at_s(made, "queue_deleted")[0] <= at_s(made, "consumer_started")[1]


def test_move_in_place_stops_publishing_and_loses_nothing():
    made = at_work().close("shop").wait(30).close("worker").delete(OLD, if_empty=True)
    made.declare(OLD, node="a", arguments=QUORUM).publisher("shop", OLD, rate=10, node="b").wait(5)
    assert (lost(made), made.errors) == (0, [])
    assert at_s(made, "publisher_started")[1] - at_s(made, "publisher_closed")[0] >= 30


def test_move_in_place_with_a_running_publisher_loses_confirmed_messages():
    assert lost(at_work().delete(OLD).wait(5).declare(OLD, node="a", arguments=QUORUM).wait(5)) > 500
