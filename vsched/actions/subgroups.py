"""Places jobs with sub-groups: each sub-group gets its minimum as a whole, or nothing.

The sub-groups that a job needs go first, then its other ones, and then tasks beyond the minima, one a turn. A sub-group
that asks for closeness goes into one domain of its own tiers, inside the domain of its job. Where policies form a tree,
a composite is a gang of its children: so many of them get their minimum, in one domain where it asks for that, or none.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice, permutations

from vsched.actions import words
from vsched.actions.assigning import place_until_ready
from vsched.actions.blocked import PendingTasks
from vsched.actions.joint_groups import place_jointly
from vsched.actions.places import GangPlacement, place_gang
from vsched.actions.placing import PlacingGoal, goal_of
from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.ledger.statement import Statement
from vsched.framework.refusal import Refusal
from vsched.framework.session import Session
from vsched.framework.subgroups import AnyGroup, Composite, SubGroup, SubGroups
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue
from vsched.model.topology.constraints import NO_POLICY

Place = Callable[[PendingTasks], object]
"""Places tasks on nodes that may be chosen."""
TOO_FEW = "NotEnoughPodsOfTask"
ORDERS_MAX = 24
"""How many orders of groups are tried for one job in one turn, besides the simple ones: all orders of four groups."""


def arranged(session: Session, groups: SubGroups, tasks: Iterable[Task]) -> PendingTasks:
    """The tasks of a job by sub-groups: those that it needs, then those that lack their minimum, then the others.

    The tasks of a sub-group keep their order, and so do the sub-groups of one composite, which stay side by side.
    """
    by_group: dict[SubGroup, list[Task]] = {}
    for task in tasks:
        by_group.setdefault(groups.of(task), []).append(task)
    order = sorted(by_group, key=lambda group: (group.is_ready, session.plugins.sub_group_key(group)))
    needed = groups.choice((group for group in order if _may_complete(group, by_group[group])), lambda group: 0)
    chosen = set(needed)
    others = (group for group in order if group not in chosen)
    return deque(task for group in groups.contiguous((*needed, *others)) for task in by_group[group])


def place_in_groups(
    session: Session, queue: Queue, job: JobView, groups: SubGroups, pending: PendingTasks, statement: Statement
) -> None:
    """Place what a job lacks until it is ready; of a ready job, one more sub-group or one more task."""
    goal = goal_of(session, job)
    placing = GroupPlacing(session, queue, job, groups, statement)
    if not goal.met():
        placing.place_whole(pending, goal)
        if goal.met():
            left = arranged(session, groups, pending)
            pending.clear()
            pending.extend(left)
        return
    failed: set[Hashable] = set()
    while pending:
        tasks = placing.next_tasks(pending)
        if not tasks or (kind := placing.kind(tasks)) in failed:
            continue
        if placing.place_further(tasks):
            pending.extend(tasks)
            return
        failed.add(kind)


def place_whole(
    session: Session,
    queue: Queue,
    job: JobView,
    groups: SubGroups,
    pending: PendingTasks,
    statement: Statement,
    goal: PlacingGoal,
) -> None:
    """Place what a job lacks, until the goal is met."""
    GroupPlacing(session, queue, job, groups, statement).place_whole(pending, goal)


class GroupPlacing:
    """The placing of one job's tasks by sub-groups, in one turn."""

    def __init__(self, session: Session, queue: Queue, job: JobView, groups: SubGroups, statement: Statement) -> None:
        self._session = session
        self._queue = queue
        self._job = job
        self._groups = groups
        self._statement = statement
        self._orders_left = ORDERS_MAX

    def place_whole(self, pending: PendingTasks, goal: PlacingGoal) -> None:
        """Place what the job lacks, inside one domain where it asks for that."""
        self._place_in_job(pending, goal, partial(self._place_all, goal=goal, within=None))

    def place_further(self, tasks: PendingTasks) -> bool:
        """Place one more group or task of a ready job; False where nothing was placed."""
        group = self._groups.group_for(tasks[0])
        before = len(self._session.ledger.log)
        goal = _goal_of(group)
        self._place_in_job(tasks, goal, lambda trial: self._place_group(group, trial))
        return len(self._session.ledger.log) > before

    def _place_in_job(self, pending: PendingTasks, goal: PlacingGoal, place: Place) -> None:
        job, topology = self._job, self._job.spec.topology
        if topology is None:
            place(pending)
            return
        pods_by_domain = self._session.places.pods_by_domain
        gang = GangPlacement(job, topology, lambda: pods_by_domain(job, topology), goal, place)
        place_gang(self._session, self._queue, pending, self._statement, gang)

    def next_tasks(self, pending: PendingTasks, within: Composite | None = None) -> PendingTasks:
        """Take the next tasks to place together out of ``pending``: those of one group, or one of a ready sub-group.

        Nothing where there are too few pods for the minimum. A refusal says so unless gates hold some back.
        """
        group = self._groups.group_for(pending[0], within)
        tasks: PendingTasks = deque((pending.popleft(),))
        if group.is_ready:
            return tasks
        while pending and self._groups.group_for(pending[0], within) is group:
            tasks.append(pending.popleft())
        if self._may_complete(group, tasks):
            return tasks
        if group.lacks(waiting=True, pending=True):
            self._session.refused.tasks[tasks[0].uid] = _too_few(group)
        return deque()

    def _may_complete(self, group: AnyGroup, tasks: Sequence[Task]) -> bool:
        """Whether these tasks are enough for the minimum of a composite or sub-group."""
        if isinstance(group, SubGroup):
            return _may_complete(group, tasks)
        return group.lacks(waiting=True) <= len(tasks) and not group.lacks(waiting=True, pending=True)

    def _place_all(self, pending: PendingTasks, goal: PlacingGoal, within: Composite | None) -> None:
        """Place group after group, of the job or of a composite, until the goal is met.

        Where that fails, they are tried in other orders: first the larger ones, which have the fewest places to go to.
        """
        before, tasks = self._statement.savepoint(), list(pending)
        for number, order in enumerate(self._orders(tasks, within)):
            if number:
                self._statement.rollback(before)
                if number == 2 and not self._may_fit(tasks, goal):
                    return
                # Messages count what found a node in the last try.
                self._session.refused.tried.difference_update(task.uid for task in tasks)
                pending.clear()
                pending.extend(order)
            self._place_in_order(pending, goal, within)
            if goal.met() or goal.will_be_met():
                return
        if within is None:
            place_jointly(
                self._session, self._queue, self._job, self._groups, tasks, pending, self._statement, before, goal
            )

    def _orders(self, tasks: Sequence[Task], within: Composite | None) -> Iterator[list[Task]]:
        """The orders in which to try tasks, each at most once: as they are, then the groups that lack most first.

        Where groups differ in size or topology and some may do without the others, more orders follow, first that with
        the smallest groups at its head: they choose other groups, and other domains for them.
        """
        by_group: dict[AnyGroup, list[Task]] = {}
        for task in tasks:
            by_group.setdefault(self._groups.group_for(task, within), []).append(task)
        sizes = {group: group.lacks(waiting=True) for group in by_group}
        largest = sorted(by_group, key=lambda group: -sizes[group])
        if not self._groups.is_tree:
            yield list(tasks)
            if largest != list(by_group):
                yield [task for group in largest for task in by_group[group]]
            return
        kinds = {group: self.kind(deque(own), within) for group, own in by_group.items()}
        seen: set[tuple[Hashable, ...]] = set()
        orders = chain((list(by_group), largest, largest[::-1]), islice(permutations(by_group), ORDERS_MAX))
        for number, order in enumerate(orders):
            of_kinds = tuple(kinds[group] for group in order)
            if of_kinds in seen:
                continue
            if number > 2:
                if not self._orders_left:
                    return
                self._orders_left -= 1
            seen.add(of_kinds)
            yield [task for group in order for task in by_group[group]]

    def _may_fit(self, tasks: Sequence[Task], goal: PlacingGoal) -> bool:
        """Whether the nodes that may be chosen have room for as many of these tasks as are missing."""
        task_set = self._session.places.task_set(tasks, goal.missing())
        rooms = (min(one.tasks, int(self._session.node_selection.rooms(one.first).sum())) for one in task_set.kinds)
        return sum(rooms) >= task_set.wanted

    def _place_in_order(self, pending: PendingTasks, goal: PlacingGoal, within: Composite | None) -> None:
        spare = self._spare_groups(pending, within)
        job, groups = self._job, self._groups
        failed: set[Hashable] = set()
        """The kinds of groups that found no room since the last placement."""
        while pending:
            group = groups.group_for(pending[0], within)
            was_ready, policy = group.is_ready, groups.policy_of(group)
            tasks = self.next_tasks(pending, within)
            kind = self.kind(tasks, within) if tasks else None
            if tasks and kind not in failed and self._place_group(group, tasks, within):
                pending.extend(tasks)
                failed.clear()
                if goal.met():
                    return
                continue
            failed.add(kind)
            if not was_ready and policy != NO_POLICY:
                spare[policy] -= 1
                if spare[policy] < 0:
                    return
            if within is None and job.min_member - job.ready - job.waiting - job.best_effort_pending > len(pending):
                return

    def _spare_groups(self, pending: PendingTasks, within: Composite | None) -> list[int]:
        """By policy: how many of its children may fail before too few are left."""
        groups = self._groups
        open_groups = {group for task in pending if not (group := groups.group_for(task, within)).is_ready}
        counts = Counter(map(groups.policy_of, open_groups))
        return [groups.ready_of(at) + counts[at] - policy.minimum for at, policy in enumerate(groups.policies)]

    def _place_group(self, group: AnyGroup, tasks: PendingTasks, within: Composite | None = None) -> bool:
        """Place the minimum of a composite or sub-group, or one more task; if that fails, nothing has changed.

        Tasks beyond the minimum stay in ``tasks``.
        """
        session, statement = self._session, self._statement
        before, first = statement.savepoint(), tasks[0]
        place: Place = partial(self._fill, group)
        for one in self._groups.around(first, within, group):
            place = self._close(one, group, place)
        place(tasks)
        if statement.savepoint() > before and (group.is_ready or group.is_pipelined):
            return True
        session.refused.tried.update(task.uid for task in statement.tasks)
        statement.rollback(before)
        self._name_group(group, first)
        return False

    def _fill(self, group: AnyGroup, pending: PendingTasks) -> None:
        """Place tasks of a group on nodes that may be chosen, until it has its minimum."""
        goal = _goal_of(group)
        if isinstance(group, Composite):
            self._place_all(pending, goal, group)
        else:
            place_until_ready(self._session, self._queue, self._job, pending, self._statement, goal)

    def _close(self, one: AnyGroup, group: AnyGroup, place: Place) -> Place:
        """The same placing of a group in one domain of ``one``: the group itself, or a composite that it is in."""
        topology = one.topology
        if topology is None:
            return place
        pods_by_domain, job = self._session.places.pods_by_domain, self._job
        gang = GangPlacement(
            job,
            topology,
            lambda: pods_by_domain(job, topology, one),
            _goal_of(group),
            place,
        )
        return partial(place_gang, self._session, self._queue, statement=self._statement, gang=gang)

    def _name_group(self, group: AnyGroup, first: Task) -> None:
        """Name the group that finds no domain in the refusal of its first task."""
        refusals = self._session.refused.tasks
        why = refusals.get(first.uid)
        if isinstance(why, Refusal) and why.code is Code.TOPOLOGY:
            refusals[first.uid] = why._replace(message=words.of_sub_group(group.name, why.message))

    def kind(self, tasks: PendingTasks, within: Composite | None = None) -> Hashable:
        """Equal for groups that find room all or none; one with pods on nodes or nominated nodes has its own kind."""
        group = self._groups.group_for(tasks[0], within)
        if group.placed or any(task.uid in self._session.decisions.nominated for task in tasks):
            return tasks[0].uid
        if isinstance(group, Composite):
            inner: dict[AnyGroup, PendingTasks] = {}
            for task in tasks:
                inner.setdefault(self._groups.group_for(task, group), deque()).append(task)
            inner_kinds = Counter(self.kind(own, group) for own in inner.values())
            return group.topology, group.minimum, frozenset(inner_kinds.items())
        kinds = Counter((self._session.node_selection.kind(task), task.role, task.nominated) for task in tasks)
        return group.topology, group.lacks(), frozenset(kinds.items())


def _goal_of(group: AnyGroup) -> PlacingGoal:
    return PlacingGoal(
        lambda: group.is_ready,
        lambda: group.lacks(waiting=True),
        lambda: group.is_pipelined,
        lambda: group.lacks(waiting=True),
        lambda failed_roles, left: group.lacks(waiting=True) <= left,
        subject=group.key,
    )


def _may_complete(group: SubGroup, tasks: Sequence[Task]) -> bool:
    """Whether these tasks are enough for the sub-group's minimum."""
    return group.lacks(waiting=True) <= len(tasks)


def _too_few(group: AnyGroup) -> Refusal:
    if isinstance(group, Composite):
        message = words.sub_group_lacks_groups(group.name, group.minimum)
    else:
        message = words.sub_group_lacks_pods(group.name, group.minimum, group.occupied(waiting=True, pending=True))
    return Refusal(TOO_FEW, message, code=Code.GANG_INCOMPLETE)
