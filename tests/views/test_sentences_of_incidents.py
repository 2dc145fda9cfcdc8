"""Incidents in sentences: real clusters, and events that are combined into one sentence."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

import pytest
from counted_work import growth, lines_run
from incidents import LOGS, SOME
from kept_logs import title

from hawb.incident.cluster_event import KINDS, ClusterEvent
from hawb.incident.cluster_events import cluster_events
from hawb.incident.events import Event
from hawb.incident.reading import read_logs
from hawb.views.incident.figure import SHAPES
from hawb.views.incident.names import Names, names
from hawb.views.incident.sentences import ENDANGERED, LATER, LOST, NEEDLESS, STOPPED, WORDS, Sentence, sentences, sides

SECOND = 1_000_000
PLAIN = Names({}, {})


def sentences_of(story) -> tuple[list[Sentence], Names]:
    reading = read_logs([story])
    called = names({event.node for event in reading.events}, [file.file for file in reading.files])
    return sentences(cluster_events(reading.events, reading.clocks), called), called


@pytest.mark.parametrize("story", SOME, ids=title)
def test_sentences_have_log_lines_and_are_ordered_by_time(story):
    found, _ = sentences_of(story)
    assert [one.number for one in found] == [*range(1, len(found) + 1)]
    assert all(one.at_us <= other.at_us for one, other in pairwise(found))
    for one in found:
        assert one.events
        assert re.fullmatch(r"\S.*\w\)?\.", one.text), one.text
        assert not re.search(r"[{}]|None|  ", one.text), one.text


def test_a_stop_in_which_five_queues_are_promoted():
    found, called = sentences_of(LOGS / "3.10" / "promotion-table-stop")
    texts = [one.text for one in found]
    assert texts[3:7] == [
        "n1 was asked to stop.",
        "default.behind and failure-when-synced.behind went down with their masters on n1: no mirror was synchronised.",
        "n2 took over 5 queues (failure-when-synced.synced, shutdown-always.synced, both.synced and 2 more):"
        " its mirrors became masters.",
        "n1 booted again, which took 4.1 s.",
    ]
    assert [called.line(event) for event in found[3].events][:1] == ["a.log.gz:157"]
    assert len(found[5].events) == 5


def test_a_partition_that_autoheal_ends():
    found, _ = sentences_of(LOGS / "3.10" / "partition-autoheal")
    assert [one.text for one in found][3:9] == [
        "n1 on one side and n2 and n3 on the other did not see each other for 13 s.",
        "n2 took over orders: its mirror became the master.",
        "n1 on one side and n2 and n3 on the other saw each other again.",
        "Autoheal chose: n3 won, and n2 had to restart.",
        "Autoheal restarted n2.",
        "n3 took over orders: its mirror became the master.",
    ]


def test_every_kind_of_event_has_a_sentence_and_a_mark():
    without_words = {"mirrors_missed"}
    assert {*WORDS} - {LATER, NEEDLESS, STOPPED, LOST, ENDANGERED} == {*KINDS} - without_words
    assert {words.look for words in WORDS.values()} <= {*SHAPES}
    for kind in KINDS.keys() - without_words:
        one = happened(0, kind, node="a", nodes=("b",), queue="q", name="memory", reason="noproc", term=2, count=3,
                       pairs=(("a", "b"),))  # fmt: skip
        [found] = sentences([one], PLAIN)
        others = ("rebalanced", "autoheal_refused", "clusters_apart")
        assert re.search(r"\b(a|q|memory)\b", found.text) or kind in others, found.text


def happened(at_s: float, kind: str, **fields) -> ClusterEvent:
    event = Event(at_us=round(at_s * SECOND), node=fields.get("node") or "a", kind="node_up", file="a.log", line=7)
    return ClusterEvent(kind=kind, at_us=round(at_s * SECOND), events=(event,), **fields)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        # the same within moments
        ([happened(1, "node_killed", node="a"), happened(2, "node_killed", node="b")],
         ["a and b ended without a shutdown: killed, crashed, or without power."]),
        # the same, a minute later
        ([happened(1, "node_killed", node="a"), happened(61, "node_killed", node="b")],
         ["a ended without a shutdown: killed, crashed, or without power.",
          "b ended without a shutdown: killed, crashed, or without power."]),
        # what prepares is told together until something happens
        ([happened(1, "mirror_added", node="b", queue="q"), happened(60, "mirror_added", node="b", queue="r"),
          happened(70, "node_stopped", node="b"), happened(71, "mirror_added", node="c", queue="q")],
         ["q and r got mirrors on b, the last at 00:01:00.", "b was asked to stop.", "q got a mirror on c."]),
        # the same queues on several nodes, and other queues
        ([happened(1, "mirror_added", node="b", queue="q"), happened(1, "mirror_added", node="c", queue="q"),
          happened(2, "mirror_added", node="d", queue="r")], ["q got mirrors on b and c.", "r got a mirror on d."]),
        # who had gone comes back
        ([happened(1, "node_started", node="a", until_us=3 * SECOND, name="3.13.7"),
          happened(9, "node_killed", node="a"),
          happened(20, "node_started", node="a", until_us=22 * SECOND, name="3.13.7")],
         ["a booted RabbitMQ 3.13.7.", "a ended without a shutdown: killed, crashed, or without power.",
          "a booted again, which took 2.0 s."]),
        # a queue's first leader is told as it is declared
        ([happened(1, "leader_elected", node="a", queue="q", term=1),
          happened(1.1, "queue_declared", node="a", queue="q")],
         ["q was declared, led by a."]),
        # again and again
        ([happened(at, "queue_restarted", node="a", queue="q") for at in (1, 5, 9)],
         ["The process of q on a crashed and was restarted, 3 times, the last at 00:00:09."]),
        ([happened(1, "synchronisation", node="a", nodes=("b", "c"), queue="q", count=1200, until_us=3 * SECOND,
                   reason="done")],
         ["q: mirrors on b and c were sent 1,200 messages in 2.0 s, and are synchronised."]),
        ([happened(1, "synchronisation", node="a", nodes=("b",), queue=queue, count=count, reason=reason,
                   until_us=3 * SECOND)
          for queue, count, reason in (("q", 7, "done"), ("r", 8, "done"), ("s", 9, "needless"))],
         ["q and r: mirrors on b were sent 15 messages in 2.0 s, and are synchronised.",
          "s: no mirror needed a synchronisation."]),
        ([happened(1, "synchronisation", node="a", nodes=("b",), queue="q", count=1200, reason="cancelled")],
         ["q: the synchronisation of 1,200 messages with the mirror on b ended before it was done (cancelled)."]),
        ([happened(1, "queue_shrunk", node="a")], ["Every quorum queue was shrunk by force to the member on a."]),
    ],
)  # fmt: skip
def test_related_events_are_one_sentence(found, expected):
    assert [one.text for one in sentences(found, PLAIN)] == expected


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([("a", "b"), ("a", "c")], [("a",), ("b", "c")]),
        ([("a", "b")], [("a",), ("b",)]),
        ([("a", "b"), ("a", "c"), ("b", "c")], [("a",), ("b",), ("c",)]),
    ],
)
def test_sides_are_nodes_that_see_the_same_nodes_down(pairs, expected):
    assert sides(pairs) == expected


@pytest.mark.parametrize(
    ("nodes", "called"),
    [
        (["rabbit@mq1.example", "rabbit@mq2.example"], ["mq1", "mq2"]),
        (["n1@10.0.0.1", "n2@10.0.0.2"], ["n1", "n2"]),
        (["rabbit@10.0.0.1", "rabbit@10.0.0.2"], ["10.0.0.1", "10.0.0.2"]),
        (["a", "rabbit@b"], ["a", "rabbit@b"]),
        (["rabbit@mq1"], ["mq1"]),
    ],
)
def test_nodes_have_the_shortest_distinct_names(nodes, called):
    found = names(nodes, [])
    assert [found.node(node) for node in nodes] == called
    assert found.text(f"{nodes[0]} is down") == f"{called[0]} is down"


def test_files_of_one_name_are_shown_with_their_folders():
    found = names([], ["x/a/rabbit.log", "x/b/rabbit.log"])
    assert found.line(Event(at_us=0, node="a", kind="node_up", file="x/b/rabbit.log", line=9)) == "b/rabbit.log:9"


def test_queues_of_a_node_are_sorted_once_for_a_sentence():
    compared = Counter[str]()

    class Name(str):
        __slots__ = ()

        def __lt__(self, other: str) -> bool:
            compared["names"] += 1
            return super().__lt__(other)

    count = 300
    lost = [ClusterEvent(kind="queue_unavailable", at_us=at, node="a", queue=Name(f"q{at}")) for at in range(count)]
    (sentence,) = sentences(lost, PLAIN)
    assert len(sentence.queues) == count
    assert compared["names"] <= 4 * count


def test_work_for_first_elections_grows_with_the_queues():
    def work(size: int) -> Counter[str]:
        kinds = ("queue_declared", "leader_elected")
        found = [ClusterEvent(kind=kind, at_us=at, node="a", queue=f"q{at}") for at in range(size) for kind in kinds]
        return lines_run(lambda: sentences(found, PLAIN))

    assert growth(work, 50)["views"] < 1.1
