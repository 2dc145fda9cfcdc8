"""Safety of stopping a node: the effect on each queue, and RabbitMQ's own checks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st
from views_outcomes import HOSTILE

from hawb.cli import main
from hawb.cluster import Cluster
from hawb.engine import first_state as beginning
from hawb.engine.first_state import place
from hawb.exports.imported import Live
from hawb.planning.safe_to_stop import (
    COORDINATOR,
    METADATA,
    WAYS,
    Forecast,
    outlook,
    safe_to_stop,
)
from hawb.rules.health_checks import types_counted
from hawb.scenario.document import Scenario
from hawb.scenario.load import load, read_scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.views.formatting import html, size
from hawb.views.planning.forecast import happens, mark, summary, table_html, text
from hawb.views.planning.forecast_matrix import brief

SCENARIOS = sorted((Path(__file__).parents[2] / "data" / "scenarios").glob("*.yaml"))


def mirrored(*nodes: str, version: str = "3.10", **definition: object) -> Cluster:
    cluster = Cluster(*nodes, version=version)
    cluster.set_policy("ha", "^ha", {"ha-mode": "all"} | {key.replace("_", "-"): it for key, it in definition.items()})
    return cluster.declare("ha.q", node=nodes[0]).publish("ha.q", 10)


def of(cluster: Cluster, node: str) -> Forecast:
    return next(forecast for forecast in safe_to_stop(cluster.run) if forecast.node == node)


def test_synchronised_mirror_makes_stop_and_kill_safe():
    forecast = of(mirrored("a", "b"), "a")
    assert (forecast.hurt("stop"), forecast.hurt("kill"), forecast.mirror_sync_critical) == ([], [], ())
    (effect,) = forecast.effects["kill"]
    assert (effect.hurts, effect.lost) == (False, 0)
    assert 0 < effect.unavailable_s < 1


def test_unsynchronised_mirror_loses_on_kill_and_blocks_on_stop():
    forecast = of(mirrored("a", "b").stop("b").start("b").publish("ha.q", 3), "a")
    (killed,), (stopped,) = forecast.effects["kill"], forecast.effects["stop"]
    assert (killed.lost, killed.lost_confirmed, killed.down) == (10, 10, False)
    assert killed.reason == "unsynchronised_promotion"
    assert (stopped.lost, stopped.down, stopped.reason) == (0, True, "mirrors_stopped")
    assert forecast.mirror_sync_critical == ("ha.q",)
    assert (mark(forecast, "stop"), mark(forecast, "kill")) == ("◌ outage", "▼ loss")


def test_transient_queue_is_deleted_with_its_node():
    cluster = mirrored("a", "b", ha_promote_on_failure="when-synced").declare("ha.brief", node="a", durable=False)
    cluster.publish("ha.brief", 2).declare("brief", node="a", durable=False).declare("lasting", node="a")
    killed = {effect.queue: effect for effect in of(cluster.stop("b").start("b"), "a").effects["kill"]}
    assert {name: effect.fate for name, effect in killed.items()} == {
        "brief": "deleted", "ha.brief": "stuck", "ha.q": "waits", "lasting": "waits",
    }  # fmt: skip
    assert [happens(killed[name]) for name in ("brief", "ha.brief", "lasting")] == [
        "is deleted", "loses 2 messages, 2 of them confirmed and cannot be used any more, only deleted",
        "cannot be used until the node is back",
    ]  # fmt: skip
    assert [brief(killed[name]).split(maxsplit=1)[1] for name in ("brief", "ha.brief", "lasting")] == [
        "deleted", "loses 2 and is down for good", "down",
    ]  # fmt: skip


def test_checks_do_not_see_unreplicated_queues():
    cluster = Cluster("a", "b", version="3.10").declare("plain", node="a").publish("plain", 4, persistent=False)
    forecast = of(cluster, "a")
    assert (forecast.quorum_critical, forecast.mirror_sync_critical) == ((), ())
    assert forecast.hurt("stop")
    assert not of(cluster, "b").hurt("kill")


def test_bare_majority_is_critical_on_every_member():
    cluster = Cluster("a", "b", "c", "d", version="3.10")
    cluster.declare("qq", node="a", arguments={"x-queue-type": "quorum"})
    members = cluster.queues["qq"]["members"]
    member, other = members[1], next(node for node in "abcd" if node not in members)
    assert [forecast.quorum_critical for forecast in safe_to_stop(cluster.run)] == [()] * 4
    cluster.stop(member)
    found = {forecast.node: forecast for forecast in safe_to_stop(cluster.run)}
    assert member not in found
    assert (found["a"].quorum_critical, found[other].quorum_critical) == (("qq",), ())
    assert (found["a"].effects["kill"][0].reason, found[other].hurt("stop")) == ("no_majority", [])


@pytest.mark.parametrize(("version", "critical"), [("3.8", ("qq",)), ("3.10", ()), ("3.13", ()), ("4.0", ())])
def test_a_node_in_maintenance_mode_passes_the_quorum_check_since_3_8_10(version, critical):
    cluster = Cluster("a", "b", "c", version=version)
    cluster.declare("qq", node="a", arguments={"x-queue-type": "quorum"}).stop("c")
    assert of(cluster, "b").quorum_critical == ("qq",)
    assert of(cluster.drain("b"), "b").quorum_critical == critical


def test_checks_pass_a_cluster_of_one_node():
    cluster = mirrored("a").declare("qq", arguments={"x-queue-type": "quorum"})
    forecast = of(cluster, "a")
    assert (forecast.quorum_critical, forecast.mirror_sync_critical) == ((), ())
    assert [effect.queue for effect in forecast.hurt("stop")] == ["ha.q", "qq"]


def test_queue_that_is_already_down_is_not_counted():
    cluster = Cluster("a", "b", version="3.10").declare("q", node="a").kill("a")
    assert of(cluster, "b").effects == {"stop": (), "kill": ()}


@pytest.mark.parametrize("file", SCENARIOS[3::9], ids=lambda file: file.stem)
def test_forecast_agrees_with_the_simulation_and_changes_nothing(file):
    run = Run.of(load(file))
    before, steps = outcome(run), len(run.steps)
    for forecast in safe_to_stop(run):
        for way in WAYS:
            ahead = run.copy()
            ahead.apply_plain({way: forecast.node})
            then = outcome(ahead)
            found = {effect.queue: effect for effect in forecast.effects[way] if effect.queue != METADATA}
            for name, effect in found.items():
                lost = size(then["ledger"][name]["lost"]) - size(before["ledger"][name]["lost"])
                assert effect.lost == lost
                # Where a link is cut, who leads next takes longer to find out than is looked ahead.
                if not before["partitions"] and not run.moment().state.cuts and name in then["queues"]:
                    assert effect.down == (then["queues"][name]["state"] in ("down", "minority"))
            for name, queue in then["queues"].items():
                if name not in found and not before["partitions"]:
                    assert queue["state"] == before["queues"][name]["state"] or queue["state"] != "down"
        checked = {name for name, queue in before["queues"].items() if forecast.node in queue["critical_nodes"]}
        members = sum(node.member for node in run.moment().state.nodes)
        if not before["partitions"] and forecast.node not in before["maintenance"] and members > 1:
            # The check passes over exclusive queues, which 3.8 lists as mirrored.
            owned = {name for name, queue in run.moment().state.sides[0].queues.items() if queue.owner}
            counted = {"classic", *types_counted(run.settings.profile.version)}
            up = {
                name for name in checked - owned
                if before["queues"][name]["state"] != "down" and before["queues"][name]["type"] in counted
            }  # fmt: skip
            assert {*forecast.quorum_critical, *forecast.mirror_sync_critical} - {METADATA, COORDINATOR} == up
        assert text([forecast]).count(forecast.node) >= len(WAYS)
    assert (outcome(run), len(run.steps)) == (before, steps)


@st.composite
def exports(draw: st.DrawFn) -> Scenario:
    """Draw a cluster as in an export, with equal and different queues."""
    queues = []
    for number in range(draw(st.integers(1, 3))):
        some = draw(st.permutations("abcd"))[: draw(st.integers(1, 4))]
        kind = draw(st.sampled_from(["ha", "limited", "qq"]))
        place = {"type": "quorum", "leader": some[0], "members": some}
        if kind != "qq":
            synchronised = [node for node in some[1:] if draw(st.booleans())]
            place = {"master": some[0], "mirrors": some[1:], "synchronised_mirrors": synchronised}
            place["durable"] = draw(st.booleans())
        counts = draw(st.lists(st.sampled_from([0, 5, 5, 800]), min_size=1, max_size=4))
        queues += [{"queue": f"{kind}{number}.{at}", "messages": count} | place for at, count in enumerate(counts)]
    settings = draw(st.sampled_from([{"ha-mode": "all"}, {"ha-mode": "all", "ha-promote-on-shutdown": "always"}]))
    policies = [{"name": name, "pattern": f"^{name}", "definition": settings | more}
                for name, more in (("ha", {}), ("limited", {"max-length": 6, "message-ttl": 90_000}))]  # fmt: skip
    down = draw(st.sampled_from([{}, {"d": "stopped"}]))
    cluster = {"nodes": list("abcd"), "version": draw(st.sampled_from(["3.8", "3.10"])), "down": down}
    return read_scenario({"scenario": "x", "cluster": cluster, "policies": policies, "queues": queues})


@settings(max_examples=60)
@given(exports())
def test_one_queue_of_each_kind_represents_all(scenario: Scenario):
    assert list(outlook(scenario)[1].forecasts) == safe_to_stop(Run.of(scenario))


def test_unavailable_queues_are_in_the_order_of_their_names():
    places = {"master": "b", "durable": False}
    queues = [{"queue": f"q{number}", "messages": number % 2} | places for number in range(3)]  # q0 and q2 are alike
    cluster = {"nodes": ["a", "b"], "down": {"b": "stopped"}, "version": "3.8"}
    scenario = read_scenario({"scenario": "x", "cluster": cluster, "queues": queues})
    assert [one.queue for one in outlook(scenario)[1].forecasts[0].out_of_use] == ["q0", "q1", "q2"]


def test_only_the_worst_of_many_queues_are_shown():
    queues = [{"queue": f"q{number:03}", "master": "a", "messages": number} for number in range(150)]
    scenario = read_scenario({"scenario": "x", "cluster": {"nodes": ["a", "b"]}, "queues": queues})
    played, found = outlook(scenario)
    first, _ = found.forecasts
    assert len(played.moment().ledger) == 2 and len(first.effects["stop"]) == 150
    assert text([first]).count("and 50 more queues") == 1  # a stop and a kill do the same


def test_summary_of_a_node_has_escaped_names():
    cluster = mirrored("a", "b").stop("b").start("b").publish("ha.q", 3)
    forecast = of(cluster, "a")
    assert summary(forecast, "kill") == "kill: ha.q loses 10 messages, 10 of them confirmed"
    assert summary(of(cluster, "b"), "kill") == "kill: nothing is lost, and every queue stays in use"
    assert "check_if_node_is_mirror_sync_critical: fails for ha.q" in repr(cluster.safe_to_stop())
    assert "a mirror that did not hold them became master" in repr(cluster.safe_to_stop("a")).lower()
    for name in HOSTILE:
        hostile = Cluster(name, "other", version="3.10").declare(name, node=name)
        shown = table_html(safe_to_stop(hostile.run))
        assert "<script" not in shown and html(name) in shown
        assert "\x1b" not in shown


def safe(tmp_path: Path, *options: str) -> Result:
    story = tmp_path / "story.yaml"
    story.write_text(
        """
        scenario: b came back empty
        cluster: {nodes: [a, b], version: "3.10"}
        policies: [{name: ha, pattern: ^ha, definition: {ha-mode: all}}]
        steps: [{declare: {queue: ha.q, node: a}}, {publish: {queue: ha.q, count: 10}}, {stop: b}, {start: b}]
        """
    )
    return CliRunner().invoke(main, ["safe", str(story), *options], catch_exceptions=False)


def test_command_answers_for_all_nodes_or_one(tmp_path):
    every = safe(tmp_path)
    assert every.exit_code == 1
    assert "◌ cannot be used" in every.stdout
    assert (safe(tmp_path, "--node", "a").exit_code, safe(tmp_path, "--node", "b").exit_code) == (1, 0)
    (answer,) = json.loads(safe(tmp_path, "--node", "a", "--json").stdout)
    assert answer["effects"]["kill"][0]["lost"] == 10


def test_command_lists_the_running_nodes_for_an_unknown_one(tmp_path):
    refused = safe(tmp_path, "--node", "c")
    assert refused.exit_code == 2
    assert "'c' is not a running node; these run: a, b" in refused.stderr


# A real cluster


REAL = Path(__file__).parents[2] / "data" / "real"
FILES = [str(REAL / name) for name in ("definitions.json", "api-queues.json", "api-nodes.json")]


def test_command_accepts_an_export_and_writes_a_page(tmp_path: Path):
    done = CliRunner().invoke(main, ["safe", *FILES, "-o", str(tmp_path / "safe.html")], catch_exceptions=False)
    assert done.exit_code == 1 and "scenario's defaults are used" in done.stdout.splitlines()[-1]
    assert done.stderr == f"{tmp_path / 'safe.html'}: the answer as a page\n"
    page = (tmp_path / "safe.html").read_text()
    assert page.count("<h2>") == 7 and "plain.transient" in page
    refused = CliRunner().invoke(main, ["safe", FILES[1]], catch_exceptions=False)
    assert refused.exit_code == 2 and "no definitions export" in refused.stderr


def test_queues_that_only_change_their_master_are_one_row():
    forecast = of(mirrored("a", "b").declare("ha.other", node="a"), "a")
    assert [line.count("2: ha.other and ha.q") for line in text([forecast]).splitlines()[2:]] == [0, 1, 0, 0]


def test_metadata_store_of_4_3_is_listed_like_a_queue():
    cluster = Cluster("a", "b", "c", version="4.3").stop("c")
    forecast = of(cluster, "b")
    assert forecast.quorum_critical == (METADATA,)
    assert [(effect.queue, effect.down, effect.reason) for effect in forecast.hurt("stop")] == [
        (METADATA, True, "no_majority")
    ]
    assert forecast.missed("stop") == []
    whole = Cluster("a", "b", "c", version="4.3")
    (effect,) = of(whole, "a").effects["kill"]
    assert (effect.queue, effect.down, effect.unavailable_s) == (METADATA, False, pytest.approx(0.3, abs=0.1))
    assert of(whole, "b").effects["kill"] == ()


@pytest.mark.parametrize("version", ["3.10", "3.13", "4.0"])
def test_streams_and_their_coordinator_are_counted_since_3_13(version: str):
    cluster = Cluster("a", "b", "c", version=version).declare("log", node="a", arguments={"x-queue-type": "stream"})
    assert of(cluster, "a").quorum_critical == ()
    forecast = of(cluster.stop("c"), "a")
    assert forecast.quorum_critical == (() if version == "3.10" else ("log", COORDINATOR))
    assert [(effect.queue, effect.reason) for effect in forecast.hurt("stop")] == [("log", "no_majority")]


def test_coordinator_counts_every_node_of_the_cluster():
    cluster = Cluster("a", "b", "c", "d", version="4.0")
    cluster.declare("log", node="a", arguments={"x-queue-type": "stream", "x-initial-cluster-size": 1}).stop("d")
    assert of(cluster, "b").quorum_critical == (COORDINATOR,)


@pytest.mark.parametrize("queues", [10, 300])
def test_queues_without_facts_are_not_simulated_one_by_one(queues: int, monkeypatch) -> None:
    """The work grows with the number of different queues, not with all 80,000 of an export."""
    placed = []
    monkeypatch.setattr(beginning, "place", lambda turn, one, stopped: placed.append(one) or place(turn, one, stopped))
    entries = [{"queue": f"q{number}", "arguments": {"x-max-length": number + 1}} for number in range(queues)]
    policies = [{"name": "ha", "pattern": "^q", "definition": {"ha-mode": "all"}}]
    data = {"scenario": "An export", "cluster": {"nodes": ["a", "b", "c"], "version": "3.10"}, "policies": policies,
            "queues": entries}  # fmt: skip
    live = Live(queues_listed=False, unlisted=tuple(entry["queue"] for entry in entries))
    _, found = outlook(read_scenario(data), live=live)
    assert [one.name for one in placed] == ["q0"]
    assert [one.hurt("stop") for one in found.forecasts] == [[], [], []]
