"""The tree of hierarchical DRF: annotations place queues in the tree, and jobs are its leaves.

The plugin drf builds the tree at the first question, so a cycle that asks none pays nothing. A placement makes one job
stale. The next question computes the nodes above that job again; it computes all nodes again only if the set of
exhausted resources has changed.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

import numpy as np

from vsched.framework.jobs import JobView
from vsched.framework.ledger.pledges import Pledges
from vsched.framework.points.extension import JobState, SessionContext
from vsched.kernels.hierarchy import dominant, held_together, saturated_jobs
from vsched.model.amounts.resources import Amounts
from vsched.model.nodes.table import Floats, Mask
from vsched.model.pods.status import Phase
from vsched.model.queues.queue import Queue

PATH = "volcano.sh/hierarchy"
"""Annotation of a queue: the path to it from the root, ``root/science/physics``; the first part is the root's name."""
WEIGHTS = "volcano.sh/hierarchy-weights"
"""Annotation of a queue: the weights along the path, ``1/3/2``; the root's does not matter."""

WEIGHT_MAX = 1e18
"""Larger weights count as this one."""

TreeKey = tuple[float, ...]


class HierarchyNode:
    """An inner node of the tree. Its arrays have one row a child: first its jobs, then its child nodes."""

    __slots__ = ("children", "depth", "held", "jobs", "parent", "row", "saturated", "shares", "wanted", "weight")

    def __init__(self, parent: HierarchyNode | None, weight: float) -> None:
        self.parent = parent
        self.weight = weight
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.row = 0
        """Its row in the parent's arrays."""
        self.children: dict[str, HierarchyNode] = {}
        self.jobs: list[JobState] = []
        """The jobs that are its leaves, as they were when the tree was built."""

    def make_rows(self, width: int) -> None:
        """Allocate the arrays, once all children are known."""
        count = len(self.jobs) + len(self.children)
        self.held = np.zeros((count, width))
        self.shares = np.zeros(count)
        self.saturated = np.zeros(count, dtype=np.bool_)
        self.wanted = np.zeros((len(self.jobs), width))
        for row, child in enumerate(self.children.values(), start=len(self.jobs)):
            child.row = row


