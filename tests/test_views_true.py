"""The views against the engine's own state, over random scenarios: what they say is so, and they always have words."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st
from views_outcomes import policy

from hawb.engine import runs
from hawb.scenario.load import read_scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.views import lanes, ledger, listing, matrix
from hawb.views.copies import copies, published
from hawb.views.story import sentences
from hawb.views.why import nodes_with, why, whys

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


def run_of(steps: list[dict]) -> Run:
    return Run.of(read_scenario({"scenario": "random", "cluster": {"nodes": NODES}, "steps": steps}))


@given(scenarios)
def test_the_nodes_that_a_message_is_said_to_be_on_have_it(steps):
    run = run_of(steps)
    moment, told = run.moment(), outcome(run)
    queue = moment.state.queues.get("q")
    if queue is None or not queue.up:
        return
    for number in {first for first, _ in queue.content} | {last for _, last in queue.content}:
        have = {
            run.settings.names[node]
            for node in (queue.master, *queue.mirrors)
            if moment.state.nodes[node].status == "running" and runs.contains(queue.contents[node] or (), number)
        }
        assert published(told, "q", number) is not None
        assert set(nodes_with(told, "q", number)) == have


@given(scenarios)
def test_every_outcome_can_be_shown_in_every_way(steps):
    run = run_of(steps)
    told, was = outcome(run), outcome(run, run.moment(len(steps) - 1))
    assert listing.report(told)
    assert ledger.html(told, was)
    assert ledger.queues_html(told, was)
    for svg in (matrix.svg(told, was), lanes.svg(told), lanes.svg(told, "q")):
        ElementTree.fromstring(svg)
    assert len(whys(told)) >= len(told["losses"])
    count = told["ledger"]["q"]["published"]
    for number in {1, count} if count else ():
        assert why(told, "q", number)
    indices = [sentence.index for sentence in sentences(told)]
    assert indices == sorted(indices)


@given(scenarios)
def test_every_copy_of_what_a_promotion_lost_is_said_to_have_ended(steps):
    told = outcome(run_of(steps))
    for loss in told["losses"]:
        heir = told["events"][told["events"][loss["event"]]["because"]]
        if loss["cause"] == "unsynchronised_promotion":
            for number in (loss["ids"][0][0], loss["ids"][-1][1]):
                had = copies(told, "q", published(told, "q", number), told["events"].index(heir))
                assert heir["detail"]["was"] in had
                assert None not in had.values()
