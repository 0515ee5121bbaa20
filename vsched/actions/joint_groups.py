"""Places the groups of a job together, where they found no room one after the other.

Each group that asks for closeness is tried in all domains that may be its own, and all tasks in any way inside of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from vsched.actions.assigning import place_again, place_in_any_way
from vsched.actions.blocked import PendingTasks
from vsched.actions.placing import PlacingGoal
from vsched.actions.task_kinds import KindsInDomain, TaskKinds, kinds_of, mask_of
from vsched.framework.jobs import JobView
from vsched.framework.ledger.statement import Statement
from vsched.framework.refusal import Refusal
from vsched.framework.session import Session
from vsched.framework.subgroups import AnyGroup, SubGroups
from vsched.model.nodes.table import Ints
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue


def place_jointly(
    session: Session,
    queue: Queue,
    job: JobView,
    groups: SubGroups,
    tasks: Sequence[Task],
    pending: PendingTasks,
    statement: Statement,
    before: int,
    goal: PlacingGoal,
) -> None:
    """Place these tasks so that the goal is met, and each group has its minimum or nothing.

    This is in place of the steps since a savepoint, which are taken again where there is no way.
    """
    wish = joint_wish(session, job, groups, tasks, statement, goal)
    failed = session.ledger.log[before:]
    statement.rollback(before)
    domains = wish.domains()
    place_again(session, statement, failed)
    place_in_any_way(session, queue, job, wish.kinds, pending, statement, before, wish.goal, domains)


class JointWish(NamedTuple):
    """What the groups of a job need together."""

    kinds: TaskKinds
    goal: PlacingGoal
    """The job's, and that each group has its minimum or nothing."""
    domains: Callable[[], Sequence[KindsInDomain]]
    """Where groups that ask for closeness may be, as things are."""


def joint_wish(
    session: Session, job: JobView, groups: SubGroups, tasks: Sequence[Task], statement: Statement, goal: PlacingGoal
) -> JointWish:
    """What the groups of a job need together to meet a goal, by placing these tasks in a statement."""
    kinds = kinds_of(session, tasks, lambda task: groups.of(task).name)
    minima = groups.without_choice()
    if minima is None:
        kinds = kinds._replace(are_plain=False)
    whole = goal._replace(
        met=lambda: goal.met() and groups.are_whole(statement.tasks),
        will_be_met=lambda: goal.will_be_met() and groups.will_be_whole(statement.tasks),
        parts_missing=lambda waiting: {group.name: group.lacks(waiting=waiting) for group in minima or ()},
        subject=("groups", goal.subject),
    )
    return JointWish(kinds, whole, lambda: list(_domains(session, job, groups, kinds, some_stay_out=minima is None)))


def _domains(
    session: Session, job: JobView, groups: SubGroups, kinds: TaskKinds, *, some_stay_out: bool
) -> Iterator[KindsInDomain]:
    """For each composite and sub-group that asks for closeness, the largest first, the domains that it may be in."""
    tasks: dict[AnyGroup, list[Task]] = {}
    for task in kinds.usable:
        group = groups.of(task)
        around: list[AnyGroup] = [*groups.path(group), group]
        for one in around:
            if one.topology is not None:
                tasks.setdefault(one, []).append(task)
    for one in sorted(tasks, key=lambda group: -len(tasks[group])):
        domains = [mask_of(session, rows) for rows in _domain_rows(session, job, one, tasks[one])]
        if some_stay_out:
            domains.append(mask_of(session, np.zeros(0, dtype=np.int64)))
        yield KindsInDomain(frozenset(kinds.of[task.uid] for task in tasks[one]), domains)


def _domain_rows(session: Session, job: JobView, group: AnyGroup, tasks: Sequence[Task]) -> Iterator[Ints]:
    """The rows of the domains that a group with closeness may be in, closest tier first, the best first in each."""
    topology, places = group.topology, session.places
    assert topology is not None
    pods_by_domain = places.pods_by_domain(job, topology, group)
    reach = places.reach(topology, pods_by_domain)
    if isinstance(reach, Refusal):
        return
    task_set = places.task_set(tasks, max(1, group.lacks(waiting=True)))
    for at, (tier, only) in enumerate(reach):
        look = places.look(task_set, tier, only, pods_by_domain.inside(at))
        restricted = session.node_selection.restricted_to
        yield from (one.rows for one in look.domains(places.grouping(tier), restricted))
    if not topology.hard:
        yield np.arange(len(session.nodes))
