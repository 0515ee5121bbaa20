"""metadata.managedFields: who owns which field of an object.

Pure. Few clients ever ask who owns the fields of a pod. So an object without managedFields has ``LazyManagedFields``:
each write only remembers its author and the version before it. The entries are worked out when somebody asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from vsched.apimachinery.meta.kinds import Kind, Obj
from vsched.apimachinery.meta.times import format_time
from vsched.sim.store.field_ownership import Path, compared, from_fields, owned_paths, to_fields

Manager = tuple[str, str, str, str]
"""Name, operation (Apply or Update), apiVersion, subresource."""

MOST_STEPS = 8
"""Versions of an object that are kept; at more than these, its managed fields are worked out."""
MOST_UPDATERS = 10
ANCIENT = "ancient-changes"
"""The manager that the oldest ones are merged into, where there are more than that."""


class Author(NamedTuple):
    """Who wrote a version, by way of which subresource, and when."""

    name: str
    subresource: str
    when: datetime


@dataclass(slots=True)
class FieldOwners:
    """Who owns what, and since when."""

    owned: dict[Manager, set[Path]] = field(default_factory=dict)
    times: dict[Manager, str] = field(default_factory=dict)

    @classmethod
    def of(cls, entries: list[Obj]) -> FieldOwners:
        managed = cls()
        for entry in entries:
            manager = _manager(entry)
            managed.owned[manager] = from_fields(entry.get("fieldsV1") or {})
            managed.times[manager] = entry.get("time") or ""
        return managed

    def copied(self) -> FieldOwners:
        return FieldOwners({manager: set(paths) for manager, paths in self.owned.items()}, dict(self.times))

    def created(self, kind: Kind, obj: Obj, author: Author) -> None:
        """The author owns all fields of a new object but its status."""
        visible = {name: value for name, value in obj.items() if name != "status" or not kind.has_status}
        self._take(_updater(kind, author), owned_paths(kind, visible), author)

    def updated(self, kind: Kind, new: Obj, old: Obj, author: Author | None) -> None:
        """The author becomes the only owner of what changed. A change without an author changes no owner."""
        if author is None:
            return
        changed, gone = compared(kind, new, old)
        if not changed and not gone:
            return
        me = _updater(kind, author)
        for manager in list(self.owned):
            left = self.owned[manager]
            left -= gone
            if manager == me:
                continue
            left -= changed
            if not left:
                del self.owned[manager], self.times[manager]
        self._take(me, changed, author)

    def _take(self, me: Manager, paths: set[Path], author: Author) -> None:
        mine = self.owned.setdefault(me, set())
        mine |= paths
        if not mine:
            del self.owned[me]
            self.times.pop(me, None)
            return
        self.times[me] = format_time(author.when)
        self._merge_oldest()

    def _merge_oldest(self) -> None:
        updaters = [manager for manager in self.owned if manager[1] == "Update"]
        if len(updaters) <= MOST_UPDATERS:
            return
        by_age = sorted(updaters, key=lambda manager: self.times.get(manager, ""))
        for manager in by_age[: len(updaters) - MOST_UPDATERS + 1]:
            ancient = (ANCIENT, "Update", manager[2], "")
            paths, time = self.owned.pop(manager), self.times.pop(manager, "")
            self.owned.setdefault(ancient, set()).update(paths)
            self.times[ancient] = max(self.times.get(ancient, ""), time)

    def entries(self) -> list[Obj]:
        """In the form of metadata.managedFields."""
        return [
            {
                "manager": name,
                "operation": operation,
                "apiVersion": version,
                **({"time": time} if (time := self.times.get((name, operation, version, subresource))) else {}),
                "fieldsType": "FieldsV1",
                "fieldsV1": to_fields(paths),
                **({"subresource": subresource} if subresource else {}),
            }
            for (name, operation, version, subresource), paths in self.owned.items()
            if paths
        ]


class LazyManagedFields:
    """The managed fields of an object as of some version, and who wrote the versions since."""

    __slots__ = ("_managed", "_steps")

    def __init__(self, managed: FieldOwners, steps: tuple[tuple[Author | None, Obj | None], ...]) -> None:
        self._managed = managed
        self._steps = steps
        """The author of each version, and the object before it; None for the first version."""

    @classmethod
    def begun(cls, author: Author) -> LazyManagedFields:
        return cls(_EMPTY, ((author, None),))

    def extended(self, kind: Kind, author: Author | None, before: Obj) -> LazyManagedFields:
        """The same for the next version of the object; ``before`` is the present one."""
        short = self if len(self._steps) < MOST_STEPS else self.settled(kind, before)
        return LazyManagedFields(short._managed, (*short._steps, (author, before)))

    def settled(self, kind: Kind, obj: Obj) -> LazyManagedFields:
        """The same with the entries worked out, so that asking again costs little; ``obj`` is the present version."""
        if not self._steps:
            return self
        managed = self._managed.copied()
        states = [*(before for _, before in self._steps[1:]), obj]
        for (author, before), after in zip(self._steps, states, strict=True):
            assert after is not None
            if before is not None:
                managed.updated(kind, after, before, author)
            elif author is not None:
                managed.created(kind, after, author)
        return LazyManagedFields(managed, ())

    def entries(self, kind: Kind, obj: Obj) -> list[Obj]:
        """The managedFields of ``obj``, the present version."""
        return self.settled(kind, obj)._managed.entries()


_EMPTY = FieldOwners()


def entries_of(obj: Mapping[str, Any]) -> list[Obj]:
    """The managedFields that an object carries itself."""
    return obj["metadata"].get("managedFields") or []


def with_entries(obj: Obj, entries: list[Obj]) -> Obj:
    return {**obj, "metadata": {**(obj.get("metadata") or {}), "managedFields": entries}}


def record_update(kind: Kind, new: Obj, old: Obj, author: Author) -> Obj:
    """``new`` with its managedFields brought up to date after a change by the author, if it has any."""
    carried = entries_of(new) or entries_of(old)
    if not carried:
        return new
    managed = FieldOwners.of(carried)
    managed.updated(kind, new, old, author)
    entries = managed.entries()
    return new if entries == entries_of(new) else with_entries(new, entries)


def _manager(entry: Obj) -> Manager:
    return (
        entry.get("manager", ""),
        entry.get("operation", ""),
        entry.get("apiVersion", ""),
        entry.get("subresource", ""),
    )


def _updater(kind: Kind, author: Author) -> Manager:
    return author.name, "Update", kind.api_version, author.subresource
