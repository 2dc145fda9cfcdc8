"""Remedies for unavailable queues. Each is simulated before it is advised."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from counted_work import growth, lines_run
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import of_the_day

from hawb.planning.out_of_use import METADATA, out_of_use
from hawb.planning.remedies import improved, lost, remedies, short, standing
from hawb.planning.safe_to_stop import harm, outlook
from hawb.scenario.load import load, read_scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.views.verdicts.run import verdict

QUORUM, STREAM = {"x-queue-type": "quorum"}, {"x-queue-type": "stream"}
SCENARIOS = Path(__file__).parents[2] / "data" / "scenarios"
WORSE = ("yes", "unknown", "no")
WHEN_SYNCED = {"ha-mode": "all", "ha-sync-mode": "manual", "ha-promote-on-failure": "when-synced"}


def played(*steps: dict, version: str = "4.0", nodes: str = "abc", **more: object) -> Run:
    cluster = {"nodes": list(nodes), "version": version} | more.pop("cluster", {})
    return Run.of(read_scenario({"scenario": "x", "cluster": cluster, "steps": list(steps)} | more))


def declared(queue: str, arguments: dict | None = None, node: str = "a", **more: object) -> dict:
    return {"declare": {"queue": queue, "node": node, "arguments": arguments or {}} | more}


def kinds(run: Run) -> list[tuple]:
    return [(one.kind, one.nodes, one.queues) for one in remedies(run, alone=short(run))]


def test_work_to_propose_members_grows_linearly():
    def work(queues: int) -> Counter[str]:
        alone = QUORUM | {"x-quorum-initial-group-size": 1}
        run = played(*(declared(f"q{number:02}", alone) for number in range(queues)))
        found: list[tuple] = []
        lines = lines_run(lambda: found.extend(kinds(run)))
        assert found == [("add_member", ("b", "c"), tuple(f"q{number:02}" for number in range(queues)))]
        return lines

    work(2)  # what is kept once is no work
    assert growth(work, 3)["planning"] < 1.1


def test_unsynchronisable_queues_are_not_tried_one_by_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(f"{remedies.__module__}.MOST_TRIED", 1)

    def work(queues: int) -> Counter[str]:
        full = [{"queue": f"q{number}", "master": "a", "mirrors": ["b"], "synchronised_mirrors": [], "messages": 9}
                for number in range(queues)]  # fmt: skip
        run = played({"alarm": {"node": "b", "resource": "memory"}}, queues=full, nodes="ab", **MIRRORED)
        return lines_run(lambda: remedies(run, partial(harm, nodes=None)))

    work(2)  # what is kept once is no work
    assert growth(work, 3)["engine"] < 1.1


MIRRORED = {"policies": [{"name": "ha", "pattern": "^q", "definition": WHEN_SYNCED}], "version": "3.10"}


@pytest.mark.parametrize(
    ("run", "reason", "down", "remedy"),
    [
        (played(declared("q", QUORUM), {"kill": ["b", "c"]}), "no_majority", ("b", "c"), ("start_one", ("b", "c"))),
        (played(declared("q", STREAM), {"kill": ["b", "c"]}, version="3.13"), "no_majority", ("b", "c"),
         ("start_one", ("b", "c"))),
        (played(declared("q", node="b"), {"stop": "b"}), "node_down", ("b",), ("start", ("b",))),
        (played(declared("q"), {"publish": {"queue": "q", "count": 3}}, {"stop": "b"}, {"start": "b"}, {"kill": "a"},
                nodes="ab", **MIRRORED), "master_awaited", ("a",), ("start", ("a",))),
        (played(declared("q", QUORUM | {"x-quorum-initial-group-size": 5}), {"kill": ["b", "c", "d", "e"]},
                nodes="abcde"), "no_majority", ("b", "c", "d", "e"), ("start", ("d", "e"))),
    ],
)  # fmt: skip
def test_unavailable_queue_names_the_nodes_to_start(run: Run, reason: str, down: tuple, remedy: tuple):
    [out] = out_of_use(run)
    assert (out.queue, out.reason, out.down) == ("q", reason, down)
    [first, *_] = kinds(run)
    assert first[:2] == remedy and first[2] == ("q",)


def test_metadata_store_without_a_majority_is_unavailable():
    run = played({"kill": ["a", "b"]}, version="4.3")
    assert [(one.queue, one.reason, one.down) for one in out_of_use(run)] == [(METADATA, "no_majority", ("a", "b"))]
    assert kinds(run) == [("start_one", ("a", "b"), (METADATA,))]


def test_complete_cluster_needs_no_remedy():
    run = played(declared("q", QUORUM), declared("s", STREAM), declared("p"), version="4.3")
    assert (out_of_use(run), kinds(run)) == ((), [])


def test_restart_is_advised_for_the_node_of_a_crashed_queue():
    crashes = [{"crash": {"queue": "q", "node": "a"}}] * 6
    run = played(declared("q"), *crashes, version="3.10")
    [remedy] = remedies(run)
    assert remedy.kind == "restart" and remedy.steps == ({"stop": ["a"]}, {"start": ["a"]})
    assert out_of_use(improved(run, remedy.steps)) == ()


GHOST = {"cluster": {"down": {"c": "forgotten"}}}


def ghost(members: str, nodes: str, version: str, kind: str = "quorum") -> Run:
    return played(nodes=nodes, version=version, **GHOST,
                  queues=[{"queue": "q", "type": kind, "members": list(members), "leader": "a"}])  # fmt: skip


@pytest.mark.parametrize("version", ["3.8", "3.13", "4.0", "4.3"])
def test_member_on_a_former_node_is_deleted_before_another_is_added(version: str):
    run = ghost("abc", "abcd", version)
    [remedy] = remedies(run, alone=short(run))
    assert remedy.steps == (
        {"delete_member": {"queue": "q", "node": "c"}}, {"add_member": {"queue": "q", "node": "d"}},
    )  # fmt: skip
    assert improved(run, remedy.steps[1:]) is None  # four members, three of which run, outlive no node
    assert short(improved(run, remedy.steps)) == []


def test_stream_replica_on_a_former_node_is_deleted_if_the_release_can():
    assert [one[0] for one in kinds(ghost("abc", "abcd", "4.0", "stream"))] == ["replace"]
    assert [one[0] for one in kinds(ghost("abc", "abcd", "3.10", "stream"))] == ["rejoin"]


@pytest.mark.parametrize(("version", "waits"), [("3.8", False), ("3.10", False), ("4.0", False), ("4.3", True)])
def test_forgotten_node_is_reset_and_joined_again(version: str, waits: bool):
    run = played(declared("q", QUORUM), {"stop": "c"}, {"forget_cluster_node": {"node": "c", "from": "a"}},
                 {"start": "c"}, version=version)  # fmt: skip
    assert improved(run, [{"start": "c"}]) is None
    [remedy] = remedies(run)
    kept = [{"delete_member": {"queue": "q", "node": "c"}}] if version == "3.8" else []  # later ones do it themselves
    again = [*kept, *([{"kill": "c"}] if waits else []), {"reset": "c"}, {"join": "c"}]
    assert remedy.kind == "rejoin" and [*remedy.steps[: len(again)]] == again
    assert short(improved(run, remedy.steps)) == []


def test_useless_remedy_is_not_advised():
    one_node = played(declared("q", QUORUM), nodes="a")
    assert kinds(one_node) == []
    two = ghost("abc", "abc", "3.13")
    assert not any(kind == "replace" for kind, *_ in kinds(two))


@pytest.mark.parametrize("nth", [0, *of_the_day(range(1, 8), 3, pytest.mark.full)])
def test_each_remedy_improves_the_end_of_a_scenario(nth: int):
    """By `standing`: no message more is lost, then fewer queues are out of use, sides of a partition, or replicas that
    lack. The answer of `hawb run` is not worse than before, where RabbitMQ takes all of it without an error."""
    for file in sorted(SCENARIOS.glob("*.yaml"))[nth::8]:
        there = run = Run.of(load(file))
        for remedy in remedies(run):
            ahead = improved(there, remedy.steps)
            assert ahead is not None and lost(ahead) == lost(there), (file.name, remedy)
            there = ahead
        answers = [verdict(outcome(one)).answer for one in (run, there)]
        refused = len(there.moment().refusals) > len(run.moment().refusals)
        assert refused or WORSE.index(answers[1]) <= WORSE.index(answers[0]), (file.name, answers)


@st.composite
def clusters(draw: st.DrawFn) -> Run:
    nodes = list("abcde"[: draw(st.integers(2, 5))])
    how = st.sampled_from(["running", "running", "stopped", "killed", "forgotten"])
    states = {node: draw(how) for node in nodes[1:]}
    queues = []
    for number in range(draw(st.integers(1, 3))):
        chosen = draw(st.permutations(nodes))[: draw(st.integers(1, len(nodes)))]
        kind = draw(st.sampled_from(["classic", "quorum", "stream"]))
        place = {"master": chosen[0]} if kind == "classic" else {"members": chosen, "leader": chosen[0]}
        queues.append({"queue": f"q{number}", "type": kind, "messages": draw(st.integers(0, 3))} | place)
    down = {node: state for node, state in states.items() if state != "running"}
    return played(nodes="".join(nodes), version=draw(st.sampled_from(["3.10", "4.0", "4.3"])),
                  cluster={"down": down}, queues=queues)  # fmt: skip


@settings(max_examples=60)
@given(clusters())
def test_each_remedy_improves_the_cluster_without_further_loss(run: Run):
    for measure, found in (
        (standing, remedies(run, alone=short(run))),
        (lambda run: harm(run, None), outlook(run.scenario)[1].remedies),
    ):
        there = run
        for remedy in found:
            ahead = improved(there, remedy.steps, measure)
            assert ahead is not None and measure(ahead)[:2] <= measure(there)[:2]
            there = ahead
