"""Why a job waits: the code of the constraint that binds, and a message with counts.

Conditions, events, pages and commands all show this code and message.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Set
from typing import NamedTuple

from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.nodes.masks import REFUSED
from vsched.framework.nodes.why import NO_NODES_KNOWN, NodeReasons
from vsched.framework.obstacles import told_of_pods, unsupported
from vsched.framework.refusal import Refusal
from vsched.framework.reports.holders import Holders
from vsched.framework.reports.lasting import lacking_on_all, never_on_nodes, not_registered, rooms_if_empty, rows_open
from vsched.framework.reports.limits import SILENT, LimitMessages, UnschedulableReason
from vsched.framework.session import Session
from vsched.framework.starting import PIPELINED, is_whole, to_leave, to_start
from vsched.framework.subgroups import SubGroups
from vsched.framework.wording import UNTRIED, binding, counted, on_nodes, resource_in
from vsched.model.amounts.quantity import UNLIMITED
from vsched.model.amounts.resources import NOTHING
from vsched.model.claims.plan import NOT_HAD
from vsched.model.pods.shape import Shape
from vsched.model.pods.status import Phase, Status
from vsched.model.pods.task import Task

NONE_FITS = "no node fits"
OF_QUEUE = (Code.QUEUE_CLOSED, Code.QUEUE_NOT_LEAF)
"""Codes of queues in which no job starts, however small."""
NO_UIDS: Set[str] = frozenset()
UNBOUND = (Status.PENDING, Status.ALLOCATED, Status.BINDING)


class IfEmpty(NamedTuple):
    """How many tasks of a shape the nodes could hold if they were empty."""

    told: str
    """Why not even one task would fit, or which resource is not registered yet; empty where one would fit."""
    room: int
    """The most tasks that would fit."""
    lacking: frozenset[str] = frozenset()
    """The resources of which no node has enough, where the first text says so."""


class UnschedulableReasons:
    """Works out why jobs wait, for a session whose actions have run."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.limits = LimitMessages(session)
        self.holders = Holders(session)
        self._if_emptys: dict[tuple[Shape, str, Hashable], IfEmpty] = {}

    def of(self, view: JobView) -> UnschedulableReason:
        """Why a job waits; ``SILENT`` where it does not wait, or where no reason is known."""
        found = self._of_undecided(view)
        return found if found.message or not self.session.snapshot.setbacks else self._set_back(view)

    def _set_back(self, view: JobView) -> UnschedulableReason:
        """The reason for a job whose pods have nodes, but whose bindings are refused or whose claims failed."""
        setbacks = self.session.snapshot.setbacks
        found = set_back(self.session, view, UNBOUND)
        if not found:
            return SILENT
        first = min(found, key=lambda task: task.name)
        if setbacks[first.uid].startswith(NOT_HAD):
            return UnschedulableReason(Code.CLAIM, setbacks[first.uid])
        refused = f"the API server does not bind {len(found)} of its pods"
        return UnschedulableReason(Code.BINDING, f"{refused}: {first.name}: {setbacks[first.uid]}")

    def _of_undecided(self, view: JobView) -> UnschedulableReason:
        session = self.session
        refusal = session.refused.jobs.get(view.key)
        if refusal is not None:
            return self.refused(view, refusal)
        if not view.pending_count and not view.waiting:
            return self._incomplete(view)
        cause = cause_of(session, view)
        if view.waiting and in_sight(view) and not view.is_ready:
            return self._leaving(view)
        if cause is None:
            return self._gated(view)
        why = session.refused.tasks[cause.uid]
        if isinstance(why, NodeReasons):
            return self._unplaced(view, cause, why)
        if why.code is Code.CLAIM:
            return self._lacking_claims(view, cause, why)
        if not _waits(why):
            return self.refused(view, why)
        return self._leaving(view) if in_sight(view) else self._out_of_sight(view)

    def _lacking_claims(self, view: JobView, cause: Task, why: Refusal) -> UnschedulableReason:
        """The reason for a job with pods whose claims cannot be used; it names the oldest such pod."""
        if len(view.job.tasks) == 1:
            return self.refused(view, why)
        refusals = (self.session.refused.tasks.get(uid) for uid in view.job.pending)
        count = sum(isinstance(one, Refusal) and one.code is Code.CLAIM for one in refusals)
        others = counted(count, "of its pods waits", "of its pods wait")
        return self.refused(view, why._replace(message=f"{others}: {cause.name}: {why.message}"))

    def _leaving(self, view: JobView) -> UnschedulableReason:
        """The reason for a job that will have its minimum once other pods have left the nodes chosen for it."""
        waiting = [task for uid, task in view.job.pending.items() if has_place(view, uid)]
        left = [task for task in waiting if self.session.is_left(view.moved[task.uid][1])]
        first = min(left or waiting, key=lambda task: (task.created, task.name))
        message = f"{first.name} {place_of(self.session, view, first.uid).message}"
        if not left:
            return UnschedulableReason(
                Code.STARTING, f"{counted(len(waiting), 'pod has a node', 'pods have nodes')}: {message}"
            )
        who = counted(len(left), "pod has a node and waits", "pods have nodes and wait")
        return UnschedulableReason(Code.LEAVING, f"{who} for other pods to leave: {message}")

    def _out_of_sight(self, view: JobView) -> UnschedulableReason:
        """The reason for a job with nodes for too few of its tasks: why the next task finds no node."""
        session = self.session
        others = [task for uid, task in view.job.pending.items() if uid not in view.moved and not task.gated]
        firsts: dict[Shape, Task] = {}
        for task in sorted(others, key=lambda task: (task.created, task.name)):
            firsts.setdefault(task.shape, task)
        for task in firsts.values():
            why = session.node_selection.explain(task)
            if why.reasons:
                return self._unplaced(view, task, why)
            refusal = session.plugins.grantable(session.queue(view), task)
            if refusal is not None:
                return self.refused(view, refusal)
        return self._gated(view)

    def _gated(self, view: JobView) -> UnschedulableReason:
        """The reason for a job whose tasks were not refused: scheduling gates hold some back, or it was not tried."""
        gated = sum(task.at_gate for task in view.job.pending.values())
        if not gated:
            return self.refused(view, unsupported(told_of_pods(view.job))) if view.job.unplaceable else SILENT
        queue = self.session.snapshot.queues.get(view.queue)
        shut = None if queue is None else self.session.plugins.allocatable(queue, NOTHING)
        if shut is not None and shut.code in OF_QUEUE:  # gates that are removed would change nothing
            return self.refused(view, shut)
        if view.is_ready and view.ready >= max(1, view.min_member):
            return UnschedulableReason(
                Code.GATED, f"scheduling gates hold back {counted(gated, 'more pod', 'more pods')}"
            )
        message = f"scheduling gates hold back {counted(gated, 'pod', 'pods')}"
        missing = view.min_member - view.ready - view.best_effort_pending
        if view.min_member > 1 and missing > 0:
            fits = _fitting(self.session, view, _every)
            message += (
                f": {_needs('the gang', view.min_member, missing, fits) if fits else f'the gang needs {missing}'}"
            )
        return UnschedulableReason(Code.GATED, message)

    def _incomplete(self, view: JobView) -> UnschedulableReason:
        """The reason for a job without pending tasks: its pods were deleted, or are not created yet."""
        if view.is_ready or view.phase == Phase.COMPLETED:
            return SILENT
        refusal = self.session.plugins.job_valid(view)
        return SILENT if refusal is None else self.refused(view, refusal)

    def otherwise(self, view: JobView, message: str) -> UnschedulableReason:
        """The reason for an unschedulable job that no action gave a reason for; ``message`` if no plugin objects."""
        refusal = self.session.plugins.job_valid(view)
        return UnschedulableReason(Code.OTHER, message) if refusal is None else self.refused(view, refusal)

    # -- no room on the nodes ---------------------------------------------------------------------------------------

    def _unplaced(self, view: JobView, cause: Task, why: NodeReasons) -> UnschedulableReason:
        explained = self.holders.explain(view.key, cause, why)
        why = explained.why
        code, head = self._scale(view, cause, why)
        if not len(self.session.nodes):
            return UnschedulableReason(Code.NO_NODES, f"{head}: {NO_NODES_KNOWN}")
        if_empty, counts = self._if_empty(view, cause), explained.named(on_nodes(why) or why.message)
        on_each = with_refusal(self.session, cause, why, counts)
        if on_each == counts and why.reasons and all(map(if_empty.lacking.__contains__, map(resource_in, why.reasons))):
            on_each = ""  # the first text says it of all nodes
        told = "; ".join(one for one in (if_empty.told, on_each) if one)
        message = told if head == NONE_FITS and not on_each else f"{head}: {told}"
        if why.cut:
            message += f"; {UNTRIED}"
        also = why.also if why.also is not None and not is_whole(self.session.snapshot, why.also) else None
        if also is not None:
            message += f"; besides, {self.refused(view, also).message}"
        kept = self.session.refused.protected.get(view.key)
        if kept is not None:
            code, message = kept.code, f"{kept.message}; {message}"
        return UnschedulableReason(code, message, why.reasons, also)

    def _if_empty(self, view: JobView, task: Task) -> IfEmpty:
        """How many tasks like this one the nodes could hold if they were empty."""
        key = task.shape, view.queue, self._claims_of(task)
        known = self._if_emptys.get(key)
        if known is None:
            session = self.session
            never = never_on_nodes(session, task)
            rooms = rooms_if_empty(session, task.shape, rows_open(session, task)[0])
            message, lacking = not_registered(session, task), frozenset[str]()
            if never is not None and never.code is Code.RESOURCES:
                message, lacking = never.message, lacking_on_all(session, task)
            known = self._if_emptys[key] = IfEmpty(message, min(int(rooms.sum(dtype=float)), UNLIMITED), lacking)
        return known

    def _claims_of(self, task: Task) -> Hashable:
        """What tells its claims from those of other tasks; None where it has none."""
        claims = self.session.claims.of(task)
        return None if claims is None else claims.kind

    def _most(self, view: JobView, task: Task, missing: int) -> int | None:
        """How many of the missing tasks of a gang would fit if all nodes were empty.

        None where all would fit, for best-effort tasks, and where the pods of the gang differ in shape or claims.
        """
        room = self._if_empty(view, task).room
        if room >= view.min_member or task.best_effort:
            return None
        own = [one for one in view.job.tasks.values() if one.status is not Status.SUCCEEDED]
        if any(one.shape is not task.shape or self._claims_of(one) != self._claims_of(task) for one in own):
            return None
        most = room - (len(own) - len(view.job.pending))
        return max(0, most) if most < missing else None

    def _scale(self, view: JobView, cause: Task, why: NodeReasons) -> tuple[Code, str]:
        """The code of the reason, and the start of the message: how many pods are missing, and how many fit."""
        code = binding(why)
        lacking = view.roles_missing()
        fits = _fitting(self.session, view, _of_role(cause.role)) if cause.role in lacking else 0
        if fits < lacking.get(cause.role, 0):
            minimum = dict(view.spec.min_task_member)[cause.role]
            return Code.ROLE_MINIMUM, _needs(f"role {cause.role}", minimum, lacking[cause.role], fits)
        if view.sub_groups is not None and why.fits is None and (short := view.sub_groups.of(cause).lacks()):
            return self._scale_of_sub_group(view.sub_groups, view, cause, short, code)
        if view.is_ready and view.ready >= min(1, view.min_member):
            waiting = view.pending_count + view.waiting
            return code, "one more pod waits" if waiting == 1 else f"{waiting} more pods wait"
        missing = view.min_member - view.ready - (0 if view.is_ready else view.best_effort_pending)
        minimum = view.min_member
        if view.sub_groups is not None and why.fits is not None:
            missing = self.session.plugins.tasks_missing(view)  # what its sub-groups need may be more than its minimum
            minimum = max(minimum, view.ready + missing)
        if minimum < 2:
            return code, NONE_FITS
        fits = min(missing, _fitting(self.session, view, _every) if why.fits is None else why.fits)
        most = self._most(view, cause, missing)
        head = _needs("the gang", minimum, missing, fits, most)
        return Code.GANG_SIZE if fits or most else code, head

    def _scale_of_sub_group(
        self, groups: SubGroups, view: JobView, cause: Task, missing: int, code: Code
    ) -> tuple[Code, str]:
        """The same for a pod of a sub-group that lacks its minimum."""
        group = groups.of(cause)
        fits = _fitting(self.session, view, lambda task: groups.of(task) is group)
        head = _needs(f"sub-group {group.name}", group.minimum, missing, min(fits, missing))
        return Code.GANG_SIZE if fits else code, head

    # -- refused by a rule ------------------------------------------------------------------------------------------

    def refused(self, view: JobView, refusal: Refusal) -> UnschedulableReason:
        """Why a job waits that a rule refused."""
        if refusal.code is Code.UNSUPPORTED:
            return UnschedulableReason(refusal.code, refusal.message, {refusal.reason: 1})
        return self.limits.refused(view, refusal)


