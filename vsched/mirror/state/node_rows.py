"""The rows of nodes in the table that snapshots show. Only those of nodes that have changed are written again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from vsched.mirror.state.node_records import NodeRecord
from vsched.mirror.state.node_tables import changed_table, dense, empty_table
from vsched.model.amounts.resources import CPU, MEMORY, ResourceAxis
from vsched.model.nodes.table import Ints, NodeStatics, NodeTable, RowChanges


class NodeRows:
    """The table, and what has changed in the nodes since it was published."""

    def __init__(self, axis: ResourceAxis, records: Mapping[str, NodeRecord]) -> None:
        """``records`` are all nodes by name, as they are now."""
        self._axis = axis
        self._records = records
        self._table = empty_table(axis)
        self.version = 0
        """Grows with each publication that shows something else than the one before."""
        self.changed: dict[str, None] = {}
        """Names of nodes whose amounts have changed."""
        self.attributes_changed = False
        self.membership_changed = False
        """Whether nodes have come or gone."""
        self.relabelled = False
        """Whether pods on nodes have other labels."""
        self._leaving: set[str] = set()
        """Names of nodes with releasing amounts in the table."""
        self._original: NodeStatics | None = None
        """The nodes that were adopted; None where none were."""

    def adopt(self, table: NodeTable) -> None:
        """Take over what another mirror has published."""
        self._table, self._original = table.copy(), table.statics
        self._table.allocatable = table.allocatable.copy()
        self._leaving = {table.statics.names[row] for row in np.flatnonzero(table.releasing.any(axis=0)).tolist()}

    def publish(self, axis: ResourceAxis) -> NodeTable:
        """The table of all nodes as they are now; ``axis`` names its columns."""
        self._arrange()
        if self.changed:
            self._rewrite()
        if self._table.changes is None:
            self._table.changes = RowChanges()
        self._table.axis = axis
        return self._table

    def _arrange(self) -> None:
        """Give each node its row, and each resource its column."""
        changed = self.membership_changed or self.attributes_changed or self.relabelled or bool(self.changed)
        if changed or self._table.width < len(self._axis):
            self.version += 1
        if self.membership_changed:
            self._rearrange()
        elif self.attributes_changed:
            statics = self._statics(self._table.statics.names)
            self._table = changed_table(self._table, lambda amounts: amounts, statics)
        if self._table.width < len(self._axis):
            self._widen()
        self.membership_changed = self.attributes_changed = self.relabelled = False

    def _statics(self, names: Iterable[str]) -> NodeStatics:
        """What is remembered of nodes as they are now; that of the original where they are again as they were."""
        found = (self._records[name].attributes for name in names)
        attributes = tuple(one for one in found if one is not None)
        original = self._original
        if original is not None and attributes == original.attributes:
            return original
        return NodeStatics(attributes, self._table.statics.memo)

    def _rearrange(self) -> None:
        """Sort the rows by name again; amounts of nodes that stay are carried over."""
        names = sorted(name for name, record in self._records.items() if record.attributes is not None)
        old = self._table
        rows = old.statics.row
        source = np.fromiter((rows.get(name, -1) for name in names), dtype=np.intp, count=len(names))
        self.changed.update((name, None) for name in names if name not in rows)
        self._leaving.intersection_update(names)

        def carried(amounts: Ints) -> Ints:
            if not len(old):
                return np.zeros((amounts.shape[0], len(names)), dtype=np.int64)
            found = np.ascontiguousarray(amounts[:, source])
            found[:, source < 0] = 0  # new nodes: what is leaving is written only where something is
            return found

        self._table = changed_table(old, carried, self._statics(names))

    def _widen(self) -> None:
        """A row of zeros for every column that is new; scoring has its own two rows."""
        old = self._table
        more = np.zeros((len(self._axis) - old.width, len(old)), dtype=np.int64)
        self._table = changed_table(old, lambda amounts: np.concatenate((amounts, more)), scoring=old.scoring)

    def _rewrite(self) -> None:
        """Write the rows of the nodes that have changed."""
        table, row_of = self._table, self._table.statics.row
        records = [self._records[name] for name in self.changed if name in row_of]
        self.changed.clear()
        if not records:
            return
        width, count = table.width, len(records)
        numbers = [row_of[record.name] for record in records]
        # a slice takes numpy much less time than a list
        rows = np.array(numbers, dtype=np.intp) if count > 1 else slice(numbers[0], numbers[0] + 1)
        amounts = dense(
            [
                *[dict(record.allocatable) for record in records],
                *[record.used for record in records],
                *[{CPU: record.milli_cpu, MEMORY: record.memory} for record in records],
            ],
            width,
        )
        allocatable, used, scoring = amounts[:, :count], amounts[:, count : 2 * count], amounts[:2, 2 * count :]
        if (table.allocatable[:, rows] != allocatable).any():
            table.allocatable = table.allocatable.copy()  # so that sessions see by the array that some have changed
            table.allocatable[:, rows] = allocatable
        table.requested[:, rows] = used
        table.idle[:, rows] = allocatable - used
        if self._moved(records):
            table.releasing[:, rows] = dense([record.releasing for record in records], width)
            table.in_motion = bool(self._leaving) or bool(table.pipelined.any())
        table.scoring[:, rows] = scoring
        if table.changes is not None:
            table.changes.note(numbers)

    def _moved(self, records: Iterable[NodeRecord]) -> bool:
        """Note which of these nodes have releasing amounts; whether any has, or had."""
        found = False
        for record in records:
            leaves = any(record.releasing.values())
            if leaves:
                self._leaving.add(record.name)
            elif record.name in self._leaving:
                self._leaving.discard(record.name)
            else:
                continue
            found = True
        return found
