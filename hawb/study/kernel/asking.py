"""Clients' proposals until a leader has them.

This is `hawb.engine.raft_groups.asking` and `registration` with the kernel's ports.
"""

from __future__ import annotations

from hawb.engine.raft_groups import asking, registration
from hawb.engine.raft_groups import enqueuers as enqueuers_of_turns
from hawb.study.compiled import Binding
from hawb.study.kernel import enqueuers
from hawb.study.kernel.hosting import HOST

ASKING = Binding(enqueuers_of_turns.PORTS, enqueuers, HOST)

ask, has_under_way, offer_again, end_waiting, drop_orphans, set_unsent_aside, is_in_sight = map(ASKING.of, (
    asking.ask, asking.has_under_way, asking.offer_again, asking.end_waiting, asking.drop_orphans,
    asking.set_unsent_aside, asking.is_in_sight,
))  # fmt: skip
is_registered, is_waiting, register, registration_given_up = map(ASKING.of, (
    registration.is_registered, registration.is_waiting, registration.register, registration.registration_given_up,
))  # fmt: skip
