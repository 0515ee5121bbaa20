"""Nodes as a table: a column of ``int64`` a node, a row a resource, base units.

Rows of nodes are in the order of their names, so the first of equal scores is the first by name.
``NodeAttributes`` and ``NodeStatics`` hold what changes rarely and are shared between snapshots; the amounts of a
``NodeTable`` are its own copy and change through the ledger only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from vsched.model.amounts.resources import PODS, ResourceAxis
from vsched.model.marks import NodeName, Value, Word
from vsched.model.memo import Memo
from vsched.model.nodes.usage import UsageTable

ROWS_MAX = 4096
"""Rows that are remembered at least; who has not followed for longer copies the whole table."""


class RowChanges:
    """The rows that were written anew in one table, in order."""

    __slots__ = ("_forgotten", "_rows")

    def __init__(self) -> None:
        self._rows: list[int] = []
        self._forgotten = 0
        """How many rows were noted before those in ``_rows``."""

    @property
    def position(self) -> int:
        """How many rows have been noted so far."""
        return self._forgotten + len(self._rows)

    def note(self, rows: Iterable[int]) -> None:
        """These rows were written anew."""
        self._rows.extend(rows)
        if len(self._rows) >= 2 * ROWS_MAX:
            self._forgotten += len(self._rows) - ROWS_MAX
            del self._rows[:-ROWS_MAX]

    def since(self, position: int) -> Sequence[int] | None:
        """The rows that were noted after a position; None where that is too long ago."""
        if position < self._forgotten:
            return None
        return self._rows[position - self._forgotten :]


Ints = npt.NDArray[np.int64]
Ids = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
T = TypeVar("T")

ROWS_ONE_BY_ONE = 4
"""So many rows are copied in less time one by one than together."""

NO_DOMAIN = -1
"""The id of a node without the label."""


class Taint(msgspec.Struct, frozen=True):
    """A taint: key, value, effect."""

    key: str
    value: str = ""
    effect: Word = "NoSchedule"

    @property
    def text(self) -> str:
        """The notation of kubectl: ``key=value:effect``."""
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


class NodeAttributes(msgspec.Struct, frozen=True):
    """The attributes of one node that static filters use."""

    name: NodeName
    labels: dict[str, Value]
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    images: dict[str, int] = {}
    """Bytes by image name."""
    annotations: dict[str, str] = {}
    created: float = 0.0
    """Seconds since the epoch; 0 where nobody knows."""


class LabelColumn(msgspec.Struct, frozen=True):
    """The values of one label key on all nodes, as small integers."""

    ids: Ids
    """int32[nodes]: position in ``values``, or ``NO_DOMAIN``."""
    values: tuple[str, ...]
    positions: dict[str, int]
    """The position of each value in ``values``."""

    @property
    def count(self) -> int:
        """The number of distinct values."""
        return len(self.values)


class NodeStatics:
    """The nodes' names and attributes, with a cache of results derived from these alone.

    Immutable except for the cache. A change of any node's attributes makes a new ``NodeStatics`` with an empty cache.
    """

    MEMO_LIMIT = 4096

    def __init__(self, attributes: Sequence[NodeAttributes], memo: Memo | None = None) -> None:
        self.attributes = tuple(attributes)
        self.memo = Memo() if memo is None else memo
        """What is worked out by name of node and may be used again when attributes change; shared with the statics that
        come after these. Each value never changes."""
        self.names = tuple(node.name for node in self.attributes)
        self.row = {name: row for row, name in enumerate(self.names)}
        self._memo: dict[Hashable, object] = {}

    def __len__(self) -> int:
        return len(self.names)

    def remember(self, key: Hashable, compute: Callable[[], T]) -> T:
        """The value of ``compute()``, computed once for this key while the nodes' attributes do not change."""
        found = self._memo.get(key)
        if found is None:
            if len(self._memo) >= self.MEMO_LIMIT:
                self._memo.clear()
            found = self._memo[key] = compute()
        return found  # type: ignore[return-value]  # the key names the computation, so the type is its own

    def known(self, key: str) -> str:
        """The key, or the empty string where no node has it, so that unknown keys do not fill the cache."""
        keys: frozenset[str] = self.remember("label keys", lambda: frozenset[str]().union(*self._labels()))
        return key if key in keys else ""

    def label(self, key: str) -> LabelColumn:
        """The column of one label key."""
        known = self.known(key)
        return self.remember(("label", known), lambda: self._label_column(known))

    def _labels(self) -> Iterator[Mapping[str, str]]:
        return (node.labels for node in self.attributes)

    def _label_column(self, key: str) -> LabelColumn:
        positions: dict[str, int] = {}
        ids = np.full(len(self.attributes), NO_DOMAIN, dtype=np.int32)
        for row, node in enumerate(self.attributes):
            value = node.labels.get(key)
            if value is not None:
                ids[row] = positions.setdefault(value, len(positions))
        return LabelColumn(ids, tuple(positions), positions)


