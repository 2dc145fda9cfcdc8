"""Maintenance mode, as it takes effect on a node (`hawb.engine.maintenance`).

Source: `rabbit_maintenance:drain`.
"""

from __future__ import annotations

from hawb.engine.nodes.ports import is_running
from hawb.engine.quorum_membership import drain as stop_members
from hawb.engine.stopping.departure import disconnect, give_masters_away


def drain(t, node):
    """A node closes its clients' connections, stops its members of quorum queues, and gives masters away where its
    version does so."""
    if is_running(t, node):
        disconnect(t, node)
        stop_members(t, node)
        give_masters_away(t, node)
