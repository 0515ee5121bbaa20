"""Extension points about nodes: filters (where tasks may run) and scores (which nodes suit them best).

Answers are arrays over all nodes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from typing import ClassVar, NamedTuple

from vsched.framework.codes import Code
from vsched.framework.points.plugin import Point
from vsched.model.nodes.table import Floats, Ints, Mask, NodeTable
from vsched.model.pods.shape import PodLabels, Shape
from vsched.model.pods.task import Task


class Check(NamedTuple):
    """One reason why nodes may not fit a shape, and the nodes that pass."""

    reason: str
    """The words shown to users: ``node(s) were unschedulable``."""
    passes: Mask
    """bool[nodes]: True where this reason does not apply."""
    resolvable: bool = False
    """Whether evicting pods from the node could make it pass."""
    code: Code = Code.OTHER
    """The kind of constraint."""
    later: Mask | None = None
    """bool[nodes]: where it will not apply once the pods have left that are leaving; None: as ``passes``."""
    lasting: bool = False
    """Of a check by attributes of nodes or by claims: whether it applies as long as node, pod and volumes stay as they
    are."""
    tightens: bool = False
    """Whether more pods on nodes can only make it apply to more nodes."""
    details: Callable[[], Sequence[Check]] | None = None
    """Returns finer reasons for the nodes that do not pass; called only for messages."""

    def by_reason(self) -> Iterator[Check]:
        """The reasons for messages: the finer ones, then this one for the remaining nodes."""
        if self.details is not None:
            yield from self.details()
        yield self


class NodeHolders(NamedTuple):
    """Pods that hold what another pod lacks."""

    node: str
    message: str
    """What is left on the node, and which pods hold the rest."""


class NodeFilter(Point):
    """Which nodes a task may run on, apart from its requests. Answers for all nodes at once."""

    point = "predicate"
    by_nodes_alone: ClassVar[bool] = False
    """Whether ``static_checks`` follow from the shape, the nodes' attributes and the arguments alone, so that they hold
    from session to session."""

    def task_class(self, task: Task) -> Hashable:
        """What of a task besides its shape affects the answer, such as its labels; None where nothing does.

        Tasks of equal shape and class share masks.
        """
        return None

    def reads_labels(self, shape: Shape) -> bool:
        """Whether ``task_class`` may differ among tasks of a shape at present; must be quick."""
        return type(self).task_class is not NodeFilter.task_class

    def static_checks(self, shape: Shape, nodes: NodeTable) -> Sequence[Check]:
        """Checks that depend on nodes' attributes only. Called once per shape and session; the result is cached."""
        return ()

    def is_dynamic(self, shape: Shape, task_class: Hashable) -> bool:
        """Whether placements of this session can change the answer for this shape and class."""
        return False

    def most_together(self, shape: Shape, labels: Collection[PodLabels], rows: Ints) -> int:
        """How many pods of a shape and these labels could be placed together if the nodes were empty.

        ``rows`` says how many of them each node could hold by all other rules: ``int64[nodes]``.
        """
        return int(rows.sum())

    def dynamic_checks(self, shape: Shape, task_class: Hashable, nodes: NodeTable) -> Sequence[Check]:
        """Checks that depend on the pods on nodes. Called before each placement of a dynamic shape."""
        return ()

    def dynamic_state(self, shape: Shape, task_class: Hashable) -> bytes | None:
        """What ``dynamic_checks`` of such pods follow from at present, besides nodes' attributes and namespaces.

        As long as it is equal, equal placements change the checks alike, so that a search for places of a gang that
        came to nothing is not made again. None where nobody can tell: then it is made in each session.
        """
        return None

    def holders(self, shape: Shape, rows: Mask) -> NodeHolders | None:
        """Which pods hold what a pod of this shape lacks, on the node of ``rows`` that comes closest to having it.

        None where the plugin does not know of such pods. Called where somebody asks why a job waits.
        """
        return None


