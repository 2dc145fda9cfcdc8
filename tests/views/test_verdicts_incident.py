"""The verdict on an incident: no, cannot tell, yes."""

from __future__ import annotations

import pytest
from incidents import AUTOHEAL, certain, incident, kept, possible, with_losses
from msgspec.structs import replace

from hawb.engine.core.trace import CAUSES
from hawb.incident.asked import Asked
from hawb.incident.cluster_event import ClusterEvent
from hawb.incident.losses import APART
from hawb.views.incident.incident_report import account
from hawb.views.incident.lost_messages import PASSIVE, because
from hawb.views.incident.names import Names
from hawb.views.verdicts.incident import todo, verdict

PLAIN = Names({}, {})
GIVEN_TO_SIDES = "3.10/wide-partition-pause-if-all-down"
GIVEN_UP = "the partition that had them was discarded"


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ((certain(), kept()), f"No: 7 messages of orders are lost: {GIVEN_UP}."),
        ((certain(count=1, cause="unsynchronised_promotion"),),
         "No: 1 message of orders is lost: a mirror that lacked it took over."),
        ((certain("b", 3, "disk_lost"), certain("a", 4, "node_reset")), "No: 7 messages of b and a are lost."),
        ((certain(), possible()),
         f"No: 7 messages of orders are lost: {GIVEN_UP}. Possibly lost: messages of orders that came in from"
         " 09:00:00 to 09:00:09 at n2 or n3."),
        ((possible(), kept()),
         "Cannot tell: messages of orders that came in from 09:00:00 to 09:00:09 at n2 or n3 are lost, if there were"
         " any."),
        ((possible(listed=40, from_s=-3600),),
         "No: 40 known messages of orders, and messages that came in by 08:00:09 at n2 or n3 are lost,"
         " unless clients had taken them by then."),
        ((possible("a"), possible("b"), possible("c", from_s=60)),
         "Cannot tell: messages of a and b that came in from 09:00:00 to 09:00:09 at n2 or n3, or in 1 other period,"
         " are lost, if there were any."),
        ((possible("a", "transient"), possible("b", "auto_ack")),
         "Cannot tell: messages of a that were not persistent and came in from 09:00:00 to 09:00:09 at n2 or n3 are"
         " lost, if there were any."),
        ((possible(cause=APART), kept()),
         "Cannot tell: messages of orders that came in from 09:00:00 to 09:00:09 at n2 or n3 will be lost when their"
         " partition restarts, if there are any."),
        ((kept(),), "Yes: no event in the logs has lost a message."),
        ((), "Yes: the logs show no queue that could have lost messages."),
    ],
)  # fmt: skip
def test_verdict_states_the_loss(losses, expected):
    found = with_losses(*losses)
    assert verdict(found, account(found).names).sentence == expected


def test_messages_missing_from_a_queue_are_stated():
    found = with_losses(kept())
    missed = ClusterEvent(kind="messages_dropped", at_us=0, node="n1", queue="orders", count=3)
    answer = verdict(replace(found, cluster_events=[*found.cluster_events, missed]), PLAIN)
    assert (answer.answer, answer.why) == (
        "unknown", "3 persistent messages of orders were on record but missing after an unclean shutdown: lost, or"
        " consumed before")  # fmt: skip


def test_logs_without_a_boot_do_not_show_that_nothing_was_lost():
    found = with_losses()
    late = [one for one in found.cluster_events if one.kind != "node_started"]
    assert verdict(replace(found, cluster_events=late), PLAIN).sentence == (
        "Cannot tell: no log names a queue, and no listing was given.")


def test_verdict_states_that_nothing_could_be_simulated():
    found = replace(incident("3.10/sync-cancelled"), no_scenario="the logs are of no cluster", losses=())
    answer = verdict(found, account(found).names)
    assert (answer.answer, answer.why) == ("unknown", "the logs are of no cluster")


def test_every_cause_has_a_text():
    assert {*PASSIVE} == {*CAUSES, APART}
    assert because("disk_lost", 1) == "the only disk that had it was lost"


def test_advice_names_prevention_and_commands():
    asked = todo(incident(GIVEN_TO_SIDES), PLAIN)
    assert asked[0].what.startswith("Any of these would have kept the messages of ")
    # Autoheal keeps these 6 too, but more messages of all queues together are lost (161 instead of 60).
    assert asked[0].what.endswith(
        ": cluster_partition_handling: ignore; cluster_partition_handling: pause_minority.")  # fmt: skip
    assert asked[1].what.startswith("Ask the publishers which messages were confirmed by 12:48:38")
    export, listing, again = asked[2].commands
    assert export.endswith(" definitions.json") and listing.endswith(" > queues.txt")
    assert again == "hawb incident a.log.gz b.log.gz c.log.gz definitions.json queues.txt"


def test_ending_the_partition_is_the_first_advice():
    found = incident(AUTOHEAL)
    answer, asked = verdict(replace(found, losses=(kept(),)), PLAIN), todo(found, account(found).names)
    assert (answer.answer, answer.why[:34]) == ("no", "the cluster is still partitioned a")
    assert asked[0].what.startswith("The cluster is still partitioned into n1 on one side and n2 and n3 on the other.")


def test_only_simulated_changes_are_said_to_prevent_the_loss():
    found = replace(with_losses(certain(cause="disk_lost")), keepers=())
    assert not [one for one in todo(found, PLAIN) if "kept" in one.what or "replicas" in one.what]


def test_long_story_asks_about_the_last_loss_only():
    """There are more faults than anybody asks about at once, on the day of NINE_US and weeks after it."""
    short = with_losses(possible())
    weeks_us = 21 * 24 * 3600 * 1_000_000
    faults = [one for one in short.cluster_events if one.kind == "partition_begun"]
    far = [replace(one, at_us=one.at_us + weeks_us * place) for one in faults for place in range(1, 7)]
    long = replace(short, cluster_events=[*short.cluster_events, *far])
    [first, *_] = [one for one in todo(long, PLAIN) if "story" in one.what and "faults" in one.what]
    assert first.what.startswith("Examine one incident at a time: these are 8 faults from 2026-11-27 08:55:18 to")
    assert first.commands == ("hawb incident a.log.gz b.log.gz c.log.gz --since 2026-11-27 --until 2026-11-27",)
    assert not any("faults" in one.what for one in todo(short, PLAIN))
    asked = replace(long, asked=Asked(until_us=short.cluster_events[-1].at_us))
    assert not any("faults" in one.what for one in todo(asked, PLAIN))
