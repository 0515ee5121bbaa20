"""Makes room for the sub-groups of a job, each in the one domain of its own tiers where that costs least.

The sub-groups that the job needs get room for their minimum first. Where that is not enough for the job's own minimum,
further tasks join them. A composite gets room for so many of its parts, or for none.
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
from vsched.framework.subgroups import Composite, Part, SubGroups
from vsched.model.pods.task import Task


def make_room_in_groups(session: Session, attempt: Attempt, groups: SubGroups, tasks: Sequence[Task]) -> bool:
    """Make room for as many tasks as a job is entitled to; True where its minimum has room then.

    The tasks are in the order of sub-groups, those that the job needs first.
    """
    making = _Making(session, attempt, groups, max(1, attempt.search.domains_max // len(_parts_of(groups, tasks))))
    before = attempt.mark()
    for parts in _orders(groups, tasks):
        making.of_job(parts)
        if has_room(session, attempt):
            return True
        attempt.back_to(before)
    return False


Parts = dict[Part, list[Task]]
"""Tasks by what they can only get room with."""


def _parts_of(groups: SubGroups, tasks: Sequence[Task], within: Composite | None = None) -> Parts:
    parts: Parts = {}
    for task in tasks:
        parts.setdefault(groups.unit(task, within), []).append(task)
    return parts


def _orders(groups: SubGroups, tasks: Sequence[Task], within: Composite | None = None) -> Iterator[Parts]:
    """The orders to try: as the tasks are; of a tree, the largest and the smallest parts first, too."""
    parts = _parts_of(groups, tasks, within)
    orders = [list(parts)]
    if groups.is_tree:
        sizes = {part: part.lacks(waiting=True) for part in parts}
        orders += [sorted(parts, key=lambda part: -sizes[part]), sorted(parts, key=sizes.__getitem__)]
    for at, order in enumerate(orders):
        if order not in orders[:at]:
            yield {part: parts[part] for part in order}


class _Making:
    """The making of room in one attempt."""

    def __init__(self, session: Session, attempt: Attempt, groups: SubGroups, most_tried: int) -> None:
        self._session = session
        self._attempt = attempt
        self._groups = groups
        self._most_tried = most_tried

    def of_job(self, parts: Parts) -> None:
        """Make room for the minimum of part after part, and then for more, as long as the job is entitled to it."""
        search = self._attempt.search
        left: list[list[Task]] = []
        for unit, part in parts.items():
            if not search.has_claim:
                break
            if self._complete(unit, part):
                left.append(part)
        for part in left:
            more = [task for task in part if task.uid not in search.job.moved]
            for unit, tasks in _parts_of(self._groups, more).items():
                if unit.lacks(waiting=True):  # a group that its composite could do without
                    with self._beside_its_own(unit, tasks[0]):
                        if search.has_claim:
                            self._complete(unit, tasks)
                    continue
                with self._beside_its_own(unit, tasks[0]):
                    for task in tasks:
                        if not search.has_claim or not self._room_for(unit, [task], 1):
                            break

    @contextmanager
    def _beside_its_own(self, unit: Part, task: Task) -> Iterator[None]:
        """A restriction to the domains of the composites that a part is in, which have pods on nodes already."""
        places, job = self._session.places, self._attempt.search.job
        with ExitStack() as stack:
            for one in self._groups.around(task, None, unit):
                if one is unit or one.topology is None:
                    continue
                reach = places.reach(one.topology, places.placed_pods(job, one.topology, one))
                if not isinstance(reach, Refusal) and (domain := reach[-1][1]) is not None:
                    stack.enter_context(self._session.node_selection.within(places.domain(reach[-1][0], domain).rows))
            yield

    def _complete(self, unit: Part, tasks: Sequence[Task]) -> bool:
        """Whether a part has room for its minimum then; if not, nothing has changed."""
        lacks = unit.lacks(waiting=True)
        return lacks <= len(tasks) and (not lacks or self._room_for(unit, tasks, lacks))

    def _room_for(self, unit: Part, tasks: Sequence[Task], wanted: int) -> bool:
        """Make room for so many of a part's tasks, in the cheapest domain that it may use; else nothing changes."""

        def fill() -> bool:
            return self._fill(tasks, wanted) if not isinstance(unit, Composite) else self._fill_composite(unit, tasks)

        if unit.topology is None:
            return fill()
        session, attempt = self._session, self._attempt
        placed_pods = session.places.placed_pods(attempt.search.job, unit.topology, unit)
        asks = WantedRoom(tasks, wanted, unit.topology, placed_pods)

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

    def _fill_composite(self, unit: Composite, tasks: Sequence[Task]) -> bool:
        """Make room for so many of a composite's parts as it needs; else nothing changes."""
        before = self._attempt.mark()
        for parts in _orders(self._groups, tasks, unit):
            for part, own in parts.items():
                self._complete(part, own)
                if unit.is_pipelined:
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
