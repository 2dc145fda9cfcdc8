"""Policies set and cleared, and what queues make of it.

Source: `rabbit_policy`, `rabbit_mirror_queue_misc:update_mirrors`. Setting a policy changes the record of each queue it
now applies to at once; the queue's master looks at its mirrors a little later and sees only the last of several quick
changes. Missing mirrors are added first, then surplus replicas dropped, the master before mirrors.
"""

from __future__ import annotations

from hawb.engine import mirroring
from hawb.engine.access import is_replicated
from hawb.engine.events import AutomaticSync, PolicyTakesEffect
from hawb.engine.naming import split_queue
from hawb.engine.state import Queue
from hawb.engine.turn import Turn
from hawb.rules import patterns, policies
from hawb.rules.patterns import Match
from hawb.rules.policies import Mirroring, Policy
from hawb.rules.profiles import HA_SETTINGS

SIMULATED_SETTINGS = HA_SETTINGS | {"queue-master-locator"}
"""Policy settings that have rules here. Others are carried, and the trace says that they change nothing."""


def set_policy(turn: Turn, policy: Policy) -> None:
    """`rabbitmqctl set_policy`, with RabbitMQ's validation done by the caller."""
    others = [other for other in turn.policies if (other.vhost, other.name) != (policy.vhost, policy.name)]
    turn.policies = (*others, policy)
    turn.because = tell(turn, "policy_set", policy)
    reconsider_all(turn, policy.vhost)


def tell(turn: Turn, event: str, policy: Policy) -> int:
    """Tells of a policy, and which of its settings change nothing here."""
    entry = turn.emit(
        event, name=policy.name, pattern=policy.pattern, definition=policy.definition, priority=policy.priority,
        vhost=policy.vhost,
    )  # fmt: skip
    left = [key for key, _ in policy.settings if key not in SIMULATED_SETTINGS]
    if left:
        turn.emit("not_simulated", because=entry, what=[f"policy setting {key}" for key in left])
    return entry


def clear_policy(turn: Turn, name: str, vhost: str) -> None:
    """`rabbitmqctl clear_policy`"""
    left = tuple(policy for policy in turn.policies if (policy.vhost, policy.name) != (vhost, name))
    if left == turn.policies:
        turn.refuse(None, f"Parameter does not exist: policy '{name}' in vhost '{vhost}'")
        return
    turn.policies = left
    turn.because = turn.emit("policy_cleared", name=name, vhost=vhost)
    reconsider_all(turn, vhost)


def applying(turn: Turn, name: str, queue_type: str, *, declaring: bool = False) -> Policy | None:
    """The one policy that applies to a queue. Says so where RabbitMQ leaves the choice open, and where a pattern was
    given up."""
    vhost, short = split_queue(name)
    for policy in turn.policies:
        if policy.vhost == vhost and patterns.outcome(policy.pattern, short) is Match.GAVE_UP:
            turn.emit("pattern_gave_up", queue=name, policy=policy.name, pattern=policy.pattern)
    found = policies.matching(turn.policies, vhost, short, queue_type, turn.settings.profile, declaring)
    tied = policies.ties(found)
    if tied:
        turn.emit("policy_tie", queue=name, policies=[policy.name for policy in tied], chosen=found[0].name)
    return found[0] if found else None


def name_of(policy: Policy | None) -> str | None:
    """What a queue's record says of its policy."""
    return None if policy is None else policy.name


def mirroring_of(policy: Policy | None) -> Mirroring | None:
    """What a policy asks for in the way of mirrors."""
    return None if policy is None else policies.mirroring(policy.definition)


def reconsider_all(turn: Turn, vhost: str) -> None:
    """Matches the policies anew for every queue of a virtual host."""
    for name in turn.queue_names():
        if turn.queues[name].vhost == vhost:
            reconsider(turn, name)


def reconsider(turn: Turn, name: str) -> None:
    """Matches the policies anew for one queue."""
    queue = turn.queues[name]
    policy = applying(turn, name, queue.type)
    asked = mirroring_of(policy)
    if (name_of(policy), asked) == (queue.policy, queue.mirroring):
        return
    turn.change_queue(name, policy=name_of(policy), mirroring=asked)
    entry = turn.emit("policy_applied", queue=name, policy=name_of(policy), was=queue.policy)
    if queue.type == "classic":
        turn.schedule(turn.settings.timing.link_latency_us, PolicyTakesEffect(name), entry)


def take_effect(turn: Turn, event: PolicyTakesEffect) -> None:
    """The master brings its mirrors in line with its policy. One that synchronises does so afterwards, and without a
    master nothing happens until one is back."""
    queue = turn.queues.get(event.queue)
    if queue is None or not queue.up or queue.sync is not None:
        return
    if not is_replicated(queue):
        mirroring.drop_mirrors(turn, queue.name, list(queue.mirrors), "policy")
        turn.change_queue(queue.name, mirrored=False)
        return
    turn.change_queue(queue.name, mirrored=True)
    mirroring.add_mirrors(turn, queue.name)
    drop_surplus(turn, queue)
    if event.synchronise:
        turn.schedule(0, AutomaticSync(queue.name))


def drop_surplus(turn: Turn, queue: Queue) -> None:
    """Drops replicas that policy no longer asks for. The dead that nobody has missed yet are buried in their time."""
    keep = mirroring.wanted(turn, queue, turn.running())
    surplus = [node for node in queue.mirrors if node not in keep and turn.alive(queue, node)]
    if surplus:
        mirroring.drop_mirrors(turn, queue.name, surplus, "policy")
    if queue.master not in keep:
        mirroring.drop_master(turn, queue.name)
