"""The story of an outcome: a sentence for each event, combined routine events, and the broker's log lines."""

from __future__ import annotations

import re

import pytest
from views_outcomes import HOSTILE, QUORUM_PARTED, UNSYNCHRONISED, hostile, play, policy, recorded, steps

from hawb.engine.core.trace import CAUSES, EVENTS
from hawb.views.formatting import shown
from hawb.views.story.chronicle import Chronicle
from hawb.views.story.log_lines import log_lines
from hawb.views.story.policies_in_force import PoliciesInForce
from hawb.views.story.sentences import SENTENCES, TONES, VARIED_BY
from hawb.views.story.telling import sentences


def texts(outcome: dict) -> list[str]:
    return [sentence.text for sentence in sentences(outcome)]


def test_every_event_has_a_sentence_and_a_tone():
    assert SENTENCES.keys() == EVENTS.keys()
    assert {tone for tone, _ in SENTENCES.values()} <= set(TONES)


@pytest.mark.parametrize("event", [name for name, (_, text) in SENTENCES.items() if isinstance(text, dict)])
def test_every_listed_reason_has_a_sentence(event):
    variants = set(SENTENCES[event][1])
    field = VARIED_BY.get(event, "reason")
    if event == "messages_lost":
        assert variants == CAUSES.keys()
    elif listed := re.search(rf"\b{field}: ([a-z_, ]+)", EVENTS[event]):
        assert variants == set(listed[1].strip().split(", "))
    else:
        assert variants in ({True, False}, {"none", "first", "same", "other"})


def test_first_election_and_regained_majority_have_no_sentence():
    found = [(s.tone, s.text) for s in sentences(play(QUORUM_PARTED))]
    assert found == [
        ("plain", "Quorum queue q was declared, led by e, with members on a, b, c and 2 more (no policy)."),
        (
            "plain",
            "Messages 1 to 10 were published to q and committed by a majority (a, b, c and 2 more). They were "
            "confirmed at 0.008 s.",
        ),
        ("fault", "From now on, the network passes nothing between a–d, a–e, b–d and 3 more; no node has noticed yet."),
        ("fault", "q no longer commits anything: e leads it and reaches no majority of its members."),
        (
            "fault",
            "No data came over a–d, a–e, b–d and 3 more for a while, so quorum queue members on these nodes consider"
            " each other down.",
        ),
        ("promotion", "c was elected to lead q, in term 2."),
        (
            "plain",
            "Messages 11 to 15 were published to q and committed by a majority (a, b and c). They were confirmed at "
            "75.012 s.",
        ),
        ("fault", "b was killed."),
        ("fault", "q no longer commits anything: c leads it and reaches no majority of its members."),
    ]


def test_regained_majority_and_views_of_one_side_have_sentences():
    parted = texts(play(QUORUM_PARTED + "  - heal: true\n"))
    assert parted[-3] == "q commits again: c leads it and reaches a majority of its members."
    seen = texts(steps(QUORUM, {"partition": [["a", "b"], ["c"]]}, {"wait": 75}))
    assert "As seen by c, q has lost its leader: nothing is committed until a majority has elected another." in seen


def test_elections_of_several_queues_at_once_are_one_sentence():
    others = [{"declare": {**QUORUM["declare"], "queue": name}} for name in ("q1", "q2")]
    result = texts(steps(*others, {"kill": "a"}))
    assert "q1 and q2 have" not in " ".join(result)
    assert sum(text.startswith("q1 and q2") for text in result) == 1


QUORUM = {"declare": {"queue": "q", "node": "a", "arguments": {"x-queue-type": "quorum"}}}


@pytest.mark.parametrize(("version", "machine"), [("3.8", 0), ("3.10", 2), ("3.13", 3), ("4.0", 5)])
def test_an_election_is_logged_by_ra(version, machine):
    lines = [line for line in log_lines(steps(QUORUM, {"kill": "a"}, version=version)) if line is not None]
    about = "queue 'q' in vhost '/': candidate -> leader in term"
    assert lines == [
        f"{about}: 1 machine version: {machine}",
        "rabbit on node a down\nnode a down: connection_closed",
        f"{about}: 2 machine version: {machine}",
    ]


