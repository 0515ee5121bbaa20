"""All nodes: the pods on each, the sums over them, and the table for snapshots.

Sums are integers, updated by adding and subtracting. ``publish`` rewrites only the rows of nodes that changed. Pods on
a node that has not been seen do not count until it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

import numpy as np
import numpy.typing as npt

from vsched.mirror.ingest.nodes import NodeFacts
from vsched.mirror.state.node_usage import NodeUsageStore
from vsched.model.amounts.quantity import MOST
from vsched.model.amounts.resources import NOTHING, PODS, Amounts, ResourceAxis, Vector, add, subtract
from vsched.model.nodes.table import Ints, NodeAttributes, NodeStatics, NodeTable
from vsched.model.nodes.usage import Reading
from vsched.model.pods.placed import PlacedPods
from vsched.model.pods.status import HOLDS
from vsched.model.pods.task import Task

_FULL = 2 * MOST
"""The largest sum that is written to the table: twice what any node has."""


class NodeRecord:
    """One node with its allocatable amounts and the sums over its pods."""

    __slots__ = ("allocatable", "attributes", "memory", "milli_cpu", "name", "releasing", "tasks", "used")

    def __init__(self, name: str) -> None:
        self.name = name
        self.attributes: NodeAttributes | None = None
        """None until the node object has been seen."""
        self.allocatable: Amounts = NOTHING
        self.tasks: dict[str, Task] = {}
        self.used: Vector = {}
        self.releasing: Vector = {}
        self.milli_cpu = 0
        self.memory = 0


class NodeStore:
    """Every node by name with its sums, the cluster's sums, and the published table."""

    def __init__(self, axis: ResourceAxis) -> None:
        self.axis = axis
        self.total: Vector = {}
        self.used: Vector = {}
        self.capacity_version = 0
        """Grows whenever the allocatable amounts of a node change."""
        self._usage = NodeUsageStore()
        self._placed = PlacedPods()
        self._published_placed = PlacedPods()
        self._records: dict[str, NodeRecord] = {}
        self._known = 0
        self._dirty: dict[str, None] = {}
        self._attributes_changed = False
        self._membership_changed = False
        self._table = _empty_table(axis)
        self._original: NodeStatics | None = None
        """The nodes that were adopted; None where none were."""

    def __len__(self) -> int:
        return self._known

    def adopt(self, table: NodeTable, placed: PlacedPods, tasks: Iterable[Task]) -> None:
        """Take over what another mirror has published; pods that are not among the tasks are known by sums alone."""
        self._table, self._original = table.copy(), table.statics
        self._table.allocatable = table.allocatable.copy()
        self._placed, self._published_placed = placed.writable(), placed.copy()
        allocatable, used = _vectors(table.allocatable), _vectors(table.allocatable - table.idle)
        rows = zip(table.statics.attributes, allocatable, used, _vectors(table.releasing), strict=True)
        for (attributes, has, takes, leaves), taken in zip(rows, table.scoring.T.tolist(), strict=True):
            record = self._records[attributes.name] = NodeRecord(attributes.name)
            record.attributes, record.allocatable = attributes, tuple(has.items())
            record.used, record.releasing = takes, leaves
            record.milli_cpu, record.memory = taken
            add(self.total, record.allocatable)
            add(self.used, takes.items())
        self._known = len(table)
        for task in tasks:
            if task.node and HOLDS[task.status].uses:
                self._record(task.node).tasks[task.uid] = task

    def unknown(self, name: str) -> int:
        """How many pods on a node are known by sums alone."""
        record = self._records[name]
        known = sum(dict(task.shape.request).get(PODS, 0) for task in record.tasks.values())
        return record.used.get(PODS, 0) - known

    def leave_known(self, name: str) -> None:
        """The pods that are known by sums alone have left a node."""
        record = self._records[name]
        for task in record.tasks.values():
            self._book(record, task, -1)
        subtract(self.used, record.used.items())
        record.used, record.releasing, record.milli_cpu, record.memory = {}, {}, 0, 0
        self._placed.clear(name)
        self._dirty[name] = None
        for task in record.tasks.values():
            self._book(record, task, 1)

    def put(self, task: Task) -> None:
        """Add a task that uses its node."""
        record = self._record(task.node)
        record.tasks[task.uid] = task
        if record.attributes is not None:
            self._book(record, task, 1)

    def drop(self, task: Task) -> None:
        """Take away a task that was added."""
        record = self._records[task.node]
        del record.tasks[task.uid]
        if record.attributes is not None:
            self._book(record, task, -1)
        else:
            self._discard_empty(record)

    def move(self, old: Task | None, new: Task | None) -> None:
        """Replace the usage of a task by its usage now."""
        self._usage.move(old, new)
        held = old is not None and bool(old.node) and HOLDS[old.status].uses
        holds = new is not None and bool(new.node) and HOLDS[new.status].uses
        if old is not None and new is not None and held and holds and _same_burden(old, new):
            self._records[new.node].tasks[new.uid] = new
            return
        if old is not None and held:
            self.drop(old)
        if new is not None and holds:
            self.put(new)

    def see(self, facts: NodeFacts) -> bool:
        """Take in a node; True where it has changed."""
        attributes = facts.attributes
        record = self._record(attributes.name)
        before = record.attributes
        if before == attributes and record.allocatable == facts.allocatable:
            return False
        if record.allocatable != facts.allocatable:
            subtract(self.total, record.allocatable)
            add(self.total, facts.allocatable)
            self.capacity_version += 1
            record.allocatable = facts.allocatable
            self._dirty[record.name] = None
        if before != attributes:
            record.attributes = attributes
            self._attributes_changed = True
        if before is None:
            self._known += 1
            self._membership_changed = True
            for task in record.tasks.values():
                self._book(record, task, 1)
        return True

    def lose(self, name: str) -> bool:
        """A node object is gone; True where it was known."""
        record = self._records.get(name)
        if record is None or record.attributes is None:
            return False
        for task in record.tasks.values():
            self._book(record, task, -1)
        subtract(self.total, record.allocatable)
        self.capacity_version += 1
        record.attributes, record.allocatable = None, NOTHING
        self._known -= 1
        self._membership_changed = True
        self._discard_empty(record)
        return True

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
        return NodeFacts(record.attributes, record.allocatable)

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

    def publish(self, axis: ResourceAxis) -> tuple[NodeTable, PlacedPods]:
        """The table and the placed pods; the cost follows what changed. ``axis`` names the columns of the table."""
        if self._membership_changed:
            self._rearrange()
        elif self._attributes_changed:
            statics = self._statics(self._table.statics.names)
            self._table = _changed(self._table, lambda amounts: amounts, statics)
        if self._table.width < len(self.axis):
            self._widen()
        if self._dirty:
            self._rewrite()
        self._membership_changed = self._attributes_changed = False
        self._placed.publish(self._published_placed)
        self._table.axis = axis
        self._table.usage = self._usage.publish(self._table.statics)
        return self._table, self._published_placed

    def _record(self, name: str) -> NodeRecord:
        record = self._records.get(name)
        if record is None:
            record = self._records[name] = NodeRecord(name)
        return record

    def _discard_empty(self, record: NodeRecord) -> None:
        if record.attributes is None and not record.tasks:
            del self._records[record.name]

    def _book(self, record: NodeRecord, task: Task, sign: int) -> None:
        shape = task.shape
        shift = add if sign > 0 else subtract
        shift(record.used, shape.request)
        shift(self.used, shape.request)
        if HOLDS[task.status].releasing:
            shift(record.releasing, shape.request)
        record.milli_cpu += sign * shape.scoring_cpu
        record.memory += sign * shape.scoring_memory
        self._placed.shift(task.labels, shape, record.name, sign)
        self._dirty[record.name] = None

    def _statics(self, names: Iterable[str]) -> NodeStatics:
        """What is remembered of nodes as they are now; that of the original where they are again as they were."""
        found = (self._records[name].attributes for name in names)
        attributes = tuple(one for one in found if one is not None)
        original = self._original
        return original if original is not None and attributes == original.attributes else NodeStatics(attributes)

    def _rearrange(self) -> None:
        """Sort the rows by name again; amounts of nodes that stay are kept."""
        names = sorted(name for name, record in self._records.items() if record.attributes is not None)
        old = self._table
        rows = old.statics.row
        source = np.fromiter((rows.get(name, -1) for name in names), dtype=np.intp, count=len(names))
        self._dirty.update((name, None) for name in names if name not in rows)

        def carried(amounts: Ints) -> Ints:
            if not len(old):
                return np.zeros((amounts.shape[0], len(names)), dtype=np.int64)
            return np.ascontiguousarray(amounts[:, source])

        self._table = _changed(old, carried, self._statics(names))

    def _widen(self) -> None:
        """A row of zeros for every column that is new; scoring has its own two rows."""
        old = self._table
        more = np.zeros((len(self.axis) - old.width, len(old)), dtype=np.int64)
        self._table = _changed(old, lambda amounts: np.concatenate((amounts, more)), scoring=old.scoring)

    def _rewrite(self) -> None:
        table, row_of = self._table, self._table.statics.row
        records = [self._records[name] for name in self._dirty if name in row_of]
        self._dirty.clear()
        if not records:
            return
        width = table.width
        rows = np.fromiter((row_of[record.name] for record in records), dtype=np.intp, count=len(records))
        allocatable = _dense([dict(record.allocatable) for record in records], width)
        used = _dense([record.used for record in records], width)
        table.allocatable[:, rows] = allocatable
        table.requested[:, rows] = used
        table.idle[:, rows] = allocatable - used
        table.releasing[:, rows] = _dense([record.releasing for record in records], width)
        table.scoring[:, rows] = _integers([[record.milli_cpu, record.memory] for record in records]).T