class HierarchyTree:
    """The shares of queues and of the nodes above them. They follow placements and, given ``pledges``, admissions."""

    def __init__(self, context: SessionContext, pledges: Pledges | None = None) -> None:
        self._job_state = context.job_state
        self._pledges = pledges
        """Admitted amounts that count as held; None: only what jobs really hold counts."""
        self._pledges_seen = 0
        self._epoch = 0
        self._total: Floats = np.array(context.snapshot.total, dtype=np.float64)
        self._root = HierarchyNode(None, 1.0)
        self._paths: dict[str, tuple[HierarchyNode, ...]] = {}
        """By queue: the nodes from just below the root down to the queue's own node."""
        for _, queue in sorted(context.snapshot.queues.items()):
            self._paths[queue.name] = tuple(self._hang(queue))
        self._places: dict[str, tuple[HierarchyNode, int]] = {}
        """By job key: the leaf of the job, as its parent node and its row there."""
        self._hang_jobs(context.snapshot.jobs)
        self._taken = np.zeros(len(self._total), dtype=np.int64)
        for name in context.snapshot.books.keys() & self._paths.keys():
            self._take(context.usage.queue(name).items(), 1)
        self._demanding: Mask = self._taken < self._total
        self._stale_jobs: set[str] = set(self._places)
        self._stale: set[HierarchyNode] = set(self._nodes())
        self._answers: dict[tuple[Amounts, str, str, Amounts], bool] = {}
        """Answers of ``goes_before``, cached until the next placement."""

    # -- questions ----------------------------------------------------------------------------------------------

    def key(self, queue: str) -> TreeKey:
        """The sort key of a queue, level by level: saturated nodes go last, then the smaller weighted share first."""
        self._settle()
        return tuple(part for node in self._paths[queue] for part in _rank_of(node))

    def parts(self, queue: str) -> list[tuple[Hashable, TreeKey]]:
        """The parts of ``key``, each with the node it belongs to."""
        self._settle()
        return [(node, _rank_of(node)) for node in self._paths[queue]]

    def epoch(self) -> int:
        """How often the set of exhausted resources changed; each change makes all nodes stale."""
        self._settle()
        return self._epoch

    def weighted_share(self, queue: str) -> float:
        """The share of the queue's own node divided by its weight."""
        self._settle()
        return _rank_of(self._paths[queue][-1])[1]

    def goes_before(self, taker: JobState, request: Amounts, giver: JobState, victim: Amounts) -> bool:
        """Whether the taker's queue still goes first after it gets the request and the giver's queue loses the victim.

        Both jobs have to be leaves of the tree. Where one path is longer, only the common length is compared.
        """
        question = (request, taker.key, giver.key, victim)
        answer = self._answers.get(question)
        if answer is None:
            self._settle()
            self._shift(taker.key, request, 1)
            self._shift(giver.key, victim, -1)
            left, right = self.key(taker.spec.queue), self.key(giver.spec.queue)
            common = min(len(left), len(right))
            answer = self._answers[question] = left[:common] < right[:common]
            for job, amounts, sign in ((taker.key, request, -1), (giver.key, victim, 1)):
                self._take(amounts, sign)
                self._stale_jobs.add(job)
        return answer

    def has(self, job: str) -> bool:
        """Whether the job is a leaf: its queue exists, and it holds something or asks for something."""
        return job in self._places

    # -- changes ------------------------------------------------------------------------------------------------

    def note(self, job: JobView, request: Amounts, sign: int) -> None:
        """Note that a job holds one request more (``sign=1``) or less; the job's own counts may follow later."""
        self._take(request, sign)
        if job.key in self._places:
            self._stale_jobs.add(job.key)
        self._answers.clear()

    def _take(self, amounts: Iterable[tuple[int, int]], sign: int) -> None:
        for column, value in amounts:
            self._taken[column] += sign * value

    def _shift(self, key: str, amounts: Amounts, sign: int) -> None:
        """Change a leaf for one question only."""
        self._take(amounts, sign)
        node, row = self._places[key]
        for column, value in amounts:
            node.held[row, column] += sign * value
        self._weigh(node, row)

    def _settle(self) -> None:
        """Compute stale nodes again, from the leaves up."""
        self._look_at_pledges()
        for key in self._stale_jobs:
            self._read(key)
        self._stale_jobs.clear()
        demanding: Mask = self._taken < self._total
        if not np.array_equal(demanding, self._demanding):
            self._demanding = demanding
            self._epoch += 1
            self._stale.update(self._nodes())
        if not self._stale:
            return
        by_depth: dict[int, set[HierarchyNode]] = {}
        for node in self._stale:
            by_depth.setdefault(node.depth, set()).add(node)
        for depth in range(max(by_depth), 0, -1):
            for node in by_depth.get(depth, ()):
                parent = self._lift(node)
                by_depth.setdefault(depth - 1, set()).add(parent)
        self._stale.clear()

    def _look_at_pledges(self) -> None:
        if self._pledges is None:
            return
        made = self._pledges.made()
        for pledge in made[self._pledges_seen :]:
            if pledge.job in self._places:
                self._take(pledge.amounts, 1)
                self._stale_jobs.add(pledge.job)
        self._pledges_seen = len(made)

    def _read(self, key: str) -> None:
        job = self._job_state(key)
        if job is None:
            return
        node, row = self._places[key]
        node.held[row] = 0.0
        for column, value in job.allocated.items():
            node.held[row, column] = value
        for column, value in self._pledges.job(key) if self._pledges is not None else ():
            node.held[row, column] += value
        self._weigh(node, row)

    def _weigh(self, node: HierarchyNode, row: int) -> None:
        node.shares[row] = dominant(node.held[row], self._total)
        self._stale.add(node)

    def _lift(self, node: HierarchyNode) -> HierarchyNode:
        """Sum up a node's children into its row of the parent; returns the parent."""
        parent = node.parent
        assert parent is not None
        jobs = len(node.jobs)
        node.saturated[:jobs] = saturated_jobs(node.held[:jobs], node.wanted, self._demanding)
        together = held_together(node.held, node.shares, node.saturated)
        parent.held[node.row] = together
        parent.shares[node.row] = dominant(together, self._total)
        parent.saturated[node.row] = node.saturated.all()
        return parent

    # -- building -----------------------------------------------------------------------------------------------

    def _hang(self, queue: Queue) -> Iterator[HierarchyNode]:
        """The nodes on a queue's path. Missing nodes are made; a node gets its weight from the queue that makes it."""
        node = self._root
        for name, weight in path_of(queue):
            child = node.children.get(name)
            if child is None:
                child = node.children[name] = HierarchyNode(node, weight)
            node = child
            yield node

    def _hang_jobs(self, keys: Iterable[str]) -> None:
        for key in keys:
            job = self._job_state(key)
            if job is not None and job.spec.queue in self._paths and _matters(job):
                node = self._paths[job.spec.queue][-1]
                self._places[key] = (node, len(node.jobs))
                node.jobs.append(job)
        for node in self._nodes():
            node.make_rows(len(self._total))
            for row, job in enumerate(node.jobs):
                mirrored = job.job if isinstance(job, JobView) else job
                for amounts in (mirrored.allocated, mirrored.pending_request):
                    for column, value in amounts.items():
                        node.wanted[row, column] += value
                for column, value in (job.spec.min_resources or ()) if self._pledges is not None else ():
                    node.wanted[row, column] = max(value, node.wanted[row, column])

    def _nodes(self) -> Iterator[HierarchyNode]:
        waiting = [self._root]
        while waiting:
            node = waiting.pop()
            waiting.extend(node.children.values())
            yield node


def path_of(queue: Queue) -> list[tuple[str, float]]:
    """Names and weights on the path from just below the root down to a queue.

    A queue without the annotation is a child of the root, under its own name and with its own weight. A weight that is
    missing, not a number, or less than 1 counts as 1. A weight above ``WEIGHT_MAX`` counts as ``WEIGHT_MAX``. Surplus
    weights are ignored.
    """
    annotations = dict(queue.annotations)
    names = annotations.get(PATH, "").split("/")[1:]
    if not names:
        return [(queue.name, float(queue.weight))]
    weights = annotations.get(WEIGHTS, "").split("/")[1:]
    return [(name, _weight(weights[at]) if at < len(weights) else 1.0) for at, name in enumerate(names)]


def _weight(text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        return 1.0
    if weight >= 1.0 and "inf" not in text.lower():  # a number with very many digits parses as infinity and is valid
        return min(weight, WEIGHT_MAX)
    return 1.0


def _rank_of(node: HierarchyNode) -> tuple[float, float]:
    parent = node.parent
    assert parent is not None
    return float(parent.saturated[node.row]), float(parent.shares[node.row]) / node.weight


def _matters(job: JobState) -> bool:
    """Whether a job holds resources, requests resources, or waits to be admitted."""
    mirrored = job.job if isinstance(job, JobView) else job
    waits = mirrored.spec.phase in (Phase.PENDING, "")
    return waits or any(mirrored.allocated.values()) or any(mirrored.pending_request.values())
