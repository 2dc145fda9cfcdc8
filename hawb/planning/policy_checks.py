"""Find problems of a cluster's policies: each check looks at the queues to which one policy applies.

`idle_settings` finds settings that have no effect on these queues. Sources: `rabbit_mirror_queue_misc`
(`sync_batch_size`; a master without mirrors), `rabbit_mirror_queue_slave` (promotion on shutdown or failure),
`rabbit_amqqueue_process` (how overflow and dead-letter keys are read), `rabbit_quorum_queue:dlx_mfa`,
`rabbit_variable_queue:set_queue_mode` since 3.12, `hawb.rules.quorum_profiles`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from hawb.engine.core.naming import join_queue
from hawb.planning.assignments import Assignment, Reach
from hawb.planning.findings import Finding
from hawb.planning.inventory import Inventory
from hawb.rules.patterns import Match, outcome
from hawb.rules.policies import QUEUE_TYPES_BY_APPLY_TO, HaMode, Mirroring, Policy, Promote, mirroring
from hawb.rules.profiles import Profile
from hawb.rules.quorum import majority
from hawb.rules.quorum_profiles import QUORUM_PROFILES

MANY_NODES = 3
"""On more nodes than this, a replica on each node is more than most queues need."""

ANY_NAME = ("", "q", "amq.gen-JzTY20BRgKO-HjmUJj0wLg", "Zürich/7 :: orders")
"""Sample names: a pattern that matches all of them is taken to match every name."""

OF_EXCHANGES = {"alternate-exchange", "federation-upstream", "federation-upstream-set", "federation-upstream-pattern"}


def policy_findings(reach: Reach, applied: Sequence[Assignment], inventory: Inventory) -> Iterator[Finding]:
    """Yield the findings about one policy, which applies to the queues in `applied`."""
    if reach.unknown:
        where = " in an operator policy" if reach.operator else ""
        release = inventory.profile.release
        yield _finding("unknown-settings", reach, keys=reach.unknown, release=release, where=where)
    if reach.refused:
        reason = " ".join(reach.refused.removeprefix("Validation failed").split())
        yield _finding("policy-refused", reach, reason=reason, release=inventory.profile.release)
        return
    for check in REACH_CHECKS:
        yield from check(reach, inventory)
    yield from _idle(reach, applied, inventory)
    said = mirroring(reach.definition)
    if said is not None and reach.applied["classic"]:
        for check in MIRRORING_CHECKS:
            yield from check(reach, said, inventory)


def _finding(code: str, reach: Reach, **detail: object) -> Finding:
    kind = "operator policy" if reach.operator else "policy"
    return Finding(code, kind, join_queue(reach.policy.vhost, reach.policy.name), detail)


# How far a policy reaches


def _matches_nothing(reach: Reach, inventory: Inventory) -> Iterator[Finding]:
    covers = QUEUE_TYPES_BY_APPLY_TO.get(reach.policy.apply_to)
    for_exchanges = reach.policy.apply_to == "all" and OF_EXCHANGES.issuperset(reach.policy.definition)
    if covers and not for_exchanges and not reach.matched and not reach.passed_over and inventory.queues:
        yield _finding("matches-nothing", reach, pattern=reach.policy.pattern)


def _matches_everything(reach: Reach, _: Inventory) -> Iterator[Finding]:
    if all(outcome(reach.policy.pattern, name) is Match.YES for name in ANY_NAME):
        yield _finding("matches-everything", reach, pattern=reach.policy.pattern)


def _never_applies(reach: Reach, _: Inventory) -> Iterator[Finding]:
    if reach.matched and not reach.applied:
        yield _finding("never-applies", reach, queues=reach.matched, winners=sorted(reach.beaten_by))


def _tie(reach: Reach, _: Inventory) -> Iterator[Finding]:
    if reach.tied_with:
        others, queues = sorted(reach.tied_with), max(reach.tied_with.values())
        yield _finding("priority-tie", reach, priority=reach.policy.priority, others=others, queues=queues)


def _gives_up(reach: Reach, _: Inventory) -> Iterator[Finding]:
    if reach.given_up:
        yield _finding("pattern-gives-up", reach, pattern=reach.policy.pattern, queues=list(reach.given_up))


def _clash(reach: Reach, inventory: Inventory) -> Iterator[Finding]:
    """Yield a finding if settings make a policy skip queues of a type (`Profile.unsupported_settings`).

    The finding is about all types that the policy's apply-to names, or about each type of the cluster's matching
    queues.
    """
    keys = reach.definition.keys()
    types = QUEUE_TYPES_BY_APPLY_TO.get(reach.policy.apply_to, ())
    clashes = {kind: sorted(keys & inventory.profile.unsupported_by(kind)) for kind in types}
    if types and all(clashes.values()):
        conflicts = "; ".join(f"not for {kind} queues: {', '.join(keys)}" for kind, keys in clashes.items())
        yield _finding("fits-no-type", reach, apply_to=reach.policy.apply_to, clashes=conflicts)
        return
    for kind, queues in reach.passed_over.items():
        yield _finding("passes-over", reach, queues=queues, type=kind, keys=clashes[kind])


def _idle(reach: Reach, applied: Sequence[Assignment], inventory: Inventory) -> Iterator[Finding]:
    for key, reason in idle_settings(Case(reach.policy, reach.definition, inventory.profile, applied)):
        yield _finding("key-without-effect", reach, key=key, reason=reason)


REACH_CHECKS = (_matches_nothing, _matches_everything, _never_applies, _tie, _gives_up, _clash)


# Mirroring settings of a policy that applies to classic queues


def _promotes(reach: Reach, said: Mirroring, inventory: Inventory) -> Iterator[Finding]:
    lets_go = said.promote_on_shutdown is Promote.ALWAYS and said.promote_on_failure is Promote.ALWAYS
    if not lets_go or said.count == 1:
        return
    sync_mode = said.sync_mode.name.lower()
    if said.count is not None and (said.count < len(inventory.nodes) or not inventory.nodes):
        yield _finding("exactly-promotes-always", reach, count=said.count, sync_mode=sync_mode)
    else:
        yield _finding("promotes-always-on-shutdown", reach, mode=said.mode.name.lower(), sync_mode=sync_mode)


def _on_all_nodes(reach: Reach, said: Mirroring, inventory: Inventory) -> Iterator[Finding]:
    nodes = len(inventory.nodes)
    if said.mode is HaMode.ALL and (nodes > MANY_NODES or not nodes):
        known = f"each of {nodes} nodes, of which {majority(nodes)} are a majority"
        yield _finding("mirrors-on-all-nodes", reach, nodes=known if nodes else "every node; no file says how many")


def _nodes_that_are_not(reach: Reach, said: Mirroring, inventory: Inventory) -> Iterator[Finding]:
    if not inventory.nodes:
        return
    if strangers := [node for node in said.nodes if node not in inventory.nodes]:
        yield _finding("unknown-node", reach, strangers=strangers)
    if said.count is not None and said.count > len(inventory.nodes) > 1:
        yield _finding("more-replicas-than-nodes", reach, count=said.count, nodes=len(inventory.nodes))


MIRRORING_CHECKS = (_promotes, _on_all_nodes, _nodes_that_are_not)


# Settings without effect


EXCHANGES_TOO = "all"
AFTER_HA_MODE = ("ha-sync-mode", "ha-sync-batch-size", "ha-promote-on-shutdown", "ha-promote-on-failure")
LENGTHS = ("max-length", "max-length-bytes")
LAZY_FOR_ALL = ("3.13", "4.0", "4.3")
OF_QUORUM_QUEUES = ("delivery-limit", "max-in-memory-length", "max-in-memory-bytes")


class Case(Struct, frozen=True):
    """A policy, the part of its definition that the release knows, and the queues that it applies to."""

    policy: Policy
    definition: dict[str, object]
    profile: Profile
    applied: Sequence[Assignment]

    def sets(self, *keys: str) -> bool:
        """Return True if the policy sets one of the keys, or the operator policy or an argument of its queues does."""
        return any(
            key in self.definition or key in one.in_force.definition or f"x-{key}" in (one.queue.facts.arguments or ())
            for one in self.applied
            for key in keys
        )


def idle_settings(case: Case) -> Iterator[tuple[str, str]]:
    """Yield (setting, why it has no effect) in the definition's order.

    Nothing for a policy that applies to no queue.
    """
    if not case.applied:
        return
    for key in case.definition:
        for reason in (reason for keys, reason in REASONS if key in keys):
            if why := reason(case):
                yield key, why
                break


def _keeps_no_mirror(case: Case) -> str | None:
    alone = case.definition.get("ha-mode") == "exactly" and case.definition.get("ha-params") == 1
    return "exactly 1 means no mirror" if alone else None


def _default_batch(case: Case) -> str | None:
    return "1 means the default, 4096" if case.definition["ha-sync-batch-size"] == 1 else None


def _failure_decides(case: Case) -> str | None:
    asked = [case.definition.get(key) for key in ("ha-promote-on-shutdown", "ha-promote-on-failure")]
    if asked == ["always", "when-synced"]:
        return "ha-promote-on-failure when-synced also applies to stops, and promotes no unsynchronised mirror"
    return None


def _no_exchange_to(case: Case) -> str | None:
    return None if case.sets("dead-letter-exchange") else "no dead-letter-exchange, here or in a queue's arguments"


def _falls_back(case: Case) -> str | None:
    if case.definition["dead-letter-strategy"] != "at-least-once":
        return None
    drops = case.definition.get("overflow", "drop-head") != "reject-publish" and not case.sets("overflow")
    return _no_exchange_to(case) or ("at-least-once needs overflow reject-publish" if drops else None)


def _no_length(case: Case) -> str | None:
    if case.sets(*LENGTHS) or case.definition.get("dead-letter-strategy") == "at-least-once":
        return None
    return "no max-length and no max-length-bytes, here or in a queue's arguments"


def _lazy_anyway(case: Case) -> str | None:
    for_all = case.profile.version in LAZY_FOR_ALL
    return "from 3.12 on, all classic queues behave almost like lazy queues" if for_all else None


def _not_read(key: str) -> Callable[[Case], str | None]:
    def check(case: Case) -> str | None:
        read = {setting for setting, _ in QUORUM_PROFILES[case.profile.version].settings}
        readers = [one for one in case.applied if one.queue.type == "quorum" and key in read]
        return None if readers else "no queue that it applies to supports it"

    return check


def _for_exchanges(case: Case) -> str | None:
    covers = QUEUE_TYPES_BY_APPLY_TO.get(case.policy.apply_to)
    mismatched = covers and case.policy.apply_to != EXCHANGES_TOO
    return f"it is for exchanges, and the policy applies to {case.policy.apply_to}" if mismatched else None


REASONS: tuple[tuple[tuple[str, ...], Callable[[Case], str | None]], ...] = (
    (AFTER_HA_MODE, _keeps_no_mirror),
    (("ha-sync-batch-size",), _default_batch),
    (("ha-promote-on-shutdown",), _failure_decides),
    (("dead-letter-routing-key",), _no_exchange_to),
    (("dead-letter-strategy",), _falls_back),
    (("overflow",), _no_length),
    (("queue-mode",), _lazy_anyway),
    *(((key,), _not_read(key)) for key in OF_QUORUM_QUEUES),
    (("alternate-exchange",), _for_exchanges),
)
"""Settings that may have no effect. Each function returns the reason, or None if its setting has an effect."""
