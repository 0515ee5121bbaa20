"""One scheduling cycle over a private copy of the cluster: what actions work with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

import msgspec

from vsched.framework.callout import Callout
from vsched.framework.codes import Code
from vsched.framework.combine.pluginset import PluginSet
from vsched.framework.jobs import JobView
from vsched.framework.ledger.ledger import Entry, Ledger
from vsched.framework.ledger.statement import Statement
from vsched.framework.ledger.usage import SessionUsage
from vsched.framework.nodes.selection import NodeSelection
from vsched.framework.nodes.why import Explanation
from vsched.framework.obstacles import obstacle
from vsched.framework.points.extension import JobState, SessionContext
from vsched.framework.policy import Policy
from vsched.framework.refusal import Refusal
from vsched.framework.registry import Registry
from vsched.framework.reservations import Reservations
from vsched.framework.trace import Trace
from vsched.model.amounts.resources import NOTHING
from vsched.model.jobs.job import Job
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue
from vsched.model.snapshot import Snapshot

ArgsT = TypeVar("ArgsT", bound=msgspec.Struct)

PIPELINED = "Pipelined"
"""Why a task is not bound that has a node, once others have left it."""


def to_leave(node: str) -> Refusal:
    """What a task waits for that has its place, once others have left it."""
    return Refusal(PIPELINED, f"will go to {node} once what is leaving it has left", code=Code.LEAVING, subject=node)


def to_start(node: str, *, at_once: bool) -> Refusal:
    """What a task waits for that has its place and nobody has to leave: the next session, or its gang."""
    message = f"will go to {node} in the next session" if at_once else f"has its place on {node} and waits for its gang"
    return Refusal(PIPELINED, message, code=Code.STARTING, subject=node)


def is_whole(snapshot: Snapshot, refusal: Refusal) -> bool:
    """Whether all that a refusal says is that the cluster has no more."""
    totals = dict(zip(snapshot.axis.names, snapshot.total, strict=False))
    short = refusal.shortages
    return bool(short) and all(one.limit >= totals.get(one.resource, one.limit + 1) for one in short)


class Session:
    """The cycle's snapshot, jobs, plugins, ledger and node selection, and what has been decided so far."""

    def __init__(
        self, snapshot: Snapshot, policy: Policy, registry: Registry, trace: Trace, callout: Callout | None = None
    ) -> None:
        self.snapshot = snapshot
        self.policy = policy
        self.nodes = snapshot.nodes.copy()
        self.usage = SessionUsage(snapshot)
        self.jobs: dict[str, JobView] = {}
        """Jobs that the cycle may do something for, by key."""
        self.stranded: dict[str, JobView] = {}
        """Jobs that would be among them, but for which it does nothing; ``job_refusals`` says why."""
        self.job_refusals: dict[str, Refusal] = {}
        """Why a job was not worked on or not admitted, by key; the last word counts."""
        for key in snapshot.active:
            job = snapshot.jobs[key]
            refusal = obstacle(job, snapshot.queues)
            if refusal is None:
                self.jobs[key] = JobView(job)
            else:
                self.stranded[key], self.job_refusals[key] = JobView(job), refusal
        self.victimised: dict[str, JobView] = {}
        """Jobs without work of their own that others take from, by key."""
        self._checkpoint = trace.checkpoint
        self.plugins = PluginSet(policy, registry, trace)
        self.committed: list[Entry] = []
        """Placements and evictions to carry out, in decision order."""
        self.held: dict[str, int] = {}
        """Rows that were held from the start of the cycle for tasks with a nominated node, by uid."""
        self.task_refusals: dict[str, Explanation | Refusal] = {}
        """Why a task was not placed, by uid; the last word counts."""
        self.protected: dict[str, Refusal] = {}
        """What protects the only victims that would have made room for a job, by its key."""
        self._shut: dict[str, Refusal | None] = {}
        self.tried: set[str] = set()
        """Tasks that found a place in a try that was given up, by uid."""
        self.standing = _standings(self.jobs, self.victimised, snapshot.jobs)
        """A job by key as it stands: as this cycle sees it where it has touched it, else as the mirror has it."""
        self.plugins.open(SessionContext(snapshot, self.nodes, self.jobs, self.usage, self.standing, callout=callout))
        self.ledger = Ledger(self.nodes, self.usage, self.plugins.listeners)
        self.reservations = Reservations(snapshot, self.plugins)
        self.ungated: list[Task] = []
        """Tasks whose gates are to be opened, in the order decided."""
        self.node_selection = NodeSelection(
            self.nodes,
            self.ledger.journal,
            self.plugins.node_plugins,
            lambda task: snapshot.jobs[task.job].spec.queue,
            trace.checkpoint,
        )

    def view(self, key: str) -> JobView | None:
        """The cycle's view of a job, made where there is none yet because there is no work for it."""
        found = self.jobs.get(key) or self.victimised.get(key)
        if found is None and (job := self.snapshot.jobs.get(key)) is not None:
            found = self.victimised[key] = JobView(job)
        return found

    def args(self, action: str, args_type: type[ArgsT]) -> ArgsT:
        """What the policy tells an action, its defaults where it says nothing."""
        found = self.policy.action_args.get(action)
        return found if isinstance(found, args_type) else args_type()

    def queue(self, job: JobView) -> Queue:
        """The queue of a job."""
        return self.snapshot.queues[job.queue]

    def is_left(self, node: str) -> bool:
        """Whether anything is leaving a node."""
        row = self.nodes.statics.row.get(node)
        return row is not None and self.node_selection.is_left(row)

    def shut(self, job: JobView) -> Refusal | None:
        """Why the job's queue takes nothing at all, however little is asked for; None where it takes something."""
        if job.queue not in self._shut:
            refusal = self.plugins.allocatable(self.queue(job), NOTHING)
            self._shut[job.queue] = refusal if refusal is not None and not refusal.rank else None
        return self._shut[job.queue]

    def statement(self) -> Statement:
        """A try that leaves no trace unless committed or kept."""
        self._checkpoint()
        return Statement(self.ledger, self.committed)

    def pending_tasks(self, job: JobView, *, best_effort: bool) -> Iterator[Task]:
        """Ungated pending tasks that this cycle has not placed or only holds a node for; best-effort or the others."""
        for task in job.job.pending.values():
            if task.gated or task.shape.best_effort is not best_effort:
                continue
            moved = job.moved.get(task.uid)
            if moved is None or (task.uid in self.held and moved[0] is Status.PIPELINED):
                yield task


def _standings(
    active: Mapping[str, JobView], victimised: Mapping[str, JobView], known: Mapping[str, Job]
) -> Callable[[str], JobState | None]:
    """Looks jobs up without the session: plugins that held on to it would keep a whole cycle from being freed."""

    def standing(key: str) -> JobState | None:
        return active.get(key) or victimised.get(key) or known.get(key)

    return standing