def cause_of(session: Session, view: JobView) -> Task | None:
    """The task whose refusal explains the job: the oldest without a node, those of roles below their minimum first.

    Where every task has a node, it is the oldest that waits for other pods to leave its node.
    """
    refusals = session.refused.tasks
    refused = [
        task
        for uid, task in view.job.pending.items()
        if uid in refusals and (has_place(view, uid) or (uid not in view.moved and not _waits(refusals[uid])))
    ]
    short = _roles_short(session, view)
    return min(
        refused,
        key=lambda task: (_waits(refusals[task.uid]), task.role not in short, task.created, task.name),
        default=None,
    )


def set_back(session: Session, view: JobView, statuses: Collection[Status]) -> list[Task]:
    """Its tasks in these statuses whose last binding was refused, or whose claims could not be had."""
    setbacks = session.snapshot.setbacks
    if not setbacks:
        return []
    return [task for uid, task in view.job.tasks.items() if uid in setbacks and task.status in statuses]


def with_refusal(session: Session, task: Task, why: NodeReasons, message: str) -> str:
    """The message, with what admission said where nodes are left out for it."""
    said = session.snapshot.setbacks.get(task.uid) if REFUSED in why.reasons else None
    return message if said is None else f"{message.removesuffix('.')}; {said}"


