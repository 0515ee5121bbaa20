"""Places jobs with sub-groups: each sub-group gets its minimum as a whole, or nothing (reference 3.2).

The sub-groups that a job needs go first, then its other ones, and then tasks beyond the minima, one a turn. A sub-group
that asks for closeness goes into one domain of its own tiers, inside the domain of its job.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Sequence

from vsched.actions.held import Worksheet
from vsched.actions.places import Gang, place_gang
from vsched.actions.placing import Goal, goal_of, place_until_ready
from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.ledger.statement import Statement
from vsched.framework.refusal import Refusal
from vsched.framework.session import Session
from vsched.framework.subgroups import SubGroup, SubGroups
from vsched.framework.wording import counted
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue
from vsched.model.topology.constraints import NetworkTopology
from vsched.model.topology.subgroups import NO_POLICY

TOO_FEW = "NotEnoughPodsOfTask"


def arranged(session: Session, groups: SubGroups, tasks: Iterable[Task]) -> Worksheet:
    """The tasks of a job by sub-groups: those that it needs, then those that lack their minimum, then the others.

    The tasks of a sub-group keep their order.
    """
    parts: dict[SubGroup, list[Task]] = {}
    for task in tasks:
        parts.setdefault(groups.of(task), []).append(task)
    order = sorted(parts, key=lambda group: (group.is_ready, session.plugins.sub_group_key(group)))
    lacking = [policy.minimum - groups.ready_of(at) for at, policy in enumerate(groups.policies)]
    needed: list[SubGroup] = []
    others: list[SubGroup] = []
    for group in order:
        policy = group.key.policy
        if policy != NO_POLICY and lacking[policy] > 0 and _may_complete(group, parts[group]) and not group.is_ready:
            lacking[policy] -= 1
            needed.append(group)
        else:
            others.append(group)
    return deque(task for group in (*needed, *others) for task in parts[group])


def place_in_groups(
    session: Session, queue: Queue, job: JobView, groups: SubGroups, sheet: Worksheet, statement: Statement
) -> None:
    """Place what a job lacks until it is ready; of a ready job, one more sub-group or one more task."""
    goal = goal_of(session, job)
    placing = GroupPlacing(session, queue, job, groups, statement)
    if not goal.met():
        placing.place_whole(sheet, goal)
        if goal.met():
            left = arranged(session, groups, sheet)
            sheet.clear()
            sheet.extend(left)
        return
    failed: set[Hashable] = set()
    while sheet:
        part = placing.next_part(sheet)
        if not part or (alike := placing.likeness(part)) in failed:
            continue
        if placing.place_further(part):
            sheet.extend(part)
            return
        failed.add(alike)


class GroupPlacing:
    """The placing of one job's tasks by sub-groups, in one turn."""

    def __init__(self, session: Session, queue: Queue, job: JobView, groups: SubGroups, statement: Statement) -> None:
        self._session = session
        self._queue = queue
        self._job = job
        self._groups = groups
        self._statement = statement

    def place_whole(self, sheet: Worksheet, goal: Goal) -> None:
        """Place what the job lacks, inside one domain where it asks for that."""
        job, plugins = self._job, self._session.plugins
        self._place_in_job(sheet, goal, lambda: plugins.job_pipelined(job), lambda trial: self._place_all(trial, goal))

    def place_further(self, part: Worksheet) -> bool:
        """Place one part of a ready job; False where nothing was placed."""
        group = self._groups.of(part[0])
        before = len(self._session.ledger.log)
        goal = _goal_of(group)
        self._place_in_job(part, goal, lambda: group.is_pipelined, lambda trial: self._place_part(group, trial))
        return len(self._session.ledger.log) > before

    def _place_in_job(
        self, sheet: Worksheet, goal: Goal, pipelined: Callable[[], bool], place: Callable[[Worksheet], object]
    ) -> None:
        job, topology = self._job, self._job.spec.topology
        if topology is None:
            place(sheet)
            return
        footing = self._session.places.footing
        gang = Gang(job, topology, lambda: footing(job, topology), goal, pipelined, place)
        place_gang(self._session, self._queue, sheet, self._statement, gang)

    def next_part(self, sheet: Worksheet) -> Worksheet:
        """Take the next tasks to place together from a sheet: those of a sub-group, or one of a ready sub-group.

        Nothing where the sub-group has too few pods for its minimum. A refusal says so unless gates hold some back.
        """
        group = self._groups.of(sheet[0])
        part: Worksheet = deque((sheet.popleft(),))
        if group.is_ready:
            return part
        while sheet and self._groups.of(sheet[0]) is group:
            part.append(sheet.popleft())
        if _may_complete(group, part):
            return part
        if group.lacks(waiting=True, pending=True):
            self._session.task_refusals[part[0].uid] = _too_few(group)
        return deque()

    def _place_all(self, sheet: Worksheet, goal: Goal) -> None:
        """Place sub-group after sub-group until the goal is met.

        Where that fails, the larger ones go first in a second try: they have the fewest places to go to.
        """
        before, tasks = self._statement.savepoint(), list(sheet)
        again = self._largest_first(tasks)
        self._place_in_order(sheet, goal)
        if goal.met() or self._session.plugins.job_pipelined(self._job):
            return
        if again != tasks:
            self._statement.rollback(before)
            # Messages count what found a node in the last try.
            self._session.tried.difference_update(task.uid for task in tasks)
            sheet.clear()
            sheet.extend(again)
            self._place_in_order(sheet, goal)

    def _largest_first(self, tasks: Sequence[Task]) -> list[Task]:
        """The tasks of sub-groups that lack their minimum, those that lack most first, and then the others."""
        return sorted(tasks, key=lambda task: -self._groups.of(task).lacks(waiting=True))

    def _place_in_order(self, sheet: Worksheet, goal: Goal) -> None:
        spare = self._spare_sub_groups(sheet)
        job = self._job
        failed: set[Hashable] = set()
        """The likeness of what found no place since the last placement."""
        while sheet:
            group = self._groups.of(sheet[0])
            was_ready, policy = group.is_ready, group.key.policy
            part = self.next_part(sheet)
            alike = self.likeness(part) if part else None
            if part and alike not in failed and self._place_part(group, part):
                sheet.extend(part)
                failed.clear()
                if goal.met():
                    return
                continue
            failed.add(alike)
            if not was_ready and policy != NO_POLICY:
                spare[policy] -= 1
                if spare[policy] < 0:
                    return
            if job.min_member - job.ready - job.waiting - job.best_effort_pending > len(sheet):
                return

    def _spare_sub_groups(self, sheet: Worksheet) -> list[int]:
        """By policy: how many of its sub-groups may fail before the job cannot have as many as it needs."""
        groups = self._groups
        open_groups = {group.key: group for task in sheet if not (group := groups.of(task)).is_ready}
        counts = Counter(key.policy for key in open_groups)
        return [groups.ready_of(at) + counts[at] - policy.minimum for at, policy in enumerate(groups.policies)]

    def _place_part(self, group: SubGroup, part: Worksheet) -> bool:
        """Place a sub-group's minimum, or one more task of it; if that fails, nothing has changed.

        Tasks beyond the minimum stay in ``part``.
        """
        session, statement = self._session, self._statement
        before, first = statement.savepoint(), part[0]
        goal = _goal_of(group)
        topology = group.topology
        if topology is None:
            place_until_ready(session, self._queue, self._job, part, statement, goal)
        else:
            place_gang(session, self._queue, part, statement, self._gang_of(group, topology, goal))
        if statement.savepoint() > before and (group.is_ready or group.is_pipelined):
            return True
        session.tried.update(task.uid for task in statement.tasks)
        statement.rollback(before)
        self._name_group(group, first)
        return False

    def _name_group(self, group: SubGroup, first: Task) -> None:
        """Say in the refusal of its first task which sub-group finds no domain."""
        refusals = self._session.task_refusals
        why = refusals.get(first.uid)
        if isinstance(why, Refusal) and why.code is Code.TOPOLOGY:
            refusals[first.uid] = why._replace(message=f"sub-group {group.name}: {why.message}")

    def _gang_of(self, group: SubGroup, topology: NetworkTopology, goal: Goal) -> Gang:
        footing, job = self._session.places.footing, self._job
        return Gang(job, topology, lambda: footing(job, topology, group), goal, lambda: group.is_pipelined)

    def likeness(self, part: Worksheet) -> Hashable:
        """Parts of equal likeness find a place all or none; one with pods on nodes or held nodes is like no other."""
        group = self._groups.of(part[0])
        if group.trail or any(task.uid in self._session.held for task in part):
            return part[0].uid
        kinds = Counter((self._session.node_selection.kind(task), task.role, task.nominated) for task in part)
        return group.topology, group.lacks(), frozenset(kinds.items())


def _goal_of(group: SubGroup) -> Goal:
    return Goal(
        lambda: group.is_ready,
        lambda: group.lacks(waiting=True),
        lambda failed_roles, left: group.lacks(waiting=True) <= left,
    )


def _may_complete(group: SubGroup, tasks: Sequence[Task]) -> bool:
    """Whether these tasks are enough for the sub-group's minimum."""
    return group.lacks(waiting=True) <= len(tasks)


def _too_few(group: SubGroup) -> Refusal:
    have = group.occupied(waiting=True, pending=True)
    message = f"sub-group {group.name} needs {group.minimum} pods, and {counted(have, 'exists', 'exist')}"
    return Refusal(TOO_FEW, message, code=Code.GANG_INCOMPLETE)
