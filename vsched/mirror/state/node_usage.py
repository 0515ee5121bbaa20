"""Node usage: the last reading by row, and the young pods, whose load the reading does not include fully.

An average over five minutes includes a fifth of a pod's load once the pod has run for one minute. A pod is young until
the averages include all of its load, so that a burst of placements counts before it is measured. Nothing is stored
while usage is not collected. A change of a pod costs the same however many there are.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from math import inf
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from vsched.model.nodes.table import Mask, NodeStatics
from vsched.model.nodes.usage import STALE_SECONDS, NodeUsage, Reading, UsageTable, Young, period_seconds, table_of
from vsched.model.pods.shape import Shape
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

Key = TypeVar("Key", str, Shape)
Rows = npt.NDArray[np.intp]

_NOWHERE = -1
"""The node of an entry without a pod, and the row of a node that has not been seen."""
_AWAITED = (Status.BINDING, Status.BOUND)
"""Pods that have a node and do not run yet."""


class NodeUsageStore:
    """The last reading, and the young pods."""

    def __init__(self) -> None:
        self._reading: Reading | None = None
        self._statics: NodeStatics | None = None
        self._table: UsageTable | None = None
        """The reading by the rows of those nodes; None until it is computed."""
        self._young = _YoungPods()
        self._young_published = False
        self._started_after = inf
        """Pods that started later are young."""

    def __len__(self) -> int:
        return len(self._young)

    def take(self, reading: Reading | None, running: Callable[[], Iterable[Task]]) -> None:
        """Set the latest reading, None where usage is no longer collected.

        ``running`` returns all pods; it is called where a reading looks further back than the last one.
        """
        self._reading, self._table = reading, None
        self._young_published = False
        if reading is None:
            self._young, self._started_after = _YoungPods(), inf
            return
        before, self._started_after = self._started_after, reading.taken - STALE_SECONDS - _longest(reading)
        if self._started_after < before:
            for task in running():
                self.move(None, task)
        else:
            self._young.drop_started_by(self._started_after)

    def move(self, before: Task | None, after: Task | None) -> None:
        """A pod changed, came to a node, or left it."""
        if self._reading is None:
            return
        started = None if after is None or not after.node else self._young_since(after)
        if after is not None and started is not None:
            self._young.put(after, started)
            self._young_published = False
        elif before is not None and before.uid in self._young:
            self._young.drop(before.uid)
            self._young_published = False

    def publish(self, statics: NodeStatics) -> UsageTable | None:
        """The reading by the rows of these nodes."""
        reading = self._reading
        if reading is None:
            return None
        if statics is not self._statics:
            if self._statics is None or statics.names != self._statics.names:
                self._table, self._young_published = None, False
            self._statics = statics
        if self._table is None:
            self._table = table_of(reading, statics.names)
        if not self._young_published:
            self._table = self._table._replace(young=self._young.published(statics))
            self._young_published = True
        return self._table

    def _young_since(self, task: Task) -> float | None:
        """When a young pod started, infinity if it has not yet; None for other pods."""
        if task.status in _AWAITED:
            return inf
        return task.started if task.status is Status.RUNNING and task.started > self._started_after else None


class _YoungPods:
    """Young pods, an entry each in arrays that change in place."""

    def __init__(self) -> None:
        self._place: dict[str, int] = {}
        self._free: list[int] = []
        self._uids: list[str] = []
        """By place, as the arrays below."""
        self._nodes, self._kinds, self._started = array("q"), array("q"), array("d")
        self._node_numbers: dict[str, int] = {}
        self._kind_numbers: dict[Shape, int] = {}
        self._rows: tuple[NodeStatics, Rows] | None = None
        """Rows by the nodes' numbers, and what they are rows of."""

    def __len__(self) -> int:
        return len(self._place)

    def __contains__(self, uid: str) -> bool:
        return uid in self._place

    def put(self, task: Task, started: float) -> None:
        place = self._place.get(task.uid)
        if place is None:
            place = self._place[task.uid] = self._free.pop() if self._free else self._grown()
        self._uids[place] = task.uid
        self._nodes[place] = self._node_numbers.setdefault(task.node, len(self._node_numbers))
        self._kinds[place] = self._kind_numbers.setdefault(task.shape, len(self._kind_numbers))
        self._started[place] = started

    def drop(self, uid: str) -> None:
        place = self._place.pop(uid)
        self._nodes[place] = _NOWHERE
        self._started[place] = inf
        self._free.append(place)

    def drop_started_by(self, moment: float) -> None:
        for place in np.flatnonzero(np.array(self._started) <= moment).tolist():
            self.drop(self._uids[place])
        self._renumber()

    def published(self, statics: NodeStatics) -> Young:
        """A copy of the entries on nodes that have rows."""
        rows = self._rows_of(statics)[np.array(self._nodes, dtype=np.intp)]
        there = rows >= 0
        kinds, started = np.array(self._kinds, dtype=np.intp), np.array(self._started)
        if not there.all():
            rows, kinds, started = rows[there], kinds[there], started[there]
        return Young(rows, kinds, started, tuple(self._kind_numbers))

    def _rows_of(self, statics: NodeStatics) -> Rows:
        """Rows by the nodes' numbers; nowhere is the last."""
        known = self._rows
        if known is None or known[0] is not statics or len(known[1]) <= len(self._node_numbers):
            row_of = statics.row
            found = [*[row_of.get(name, _NOWHERE) for name in self._node_numbers], _NOWHERE]
            known = self._rows = statics, np.array(found, dtype=np.intp)
        return known[1]

    def _renumber(self) -> None:
        """Forget nodes and shapes that no entry has any more."""
        self._rows = None
        used = np.array(self._nodes, dtype=np.intp) >= 0
        self._node_numbers = _still_used(self._node_numbers, self._nodes, used)
        self._kind_numbers = _still_used(self._kind_numbers, self._kinds, used)

    def _grown(self) -> int:
        self._uids.append("")
        for entries in (self._nodes, self._kinds, self._started):
            entries.append(0)
        return len(self._uids) - 1


def _still_used(numbers: dict[Key, int], entries: array[int], used: Mask) -> dict[Key, int]:
    """The numbers of used entries without gaps; the entries are changed to them in place."""
    old = np.array(entries, dtype=np.int64)
    remaining = np.unique(old[used])
    entries[:] = array("q", np.where(used, np.searchsorted(remaining, old), _NOWHERE).astype(np.int64).tobytes())
    keys = list(numbers)
    return {keys[number]: position for position, number in enumerate(remaining.tolist())}


def _longest(reading: Reading) -> float:
    """The longest period of a reading, in seconds."""

    def periods(usage: NodeUsage) -> Iterable[str]:
        return (*usage.cpu, *usage.memory)

    found = {period for usage in reading.nodes.values() for period in periods(usage)}
    return max((period_seconds(period) or 0.0 for period in found), default=0.0)
