"""The consensus protocol: `hawb.engine.raft` for a group whose members stay the same. What a member wants done stands
in `out` afterwards (`raft_messages`)."""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel.quorum_state import (
    APPEND,
    APPENDED,
    CANDIDATE,
    INSTALL,
    PRE_VOTE_ASKED,
    PRE_VOTE_TOLD,
    PRE_VOTING,
    TERM,
    TERM_SENT,
    TYPE,
    VOTE_ASKED,
    VOTE_TOLD,
)
from hawb.study.kernel.raft_election import begin_term, on_pre_vote, on_told, on_vote_asked
from hawb.study.kernel.raft_replication import on_append, on_appended, on_install


@inner
def on_message(t, node, message):
    """A message reaches a member."""
    if message[TERM_SENT] > t.members[node, TERM]:
        begin_term(t, node, message[TERM_SENT])
    what = message[TYPE]
    if what == APPEND:
        on_append(t, node, message)
    elif what == APPENDED:
        on_appended(t, node, message)
    elif what == INSTALL:
        on_install(t, node, message)
    elif what == PRE_VOTE_ASKED:
        on_pre_vote(t, node, message)
    elif what == VOTE_ASKED:
        on_vote_asked(t, node, message)
    elif what == PRE_VOTE_TOLD:
        on_told(t, node, message, PRE_VOTING)
    elif what == VOTE_TOLD:
        on_told(t, node, message, CANDIDATE)