class NodeTable:
    """Amounts of all nodes, ``int64[resource, node]``; one instance is one cycle's private copy.

    ``idle + used == allocatable`` for every resource and node; idle may be negative where a node was over-used
    from outside.
    """

    __slots__ = (
        "allocatable",
        "axis",
        "changes",
        "idle",
        "in_motion",
        "pipelined",
        "releasing",
        "requested",
        "scoring",
        "statics",
        "terminating",
        "usage",
    )

    def __init__(
        self,
        axis: ResourceAxis,
        statics: NodeStatics,
        allocatable: Ints,
        idle: Ints,
        releasing: Ints,
        pipelined: Ints,
        requested: Ints,
        scoring: Ints,
        usage: UsageTable | None = None,
        in_motion: bool | None = None,
    ) -> None:
        self.axis = axis
        self.statics = statics
        self.allocatable = allocatable
        """Never changes in place."""
        self.idle = idle
        """Not taken by any task that uses the node."""
        self.releasing = releasing
        """Used by tasks that are leaving."""
        self.pipelined = pipelined
        """Reserved for tasks that wait for resources being released."""
        self.requested = requested
        """Used plus pipelined; scores count this as used."""
        self.scoring = scoring
        """``int64[2, node]``: requested cpu and memory, with Kubernetes' defaults for containers that request none."""
        self.in_motion = bool(releasing.any() or pipelined.any()) if in_motion is None else in_motion
        """Whether any amount is releasing or pipelined; only then do idle and future idle differ. Who changes these
        amounts says so here."""
        self.terminating: Ints = releasing[PODS].copy()
        """``int64[node]``: slots of pods that were leaving when the cycle began. A slot is free only once its pod is
        gone, so no further pod waits for these; slots of pods that this cycle evicts may be counted on."""
        self.usage = usage
        """The measured usage of nodes, by the same rows; None if none is collected. Shared, read only."""
        self.changes: RowChanges | None = None
        """The rows of a published table that were written anew; None where nobody notes them. Copies have none."""

    def __len__(self) -> int:
        return len(self.statics.names)

    @property
    def width(self) -> int:
        """The number of resources (rows)."""
        return int(self.idle.shape[0])

    def copy(self) -> NodeTable:
        """A private copy: amounts copied, statics and usage shared. What is all zeros is not read."""
        moving = self.in_motion
        return NodeTable(
            self.axis,
            self.statics,
            self.allocatable,
            self.idle.copy(),
            self.releasing.copy() if moving else np.zeros(self.releasing.shape, dtype=np.int64),
            self.pipelined.copy() if moving else np.zeros(self.pipelined.shape, dtype=np.int64),
            self.requested.copy(),
            self.scoring.copy(),
            self.usage,
            moving,
        )

    def follow(self, source: NodeTable, changed: Collection[int]) -> None:
        """Take over these rows of the table that this one is a copy of; all others must be as they are there."""
        few = len(changed) <= ROWS_ONE_BY_ONE
        for rows in changed if few else (np.fromiter(changed, dtype=np.intp, count=len(changed)),):
            self.idle[:, rows] = source.idle[:, rows]
            self.releasing[:, rows] = source.releasing[:, rows]
            self.pipelined[:, rows] = source.pipelined[:, rows]
            self.requested[:, rows] = source.requested[:, rows]
            self.scoring[:, rows] = source.scoring[:, rows]
            self.terminating[rows] = source.releasing[PODS, rows]
        self.allocatable, self.usage, self.axis = source.allocatable, source.usage, source.axis
        self.in_motion = source.in_motion

    def of_capacity(self, key: str, compute: Callable[[], T]) -> T:
        """The value of ``compute()``, worked out once as long as no allocatable amount changes.

        It must follow from these amounts and the key alone, and never change. The mirror takes another array where an
        amount changes, so that sessions need not look at it.
        """
        return self.statics.memo.of("capacity", key, (self.allocatable,), lambda allocatable: compute())

    def future_idle(self, column: int) -> Ints:
        """Idle amounts after all releasing amounts are free and all pipelined tasks are placed; may be negative."""
        future: Ints = self.idle[column] + self.releasing[column] - self.pipelined[column]
        return future - self.terminating if column == PODS else future

    def future_idle_at(self, column: int, row: int) -> int:
        """``future_idle`` of one node."""
        future = self.idle[column, row] + self.releasing[column, row] - self.pipelined[column, row]
        return int(future - self.terminating[row] if column == PODS else future)

    def unreserved(self, column: int) -> Ints:
        """Idle that no pipelined task counts on: where one waits for more than is leaving, it reserves idle amounts."""
        free: Ints = np.minimum(self.idle[column], self.future_idle(column))
        return free
