"""Dead letters that come back: queues from which a message can be dead-lettered until it is in the same queue again.

RabbitMQ drops such a message if no client has rejected it on the way round, and logs a warning once
(`rabbit_dead_letter:detect_cycles`, `mc:is_death_cycle`); a rejected one goes round for ever. A queue's dead letters go
to its dead-letter exchange with its dead-letter routing key, else with the keys that they came with
(`rabbit_dead_letter:publish`). Which keys these are is told by the queue's own bindings, by those of the exchanges
before one that asks for no key, as a fanout, and by the dead letters that come to the queue; a queue without any
gets its messages over the default exchange, by its name.

A cycle in which some queue lets messages wait (message-ttl) and another gives them up only where a client rejects them
is how applications retry: nothing is dropped there, and nothing ends the retries.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from hawb.engine.core.naming import join_queue
from hawb.engine.queues.exchanges import DEFAULT, PREDECLARED
from hawb.exports.definitions import Binding, Key
from hawb.planning.assignments import Assignment
from hawb.planning.findings import Finding
from hawb.planning.inventory import Inventory
from hawb.rules.policies import Policy

EXCHANGE, ROUTING_KEY, STRATEGY = "dead-letter-exchange", "dead-letter-routing-key", "dead-letter-strategy"
TTL = "message-ttl"
LENGTHS = ("max-length", "max-length-bytes")
ANY_KEY = "#"
MOST_COMPARISONS = 5_000_000
"""So many bindings are compared with routing keys; a larger cluster's cycles are not looked for any further."""


class Source(Struct):
    """A queue with a dead-letter exchange: which, the policy that gives it (None: an argument does), the routing keys
    of its dead letters, whether those are the keys that they came with, and whether messages wait there for their end,
    or are given up where no client rejects them."""

    queue: Assignment
    exchange: str
    policy: Policy | None
    keys: frozenset[str]
    keeps_keys: bool
    waits: bool
    gives_up: bool

    @property
    def key(self) -> Key:
        """Its virtual host and name."""
        return self.queue.queue.vhost, self.queue.queue.name


def dead_letter_findings(assignments: Sequence[Assignment], inventory: Inventory) -> Iterator[Finding]:
    """The findings about dead letters that come back: one for each policy that alone leads them round, and one for
    each other cycle."""
    sources = _sources(assignments, inventory)
    by_policy: dict[str, list[list[Source]]] = defaultdict(list)
    for cycle in _cycles(_edges(sources, inventory)):
        around = [sources[key] for key in cycle]
        policies = {one.policy for one in around}
        retries = len(around) > 1 and any(one.waits for one in around) and not all(one.gives_up for one in around)
        if len(policies) == 1 and None not in policies and not retries:
            by_policy[join_queue(cycle[0][0], around[0].policy.name)].append(around)
        else:
            code = "dead-letter-retries" if retries else "dead-letter-cycle"
            yield Finding(code, "queue", join_queue(*cycle[0]), {"path": _path(around), "queues": _names(around)})
    for name, cycles in by_policy.items():
        queues = sorted({one.key for around in cycles for one in around})
        detail = {"exchange": cycles[0][0].exchange, "queues": [join_queue(*key) for key in queues],
                  "path": _path(cycles[0]), "set": _without_cycle(cycles[0][0].policy, [name for _, name in queues])}
        yield Finding("policy-feeds-itself", "policy", name, detail)


def _without_cycle(policy: Policy, queues: Sequence[str]) -> dict[str, object]:
    """The policy to set, as the scenario contract writes it, so that a policy no longer leads the dead letters of these
    queues: one that keeps its other settings for them, else itself with a pattern that they do not match."""
    names = "|".join(map(re.escape, queues))
    settings = {key: value for key, value in policy.definition.items() if key not in (EXCHANGE, ROUTING_KEY, STRATEGY)}
    told = {"vhost": policy.vhost, "apply_to": policy.apply_to}
    if settings:
        return told | {"name": f"{policy.name}-dead-letters", "pattern": f"^({names})$", "definition": settings,
                       "priority": policy.priority + 1}  # fmt: skip
    rest = policy.pattern[1:] if policy.pattern.startswith("^") and "|" not in policy.pattern else None
    pattern = f"^(?!({names})$)" + (f".*({policy.pattern})" if rest is None else rest)
    return told | {"name": policy.name, "pattern": pattern, "definition": policy.definition,
                   "priority": policy.priority}  # fmt: skip


