"""Why a job waits, in one word and one sentence: the constraint that binds, with counts. What every reader is shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.refusal import Refusal
from vsched.framework.session import Session, to_leave
from vsched.framework.why import Explanation
from vsched.framework.wording import amounts, at_capability, beyond_any, binding, counted, on_nodes
from vsched.model.shape import Shape
from vsched.model.status import Phase, Status
from vsched.model.task import Task

UNBOUND = (Status.PENDING, Status.ALLOCATED, Status.BINDING)
TOLD_IN_AMOUNTS = frozenset((Code.QUEUE_CAPABILITY, Code.QUEUE_ADMISSION, Code.QUEUE_SHARE))
"""Limits of which is told what is held, asked and allowed."""
NO_REASONS: Mapping[str, int] = {}


class Headline(NamedTuple):
    """What binds, in a word and in a sentence, and the nodes by reason of the task that stopped the job."""

    code: str
    message: str
    reasons: Mapping[str, int] = NO_REASONS
    limit: Refusal | None = None
    """The rule that the sentence tells of, alone or besides the nodes."""


SILENT = Headline("", "")


class Headlines:
    """Makes the headlines of one session whose actions have run."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._admitted: Counter[str] | None = None
        self._beyonds: dict[Shape, str] = {}
        self._shorts: dict[tuple[Refusal, str, bool], Headline] = {}
        """Many jobs of a queue are refused in the same words."""

    def of(self, view: JobView) -> Headline:
        """Why a job waits; silent where it does not, or nobody knows."""
        found = self._of_undecided(view)
        return found if found.message or not self._session.snapshot.setbacks else self._set_back(view)

    def _set_back(self, view: JobView) -> Headline:
        """Of a job that has its places, as far as this scheduler is concerned."""
        setbacks = self._session.snapshot.setbacks
        found = [task for uid, task in view.job.tasks.items() if uid in setbacks and task.status in UNBOUND]
        if not found:
            return SILENT
        first = min(found, key=lambda task: task.name)
        refused = f"the API server does not bind {len(found)} of its pods"
        return Headline(Code.BINDING, f"{refused}: {first.name}: {setbacks[first.uid]}")

    def _of_undecided(self, view: JobView) -> Headline:
        session = self._session
        refusal = session.job_refusals.get(view.key)
        if refusal is not None:
            return self.refused(view, refusal)
        if not view.pending_count and not view.waiting:
            return self._incomplete(view)
        cause = cause_of(session, view)
        if cause is None:
            return self._gated(view)
        if view.waiting and in_sight(view) and not view.is_ready:
            return self._leaving(view)
        why = session.task_refusals[cause.uid]
        if isinstance(why, Explanation):
            return self._unplaced(view, cause, why)
        if why.code is not Code.LEAVING:
            return self.refused(view, why)
        return self._leaving(view) if in_sight(view) else self._out_of_sight(view)

    def _leaving(self, view: JobView) -> Headline:
        """Of a job that others make room for: its minimum is in sight, or only what it wants beyond that is missing."""
        waiting = (task for uid, task in view.job.pending.items() if _has_place(view, uid))
        first = min(waiting, key=lambda task: (task.created, task.name))
        who = counted(view.waiting, "pod has its place and waits", "pods have their places and wait")
        place = to_leave(view.moved[first.uid][1]).message
        return Headline(Code.LEAVING, f"{who} for others to leave: {first.name} {place}")

    def _out_of_sight(self, view: JobView) -> Headline:
        """Of a job with places to wait for, and too few of them: what keeps the next of its tasks from another one."""
        session = self._session
        others = [task for uid, task in view.job.pending.items() if uid not in view.moved and not task.gated]
        firsts: dict[Shape, Task] = {}
        for task in sorted(others, key=lambda task: (task.created, task.name)):
            firsts.setdefault(task.shape, task)
        for task in firsts.values():
            why = session.fitting.explain(task)
            if why.reasons:
                return self._unplaced(view, task, why)
            refusal = session.plugins.grantable(session.queue(view), view.namespace, task.shape)
            if refusal is not None:
                return self.refused(view, refusal)
        return self._gated(view)

    def _gated(self, view: JobView) -> Headline:
        """Of a job whose tasks were not refused: gates hold some of them back, or it was not tried."""
        gated = sum(task.gated for task in view.job.pending.values())
        if not gated:
            return SILENT
        if view.is_ready and view.ready >= max(1, view.min_member):
            return Headline(Code.GATED, f"scheduling gates hold back {counted(gated, 'more pod', 'more pods')}")
        told = f"scheduling gates hold back {counted(gated, 'pod', 'pods')}"
        missing = view.min_member - view.ready - view.best_effort_pending
        if view.min_member > 1 and missing > 0:
            fits = _fitting(self._session, view, None)
            told += f": {_needs('the gang', view.min_member, missing, fits) if fits else f'the gang needs {missing}'}"
        return Headline(Code.GATED, told)

    def _incomplete(self, view: JobView) -> Headline:
        """Of a job without a task that waits: its pods were lost, or are not made yet."""
        if view.is_ready or view.phase == Phase.COMPLETED:
            return SILENT
        refusal = self._session.plugins.job_valid(view)
        return SILENT if refusal is None else self.refused(view, refusal)

    def otherwise(self, view: JobView, message: str) -> Headline:
        """Why a job is not schedulable that no action had anything to say of."""
        refusal = self._session.plugins.job_valid(view)
        return Headline(Code.OTHER, message) if refusal is None else self.refused(view, refusal)

    # -- no room on the nodes ---------------------------------------------------------------------------------------

    def _unplaced(self, view: JobView, cause: Task, why: Explanation) -> Headline:
        code, head = self._scale(view, cause, why)
        if not len(self._session.nodes):
            return Headline(Code.NO_NODES, f"{head}: no nodes are known")
        message = f"{head}: {on_nodes(why) or why.message}"
        beyond = self._beyond(cause.shape) if code is not Code.GANG_SIZE else ""
        message += f"; {beyond}" if beyond else ""
        also = why.also if why.also is not None and not self.is_whole(why.also) else None
        if also is not None:
            message += f"; besides, {self.refused(view, also).message}"
        kept = self._session.kept.get(view.key)
        if kept is not None:
            code, message = kept.code, f"{kept.message}; {message}"
        return Headline(code, message, why.reasons, also)

    def _beyond(self, shape: Shape) -> str:
        """What of a request is more than any node has in all; empty where nothing is."""
        told = self._beyonds.get(shape)
        if told is None:
            told = self._beyonds[shape] = beyond_any(self._session.nodes, shape)
        return told

    def _scale(self, view: JobView, cause: Task, why: Explanation) -> tuple[Code, str]:
        """How much of the job is missing, and what that makes of the nodes' reasons."""
        code = binding(why)
        lacking = view.roles_missing()
        fits = _fitting(self._session, view, cause.role) if cause.role in lacking else 0
        if fits < lacking.get(cause.role, 0):
            minimum = dict(view.spec.min_task_member)[cause.role]
            return Code.ROLE_MINIMUM, _needs(f"role {cause.role}", minimum, lacking[cause.role], fits)
        if view.is_ready:
            waiting = view.pending_count + view.waiting
            return code, "one more pod waits" if waiting == 1 else f"{waiting} more pods wait"
        missing = view.min_member - view.ready - view.best_effort_pending
        if view.min_member < 2:
            return code, "no node takes it"
        fits = min(missing, _fitting(self._session, view, None) if why.fits is None else why.fits)
        return Code.GANG_SIZE if fits else code, _needs("the gang", view.min_member, missing, fits)

    # -- refused by a rule ------------------------------------------------------------------------------------------

    def refused(self, view: JobView, refusal: Refusal) -> Headline:
        """What a rule says of a job."""
        if not refusal.shortages or refusal.code not in TOLD_IN_AMOUNTS:
            return Headline(refusal.code, refusal.message, limit=refusal)
        key = (refusal, view.queue, view.waiting_to_enter)
        told = self._shorts.get(key)
        if told is None:
            told = self._shorts[key] = self._short(*key)._replace(limit=refusal)
        return told

    def _short(self, refusal: Refusal, queue: str, waiting_to_enter: bool) -> Headline:
        """What is said of a job of a queue that asks for more than a limit leaves."""
        short = refusal.shortages
        if all(one.is_others for one in short) and waiting_to_enter:
            before = self._admitted_before(refusal.subject)
            return Headline(Code.ORDER, f"waits behind {before}: {amounts(short, 'promised')}")
        if refusal.code is Code.QUEUE_CAPABILITY:
            return Headline(refusal.code, at_capability(self._session.snapshot, queue, refusal))
        if refusal.code is Code.QUEUE_ADMISSION:
            told = "as much is admitted as the cluster is to be promised"
            return Headline(refusal.code, f"{told}: {amounts(short, 'promised')}")
        told = f"queue {refusal.subject} would hold more than it deserves"
        return Headline(refusal.code, f"{told}: {amounts(short, 'held')}")

    def is_whole(self, refusal: Refusal) -> bool:
        """Whether all that it says is that the cluster has no more."""
        snapshot = self._session.snapshot
        totals = dict(zip(snapshot.axis.names, snapshot.total, strict=False))
        short = refusal.shortages
        return bool(short) and all(one.limit >= totals.get(one.resource, one.limit + 1) for one in short)

    def _admitted_before(self, queue: str) -> str:
        """The jobs that were admitted and have not got their minimum yet, of a queue or (no name) of all."""
        if self._admitted is None:
            self._admitted = Counter(
                view.queue for view in self._session.jobs.values() if not view.waiting_to_enter and not view.is_ready
            )
        count = self._admitted[queue] if queue else self._admitted.total()
        jobs = "one job" if count == 1 else f"{rounded(count)} jobs" if count else "jobs"
        return f"{jobs} of queue {queue} admitted before it" if queue else f"{jobs} admitted before it"


