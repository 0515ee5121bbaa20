"""All nodes: the pods on each, the sums over them, and the table for snapshots.

Sums are integers, updated by adding and subtracting. ``publish`` rewrites only the rows of nodes that changed. Pods on
a node that has not been seen do not count until it is, nor does a pod that no node has taken where it asks for more
than the node has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from vsched.mirror.ingest.nodes import NodeFacts
from vsched.mirror.state.node_records import NodeRecord
from vsched.mirror.state.node_rows import NodeRows
from vsched.mirror.state.node_tables import vectors
from vsched.mirror.state.node_usage import NodeUsageStore
from vsched.model.amounts.resources import NOTHING, PODS, Amounts, ResourceAxis, Vector, add, subtract
from vsched.model.nodes.table import NodeAttributes, NodeTable
from vsched.model.nodes.usage import Reading
from vsched.model.pods.placed import PlacedPods
from vsched.model.pods.status import HOLDS, Status
from vsched.model.pods.task import Task


class NodeStore:
    """Every node by name with its sums, the cluster's sums, and the published table."""

    def __init__(self, axis: ResourceAxis) -> None:
        self.axis = axis
        self.total: Vector = {}
        self.used: Vector = {}
        """Without pods that no node has taken."""
        self.capacity_version = 0
        """Grows whenever the allocatable amounts of a node change."""
        self.stated_version = 0
        """Grows whenever what the object of a node offers changes, or the node comes or goes."""
        self._served: set[str] = set()
        """Names of nodes with extended resources that devices serve."""
        self._usage = NodeUsageStore()
        self._placed = PlacedPods()
        self._published_placed = PlacedPods()
        self._records: dict[str, NodeRecord] = {}
        self._known = 0
        self._rows = NodeRows(axis, self._records)

    def __len__(self) -> int:
        return self._known

    @property
    def version(self) -> int:
        """Grows whenever the table or the placed pods change."""
        return self._rows.version

    def adopt(
        self,
        table: NodeTable,
        placed: PlacedPods,
        tasks: Iterable[Task],
        plugins: Mapping[int, frozenset[str]] | None = None,
    ) -> None:
        """Take over what another mirror has published; pods that are not among the tasks are known by sums alone.

        ``plugins`` are the columns that devices serve, each with the nodes whose own objects offer the resource.
        """
        self._rows.adopt(table)
        self._placed, self._published_placed = placed.writable(), placed.copy()
        allocatable, used = vectors(table.allocatable), vectors(table.allocatable - table.idle)
        rows = zip(table.statics.attributes, allocatable, used, vectors(table.releasing), strict=True)
        for (attributes, has, takes, leaves), taken in zip(rows, table.scoring.T.tolist(), strict=True):
            record = self._records[attributes.name] = NodeRecord(attributes.name)
            record.attributes, record.allocatable = attributes, tuple(has.items())
            record.served = tuple(
                (column, value)
                for column, value in has.items()
                if plugins and column in plugins and attributes.name not in plugins[column]
            )
            record.stated = tuple(amount for amount in has.items() if amount not in record.served)
            if record.served:
                self._served.add(attributes.name)
            record.used, record.releasing = takes, leaves
            record.milli_cpu, record.memory = taken
            add(self.total, record.allocatable)
            add(self.used, takes.items())
        self._known = len(table)
        for task in tasks:
            if task.node and HOLDS[task.status].uses:
                record = self._record(task.node)
                record.tasks[task.uid] = task
                if task.status is Status.UNTAKEN and _has_room_for(record, task):
                    subtract(self.used, task.shape.request)

    def unknown(self, name: str) -> int:
        """How many pods on a node are known by sums alone."""
        record = self._records[name]
        known = sum(dict(task.shape.request).get(PODS, 0) for task in record.tasks.values() if _counts(record, task))
        return record.used.get(PODS, 0) - known

    def leave_known(self, name: str) -> None:
        """The pods that are known by sums alone have left a node."""
        record = self._records[name]
        for task in record.tasks.values():
            self._charge(record, task, -1)
        subtract(self.used, record.used.items())
        record.used, record.releasing, record.milli_cpu, record.memory = {}, {}, 0, 0
        self._placed.clear(name)
        self._rows.changed[name] = None
        for task in record.tasks.values():
            self._charge(record, task, 1)

    def put(self, task: Task) -> None:
        """Add a task that uses its node."""
        record = self._record(task.node)
        record.tasks[task.uid] = task
        if record.attributes is not None:
            self._charge(record, task, 1)

    def drop(self, task: Task) -> None:
        """Take away a task that was added."""
        record = self._records[task.node]
        del record.tasks[task.uid]
        if record.attributes is not None:
            self._charge(record, task, -1)
        else:
            self._discard_empty(record)

    def move(self, old: Task | None, new: Task | None) -> None:
        """Replace the usage of a task by its usage now."""
        self._usage.move(old, new)
        used_before = old is not None and bool(old.node) and HOLDS[old.status].uses
        uses_now = new is not None and bool(new.node) and HOLDS[new.status].uses
        if old is not None and new is not None and used_before and uses_now and _same_usage(old, new):
            self._replace(old, new)
            return
        if old is not None and used_before:
            self.drop(old)
        if new is not None and uses_now:
            self.put(new)

    def _replace(self, old: Task, new: Task) -> None:
        """A task that takes the same as before; its labels may be others: API servers add some once it has a node."""
        record = self._records[new.node]
        record.tasks[new.uid] = new
        if new.labels is not old.labels and record.attributes is not None:
            self._placed.shift(old.labels, old.shape, record.name, -1)
            self._placed.shift(new.labels, new.shape, record.name, 1)
            self._rows.relabelled = True

    def alters(self, new: NodeAttributes) -> bool:
        """Whether a known node gets other labels or taints, or is cordoned or created again."""
        record = self._records.get(new.name)
        old = None if record is None else record.attributes
        return old is not None and (old.labels, old.taints, old.unschedulable, old.created) != (
            new.labels,
            new.taints,
            new.unschedulable,
            new.created,
        )

    def see(self, facts: NodeFacts) -> bool:
        """Take in a node; True where it has changed."""
        attributes = facts.attributes
        record = self._record(attributes.name)
        before = record.attributes
        if before == attributes and record.stated == facts.allocatable:
            return False
        if record.stated != facts.allocatable or before is None:
            record.stated = facts.allocatable
            self.stated_version += 1
            self._offer(record)
        if before != attributes:
            record.attributes = attributes
            self._rows.attributes_changed = True
        if before is None:
            self._known += 1
            self._rows.membership_changed = True
            for task in record.tasks.values():
                self._charge(record, task, 1)
        return True

    def lose(self, name: str) -> bool:
        """A node object is gone; True where it was known."""
        record = self._records.get(name)
        if record is None or record.attributes is None:
            return False
        for task in record.tasks.values():
            self._charge(record, task, -1)
        subtract(self.total, record.allocatable)
        self.capacity_version += 1
        self.stated_version += 1
        self._served.discard(name)
        record.attributes, record.allocatable, record.stated, record.served = None, NOTHING, NOTHING, NOTHING
        self._known -= 1
        self._rows.membership_changed = True
        self._discard_empty(record)
        return True

    def serve(self, served: Mapping[str, Amounts]) -> None:
        """Set the extended resources that devices serve, by node; other nodes have none."""
        for name in self._served.union(served):
            record = self._records.get(name)
            amounts = served.get(name, NOTHING)
            if record is not None and record.attributes is not None and record.served != amounts:
                record.served = amounts
                self._offer(record)
        self._served = set(served)

    def _offer(self, record: NodeRecord) -> None:
        """Set what a node has: what its object says, and what devices serve besides."""
        offered = record.stated
        if record.served:
            offered = tuple(sorted((dict(record.served) | dict(record.stated)).items()))
        if offered == record.allocatable:
            return
        tasks = record.tasks.values() if record.attributes is not None else ()
        untaken = [task for task in tasks if task.status is Status.UNTAKEN]
        for task in untaken:
            self._charge(record, task, -1)
        subtract(self.total, record.allocatable)
        add(self.total, offered)
        self.capacity_version += 1
        record.allocatable = offered
        self._rows.changed[record.name] = None
        for task in untaken:
            self._charge(record, task, 1)

    def stated(self) -> Iterator[tuple[str, Amounts]]:
        """What the object of each node offers."""
        for record in self._records.values():
            if record.attributes is not None:
                yield record.name, record.stated

    @property
    def is_dirty(self) -> bool:
        """Whether amounts have changed since the last publication."""
        return bool(self._rows.changed)

    def use(self, reading: Reading | None, unknown: Iterable[Task] = ()) -> None:
        """Set the measured usage of nodes; None where it is not collected.

        ``unknown`` stands for pods that are known by sums alone and may be younger than the reading.
        """
        known = (record.tasks.values() for record in self._records.values())
        self._usage.take(reading, lambda: chain(chain.from_iterable(known), unknown))

    def forget_load(self, task: Task) -> None:
        """A pod that is known by sums alone has left: its load is not to come."""
        self._usage.move(task, None)

    def known(self) -> Iterator[tuple[NodeAttributes, Amounts]]:
        """Every node that has been seen, with its allocatable amounts."""
        for record in self._records.values():
            if record.attributes is not None:
                yield record.attributes, record.allocatable

    def facts(self, name: str) -> NodeFacts | None:
        """A node as its object states it, None where it has not been seen."""
        record = self._records.get(name)
        if record is None or record.attributes is None:
            return None
        return NodeFacts(record.attributes, record.stated)

    def __contains__(self, name: str) -> bool:
        """Whether the node has been seen, and is still there."""
        record = self._records.get(name)
        return record is not None and record.attributes is not None

    def tasks(self, name: str) -> list[Task] | None:
        """The pods on a node, None where the node has not been seen."""
        record = self._records.get(name)
        return None if record is None or record.attributes is None else list(record.tasks.values())

    @property
    def young(self) -> int:
        """The number of young pods (see ``node_usage``)."""
        return len(self._usage)

    def columns(self) -> set[int]:
        """Columns of resources that nodes offer."""
        return {column for record in self._records.values() for column, _ in record.allocatable}

    def prepare(self) -> Iterator[None]:
        """Publish most of the pods' labels ahead of ``publish``, in steps; nothing where little has changed."""
        yield from self._placed.prepare(self._published_placed)

    def publish(self, axis: ResourceAxis) -> tuple[NodeTable, PlacedPods]:
        """The table and the placed pods; the cost follows what changed. ``axis`` names the columns of the table."""
        table = self._rows.publish(axis)
        self._placed.publish(self._published_placed)
        table.usage = self._usage.publish(table.statics)
        return table, self._published_placed

    def _record(self, name: str) -> NodeRecord:
        record = self._records.get(name)
        if record is None:
            record = self._records[name] = NodeRecord(name)
        return record

    def _discard_empty(self, record: NodeRecord) -> None:
        if record.attributes is None and not record.tasks:
            del self._records[record.name]

    def _charge(self, record: NodeRecord, task: Task, sign: int) -> None:
        if not _counts(record, task):
            return
        shape = task.shape
        shift = add if sign > 0 else subtract
        shift(record.used, shape.request)
        if task.status is not Status.UNTAKEN:
            shift(self.used, shape.request)
        if HOLDS[task.status].releasing:
            shift(record.releasing, shape.request)
        record.milli_cpu += sign * shape.scoring_cpu
        record.memory += sign * shape.scoring_memory
        self._placed.shift(task.labels, shape, record.name, sign)
        self._rows.changed[record.name] = None


def _same_usage(old: Task, new: Task) -> bool:
    return (
        old.node == new.node
        and old.shape is new.shape
        and HOLDS[old.status].releasing is HOLDS[new.status].releasing
        and (old.status is Status.UNTAKEN) is (new.status is Status.UNTAKEN)
    )


def _counts(record: NodeRecord, task: Task) -> bool:
    """Whether a pod on a node takes something of it."""
    return task.status is not Status.UNTAKEN or _has_room_for(record, task)


def _has_room_for(record: NodeRecord, task: Task) -> bool:
    """Whether the node, if it were empty, could take the pod."""
    has = dict(record.allocatable)
    return all(value <= has.get(column, 0) for column, value in task.shape.request)
