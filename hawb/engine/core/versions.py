"""Large maps of moments (queues by name, accounts, Raft groups), kept as what each moment changed.

A turn opens the maps of one moment and closes those of the next. A small map is copied. To copy a large one at each
step would cost time and memory, so the turn takes over the map of its moment, changes it in place and hands it to the
next moment. The moment before keeps the old values of the changed keys, and builds its map again when it is read.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, Mapping, ValuesView
from typing import Any, TypeVar

Key = TypeVar("Key", str, int)
Value = TypeVar("Value")

SMALL = 64
"""A map with at most so many entries is copied."""


class Open(dict[Key, Value]):
    """A large map that one turn at a time writes to.

    `was` has, for each key written since the moment before, its place and value then (None: the key was not there).
    `places` numbers the keys in the order in which they came, which a deleted key needs that is put back.
    """

    __slots__ = ("lent", "next_place", "places", "was")

    def __init__(self, entries: Mapping[Key, Value]):
        super().__init__(entries)
        self.places = {key: place for place, key in enumerate(self)}
        self.next_place = len(self)
        self.was: dict[Key, tuple[int, Value] | None] = {}
        self.lent = True

    def __setitem__(self, key: Key, value: Value) -> None:
        if key not in self.was:
            self.was[key] = (self.places[key], self[key]) if key in self else None
        if key not in self:
            self.places[key] = self.next_place
            self.next_place += 1
        super().__setitem__(key, value)

    def __delitem__(self, key: Key) -> None:
        value, place = self[key], self.places.pop(key)
        if self.was.setdefault(key, (place, value)) is None:
            del self.was[key]  # it came and went in this turn
        super().__delitem__(key)

    def setdefault(self, key: Key, default: Value) -> Value:  # ty: ignore[invalid-method-override]
        """Work as the method of dict, and note the write."""
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key: Key, *default: Any) -> Any:  # ty: ignore[invalid-method-override]
        """Work as the method of dict, and note the write."""
        if key not in self and default:
            return default[0]
        value = self[key]
        del self[key]
        return value

    def _unsupported(self, *_args: object, **_fields: object) -> Any:
        raise TypeError("this write is not noted for the moment before")

    clear = popitem = update = __ior__ = _unsupported


class Version(Mapping[Key, Value]):
    """A large map at one moment: its entries, or the changes to undo in the map of the next moment."""

    __slots__ = ("_entries", "_next", "_was")

    def __init__(self, entries: Open[Key, Value]):
        entries.was, entries.lent = {}, False
        self._entries: Open[Key, Value] | None = entries
        self._next: Version[Key, Value] | None = None
        self._was: dict[Key, tuple[int, Value] | None] = {}

    def __getitem__(self, key: Key) -> Value:
        return self.entries()[key]

    def __iter__(self) -> Iterator[Key]:
        # A turn may take the map over during the iteration.
        return iter(list(self.entries()))

    def items(self) -> ItemsView[Key, Value]:
        """Return the entries. Later writes do not change them."""
        return dict(self.entries()).items()

    def values(self) -> ValuesView[Value]:
        """Return the values. Later writes do not change them."""
        return dict(self.entries()).values()

    def __len__(self) -> int:
        return len(self.entries())

    def __contains__(self, key: object) -> bool:
        return key in self.entries()

    def open(self) -> Open[Key, Value]:
        """Return the map for a turn to write to: this version's own, or a copy if a turn has taken that already."""
        entries = self.entries()
        if entries.lent:
            return type(entries)(entries)
        entries.lent = True
        return entries

    def followed_by(self, entries: Open[Key, Value]) -> Version[Key, Value]:
        """Return the version that a turn leaves, which opened this one."""
        changes, own = entries.was, self._entries is entries
        if own and not changes:
            entries.lent = False
            return self
        following = Version(entries)
        if own:
            self._entries, self._next, self._was = None, following, changes
        return following

    def entries(self) -> Open[Key, Value]:
        """Return the entries of this version, to be read at once and not written to.

        Build them if a later moment has the map, or a turn writes to it.
        """
        entries = self._entries
        if entries is None or entries.was:
            entries = self._entries = self._built()
            self._next, self._was = None, {}
        return entries

    def _built(self) -> Open[Key, Value]:
        chain: list[Version[Key, Value]] = [self]
        while (following := chain[-1]._next) is not None:
            chain.append(following)
        last = chain[-1]._entries
        assert last is not None
        entries, places = dict(last), {}
        for changes in (last.was, *(one._was for one in reversed(chain))):
            for key, before in changes.items():
                if before is None:
                    del entries[key]
                else:
                    places[key], entries[key] = before
        order = last.places | places
        built = type(last)({key: entries[key] for key in sorted(entries, key=order.__getitem__)})
        # What earlier versions have to put back goes by these places.
        built.places, built.next_place, built.lent = {key: order[key] for key in built}, last.next_place, False
        return built


def opened(
    before: Mapping[Key, Value],
    small: Callable[[Mapping[Key, Value]], dict[Key, Value]] = dict,
    large: Callable[[Mapping[Key, Value]], Open[Key, Value]] = Open,
) -> dict[Key, Value]:
    """Return a map of a moment, for a turn to write to."""
    if isinstance(before, Version):
        return before.open()
    return small(before) if len(before) <= SMALL else large(before)


def closed(
    entries: dict[Key, Value], before: Mapping[Key, Value], copied: set[Key] | None = None
) -> Mapping[Key, Value]:
    """Return a map that a turn has written to, for the next moment. `before` is the map that the turn opened.

    Of the values that the turn has `copied`, those equal to what they were become the very values of the moment before,
    and `copied` is emptied. The turn must not write to a large map after closing it.
    """
    if copied:
        for key in copied & entries.keys():
            _put_back(entries, before, key)
        copied.clear()
    if not isinstance(entries, Open):
        return entries
    if isinstance(before, Version):
        return before.followed_by(entries)
    return Version(entries)


def _put_back(entries: dict[Key, Value], before: Mapping[Key, Value], key: Key) -> None:
    if isinstance(entries, Open):
        place, value = entries.was.get(key) or (None, None)
        if value == entries[key]:
            dict.__setitem__(entries, key, value)
            if place == entries.places[key]:
                del entries.was[key]
    elif before.get(key) == entries[key]:
        entries[key] = before[key]