def test_single_message_uses_the_singular():
    result = texts(steps(QUORUM, {"publish": {"queue": "q", "count": 1}}))
    assert re.fullmatch(
        r"Message 1 was published to q and committed by a majority \(a, b and c\). It was confirmed at 0.0\d+ s.",
        result[-1],
    )


def test_undetected_faults_have_no_detection_sentence():
    assert texts(steps({"power_off": "a"}, {"wait": 90}, nodes=("a",)))[-1].startswith("The host of a lost power")


def test_every_cause_has_a_sentence():
    assert SENTENCES["messages_lost"][1].keys() == CAUSES.keys()


def test_story_of_a_loss():
    result = sentences(play(UNSYNCHRONISED))
    assert [(s.t, s.step, s.tone, s.text) for s in result[-4:]] == [
        (7.005626, 7, "fault", "a was killed."),
        (7.005626, 7, "fault", "ha.orders lost the master on a: the node was killed."),
        (
            7.006126, 7, "promotion",
            "b, a mirror that was not synchronised, took over ha.orders from a with 10 messages; "
            "it lacked 100 messages.",
        ),
        (7.006126, 7, "loss", "Messages 1 to 100 of ha.orders were lost: the new master does not have them."),
    ]  # fmt: skip


def test_a_sentence_points_to_its_event():
    result = play(UNSYNCHRONISED)
    loss = next(s for s in sentences(result) if s.tone == "loss")
    assert loss.index == result["losses"][0]["event"]
    assert loss.queues == ("ha.orders",)


def test_confirms_are_combined_with_the_publish():
    said = texts(play(UNSYNCHRONISED))
    assert (
        "Messages 1 to 100 were published to ha.orders and reached a, b and c. They were confirmed at 0.003 s." in said
    )
    assert not any("got a confirm" in text for text in said)


def test_equal_events_of_several_queues_are_one_sentence():
    result = texts(
        steps(
            policy(ha_mode="all"),
            *({"declare": {"queue": queue, "node": "a"}} for queue in ("q1", "q2", "q3")),
            {"kill": "b"},
        )
    )
    assert "q1, q2 and q3 lost the mirror on b: the node went down." in result
    assert sum("mirror on b" in text for text in result) == 1


def test_causes_do_not_change_the_story():
    result = play(UNSYNCHRONISED)
    assert sentences(recorded(result)) == sentences(result)


@pytest.mark.parametrize("name", HOSTILE)
def test_names_contain_no_line_breaks(name):
    result = sentences(hostile(name))
    assert f"{shown(name)} was killed." in [sentence.text for sentence in result]
    for sentence in result:
        assert len(sentence.text.splitlines()) == 1
        assert not re.search("[\x00-\x1f\u202a-\u202e]", sentence.text)


LOGGED = [
    policy(ha_mode="all"),
    {"declare": {"queue": "two.replicas", "node": "a"}},
    {"publish": {"queue": "two.replicas", "count": 5, "node": "a"}},
    {"stop": "b"},
    {"start": "b"},
    {"sync_queue": "two.replicas"},
    {"kill": "a"},
]


@pytest.mark.parametrize(("version", "promoted"), [("3.8", "to master"), ("3.10", "to leader"), ("3.13", "to leader")])
def test_log_lines_are_those_of_the_version(version, promoted):
    result = steps(*LOGGED, nodes=("a", "b"), version=version)
    lines = [line for line in log_lines(result) if line is not None]
    about = "Mirrored queue 'two.replicas' in vhost '/': "
    assert lines == [
        f"{about}Adding mirror on node b: <pid>",
        "RabbitMQ is asked to stop...",
        "rabbit on node b down\nnode b down: connection_closed",
        "Successfully stopped RabbitMQ and its dependencies",
        "Waiting for Mnesia tables for 30000 ms, 9 retries left",
        "node b up\nrabbit on node b up\nrabbit on node a up",
        f"{about}Adding mirror on node b: <pid>",
        f"{about}Synchronising: 5 messages to synchronise\n{about}Synchronising: mirrors [b] to sync",
        f"{about}Synchronising: complete",
        "rabbit on node a down\nnode a down: connection_closed",
        f"{about}Promoting mirror <b> {promoted}",
    ]


