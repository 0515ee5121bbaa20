"""Extension points about orders: which queue, namespace, user, job, sub-group and task goes first."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from typing import ClassVar

from vsched.framework.jobs import JobView
from vsched.framework.points.plugin import Point, SortKey
from vsched.framework.subgroups import SubGroup
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue

QueuePart = tuple[Hashable, SortKey]
"""One part of a queue's sort key: the name of the part (a queue, or a queue above it) and its value."""


class JobOrder(Point):
    """Which job of a namespace goes first."""

    point = "job_order"
    name: ClassVar[str]
    """The plugin's own."""
    goes_first: ClassVar[str] = ""
    """Words for messages on why a job goes first: ``has the smaller share``. If empty, messages name the plugin."""
    by_job_alone: ClassVar[bool] = False
    """Whether the key of a job none of whose pods has a node follows from its spec, its pods and its priority."""

    @abstractmethod
    def job_key(self, job: JobView) -> SortKey:
        """Smaller goes first."""


class TaskOrder(Point):
    """Which task of a job goes first."""

    point = "task_order"

    @abstractmethod
    def task_key(self, task: Task) -> SortKey:
        """Smaller goes first."""


class SubGroupOrder(Point):
    """Which sub-group of a job goes first."""

    point = "sub_job_order"

    @abstractmethod
    def sub_group_key(self, group: SubGroup) -> SortKey:
        """Smaller goes first."""


class QueueOrder(Point):
    """Which queue goes first."""

    point = "queue_order"

    @abstractmethod
    def queue_key(self, queue: Queue) -> SortKey:
        """Smaller goes first."""

    def queue_admission_key(self, queue: Queue) -> SortKey:
        """The key while jobs are admitted: pledges (admitted, not held yet) count as held."""
        return self.queue_key(queue)

    def queues_move_together(self) -> bool:
        """Whether a placement in one queue can change the key of another queue."""
        return False

    def queue_parts(self, queue: Queue, *, admitting: bool = False) -> Sequence[QueuePart]:
        """The queue's key as a list of parts, compared in order; queues whose keys change together share parts.

        Two queues share a part if its name and the names of all parts before it are equal; its value is equal then. A
        placement in a queue changes only that queue's parts. If it changes others, ``queue_epoch`` must change.
        """
        return ((queue.name, self.queue_admission_key(queue) if admitting else self.queue_key(queue)),)

    def queue_epoch(self, *, admitting: bool = False) -> int:
        """A number that changes when the parts of other queues may have changed."""
        return 0


class NamespaceOrder(Point):
    """Which namespace of a queue goes first."""

    point = "namespace_order"
    name: ClassVar[str]
    """The plugin's own."""
    goes_before: ClassVar[str] = ""
    """Words for messages on why one goes first: ``has used less of its share``. If empty, messages name the plugin."""

    @abstractmethod
    def namespace_key(self, queue: str, namespace: str) -> SortKey:
        """Smaller goes first."""

    def namespace_admission_key(self, queue: str, namespace: str) -> SortKey:
        """The key while jobs are admitted: pledges (admitted, not held yet) count as held."""
        return self.namespace_key(queue, namespace)


class UserOrder(Point):
    """Which user of a namespace goes first."""

    point = "namespace_order"
    name: ClassVar[str]
    """The plugin's own."""
    goes_before: ClassVar[str] = ""
    """Words for messages on why one goes first: ``has used less of its share``. If empty, messages name the plugin."""

    @abstractmethod
    def user_key(self, queue: str, namespace: str, user: str) -> SortKey:
        """Smaller goes first. An empty ``namespace`` stands for all: no plugin orders namespaces then."""


class QueueScore(Point):
    """How urgent a queue is, as a number; actions add up the weighted numbers of all plugins."""

    point = "queue_score_order"
    name: ClassVar[str]
    """The plugin's own name; weights are given by it."""

    @abstractmethod
    def queue_score(self, queue: Queue) -> float:
        """Higher goes first; about 0 to 1 before the action's weight for this plugin."""

    def queue_admission_score(self, queue: Queue) -> float:
        """The score while jobs are admitted: pledges (admitted, not held yet) count as held."""
        return self.queue_score(queue)

    def queue_scores_move_together(self) -> bool:
        """Whether a placement in one queue can change the score of another queue."""
        return False