def set_apart(session: Session, view: JobView) -> Set[str] | None:
    """Uids of the pending tasks that were tried or refused themselves; of all others nothing is known but their job.

    None where more than that sets tasks apart: some have gates, or nodes.
    """
    job = view.job
    if view.moved or job.gated or job.awaiting or job.unplaceable:
        return None
    pending, refusals, tried = job.pending.keys(), session.refused.tasks.keys(), session.refused.tried
    # Of two views or sets, these operations walk through the smaller one.
    if pending.isdisjoint(refusals) and pending.isdisjoint(tried):
        return NO_UIDS
    return (pending & refusals) | (pending & tried)


def refusal_of(session: Session, view: JobView, uid: str) -> NodeReasons | Refusal | None:
    """Why a task was not bound; None where it was not refused, or where its old reason (a node to wait for) is gone."""
    why = session.refused.tasks.get(uid)
    if has_place(view, uid):
        return place_of(session, view, uid)
    return None if why is not None and _waits(why) else why


def place_of(session: Session, view: JobView, uid: str) -> Refusal:
    """The message for a task that has a node but cannot start yet."""
    node = view.moved[uid][1]
    if session.is_left(node):
        return to_leave(node, session.asked_on.get(node, ()))
    others = (view.moved[one][1] for one in view.job.pending if has_place(view, one))
    return to_start(node, at_once=in_sight(view) and not any(session.is_left(one) for one in others))


