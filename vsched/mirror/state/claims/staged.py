"""Maps that snapshots show: a change shows with the next publication, which costs as much as there are changes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Generic, TypeVar

V = TypeVar("V")


class Staging:
    """Whether anything was changed since the last publication; shared by all that is published together."""

    __slots__ = ("changed",)

    def __init__(self) -> None:
        self.changed = False


class StagedMap(Generic[V]):
    """A map by name. ``published`` is updated in place by ``publish`` alone."""

    def __init__(self, stage: Staging) -> None:
        self._stage = stage
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
        self._stage.changed = True
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
    """A map with one item."""

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


class GroupedItems(Mapping[str, Mapping[str, V]]):
    """Items by group and name. A group of one item keeps nothing but the item, which knows its name."""

    def __init__(self, name_of: Callable[[V], str]) -> None:
        self._groups: dict[str, V | dict[str, V]] = {}
        self._name_of = name_of

    def __getitem__(self, group: str) -> Mapping[str, V]:
        return self._shown(self._groups[group])

    def __iter__(self) -> Iterator[str]:
        return iter(self._groups)

    def __len__(self) -> int:
        return len(self._groups)

    def __contains__(self, group: object) -> bool:
        return group in self._groups

    def put(self, group: str, name: str, item: V | None, before: Mapping[str, V]) -> None:
        """Set an item of a group that has been ``before`` until now, None where it is gone."""
        known = self._groups.get(group)
        if item is not None and (not before or (len(before) == 1 and name in before)):
            self._groups[group] = item
            return
        items = known if isinstance(known, dict) else dict(before)
        self._groups[group] = items
        if item is None:
            items.pop(name, None)
        else:
            items[name] = item

    def take_over(self, changed: GroupedItems[V]) -> None:
        """Replace the groups that have changed; those without items are gone."""
        for group, items in changed._groups.items():
            if isinstance(items, dict) and not items:
                self._groups.pop(group, None)
            else:
                self._groups[group] = items

    def _shown(self, found: V | dict[str, V]) -> Mapping[str, V]:
        return found if isinstance(found, dict) else Single(self._name_of(found), found)


class StagedGroups(Generic[V]):
    """Items by group and name. What is published of a group never changes: a change makes a new map of it."""

    def __init__(self, name_of: Callable[[V], str], stage: Staging) -> None:
        """``name_of`` gives the name of an item."""
        self._stage = stage
        self.published: GroupedItems[V] = GroupedItems(name_of)
        self._pending: GroupedItems[V] = GroupedItems(name_of)
        self._name_of = name_of

    def put(self, group: str, name: str, item: V | None) -> None:
        """Set an item of a group, None where it is gone."""
        self._stage.changed = True
        self._pending.put(group, name, item, self.now(group))

    def now(self, group: str) -> Mapping[str, V]:
        """The items of a group, with changes that are not shown yet."""
        return (self._pending if group in self._pending else self.published).get(group, {})

    def publish(self) -> Collection[str]:
        """Show the changes; returns the groups that changed."""
        pending = self._pending
        if pending:
            self._pending = GroupedItems(self._name_of)
            self.published.take_over(pending)
        return pending.keys()


class SmallMap(Generic[V]):
    """A map of few items: each publication of a change makes a new map."""

    def __init__(self, stage: Staging) -> None:
        self._stage = stage
        self.items: dict[str, V] = {}
        self.published: dict[str, V] = {}
        self._changed = False

    def put(self, name: str, item: V | None) -> bool:
        """Set an item, None where it is gone; True where it has changed."""
        if self.items.get(name) == item:
            return False
        self._changed = self._stage.changed = True
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
