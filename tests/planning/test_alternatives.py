"""Changes that prevent a loss: the story under each single change, with the messages kept and the cost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace
from views_outcomes import HOSTILE

from hawb.cluster import Cluster
from hawb.engine.core import runs
from hawb.planning import harm
from hawb.planning.alternatives import Alternative, Alternatives, result, what_would_have_kept
from hawb.planning.changes import CHOICES
from hawb.planning.harm import harms
from hawb.scenario.dump import plain
from hawb.scenario.load import load, read_scenario
from hawb.scenario.run import Run
from hawb.views.formatting import html
from hawb.views.planning.alternatives import Table, table_html

SCENARIOS = sorted((Path(__file__).parents[2] / "data" / "scenarios").glob("*.yaml"))


def story(*steps: dict, nodes: str = "abc", version: str = "3.10", **more: object) -> Run:
    cluster = {"nodes": list(nodes), "version": version} | more.pop("cluster", {})
    return Run.of(read_scenario({"scenario": "s", "cluster": cluster, "steps": list(steps), **more}))


def policy(**definition: object) -> dict:
    given = {key.replace("_", "-"): value for key, value in definition.items()}
    return {"set_policy": {"name": "p", "pattern": "^q", "definition": given}}


def declare(**arguments: object) -> dict:
    given = {key.replace("_", "-"): value for key, value in arguments.items()}
    return {"declare": {"queue": "q", "node": "a", "arguments": given}}


PUBLISH = {"publish": {"queue": "q", "count": 100}}
UNSYNCHRONISED = (
    *(policy(ha_mode="all"), declare(), PUBLISH),
    *({"stop": "b"}, {"start": "b"}, {"stop": "c"}, {"kill": "a"}),
)
ALONE = (declare(), PUBLISH, {"kill": "a"})


def asked(run: Run, queue: str = "q") -> Alternatives:
    return what_would_have_kept(run, next(found for found in harms(run) if found.queue == queue))


def of(alternatives: Alternatives, what: str) -> Alternative:
    found = [one for one in alternatives.changed if one.change.what.startswith(what)]
    assert len(found) == 1, [one.change.what for one in alternatives.changed]
    return found[0]


def test_losses_and_outages_are_traced_to_their_step():
    run = story(*UNSYNCHRONISED, {"declare": {"queue": "other", "node": "b"}}, {"kill": "b"})
    found = [(one.queue, one.step, runs.size(one.lost)) for one in harms(run)]
    assert found == [("q", 6, 100), ("other", 8, 0), ("q", 8, 0)]


def test_initial_outage_is_not_traced_to_a_step():
    down = {"nodes": ["a", "b"], "version": "3.10", "down": {"a": "killed"}}
    standing = [{"queue": "q", "master": "a", "messages": 3}]
    assert harms(story({"wait": 1}, cluster=down, queues=standing)) == []


def test_harm_without_a_step_is_left_out(monkeypatch):
    run = story(*UNSYNCHRONISED)
    beginning = run.moment().trace()[0]
    monkeypatch.setattr(harm, "root", lambda trace, entry: replace(beginning, step=-1))
    assert harms(run) == []


@pytest.mark.parametrize(
    ("what", "kept", "state"),
    [
        ("ha-sync-mode: automatic", 100, "running"),
        ("sync_queue, completed before the kill", 100, "running"),
        ("ha-promote-on-failure: when-synced", 100, "down"),
        ("a controlled stop in place of the kill", 100, "down"),
        ("a quorum queue", 100, "minority"),
        ("ha-promote-on-shutdown: always", 0, "running"),
    ],
)
def test_each_change_keeps_the_expected_messages(what, kept, state):
    found = of(asked(story(*UNSYNCHRONISED)), what)
    assert (found.kept, found.result.state) == (kept, state)


def test_changes_are_ordered_by_messages_kept_then_cost():
    alternatives = asked(story(*UNSYNCHRONISED))
    order = [one.change.what.split(":")[0] for one in alternatives.changed]
    assert order[:2] == ["ha-sync-mode", "sync_queue, completed before the kill"]
    assert order[-2:] == ["ha-promote-on-shutdown", "one more mirror"]
    costs = [(one.result.sync_blocked_s, one.result.bytes_replicated) for one in alternatives.changed[:2]]
    assert (0, 0) < costs[0] <= costs[1]


def test_waiting_for_a_synchronisation_delays_timed_steps():
    timed = (*UNSYNCHRONISED[:-1], {"publish": {"queue": "q", "count": 100_000}}, {"kill": "a", "at": 14})
    run = story(*timed, {"publish": {"queue": "q", "count": 1}, "at": 20}, cluster={"timing": {"sync_messages_s": 10}})
    found = of(asked(run), "sync_queue")
    assert found.result.sync_blocked_s > 1000
    assert found.kept == 100
    kill, publish = found.run.steps[-2:]
    assert publish.at - kill.at == pytest.approx(6)
    assert kill.at > 1000


def test_one_more_mirror_is_offered_if_a_node_is_free():
    exactly = (policy(ha_mode="exactly", ha_params=2), declare(), PUBLISH, {"kill": ["a", "b"]})
    run = story(*exactly)
    found = of(asked(run), "one more mirror")
    assert found.change.what == "one more mirror (ha-params: 3)"
    assert (asked(run).as_played.copies, found.result.copies, found.result.state) == (2, 3, "running")
    full = story(*exactly[:-1], {"kill": ["a", "b"]}, nodes="ab")
    assert of(asked(full), "one more mirror").change.impossible == "the cluster has 2 nodes, and each has a replica"
    listed = story(policy(ha_mode="nodes", ha_params=["a", "b"]), *exactly[1:])
    assert of(asked(listed), "one more mirror, on c").result.state == "running"
    everywhere = of(asked(story(*UNSYNCHRONISED)), "one more mirror").change.impossible
    assert everywhere == "with ha-mode all, each node of the cluster has one already"


@pytest.mark.parametrize("given", [(), (policy(max_length=500),)])
def test_unmirrored_queue_gets_a_mirror_by_its_policy_or_a_new_one(given):
    found = of(asked(story(*given, *ALONE)), "a mirror")
    assert (found.result.state, found.result.copies) == ("running", 2)
    assert found.change.where == ("policy p" if given else "a policy for this queue")


def test_initial_queue_has_its_new_replica_from_the_start():
    standing = {"queue": "q", "master": "a", "mirrors": ["b"], "synchronised_mirrors": ["b"], "messages": 7}
    mirrored = {"name": "p", "pattern": "q", "definition": {"ha-mode": "exactly", "ha-params": 2}}
    run = story({"kill": ["a", "b"]}, policies=[mirrored], queues=[standing])
    found = asked(run)
    assert of(found, "one more mirror").result.state == "running"
    quorum = of(found, "a quorum queue")
    assert (quorum.result.state, quorum.result.copies) == ("minority", 3)
    members = {"queue": "q", "type": "quorum", "members": ["a", "b", "c"], "leader": "a", "messages": 7}
    five = of(asked(story({"kill": ["a", "b"]}, nodes="abcde", queues=[members])), "5 members")
    assert (five.result.state, five.result.copies) == ("running", 5)


def test_change_is_made_in_the_policy_that_decides():
    by_operator = {"name": "o", "pattern": "^q", "definition": {"ha-mode": "exactly", "ha-params": 2}}
    steps = ({"set_operator_policy": by_operator}, declare(), PUBLISH, {"kill": ["a", "b"]})
    alternatives = asked(story(policy(max_length=500), *steps, version="3.13"))
    found = of(alternatives, "one more mirror")
    assert (found.change.where, found.result.state) == ("operator policy o", "running")
    assert of(alternatives, "ha-sync-mode").change.where == "policy p"


def test_refused_change_shows_rabbitmqs_text():
    run = story(policy(ha_mode="all"), declare(x_max_priority=3), *UNSYNCHRONISED[2:])
    refused = of(asked(run), "a quorum queue")
    assert (refused.run, refused.result) == (None, None)
    assert "invalid arg 'x-max-priority' for queue 'q'" in refused.change.impossible
    assert asked(run).changed[-1].change.impossible
    five = story(declare(x_queue_type="quorum"), PUBLISH, {"kill": ["a", "b"]})
    assert of(asked(five), "5 members").change.impossible == "the cluster has 3 nodes"


def test_mirroring_is_not_offered_since_4_0():
    found = of(asked(story(*ALONE, version="4.0")), "a mirror")
    assert found.change.impossible


def test_durability_and_persistence_are_offered():
    fleeting = {"publish": {"queue": "q", "count": 5, "persistent": False, "mode": "plain"}}
    run = story(declare(), fleeting, {"stop": "a"}, {"start": "a"})
    assert of(asked(run), "persistent messages").kept == 5
    plain_mode = of(asked(run), "publisher confirms")
    assert (plain_mode.kept, plain_mode.result.lost_confirmed, asked(run).as_played.lost_confirmed) == (0, 5, 0)


def test_other_partition_handling_modes_are_offered():
    cut = (policy(ha_mode="all"), declare(), {"partition": [["a"], ["b", "c"]], "at": 5}, {"wait": 100})
    later = ({"publish": {"queue": "q", "count": 9, "node": "a"}}, {"heal": True}, {"stop": ["a"]}, {"start": ["a"]})
    run = story(*cut, *later)
    named = [one.change.what for one in asked(run).changed if "partition" in one.change.what]
    assert sorted(named) == ["cluster_partition_handling: autoheal", "cluster_partition_handling: pause_minority"]


@pytest.mark.parametrize("file", SCENARIOS[::6], ids=lambda file: file.stem)
def test_every_change_has_a_text_and_the_story_is_unchanged(file):
    run = Run.of(load(file))
    before = plain(run.scenario)
    for found in harms(run):
        alternatives = what_would_have_kept(run, found)
        again = Run.of(read_scenario(before))
        assert result(again, found.queue, found.step) == alternatives.as_played
        assert repr(Table(alternatives)).count("\n") == 1 + len(alternatives.changed)
        for one in alternatives.changed:
            assert (one.result is None) == bool(one.change.impossible)
            assert one.change.document != before
    assert plain(run.scenario) == before


def test_names_are_escaped():
    for name in HOSTILE:
        written = json.dumps(UNSYNCHRONISED).replace('"p"', json.dumps(name)).replace('"q"', json.dumps(name))
        steps = json.loads(written.replace("^q", ".*"))
        shown = table_html(asked(story(*steps), name))
        assert "<script" not in shown and html(name) in shown
        assert "\x1b" not in shown
        assert "\u202e" not in shown


def test_cluster_answers_in_python():
    cluster = Cluster.of(story(*UNSYNCHRONISED).scenario)
    answer = cluster.what_would_have_kept("q")
    assert repr(answer).splitlines()[2].startswith("ha-sync-mode: automatic")
    assert "What would have kept q" in answer._repr_html_()
    assert answer.alternatives.harm.step == 6
    with pytest.raises(ValueError, match=r"to 'q' at steps\[2\] \(the 3rd step\); steps that did harm: steps\[6\]"):
        cluster.what_would_have_kept("q", 2)
    with pytest.raises(ValueError, match="nothing did harm to 'x'"):
        cluster.what_would_have_kept("x")


def test_each_key_lists_rabbitmqs_default_first():
    from hawb.rules.policies import Promote, SyncMode, mirroring

    found = mirroring({"ha-mode": "all"})
    named = {"ha-promote-on-failure": Promote, "ha-promote-on-shutdown": Promote, "ha-sync-mode": SyncMode}
    for key, (default, _) in CHOICES.items():
        enum = named[key]
        assert getattr(found, key.removeprefix("ha-").replace("-", "_")) == enum[default.upper().replace("-", "_")]
