"""Every input of the rules for a small cluster. The domain is finite, so tests try all of it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations, permutations, product
from typing import NamedTuple

Nodes = tuple[int, ...]


class Record(NamedTuple):
    """A queue's master, its mirrors (oldest first) and the synchronised ones (newest first)."""

    master: int
    mirrors: Nodes
    synchronised: Nodes


def subsets(nodes: Nodes) -> Iterator[Nodes]:
    """Return all subsets, each in order."""
    return chain.from_iterable(combinations(nodes, size) for size in range(len(nodes) + 1))


def arrangements(nodes: Nodes) -> Iterator[Nodes]:
    """Return all subsets in all orders."""
    return chain.from_iterable(permutations(nodes, size) for size in range(len(nodes) + 1))


def subsets_both_ways(nodes: Nodes) -> Iterator[Nodes]:
    """Return all subsets in order and in reverse."""
    return (order for subset in subsets(nodes) for order in sorted({subset, subset[::-1]}))


def records(size: int) -> Iterator[Record]:
    """Every record of a queue in a cluster of `size` nodes. A mirror that becomes synchronised goes to the head of
    that list, and older ones usually have come first: of its orders both ends are tried, newest and oldest first."""
    nodes = tuple(range(size))
    for master in nodes:
        for mirrors in arrangements(tuple(node for node in nodes if node != master)):
            for synchronised in subsets_both_ways(mirrors):
                yield Record(master, mirrors, synchronised)


def with_available(size: int) -> Iterator[tuple[Record, Nodes]]:
    """Return every record with every set of nodes that may run."""
    return product(records(size), tuple(subsets(tuple(range(size)))))