def cause_of(session: Session, view: JobView) -> Task | None:
    """The oldest task that found no place; where all have one, the oldest that waits for others to leave it."""
    refusals = session.task_refusals
    refused = [
        task
        for uid, task in view.job.pending.items()
        if uid in refusals and (_has_place(view, uid) or (uid not in view.moved and not _waits(refusals[uid])))
    ]
    short = _roles_short(session, view)
    return min(
        refused,
        key=lambda task: (_waits(refusals[task.uid]), task.role not in short, task.created, task.name),
        default=None,
    )


def refusal_of(session: Session, view: JobView, uid: str) -> Explanation | Refusal | None:
    """Why a task was not placed for good; None as well for one that was to wait for others to leave, and is not now."""
    why = session.task_refusals.get(uid)
    if _has_place(view, uid):
        return why if why is not None and _waits(why) else to_leave(view.moved[uid][1])
    return None if why is not None and _waits(why) else why


def in_sight(view: JobView) -> bool:
    """Whether the job has its minimum, and those of its roles, once others have left what its tasks wait for."""
    return view.is_pipelined and not view.roles_missing(waiting=True)


def rounded(count: int) -> str:
    """A count for people that does not change with every session: whole up to 20, then in steps."""
    if count <= 20:
        return str(count)
    step = next(step for step in (1000, 500, 200, 100, 50, 20) if count > step)
    return f"more than {step}"


def _roles_short(session: Session, view: JobView) -> set[str]:
    """Roles of which not enough tasks found a place for the minimum, in this cycle's last try."""
    return {role for role, missing in view.roles_missing().items() if _fitting(session, view, role) < missing}


def _fitting(session: Session, view: JobView, role: str | None) -> int:
    """How many tasks of the job (of the role) found a place in a try that was given up, or wait for one."""
    found = (task for uid, task in view.job.pending.items() if uid in session.tried or _has_place(view, uid))
    return sum(1 for task in found if role is None or task.role == role)


def _has_place(view: JobView, uid: str) -> bool:
    return uid in view.moved and view.moved[uid][0] is Status.PIPELINED


def _waits(why: Explanation | Refusal) -> bool:
    return isinstance(why, Refusal) and why.code is Code.LEAVING


def _needs(who: str, minimum: int, missing: int, fits: int) -> str:
    many = fits if fits else "none"
    verb = "fits" if fits == 1 else "fit"
    if missing == minimum:
        return f"{who} needs {minimum}, {many} {verb}"
    return f"{who} needs {missing} more of its minimum of {minimum}, {many} {verb}"
