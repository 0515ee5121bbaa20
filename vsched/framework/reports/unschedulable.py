"""Why a job waits, in one word and one sentence: the constraint that binds, with counts. What every reader is shown."""

from __future__ import annotations

from typing import NamedTuple

from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.nodes.why import NO_NODES_KNOWN, Explanation
from vsched.framework.obstacles import told_of_pods, unsupported
from vsched.framework.refusal import Refusal
from vsched.framework.reports.holders import Holders
from vsched.framework.reports.lasting import never_on_nodes, not_registered, rooms_if_empty, rows_open
from vsched.framework.reports.limits import SILENT, LimitsTold, UnschedulableReason
from vsched.framework.session import PIPELINED, Session, is_whole, to_leave, to_start
from vsched.framework.wording import binding, counted, on_nodes
from vsched.model.amounts.quantity import UNLIMITED
from vsched.model.pods.shape import Shape
from vsched.model.pods.status import Phase, Status
from vsched.model.pods.task import Task

UNBOUND = (Status.PENDING, Status.ALLOCATED, Status.BINDING)


class IfEmpty(NamedTuple):
    """What nodes could do for tasks of a shape if they were empty."""

    told: str
    """Why not even one of them would fit, or what is not registered yet; empty where one would fit."""
    room: int
    """How many of them there would be room for at most."""


