"""Extension points of plugins that listen to a cycle, or annotate the pods that it binds."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from vsched.framework.jobs import JobView
from vsched.framework.points.plugin import Point
from vsched.model.pods.task import Task


class BindAnnotations(Point):
    """Annotations that pods get with their binding. Has no switch."""

    point = ""

    @abstractmethod
    def bind_annotations(self, task: Task) -> Sequence[tuple[str, str]]:
        """The annotations of a task that this session binds; called after the actions have run."""

    def node_lock(self, task: Task) -> str:
        """The annotation by which its node is locked while it is bound; called for tasks that get annotations."""
        return ""


class PlacementListener(Point):
    """Keeps state about placements. The ledger calls it for each step and for each undo. Has no switch."""

    point = ""

    @abstractmethod
    def on_allocate(self, job: JobView, task: Task, row: int) -> None:
        """The task was placed on the row (allocated or pipelined), or its eviction was undone."""

    @abstractmethod
    def on_release(self, job: JobView, task: Task, row: int) -> None:
        """The task was evicted from the row, or its placement was undone."""


class CycleEnd(Point):
    """Called once when all actions have run. Has no switch."""

    point = ""

    @abstractmethod
    def end_cycle(self) -> None:
        """The actions have run; only calls for the report follow."""
