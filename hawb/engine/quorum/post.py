"""How messages get from one member of a group to another: each takes a link's latency and the transfer of the bodies
that it carries, and overtakes none. A link that drops everything drops it."""

from __future__ import annotations

from hawb.engine.nodes.ports import linked
from hawb.engine.quorum.ports import behind_us, plan_arrival, target_of, transfer_us


def send(t, g, member, message):
    """A message leaves."""
    target = target_of(message)
    if linked(t, member.id, target):
        delay_us = t.setup.link_us + transfer_us(t, g, message)
        plan_arrival(t, g, message, max(delay_us, behind_us(t, g, member.id, target)))
