"""Find dead-letter cycles: queues whose dead letters can be dead-lettered until they reach the same queue again.

RabbitMQ drops such a message if no client has rejected it on the way round, and logs a warning once
(`rabbit_dead_letter:detect_cycles`, `mc:is_death_cycle`); a rejected one goes round for ever. A queue's dead letters go
to its dead-letter exchange with its dead-letter routing key, else with the keys with which they were published
(`rabbit_dead_letter:publish`). These keys follow from the queue's own bindings, from the bindings before an exchange
that ignores routing keys, such as a fanout, and from the dead letters that reach the queue. A queue without bindings
gets its messages through the default exchange, by its name.

A cycle in which one queue delays messages (message-ttl) and another dead-letters only what a client rejects is the
usual way to retry: no message is dropped, and the retries never end.
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
MOST_COMPARISONS = 2_000_000
"""Limit of comparisons between words of bindings and routing keys, and of steps from queue to queue.

A larger cluster's cycles are not searched further.
"""


class Source(Struct):
    """A queue with a dead-letter exchange.

    Its fields are the exchange, the policy that sets it (None if an argument does), the routing keys of its dead
    letters, whether these are the original keys, whether messages wait there until they expire, and whether the queue
    dead-letters messages that no client rejected.
    """

    queue: Assignment
    exchange: str
    policy: Policy | None
    keys: frozenset[str]
    keeps_keys: bool
    waits: bool
    gives_up: bool

    @property
    def key(self) -> Key:
        """Return its vhost and name."""
        return self.queue.queue.vhost, self.queue.queue.name


def dead_letter_findings(assignments: Sequence[Assignment], inventory: Inventory) -> Iterator[Finding]:
    """Yield a finding for each policy that alone causes dead-letter cycles, and one for each other cycle."""
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
    """Return the policy to set, in the scenario contract's form, so that `policy` no longer causes a dead-letter cycle.

    It is a new policy that keeps the other settings for these queues, or if there are none, `policy` with a pattern
    that does not match them.
    """
    names = "|".join(map(re.escape, queues))
    settings = {key: value for key, value in policy.definition.items() if key not in (EXCHANGE, ROUTING_KEY, STRATEGY)}
    common = {"vhost": policy.vhost, "apply_to": policy.apply_to}
    if settings:
        return common | {"name": f"{policy.name}-dead-letters", "pattern": f"^({names})$", "definition": settings,
                       "priority": policy.priority + 1}  # fmt: skip
    rest = policy.pattern[1:] if policy.pattern.startswith("^") and "|" not in policy.pattern else None
    pattern = f"^(?!({names})$)" + (f".*({policy.pattern})" if rest is None else rest)
    return common | {"name": policy.name, "pattern": pattern, "definition": policy.definition,
                   "priority": policy.priority}  # fmt: skip


def _names(around: Iterable[Source]) -> list[str]:
    return [join_queue(*one.key) for one in around]


def _path(around: Sequence[Source]) -> str:
    return " → ".join([*_names(around), join_queue(*around[0].key)])


def _sources(assignments: Sequence[Assignment], inventory: Inventory) -> dict[Key, Source]:
    """Return the queues with a dead-letter exchange; streams have none."""
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
    """Return the routing keys, as topic patterns, with which messages reach each bound queue.

    They are the keys of the queue's bindings; where a binding accepts any key, those of the bindings between exchanges
    before it.
    """
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
    """Return the keys that a binding accepts, as a topic pattern; a key without wildcards is a pattern too."""
    kind = exchanges.get((binding.vhost, binding.source), PREDECLARED.get(binding.source))
    return binding.routing_key if kind in ("direct", "topic") else ANY_KEY


def _edges(sources: Mapping[Key, Source], inventory: Inventory) -> dict[Key, list[Key]]:
    """Return the queues with a dead-letter exchange to which each queue's dead letters go."""
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
            if left < 0:
                break
            reached, used = _reached(*about, bound, inventory.exchanges)
            left -= used
            known[about] = [target for target in reached if target in sources]
        left -= len(known[about])
        for target in known[about]:
            edges[place][target] = None
            if sources[target].keeps_keys and key != ANY_KEY and (target, key) not in asked:
                asked.add((target, key))
                waiting.append((target, key))
    return {place: list(targets) for place, targets in edges.items()}


def _reached(
    vhost: str, exchange: str, key: str, bound: Mapping[Key, list[Binding]], exchanges: Mapping[Key, str]
) -> tuple[Iterable[Key], int]:
    """Return the queues that messages with a key reach from an exchange, directly or through other exchanges.

    Return also how many words of bindings were compared with it.
    """
    seen, waiting, used = {exchange}, [exchange], 0
    words = 1 + key.count(".")
    found: dict[Key, None] = {}
    while waiting:
        name = waiting.pop()
        if name == DEFAULT:
            found[vhost, key] = None
            continue
        kind = exchanges.get((vhost, name), PREDECLARED.get(name))
        for binding in bound.get((vhost, name), ()):
            used += 1 if kind != "topic" else words * (1 + binding.routing_key.count("."))
            if not _lets_through(kind, binding.routing_key, key):
                continue
            if binding.destination_type == "queue":
                found[vhost, binding.destination] = None
            elif binding.destination not in seen:
                seen.add(binding.destination)
                waiting.append(binding.destination)
    return found, used


def _lets_through(kind: str | None, routing_key: str, key: str) -> bool:
    """Return True if a binding accepts a message with this key, or with some key of this pattern.

    A pattern that stands for any key carries no information, and matches only bindings that accept any key. Exchanges
    of other types are not modelled.
    """
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
    """Yield the shortest cycle through each queue that is on one, unless a cycle found before contains the queue."""
    on_a_cycle: set[Key] = set()
    edges = _without_ends(edges)
    left = MOST_COMPARISONS
    for start in edges:
        if start in on_a_cycle:
            continue
        if left < 0:
            break
        before: dict[Key, Key] = {}
        waiting = deque([start])
        while waiting and start not in before:
            place = waiting.popleft()
            left -= len(edges.get(place, ()))
            for target in edges.get(place, ()):
                if target not in before:
                    before[target] = place
                    waiting.append(target)
        if start in before:
            cycle = [start]
            while (place := before[cycle[-1]]) != start:
                cycle.append(place)
            on_a_cycle.update(cycle)
            yield [start, *reversed(cycle[1:])]


def _without_ends(edges: Mapping[Key, Sequence[Key]]) -> dict[Key, list[Key]]:
    """Return the graph without the queues from which no cycle can be reached."""
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
