"""The buckets of a job: which of its pods should be placed together on one node.

Pods that hold a node form a bucket with the others on that node. Each further pod joins the bucket to which its role
has the most affinity: the pods there of roles that it has affinity to, less those of roles that it has anti-affinity
to. Of equal buckets it joins the one that asks for less. If it has more anti-affinity than affinity to every bucket, it
begins a new one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np

from vsched.framework.points.extension import SortKey
from vsched.model.amounts.resources import MEMORY, Vector, add, subtract
from vsched.model.jobs.task_topology import TaskTopology
from vsched.model.nodes.table import Floats, Ints, NodeTable
from vsched.model.pods.shape import Shape
from vsched.model.pods.status import HOLDS, Status
from vsched.model.pods.task import Task

SELF_ANTI, AFFINITY, SELF, ANTI = 4, 3, 2, 1
"""How much a role's wishes matter for its place in the order, by the kind of wish: to its own role, or to others."""
MIB = 1 << 20
OUTSIDE = (1,)
"""The sort key of tasks without a bucket."""


class RoleWishes:
    """What the roles of a job wish of each other."""

    __slots__ = ("apart", "order", "priority", "together")

    def __init__(self, wished: TaskTopology) -> None:
        self.priority: dict[str, int] = {}
        """The highest kind of wish of each role that has any."""
        self.order = {role: len(wished.order) - place for place, role in enumerate(wished.order)}
        """Higher goes first; roles that are not listed have 0."""
        self.together = self._pairs(wished.affinity, alone=SELF, others=AFFINITY)
        self.apart = self._pairs(wished.anti_affinity, alone=SELF_ANTI, others=ANTI)

    def affinity(self, role: str, other: str) -> int:
        """How a pod of another role counts for a pod of this one: 1, 0 or -1."""
        return (other in self.together.get(role, ())) - (other in self.apart.get(role, ()))

    def rank(self, role: str) -> tuple[int, int]:
        """Smaller goes first."""
        return -self.order.get(role, 0), -self.priority.get(role, 0)

    def _pairs(self, groups: Iterable[tuple[str, ...]], *, alone: int, others: int) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for group in groups:
            for role in group:
                kind = alone if len(group) == 1 else others
                self.priority[role] = max(kind, self.priority.get(role, 0))
                found.setdefault(role, set()).update(other for other in group if len(group) == 1 or other != role)
        return found


