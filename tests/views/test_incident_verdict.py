"""The verdict on an incident: no, yes but, yes."""

from __future__ import annotations

import pytest
from incidents import certain, incident, kept, possible, with_losses
from msgspec.structs import replace

from hawb.engine.trace import CAUSES
from hawb.views.incident.incident_report import account
from hawb.views.incident.incident_verdict import PASSIVE, because, verdict


@pytest.mark.parametrize(
    ("losses", "told"),
    [
        ((certain(), kept()),
         "No: 7 messages of orders are lost: the side of the partition that had them was given up."),
        ((certain(count=1, cause="unsynchronised_promotion"),),
         "No: 1 message of orders is lost: a mirror that lacked it took over."),
        ((certain("b", 3, "disk_lost"), certain("a", 4, "node_reset")), "No: 7 messages of b and a are lost."),
        ((certain(), possible()),
         "No: 7 messages of orders are lost: the side of the partition that had them was given up. Possibly lost is what"
         " n2 took of orders from 08:00:00 to 08:00:09 (9.0 s)."),
        ((possible(), kept()),
         "Yes, but what n2 took of orders from 08:00:00 to 08:00:09 (9.0 s) is lost, if it took any."),
        ((possible(most=40),),
         "Yes, but what n2 took of orders from 08:00:00 to 08:00:09 (9.0 s, at most 40 messages) is lost, if it took"
         " any."),
        ((possible("a"), possible("b", from_s=60)),
         "Yes, but what a and b took in 2 spans of time may be lost, if clients sent any."),
        ((kept(),), "Yes: nothing that the logs tell of has lost a message."),
        ((), "Yes: the logs tell of no queue that could have lost any."),
    ],
)  # fmt: skip
def test_what_is_lost_is_told_in_a_sentence(losses, told):
    found = with_losses(*losses)
    assert verdict(found, account(found).names).sentence == told


def test_where_nothing_could_be_played_it_says_so():
    found = replace(incident("3.10/sync-cancelled"), untold="the logs are of no cluster", losses=())
    told = verdict(found, account(found).names)
    assert (told.answer, told.why) == ("but", "what became of messages cannot be told: the logs are of no cluster")


def test_every_cause_has_its_words():
    assert {*PASSIVE} == {*CAUSES}
    assert because("disk_lost", 1) == "the only disk that had it was lost"
