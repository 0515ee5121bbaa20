"""Extension points about queues and namespaces: what they may hold, and how the cluster is divided among them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from vsched.framework.points.plugin import Point, QueueDivision
from vsched.framework.refusal import QueueBound, Refusal
from vsched.model.amounts.resources import Amounts
from vsched.model.nodes.table import Floats
from vsched.model.pods.shape import Shape
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue
from vsched.model.snapshot import Snapshot


class Overused(Point):
    """Whether a queue must get nothing more; one plugin that says so is enough."""

    point = "overused"

    @abstractmethod
    def overused(self, queue: Queue) -> bool:
        """True where the queue has its share."""


class Allocatable(Point):
    """Whether a queue may hold one more request; all plugins must agree.

    The request may also be the sum of several requests. If a request is refused, every larger one must be refused too.
    """

    point = "allocatable"

    @abstractmethod
    def allocatable(self, queue: Queue, request: Amounts) -> Refusal | None:
        """None where it may."""

    def room_above(self, queue: Queue, column: int) -> Mapping[str, int]:
        """How much more of a resource each queue above may hold, with all queues below it; by name.

        Nothing for queues without a limit of the resource.
        """
        return {}


class ClaimLimit(Point):
    """Whether a queue may hold what the ResourceClaims of some tasks ask for; all plugins must agree.

    As with ``Allocatable``: if some tasks are refused, the same tasks and further ones must be refused too.
    """

    point = "allocatable"

    @abstractmethod
    def claim_limit(self, queue: Queue, tasks: Sequence[Task]) -> Refusal | None:
        """None where it may; a claim that the queue's pods use already takes nothing more."""


class NamespaceLimit(Point):
    """Whether a namespace may hold ``count`` more pods of a shape, in any queue; all plugins must agree.

    As with ``Allocatable``: if a request is refused, every larger one must be refused too.
    """

    point = "allocatable"

    @abstractmethod
    def namespace_limit(self, namespace: str, shape: Shape, count: int = 1) -> Refusal | None:
        """None where it may."""


class Reserving(Point):
    """Counts room that is reserved for tasks as held, where the plugin limits what a queue or a namespace may hold."""

    point = "allocatable"

    @abstractmethod
    def reserve(self, queue: Queue, task: Task, sign: int) -> None:
        """Reserve what the task and its ResourceClaims ask for (``sign=1``), or free it (``sign=-1``)."""


class Preemptive(Point):
    """Whether a queue may reclaim room from other queues for a request; all plugins must agree."""

    point = "preemptive"

    @abstractmethod
    def preemptive(self, queue: Queue, request: Amounts) -> bool:
        """True where it may."""


class DivisionWeight(Point):
    """How much queues weigh where the cluster is divided among them. Has no switch."""

    point = ""

    @abstractmethod
    def division_weights(self, snapshot: Snapshot, queues: Sequence[Queue], weights: Floats) -> Floats:
        """float64[queues]: the weights to divide by, from those so far. May be called before ``open``."""


class PastUse(NamedTuple):
    """What a queue has used over time, for reports."""

    times: float
    """How many times what its weight stands for."""
    seconds: float
    """Over how long."""


class UsageMemory(Point):
    """Remembers what queues have used; the first plugin's answer is reported. Has no switch."""

    point = ""

    @abstractmethod
    def past_use(self, queue: Queue) -> PastUse | None:
        """None where nothing is known."""


class StatedLimit(NamedTuple):
    """What a queue may hold by its own statement, however large the cluster is."""

    queue: str
    amounts: Amounts
    held: Mapping[int, int]
    """What it and those below it hold."""


class DividedBy(NamedTuple):
    """What the divisions of queues follow from: while it is the same objects as in the last session, so are they."""

    by_queue: Mapping[str, object]
    """By name of a queue, what counts for it alone."""
    whole: object = None
    """What counts for all of them."""


class QueueDivider(Point):
    """Divides the cluster among queues; the first plugin's answer is reported. Has no switch."""

    point = ""

    @abstractmethod
    def division(self, queue: Queue) -> QueueDivision | None:
        """The division for one queue; None where the plugin has none for it."""

    def divided_by(self) -> DividedBy | None:
        """The inputs of divisions besides the records of queues and what they hold themselves; None where they are not
        known. It is asked for at the end of the session."""
        return None

    def bound(self, queue: Queue, column: int) -> QueueBound | None:
        """What limits how much of a resource the queue may hold; None where the plugin sets no limit for it."""

    def stated_limits(self, queue: Queue) -> Iterator[StatedLimit]:
        """The limits that the queue and those above it state, where the plugin keeps to them."""
        return iter(())
