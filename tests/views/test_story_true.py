"""Views compared with the engine's state over random scenarios."""

from __future__ import annotations

from xml.etree import ElementTree

from conftest import LONG
from hypothesis import example, given, settings
from hypothesis import strategies as st
from views_outcomes import policy

from hawb.engine.core import runs
from hawb.raft.log import Log
from hawb.raft.member import LEADER
from hawb.scenario.load import read_scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.views.cluster import ledger, matrix, queue_table, raft
from hawb.views.story import lanes, run_report
from hawb.views.story.chronicle import Chronicle
from hawb.views.story.copies import copies, published
from hawb.views.story.roles import roles
from hawb.views.story.telling import sentences
from hawb.views.story.why import nodes_with, why, whys

NODES = ["a", "b", "c"]
nodes = st.sampled_from(NODES)
keys = st.sampled_from(["always", "when-synced"])
policies = st.builds(
    lambda mode, sync, shutdown, failure: policy(
        **mode, ha_sync_mode=sync, ha_promote_on_shutdown=shutdown, ha_promote_on_failure=failure
    ),
    st.sampled_from([{"ha_mode": "all"}, {"ha_mode": "exactly", "ha_params": 2}]),
    st.sampled_from(["manual", "automatic"]),
    keys,
    keys,
)
one_step = st.one_of(
    policies,
    st.just({"clear_policy": "p"}),
    nodes.map(lambda node: {"declare": {"queue": "q", "node": node}}),
    st.builds(
        lambda count, persistent: {"publish": {"queue": "q", "count": count, "persistent": persistent}},
        st.sampled_from([1, 5, 100_000]),
        st.booleans(),
    ),
    nodes.map(lambda node: {"stop": node}),
    nodes.map(lambda node: {"kill": node}),
    nodes.map(lambda node: {"start": node}),
    st.sampled_from([0.001, 1, 6]).map(lambda seconds: {"wait": seconds}),
    st.just({"sync_queue": "q"}),
    st.just({"consume": {"consumer": "c1", "queue": "q", "prefetch": 3}}),
    st.just({"ack": {"consumer": "c1"}}),
    st.just({"purge": "q"}),
)
scenarios = st.builds(
    lambda first, more: [first, {"declare": {"queue": "q", "node": "a"}}, *more],
    policies,
    st.lists(one_step, max_size=14),
)


QUORUM_QUEUE = {"declare": {"queue": "q", "node": "a", "arguments": {"x-queue-type": "quorum"}}}
partitions = st.sampled_from([[["a"], ["b", "c"]], [["a", "b"], ["c"]], [["a", "c"], ["b"]]])
quorum_step = st.one_of(
    nodes.map(lambda node: {"publish": {"queue": "q", "count": 5, "node": node}}),
    st.sampled_from([1, 100_000]).map(lambda count: {"publish": {"queue": "q", "count": count}}),
    *(nodes.map(lambda node, verb=verb: {verb: node}) for verb in ("stop", "kill", "start", "drain", "revive")),
    partitions.map(lambda groups: {"partition": groups}),
    st.just({"heal": True}),
    st.sampled_from([0.001, 1, 6, 75]).map(lambda seconds: {"wait": seconds}),
    st.just({"consume": {"consumer": "c1", "queue": "q", "prefetch": 3}}),
    st.just({"ack": {"consumer": "c1"}}),
    st.just({"nack": {"consumer": "c1"}}),
    *(
        nodes.map(lambda node, verb=verb: {verb: {"queue": "q", "node": node}})
        for verb in ("add_member", "delete_member", "transfer_leadership")
    ),
    st.just({"purge": "q"}),
)
quorum_scenarios = st.lists(quorum_step, max_size=14).map(lambda more: [QUORUM_QUEUE, *more])


def run_of(steps: list[dict]) -> Run:
    return Run.of(read_scenario({"scenario": "random", "cluster": {"nodes": NODES}, "steps": steps}))


few = settings(max_examples=500 if LONG else 100)
"""Stories of quorum queues take longer: at the end of a long run five thousand of them took over ten minutes."""


