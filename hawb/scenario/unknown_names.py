"""Find the names in a scenario that match nothing that exists, and the existing names most like them.

RabbitMQ accepts most of them without an error: it confirms messages that no queue takes, deletes a queue that does not
exist, and keeps a policy that matches nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import Any

from msgspec import Struct

from hawb.engine.core.naming import join_queue, split_queue
from hawb.rules import patterns
from hawb.rules.policies import QUEUE_TYPES_BY_APPLY_TO, matched
from hawb.scenario import verbs
from hawb.scenario.document import Scenario
from hawb.scenario.fields import PolicyEntry
from hawb.scenario.refused import LEAST_SIMILAR, nearest

QUEUE, POLICY, EXCHANGE, NODE, CLIENT = "queue", "policy", "exchange", "node", "client"
"""The kinds of names."""

PREDECLARED = frozenset({"", "amq.direct", "amq.fanout", "amq.headers", "amq.match", "amq.topic", "amq.rabbitmq.trace"})
"""The exchanges of every virtual host."""

NOT_LETTERS = re.compile(r"\\(?P<escaped>\W)|\.[*+?]|\[[^]]*\][*+?]?|\{[^}]*\}|\\\w|[][(){}^$|*+?]")
"""The parts of a pattern that stand for no letter of a name, and escaped letters."""

MOST_QUEUES = 1_000
"""The most queues with whose names' parts a pattern is compared: each name has many."""

LEAST_WITHIN = 0.8
"""The least similarity of a pattern's letters to a part of a name that is not its beginning."""


class Unknown(Struct, frozen=True):
    """A name that matches nothing: its kind, the index of the first step that uses it, and similar names that exist.

    `step` is None if it stands above the steps. A policy's `pattern` is what matches no queue; `near` are queues.
    """

    kind: str
    name: str
    step: int | None
    near: tuple[str, ...]
    pattern: str = ""


def unknown_names(scenario: Scenario, outcome: Mapping[str, Any]) -> tuple[Unknown, ...]:
    """Return the names that match nothing at any time and are near one that exists.

    Each is returned once, in the order of the steps. `outcome` is the scenario's outcome.
    """
    found: dict[tuple[str, str], Unknown] = {}
    for one in _Names(scenario, outcome).unknown():
        if one.near:
            found.setdefault((one.kind, one.name), one)
    return tuple(found.values())


