"""Why a job waits: the code of the constraint that binds, and a message with counts.

Conditions, events, pages and commands all show this code and message.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from vsched.framework.codes import Code
from vsched.framework.empty_nodes import rooms_if_empty, rows_open
from vsched.framework.jobs import JobView
from vsched.framework.nodes.why import NodeReasons, binding, on_nodes
from vsched.framework.obstacles import unsupported, unsupported_pods
from vsched.framework.refusal import Refusal
from vsched.framework.reports.holders import Holders
from vsched.framework.reports.lasting import lacking_on_all, never_on_nodes, not_registered
from vsched.framework.reports.limits import SILENT, LimitMessages, UnschedulableReason
from vsched.framework.reports.pending_pods import (
    cause_of,
    fitting,
    has_place,
    of_role,
    place_of,
    set_back,
    waits,
    with_refusal,
)
from vsched.framework.reports.unfit import UnfitGang, UnfitGangs
from vsched.framework.session import Session
from vsched.framework.starting import is_whole
from vsched.framework.subgroups import SubGroups
from vsched.framework.words import jobs as words
from vsched.framework.words.nodes import NO_NODES_KNOWN, resource_in
from vsched.model.amounts.quantity import UNLIMITED
from vsched.model.amounts.resources import NOTHING
from vsched.model.claims.plan import NOT_HAD
from vsched.model.pods.shape import Shape
from vsched.model.pods.status import Phase, Status
from vsched.model.pods.task import Task

OF_QUEUE = (Code.QUEUE_CLOSED, Code.QUEUE_NOT_LEAF)
"""Codes of queues in which no job starts, however small."""
UNBOUND = (Status.PENDING, Status.ALLOCATED, Status.BINDING)


class IfEmpty(NamedTuple):
    """How many tasks of a shape the nodes could hold if they were empty."""

    problem: str
    """Why not even one task would fit, or which resource is not registered yet; empty where one would fit."""
    room: int
    """The most tasks that would fit."""
    lacking: frozenset[str] = frozenset()
    """The resources of which no node has enough, where ``problem`` says so."""


class UnschedulableReasons:
    """Works out why jobs wait, for a session whose actions have run."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.limits = LimitMessages(session)
        self.holders = Holders(session)
        self._unfit = UnfitGangs(session)
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
        return UnschedulableReason(Code.BINDING, words.unbound(len(found), first.name, setbacks[first.uid]))

    def _of_undecided(self, view: JobView) -> UnschedulableReason:
        session = self.session
        refusal = session.refused.jobs.get(view.key)
        if refusal is not None:
            return self.refused(view, refusal)
        if not view.pending_count and not view.waiting:
            return self._incomplete(view)
        cause = cause_of(session, view)
        if view.waiting and view.has_minima and not view.is_ready:
            return self._leaving(view)
        if cause is None:
            return self._gated(view)
        why = session.refused.tasks[cause.uid]
        if isinstance(why, NodeReasons):
            grouped = view.sub_groups is not None and self._unfit.of(view) is None
            apart = self._unfit.in_domains(view) if grouped else None
            return self._unplaced(view, cause, why) if apart is None else self._unfit_in_groups(view, apart)
        if why.code is Code.CLAIM:
            return self._lacking_claims(view, cause, why)
        if not waits(why):
            is_close = why.code is Code.TOPOLOGY and view.sub_groups is not None
            unfit = (self._unfit.of(view) or self._unfit.in_domains(view)) if is_close else None
            return self.refused(view, why) if unfit is None else self._unfit_in_groups(view, unfit)
        return self._leaving(view) if view.has_minima else self._out_of_sight(view)

    def _lacking_claims(self, view: JobView, cause: Task, why: Refusal) -> UnschedulableReason:
        """The reason for a job with pods whose claims cannot be used; it names the oldest such pod."""
        if len(view.job.tasks) == 1:
            return self.refused(view, why)
        refusals = (self.session.refused.tasks.get(uid) for uid in view.job.pending)
        count = sum(isinstance(one, Refusal) and one.code is Code.CLAIM for one in refusals)
        return self.refused(view, why._replace(message=words.some_wait(count, cause.name, why.message)))

    def _leaving(self, view: JobView) -> UnschedulableReason:
        """The reason for a job that will have its minimum once other pods have left the nodes chosen for it."""
        waiting = [task for uid, task in view.job.pending.items() if has_place(view, uid)]
        left = [task for task in waiting if self.session.is_left(view.moved[task.uid][1])]
        first = min(left or waiting, key=lambda task: (task.created, task.name))
        message = f"{first.name} {place_of(self.session, view, first.uid).message}"
        if not left:
            return UnschedulableReason(Code.STARTING, words.have_nodes(len(waiting), message))
        return UnschedulableReason(Code.LEAVING, words.wait_for_others(len(left), message))

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
            return self.refused(view, unsupported(unsupported_pods(view.job))) if view.job.unplaceable else SILENT
        queue = self.session.snapshot.queues.get(view.queue)
        shut = None if queue is None else self.session.plugins.allocatable(queue, NOTHING)
        if shut is not None and shut.code in OF_QUEUE:  # gates that are removed would change nothing
            return self.refused(view, shut)
        if view.is_ready and view.ready >= max(1, view.min_member):
            return UnschedulableReason(Code.GATED, words.gated(gated, more=True))
        message = words.gated(gated, more=False)
        missing = view.min_member - view.ready - view.best_effort_pending
        if view.min_member > 1 and missing > 0:
            fits = fitting(self.session, view)
            needs = words.needs(words.THE_GANG, view.min_member, missing, fits) if fits else words.gang_needs(missing)
            message += f": {needs}"
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
        unfit = self._unfit.of(view)
        if unfit is not None and unfit.alone is not None:
            room = self.session.node_selection.room(unfit.alone)
            cause, why = unfit.alone, room.full._replace(fits=unfit.of_role, also=why.also)
        explained = self.holders.explain(view.key, cause, why)
        why = explained.why
        code, head = self._scale(view, cause, why) if unfit is None else self._scale_of_unfit(view, binding(why), unfit)
        if not len(self.session.nodes):
            return UnschedulableReason(Code.NO_NODES, f"{head}: {NO_NODES_KNOWN}")
        if unfit is not None and unfit.alone is None:
            details = unfit.message
        else:
            details = self._details(view, cause, why, explained.named(on_nodes(why) or why.message))
            if unfit is not None and unfit.of_role and code is not Code.ROLE_MINIMUM:
                details = f"{unfit.message}; {details}"
        alone = head == words.NONE_FITS and details == self._if_empty(view, cause).problem
        message = details if alone else f"{head}: {details}"
        if why.cut and unfit is None:
            message += f"; {words.UNTRIED}"
        also = why.also if why.also is not None and not is_whole(self.session.snapshot, why.also) else None
        if also is not None:
            message += words.besides(self.refused(view, also).message)
        protected = self.session.refused.protected.get(view.key)
        if protected is not None:
            code, message = protected.code, f"{protected.message}; {message}"
        return UnschedulableReason(code, message, why.reasons, also)

    def _unfit_in_groups(self, view: JobView, unfit: UnfitGang) -> UnschedulableReason:
        """The reason for a gang whose sub-groups ask for closeness and do not fit together, with it or without."""
        code, head = self._scale_of_unfit(view, Code.TOPOLOGY, unfit)
        return UnschedulableReason(code, f"{head}: {unfit.message}")

    def _details(self, view: JobView, cause: Task, why: NodeReasons, counts: str) -> str:
        """What is wrong with the nodes; ``counts`` says how many there are by reason."""
        if_empty = self._if_empty(view, cause)
        on_each = with_refusal(self.session, cause, why, counts)
        if on_each == counts and why.reasons and all(map(if_empty.lacking.__contains__, map(resource_in, why.reasons))):
            on_each = ""  # the problem says it of all nodes
        return "; ".join(one for one in (if_empty.problem, on_each) if one)

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
        """The kind of its claims; None where it has none."""
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
        fits = fitting(self.session, view, of_role(cause.role)) if cause.role in lacking else 0
        if fits < lacking.get(cause.role, 0):
            minimum = dict(view.spec.min_task_member)[cause.role]
            return Code.ROLE_MINIMUM, words.needs(f"role {cause.role}", minimum, lacking[cause.role], fits)
        if view.sub_groups is not None and why.fits is None and (short := view.sub_groups.of(cause).lacks()):
            return self._scale_of_sub_group(view.sub_groups, view, cause, short, code)
        if view.is_ready and view.ready >= min(1, view.min_member):
            waiting = view.pending_count + view.waiting
            return code, words.more_wait(waiting)
        missing = view.min_member - view.ready - (0 if view.is_ready else view.best_effort_pending)
        minimum = view.min_member
        if view.sub_groups is not None and why.fits is not None:
            missing = self.session.plugins.tasks_missing(view)  # what its sub-groups need may be more than its minimum
            minimum = max(minimum, view.ready + missing)
        if minimum < 2:
            return code, words.NONE_FITS
        fits = min(missing, fitting(self.session, view) if why.fits is None else why.fits)
        most = self._most(view, cause, missing)
        head = words.needs(words.THE_GANG, minimum, missing, fits, most)
        return Code.GANG_SIZE if fits or most else code, head

    def _scale_of_unfit(self, view: JobView, code: Code, unfit: UnfitGang) -> tuple[Code, str]:
        """The same for a gang whose roles do not fit together, or one of which does not."""
        lacking = view.roles_missing().get(unfit.role, 0)
        if unfit.role and unfit.of_role < lacking:
            minimum = dict(view.spec.min_task_member)[unfit.role]
            return Code.ROLE_MINIMUM, words.needs(f"role {unfit.role}", minimum, lacking, unfit.of_role)
        missing = self.session.plugins.tasks_missing(view)
        fits = min(missing, fitting(self.session, view)) if unfit.fits is None else unfit.fits
        minimum = view.min_member
        if view.sub_groups is not None:  # what these need may be more
            minimum = max(minimum, view.ready + missing)
        return Code.GANG_SIZE if fits else code, words.needs(words.THE_GANG, minimum, missing, fits)

    def _scale_of_sub_group(
        self, groups: SubGroups, view: JobView, cause: Task, missing: int, code: Code
    ) -> tuple[Code, str]:
        """The same for a pod of a sub-group that lacks its minimum."""
        group = groups.of(cause)
        fits = fitting(self.session, view, lambda task: groups.of(task) is group)
        head = words.needs(f"sub-group {group.name}", group.minimum, missing, min(fits, missing))
        return Code.GANG_SIZE if fits else code, head

    # -- refused by a rule ------------------------------------------------------------------------------------------

    def refused(self, view: JobView, refusal: Refusal) -> UnschedulableReason:
        """Why a job waits that a rule refused."""
        if refusal.code is Code.UNSUPPORTED:
            return UnschedulableReason(refusal.code, refusal.message, {refusal.reason: 1})
        return self.limits.refused(view, refusal)