@given(scenarios)
def test_nodes_named_for_a_message_hold_it(steps):
    run = run_of(steps)
    moment, result = run.moment(), outcome(run)
    queue = moment.state.queues.get("q")
    if queue is None or not queue.up:
        return
    for number in {first for first, _ in queue.content} | {last for _, last in queue.content}:
        have = {
            run.settings.names[node]
            for node in (queue.master, *queue.mirrors)
            if moment.state.nodes[node].status == "running" and runs.contains(queue.contents[node] or (), number)
        }
        assert published(Chronicle(result), "q", number) is not None
        assert set(nodes_with(Chronicle(result), "q", number)) == have


@few
@given(quorum_scenarios)
def test_members_named_for_a_message_have_it_in_their_logs(steps):
    run = run_of(steps)
    state, result = run.moment().state, outcome(run)
    queue, names = state.queues["q"], run.settings.names
    for number in {first for first, _ in queue.content} | {last for _, last in queue.content}:
        if not runs.contains(queue.pending, number):
            with_it = nodes_with(Chronicle(result), "q", number)
            assert set(with_it) <= {names[node] for node in queue.members}
            for node in map(names.index, with_it):
                assert has_logged(state.groups["q"].members[node].log, number)


def has_logged(log: Log, number: int) -> bool:
    """Return True if a log or its snapshot has the entry that publishes the message."""
    commands = [run.command for run in log.runs]
    return log.snapshot.index > 0 or any(runs.contains(getattr(one, "numbers", ()), number) for one in commands)


@few
@given(quorum_scenarios)
@example([QUORUM_QUEUE, {"drain": "c"}, {"stop": "a"}, {"revive": "c"}])
@example([QUORUM_QUEUE, {"partition": [["a"], ["b", "c"]]}, {"purge": "q"}, {"drain": "a"}])
def test_lanes_end_with_the_roles_of_the_members(steps):
    run = run_of(steps)
    state, result = run.moment().state, outcome(run)
    group, ends = state.groups["q"], roles(result, "q")
    for node in state.queues["q"].members:  # one that was removed may not know it yet
        name, member = run.settings.names[node], group.members.get(node)
        living = member is not None and state.nodes[node].status == "running" and not group.stopped >> node & 1
        role = ends[name][-1][1].replace("leader_alone", "leader")
        assert role == ("none" if not living else "follower" if member.role != LEADER else "leader")


@few
@given(st.one_of(scenarios, quorum_scenarios))
def test_every_outcome_has_every_view(steps):
    run = run_of(steps)
    result, was = outcome(run), outcome(run, run.moment(len(steps) - 1))
    assert run_report.report(result)
    assert ledger.html(result, was)
    assert queue_table.html(result, was)
    for svg in (matrix.svg(result, was), lanes.svg(result), lanes.svg(result, "q")):
        ElementTree.fromstring(svg)
    if "q" in run.moment().state.groups:
        ElementTree.fromstring(f"<div>{raft.html(run.moment().state, run.settings.names, 'q')}</div>")
        assert raft.text(run.moment().state, run.settings.names, "q")
    assert len(whys(result)) >= len(result["losses"])
    count = result["ledger"]["q"]["published"]
    for number in {1, count} if count else ():
        assert why(result, "q", number)
    indices = [sentence.index for sentence in sentences(result)]
    assert indices == sorted(indices)


@given(scenarios)
def test_explanation_of_a_promotion_loss_names_the_end_of_each_copy(steps):
    result = outcome(run_of(steps))
    for loss in result["losses"]:
        chosen = result["events"][result["events"][loss["event"]]["because"]]
        if loss["cause"] == "unsynchronised_promotion":
            for number in (loss["ids"][0][0], loss["ids"][-1][1]):
                chronicle = Chronicle(result)
                had = copies(chronicle, "q", published(chronicle, "q", number), result["events"].index(chosen))
                assert chosen["detail"]["was"] in had
                assert None not in had.values()