class NodeScore(Point):
    """How well nodes suit a task. The sum over plugins decides; of equal nodes the first by name wins."""

    point = "node_order"
    by_nodes_alone: ClassVar[bool] = False
    """Whether ``score`` of a row follows from the shape, the nodes' attributes, the row's amounts and the arguments
    alone, so that it holds from session to session."""

    def score(self, shape: Shape, nodes: NodeTable, rows: slice | Sequence[int]) -> Floats | None:
        """Scores that depend only on the shape and on each node, for the given rows; None where there are none.

        The caller may change the array. Where ``scores_by_amounts`` says so, the rows may also be ``Representatives``,
        the same object throughout a session.
        """
        return None

    def scores_by_amounts(self, shape: Shape, nodes: NodeTable) -> bool:
        """Whether nodes with equal amounts always score the same for the shape, so that one stands for all of them."""
        return type(self).score is NodeScore.score

    def score_row(self, shape: Shape, nodes: NodeTable, row: int) -> float:
        """The score of one row as a plain number; must equal ``score`` bit for bit. Called after each placement.

        The plugins that score by amounts have a function in plain numbers for it: with arrays of one row, first cycles
        of gangs take 2.35 times as long.
        """
        scores = self.score(shape, nodes, [row])
        return 0.0 if scores is None else float(scores[0])

    def is_relative(self, shape: Shape, labels: PodLabels) -> bool:
        """Whether ``relative_score`` may give scores for such a pod. Called before each placement, so must be quick."""
        return False

    def relative_score(self, shape: Shape, labels: PodLabels, nodes: NodeTable, candidates: Mask) -> Floats | None:
        """Scores of all nodes whose scale depends on the candidate nodes. Called before each placement."""
        return None

    def relative_state(self, shape: Shape, labels: PodLabels) -> bytes | None:
        """What ``relative_score`` of such a pod follows from at present, besides candidates and nodes' attributes.

        As of ``NodeFilter.dynamic_state``; None where nobody can tell.
        """
        return None


class TaskScore(Point):
    """How well nodes suit one task, where more than its shape decides. Added to the scores of ``NodeScore``."""

    point = "node_order"

    @abstractmethod
    def scores_task(self, task: Task) -> bool:
        """Whether ``task_score`` may give scores for the task. Called before each placement, so must be quick."""

    @abstractmethod
    def task_score(self, task: Task, nodes: NodeTable, candidates: Mask) -> Floats | None:
        """Scores of all nodes; None where there are none. Called before each placement of such a task."""


class QueuePlacement(Point):
    """Which nodes the tasks of a queue may run on, apart from their requests. Answers for all nodes at once."""

    point = "predicate"

    @abstractmethod
    def queue_class(self, queue: str) -> Hashable:
        """What of a queue affects the answer; None where nothing does. Queues of equal class share masks and scores."""

    @abstractmethod
    def queue_checks(self, queue: str, shape: Shape, nodes: NodeTable) -> Sequence[Check]:
        """Checks that depend on nodes' attributes only. Called once per class and shape in a session, and cached."""

    def is_limited(self, queue: str) -> bool:
        """Whether ``queue_limit_checks`` may return checks for the queue in this session."""
        return False

    def queue_limit_checks(self, queue: str, shape: Shape, nodes: NodeTable) -> Sequence[Check]:
        """Checks that depend on what the queue holds now. Called before each placement if the queue is limited."""
        return ()


class QueuePreference(Point):
    """How well nodes suit the tasks of a queue. The scores are added to those of ``NodeScore``."""

    point = "node_order"

    @abstractmethod
    def queue_class(self, queue: str) -> Hashable:
        """What of a queue affects the scores; None where nothing does. Queues of equal class share scores."""

    @abstractmethod
    def queue_score(self, queue: str, shape: Shape, nodes: NodeTable) -> Floats | None:
        """Scores of all nodes by attributes only; None where there are none. Callers must not change the array."""
