"""Extension points about nodes: where tasks may run, and where they had better. Answers are for all nodes at once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Hashable, Sequence
from typing import NamedTuple

from vsched.framework.codes import Code
from vsched.framework.points.extension import Point
from vsched.model.nodes.table import Floats, Ints, Mask, NodeTable
from vsched.model.pods.shape import PodLabels, Shape


class Check(NamedTuple):
    """One reason why nodes may be out of the question for a shape."""

    reason: str
    """As people read it: ``node(s) were unschedulable``."""
    passes: Mask
    """bool[nodes]: True where this reason does not apply."""
    resolvable: bool = False
    """Whether evicting pods from the node could cure it."""
    code: Code = Code.OTHER
    """The sort of constraint it is."""


class NodeFilter(Point):
    """Which nodes a task may run on, amounts aside. Answers for all nodes at once."""

    point = "predicate"

    def task_class(self, shape: Shape, labels: PodLabels) -> Hashable:
        """What besides the shape decides for a task of these labels; equal classes share masks. None where nothing."""
        return None

    def static_checks(self, shape: Shape, nodes: NodeTable) -> Sequence[Check]:
        """Checks by attributes of nodes alone: asked once a shape and cycle, and remembered."""
        return ()

    def is_dynamic(self, shape: Shape, task_class: Hashable) -> bool:
        """Whether placements of this cycle can change the answer for this shape and class."""
        return False

    def most_together(self, shape: Shape, labels: Collection[PodLabels], rows: Ints) -> int:
        """How many pods of a shape and of these labels could be placed at once, were the nodes empty.

        ``rows`` is how many of them each node could hold by everything else: ``int64[nodes]``.
        """
        return int(rows.sum())

    def dynamic_checks(self, shape: Shape, task_class: Hashable, nodes: NodeTable) -> Sequence[Check]:
        """Checks that depend on the pods on nodes; asked before each placement of a dynamic shape."""
        return ()


class NodeScore(Point):
    """How well nodes suit a task; the sum over plugins decides, ties go to the first name."""

    point = "node_order"

    def score(self, shape: Shape, nodes: NodeTable, rows: slice | Sequence[int]) -> Floats | None:
        """Scores that depend on the shape and on each node alone, for the given rows; None where there are none.

        The array is the caller's to change.
        """
        return None

    def score_row(self, shape: Shape, nodes: NodeTable, row: int) -> float:
        """The same for one row, in plain numbers: what runs after each placement. Equal to ``score`` bit for bit."""
        scores = self.score(shape, nodes, [row])
        return 0.0 if scores is None else float(scores[0])

    def is_relative(self, shape: Shape, labels: PodLabels) -> bool:
        """Whether ``relative_score`` has anything to say for such a pod; asked before each placement, so quick."""
        return False

    def relative_score(self, shape: Shape, labels: PodLabels, nodes: NodeTable, candidates: Mask) -> Floats | None:
        """Scores whose scale depends on which nodes are candidates, for all nodes; asked before each placement."""
        return None


class QueuePlacement(Point):
    """Which nodes the tasks of a queue may run on, amounts aside. Answers for all nodes at once."""

    point = "predicate"

    @abstractmethod
    def queue_class(self, queue: str) -> Hashable:
        """What of a queue decides; queues of equal class share masks and scores. None where nothing does."""

    @abstractmethod
    def queue_checks(self, queue: str, shape: Shape, nodes: NodeTable) -> Sequence[Check]:
        """Checks by attributes of nodes alone: asked once a class and shape in a cycle, and remembered."""

    def is_limited(self, queue: str) -> bool:
        """Whether ``queue_limit_checks`` can have anything to say for the queue in this cycle."""
        return False

    def queue_limit_checks(self, queue: str, shape: Shape, nodes: NodeTable) -> Sequence[Check]:
        """Checks by what the queue holds as of now; asked before each placement where the queue is limited."""
        return ()


class QueuePreference(Point):
    """How well nodes suit the tasks of a queue; added to the scores of ``NodeScore``."""

    point = "node_order"

    @abstractmethod
    def queue_class(self, queue: str) -> Hashable:
        """What of a queue decides; queues of equal class share scores. None where nothing does."""

    @abstractmethod
    def queue_score(self, queue: str, shape: Shape, nodes: NodeTable) -> Floats | None:
        """Scores of all nodes by attributes alone; None where there are none. Not to be written to."""
