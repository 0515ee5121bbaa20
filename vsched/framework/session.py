"""The session: one scheduling cycle over a private copy of the cluster. Actions read it and change it.

Actions place and evict tasks through ``statement()``. What they commit becomes the effects of the cycle's report.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import TypeVar

import msgspec

from vsched.framework.backlog import Backlog, nothing_left, opened_on
from vsched.framework.callout import Callout
from vsched.framework.claims.kinds import claims_of
from vsched.framework.claims.rules import rules_of
from vsched.framework.classes import JobClasses
from vsched.framework.codes import Code
from vsched.framework.combine.orders import OrderKey
from vsched.framework.combine.pluginset import PluginSet
from vsched.framework.combine.tiers import layout_of
from vsched.framework.jobs import JobView
from vsched.framework.ledger.ledger import Ledger, LedgerEntry
from vsched.framework.ledger.statement import Statement
from vsched.framework.ledger.usage import SessionUsage
from vsched.framework.nodes.booked import BookedRoom
from vsched.framework.nodes.carried import OWNER as NODES
from vsched.framework.nodes.carried import carried_nodes
from vsched.framework.nodes.kept import KeptRoom
from vsched.framework.nodes.kept_limits import LimitsOf
from vsched.framework.nodes.masks import shards_of
from vsched.framework.nodes.selection import NodeSelection
from vsched.framework.places.places import Places
from vsched.framework.points.backfilling import PlannedStarts
from vsched.framework.points.extension import JobState, SessionContext
from vsched.framework.policy import Policy
from vsched.framework.refusal import Refusal
from vsched.framework.registry import Registry
from vsched.framework.reservations import Reservations
from vsched.framework.trace import Trace
from vsched.framework.waiting import Refusals, WaitingJobs
from vsched.framework.wording import leaving_by_themselves
from vsched.model.amounts.resources import NOTHING
from vsched.model.jobs.job import Job
from vsched.model.memo import NOTHING_KEPT, Memo
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.model.queues.evictions import Preemptibility
from vsched.model.queues.queue import Queue
from vsched.model.snapshot import Snapshot, asked_jobs

ArgsT = TypeVar("ArgsT", bound=msgspec.Struct)

BACKLOG = "waiting jobs"
"""The owner of ``Backlog``."""
PIPELINED = "Pipelined"
"""The reason of a task that has a node but is not bound yet."""


def to_leave(node: str, asked: Sequence[Task] = ()) -> Refusal:
    """The refusal of a task that has a node and waits for other pods to leave it; ``asked`` may end by themselves."""
    what = leaving_by_themselves(asked) if asked else "the terminating pods are gone"
    return Refusal(PIPELINED, f"will go to {node} once {what}", code=Code.LEAVING, subject=node)


def to_start(node: str, *, at_once: bool) -> Refusal:
    """The refusal of a task that has a free node and waits for the next session (``at_once``) or for its gang."""
    message = f"will go to {node} in the next session" if at_once else f"has a place on {node} and waits for its gang"
    return Refusal(PIPELINED, message, code=Code.STARTING, subject=node)


def is_whole(snapshot: Snapshot, refusal: Refusal) -> bool:
    """Whether every limit in the refusal is the capacity of the whole cluster."""
    totals = dict(zip(snapshot.axis.names, snapshot.total, strict=False))
    short = refusal.shortages
    return bool(short) and all(one.limit >= totals.get(one.resource, one.limit + 1) for one in short)


def keeps_nodes(snapshot: Snapshot) -> bool:
    """Whether nodes that were asked for are kept for some gang."""
    requests = snapshot.provisioning
    return requests is not None and any(found.kept_until > snapshot.now for found in requests.values())


class Session:
    """The snapshot, jobs, plugins, ledger and node selection of one cycle, and the decisions made so far."""

    def __init__(
        self,
        snapshot: Snapshot,
        policy: Policy,
        registry: Registry,
        trace: Trace,
        callout: Callout | None = None,
        memo: Memo = NOTHING_KEPT,
    ) -> None:
        self.memo = memo
        """What cycles keep for the next one."""
        self.snapshot = snapshot
        self.policy = policy
        self._carried = carried_nodes(memo, snapshot)
        self.nodes = self._carried.table
        self.usage = SessionUsage(snapshot)
        before = memo.take(BACKLOG, Backlog) or nothing_left()
        opened = opened_on(snapshot, before)
        self.jobs = opened.views
        """Active jobs that actions may work on, by key, sorted."""
        self.stranded = {key: JobView(snapshot.jobs[key]) for key in opened.refusals} if opened.refusals else {}
        """Active jobs that the cycle skips, by key; ``refused`` says why."""
        self._stranded_by = opened.refusals
        self.refused = Refusals(opened.refusals)
        """Why jobs and tasks were skipped, refused or not placed."""
        self.fresh = opened.fresh
        """By key: views that the last session did not leave."""
        self.left = opened.left
        """The keys of jobs that the last session was for, and this one is not; None where nothing is left of it."""
        self.victimised: dict[str, JobView] = {}
        """Views of jobs that are not active, by key; each is made on first use, mostly for possible victims."""
        self._checkpoint = trace.checkpoint
        layout = memo.of("plugins", "layout", (policy, registry), layout_of)
        self.plugins = PluginSet(policy, registry, trace, layout)
        self.committed: list[LedgerEntry] = []
        """Placements and evictions to carry out, in the order in which they were decided."""
        self.held: dict[str, int] = {}
        """By uid of the task: the node row of its nomination, reserved at the start of the cycle."""
        self._shut: dict[str, Refusal | None] = {}
        self._valid: set[str] = set()
        """Keys of jobs without changes that plugins have found valid."""
        self._keys: dict[str, OrderKey] = {}
        """Sort keys of jobs without changes."""
        self.standing = _standings(self.jobs, self.victimised, snapshot.jobs)
        """Looks up a job by key: the session's view where there is one, else the mirror's record."""
        self.plugins.open(
            SessionContext(snapshot, self.nodes, self.jobs, self.usage, self.standing, callout=callout, memo=memo)
        )
        self.claims = claims_of(snapshot, self.nodes, memo.of("claims", "rules", (policy,), rules_of))
        """What tasks claim besides room: volumes and devices."""
        self.planner = next(iter(self.plugins.taking_part(PlannedStarts)), None)
        """The plugin that plans the starts of jobs without room; None where the policy has none."""
        self.kept = None if self.planner is None else self._kept(self.planner)
        """The planned starts, and the room that is reserved for them; None without such a plugin."""
        self.booked = BookedRoom(self.nodes, snapshot.jobs) if keeps_nodes(snapshot) else None
        """The room that is reserved for gangs that nodes were asked for; None where it is for none."""
        listeners = self.plugins.listeners if self.kept is None else [*self.plugins.listeners, self.kept]
        self.ledger = Ledger(self.nodes, self.usage, listeners, self.claims, self._carried.journal)
        self.reservations = Reservations(snapshot, self.plugins)
        self._asked: dict[str, list[Task]] | None = None
        self.ungated: list[Task] = []
        """Tasks whose scheduling gate is to be removed, in the order decided."""
        self.node_selection = NodeSelection(
            self.nodes,
            self.ledger.journal,
            self.plugins.node_plugins,
            lambda task: snapshot.jobs[task.job].spec.queue,
            trace.checkpoint,
            self.claims,
            [keeper for keeper in (self.kept, self.booked) if keeper is not None],
            shards_of(snapshot.masks, self.nodes.statics),
            self._carried,
        )
        self._keeps_classes = self.plugins.judges_by_job_alone
        classes = JobClasses()
        if self.kept is not None or self.booked is not None or self.claims.implicit:  # no two jobs are alike
            self._keeps_classes = False
            classes.others.update(self.jobs)
        elif self._keeps_classes and before.classes is not None:
            classes = before.classes
            classes.follow(self.plugins, self.left or (), self.fresh.values())
        else:
            classes.follow(self.plugins, (), self.jobs.values())
        self.waiting = WaitingJobs(
            classes, self.jobs, self.plugins.job_key, self.refused, self.node_selection, self.ledger
        )
        """The active jobs by class, and what is said of them."""
        self.places = Places(
            snapshot.topology, self.nodes, self.ledger.journal, self.node_selection, self.plugins.place_plugins
        )
        """Tiers, and the domains that jobs may use."""

    def leave(self) -> None:
        """Leave what is known of nodes and jobs to the next session.

        Nothing may be asked of this one any more.
        """
        self.node_selection.leave()
        self.memo.leave(NODES, self._carried)
        views, classes = self.jobs, self.waiting.classes
        touched = (
            views[key]
            for key in chain(self.waiting.keys_alone(), self.waiting.let_in, self.ledger.touched)
            if key in views
        )
        worn = {view.key for view in touched if not view.is_as_new}
        worn.update(*(one.keys for one in classes if one.sub_grouped))
        snapshot, refusals = self.snapshot, self._stranded_by
        kept = classes if self._keeps_classes else None
        self.memo.leave(BACKLOG, Backlog(views, worn, refusals, snapshot.queues, snapshot.state, kept))

    @cached_property
    def has_non_preemptible(self) -> bool:
        """Whether any job with pods on nodes says that none of them is evicted for others."""
        none = Preemptibility.NONE
        return any(job.spec.preemptibility is none for jobs in self.snapshot.holders.values() for job in jobs.values())

    def view(self, key: str) -> JobView | None:
        """The session's view of a job. A job that is not active gets its view on first use; None if it is unknown."""
        found = self.jobs.get(key) or self.victimised.get(key)
        if found is None and (job := self.snapshot.jobs.get(key)) is not None:
            found = self.victimised[key] = JobView(job)
        return found

    def _kept(self, planner: PlannedStarts) -> KeptRoom:
        """The room that is kept, with lookups that do not refer to the session, either (see ``_standings``)."""
        jobs, queues = self.snapshot.jobs, self.snapshot.queues
        longest = self.policy.longest_runs(queues)

        def ends_by(task: Task) -> float:
            job = jobs[task.job]
            return planner.ends_by(job.spec, task, longest(job))

        limits_of, has_devices = LimitsOf(queues, jobs), self.claims.has_devices
        return KeptRoom(self.nodes, ends_by, limits_of, has_devices, self.jobs, self.plugins.starts_left)

    def args(self, action: str, args_type: type[ArgsT]) -> ArgsT:
        """The arguments of an action in the policy; the defaults where the policy gives none."""
        found = self.policy.action_args.get(action)
        return found if isinstance(found, args_type) else args_type()

    def taking_key(self, job: JobView) -> tuple[bool, OrderKey]:
        """The sort key of a job among those of its queue that take from others; gangs that lost pods go first."""
        if job.moved:
            return not job.has_lost_pods, self.plugins.job_key(job)
        key = self._keys.get(job.key)
        if key is None:
            key = self._keys[job.key] = self.plugins.job_key(job)
        return not job.has_lost_pods, key

    def job_valid(self, job: JobView) -> Refusal | None:
        """Why a job is not valid; None where it is valid. A job without changes is looked at once."""
        if job.moved:
            return self.plugins.job_valid(job)
        refusal = None if job.key in self._valid else self.plugins.job_valid(job)
        if refusal is None:
            self._valid.add(job.key)
        return refusal

    def queue(self, job: JobView) -> Queue:
        """The queue of a job."""
        return self.snapshot.queues[job.queue]

    def is_left(self, node: str) -> bool:
        """Whether pods are leaving a node."""
        row = self.nodes.statics.row.get(node)
        return row is not None and self.node_selection.is_left(row)

    def asked_on(self, node: str) -> Sequence[Task]:
        """The pods on a node that were asked to end by themselves."""
        if self._asked is None:
            self._asked = {}
            for _, tasks in asked_jobs(self.snapshot):
                for task in tasks:
                    self._asked.setdefault(task.node, []).append(task)
        return self._asked.get(node, ())

    def shut(self, job: JobView) -> Refusal | None:
        """Why the job's queue accepts no job at all (for instance, it is closed); None where it accepts jobs."""
        if job.queue not in self._shut:
            refusal = self.plugins.allocatable(self.queue(job), NOTHING)
            self._shut[job.queue] = refusal if refusal is not None and not refusal.rank else None
        return self._shut[job.queue]

    def statement(self) -> Statement:
        """A new statement; its steps are rolled back unless it is committed or kept."""
        self._checkpoint()
        return Statement(self.ledger, self.committed)

    def pending_tasks(self, job: JobView, *, best_effort: bool) -> list[Task]:
        """Pending tasks without gates that still need a node; either the best-effort tasks or all others.

        Tasks whose nominated node is only reserved are included.
        """
        found: list[Task] = []
        all_moved = job.moved
        for task in job.job.pending.values():
            if task.gated or task.best_effort is not best_effort:
                continue
            moved = all_moved.get(task.uid) if all_moved else None
            if moved is None or (task.uid in self.held and moved[0] is Status.PIPELINED):
                found.append(task)
        return found


def _standings(
    active: Mapping[str, JobView], victimised: Mapping[str, JobView], known: Mapping[str, Job]
) -> Callable[[str], JobState | None]:
    """A job lookup that does not refer to the session.

    Plugins keep the lookup. If it referred to the session, the memory of the whole cycle would not be freed.
    """

    def standing(key: str) -> JobState | None:
        return active.get(key) or victimised.get(key) or known.get(key)

    return standing
