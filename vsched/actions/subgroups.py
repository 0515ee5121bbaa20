"""Places jobs with sub-groups: each sub-group gets its minimum as a whole, or nothing.

The sub-groups that a job needs go first, then its other ones, and then tasks beyond the minima, one a turn. A sub-group
that asks for closeness goes into one domain of its own tiers, inside the domain of its job. Where policies form a tree,
a composite is a gang of its parts: so many of them get their minimum, in one domain where it asks for that, or none.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice, permutations

from vsched.actions.assigning import place_until_ready
from vsched.actions.held import Worksheet
from vsched.actions.places import GangPlacement, place_gang
from vsched.actions.placing import PlacingGoal, goal_of
from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.ledger.statement import Statement
from vsched.framework.refusal import Refusal
from vsched.framework.session import Session
from vsched.framework.subgroups import Composite, Part, SubGroup, SubGroups
from vsched.framework.wording import counted
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue
from vsched.model.topology.constraints import NO_POLICY

Place = Callable[[Worksheet], object]
"""Places tasks of a sheet on nodes that may be chosen."""
TOO_FEW = "NotEnoughPodsOfTask"
PART = "sub-group "
"""How messages about one part begin."""
ORDERS_MAX = 24
"""How many orders of parts are tried for one job in one turn, besides the simple ones: all orders of four parts."""


def arranged(session: Session, groups: SubGroups, tasks: Iterable[Task]) -> Worksheet:
    """The tasks of a job by sub-groups: those that it needs, then those that lack their minimum, then the others.

    The tasks of a sub-group keep their order, and so do the sub-groups of one composite, which stay side by side.
    """
    parts: dict[SubGroup, list[Task]] = {}
    for task in tasks:
        parts.setdefault(groups.of(task), []).append(task)
    order = sorted(parts, key=lambda group: (group.is_ready, session.plugins.sub_group_key(group)))
    needed = groups.choice((group for group in order if _may_complete(group, parts[group])), lambda group: 0)
    chosen = set(needed)
    others = (group for group in order if group not in chosen)
    return deque(task for group in groups.contiguous((*needed, *others)) for task in parts[group])


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


def place_whole(
    session: Session,
    queue: Queue,
    job: JobView,
    groups: SubGroups,
    sheet: Worksheet,
    statement: Statement,
    goal: PlacingGoal,
) -> None:
    """Place what a job lacks, until the goal is met."""
    GroupPlacing(session, queue, job, groups, statement).place_whole(sheet, goal)


class GroupPlacing:
    """The placing of one job's tasks by sub-groups, in one turn."""

    def __init__(self, session: Session, queue: Queue, job: JobView, groups: SubGroups, statement: Statement) -> None:
        self._session = session
        self._queue = queue
        self._job = job
        self._groups = groups
        self._statement = statement
        self._orders_left = ORDERS_MAX

    def place_whole(self, sheet: Worksheet, goal: PlacingGoal) -> None:
        """Place what the job lacks, inside one domain where it asks for that."""
        self._place_in_job(sheet, goal, partial(self._place_all, goal=goal, within=None))

    def place_further(self, part: Worksheet) -> bool:
        """Place one part of a ready job; False where nothing was placed."""
        unit = self._groups.unit(part[0])
        before = len(self._session.ledger.log)
        goal = _goal_of(unit)
        self._place_in_job(part, goal, lambda trial: self._place_part(unit, trial))
        return len(self._session.ledger.log) > before

    def _place_in_job(self, sheet: Worksheet, goal: PlacingGoal, place: Place) -> None:
        job, topology = self._job, self._job.spec.topology
        if topology is None:
            place(sheet)
            return
        footing = self._session.places.footing
        gang = GangPlacement(job, topology, lambda: footing(job, topology), goal, place)
        place_gang(self._session, self._queue, sheet, self._statement, gang)

    def next_part(self, sheet: Worksheet, within: Composite | None = None) -> Worksheet:
        """Take the next tasks to place together from a sheet: those of a composite or sub-group, or one more of a ready
        sub-group.

        Nothing where there are too few pods for the minimum. A refusal says so unless gates hold some back.
        """
        unit = self._groups.unit(sheet[0], within)
        part: Worksheet = deque((sheet.popleft(),))
        if unit.is_ready:
            return part
        while sheet and self._groups.unit(sheet[0], within) is unit:
            part.append(sheet.popleft())
        if self._may_complete(unit, part):
            return part
        if unit.lacks(waiting=True, pending=True):
            self._session.refused.tasks[part[0].uid] = _too_few(unit)
        return deque()

    def _may_complete(self, unit: Part, tasks: Sequence[Task]) -> bool:
        """Whether these tasks are enough for the minimum of a composite or sub-group."""
        if isinstance(unit, SubGroup):
            return _may_complete(unit, tasks)
        return unit.lacks(waiting=True) <= len(tasks) and not unit.lacks(waiting=True, pending=True)

    def _place_all(self, sheet: Worksheet, goal: PlacingGoal, within: Composite | None) -> None:
        """Place part after part, of the job or of a composite, until the goal is met.

        Where that fails, they are tried in other orders: first the larger ones, which have the fewest places to go to.
        """
        before, tasks = self._statement.savepoint(), list(sheet)
        for number, order in enumerate(self._orders(tasks, within)):
            if number:
                self._statement.rollback(before)
                if number == 2 and not self._may_fit(tasks, goal):
                    return
                # Messages count what found a node in the last try.
                self._session.refused.tried.difference_update(task.uid for task in tasks)
                sheet.clear()
                sheet.extend(order)
            self._place_in_order(sheet, goal, within)
            if goal.met() or goal.will_be_met():
                return

    def _orders(self, tasks: Sequence[Task], within: Composite | None) -> Iterator[list[Task]]:
        """The orders in which to try tasks, each at most once: as they are, then the parts that lack most first.

        Where parts differ in size or topology and some may do without the others, more orders follow, first that with
        the smallest parts at its head: they choose other parts, and other domains for them.
        """
        parts: dict[Part, list[Task]] = {}
        for task in tasks:
            parts.setdefault(self._groups.unit(task, within), []).append(task)
        sizes = {part: part.lacks(waiting=True) for part in parts}
        largest = sorted(parts, key=lambda part: -sizes[part])
        if not self._groups.is_tree:
            yield list(tasks)
            if largest != list(parts):
                yield [task for part in largest for task in parts[part]]
            return
        kinds = {part: self.likeness(deque(own), within) for part, own in parts.items()}
        seen: set[tuple[Hashable, ...]] = set()
        orders = chain((list(parts), largest, largest[::-1]), islice(permutations(parts), ORDERS_MAX))
        for number, order in enumerate(orders):
            alike = tuple(kinds[part] for part in order)
            if alike in seen:
                continue
            if number > 2:
                if not self._orders_left:
                    return
                self._orders_left -= 1
            seen.add(alike)
            yield [task for part in order for task in parts[part]]

    def _may_fit(self, tasks: Sequence[Task], goal: PlacingGoal) -> bool:
        """Whether the nodes that may be chosen have room for as many of these tasks as are missing."""
        task_set = self._session.places.task_set(tasks, goal.missing())
        rooms = (min(one.tasks, int(self._session.node_selection.rooms(one.first).sum())) for one in task_set.kinds)
        return sum(rooms) >= task_set.wanted

    def _place_in_order(self, sheet: Worksheet, goal: PlacingGoal, within: Composite | None) -> None:
        spare = self._spare_parts(sheet, within)
        job, groups = self._job, self._groups
        failed: set[Hashable] = set()
        """The likeness of what found no place since the last placement."""
        while sheet:
            unit = groups.unit(sheet[0], within)
            was_ready, policy = unit.is_ready, groups.policy_of(unit)
            part = self.next_part(sheet, within)
            alike = self.likeness(part, within) if part else None
            if part and alike not in failed and self._place_part(unit, part, within):
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
            if within is None and job.min_member - job.ready - job.waiting - job.best_effort_pending > len(sheet):
                return

    def _spare_parts(self, sheet: Worksheet, within: Composite | None) -> list[int]:
        """By policy: how many of its parts may fail before what is to be placed cannot have as many as it needs."""
        groups = self._groups
        open_parts = {unit for task in sheet if not (unit := groups.unit(task, within)).is_ready}
        counts = Counter(map(groups.policy_of, open_parts))
        return [groups.ready_of(at) + counts[at] - policy.minimum for at, policy in enumerate(groups.policies)]

    def _place_part(self, unit: Part, part: Worksheet, within: Composite | None = None) -> bool:
        """Place the minimum of a composite or sub-group, or one more task; if that fails, nothing has changed.

        Tasks beyond the minimum stay in ``part``.
        """
        session, statement = self._session, self._statement
        before, first = statement.savepoint(), part[0]
        place: Place = partial(self._fill, unit)
        for one in self._groups.around(first, within, unit):
            place = self._close(one, unit, place)
        place(part)
        if statement.savepoint() > before and (unit.is_ready or unit.is_pipelined):
            return True
        session.refused.tried.update(task.uid for task in statement.tasks)
        statement.rollback(before)
        self._name_part(unit, first)
        return False

    def _fill(self, unit: Part, sheet: Worksheet) -> None:
        """Place tasks of a part on nodes that may be chosen, until it has its minimum."""
        goal = _goal_of(unit)
        if isinstance(unit, Composite):
            self._place_all(sheet, goal, unit)
        else:
            place_until_ready(self._session, self._queue, self._job, sheet, self._statement, goal)

    def _close(self, one: Part, unit: Part, place: Place) -> Place:
        """The same placing of a part in one domain of ``one``: of the part itself, or of a composite that it is in."""
        topology = one.topology
        if topology is None:
            return place
        footing, job = self._session.places.footing, self._job
        gang = GangPlacement(job, topology, lambda: footing(job, topology, one), _goal_of(unit), place)
        return partial(place_gang, self._session, self._queue, statement=self._statement, gang=gang)

    def _name_part(self, unit: Part, first: Task) -> None:
        """Say in the refusal of its first task which part finds no domain."""
        refusals = self._session.refused.tasks
        why = refusals.get(first.uid)
        if isinstance(why, Refusal) and why.code is Code.TOPOLOGY and not why.message.startswith(PART):
            refusals[first.uid] = why._replace(message=f"{PART}{unit.name}: {why.message}")

    def likeness(self, part: Worksheet, within: Composite | None = None) -> Hashable:
        """Parts of equal likeness find a place all or none; one with pods on nodes or held nodes is like no other."""
        unit = self._groups.unit(part[0], within)
        if unit.standing or any(task.uid in self._session.decisions.nominated for task in part):
            return part[0].uid
        if isinstance(unit, Composite):
            inner: dict[Part, Worksheet] = {}
            for task in part:
                inner.setdefault(self._groups.unit(task, unit), deque()).append(task)
            alike = Counter(self.likeness(own, unit) for own in inner.values())
            return unit.topology, unit.minimum, frozenset(alike.items())
        kinds = Counter((self._session.node_selection.kind(task), task.role, task.nominated) for task in part)
        return unit.topology, unit.lacks(), frozenset(kinds.items())


def _goal_of(unit: Part) -> PlacingGoal:
    return PlacingGoal(
        lambda: unit.is_ready,
        lambda: unit.lacks(waiting=True),
        lambda: unit.is_pipelined,
        lambda: unit.lacks(waiting=True),
        lambda failed_roles, left: unit.lacks(waiting=True) <= left,
    )


def _may_complete(group: SubGroup, tasks: Sequence[Task]) -> bool:
    """Whether these tasks are enough for the sub-group's minimum."""
    return group.lacks(waiting=True) <= len(tasks)


def _too_few(unit: Part) -> Refusal:
    if isinstance(unit, Composite):
        message = f"{PART}{unit.name} needs {unit.minimum} of its groups, and these have too few pods"
    else:
        have = unit.occupied(waiting=True, pending=True)
        message = f"{PART}{unit.name} needs {unit.minimum} pods, and {counted(have, 'exists', 'exist')}"
    return Refusal(TOO_FEW, message, code=Code.GANG_INCOMPLETE)
