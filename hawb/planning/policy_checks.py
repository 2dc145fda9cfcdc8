"""Find problems of a cluster's policies: each check looks at the reach of one policy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hawb.engine.core.naming import join_queue
from hawb.planning.assignments import Assignment, Reach
from hawb.planning.findings import Finding
from hawb.planning.idle_settings import Case, idle_settings
from hawb.planning.inventory import Inventory
from hawb.rules.patterns import Match, outcome
from hawb.rules.policies import QUEUE_TYPES_BY_APPLY_TO, HaMode, Mirroring, Promote, mirroring
from hawb.rules.quorum import majority

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
    """Yield a finding for settings because of which queues of a type pass the policy over.

    That is every type that its apply-to names, or types of which the cluster has queues that match.
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
