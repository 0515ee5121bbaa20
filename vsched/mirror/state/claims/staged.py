"""Maps that snapshots show: a change shows with the next publication, which costs as much as there are changes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Generic, TypeVar

V = TypeVar("V")


class StagedMap(Generic[V]):
    """A map by name. ``published`` is updated in place by ``publish`` alone."""

    def __init__(self) -> None:
        self.published: dict[str, V] = {}
        self._pending: dict[str, V | None] = {}
        """Changes since the last publication; None for what is gone."""

    @property
    def changed(self) -> Collection[str]:
        """The names of what changed since the last publication."""
        return self._pending.keys()

    def get(self, name: str) -> V | None:
        """The item as it is now, None where there is none."""
        return self._pending[name] if name in self._pending else self.published.get(name)

    def put(self, name: str, item: V | None) -> None:
        """Set an item, None where it is gone."""
        if item is None and name not in self.published:
            self._pending.pop(name, None)
        else:
            self._pending[name] = item

    def items(self) -> Iterator[tuple[str, V]]:
        """All items as they are now."""
        for name, item in self.published.items():
            if name not in self._pending:
                yield name, item
        for name, pending in self._pending.items():
            if pending is not None:
                yield name, pending

    def publish(self) -> Collection[str]:
        """Show the changes; returns the names of what changed."""
        pending = self._pending
        if pending:
            self._pending = {}
        for name, item in pending.items():
            if item is None:
                self.published.pop(name, None)
            else:
                self.published[name] = item
        return pending.keys()


class Single(Mapping[str, V]):
    """A map with one item. Most claims have one user, and a dict takes five times as much memory."""

    __slots__ = ("_item", "_name")

    def __init__(self, name: str, item: V) -> None:
        self._name = name
        self._item = item

    def __getitem__(self, name: str) -> V:
        if name != self._name:
            raise KeyError(name)
        return self._item

    def __iter__(self) -> Iterator[str]:
        yield self._name

    def __len__(self) -> int:
        return 1


class StagedGroups(Generic[V]):
    """Items by group and name. What is published of a group never changes: a change makes a new map of it."""

    def __init__(self) -> None:
        self.published: dict[str, Mapping[str, V]] = {}
        self._pending: dict[str, Mapping[str, V]] = {}

    def put(self, group: str, name: str, item: V | None) -> None:
        """Set an item of a group, None where it is gone."""
        items = self._pending.get(group)
        if items is None:
            items = self.published.get(group)
        if item is not None and (not items or (len(items) == 1 and name in items)):
            self._pending[group] = Single(name, item)
            return
        if not isinstance(items, dict) or group not in self._pending:
            items = dict(items or {})
            self._pending[group] = items
        if item is None:
            items.pop(name, None)
        else:
            items[name] = item

    def now(self, group: str) -> Mapping[str, V]:
        """The items of a group, with changes that are not shown yet."""
        found = self._pending.get(group)
        return self.published.get(group, {}) if found is None else found

    def publish(self) -> Collection[str]:
        """Show the changes; returns the groups that changed."""
        pending = self._pending
        if pending:
            self._pending = {}
        for group, items in pending.items():
            if items:
                self.published[group] = items
            else:
                self.published.pop(group, None)
        return pending.keys()


class SmallMap(Generic[V]):
    """A map of few items: each publication of a change makes a new map."""

    def __init__(self) -> None:
        self.items: dict[str, V] = {}
        self.published: dict[str, V] = {}
        self._changed = False

    def put(self, name: str, item: V | None) -> bool:
        """Set an item, None where it is gone; True where it has changed."""
        if self.items.get(name) == item:
            return False
        self._changed = True
        if item is None:
            del self.items[name]
        else:
            self.items[name] = item
        return True

    def publish(self) -> bool:
        """Show the changes; True where there were any."""
        changed, self._changed = self._changed, False
        if changed:
            self.published = dict(self.items)
        return changed
