"""A cluster of ten cores on one node, and queues with pods of one core, as capacity sees them."""

from __future__ import annotations

from tests.support.small import SmallCluster
from vsched.framework.ledger.ledger import Ledger
from vsched.framework.points.extension import SessionContext
from vsched.framework.points.victims import Purpose, Votes
from vsched.framework.refusal import Refusal
from vsched.model.amounts.resources import CPU, MEMORY, PODS, Amounts
from vsched.model.jobs.job import Job
from vsched.model.pods.shape import Shape
from vsched.model.pods.status import Phase, Status
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue
from vsched.plugins.capacity import Capacity, CapacityArgs

GPU = "example.com/gpu"
DEFAULTS = CapacityArgs()


def cpu(amount: int) -> Amounts:
    return ((CPU, amount),)


def memory(amount: int) -> Amounts:
    return ((MEMORY, amount),)


def pods(amount: int) -> Amounts:
    return ((PODS, amount),)


class OpenedCapacity:
    """A cluster without queues, and the plugin, which is opened when it is first asked for."""

    def __init__(self, cluster: SmallCluster, args: CapacityArgs, hierarchy: bool) -> None:
        self.cluster = cluster
        self.cluster.queues.clear()
        self._args, self._hierarchy = args, hierarchy
        self._opened: tuple[SessionContext, Capacity] | None = None

    @property
    def opening(self) -> SessionContext:
        return self._known()[0]

    @property
    def plugin(self) -> Capacity:
        return self._known()[1]

    def _known(self) -> tuple[SessionContext, Capacity]:
        if self._opened is None:
            self._opened = self._open()
        return self._opened

    def _open(self) -> tuple[SessionContext, Capacity]:
        opening = self.cluster.opening(hierarchy=self._hierarchy)
        plugin = Capacity(self._args)
        plugin.open(opening)
        return opening, plugin


class Quotas(OpenedCapacity):
    """Collects queues; the plugin is opened when it is first asked for."""

    def __init__(self, *, hierarchy: bool = False, level: int = 0) -> None:
        args = CapacityArgs(ancestor_reclaim_level=level)
        super().__init__(SmallCluster().node("n1", cpu=10_000, memory=1000), args, hierarchy)
        self.gpu = self.cluster.axis.column(GPU)
        self.cluster.nodes["n1"][GPU] = 4000
        self.core = self.cluster.shape(cpu=1000, memory=0)

    def queue(self, name: str, holds: int = 0, *, wants: int = 0, **fields: object) -> Quotas:
        """A queue whose job holds some cores, and wants more."""
        self.cluster.queue(name, **fields)
        if holds:
            wanted: dict[str, object] = {"min_member": holds, "min_resources": cpu(1000 * holds)}
            self.cluster.running(f"{name}-holds", holds, shape=self.core, queue=name, **wanted)
        if wants:
            self.cluster.job(f"{name}-wants", wants, shape=self.core, queue=name)
        return self

    def holding(self, queue: str, name: str, shape: Shape) -> Task:
        """One more task that runs in a queue."""
        job = self.cluster.running(name, 1, shape=shape, queue=queue)
        return next(iter(job.tasks.values()))

    def asking(self, queue: str, shape: Shape | None = None) -> Task:
        """A task that waits in a queue."""
        return next(iter(self.cluster.job(f"{queue}-asks", 1, shape=shape or self.core, queue=queue).tasks.values()))

    def waiting(self, queue: str, name: str = "new", **spec: object) -> Job:
        """A job that waits to be admitted."""
        return self.cluster.job(name, 0, queue=queue, phase=Phase.PENDING, **spec)

    def place(self, job: str, count: int = 1) -> None:
        """Place pending tasks of a job, by the ledger as any cycle does."""
        opening = self.opening
        ledger = Ledger(opening.nodes, opening.usage, [self.plugin])
        view = opening.jobs[f"ns/{job}"]
        for task in [task for task in view.job.pending.values() if task.uid not in view.moved][:count]:
            ledger.place(view, task, 0, Status.ALLOCATED)

    def found(self, name: str) -> Queue:
        return self.cluster.queues[name]

    def refusal(self, name: str, request: Amounts) -> str:
        """Why a queue may not take a request; empty where it may."""
        refusal = self.plugin.allocatable(self.found(name), request)
        return "" if refusal is None else refusal.message

    def enqueueable(self, job: Job) -> str:
        """Why a job is not admitted; empty where it is."""
        answer = self.plugin.job_enqueueable(self.opening.jobs[job.key])
        return answer.message if isinstance(answer, Refusal) else ""

    def victims(self, reclaimer: Task, *candidates: Task) -> list[str]:
        """Names of those that may go."""
        return [task.name for task in self.votes(reclaimer).agreed(candidates) or ()]

    def votes(self, reclaimer: Task) -> Votes:
        """What the plugin says of a reclaimer's victims."""
        return self.plugin.victim_votes(reclaimer, Purpose.RECLAIM)

    def in_order(self, *names: str) -> list[str]:
        return sorted(names, key=lambda name: self.plugin.queue_key(self.found(name)))

    def problem(self, name: str) -> str:
        """What is said to be wrong with a queue."""
        division = self.plugin.division(self.found(name))
        return division.problem.message if division is not None and division.problem is not None else ""