def _vectors(amounts: Ints) -> list[Vector]:
    """``int64[column, row]`` as a sum for each row, without zeros."""
    return [{column: value for column, value in enumerate(row) if value} for row in amounts.T.tolist()]


def dense_vector(vector: Vector, width: int) -> list[int]:
    """A sum as a list with an element for every column."""
    return [vector.get(column, 0) for column in range(width)]


def _dense(vectors: list[Vector], width: int) -> Ints:
    """Sums as ``int64[column, position]``."""
    return _integers([dense_vector(vector, width) for vector in vectors]).T


def _integers(values: list[list[int]]) -> npt.NDArray[np.int64]:
    try:
        found = np.array(values, dtype=np.int64)
    except OverflowError:
        # Absurd requests add up beyond int64.
        found = np.array([[min(value, _FULL) for value in row] for row in values], dtype=np.int64)
    # A cycle adds and subtracts, which must not overflow.
    return np.minimum(found, _FULL, out=found)


def _same_burden(old: Task, new: Task) -> bool:
    return (
        old.node == new.node
        and old.shape is new.shape
        and old.labels is new.labels
        and HOLDS[old.status].releasing is HOLDS[new.status].releasing
    )


def _changed(
    old: NodeTable, change: Callable[[Ints], Ints], statics: NodeStatics | None = None, scoring: Ints | None = None
) -> NodeTable:
    """The table with every array changed."""
    return NodeTable(
        old.axis,
        old.statics if statics is None else statics,
        change(old.allocatable),
        change(old.idle),
        change(old.releasing),
        change(old.pipelined),
        change(old.requested),
        change(old.scoring) if scoring is None else scoring,
    )


def _empty_table(axis: ResourceAxis) -> NodeTable:
    def nothing(resources: int = len(axis)) -> Ints:
        return np.zeros((resources, 0), dtype=np.int64)

    return NodeTable(axis, NodeStatics(()), nothing(), nothing(), nothing(), nothing(), nothing(), nothing(2))
