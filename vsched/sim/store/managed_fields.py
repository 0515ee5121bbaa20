"""The books on who owns which field of an object: metadata.managedFields as values that can be reckoned with.

Pure. ``Trail`` keeps them for objects that nobody has asked about: hardly anybody ever asks who owns the fields of a
pod, so a write only remembers its author and the version before it, and the books come of comparing these when they
are wanted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from vsched.sim.store.field_ownership import Path, compared, from_fields, owned_paths, to_fields
from vsched.sim.store.kinds import Kind, Obj
from vsched.sim.store.times import format_time

Manager = tuple[str, str, str, str]
"""Name, operation (Apply or Update), apiVersion, subresource."""

LONGEST_TRAIL = 8
"""Versions that are kept of an object; then the books are made of them, and the next ones are compared with that."""
MOST_UPDATERS = 10
ANCIENT = "ancient-changes"
"""Who has what came of the oldest managers, where there are more than that."""


class Author(NamedTuple):
    """Who wrote a version, by way of which subresource, and when."""

    name: str
    subresource: str
    when: datetime


@dataclass(slots=True)
class ManagedFields:
    """Who owns what, and since when."""

    owned: dict[Manager, set[Path]] = field(default_factory=dict)
    times: dict[Manager, str] = field(default_factory=dict)

    @classmethod
    def of(cls, entries: list[Obj]) -> ManagedFields:
        books = cls()
        for entry in entries:
            manager = _manager(entry)
            books.owned[manager] = from_fields(entry.get("fieldsV1") or {})
            books.times[manager] = entry.get("time") or ""
        return books

    def copied(self) -> ManagedFields:
        return ManagedFields({manager: set(paths) for manager, paths in self.owned.items()}, dict(self.times))

    def created(self, kind: Kind, obj: Obj, author: Author) -> None:
        """A new object belongs to whoever made it, all but a status that came by itself."""
        visible = {name: value for name, value in obj.items() if name != "status" or not kind.has_status}
        self._take(_updater(kind, author), owned_paths(kind, visible), author)

    def updated(self, kind: Kind, new: Obj, old: Obj, author: Author | None) -> None:
        """What is changed belongs to its author alone, what is gone to nobody; a change without one moves nothing."""
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
        """As metadata.managedFields has them."""
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


class Trail:
    """The books of an object that carries none: as of some version, and who wrote those since."""

    __slots__ = ("_books", "_steps")

    def __init__(self, books: ManagedFields, steps: tuple[tuple[Author | None, Obj | None], ...]) -> None:
        self._books = books
        self._steps = steps
        """Author, and the object before; None for the one that made it."""

    @classmethod
    def begun(cls, author: Author) -> Trail:
        return cls(_EMPTY, ((author, None),))

    def extended(self, kind: Kind, author: Author | None, before: Obj) -> Trail:
        """The trail of the next version; ``before`` is the one that this trail leads to."""
        trail = self if len(self._steps) < LONGEST_TRAIL else self.settled(kind, before)
        return Trail(trail._books, (*trail._steps, (author, before)))

    def settled(self, kind: Kind, obj: Obj) -> Trail:
        """The same with the books made, so that asking again costs little; ``obj`` is what this trail leads to."""
        if not self._steps:
            return self
        books = self._books.copied()
        states = [*(before for _, before in self._steps[1:]), obj]
        for (author, before), after in zip(self._steps, states, strict=True):
            assert after is not None
            if before is not None:
                books.updated(kind, after, before, author)
            elif author is not None:
                books.created(kind, after, author)
        return Trail(books, ())

    def entries(self, kind: Kind, obj: Obj) -> list[Obj]:
        """managedFields of the object this trail leads to."""
        return self.settled(kind, obj)._books.entries()


_EMPTY = ManagedFields()


def entries_of(obj: Mapping[str, Any]) -> list[Obj]:
    """The books an object carries."""
    return obj["metadata"].get("managedFields") or []


def with_entries(obj: Obj, entries: list[Obj]) -> Obj:
    return {**obj, "metadata": {**(obj.get("metadata") or {}), "managedFields": entries}}


def record_update(kind: Kind, new: Obj, old: Obj, author: Author) -> Obj:
    """``new`` with the books it carries corrected for a change by the author; without any it stays without."""
    carried = entries_of(new) or entries_of(old)
    if not carried:
        return new
    books = ManagedFields.of(carried)
    books.updated(kind, new, old, author)
    entries = books.entries()
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
