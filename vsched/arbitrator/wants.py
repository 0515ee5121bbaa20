"""Wants: pending pods, or whole gangs, that would stay within what their namespace deserves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import nsmallest
from typing import NamedTuple

from vsched.framework.jobs import JobView
from vsched.framework.subgroups import SubGroup, SubGroups
from vsched.model.amounts.counted import NOTHING, Counted, summed
from vsched.model.arbitration.records import Award, NamespaceAccount
from vsched.model.jobs.job import Job
from vsched.model.pods.shape import Shape
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot


class Want(NamedTuple):
    """Pods that are useful only together: a single pod, or as many pods as a gang lacks to begin."""

    tasks: tuple[Task, ...]
    """In the order in which they are to be placed."""
    amounts: Counted
    """The sum of their requests and limits."""


class PodDemands:
    """What pods request by counted name, and whether any node could hold them; computed once per shape."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._names = snapshot.axis.names
        self._allocatable = snapshot.nodes.allocatable
        self._amounts: dict[Shape, Counted] = {}
        self._possible: dict[Shape, bool] = {}

    def amounts(self, shape: Shape) -> Counted:
        """Requests and limits, base units by counted name."""
        found = self._amounts.get(shape)
        if found is None:
            names = self._names
            found = self._amounts[shape] = {names[column]: value for column, value in shape.request}
            found.update(shape.limits)
        return found

    def is_possible(self, shape: Shape) -> bool:
        """Whether some node, if it were empty, would have room for a pod of this shape."""
        found = self._possible.get(shape)
        if found is None:
            found = self._possible[shape] = self._fits_empty(shape)
        return found

    def _fits_empty(self, shape: Shape) -> bool:
        free = self._allocatable
        columns = [column for column, _ in shape.request]
        if any(column >= len(free) for column in columns):
            return False
        amounts = [[value] for _, value in shape.request]
        return bool((free[columns] >= amounts).all(axis=0).any())


def within(kept: Counted, more: Counted, deserved: Counted) -> bool:
    """Whether ``kept`` plus ``more`` stays within ``deserved`` for every resource."""
    return all(value <= deserved.get(name, 0) for name, value in kept.items() if name not in more) and all(
        kept.get(name, 0) + value <= deserved.get(name, 0) for name, value in more.items()
    )


def wants_of(
    account: NamespaceAccount, kept: Counted, award: Award, snapshot: Snapshot, asking: PodDemands
) -> Iterator[Want]:
    """The pending pods that, each added to what the namespace keeps, stay within what it deserves; in no order.

    A gang that has not begun counts as a whole, because it cannot use a few pods.
    """
    deserved = award.deserved
    if not within(kept, NOTHING, deserved):
        return
    suits: dict[Shape, bool] = {}
    unbegun: dict[str, JobView | None] = {}
    gangs: dict[str, list[Task]] = {}
    for task in account.pending.values():
        shape = task.shape
        if shape not in suits:
            suits[shape] = within(kept, asking.amounts(shape), deserved) and asking.is_possible(shape)
        if not suits[shape]:
            continue
        if task.job not in unbegun:
            unbegun[task.job] = _unbegun(snapshot, task.job)
        if unbegun[task.job] is None:
            yield Want((task,), asking.amounts(shape))
        else:
            gangs.setdefault(task.job, []).append(task)
    for key, tasks in gangs.items():
        whole = _gang(unbegun[key], tasks, snapshot, asking)
        if whole is not None and within(kept, whole.amounts, deserved):
            yield whole


def urgency(task: Task) -> tuple[int, float, str, str]:
    """The order of pending pods, smaller first: by priority, age and name."""
    return -task.priority, task.created, task.namespace, task.name


def most_urgent(wants: Iterable[Want], most: int) -> list[Want]:
    """The most urgent wants, at most ``most``, judged by their first pods."""
    return nsmallest(most, wants, key=lambda want: urgency(want.tasks[0]))


def _unbegun(snapshot: Snapshot, key: str) -> JobView | None:
    """The job, if it is a gang that has not begun or may not start; None if each of its pods is useful alone."""
    job = snapshot.jobs.get(key)
    if job is None:
        return None
    stranded = _is_stranded(job, snapshot)
    spec = job.spec
    if spec.min_member <= 1 and not spec.min_task_member and not spec.sub_groups and not stranded:
        return None
    view = JobView(job)
    lacks_groups = view.sub_groups is not None and not view.sub_groups.are_ready
    return view if stranded or view.ready < view.min_member or view.roles_missing() or lacks_groups else None


def _is_stranded(job: Job, snapshot: Snapshot) -> bool:
    return job.spec.queue not in snapshot.queues or job.kept_out


def _gang(view: JobView | None, tasks: Sequence[Task], snapshot: Snapshot, asking: PodDemands) -> Want | None:
    """The pods with which a gang could begin; None if it has too few of them or may not start."""
    if view is None or _is_stranded(view.job, snapshot):
        return None
    tasks = sorted(tasks, key=urgency)
    chosen: dict[str, Task] = {}
    for role, missing in view.roles_missing().items():
        of_role = [task for task in tasks if task.role == role][:missing]
        if len(of_role) < missing:
            return None
        chosen.update((task.uid, task) for task in of_role)
    if view.sub_groups is not None:
        of_groups = _of_sub_groups(view.sub_groups, tasks)
        if of_groups is None:
            return None
        chosen.update((task.uid, task) for task in of_groups)
    for task in tasks:
        if view.ready + len(chosen) >= view.min_member:
            break
        chosen[task.uid] = task
    if view.ready + len(chosen) < view.min_member:
        return None
    amounts = summed(asking.amounts(task.shape) for task in chosen.values())
    return Want(tuple(sorted(chosen.values(), key=urgency)), amounts)


def _of_sub_groups(groups: SubGroups, tasks: Sequence[Task]) -> list[Task] | None:
    """The tasks with which enough sub-groups would have their minimum; None if there are too few."""
    if groups.are_ready:
        return []
    parts: dict[SubGroup, list[Task]] = {}
    for task in tasks:
        parts.setdefault(groups.of(task), []).append(task)
    able = [group for group in parts if group.lacks() <= len(parts[group])]
    able.sort(key=lambda group: (group.lacks(), group.key.number, group.name))
    chosen = groups.choice(able, lambda group: group.lacks())
    if not groups.would_do(chosen):
        return None
    return [task for group in chosen for task in parts[group][: group.lacks()]]
