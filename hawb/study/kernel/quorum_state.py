"""The record of a trial of a quorum queue, beside that of any trial (`hawb.study.kernel.state`).

A log is a place in a tree. An entry is identified by its index and its term, and the leader of a term appended all its
entries, behind one entry of an earlier term (Raft's log matching). So a log is identified by index and term of its last
entry, and `terms` has, for each term, the entry behind which it began. The commands of entries are kept once for all
logs: `entries` are those with clients' proposals, and `runs` has the beginnings of runs of entries with the same
command.
"""

from __future__ import annotations

import numpy as np

from hawb.raft.member import LOG_ENDS, Member, Peer, whole_numbers
from hawb.study.environment import HOURS
from hawb.study.kernel.state import (
    BOOK,
    CLOCK,
    KIND,
    MOMENT,
    MOST_NODES,
    MOST_WINDOWS,
    NODE,
    PUBLISHER,
    SETUP,
    WORK,
    record,
)

GONE = -2
"""In place of a node: a channel that is gone. NOWHERE is the leader itself."""

(
    RAFT_ARRIVES, RAFT_WRITTEN, ELECTION_DUE, LEADER_ELECTED, MAJORITY_REACHED, LOG_CUT, MEMBERS_ABREAST,
    REGISTRATION_GIVEN_UP, PROPOSAL_GIVEN_UP, CONNECTION_FAILS, LINKS_SUSPECTED, HOLD_ENDS, METADATA_AVAILABLE,
    METADATA_CHANGED, FOLLOWERS_STOP, REMOVAL_WRITTEN, NODE_FORGOTTEN, LEADER_SOUGHT,
) = range(100, 118)  # fmt: skip
"""The kinds of events of a quorum queue, beside `state`'s."""
OF_STORE = 100
"""The offset from the kinds of the queue's events to those of the metadata store's group."""

TARGET, SOURCE, TYPE, TERM_SENT, _, FIRST, SECOND, THIRD, FOURTH, FIFTH = range(4, 14)
"""The columns of a message on the agenda, behind time, priority, number and kind, and beside the side
(`partitioned_state.SIDE`); the same in `out`."""

MEMBER_FIELDS = (*LOG_ENDS, *whole_numbers(Member))
MEMBER = record(" ".join(MEMBER_FIELDS) + " store opened group configured others")
"""A member; `store` is 1 for one of the metadata store, 0 for one of the queue.

`group` are the members by its log, as bits, `configured` is the index from which on they count, and `others` the number
of a leader's progress records. A member that has not `opened` has lost its disk, or is new, and knows of no group."""
PEER = record(" ".join(whole_numbers(Peer)))

COLUMN_OF = {
    "effect": KIND, "kind": TYPE, "source": SOURCE, "target": TARGET, "term": TERM_SENT,
    "first": FIRST, "second": SECOND, "third": THIRD, "fourth": FOURTH, "fifth": FIFTH,
    "prev_index": FIRST, "prev_term": SECOND, "last_index": THIRD, "last_term": FOURTH, "leader_commit": FIFTH,
    "granted": FIRST, "success": FIRST, "next_index": SECOND, "commit_index": FOURTH,
    "snapshot_index": FIRST, "snapshot_term": SECOND, "generation": FIRST, "index": SECOND,
}  # fmt: skip
"""The columns of a message's fields (`hawb.raft.messages`), and of other outputs of a member: a `Write`, and as `first`
and `second` the entries that are `Committed`. A message's entries are identified by the index and the term of the last
one, as a log is."""

BASE_INDEX, BASE_TERM = 1, 2
"""The columns of `terms`, behind the term itself."""

NOOP, ENQUEUED, SETTLED, PROPOSED, CONFIGURED = range(5)
"""The commands of entries: a term begins, messages have flowed to the queue or were settled, a client's proposal, and
the members of the group from there on, as bits behind CONFIGURED."""

ENQUEUE, SETTLES, CONSUMES, CHANNEL_DOWN, ABANDONED, SUSPECTS, REACHES, NO_PROCESS, HOLD_ENDED = range(9)
"""The proposals of clients, and of a leader: that a channel is gone, that a node is out of reach or back, that a
channel has no process, that a consumer out of reach has held messages for long enough."""

PROPOSAL = record("number asks node channel after count client")
"""A waiting proposal (`hawb.engine.raft_groups.group.Proposal`): a number, its kind, the node of the channel that sends
it again, the publisher's channel (`enqueuers.channel_at`), its messages or the number of answers, and the node where it
was made."""
ENTRY = record(" ".join(PROPOSAL.names) + " first last term")
"""The same, and its place in logs."""

NUMBER_OF, CLIENT, WHOSE, AFTER_OF, COUNT_OF, DUE, REJECTED = range(7)
"""The columns of `awaiting`: a batch that waits for the queue's answer (`hawb.engine.clients.confirms`)."""

OF_PUBLISHER, OF_NODE, CLOCK_US, CLOCK_TICKS, CLOCK_PER_US, FROM_TICK, FROM_AFTER, HOW_MANY, DELAY = range(9)
"""The columns of `unanswered`: messages of a steady publisher (`hawb.engine.clients.steady.steady_confirms`)."""

MOST_TERMS, MOST_RUNS, MOST_OUTPUTS, MOST_ASKED, MOST_PLACES, MOST_EVENTS = 257, 8195, 1029, 4099, 261, 4101
MOST_CHANGES = 257
MOST_ENTRIES, MOST_MEMBERS = 16387, 2 * MOST_NODES
COLUMNS = 14

