"""The record of a trial of a classic queue in a cluster with Khepri: that of any trial, and the metadata store's group.

The group has the tables of a quorum queue's trial (`quorum_state`), in which its rows are behind those of the queue. A
classic queue has no group, so its rows stay empty, and so do the tables of clients' proposals.
"""

from __future__ import annotations

import numpy as np

from hawb.study.compiled import inner, with_arrays
from hawb.study.kernel.partitioned_state import MOST_SIDES, PARTITIONED_TRIAL
from hawb.study.kernel.quorum_state import (
    COLUMNS,
    LETTER,
    MEMBER,
    MOST_CHANGES,
    MOST_MEMBERS,
    MOST_OUTPUTS,
    MOST_TERMS,
    PEER,
    PROPOSAL,
    QUORUM,
    with_letter,
)
from hawb.study.kernel.state import MOST_NODES, MOST_PLANNED, TRIAL


def with_store(trial: np.dtype, *more: tuple) -> np.dtype:
    """Return the record type of a trial with the metadata store's group, and with `more` fields.

    The trial's fields keep their order.
    """
    known = [(name, *(trial.fields[name][0].subdtype or (trial.fields[name][0],))) for name in trial.names]
    known = [(name, np.int64, (MOST_PLANNED, COLUMNS)) if name == "agenda" else (name, *form) for name, *form in known]
    tables = trial.names.index("content")
    return with_letter([
        *known[:tables], ("store", QUORUM), ("members", MEMBER, (MOST_MEMBERS,)),
        ("peers", PEER, (MOST_MEMBERS, MOST_NODES - 1)), ("suspected", np.int64, (MOST_NODES,)),
        ("drawn", np.int64, (MOST_MEMBERS,)), ("configurations", np.int64, (2 * MOST_CHANGES, 3)),
        ("counts", np.int64, (2, 2)), ("message", np.int64, (COLUMNS,)), *more,
        *known[tables:], ("out", LETTER, (MOST_OUTPUTS,)), ("terms", np.int64, (2 * MOST_TERMS, 3)),
        ("proposals", PROPOSAL, (1,)),
    ])  # fmt: skip


KHEPRI_TRIAL = with_store(TRIAL)
"""One trial, in one piece of memory. `proposals` stays empty: no change of the metadata waits in a trial."""

PARTITIONED_KHEPRI_TRIAL = with_store(
    PARTITIONED_TRIAL, *((name, np.int64, (MOST_SIDES,)) for name in ("kept_store", "kept_store_up"))
)  # fmt: skip
"""The same in a network whose links may fail: `kept_store` and `kept_store_up` are the leader of the metadata store
that other sides see, and whether it can commit."""

WORDS_BEFORE_TABLES, WORDS_BEFORE_PARTITIONED_TABLES = (
    kind.fields["content"][1] // 8 for kind in (KHEPRI_TRIAL, PARTITIONED_KHEPRI_TRIAL)
)
"""The numbers of words before a trial's tables; their counts there are the numbers of rows in use."""


# The group's ports where it has no clients (`host_ports`)


@with_arrays
def waiting_of(t, g):
    """Return the waiting proposals: none."""
    return t.proposals[:0]


@inner
def take_committed(t, g, output):
    """Return the last index among newly committed entries, none of which has a proposal; 0 if no entry is new."""
    return output.second if output.second > g.applied else 0


@inner
def note_abreast(t, g, abreast):
    """Record that members have caught up with the store. Return False: no messages wait for that."""
    g.abreast = abreast
    return False
