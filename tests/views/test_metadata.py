"""The metadata store as a sentence and as a Raft group."""

from __future__ import annotations

from pathlib import Path

from hawb.cluster import Cluster
from hawb.engine.raft_groups.group import STORE
from hawb.views.cluster import matrix, metadata, raft
from hawb.views.story.run_report import report

DATA = Path(__file__).parents[2] / "data" / "scenarios"


def test_sentence_names_the_leader_and_the_writable_nodes():
    cluster = Cluster("a", "b", "c", version="4.3")
    text = "Metadata can be changed from a, b and c: a leads the store, in term 2."
    assert metadata.text(cluster.outcome) == text
    assert text in report(cluster.outcome)
    assert text in cluster._repr_html_()
    cluster.partition(["a"], ["b", "c"]).wait(10)
    assert metadata.text(cluster.outcome).startswith("Metadata can be changed from b and c: ")


def test_minority_is_read_only():
    cluster = Cluster("a", "b", "c", version="4.3").stop("b").stop("c")
    text = "Metadata can be read but not changed: the store has no leader with a majority."
    assert metadata.text(cluster.outcome) == text


def test_metadata_store_has_a_row():
    cluster = Cluster("a", "b", "c", version="4.3").declare("q", node="a")
    assert matrix.text(cluster.outcome).splitlines()[1:2] == [
        "metadata (running, 3 of 3 members online): a ⬢ leader in term 2; b ● follower; c ● follower"
    ]
    cluster.kill("b").kill("c")
    (row, *_) = matrix.rows(cluster.outcome)
    assert (row.state, row.online, [row.now[node].role for node in "bc"]) == ("minority", "1/3", ["down", "down"])
    assert matrix.rows(Cluster("a", "b").outcome) == []


def test_each_side_of_a_partition_has_its_own_store():
    cluster = Cluster("a", "b", "c", version="4.3").partition(["a"], ["b", "c"]).wait(100)
    rows = {row.side: row for row in matrix.rows(cluster.outcome)}
    assert {side: (row.state, row.online) for side, row in rows.items()} == {
        ("a",): ("minority", "1/3"), ("b", "c"): ("running", "2/3"),
    }  # fmt: skip
    assert [rows["b", "c"].now[node].role for node in "bc"].count("leader") == 1


def test_cluster_with_mnesia_has_no_store():
    assert metadata.text(Cluster("a", "b", version="4.0").outcome) == metadata.html(Cluster("a", "b").outcome) == ""


def test_log_shows_members_that_are_down():
    cluster = Cluster("a", "b", "c", version="4.3").stop("b").stop("c").stop("a").start("b")
    drawn = raft.text(cluster.run.moment().state, cluster.run.settings.names, STORE)
    assert "b" in drawn and drawn.count("down") == 2


def test_story_has_sentences_about_the_store():
    cluster = Cluster("a", "b", "c", version="4.3").partition(["a"], ["b", "c"]).wait(100)
    story = cluster.story()
    assert "Metadata can be written: c leads and has a majority." in story
    assert "As seen by a, metadata can be read but not written:" in story
    cluster.set_policy("p", "^x", {"max-length": 3}).wait(40)
    assert cluster.errors[0]["text"].endswith("minority.")
    assert cluster.story().endswith("Khepri cluster could be in minority.")