def in_sight(view: JobView) -> bool:
    """Whether the job will have its minimum, and its roles theirs, once other pods have left the chosen nodes."""
    return view.is_pipelined and not view.roles_missing(waiting=True)


def _roles_short(session: Session, view: JobView) -> set[str]:
    """Roles for which this cycle's last try found nodes for fewer tasks than their minimum."""
    return {role for role, missing in view.roles_missing().items() if _fitting(session, view, _of_role(role)) < missing}


def _fitting(session: Session, view: JobView, counts: Callable[[Task], bool]) -> int:
    """How many of the tasks that ``counts`` is true of found a node in a try rolled back since, or are pipelined."""
    found = (task for uid, task in view.job.pending.items() if uid in session.refused.tried or has_place(view, uid))
    return sum(1 for task in found if counts(task))


def _every(task: Task) -> bool:
    return True


def _of_role(role: str) -> Callable[[Task], bool]:
    """Whether a task has the role."""
    return lambda task: task.role == role


def has_place(view: JobView, uid: str) -> bool:
    """Whether a task has a node that it waits for."""
    return uid in view.moved and view.moved[uid][0] is Status.PIPELINED


def _waits(why: NodeReasons | Refusal) -> bool:
    return isinstance(why, Refusal) and why.reason == PIPELINED


def _needs(who: str, minimum: int, missing: int, fits: int, most: int | None = None) -> str:
    """``the gang needs 8, 2 fit``; with ``most``, also how many would fit if all nodes were empty."""
    many = fits if fits else "none"
    verb = "fits" if fits == 1 else "fit"
    needs = f"{minimum}" if missing == minimum else f"{missing} more of its minimum of {minimum}"
    message = f"{who} needs {needs}, {many} {verb}"
    if most is None or (not most and not fits):
        return message
    return f"{message}, and {'no more' if most <= fits else most} would if all nodes were empty"