def test_a_mirror_that_policy_drops_is_logged_but_not_the_end_of_mirroring():
    declared = {"declare": {"queue": "q", "node": "a"}}
    fewer = steps(policy(ha_mode="all"), declared, policy(ha_mode="exactly", ha_params=2))
    none = steps(policy(ha_mode="all"), declared, {"clear_policy": "p"})
    assert any("Dropping queue mirror on node c" in (line or "") for line in log_lines(fewer))
    assert not any("Dropping" in (line or "") for line in log_lines(none))


def test_end_of_the_last_node_is_not_logged():
    result = steps({"kill": "a"}, nodes=("a",))
    assert "node_down_noticed" in [event["event"] for event in result["events"]]
    assert set(log_lines(result)) == {None}


def test_running_nodes_log_a_starting_node():
    result = steps({"stop": ["c"]}, {"kill": "a"}, {"start": "a"}, {"stop": ["b", "a"]}, {"start": "a"})
    up = [line for line in log_lines(result) if line and " up" in line]
    assert up == ["node a up\nrabbit on node a up\nrabbit on node b up"]


def test_nodes_in_a_minority_log_that_they_pause():
    cluster = "cluster: {nodes: [a, b, c], cluster_partition_handling: pause_minority}\n"
    result = play(f"scenario: x\n{cluster}steps:\n  - partition: [[a], [b, c]]\n  - wait: 90\n")
    lines = "\n".join(line for line in log_lines(result) if line).splitlines()
    assert {"rabbit on node a down", "node a down: net_tick_timeout"} <= set(lines)
    assert lines.count("Cluster minority/secondary status detected - awaiting recovery") == 1


@pytest.mark.parametrize(("alarms", "line"), [(0, "complete"), (1, " synchronisation cancelled ")])
def test_only_a_suspended_synchronisation_is_logged_as_cancelled(alarms, line):
    result = play(
        "scenario: x\ncluster: {nodes: [a, b]}\npolicies: [{name: p, pattern: .*, definition: {ha-mode: all}}]\n"
        "queues: [{queue: q, master: a, mirrors: [b], messages: 30000, size: 4000}]\nsteps:\n"
        + "  - alarm: {node: b, resource: memory}\n" * alarms
        + "  - sync_queue: q\n    at: 1\n  - cancel_sync_queue: q\n    at: 1.01\n"
    )
    assert log_lines(result)[-1] == f"Mirrored queue 'q' in vhost '/': Synchronising: {line}"


def test_policies_in_force_follow_the_events():
    result = steps(
        {"declare": {"queue": "q"}},
        policy(ha_mode="all"),
        policy(ha_mode="exactly", ha_params=2),
        {"clear_policy": "p"},
        policy(ha_mode="all"),
        {"declare": {"queue": "late"}},
        {"delete": {"queue": "late"}},
    )
    in_force, last = PoliciesInForce(Chronicle(result)), len(result["events"]) - 1
    applied = [index for index, event in enumerate(result["events"]) if event["event"] == "policy_applied"]
    modes = [(in_force.definition("q", index) or {}).get("ha-mode") for index in (0, *applied)]
    assert modes == [None, "all", "exactly", None, "all"]
    assert in_force.name("late", last) == "p"


def test_stopped_mirrors_are_logged():
    result = steps(
        policy(ha_mode="all"),
        {"declare": {"queue": "q", "node": "a"}},
        {"publish": {"queue": "q", "count": 5, "node": "a"}},
        {"stop": "b"},
        {"start": "b"},
        {"stop": "a"},
        nodes=("a", "b"),
    )
    line = "Mirrored queue 'q' in vhost '/': Stopping all nodes on master shutdown since no synchronised mirror "
    assert f"{line}(replica) is available" in log_lines(result)