class UnschedulableReasons:
    """Says why the jobs of a session wait whose actions have run."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.limits = LimitsTold(session)
        self.holders = Holders(session)
        self._if_emptys: dict[tuple[Shape, str], IfEmpty] = {}

    def of(self, view: JobView) -> UnschedulableReason:
        """Why a job waits; silent where it does not, or nobody knows."""
        found = self._of_undecided(view)
        return found if found.message or not self.session.snapshot.setbacks else self._set_back(view)

    def _set_back(self, view: JobView) -> UnschedulableReason:
        """Of a job that has its places, as far as this scheduler is concerned."""
        setbacks = self.session.snapshot.setbacks
        found = [task for uid, task in view.job.tasks.items() if uid in setbacks and task.status in UNBOUND]
        if not found:
            return SILENT
        first = min(found, key=lambda task: task.name)
        refused = f"the API server does not bind {len(found)} of its pods"
        return UnschedulableReason(Code.BINDING, f"{refused}: {first.name}: {setbacks[first.uid]}")

    def _of_undecided(self, view: JobView) -> UnschedulableReason:
        session = self.session
        refusal = session.job_refusals.get(view.key)
        if refusal is not None:
            return self.refused(view, refusal)
        if not view.pending_count and not view.waiting:
            return self._incomplete(view)
        cause = cause_of(session, view)
        if view.waiting and in_sight(view) and not view.is_ready:
            return self._leaving(view)
        if cause is None:
            return self._gated(view)
        why = session.task_refusals[cause.uid]
        if isinstance(why, Explanation):
            return self._unplaced(view, cause, why)
        if not _waits(why):
            return self.refused(view, why)
        return self._leaving(view) if in_sight(view) else self._out_of_sight(view)

    def _leaving(self, view: JobView) -> UnschedulableReason:
        """Of a job that others make room for: its minimum is in sight, or only what it wants beyond that is missing."""
        waiting = [task for uid, task in view.job.pending.items() if _has_place(view, uid)]
        left = [task for task in waiting if self.session.is_left(view.moved[task.uid][1])]
        first = min(left or waiting, key=lambda task: (task.created, task.name))
        message = f"{first.name} {place_of(self.session, view, first.uid).message}"
        if not left:
            return UnschedulableReason(
                Code.STARTING, f"{counted(len(waiting), 'pod has its place', 'pods have their places')}: {message}"
            )
        who = counted(len(left), "pod has its place and waits", "pods have their places and wait")
        return UnschedulableReason(Code.LEAVING, f"{who} for others to leave: {message}")

    def _out_of_sight(self, view: JobView) -> UnschedulableReason:
        """Of a job with places to wait for, and too few of them: what keeps the next of its tasks from another one."""
        session = self.session
        others = [task for uid, task in view.job.pending.items() if uid not in view.moved and not task.gated]
        firsts: dict[Shape, Task] = {}
        for task in sorted(others, key=lambda task: (task.created, task.name)):
            firsts.setdefault(task.shape, task)
        for task in firsts.values():
            why = session.node_selection.explain(task)
            if why.reasons:
                return self._unplaced(view, task, why)
            refusal = session.plugins.grantable(session.queue(view), view.namespace, task.shape)
            if refusal is not None:
                return self.refused(view, refusal)
        return self._gated(view)

    def _gated(self, view: JobView) -> UnschedulableReason:
        """Of a job whose tasks were not refused: gates hold some of them back, or it was not tried."""
        gated = sum(task.at_gate for task in view.job.pending.values())
        if not gated:
            return self.refused(view, unsupported(told_of_pods(view.job))) if view.job.unplaceable else SILENT
        if view.is_ready and view.ready >= max(1, view.min_member):
            return UnschedulableReason(
                Code.GATED, f"scheduling gates hold back {counted(gated, 'more pod', 'more pods')}"
            )
        message = f"scheduling gates hold back {counted(gated, 'pod', 'pods')}"
        missing = view.min_member - view.ready - view.best_effort_pending
        if view.min_member > 1 and missing > 0:
            fits = _fitting(self.session, view, None)
            message += (
                f": {_needs('the gang', view.min_member, missing, fits) if fits else f'the gang needs {missing}'}"
            )
        return UnschedulableReason(Code.GATED, message)

    def _incomplete(self, view: JobView) -> UnschedulableReason:
        """Of a job without a task that waits: its pods were lost, or are not made yet."""
        if view.is_ready or view.phase == Phase.COMPLETED:
            return SILENT
        refusal = self.session.plugins.job_valid(view)
        return SILENT if refusal is None else self.refused(view, refusal)

    def otherwise(self, view: JobView, message: str) -> UnschedulableReason:
        """Why a job is not schedulable that no action had anything to say of."""
        refusal = self.session.plugins.job_valid(view)
        return UnschedulableReason(Code.OTHER, message) if refusal is None else self.refused(view, refusal)

    # -- no room on the nodes ---------------------------------------------------------------------------------------

    def _unplaced(self, view: JobView, cause: Task, why: Explanation) -> UnschedulableReason:
        told = self.holders.explain(view.key, cause, why)
        why = told.why
        code, head = self._scale(view, cause, why)
        if not len(self.session.nodes):
            return UnschedulableReason(Code.NO_NODES, f"{head}: {NO_NODES_KNOWN}")
        never = self._if_empty(view, cause).told
        said = told.named(on_nodes(why) or why.message)
        message = f"{head}: {'; '.join(one for one in (never, said) if one)}"
        also = why.also if why.also is not None and not is_whole(self.session.snapshot, why.also) else None
        if also is not None:
            message += f"; besides, {self.refused(view, also).message}"
        kept = self.session.protected.get(view.key)
        if kept is not None:
            code, message = kept.code, f"{kept.message}; {message}"
        return UnschedulableReason(code, message, why.reasons, also)

    def _if_empty(self, view: JobView, task: Task) -> IfEmpty:
        """What the nodes could do for tasks like this one if they were empty."""
        key = task.shape, view.queue
        known = self._if_emptys.get(key)
        if known is None:
            session = self.session
            never = never_on_nodes(session, task)
            rooms = rooms_if_empty(session, task.shape, rows_open(session, task)[0])
            told = not_registered(session, task)
            if never is not None and never.code is Code.RESOURCES:
                told = never.message
            known = self._if_emptys[key] = IfEmpty(told, min(int(rooms.sum(dtype=float)), UNLIMITED))
        return known

    def _most(self, view: JobView, task: Task, missing: int) -> int | None:
        """How many of what a gang of like pods lacks would fit, were all nodes empty; None where all would."""
        room = self._if_empty(view, task).room
        if room >= view.min_member or task.shape.best_effort:
            return None
        own = [one for one in view.job.tasks.values() if one.status is not Status.SUCCEEDED]
        if any(one.shape is not task.shape for one in own):
            return None
        most = room - (len(own) - len(view.job.pending))
        return max(0, most) if most < missing else None

    def _scale(self, view: JobView, cause: Task, why: Explanation) -> tuple[Code, str]:
        """How much of the job is missing, and what that makes of the nodes' reasons."""
        code = binding(why)
        lacking = view.roles_missing()
        fits = _fitting(self.session, view, cause.role) if cause.role in lacking else 0
        if fits < lacking.get(cause.role, 0):
            minimum = dict(view.spec.min_task_member)[cause.role]
            return Code.ROLE_MINIMUM, _needs(f"role {cause.role}", minimum, lacking[cause.role], fits)
        if view.is_ready:
            waiting = view.pending_count + view.waiting
            return code, "one more pod waits" if waiting == 1 else f"{waiting} more pods wait"
        missing = view.min_member - view.ready - view.best_effort_pending
        if view.min_member < 2:
            return code, "no node takes it"
        fits = min(missing, _fitting(self.session, view, None) if why.fits is None else why.fits)
        most = self._most(view, cause, missing)
        told = _needs("the gang", view.min_member, missing, fits, most)
        return Code.GANG_SIZE if fits or most else code, told

    # -- refused by a rule ------------------------------------------------------------------------------------------

    def refused(self, view: JobView, refusal: Refusal) -> UnschedulableReason:
        """What a rule says of a job."""
        if refusal.code is Code.UNSUPPORTED:
            return UnschedulableReason(refusal.code, refusal.message, {refusal.reason: 1})
        return self.limits.refused(view, refusal)


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
        return place_of(session, view, uid)
    return None if why is not None and _waits(why) else why


def place_of(session: Session, view: JobView, uid: str) -> Refusal:
    """What a task waits for that has its place."""
    node = view.moved[uid][1]
    if session.is_left(node):
        return to_leave(node)
    others = (view.moved[one][1] for one in view.job.pending if _has_place(view, one))
    return to_start(node, at_once=in_sight(view) and not any(session.is_left(one) for one in others))


def in_sight(view: JobView) -> bool:
    """Whether the job has its minimum, and those of its roles, once others have left what its tasks wait for."""
    return view.is_pipelined and not view.roles_missing(waiting=True)


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
    return isinstance(why, Refusal) and why.reason == PIPELINED


def _needs(who: str, minimum: int, missing: int, fits: int, most: int | None = None) -> str:
    """``the gang needs 8, 2 fit``; and how many more would at the ``most``, were all nodes empty."""
    many = fits if fits else "none"
    verb = "fits" if fits == 1 else "fit"
    needs = f"{minimum}" if missing == minimum else f"{missing} more of its minimum of {minimum}"
    message = f"{who} needs {needs}, {many} {verb}"
    if most is None or (not most and not fits):
        return message
    return f"{message}, and {'no more' if most <= fits else most} would if all nodes were empty"