QUORUM_SETUP = record(
    " ".join(SETUP.names) + " members registers asks_leader_first drain_stops_members drain_awaits_elections"
    " shrinks least_cut resends"
    " snapshot_every snapshot_every_at_most soft_limit group_size shuffles delivery_limit hold_us"
)
"""The settings; `members` are the queue's at first, as bits, `shrinks` is 1 if a queue loses its member on a node that
is forgotten, `resends` is 1 if a channel with more messages pending than the soft limit looks for a leader by itself,
`delivery_limit` is NEVER if there is none, `hold_us` is how long a consumer out of reach keeps what it
holds."""


WORDS = {"offsets": [8 * column for column in COLUMN_OF.values()], "itemsize": 8 * COLUMNS}
LETTER = np.dtype({"names": list(COLUMN_OF), "formats": [np.int64] * len(COLUMN_OF), **WORDS})


def with_letter(fields: list[tuple]) -> np.dtype:
    """Return a record with one more field, `letter`: the words of `message`, by the names of its fields."""
    plain = np.dtype(fields)
    kinds, offsets = zip(*(plain.fields[name] for name in plain.names), strict=True)
    return np.dtype({
        "names": [*plain.names, "letter"], "formats": [*kinds, LETTER],
        "offsets": [*offsets, plain.fields["message"][1]], "itemsize": plain.itemsize,
    })  # fmt: skip


QUORUM_CONSUMER = record("state subscribed suspected subscription node ticks blocked wanted client", clock=CLOCK)
QUORUM = record(
    "master up syncing holder here abreast number applied stopped cut_at published_at_place places waiting entries runs"
    " registered out committed moved requeued counted looked led was_down drawn_for store present recorded led_term"
    " changes waiting_changes"
)
"""The queue and its group: `here` (whose members run), `abreast`, `stopped`, `present` (nodes with a member, whether it
runs or not) and `recorded` (the members in the queue's record) are bits, `number` is the group's; from
`places` on how many rows tables have, with how many entries they are looked through again, whether the group has been
`led` and the queue was down at the last look, and of which term the order of members in `drawn` is. `store` is 1 for
the metadata store's group, which has a record of the same form, 0 for the queue's. `led_term` is the latest term that
had a leader, and `changes` how often the members have changed or a member has begun with an empty disk."""

QUORUM_FIELDS = [
    ("setup", QUORUM_SETUP), ("moment", MOMENT), ("queue", QUORUM), ("store", QUORUM), ("book", BOOK),
    ("publisher", PUBLISHER), ("consumer", QUORUM_CONSUMER), ("work", WORK), ("rates", np.int64, (2, HOURS, 2)),
    ("nodes", NODE, (MOST_NODES,)),
    *((name, np.int64, (MOST_NODES,)) for name in ("wanted", "suspected")), ("drawn", np.int64, (MOST_MEMBERS,)),
    ("configurations", np.int64, (2 * MOST_CHANGES, 3)), ("counts", np.int64, (2, 2)),
    ("waiting_changes", np.int64, (MOST_ASKED, 2)),
    ("members", MEMBER, (MOST_MEMBERS,)), ("peers", PEER, (MOST_MEMBERS, MOST_NODES - 1)),
    ("message", np.int64, (COLUMNS,)),
    ("out", LETTER, (MOST_OUTPUTS,)), ("agenda", np.int64, (MOST_EVENTS, COLUMNS)),
    ("terms", np.int64, (2 * MOST_TERMS, BASE_TERM + 1)), ("runs", np.int64, (MOST_RUNS, 3)),
    ("places", np.int64, (MOST_PLACES,)),
    ("waiting", PROPOSAL, (MOST_ASKED,)), ("entries", ENTRY, (MOST_ENTRIES,)),
    ("committed", ENTRY, (MOST_ASKED,)), ("registered", np.int64, (MOST_ASKED, 2)),
    ("awaiting", np.int64, (MOST_ASKED, REJECTED + 1)), ("unanswered", np.int64, (MOST_ASKED, DELAY + 1)),
    *((name, np.int64, (MOST_ASKED, 3)) for name in ("sent", "moved", "requeued", "counted", "staying")),
    *((name, np.int64, (MOST_WINDOWS, 2)) for name in (
        "ready", "returns", "held", "missing", "hand", "moved_before", "fresh", "confirmed", "delivered",
        "delivered_twice", "lost",
    )),
]  # fmt: skip
QUORUM_TRIAL = with_letter(QUORUM_FIELDS)
"""One trial of a quorum queue, in one piece of memory.

The groups: `members` by their nodes, those of the metadata store behind those of the queue, each leader's progress
records (`peers`) in the order of their nodes, the nodes that a node takes for down, as bits (`suspected`), and the
event that has just come off the agenda as columns (`message`) and by name (`letter`).

The messages: `ready` and `returns` in the order in which they are served, `held` in the order in which the consumer has
got them, as rows of windows that need not be sorted (`fifo`); `missing` are those of `held` that have not arrived,
`hand` is for one delivery only. `moved` are those of the ready ones that were committed later than others with higher
numbers, rows (behind which number, after, last), and `requeued` are rows (index, after, last) of those that count as
appended again for that (`hawb.engine.quorum.log`); `moved_before`, `fresh` and `staying` are for that alone. `counted`
are rows (how often, after, last) of those that were returned, if there is a delivery limit.
"""

WORDS_BEFORE_TABLES = QUORUM_TRIAL.fields["out"][1] // 8
"""The number of words before a trial's tables; their counts there are the numbers of rows in use."""
