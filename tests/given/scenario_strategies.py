"""Hypothesis strategies for scenarios, made from the types of the structs themselves."""

from __future__ import annotations

import types
import typing
from typing import Annotated, Any, Literal

from hypothesis import strategies as st
from msgspec import Meta
from msgspec.structs import fields

from hawb.engine.core.naming import join_queue, split_queue
from hawb.scenario.document import Cluster, PauseIfAllDown, QueueEntry, Scenario, Step, Timing, Uncompared
from hawb.scenario.fields import NODE, OUTCOME
from hawb.scenario.verbs import VERBS, Cut, Partition, PolicyEntry, Publish

NODES = ("a", "rabbit@b", "on", "3.10", "é: #")
OUTCOMES = ({}, {"queues": {"q": None}}, {"nodes": {"on": "down"}, "errors": [{"step": 0, "contains": "x"}]})

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
nodes = st.sampled_from(NODES)
plain_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)


def of_type(hint: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for values of a field's type within its bounds."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return _annotated(inner[0], inner[1])
    if origin in (typing.Union, types.UnionType):
        return st.one_of([of_type(member) for member in inner])
    if origin is Literal:
        return st.sampled_from(inner)
    if origin is tuple:
        return st.lists(of_type(inner[0]), unique=True, max_size=3).map(tuple)
    return {str: texts, bool: st.booleans(), type(None): st.none()}[hint]


def _annotated(base: Any, meta: Meta) -> st.SearchStrategy[Any]:
    if meta.extra == NODE:
        return nodes
    if meta.extra == OUTCOME:
        return st.sampled_from(OUTCOMES)
    if base is int:
        return st.integers(meta.ge, meta.le)
    if base is float:
        return st.floats(meta.ge, meta.le)
    if base is str:
        return texts.filter(bool)
    if typing.get_origin(base) is tuple:
        return st.lists(of_type(typing.get_args(base)[0]), min_size=meta.min_length or 0, max_size=3, unique=True).map(
            tuple
        )
    return st.dictionaries(texts, plain_values, max_size=3)


def of_struct(struct: type, **given: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return a strategy for structs, with the given strategies for some fields and types for the rest."""
    drawn = {f.name: given[f.name] if f.name in given else of_type(f.type) for f in fields(struct)}
    optional = {f.name for f in fields(struct) if not f.required} - set(given)
    return st.fixed_dictionaries(
        {name: values for name, values in drawn.items() if name not in optional},
        optional={name: values for name, values in drawn.items() if name in optional},
    ).map(lambda values: struct(**values))


_names = texts.filter(bool)
_several = st.lists(_names, min_size=1, max_size=3, unique=True).map(tuple)
_pairs = st.lists(nodes, min_size=2, max_size=2, unique=True).map(tuple)
_splits = st.lists(nodes, min_size=2, unique=True).map(lambda names: ((names[0],), tuple(names[1:])))

# What a type cannot say: which fields go together.
_CONSTRAINED = {
    Publish: of_struct(Publish, queue=_names, queues=st.just(()))
    | of_struct(Publish, queue=st.none(), queues=_several),
    Partition: st.builds(Partition, _splits),
    Cut: st.builds(Cut, st.lists(_pairs, min_size=1, max_size=3).map(tuple)),
}
verbs = st.one_of([_CONSTRAINED[verb] if verb in _CONSTRAINED else of_struct(verb) for verb in VERBS.values()])
steps = st.builds(Step, verbs, st.none() | st.floats(0, 1e9))

clusters = of_struct(
    Cluster,
    nodes=st.permutations(NODES).map(tuple),
    down=st.dictionaries(nodes, st.sampled_from(["stopped", "killed"])),
    cluster_partition_handling=st.just("ignore") | of_struct(PauseIfAllDown),
    timing=of_struct(Timing),
)
_classic = of_struct(
    QueueEntry,
    type=st.just("classic"),
    messages=st.integers(10, 10**12),
    unacknowledged=st.integers(0, 10),
    master=st.just("a"),
    mirrors=st.just(("on", "rabbit@b")),
    synchronised_mirrors=st.sampled_from([(), ("on",)]),
    leader=st.none(),
    members=st.just(()),
    stopped_members=st.just(()),
)
_quorum = st.builds(
    QueueEntry, _names, type=st.just("quorum"), leader=st.none() | st.just("a"), members=st.just(("a", "on")),
    stopped_members=st.sampled_from([(), ("on",)]),
)  # fmt: skip


def _unlike(entries: st.SearchStrategy[Any], key: Any) -> st.SearchStrategy[Any]:
    return st.lists(entries, max_size=3, unique_by=key).map(tuple)


_policies = _unlike(of_struct(PolicyEntry), lambda policy: f"{policy.vhost}::{policy.name}")
scenarios = st.builds(
    Scenario,
    scenario=_names,
    seed=st.integers(0, 2**63 - 1),
    cluster=clusters,
    policies=_policies,
    operator_policies=_policies,
    queues=_unlike(_classic | _quorum, lambda entry: join_queue(*split_queue(entry.queue))),
    steps=st.lists(steps, max_size=8).map(tuple),
    expect=st.none() | st.sampled_from(OUTCOMES),
    racy=st.none() | st.builds(Uncompared, st.just(("queues.ha.q", "queues.*.mirrors")), _names),
)
