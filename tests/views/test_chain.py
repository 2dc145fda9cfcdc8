"""Test chains of causes: short, each cause before its effects, each link about existing nodes and queues."""

from __future__ import annotations

from functools import cache

import pytest
from browser_pages import ROOT

from hawb.cluster import Cluster
from hawb.scenario.load import load
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.views.story.chain import MOST
from hawb.views.story.summary import chains, reasons

STORIES = ROOT / "data" / "scenarios"


@cache
def played(name: str) -> dict:
    """Return the outcome of a story."""
    return outcome(Run.of(load(STORIES / f"{name}.yaml")))


def texts(result: dict, number: int = 0) -> list[str]:
    """Return the texts of a chain."""
    return [link.text for link in chains(result)[number]]


def test_chain_of_a_promotion_starts_at_the_publish():
    assert texts(played("quorum-and-mirrored-unsynchronised")) == [
        "100 messages published", "b was stopped", "b joined empty",
        "not synchronised: ha-sync-mode is manual (its default)", "c was stopped", "a was killed",
        "b took over without 100 messages",
    ]  # fmt: skip


def test_interrupted_synchronisation_replaces_the_setting():
    assert texts(played("sync-cut-off-by-the-masters-death"), 1)[1:] == [
        "a synchronisation blocks ha.orders", "a was killed", "the synchronisation ended before it was done",
        "b took over without 10 messages",
    ]  # fmt: skip


def test_chain_of_a_partition_starts_at_the_cut():
    assert texts(played("partition-two-masters")) == [
        "links were cut", "5 messages published", "a was stopped", "a boots", "a discards its metadata",
        "5 messages lost",
    ]  # fmt: skip
    cut, published, *_ = chains(played("partition-two-masters"))[0]
    assert (set(cut.nodes), cut.queue) == ({"a", "b", "c"}, None)
    assert published.nodes == ("a",)


def test_queue_without_majority_lists_its_stopped_members():
    cluster = Cluster("a", "b", "c", version="4.0").declare("q", node="a", arguments={"x-queue-type": "quorum"})
    cluster.kill("b").kill("c")
    assert texts(cluster.outcome) == ["b was killed", "c was killed", "q commits nothing"]


def test_last_step_has_a_chain_if_nothing_is_lost():
    cluster = Cluster("a", "b").set_policy("ha", "", {"ha-mode": "all"}).declare("q", node="a").kill("a")
    assert texts(cluster.outcome) == ["a was killed", "b took over"]
    assert chains(cluster.start("a").outcome) == chains(Cluster("a").outcome) == []


@pytest.mark.parametrize("name", [
    "refusal-ends-with-its-node", "quorum-majority-of-disks-lost", "promotion-table-stop", "crash-of-a-process",
])  # fmt: skip
def test_chains_are_short_ordered_and_about_their_paragraph(name: str):
    result = played(name)
    assert len(chains(result)) <= len(reasons(result))
    for links, paragraph in zip(chains(result), reasons(result), strict=False):
        assert 2 <= len(links) <= MOST
        assert [link.t for link in links] == sorted(link.t for link in links)
        assert {node for link in links for node in link.nodes} <= set(result["nodes"])
        assert links[-1].queue in paragraph
        assert links[-1].text.endswith(" lost") or " took over without " in links[-1].text
