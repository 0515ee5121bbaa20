"""Makes room for the sub-groups of a job, each in the one domain of its own tiers where that costs least.

The sub-groups that the job needs get room for their minimum first. Where that is not enough for the job's own minimum,
further tasks join them.
"""

from __future__ import annotations

from collections.abc import Sequence

from vsched.actions.freeing import Cost, Wanted, cheapest_of, cost_of, domains_to_free
from vsched.actions.room import has_room
from vsched.actions.victims import Attempt
from vsched.framework.places.domains import Domain
from vsched.framework.session import Session
from vsched.framework.subgroups import SubGroup, SubGroups
from vsched.model.pods.task import Task


def make_room_in_groups(session: Session, attempt: Attempt, groups: SubGroups, tasks: Sequence[Task]) -> bool:
    """Make room for as many tasks as a job is entitled to; True where its minimum has room then.

    The tasks are in the order of sub-groups, those that the job needs first.
    """
    parts: dict[SubGroup, list[Task]] = {}
    for task in tasks:
        parts.setdefault(groups.of(task), []).append(task)
    most_tried = max(1, attempt.search.domains_max // len(parts))
    left: list[tuple[SubGroup, list[Task]]] = []
    for group, part in parts.items():
        if not attempt.search.has_claim:
            break
        lacks = group.lacks(waiting=True)
        if lacks > len(part) or (lacks and not _room_for(session, attempt, group, part, lacks, most_tried)):
            continue
        left.append((group, part))
    moved = attempt.search.job.moved
    for group, part in left:
        for task in [one for one in part if one.uid not in moved]:
            if not attempt.search.has_claim or not _room_for(session, attempt, group, [task], 1, most_tried):
                break
    return has_room(session, attempt)


def _room_for(
    session: Session, attempt: Attempt, group: SubGroup, tasks: Sequence[Task], wanted: int, most_tried: int
) -> bool:
    """Make room for so many of a sub-group's tasks, in the cheapest domain that it may use; else nothing changes."""
    if group.topology is None:
        return _fill(session, attempt, tasks, wanted)
    footing = session.places.footing(attempt.search.job, group.topology, group)
    asks = Wanted(tasks, wanted, group.topology, footing)

    def cost_in(domain: Domain) -> Cost | None:
        before = attempt.mark()
        with session.node_selection.within(domain.rows):
            done = _fill(session, attempt, tasks, wanted)
        steps = session.ledger.log[before.step :]
        attempt.back_to(before)
        return cost_of([step.task for step in steps if step.cause is not None]) if done else None

    found = cheapest_of(domains_to_free(session, attempt.search, attempt.pools, asks, most_tried), cost_in)
    if found is None:
        return False
    with session.node_selection.within(found.rows):
        return _fill(session, attempt, tasks, wanted)


def _fill(session: Session, attempt: Attempt, tasks: Sequence[Task], wanted: int) -> bool:
    """Make room for so many of the tasks on the nodes that may be chosen at present; else nothing changes."""
    before, placed = attempt.mark(), 0
    for number, task in enumerate(tasks):
        placed += attempt.place(task)
        if placed == wanted:
            return True
        if placed + len(tasks) - number - 1 < wanted:
            break
    attempt.back_to(before)
    return False