class _Names:
    def __init__(self, scenario: Scenario, outcome: Mapping[str, Any]) -> None:
        self._scenario = scenario
        self._outcome = outcome
        self._verbs = [(index, step.verb) for index, step in enumerate(scenario.steps)]
        self._refused = {error["step"] for error in outcome.get("errors", ())}

    @cached_property
    def queues(self) -> dict[str, None]:
        """Return the queues that existed at any time or that a step wanted to declare."""
        declared = [verb.queue for _, verb in self._verbs if isinstance(verb, verbs.Declare) and not verb.passive]
        standing = [entry.queue for entry in self._scenario.queues]
        seen = [name for part in ("queues", "queues_elsewhere", "deleted") for name in self._outcome.get(part, ())]
        return dict.fromkeys(full_name(name) for name in (*standing, *declared, *seen))

    @cached_property
    def _exchanges(self) -> dict[str, dict[str, None]]:
        """Return the exchanges that queues of each virtual host are bound to."""
        found: dict[str, dict[str, None]] = {}
        for _, verb in self._verbs:
            if isinstance(verb, verbs.Bind):
                found.setdefault(split_queue(verb.queue)[0], {})[verb.exchange] = None
        return found

    def unknown(self) -> Iterator[Unknown]:
        """Yield the names that match nothing."""
        yield from self._settings(None, [(entry.queue, entry.arguments) for entry in self._scenario.queues])
        for policy in (*self._scenario.policies, *self._scenario.operator_policies):
            yield from self._policy(None, policy)
        for index, verb in self._verbs:
            if isinstance(verb, PolicyEntry):
                yield from self._policy(index, verb)
            elif isinstance(verb, verbs.Declare):
                yield from self._settings(index, [(verb.queue, verb.arguments)])
            elif isinstance(verb, verbs.ClearPolicy | verbs.ClearOperatorPolicy):
                yield from self._cleared(index, verb)
            yield from self._queues_of(index, verb)
            yield from self._clients_of(index, verb)

    def _queues_of(self, index: int, verb: Any) -> Iterator[Unknown]:
        given = verb.targets if isinstance(verb, verbs.Publish) else (getattr(verb, "queue", None),)
        names = [full_name(name) for name in given if name]
        yield from (self._queue(index, name) for name in names if name not in self.queues)

    def _queue(self, index: int | None, name: str) -> Unknown:
        vhost, local = split_queue(name)
        elsewhere = tuple(other for other in self.queues if split_queue(other)[1] == local)
        here = [split_queue(other)[1] for other in self.queues if split_queue(other)[0] == vhost]
        near = elsewhere if len(elsewhere) == 1 else tuple(join_queue(vhost, one) for one in nearest(local, here))
        return Unknown(QUEUE, name, index, near)

    def _clients_of(self, index: int, verb: Any) -> Iterator[Unknown]:
        if isinstance(verb, verbs.Ack | verbs.Nack | verbs.Cancel):
            yield from self._client(index, verb.consumer, self._named("consumer"))
        elif isinstance(verb, verbs.Close):
            publishers = [other.name for _, other in self._verbs if isinstance(other, verbs.Publisher)]
            known = [*self._named("consumer"), *publishers, *self._named("connection")]
            yield from self._client(index, verb.name, known)

    def _named(self, field: str) -> list[str]:
        """Return the values of `field` in steps that introduce a client; `ack`, `nack` and `cancel` do not."""
        answers = verbs.Ack | verbs.Nack | verbs.Cancel
        names = [getattr(verb, field, None) for _, verb in self._verbs if not isinstance(verb, answers)]
        return [name for name in names if name]

    @staticmethod
    def _client(index: int, name: str, known: list[str]) -> Iterator[Unknown]:
        if name not in known:
            yield Unknown(CLIENT, name, index, nearest(name, dict.fromkeys(known)))

    def _cleared(self, index: int, cleared: verbs.ClearPolicy | verbs.ClearOperatorPolicy) -> Iterator[Unknown]:
        operators = isinstance(cleared, verbs.ClearOperatorPolicy)
        setting = verbs.SetOperatorPolicy if operators else verbs.SetPolicy
        standing = self._scenario.operator_policies if operators else self._scenario.policies
        policies = [*standing, *(verb for _, verb in self._verbs if isinstance(verb, setting))]
        known = dict.fromkeys(policy.name for policy in policies if policy.vhost == cleared.vhost)
        if cleared.name not in known:
            yield Unknown(POLICY, cleared.name, index, nearest(cleared.name, known))

    def _policy(self, index: int | None, policy: PolicyEntry) -> Iterator[Unknown]:
        yield from self._settings(index, [(join_queue(policy.vhost, ""), policy.definition)], prefix="")
        params = policy.definition.get("ha-params")
        if policy.definition.get("ha-mode") == "nodes" and isinstance(params, list):
            known = self._scenario.known_nodes
            for name in params:
                if isinstance(name, str) and name not in known:
                    yield Unknown(NODE, name, index, nearest(name, known))
        if index in self._refused:
            return
        if policy.apply_to in QUEUE_TYPES_BY_APPLY_TO and not self._reaches(policy):
            name = join_queue(policy.vhost, policy.name)
            yield Unknown(POLICY, name, index, self._nearest_to_pattern(policy), policy.pattern)

    def _reaches(self, policy: PolicyEntry) -> bool:
        """Return True if a policy matches a queue, or its pattern is invalid."""
        if patterns.pattern_error(policy.pattern) is not None:
            return True
        here = [local for vhost, local in map(split_queue, self.queues) if vhost == policy.vhost]
        return any(matched(policy, local) is not patterns.Match.NO for local in here)

    def _nearest_to_pattern(self, policy: PolicyEntry) -> tuple[str, ...]:
        """Return the queues that a pattern would match with another virtual host, or with a few other letters."""
        elsewhere = tuple(name for name in self.queues if matched(policy, split_queue(name)[1]) is patterns.Match.YES)
        if elsewhere:
            return elsewhere[:1]
        letters = NOT_LETTERS.sub(lambda found: found["escaped"] or "", policy.pattern)
        starts, ends = policy.pattern.startswith("^"), policy.pattern.endswith("$")
        parts: dict[str, str] = {}
        for name in islice(self.queues, MOST_QUEUES):
            vhost, local = split_queue(name)
            if vhost == policy.vhost:
                for part in _parts(local, len(letters), starts, ends):
                    parts.setdefault(part, name)
        least = LEAST_SIMILAR if starts else LEAST_WITHIN
        return tuple(dict.fromkeys(parts[part] for part in nearest(letters, parts, least))) if letters else ()

    def _settings(
        self, index: int | None, of: Iterable[tuple[str, Mapping[str, Any]]], prefix: str = "x-"
    ) -> Iterator[Unknown]:
        """Yield the exchange, or with the default exchange the queue, to which arguments or a policy dead-letter."""
        for queue, settings in of:
            vhost = split_queue(queue)[0]
            exchange, key = (settings.get(f"{prefix}dead-letter-{part}") for part in ("exchange", "routing-key"))
            if exchange == "" and isinstance(key, str) and join_queue(vhost, key) not in self.queues:
                yield self._queue(index, join_queue(vhost, key))
            known = self._exchanges.get(vhost, {})
            if isinstance(exchange, str) and exchange not in known and exchange not in PREDECLARED:
                yield Unknown(EXCHANGE, exchange, index, nearest(exchange, known))


def full_name(queue: str) -> str:
    """Return a queue's one name, however the file writes it."""
    return join_queue(*split_queue(queue))


def _parts(name: str, length: int, starts: bool, ends: bool) -> Iterator[str]:
    """Yield the parts of a name that so many letters of a pattern may be meant for, one letter more or less."""
    if starts and ends:
        yield name
    elif starts or ends:
        yield from (name[:size] if starts else name[-size:] for size in range(max(length - 1, 1), length + 2))
    else:
        yield from (name[at : at + length] for at in range(max(len(name) - length, 0) + 1))