class TaskBucket:
    """Tasks of one job that should share a node."""

    __slots__ = ("affinity", "changes", "index", "placed", "request", "score", "shapes", "waiting")

    def __init__(self, index: int, roles: Iterable[str]) -> None:
        self.index = index
        self.waiting = 0
        """Number of tasks that have no node yet."""
        self.shapes: dict[Shape, int] = {}
        """How many of these there are of each shape."""
        self.request: Vector = {}
        """The amounts that these ask for together."""
        self.placed: Counter[int] = Counter()
        """How many tasks are on each node row."""
        self.affinity = dict.fromkeys(roles, 0)
        """How much affinity a further pod of each role has to the bucket; while buckets are formed."""
        self.score = 0.0
        """How much the waiting tasks ask for, as one number; while buckets are formed."""
        self.changes = 0

    def wait(self, task: Task, by: int) -> None:
        """One task more waits (``by=1``) or less (``by=-1``)."""
        self.waiting += by
        self.shapes[task.shape] = self.shapes.get(task.shape, 0) + by
        (add if by > 0 else subtract)(self.request, task.shape.request)

    def to_leave_out(self, shape: Shape, free: Ints) -> Ints:
        """``int64[nodes]``: how many other tasks have to be left out, so that the rest fits a node with this one."""
        lacks = {column: amount - free[column] for column, amount in self.request.items() if amount}
        left_out = np.zeros(free.shape[1], dtype=np.int64)
        for other, count in self.shapes.items():
            spare = count - (other is shape)
            if spare <= 0:
                continue
            request = dict(other.request)
            wanted = np.zeros(free.shape[1], dtype=np.int64)
            for column, lack in lacks.items():
                amount = request.get(column, 0)
                some = -(-lack // amount) if amount else np.where(lack > 0, spare, 0)
                np.maximum(wanted, some, out=wanted)
            np.minimum(wanted, spare, out=wanted)
            left_out += wanted
            for column, amount in request.items():
                lacks[column] = lacks[column] - wanted * amount
        return left_out


class BucketPlace(NamedTuple):
    """The bucket of a task, and whether it waited for a node when the session began."""

    bucket: TaskBucket
    waited: bool


class JobBuckets:
    """The buckets of one job in one session, and what the session has placed of them."""

    def __init__(self, wished: TaskTopology, tasks: Iterable[Task], rows: Mapping[str, int]) -> None:
        self._wishes = RoleWishes(wished)
        self._places: dict[str, BucketPlace] = {}
        self._opponents: dict[str, Ints] = {role: np.zeros(len(rows), np.int64) for role in self._wishes.apart}
        """``int64[nodes]`` by role: how many tasks are on each node that should be apart from tasks of the role."""
        self.buckets: list[TaskBucket] = []
        self._form(tasks, rows)
        self.largest = max((one.waiting + one.placed.total() for one in self.buckets), default=0)
        """Tasks in the largest bucket as the session began."""

    def key(self, task: Task) -> SortKey:
        """Tasks in buckets go first, those of the bucket where most wait before others; then by role."""
        place = self._places.get(task.uid)
        if place is None:
            return OUTSIDE
        return (0, -place.bucket.waiting, place.bucket.index, *self._wishes.rank(task.role))

    def bucket_of(self, task: Task) -> TaskBucket | None:
        """The bucket of a task, None where no wish concerns its role."""
        place = self._places.get(task.uid)
        return None if place is None else place.bucket

    def move(self, task: Task, row: int, by: int) -> None:
        """A task has come to a node (``by=1``), or has left it (``by=-1``)."""
        for role in self._wishes.apart.get(task.role, ()):
            self._opponents[role][row] += by
        place = self._places.get(task.uid)
        if place is not None:
            place.bucket.placed[row] += by
            if place.waited:
                place.bucket.wait(task, -by)

    def scores(self, task: Task, nodes: NodeTable) -> Floats | None:
        """``float64[nodes]``: how many tasks of its bucket could be on each node with this one; None without a bucket.

        Tasks of roles that should be apart from it and are on the node count against it.
        """
        bucket = self.bucket_of(task)
        if bucket is None:
            return None
        free: Ints = nodes.idle + nodes.releasing
        found = (bucket.waiting - bucket.to_leave_out(task.shape, free)).astype(np.float64)
        if bucket.placed:
            found[list(bucket.placed)] += list(bucket.placed.values())
        if task.role in self._opponents:
            found -= self._opponents[task.role]
        for column, amount in task.shape.request:
            found[free[column] < amount] = 0.0
        return found

    # -- forming them ---------------------------------------------------------------------------------------------

    def _form(self, tasks: Iterable[Task], rows: Mapping[str, int]) -> None:
        """Form the buckets. Of each role, buckets are kept in a heap, so that no task looks at all of them."""
        wishes, waiting = self._wishes, list[Task]()
        by_node: dict[str, TaskBucket] = {}
        for task in sorted(tasks, key=lambda task: (task.node, task.name, task.uid)):
            if task.node in rows and HOLDS[task.status].allocated:
                if task.role in wishes.priority:
                    for role in wishes.apart.get(task.role, ()):
                        self._opponents[role][rows[task.node]] += 1
                    bucket = by_node.get(task.node)
                    if bucket is None:
                        bucket = by_node[task.node] = self._new()
                    bucket.placed[rows[task.node]] += 1
                    self._join(bucket, task, waited=False)
            elif task.status is Status.PENDING and not task.gated and task.role in wishes.priority:
                waiting.append(task)
        waiting.sort(key=lambda task: (*wishes.rank(task.role), task.name, task.uid))
        left = Counter(task.role for task in waiting)
        heaps: dict[str, list[tuple[int, float, int, int]]] = {}
        for task in waiting:
            role = task.role
            heap = heaps.get(role)
            if heap is None:
                heap = heaps[role] = [self._entry(bucket, role) for bucket in self.buckets]
                heapify(heap)
            while heap and heap[0][3] != self.buckets[heap[0][2]].changes:
                heappop(heap)
            bucket = self.buckets[heap[0][2]] if heap and heap[0][0] <= 0 else self._new()
            bucket.wait(task, 1)
            bucket.score += _weight(task.shape)
            self._join(bucket, task, waited=True)
            left[role] -= 1
            if not left[role]:
                del heaps[role]
            for other, entries in heaps.items():
                heappush(entries, self._entry(bucket, other))

    def _new(self) -> TaskBucket:
        bucket = TaskBucket(len(self.buckets), self._wishes.priority)
        self.buckets.append(bucket)
        return bucket

    def _join(self, bucket: TaskBucket, task: Task, *, waited: bool) -> None:
        self._places[task.uid] = BucketPlace(bucket, waited)
        bucket.changes += 1
        for role in bucket.affinity:
            bucket.affinity[role] += self._wishes.affinity(role, task.role)

    @staticmethod
    def _entry(bucket: TaskBucket, role: str) -> tuple[int, float, int, int]:
        return -bucket.affinity[role], bucket.score, bucket.index, bucket.changes


def _weight(shape: Shape) -> float:
    """A request as one number: milli-cores, MiB, and the base units of other resources together."""
    return sum(amount / MIB if column == MEMORY else float(amount) for column, amount in shape.request)