def _names(around: Iterable[Source]) -> list[str]:
    return [join_queue(*one.key) for one in around]


def _path(around: Sequence[Source]) -> str:
    return " → ".join([*_names(around), join_queue(*around[0].key)])


def _sources(assignments: Sequence[Assignment], inventory: Inventory) -> dict[Key, Source]:
    """The queues with a dead-letter exchange. Streams have none."""
    own = _own_keys(inventory)
    found = {}
    for one in assignments:
        arguments, definition = one.queue.facts.arguments or {}, one.in_force.definition or {}
        exchange = arguments.get(f"x-{EXCHANGE}", definition.get(EXCHANGE))
        if one.queue.type == "stream" or not isinstance(exchange, str):
            continue
        key = arguments.get(f"x-{ROUTING_KEY}", definition.get(ROUTING_KEY))
        place = one.queue.vhost, one.queue.name
        by_policy = one.policies and f"x-{EXCHANGE}" not in arguments
        gives = {setting for setting in (TTL, *LENGTHS) if setting in definition or f"x-{setting}" in arguments}
        found[place] = Source(
            one, exchange, one.policies[0] if by_policy else None,
            frozenset([key] if isinstance(key, str) else own.get(place, [one.queue.name])),
            not isinstance(key, str), TTL in gives, bool(gives),
        )  # fmt: skip
    return found


def _own_keys(inventory: Inventory) -> dict[Key, set[str]]:
    """The keys with which messages come to each queue that is bound, as patterns: those of its bindings, and where one
    lets any key through, those of the bindings between exchanges before it."""
    into: dict[Key, list[tuple[Key, str]]] = defaultdict(list)
    own: dict[Key, set[str]] = defaultdict(set)
    before: dict[Key, set[str]] = {}
    for binding in inventory.bindings:
        if binding.destination_type != "queue":
            source = binding.vhost, binding.source
            pattern = _as_pattern(binding, inventory.exchanges)
            into[binding.vhost, binding.destination].append((source, pattern))
    left = MOST_COMPARISONS
    for binding in inventory.bindings:
        if binding.destination_type != "queue":
            continue
        exchange, pattern = (binding.vhost, binding.source), _as_pattern(binding, inventory.exchanges)
        keys = own[binding.vhost, binding.destination]
        keys.add(pattern)
        if pattern != ANY_KEY or not into[exchange]:
            continue
        if exchange not in before and left > 0:
            before[exchange], used = _keys_before(exchange, into)
            left -= used
        keys |= before.get(exchange, set())
        left -= len(before.get(exchange, ()))
    return own


def _keys_before(exchange: Key, into: Mapping[Key, list[tuple[Key, str]]]) -> tuple[set[str], int]:
    """Return the keys, as patterns, that bindings let through to an exchange, and how many bindings were looked at."""
    found: set[str] = set()
    seen, waiting, looked_at = {exchange}, [exchange], 0
    while waiting:
        for source, pattern in into.get(waiting.pop(), ()):
            looked_at += 1
            found.add(pattern)
            if pattern == ANY_KEY and source not in seen:
                seen.add(source)
                waiting.append(source)
    return found, looked_at


def _as_pattern(binding: Binding, exchanges: Mapping[Key, str]) -> str:
    """The keys that a binding lets through, as a pattern of topic exchanges; a key without wildcards is one."""
    kind = exchanges.get((binding.vhost, binding.source), PREDECLARED.get(binding.source))
    return binding.routing_key if kind in ("direct", "topic") else ANY_KEY


