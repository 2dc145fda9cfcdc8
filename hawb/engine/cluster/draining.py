"""Maintenance mode, as it takes effect on a node (`hawb.engine.cluster.maintenance`).

Source: `rabbit_maintenance:drain`.
"""

from __future__ import annotations

from hawb.engine.cluster.node_ports import is_running
from hawb.engine.cluster.stopping_ports import disconnect, give_masters_away
from hawb.engine.raft_groups.member_changes import drain as stop_members

SHARED = True  # the kernel of studies compiles this module


def drain(t, node):
    """A node closes its clients' connections, stops its members of quorum queues, and gives masters away where its
    version does so."""
    if is_running(t, node):
        disconnect(t, node)
        stop_members(t, node)
        give_masters_away(t, node)
