"""The versioned store: every object of the embedded cluster, one rising resourceVersion, and a history per kind.

Synchronous: a write is complete and visible at once. Defaults, validation and the rules of deletion are the callers'.
Stored objects are never changed in place, so readers may keep them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

from vsched.apimachinery.meta.api_errors import already_exists, not_found
from vsched.apimachinery.meta.kinds import Kind, KindRegistry, Obj
from vsched.sim.store.history import Behind, Event, EventHistory, StoredObject, Subscription
from vsched.sim.store.managed_fields import Author, LazyManagedFields, entries_of

__all__ = ["Behind", "Event", "Store", "StoredObject", "Subscription", "key_of", "storage_key"]

R = TypeVar("R")

HISTORY_REVISIONS = 65_536
"""How many changes of the whole cluster watches and lists can go back at least."""


def storage_key(namespace: str, name: str) -> str:
    """The storage key. Lists are ordered by it."""
    return f"{namespace}/{name}" if namespace else name


def key_of(obj: Obj) -> str:
    """``namespace/name``, or the name alone for a cluster-scoped object."""
    metadata = obj["metadata"]
    return storage_key(metadata.get("namespace", ""), metadata["name"])


class ResourceStore:
    """The objects of one storage and their history."""

    def __init__(self, floor: int) -> None:
        self.records: dict[str, StoredObject] = {}
        self.history = EventHistory(floor)
        self._order: list[str] = []
        self._added: dict[str, None] = {}
        self._removed = False

    def put(self, key: str, record: StoredObject) -> None:
        if key not in self.records:
            self._added[key] = None
        self.records[key] = record

    def drop(self, key: str) -> None:
        del self.records[key]
        self._added.pop(key, None)
        self._removed = True

    def ordered(self) -> list[str]:
        """The keys in order. They are sorted when somebody lists, because it is cheap to sort appended runs."""
        added = self._added
        if self._removed:
            self._order = [key for key in self._order if key in self.records and key not in added]
        if added:
            self._order = [*self._order, *added]
            self._order.sort()
            self._added = {}
        self._removed = False
        return self._order

    def keys(self, namespace: str) -> list[str]:
        order = self.ordered()
        if not namespace:
            return order
        # "0" is the character after "/", so this is the range of keys below the namespace.
        return order[bisect_left(order, namespace + "/") : bisect_left(order, namespace + "0")]

    def undo(self, events: Sequence[Event]) -> None:
        """Undo these events, the latest ones of the history."""
        for event in reversed(events):
            if event.previous is not None:
                self.put(event.key, event.previous)
            else:
                self.drop(event.key)

    def at(self, revision: int, namespace: str, start: str) -> tuple[list[str], Mapping[str, StoredObject]]:
        """The keys from ``start`` on and the objects, as they were at a revision; raises Behind if that was dropped.

        The cost is that of the changes since then, because a client may read a large list page by page.
        """
        keys = self.keys(namespace)
        keys = keys[bisect_left(keys, start) :]
        undone = {event.key: event.previous for event in reversed(self.history.since(revision))}
        if not undone:
            return keys, self.records
        prefix = namespace + "/" if namespace else ""
        old = {key: record for key, record in undone.items() if record is not None}
        if len(old) < len(undone):
            keys = [key for key in keys if undone.get(key, self) is not None]
        gone = [key for key in old if key not in self.records and key.startswith(prefix) and key >= start]
        if gone:
            keys = sorted([*keys, *gone])
        return keys, ChainMap(old, self.records)


class Store:
    """The objects of all kinds, with one revision counter."""

    def __init__(self, registry: KindRegistry | None = None, *, history_revisions: int = HISTORY_REVISIONS) -> None:
        self.registry = registry if registry is not None else KindRegistry()
        self.revision = 1
        self._history_revisions = history_revisions
        self._floor = 0
        self._shelves: dict[str, ResourceStore] = {}
        self._derived: dict[tuple[str, Callable[[list[Obj]], Any]], tuple[int, Any]] = {}
        """What was worked out of a resource, and its latest revision then."""

    def shelf(self, kind: Kind) -> ResourceStore:
        shelf = self._shelves.get(kind.storage)
        if shelf is None:
            shelf = self._shelves[kind.storage] = ResourceStore(self._floor)
        return shelf

    def get(self, kind: Kind, namespace: str, name: str) -> StoredObject | None:
        shelf = self._shelves.get(kind.storage)
        return None if shelf is None else shelf.records.get(f"{namespace}/{name}" if namespace else name)

    def items(self, kind: Kind, namespace: str = "") -> list[StoredObject]:
        """The objects of a kind, ordered by "namespace/name"."""
        shelf = self.shelf(kind)
        return [shelf.records[key] for key in shelf.keys(namespace)] if shelf.records else []

    def find(self, resource: str, namespace: str, name: str) -> Obj | None:
        """The object of a resource, which is named ``pods`` or ``group/plural``."""
        record = self.get(self.registry.resource(resource), namespace, name)
        return None if record is None else record.obj

    def objects(self, resource: str, namespace: str = "") -> list[Obj]:
        """The objects of a resource, which is named as for ``find``."""
        if not self.has_any(resource):
            return []
        return [record.obj for record in self.items(self.registry.resource(resource), namespace)]

    def derived(self, resource: str, work_out: Callable[[list[Obj]], R]) -> R:
        """What a function makes of all objects of a resource, which is worked out anew once one of them has changed."""
        latest, key = self.latest(self.registry.resource(resource)), (resource, work_out)
        found = self._derived.get(key)
        if found is None or found[0] != latest:
            found = self._derived[key] = latest, work_out(self.objects(resource))
        result: R = found[1]
        return result

    def has_any(self, resource: str) -> bool:
        """Whether there is an object of a resource, which is named as for ``find``; of most kinds there is none."""
        shelf = self._shelves.get(self.registry.resource(resource).storage)
        return shelf is not None and bool(shelf.records)

    def eldest(self, kind: Kind, count: int) -> list[StoredObject]:
        """The objects that were created first."""
        return list(islice(self.shelf(kind).records.values(), count))

    def count(self, kind: Kind) -> int:
        return len(self.shelf(kind).records)

    def page(
        self, kind: Kind, namespace: str, revision: int, start: str = ""
    ) -> tuple[Sequence[str], Mapping[str, StoredObject]]:
        """The keys from ``start`` on and the objects by key, as they were at ``revision``; may raise Behind."""
        return self.shelf(kind).at(revision, namespace, start)

    def create(self, kind: Kind, obj: Obj, *, author: Author | None = None) -> Obj:
        """Stores a new object under the next revision."""
        metadata, key = obj["metadata"], key_of(obj)
        shelf = self.shelf(kind)
        if key in shelf.records:
            raise already_exists(kind, metadata["name"])
        record = self._stamped(obj, LazyManagedFields.begun(author) if author and not entries_of(obj) else None)
        shelf.put(key, record)
        shelf.history.append(Event("ADDED", key, record, None))
        return record.obj

    def replace(self, kind: Kind, obj: Obj, previous: StoredObject, *, author: Author | None = None) -> Obj:
        """Stores a new state under the next revision; an equal state changes nothing.

        Without an author, the changed fields get no new owner.
        """
        old = previous.obj
        if obj is old or _says_the_same(obj, old):
            return old
        shelf = self.shelf(kind)
        key = key_of(old)
        owners = previous.owners
        if owners is not None:
            owners = None if entries_of(obj) else owners.extended(kind, author, old)
        record = self._stamped(obj, owners)
        shelf.put(key, record)
        shelf.history.append(Event("MODIFIED", key, record, previous))
        return record.obj

    def untrack(self, kind: Kind, obj: Obj) -> None:
        """Forgets who owns the fields of an object."""
        record = self.shelf(kind).records.get(key_of(obj))
        if record is not None:
            record.owners = None

    def remove(self, kind: Kind, namespace: str, name: str) -> Obj:
        """Removes an object; the result is the object with the revision of its deletion."""
        shelf = self.shelf(kind)
        key = storage_key(namespace, name)
        previous = shelf.records.get(key)
        if previous is None:
            raise not_found(kind, name)
        record = self._stamped(previous.obj, None)
        shelf.drop(key)
        shelf.history.append(Event("DELETED", key, record, previous))
        return record.obj

    def subscribe(self, kind: Kind, after: int | None = None) -> Subscription:
        """Events after a revision (raises Behind if some were dropped), or from now on."""
        history = self.shelf(kind).history
        return Subscription(history, history.end if after is None else history.cursor_after(after))

    def latest(self, kind: Kind) -> int:
        """The revision of the newest event of this kind, or of the newest one that was dropped."""
        return self.shelf(kind).history.latest

    def oldest(self, kind: Kind) -> int:
        """The oldest revision that a watch of this kind can start from."""
        return self.shelf(kind).history.floor

    @property
    def floor(self) -> int:
        """The oldest revision that lists can go back to."""
        return max(1, self._floor)

    def restore(self, revision: int) -> None:
        """Go back to the state at a revision, as from a backup: what came later never was.

        The history before it is gone, and so is all that was subscribed to. Raises Behind if it does not reach back.
        """
        later = [(shelf, shelf.history.since(revision)) for shelf in self._shelves.values()]
        for shelf, events in later:
            shelf.undo(events)
            shelf.history.restart(revision)
        self.revision = self._floor = revision
        self._derived.clear()

    def compact(self, revision: int) -> None:
        """Drops the history of every kind up to a revision."""
        self._floor = max(self._floor, revision)
        for shelf in self._shelves.values():
            shelf.history.forget(revision)

    def expire(self, kind: Kind) -> None:
        """Drops the history of a kind, up to a revision that no client can have seen."""
        self.revision += 1
        self.shelf(kind).history.forget(self.revision)

    def discard(self, kind: Kind) -> None:
        """Drops all objects of a kind that is no longer served, and ends its watches."""
        shelf = self._shelves.pop(kind.storage, None)
        if shelf is not None:
            shelf.history.close()

    def _stamped(self, obj: Obj, owners: LazyManagedFields | None) -> StoredObject:
        self.revision += 1
        revision = self.revision
        # In portions: to drop one event at a time would move the whole list each time.
        if revision - self._floor > 1.5 * self._history_revisions:
            self.compact(revision - self._history_revisions)
        metadata = {**obj["metadata"], "resourceVersion": str(revision)}
        # kind and apiVersion come first, because list items are the same bytes without them.
        stamped = {"kind": obj["kind"], "apiVersion": obj["apiVersion"], **obj, "metadata": metadata}
        return StoredObject(stamped, revision, owners)


def _says_the_same(new: Obj, old: Obj) -> bool:
    if new.keys() != old.keys():
        return False
    for field, value in new.items():
        if value is old[field]:
            continue
        if field == "metadata":
            if _without_version(value) != _without_version(old[field]):
                return False
        elif value != old[field]:
            return False
    return True


def _without_version(metadata: Obj) -> Obj:
    return {key: value for key, value in metadata.items() if key != "resourceVersion"}
