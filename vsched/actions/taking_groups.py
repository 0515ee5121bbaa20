"""Makes room for the sub-groups of a job, each in the one domain of its own tiers where that costs least.

The sub-groups that the job needs get room for their minimum first. Where that is not enough for the job's own minimum,
further tasks join them. A composite gets room for so many of its children, or for none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from vsched.actions.freeing import Cost, WantedRoom, cheapest_of, cost_of, domains_to_free
from vsched.actions.room import has_room
from vsched.actions.victims import Attempt
from vsched.framework.places.domains import Domain
from vsched.framework.refusal import Refusal
from vsched.framework.session import Session
from vsched.framework.subgroups import AnyGroup, Composite, SubGroups
from vsched.model.pods.task import Task


def make_room_in_groups(session: Session, attempt: Attempt, groups: SubGroups, tasks: Sequence[Task]) -> bool:
    """Make room for as many tasks as a job is entitled to; True where its minimum has room then.

    The tasks are in the order of sub-groups, those that the job needs first.
    """
    making = _Making(session, attempt, groups, max(1, attempt.search.domains_max // len(_by_group(groups, tasks))))
    before = attempt.mark()
    for by_group in _orders(groups, tasks):
        making.of_job(by_group)
        if has_room(session, attempt):
            return True
        attempt.back_to(before)
    return False


TasksByGroup = dict[AnyGroup, list[Task]]
"""Tasks by the group that they have to get room with."""


def _by_group(groups: SubGroups, tasks: Sequence[Task], within: Composite | None = None) -> TasksByGroup:
    found: TasksByGroup = {}
    for task in tasks:
        found.setdefault(groups.group_for(task, within), []).append(task)
    return found


def _orders(groups: SubGroups, tasks: Sequence[Task], within: Composite | None = None) -> Iterator[TasksByGroup]:
    """The orders to try: as the tasks are; of a tree, the largest and the smallest groups first, too."""
    by_group = _by_group(groups, tasks, within)
    orders = [list(by_group)]
    if groups.is_tree:
        sizes = {group: group.lacks(waiting=True) for group in by_group}
        orders += [sorted(by_group, key=lambda group: -sizes[group]), sorted(by_group, key=sizes.__getitem__)]
    for at, order in enumerate(orders):
        if order not in orders[:at]:
            yield {group: by_group[group] for group in order}


class _Making:
    """The making of room in one attempt."""

    def __init__(self, session: Session, attempt: Attempt, groups: SubGroups, most_tried: int) -> None:
        self._session = session
        self._attempt = attempt
        self._groups = groups
        self._most_tried = most_tried

    def of_job(self, by_group: TasksByGroup) -> None:
        """Make room for the minimum of each group in turn, and then for more, as long as the job is entitled to it."""
        search = self._attempt.search
        left: list[list[Task]] = []
        for group, own in by_group.items():
            if not search.has_claim:
                break
            if self._complete(group, own):
                left.append(own)
        for rest in left:
            more = [task for task in rest if task.uid not in search.job.moved]
            for group, tasks in _by_group(self._groups, more).items():
                if group.lacks(waiting=True):  # a group that its composite could do without
                    with self._beside_its_own(group, tasks[0]):
                        if search.has_claim:
                            self._complete(group, tasks)
                    continue
                with self._beside_its_own(group, tasks[0]):
                    for task in tasks:
                        if not search.has_claim or not self._room_for(group, [task], 1):
                            break

    @contextmanager
    def _beside_its_own(self, group: AnyGroup, task: Task) -> Iterator[None]:
        """A restriction to the domains of the composites that a group is in, which have pods on nodes already."""
        places, job = self._session.places, self._attempt.search.job
        with ExitStack() as stack:
            for one in self._groups.around(task, None, group):
                if one is group or one.topology is None:
                    continue
                reach = places.reach(one.topology, places.pods_by_domain(job, one.topology, one))
                if not isinstance(reach, Refusal) and (domain := reach[-1][1]) is not None:
                    stack.enter_context(self._session.node_selection.within(places.domain(reach[-1][0], domain).rows))
            yield

    def _complete(self, group: AnyGroup, tasks: Sequence[Task]) -> bool:
        """Whether a group has room for its minimum then; if not, nothing has changed."""
        lacks = group.lacks(waiting=True)
        return lacks <= len(tasks) and (not lacks or self._room_for(group, tasks, lacks))

    def _room_for(self, group: AnyGroup, tasks: Sequence[Task], wanted: int) -> bool:
        """Make room for so many of a group's tasks, in the cheapest domain that it may use; else nothing changes."""

        def fill() -> bool:
            return self._fill(tasks, wanted) if not isinstance(group, Composite) else self._fill_composite(group, tasks)

        if group.topology is None:
            return fill()
        session, attempt = self._session, self._attempt
        pods_by_domain = session.places.pods_by_domain(attempt.search.job, group.topology, group)
        asks = WantedRoom(tasks, wanted, group.topology, pods_by_domain)

        def cost_in(domain: Domain) -> Cost | None:
            before = attempt.mark()
            with session.node_selection.within(domain.rows):
                done = fill()
            steps = session.ledger.log[before.step :]
            attempt.back_to(before)
            return cost_of(session, [step.task for step in steps if step.cause is not None]) if done else None

        found = cheapest_of(domains_to_free(session, attempt.search, attempt.pools, asks, self._most_tried), cost_in)
        return found is not None and self._fill_in(found, fill)

    def _fill_in(self, domain: Domain, fill: Callable[[], bool]) -> bool:
        with self._session.node_selection.within(domain.rows):
            return fill()

    def _fill_composite(self, group: Composite, tasks: Sequence[Task]) -> bool:
        """Make room for so many of a composite's children as it needs; else nothing changes."""
        before = self._attempt.mark()
        for by_group in _orders(self._groups, tasks, group):
            for child, own in by_group.items():
                self._complete(child, own)
                if group.is_pipelined:
                    return True
            self._attempt.back_to(before)
        return False

    def _fill(self, tasks: Sequence[Task], wanted: int) -> bool:
        """Make room for so many of the tasks on the nodes that may be chosen at present; else nothing changes."""
        attempt = self._attempt
        before, placed = attempt.mark(), 0
        for number, task in enumerate(tasks):
            placed += attempt.place(task)
            if placed == wanted:
                return True
            if placed + len(tasks) - number - 1 < wanted:
                break
        attempt.back_to(before)
        return False
