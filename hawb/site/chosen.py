"""List the sentences of the first page, and its twelve stories."""

from __future__ import annotations

from typing import NamedTuple

from hawb.languages import N_, _

TITLE = N_("What happens to your messages when a RabbitMQ node goes down?")
GUESS = N_("What do you think happens?")
ALL = N_("All stories")
LESSONS = N_("Lessons")
ABOUT = N_("The answers come from hawb’s model of RabbitMQ. It runs in this page, and it was compared with real"
           " clusters.")


class Chosen(NamedTuple):
    """A story by its name, the number of steps before its picture, and the next event as a sentence."""

    name: str
    played: int
    question: str


CHOSEN = (
    Chosen("unsynchronised-mirror-promoted", 7, N_("Nodes a and b run. Mirror b has only 10 of 110 messages. Node a"
                                                   " is killed.")),
    Chosen("stopped-master-takes-its-mirrors-down", 0, N_("The mirror on b holds none of the 100 messages. Node a,"
                                                          " with the master, is stopped.")),
    Chosen("killed-master-not-replaced", 0, N_(
        "ha-promote-on-failure is when-synced, and the mirror on b is not synchronised. Node a, with the master, is"
        " killed."
    )),
    Chosen("transfer-to-an-unsynchronised-mirror", 0, N_("The master is moved to node c, whose mirror is empty.")),
    Chosen("exactly-walks-through-the-cluster", 0, N_("A queue has two replicas on three nodes. The nodes stop one"
                                                      " by one.")),
    Chosen("quorum-leader-killed", 3, N_("A consumer has 20 unacknowledged messages. The leader is killed.")),
    Chosen("quorum-two-nodes", 4, N_("A mirrored queue and a quorum queue run on two nodes. Node a is stopped.")),
    Chosen("quorum-and-mirrored-in-a-partition", 5, N_("Node c is cut off from the other nodes, and clients publish"
                                                       " on both sides.")),
    Chosen("quorum-leader-loses-power", 4, N_("The host of node a loses power, so node a cannot notify the other"
                                              " nodes.")),
    Chosen("quorum-and-mirrored-rolled", 4, N_("Each node is restarted, one after the other.")),
    Chosen("quorum-majority-lost-for-good", 2, N_("Two of three nodes lose their disks.")),
    Chosen("streams-leader-killed", 5, N_("Node c is back and catches up. Then the leader of the stream is killed.")),
)


def words() -> dict[str, str]:
    """Return the sentences of the first page in the language in force, by the English ones."""
    texts = (TITLE, GUESS, ALL, LESSONS, ABOUT, *(one.question for one in CHOSEN))
    return {text: _(text) for text in texts}