def _edges(sources: Mapping[Key, Source], inventory: Inventory) -> dict[Key, list[Key]]:
    """To which other queues with a dead-letter exchange each queue's dead letters go."""
    bound: dict[Key, list[Binding]] = defaultdict(list)
    for binding in inventory.bindings:
        queue = binding.destination_type == "queue"
        if not queue or (binding.vhost, binding.destination) in sources:
            bound[binding.vhost, binding.source].append(binding)
    left = MOST_COMPARISONS
    edges: dict[Key, dict[Key, None]] = {key: {} for key in sources}
    known: dict[tuple[str, str, str], list[Key]] = {}
    waiting = deque((place, key) for place, source in sources.items() for key in sorted(source.keys))
    asked = set(waiting)
    while waiting:
        place, key = waiting.popleft()
        about = place[0], sources[place].exchange, key
        if about not in known:
            left -= len(bound[place[0], sources[place].exchange])
            if left < 0:
                break
            known[about] = [target for target in _reached(*about, bound, inventory.exchanges) if target in sources]
        left -= len(known[about])
        for target in known[about]:
            edges[place][target] = None
            if sources[target].keeps_keys and key != ANY_KEY and (target, key) not in asked:
                asked.add((target, key))
                waiting.append((target, key))
    return {place: list(targets) for place, targets in edges.items()}


def _reached(
    vhost: str, exchange: str, key: str, bound: Mapping[Key, list[Binding]], exchanges: Mapping[Key, str]
) -> Iterator[Key]:
    """The queues that messages with a key reach from an exchange, over other exchanges too."""
    seen, waiting = {exchange}, [exchange]
    found: dict[Key, None] = {}
    while waiting:
        name = waiting.pop()
        if name == DEFAULT:
            found[vhost, key] = None
            continue
        kind = exchanges.get((vhost, name), PREDECLARED.get(name))
        for binding in bound.get((vhost, name), ()):
            if not _lets_through(kind, binding.routing_key, key):
                continue
            if binding.destination_type == "queue":
                found[vhost, binding.destination] = None
            elif binding.destination not in seen:
                seen.add(binding.destination)
                waiting.append(binding.destination)
    yield from found


def _lets_through(kind: str | None, routing_key: str, key: str) -> bool:
    """Return True if a binding takes a message with this key, or with some key of this pattern. A pattern that stands
    for any key tells nothing, and meets only bindings that take any. Exchanges of other types are not played."""
    if kind == "fanout":
        return True
    if kind == "direct":
        return routing_key == key
    if kind != "topic":
        return False
    if ANY_KEY in (routing_key, key):
        return routing_key == ANY_KEY
    return _overlap(routing_key.split("."), key.split("."))


def _overlap(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return True if some key has both patterns, word by word: * is a word, # any number of them."""
    row = [True, *(False for _ in other)]
    for column, word in enumerate(other, 1):
        row[column] = row[column - 1] and word == ANY_KEY
    for mine in one:
        above, row = row, [row[0] and mine == ANY_KEY, *(False for _ in other)]
        for column, word in enumerate(other, 1):
            if ANY_KEY in (mine, word):
                row[column] = above[column] or row[column - 1]
            else:
                row[column] = above[column - 1] and (mine == word or "*" in (mine, word))
    return row[-1]


def _cycles(edges: Mapping[Key, Sequence[Key]]) -> Iterator[list[Key]]:
    """The shortest cycle through each queue that is on one, unless another one that was found goes through it."""
    told: set[Key] = set()
    edges = _without_ends(edges)
    for start in edges:
        if start in told:
            continue
        before: dict[Key, Key] = {}
        waiting = deque([start])
        while waiting and start not in before:
            place = waiting.popleft()
            for target in edges.get(place, ()):
                if target not in before:
                    before[target] = place
                    waiting.append(target)
        if start in before:
            cycle = [start]
            while (place := before[cycle[-1]]) != start:
                cycle.append(place)
            told.update(cycle)
            yield [start, *reversed(cycle[1:])]


def _without_ends(edges: Mapping[Key, Sequence[Key]]) -> dict[Key, list[Key]]:
    """The graph without the queues from which no cycle can be reached."""
    into: dict[Key, list[Key]] = defaultdict(list)
    for place, targets in edges.items():
        for target in targets:
            into[target].append(place)
    left = {place: len(targets) for place, targets in edges.items()}
    ends = [place for place, count in left.items() if not count]
    while ends:
        for place in into[ends.pop()]:
            left[place] -= 1
            if not left[place]:
                ends.append(place)
    return {place: [one for one in targets if left[one]] for place, targets in edges.items() if left[place]}
