"""The data of the queue controller: Queues, the PodGroups in them and Commands about them, fed by their watches."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Generic, NamedTuple, TypeVar

from vsched import api
from vsched.api.base import NAMES
from vsched.api.resources import BATCH_GROUP, COMMANDS
from vsched.controllers import words
from vsched.controllers.queues import STATE_WISH, WISHES, QueueState
from vsched.errors import BadObject
from vsched.kube.paths import is_name
from vsched.kube.watch.deltas import BrokenObject, Delta, ListUnderWay
from vsched.mirror.ingest.metadata import created_of
from vsched.model.jobs.native import QueueMember
from vsched.model.names import shared
from vsched.model.queues.queue import CLOSED, CLOSED_BY_PARENT, OPEN, ROOT, SHUT
from vsched.writes.bodies import ObjectReference, deletion_options
from vsched.writes.writer import Write

V = TypeVar("V")

Refuse = Callable[[ObjectReference, str], None]
"""Records an Event on an object with the reason why it is not carried out."""


class QueueRecord(NamedTuple):
    """The fields of a Queue object that its state depends on."""

    name: str
    uid: str
    version: str
    state: str
    parent: str
    wish: str
    """The value of its annotation ``STATE_WISH``, as written."""
    by_parent: bool
    readable: bool = True
    """False if the object could not be decoded: it exists, but its fields are not known."""


class Order(NamedTuple):
    """A Command about an object of some kind. Sorts by age."""

    created: float
    namespace: str
    name: str
    uid: str
    action: str
    target: str
    target_uid: str

    def __str__(self) -> str:
        return f"Command {self.namespace}/{self.name}"

    @property
    def reference(self) -> ObjectReference:
        """The object reference for Events about it."""
        return command_reference(self.namespace, self.name, self.uid)

    @property
    def deletion(self) -> Write:
        """The deletion of the Command, once it is carried out or refused."""
        return Write("command", "DELETE", COMMANDS.path(self.namespace, self.name), deletion_options(self.uid))


class ObjectFeed(Generic[V]):
    """The sink for one kind: keeps of each object only the fields that matter here."""

    def __init__(
        self,
        cut: Callable[[api.Object], V | None],
        changed: Callable[[str, V | None, V | None], None],
        listed: Callable[[], None],
    ) -> None:
        self.found: dict[str, V] = {}
        """By name, or by ``namespace/name`` for namespaced kinds."""
        self.listed = False
        self._under_way = ListUnderWay()
        self._cut = cut
        self._changed = changed
        self._note_listed = listed

    def restart(self) -> None:
        """A list begins."""
        self._under_way.restart(self.found)

    def include(self, item: api.Object) -> None:
        """An object of the list; ignored if the watch has delivered it since the list began."""
        key = _key(item)
        if self._under_way.listed(key):
            self._set(key, self._cut(item))

    def finish(self, resource_version: str) -> Iterator[None]:
        """The list is complete: remove the objects that are gone, at most one per step."""
        for key in self._under_way.finish():
            self._set(key, None)
            yield
        self.listed = True
        self._note_listed()

    def apply(self, delta: Delta, item: api.Object) -> None:
        """One object was added, changed or deleted."""
        value = None if delta is Delta.DELETED else self._cut(item)
        if value is None and not self.found and not self._under_way.lasts:
            return  # as most pods are to most feeds
        key = _key(item)
        self._under_way.watched(key)
        self._set(key, value)

    def broken(self, raw: bytes, error: BrokenObject) -> None:
        """Ignored: its identity is unknown, so nothing can be done about it; the reflector counts it."""

    def _set(self, key: str, value: V | None) -> None:
        before = self.found.get(key)
        if value is not None:
            self.found[key] = value
        elif before is not None:
            del self.found[key]
        if before != value:
            self._changed(key, before, value)


class QueueRecords:
    """The three feeds together; they call ``touched`` with the name of each queue whose state may have to change."""

    def __init__(
        self, default_queue: str, namespaces: frozenset[str], touched: Callable[[str], None], refuse: Refuse
    ) -> None:
        self.complete = asyncio.Event()
        """Set once queues and PodGroups are listed, and what has none as well; before that no state can be decided."""
        self._mirror_complete = False
        self._default_queue = default_queue
        self._namespaces = namespaces
        """The namespaces whose Commands are carried out."""
        self._refuse = refuse
        self._touched = touched
        self._counts: Counter[str] = Counter()
        self._below: dict[str, set[str]] = {}
        """Queues by the parent they name."""
        self._members: dict[str, str] = {}
        """The queue of each native PodGroup, and of pods that have no PodGroup."""
        self._targets: dict[str, dict[str, Order]] = {}
        """Commands by the queue they are about."""
        self._queues: ObjectFeed[QueueRecord] = ObjectFeed(record_of, self._queue_changed, self._note_listed)
        self._podgroups: ObjectFeed[str] = ObjectFeed(self._queue_of, self._podgroup_changed, self._note_listed)
        self._commands: ObjectFeed[Order] = ObjectFeed(self._order_of, self._command_changed, self._note_listed)

    @property
    def feeds(self) -> Mapping[str, ObjectFeed[QueueRecord] | ObjectFeed[str] | ObjectFeed[Order]]:
        """The sinks of the watched kinds."""
        return {"Queue": self._queues, "PodGroup": self._podgroups, "Command": self._commands}

    def member(self, found: QueueMember) -> None:
        """The mirror shows a job without a PodGroup of Volcano in this queue. A tree of native ones counts once."""
        before = self._members.pop(found.key, None)
        if found.queue is not None:
            self._members[found.key] = shared(found.queue)
        if before != found.queue:
            self._podgroup_changed(found.key, before, found.queue)

    def mirror_complete(self) -> None:
        """The mirror knows the jobs that there are."""
        self._mirror_complete = True
        self._note_listed()

    def queue(self, name: str) -> QueueRecord | None:
        """A queue as its object is."""
        return self._queues.found.get(name)

    def orders(self, name: str) -> list[Order]:
        """The Commands about a queue, oldest first."""
        return sorted(self._targets.get(name, {}).values())

    def standing(self, record: QueueRecord) -> QueueState:
        """The facts that the state of a queue depends on."""
        known = QueueState(
            record.name, record.state, WISHES.get(record.wish, ""), record.by_parent, self._counts[record.name]
        )
        parent = self._parent(record)
        if parent is None:
            return known
        # A parent that cannot be decoded counts with the state that was last acted upon.
        state = parent.state if parent.readable else CLOSED if record.by_parent else OPEN
        return known._replace(parent=parent.name, parent_state=state)

    def _parent(self, record: QueueRecord) -> QueueRecord | None:
        """The parent that can keep this queue closed: not the root, and none in a circle of parents."""
        above, seen = self.queue(record.parent), {record.name}
        found = above
        while above is not None and above.name != ROOT:
            if above.name in seen:
                return None
            seen.add(above.name)
            above = self.queue(above.parent)
        return None if found is None or found.name == ROOT or record.name == ROOT else found

    def _touch(self, name: str) -> None:
        if self.complete.is_set():
            self._touched(name)

    def _note_listed(self) -> None:
        """Check every queue once, as soon as queues and all PodGroups are listed."""
        listed = self._queues.listed and self._podgroups.listed and self._mirror_complete
        if listed and not self.complete.is_set():
            self.complete.set()
            for name in [*self._queues.found, *self._targets]:
                self._touched(name)

    def _queue_changed(self, name: str, before: QueueRecord | None, after: QueueRecord | None) -> None:
        for record in (before, after):
            if record is not None and record.parent:
                below = self._below.setdefault(record.parent, set())
                (below.add if record is after else below.discard)(name)
                if not below:
                    del self._below[record.parent]
        self._touch(name)
        if (before.state if before is not None else "") != (after.state if after is not None else ""):
            for child in sorted(self._below.get(name, ())):
                self._touch(child)

    def _podgroup_changed(self, key: str, before: str | None, after: str | None) -> None:
        if before is not None:
            self._counts[before] -= 1
            if not self._counts[before]:
                del self._counts[before]
                record = self.queue(before)
                if record is not None and record.state in SHUT:
                    self._touch(before)
        if after is not None:
            self._counts[after] += 1

    def _command_changed(self, key: str, before: Order | None, after: Order | None) -> None:
        for order in (before, after):
            if order is not None:
                about = self._targets.setdefault(order.target, {})
                about.pop(key, None)
                if order is after:
                    about[key] = order
                if not about:
                    del self._targets[order.target]
                self._touch(order.target)

    def _order_of(self, item: api.Object) -> Order | None:
        """A Command to carry out; None if it is for others or invalid. An invalid one gets an Event."""
        try:
            order = order_of(item)
        except BadObject as error:
            order, problem = None, str(error)
        else:
            problem = "" if order is None or order.namespace in self._namespaces else self._elsewhere
        if problem:
            metadata = item.metadata
            self._refuse(command_reference(metadata.namespace, metadata.name, metadata.uid), problem)
            return None
        return order

    @property
    def _elsewhere(self) -> str:
        named = " or ".join(sorted(self._namespaces))
        return words.commands_in_namespace_only(named)

    def _queue_of(self, item: api.Object) -> str | None:
        return shared(item.spec.queue or self._default_queue) if isinstance(item, api.PodGroup) else None


def record_of(item: api.Object) -> QueueRecord | None:
    """The fields of a Queue that matter here."""
    metadata = item.metadata
    if isinstance(item, api.Malformed):
        return QueueRecord(metadata.name, metadata.uid, metadata.resource_version, "", "", "", False, readable=False)
    if not isinstance(item, api.Queue):
        return None
    annotations = metadata.annotations or {}
    return QueueRecord(
        shared(metadata.name),
        metadata.uid,
        metadata.resource_version,
        item.status.state or "",
        item.spec.parent or "",
        annotations.get(STATE_WISH, ""),
        annotations.get(CLOSED_BY_PARENT) == "true",
    )


def command_reference(namespace: str, name: str, uid: str) -> ObjectReference:
    """The object reference for Events about a Command."""
    return ObjectReference("bus.volcano.sh/v1alpha1", "Command", namespace, name, uid)


def order_of(item: api.Object, kind: str = "Queue", group: str = BATCH_GROUP) -> Order | None:
    """A Command about an object of this kind; None for other Commands. Raises BadObject."""
    if isinstance(item, api.Malformed):
        raise BadObject(item.message)
    if not isinstance(item, api.Command) or item.target is None:
        return None
    metadata, target = item.metadata, item.target
    if (target.api_version.partition("/")[0], target.kind) != (group, kind):
        return None
    if not is_name(target.name):
        what = f"a {kind.lower()}"
        raise BadObject(words.no_name(target.name[:60], what, NAMES))
    return Order(
        created_of(metadata),
        metadata.namespace,
        metadata.name,
        metadata.uid,
        item.action or "",
        target.name,
        target.uid,
    )


def _key(item: api.Object) -> str:
    return f"{item.metadata.namespace}/{item.metadata.name}" if item.metadata.namespace else item.metadata.name
