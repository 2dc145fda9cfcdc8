"""The consensus protocol: `hawb.raft` with the kernel's ports."""

from __future__ import annotations

from hawb.raft import election, ports, replication, server
from hawb.study.compiled import Binding, inner
from hawb.study.kernel import raft_ports
from hawb.study.kernel.quorum_state import WRITE
from hawb.study.kernel.raft_ports import say

PROTOCOL = Binding(ports.PORTS, raft_ports)

on_message = PROTOCOL.of(server.on_message)
on_election_timeout, up_to_date = PROTOCOL.of(election.on_election_timeout), PROTOCOL.of(election.up_to_date)
begin_again = PROTOCOL.of(election.begin_again)
append, on_tick, on_written = map(PROTOCOL.of, (replication.append, replication.on_tick, replication.on_written))
needs_writing, peer_of = PROTOCOL.of(replication.needs_writing), PROTOCOL.of(replication.peer_of)


@inner
def write(t, member, last_index, generation):
    """What a step has put into the log, which ended so before, goes to disk."""
    if needs_writing(member, last_index, generation):
        say(t, WRITE, member, member.generation, member.last_index)
