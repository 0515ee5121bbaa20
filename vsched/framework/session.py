"""The session: one scheduling cycle over a private copy of the cluster. Actions read it and change it.

Actions place and evict tasks through ``statement()``. What they commit becomes the effects of the cycle's report.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import TypeVar

import msgspec
from sortedcontainers import SortedDict

from vsched.framework.backlog import Backlog, classes_of, nothing_left, opened_on
from vsched.framework.callout import Callout
from vsched.framework.checks import JobChecks
from vsched.framework.claims.kinds import claims_of, rules_of
from vsched.framework.combine.pluginset import PluginSet
from vsched.framework.combine.tiers import layout_of
from vsched.framework.jobs import JobView
from vsched.framework.ledger.ledger import Ledger, LedgerEntry
from vsched.framework.ledger.statement import Statement
from vsched.framework.ledger.usage import SessionUsage
from vsched.framework.nodes.carried import OWNER as NODES
from vsched.framework.nodes.carried import carried_nodes
from vsched.framework.nodes.masks import shards_of
from vsched.framework.nodes.selection import NodeSelection
from vsched.framework.places.places import Places
from vsched.framework.points.extension import JobState, SessionContext
from vsched.framework.policy import Policy
from vsched.framework.registry import Registry
from vsched.framework.reservations import Reservations
from vsched.framework.reserved import ReservedRoom
from vsched.framework.trace import Trace
from vsched.framework.waiting import Refusals, WaitingJobs
from vsched.model.jobs.job import Job
from vsched.model.memo import NO_MEMO, Memo
from vsched.model.nodes.table import NodeTable
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.model.queues.evictions import Preemptibility
from vsched.model.queues.queue import Queue
from vsched.model.snapshot import Snapshot, asked_jobs


class SessionDecisions:
    """What the report of a session carries out."""

    def __init__(self) -> None:
        self.committed: list[LedgerEntry] = []
        """Placements and evictions to carry out, in the order in which they were decided."""
        self.moving: list[LedgerEntry] = []
        """The places of successors of pods that are moved. They keep others out of the room for this session."""
        self.nominated: dict[str, int] = {}
        """By uid of the task: the node row of its nomination, reserved at the start of the cycle."""
        self.ungated: list[Task] = []
        """Tasks whose scheduling gate is to be removed, in the order decided."""


ArgsT = TypeVar("ArgsT", bound=msgspec.Struct)

BACKLOG = "waiting jobs"  # the owner of ``Backlog``


class Session:
    """The snapshot, jobs, plugins, ledger and node selection of one cycle, and the decisions made so far."""

    def __init__(
        self,
        snapshot: Snapshot,
        policy: Policy,
        registry: Registry,
        trace: Trace,
        callout: Callout | None = None,
        memo: Memo = NO_MEMO,
    ) -> None:
        self.memo = memo
        """What cycles carry over to the next one."""
        self.snapshot = snapshot
        self.policy = policy
        self._carried = carried_nodes(memo, snapshot)
        self.usage = SessionUsage(snapshot)
        before = memo.take(BACKLOG, Backlog) or nothing_left()
        self.opened = opened_on(snapshot, before)
        """The active jobs, compared with those of the last session."""
        self.jobs: SortedDict[str, JobView] = self.opened.views
        """Active jobs that actions may work on, by key, sorted."""
        self.stranded = {key: JobView(snapshot.jobs[key]) for key in self.opened.refusals}
        """Active jobs that the cycle skips, by key; ``refused`` says why."""
        self.refused = Refusals(self.opened.refusals)
        """Why jobs and tasks were skipped, refused or not placed."""
        self.victimised: dict[str, JobView] = {}
        """Views of jobs that are not active, by key; each is made on first use, mostly for possible victims."""
        layout = memo.of("plugins", "layout", (policy, registry), layout_of)
        self.plugins = PluginSet(policy, registry, trace, layout)
        self.decisions = SessionDecisions()
        self.checks = JobChecks(self.plugins, snapshot.queues)
        self.job_state = _job_lookup(self.jobs, self.victimised, snapshot.jobs)
        """Looks up a job by key: the session's view where there is one, else the mirror's record."""
        given = SessionContext(snapshot, self.nodes, self.jobs, self.usage, self.job_state, callout=callout, memo=memo)
        self.plugins.open(given)
        self.claims = claims_of(snapshot, self.nodes, memo.of("claims", "rules", (policy,), rules_of))
        """The volumes and devices that tasks claim."""
        self.reserved = ReservedRoom(snapshot, policy, self.plugins, self.nodes, self.claims, self.jobs)
        planned = self.reserved.planned
        listeners = self.plugins.listeners if planned is None else [*self.plugins.listeners, planned]
        self.ledger = Ledger(self.nodes, self.usage, listeners, self.claims, self._carried.journal)
        self.reservations = Reservations(snapshot, self.plugins, self.view)
        self.node_selection = NodeSelection(
            self.nodes,
            self.ledger.journal,
            self.plugins.node_plugins,
            lambda task: snapshot.jobs[task.job].spec.queue,
            trace.checkpoint,
            self.claims,
            self.reserved.reservers,
            shards_of(snapshot.masks, self.nodes.statics),
            self._carried,
        )
        alone = bool(self.reserved.reservers) or self.claims.implicit
        classes = classes_of(self.plugins, self.opened, before.classes, alone=alone)
        job_key = self.plugins.job_key
        self.waiting = WaitingJobs(classes, self.jobs, job_key, self.refused, self.node_selection, self.ledger)
        """The active jobs by class, and their refusals."""

    def leave(self) -> None:
        """Leave what is known of nodes and jobs to the next session; this one may not be used any more."""
        self.node_selection.leave()
        self.memo.leave(NODES, self._carried)
        views, classes = self.jobs, self.waiting.classes
        keys = chain(self.waiting.keys_alone(), self.waiting.admitted, self.ledger.touched)
        touched = (views[key] for key in keys if key in views)
        modified = {view.key for view in touched if not view.is_unmodified}
        modified.update(*(one.keys() for one in classes if one.sub_grouped))
        snapshot, carried = self.snapshot, classes if classes.may_be_carried else None
        state = self.opened.refusals, snapshot.queues, snapshot.state
        self.memo.leave(BACKLOG, Backlog(views, modified, *state, carried))

    @property
    def nodes(self) -> NodeTable:
        """The session's own node table."""
        return self._carried.table

    @cached_property
    def places(self) -> Places:
        """Tiers, and the domains that jobs may use."""
        plugins = self.plugins.place_plugins
        return Places(self.snapshot.topology, self.nodes, self.ledger.journal, self.node_selection, plugins)

    @cached_property
    def has_non_preemptible(self) -> bool:
        """Whether any job with pods on nodes says that none of them is evicted for others."""
        jobs = chain.from_iterable(jobs.values() for jobs in self.snapshot.holders.values())
        return any(job.spec.preemptibility is Preemptibility.NONE for job in jobs)

    def view(self, key: str) -> JobView | None:
        """The session's view of a job. A job that is not active gets its view on first use; None if it is unknown."""
        found = self.jobs.get(key) or self.victimised.get(key)
        if found is None and (job := self.snapshot.jobs.get(key)) is not None:
            found = self.victimised[key] = JobView(job)
        return found

    def args(self, action: str, args_type: type[ArgsT]) -> ArgsT:
        """The arguments of an action in the policy; the defaults where the policy gives none."""
        found = self.policy.action_args.get(action)
        return found if isinstance(found, args_type) else args_type()

    def queue(self, job: JobView) -> Queue:
        """The queue of a job."""
        return self.snapshot.queues[job.queue]

    def is_left(self, node: str) -> bool:
        """Whether pods are leaving a node."""
        row = self.nodes.statics.row.get(node)
        return row is not None and self.node_selection.is_left(row)

    @cached_property
    def asked_on(self) -> Mapping[str, Sequence[Task]]:
        """The pods that were asked to end by themselves, by node."""
        found: dict[str, list[Task]] = {}
        for _, tasks in asked_jobs(self.snapshot):
            for task in tasks:
                found.setdefault(task.node, []).append(task)
        return found

    def statement(self) -> Statement:
        """A new statement; its steps are rolled back unless it is committed or kept."""
        self.plugins.trace.checkpoint()
        return Statement(self.ledger, self.decisions.committed)

    def pending_tasks(self, job: JobView, *, best_effort: bool) -> list[Task]:
        """Pending tasks without gates that still need a node; either the best-effort tasks or all others.

        Tasks whose nominated node is only reserved are included.
        """
        found: list[Task] = []
        for task in job.job.pending.values():
            if task.gated or task.best_effort is not best_effort:
                continue
            moved = job.moved.get(task.uid)
            if moved is None or (task.uid in self.decisions.nominated and moved[0] is Status.PIPELINED):
                found.append(task)
        return found


def _job_lookup(
    active: Mapping[str, JobView], victimised: Mapping[str, JobView], known: Mapping[str, Job]
) -> Callable[[str], JobState | None]:
    """A job lookup that does not refer to the session.

    Plugins keep the lookup. If it referred to the session, the memory of the whole cycle would not be freed.
    """

    def job_state(key: str) -> JobState | None:
        return active.get(key) or victimised.get(key) or known.get(key)

    return job_state
