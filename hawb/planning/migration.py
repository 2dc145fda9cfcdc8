"""Plan the move to quorum queues.

The plan says for each queue whether it is ready, what has to change first, or why it cannot be moved; it holds the
policies for afterwards, and the clashes between the old cluster and the new one.

The feature matrix says what quorum queues support in the target release. A queue that cannot be moved stays a classic
queue, with the part of its policy that the release knows. Which policies apply afterwards is computed, by the rules of
that release, and a queue whose settings differ from those translated for it is reported. A plan holds no users,
permissions or parameters, so it needs no protection.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from hawb.engine.core.naming import join_queue
from hawb.exports.routing import Routing
from hawb.planning import quorum_translation as translation
from hawb.planning.assignments import Assigned, Assignment, assign
from hawb.planning.inventory import Inventory, Queue
from hawb.planning.policy_split import NOTHING, Split, in_order, split
from hawb.planning.quorum_translation import Reason
from hawb.planning.redeclaring import Redeclaration, Today, is_filled_in, redeclaration
from hawb.planning.refused_there import Refused
from hawb.planning.replication import members_for_mirrors
from hawb.planning.staying import kept_arguments, left_out, why_it_stays
from hawb.rules.feature_matrix import Feature
from hawb.rules.profiles import FEDERATION_SETTINGS, PROFILES, Profile
from hawb.rules.queue_types import CLASSIC, QUORUM, has_default_types
from hawb.rules.quorum_profiles import QUORUM_PROFILES
from hawb.rules.upgrade_road import Leg, is_older, series_of

Verdict = Literal["ready", "ready with changes", "not", "quorum already", "stays"]
VERDICTS: tuple[Verdict, ...] = ("ready", "ready with changes", "not", "quorum already", "stays")
"""Queues that stay are none that the move is about: streams, queues that are temporary and not mirrored, and those that
plugins declare for themselves."""

MOVED: tuple[Verdict, ...] = ("ready", "ready with changes")

DEEP_MESSAGES = 5_000_000
"""Backlog from which on streams suit better, according to the guide."""

MARKERS = {"queue-mode", "dead-letter-strategy"}
"""Settings whose only purpose is to separate policies by queue type."""

UPSTREAM = (
    "uses federation upstreams, which are parameters and can contain passwords: no file has them; set them by hand"
    " before the policies"
)
WHEN_NOT = "guide to quorum queues, when not to use them"


class Move(Struct, frozen=True, kw_only=True):
    """A queue, its verdict with reasons, and its arguments after the move.

    If the queue stays classic, the arguments are those that the release accepts. `unknown_facts` lists facts that no
    file contains and without which the verdict is a guess. `redeclaration` says what happens when an application
    declares the queue as before; None if the queue stays as it is.
    """

    queue: Queue
    verdict: Verdict
    reasons: list[Reason]
    arguments: dict[str, object]
    mirrored: bool
    unknown_facts: tuple[str, ...] = ()
    redeclaration: Redeclaration | None = None

    @property
    def type(self) -> str:
        """Return the type of the queue after the move."""
        return self.queue.type if self.verdict in ("not", "stays") else "quorum"

    @property
    def weights(self) -> dict[str, list[Reason]]:
        """Return the reasons by weight."""
        weights = ("blocks", "changes", "note")
        return {weight: [one for one in self.reasons if one.weight == weight] for weight in weights}


class Clash(Struct, frozen=True):
    """A conflict between the old and the new cluster: a code, its subject, the conflict in words, and its source."""

    code: str
    name: str
    what: str
    source: str


class Crossing(Struct, frozen=True):
    """The upgrade path to the release.

    It holds the steps, what the last release refuses, and the plan of the move before the step that ends mirroring, by
    the rules of the release that runs until then; None if no step does.
    """

    legs: tuple[Leg, ...]
    refused: list[Refused]
    before: Migration | None

    @property
    def moves_before(self) -> int:
        """Return the index of the step that ends mirroring, before which queues are moved; or one past the last."""
        return next((number for number, leg in enumerate(self.legs) if leg.drops_mirrors), len(self.legs))


class Migration(Struct, frozen=True, kw_only=True):
    """The whole plan: a move for each queue, the policies afterwards, the clashes, and what is left out.

    `release` is the release in the files, whose rules are those of `source`; `queues_listed` is False if no file lists
    queues; `running` is the release that runs when queues are moved by this plan; `crossing` is None if no upgrade path
    was asked for (`hawb.planning.crossing`).
    """

    source: Profile
    target: Profile
    nodes: list[str]
    moves: list[Move]
    splits: list[Split]
    clashes: list[Clash]
    routing: Routing
    notes: list[str]
    queues_listed: bool = True
    release: str | None = None
    running: str
    crossing: Crossing | None = None

    @property
    def runs(self) -> str:
        """Return the release in the files, with the release whose rules are used in its place if they differ."""
        if self.release is None or self.release == self.source.release:
            return self.source.release
        return f"{self.release}, by the rules of {self.source.release}"

    def policies(self, operator: bool) -> list:
        """Return the policies, or operator policies, after the move."""
        return [part.policy for one in self.splits if one.operator is operator for part in one.parts]

    @property
    def moved(self) -> list[Move]:
        """Return the queues that become quorum queues."""
        return self.with_verdict(*MOVED)

    @property
    def new_default_type(self) -> str | None:
        """Return the default queue type of new vhosts, or None if the release that runs at the move has none."""
        return QUORUM if has_default_types(self.running) else None

    @property
    def moving(self) -> Migration:
        """Return the plan by which queues are moved: that of the step which ends mirroring, or this one."""
        return (self.crossing.before if self.crossing else None) or self

    @property
    def affected(self) -> list[Move]:
        """Return the queues that become quorum queues and those that cannot."""
        return self.with_verdict(*MOVED, "not")

    def with_verdict(self, *verdicts: Verdict) -> list[Move]:
        """Return the queues with one of these verdicts."""
        return [move for move in self.moves if move.verdict in verdicts]

    @property
    def counts(self) -> dict[str, int]:
        """Return how many queues have each verdict."""
        found = Counter(move.verdict for move in self.moves)
        return {verdict: found[verdict] for verdict in VERDICTS}


def migrate(
    inventory: Inventory, to: str, matrix: Mapping[str, Feature], routing: Routing | None = None
) -> Migration:
    """Return the plan that moves a cluster to a version. Raise KeyError for an unknown version."""
    target, routing = PROFILES[to], routing or Routing()
    assigned = assign(inventory)
    running = _running(inventory, target)
    moves = [_move(one, inventory, target, matrix) for one in assigned.assignments]
    moves = _redeclared(moves, inventory, target, routing, QUORUM if has_default_types(running) else None)
    splits = in_order(_splits(assigned, moves, target, matrix), target)
    after = _after(inventory, target, moves, splits)
    return Migration(
        source=inventory.profile,
        target=target,
        nodes=list(inventory.nodes),
        moves=moves,
        splits=splits,
        clashes=[*_policy_clashes(splits), *_setting_clashes(assigned, moves, after, target, matrix),
                 *redeclare_clashes(moves), *_cluster_clashes(inventory, moves, target)],
        routing=routing,
        notes=list(inventory.notes),
        queues_listed=inventory.queues_listed,
        release=inventory.release,
        running=running,
    )  # fmt: skip


def _running(inventory: Inventory, target: Profile) -> str:
    """Return the release that runs at the move: the target's if an upgrade leads there before, else the cluster's."""
    own = inventory.release or inventory.profile.release
    series = series_of(own)
    return target.release if inventory.release and (series is None or is_older(series, target.version)) else own


# Queues


def _move(assignment: Assignment, inventory: Inventory, target: Profile, matrix: Mapping[str, Feature]) -> Move:
    queue, in_force = assignment.queue, assignment.in_force
    said = in_force.mirroring if not queue.facts.exclusive else None
    mirrored = said is not None
    if (why := why_it_stays(queue, mirrored or bool(queue.facts.mirrors), target, matrix)) is not None:
        return Move(queue=queue, verdict="not" if why.weight == "blocks" else "stays", mirrored=mirrored,
                    reasons=[why, *left_out(queue, target)], arguments=kept_arguments(queue, target))  # fmt: skip
    becoming = translation.becoming(queue, in_force.definition or {}, matrix, target)
    translated, from_policy, reasons = becoming.arguments, becoming.definition, becoming.reasons
    if queue.type == "classic":
        wanted = members_for_mirrors(said, len(inventory.nodes) or None)
        default = len(inventory.nodes) if target.quorum_cluster_size is None else target.quorum_cluster_size
        if wanted != default and default and "x-quorum-initial-group-size" not in translated.settings:
            translated.settings["x-quorum-initial-group-size"] = wanted
    blocked = any(one.weight == "blocks" for one in reasons)
    if blocked and queue.type == "classic":
        blocks = [one for one in reasons if one.weight == "blocks"]
        return Move(queue=queue, verdict="not", reasons=[*blocks, *left_out(queue, target)],
                    arguments=kept_arguments(queue, target), mirrored=mirrored,
                    unknown_facts=_unknown_facts(assignment))  # fmt: skip
    limited = "delivery-limit" in from_policy.settings or "x-delivery-limit" in translated.settings
    reasons += _notes(assignment, inventory, target, matrix, limited)
    if queue.type == "quorum":
        verdict: Verdict = "quorum already"
    else:
        verdict = "ready with changes" if any(one.weight == "changes" for one in reasons) else "ready"
    return Move(
        queue=queue, verdict=verdict, reasons=reasons, arguments=translated.settings, mirrored=mirrored,
        unknown_facts=_unknown_facts(assignment),
    )  # fmt: skip


def _redeclared(
    moves: list[Move], inventory: Inventory, target: Profile, routing: Routing, new_type: str | None
) -> list[Move]:
    """Return the moves with the result of declaring each queue as before.

    That concerns queues that become quorum queues, and classic queues that move to the same new vhosts, where RabbitMQ
    would fill in the type quorum.
    """
    profile = inventory.profile if inventory.release else None
    used = {move.queue.vhost for move in moves if move.verdict in MOVED}
    made = []
    for move in moves:
        facts, vhost = move.queue.facts, move.queue.vhost
        beside = move.verdict == "not" and move.type == CLASSIC and vhost in used and is_filled_in(facts)
        if move.verdict in MOVED or (beside and new_type is not None):
            today = Today(profile, routing.default_types.get(vhost))
            found = redeclaration(move.queue, move.arguments, today, target, new_type)
            move = replace(move, redeclaration=found)
        made.append(move)
    return made


def _unknown_facts(assignment: Assignment) -> tuple[str, ...]:
    facts = assignment.queue.facts
    facts_known = {"arguments": facts.arguments, "durability": facts.durable, "policy": assignment.in_force.definition}
    return tuple(what for what, value in facts_known.items() if value is None)


def _notes(
    assignment: Assignment, inventory: Inventory, target: Profile, matrix: Mapping[str, Feature], limited: bool
) -> Iterator[Reason]:
    facts, said = assignment.queue.facts, assignment.in_force.mirroring
    if QUORUM_PROFILES[target.version].delivery_limit is not None and not limited:
        often = "a message that is returned for the 21st time"
        if target.version == "4.3":
            often = "a message whose delivery fails for the 21st time (basic.reject, a channel's end; not basic.nack)"
        yield Reason("note", f"{often} is dropped, or dead-lettered if a dead-letter exchange is set",
                     matrix["poison-messages"].cell("quorum", target.version).source)  # fmt: skip
    if said is not None:
        yield Reason("note", "members replace its mirrors; the ha settings are removed", translation.MIRRORING_SOURCE)
    if unknown := _unknown_facts(assignment):
        yield Reason("note", f"no file contains its {', '.join(unknown)}, which could change the verdict", "the files")
    unmirrored = said is None and not facts.mirrors and assignment.in_force.definition is not None
    if assignment.queue.type == "classic" and unmirrored:
        yield Reason("note", "is not mirrored today: a quorum queue writes to a majority; a classic queue stays as"
                             " it is", WHEN_NOT + "if the safety of the messages does not matter")  # fmt: skip
    if facts.messages and facts.messages >= DEEP_MESSAGES:
        yield Reason("note", f"holds {facts.messages:,} messages: streams suit long backlogs better", WHEN_NOT)
    elif facts.messages and target.version == "3.8":
        yield Reason("note", f"its {facts.messages:,} messages are kept in memory on every member, unless"
                     " max-in-memory-length says otherwise", WHEN_NOT + ": long backlogs")  # fmt: skip
    if inventory.published and not inventory.confirmed:
        yield Reason("note", "no publisher in this cluster uses confirms, and without confirms a publisher cannot"
                             " know that a majority has a message",
                     WHEN_NOT + "if the safety of the messages does not matter")  # fmt: skip


# Policies


def _splits(
    assigned: Assigned, moves: list[Move], target: Profile, matrix: Mapping[str, Feature]
) -> Iterator[Split]:
    types: dict[tuple, set[str]] = {}
    first: dict[tuple, set[str]] = {}
    for one, move in zip(assigned.assignments, moves, strict=True):
        for operator, policies in ((False, one.policies), (True, one.operator_policies)):
            for policy in policies:
                types.setdefault((operator, policy.vhost, policy.name), set()).add(move.type)
            if len(policies) > 1:
                for policy in policies[:-1]:
                    first.setdefault((operator, policy.vhost, policy.name), set()).add(move.type)
    for reach in assigned.reaches:
        if reach.refused:
            continue
        key = (reach.operator, reach.policy.vhost, reach.policy.name)
        meant = types.get(key) or ({"quorum"} if not reach.passed_over else set())
        yield split(reach.policy, meant, first.get(key, ()), matrix, target, reach.operator)


def _after(inventory: Inventory, target: Profile, moves: list[Move], splits: list[Split]) -> Assigned:
    """Return the policies that apply after the move, by the rules of the release."""
    queues = [
        Queue(move.queue.vhost, move.queue.name, replace(move.queue.facts, type=move.type, arguments=move.arguments))
        for move in moves
    ]
    plain, operators = ([part.policy for one in splits if one.operator is operator for part in one.parts]
                        for operator in (False, True))  # fmt: skip
    return assign(replace(inventory, profile=target, policies=plain, operator_policies=operators, queues=queues))


# Clashes


def _policy_clashes(splits: list[Split]) -> Iterator[Clash]:
    for one in splits:
        name = join_queue(one.policy.vhost, one.policy.name)
        if one.both:
            kinds = ", ".join(f"{part.policy.name} ({part.of})" for part in one.parts)
            what = "applies to queues of both types, but its settings do not suit both; from now on: "
            what += kinds or "neither"
            yield Clash("policy-for-both", name, what,
                        "rabbit_policy:match, is_policy_applicable; rabbitmq-server#7350")  # fmt: skip
        if any(FEDERATION_SETTINGS & part.policy.definition.keys() for part in one.parts):
            yield Clash("needs-upstream", name, UPSTREAM, "rabbit_federation_parameters")
        if any(part.stands_in for part in one.parts):
            yield Clash("keeps-silence", name, f"said {one.said}, and kept other policies from applying: a"
                        f" length limit of {NOTHING['max-length']:,} does so in its place",
                        "rabbit_policy:match_all; only one of the policies that match applies")  # fmt: skip


def _setting_clashes(
    assigned: Assigned, moves: list[Move], after: Assigned, target: Profile, matrix: Mapping[str, Feature]
) -> Iterator[Clash]:
    """Yield queues to which other settings would apply than those translated for them."""
    if not any(one.policies or one.operator_policies for one in (*assigned.assignments, *after.assignments)):
        return
    for one, move, then in zip(assigned.assignments, moves, after.assignments, strict=True):
        wanted = dict(one.in_force.definition or {})
        if move.type == "quorum":
            wanted = translation.definition(wanted, matrix, target).settings
        known = target.policy_settings | target.operator_policy_settings
        wanted = {key: value for key, value in wanted.items() if key in known - target.unsupported_by(move.type)}
        applied = then.in_force.definition or {}
        got = {key: value for key, value in applied.items() if NOTHING.get(key) != value}
        differ = {key for key in wanted.keys() | got.keys() if wanted.get(key) != got.get(key)}
        keys = sorted(differ - MARKERS)
        if keys and move.type in ("classic", "quorum"):
            yield Clash("other-settings", move.queue.full_name,
                        f"as a {move.type} queue, other policies apply to it: {', '.join(keys)} would differ",
                        "rabbit_policy:match_all, by the rules of the release")  # fmt: skip


def redeclare_clashes(moves: list[Move]) -> Iterator[Clash]:
    """Yield a clash for each argument with which applications get an error if they declare queues as before.

    The error comes in every way to move, including a new vhost, where some applications need no change.
    """
    by_key: dict[tuple[str, bool], list[Move]] = {}
    for move in moves:
        if move.redeclaration is not None and move.redeclaration.in_new_vhost:
            by_key.setdefault((move.redeclaration.in_new_vhost[0], move.redeclaration.type == CLASSIC), []).append(move)
    for (key, stays), found in by_key.items():
        why = ", where quorum is the default type" if stays else " and in place"
        yield Clash("redeclare", _several(found), "an application that declares it as before gets 406"
                    f" PRECONDITION_FAILED - inequivalent arg '{key}', in a new virtual host{why}",
                    "rabbit_amqqueue:assert_equivalence, augment_declare_args; rabbitmq-server#8076")  # fmt: skip


def _cluster_clashes(inventory: Inventory, moves: list[Move], target: Profile) -> Iterator[Clash]:
    if 0 < len(inventory.nodes) < 3 and any(move.type == "quorum" for move in moves):
        yield Clash("too-few-nodes", ", ".join(inventory.nodes),
                    f"{len(inventory.nodes)} nodes: no majority is left when one of them fails",
                    "rabbit_quorum_queue, rules of majority; rabbitmq-server#2390")  # fmt: skip
    alone = [move for move in moves if move.type == "classic" and move.mirrored]
    if alone and not target.mirroring:
        yield Clash("one-replica", _several(alone), "mirrored today, is not moved, and has one replica in"
                    f" {target.release}", "4.0 rabbit_policies, without ha settings")  # fmt: skip


def _several(moves: list[Move]) -> str:
    more = f" and {len(moves) - 1:,} more" if moves[1:] else ""
    return moves[0].queue.full_name + more
