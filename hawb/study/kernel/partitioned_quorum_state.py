"""The record of a trial of a quorum queue in a network whose links may fail, beside `quorum_state`'s.

The queue and the metadata store are one on all sides, except for the leader that a side sees (`quorum_links`). So of
the other sides only that is kept.
"""

from __future__ import annotations

import numpy as np

from hawb.study.compiled import inner
from hawb.study.kernel.partitioned_state import MOST_SIDES
from hawb.study.kernel.quorum_state import (
    HOLD_ENDS,
    LINKS_SUSPECTED,
    LOG_CUT,
    MEMBERS_ABREAST,
    METADATA_AVAILABLE,
    METADATA_CHANGED,
    MOST_ASKED,
    NODE_FORGOTTEN,
    OF_STORE,
    PROPOSAL,
    PROPOSAL_GIVEN_UP,
    QUORUM_FIELDS,
    REGISTRATION_GIVEN_UP,
    with_letter,
)
from hawb.study.kernel.state import (
    CONFIRMS_DUE,
    CONSUME,
    CONSUMER_CLOSES,
    LINKS_TIME_OUT,
    LOOK_AROUND,
    MOST_NODES,
    MOST_WINDOWS,
    POLICY_TAKES_EFFECT,
    PUBLISH,
    REBALANCE,
    record,
)

NET = record("focus sides last_side severed cut_number connected under_way held_up")
"""The fields of `partitioned_state.NET`; in place of its last ones how many deliveries are under way over cut links,
and how many have ever been."""
CHANNELS_PROPOSAL = record(" ".join(PROPOSAL.names) + " aside chosen")
"""A waiting proposal; whether its messages count as refused while its channel keeps them, and whether the leader that
is asked now receives it."""

DELIVERY, SENT_BY, FROM_NODE, TO_NODE = range(4)
"""The columns of `under_way`: a delivery, the node that sent it, and the ends of the cut link."""


def fields() -> list[tuple]:
    """Return the fields of a trial: those of `quorum_state.QUORUM_TRIAL` in their order, with new ones among them."""
    replaced = {"waiting": ("waiting", CHANNELS_PROPOSAL, (MOST_ASKED,))}
    known = [replaced.get(field[0], field) for field in QUORUM_FIELDS]
    tables = [name for name, *_ in known].index("out")
    return [
        *known[:tables], ("net", NET), *((name, np.int64, (MOST_NODES,)) for name in ("cut", "lost_links")),
        *((name, np.int64, (MOST_SIDES,)) for name in (
            "kept_side", "kept_master", "kept_up", "kept_store", "kept_store_up",
        )),
        *known[tables:], ("committed_by", np.int64, (MOST_ASKED,)), ("under_way", np.int64, (MOST_ASKED, TO_NODE + 1)),
        ("stale", np.int64, (MOST_WINDOWS, 2)),
    ]  # fmt: skip


PARTITIONED_QUORUM_TRIAL = with_letter(fields())
"""One trial of a quorum queue in a network whose links may fail, in one piece of memory.

For each node: the nodes to which its links are `cut`, as bits. Of the sides in the places of `kept_side` the leaders of
the queue and the metadata store, and whether these can commit, are `kept_master`, `kept_up`, `kept_store` and
`kept_store_up`. `committed_by` are the members that have committed the rows of `committed`. `under_way` are deliveries
behind cut links, whose messages are in `sent`. `stale` are messages that the consumer believes to hold and the queue
has returned, in the order of their deliveries."""

WORDS_BEFORE_TABLES = PARTITIONED_QUORUM_TRIAL.fields["out"][1] // 8
"""The number of words before a trial's tables; their counts there are the numbers of rows in use."""


@inner
def is_about_queue(kind):
    """Return True if an event is about the queue as such, on its side."""
    return kind in (POLICY_TAKES_EFFECT, MEMBERS_ABREAST, REGISTRATION_GIVEN_UP, PROPOSAL_GIVEN_UP)


@inner
def is_of_side(kind):
    """Return True if an event happens on the side on which it was scheduled, and not where a node is."""
    return is_about_queue(kind) or kind in (
        LOG_CUT, OF_STORE + LOG_CUT, LOOK_AROUND, LINKS_TIME_OUT, LINKS_SUSPECTED, METADATA_AVAILABLE,
        METADATA_CHANGED, REBALANCE, CONSUMER_CLOSES,
    )  # fmt: skip


@inner
def place_of(kind, a, b):
    """Return the node at which an event that is not of a side happens."""
    if kind in (CONFIRMS_DUE, PUBLISH, CONSUME, HOLD_ENDS):
        return b
    return a // MOST_NODES if kind == NODE_FORGOTTEN else a
