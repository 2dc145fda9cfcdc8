"""Maintenance mode: `hawb.engine.maintenance`, for a trial of a classic queue."""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel.answers import client_gone
from hawb.study.kernel.deliveries import close
from hawb.study.kernel.state import is_running


@inner
def drain(t, node):
    """A node in maintenance mode closes its clients' connections."""
    if is_running(t, node):
        client_gone(t, node)
        if t.consumer.node == node:
            close(t)
