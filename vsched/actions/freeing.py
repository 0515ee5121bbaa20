"""Which domains to try to free for tasks that have to be close to each other, and what their victims would cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from vsched.actions.attempt_steps import FreedRoom
from vsched.actions.candidates import CandidatePool
from vsched.actions.pools import Pools
from vsched.actions.room import first_that_does
from vsched.actions.victim_search import VictimSearch
from vsched.actions.victims import Attempt
from vsched.framework.places.domains import Domain
from vsched.framework.places.pods_by_domain import PodsByDomain
from vsched.framework.places.task_sets import TaskKind
from vsched.framework.refusal import Refusal
from vsched.framework.session import Session
from vsched.model.nodes.table import Ints
from vsched.model.pods.shape import Shape
from vsched.model.pods.task import Task
from vsched.model.topology.constraints import NetworkTopology
from vsched.model.topology.tiers import Tier

PRIORITY_OFFSET = 1 << 31
"""Added to every priority to make it positive, so that more victims always cost more than fewer."""

ALL_ROWS = slice(None)
NOTHING_FREED: Mapping[int, Ints] = {}
Cost = tuple[int, float, int, int, float]
NO_VICTIMS: Cost = (-PRIORITY_OFFSET, 0.0, 0, 0, 0.0)


def cost_of(session: Session, victims: Sequence[Task]) -> Cost:
    """The cost of victims; smaller is better.

    It compares the highest priority, then the work that is lost (if a plugin says how much), then the sum of
    priorities, then the number of victims. Last, the later start of the most important victim is better. No victims
    cost least.
    """
    if not victims:
        return NO_VICTIMS
    highest = max(victim.priority for victim in victims)
    weight = sum(victim.priority + PRIORITY_OFFSET for victim in victims)
    earliest = min(victim.started for victim in victims if victim.priority == highest)
    return highest, session.plugins.victim_rules.wasted(victims), weight, len(victims), -earliest


def victims_of(cost: Cost) -> int:
    """How many victims cost this."""
    return cost[3]


def cheapest_of(domains: Iterable[Domain], cost_in: Callable[[Domain], Cost | None]) -> Domain | None:
    """The domain with the least cost, of equal ones that of the closest tier, then by name; None without any.

    ``cost_in`` says what room in a domain costs, None where there is none to be had. Nothing costs less than no victim.
    """
    best: tuple[Cost, int, str] | None = None
    found: Domain | None = None
    for domain in domains:
        cost = cost_in(domain)
        if cost is not None and (best is None or (cost, domain.level, domain.name) < best):
            best, found = (cost, domain.level, domain.name), domain
        if cost == NO_VICTIMS:
            break
    return found


class WantedRoom(NamedTuple):
    """Tasks that should get room in one domain."""

    tasks: Sequence[Task]
    number: int
    """How many of them are enough."""
    topology: NetworkTopology
    pods_by_domain: PodsByDomain
    """Where the pods with a node are that they have to join."""


def domains_to_free(
    session: Session, search: VictimSearch, pools: Pools, wanted: WantedRoom, most_tried: int
) -> Iterator[Domain]:
    """The domains to try: of each tier, closest first, those that lack least room, at most ``most_tried``.

    Sums by domain of what each node would hold without all possible victims rule out most domains before any try.
    """
    places = session.places
    reach = places.reach(wanted.topology, wanted.pods_by_domain)
    if isinstance(reach, Refusal):
        return
    task_set = places.task_set(wanted.tasks, min(max(1, wanted.number), len(wanted.tasks)))
    rooms = [rooms_once_freed(session, pools.of(search, kind.first), kind) for kind in task_set.kinds]
    done: set[tuple[int, int]] = set()
    for tier, only in reach:
        sums = places.grouping(tier).sums
        most, has = _none(tier), _none(tier)
        for room in rooms:
            most += np.minimum(sums(room.freed), room.tasks)
            has += np.minimum(sums(room.now), room.tasks)
        numbers = np.flatnonzero(most >= task_set.wanted)
        if only is not None:
            numbers = numbers[numbers == only]
        short = np.maximum(task_set.wanted - has[numbers], 0)
        tried = 0
        for number in numbers[np.lexsort((numbers, short))].tolist():
            domain = places.domain(tier, number)
            nodes = (int(domain.rows[0]), len(domain.rows)) if len(domain.rows) else (-1, 0)
            if nodes in done:  # domains nest, so that these two numbers identify their sets of nodes
                continue
            done.add(nodes)
            if tried == most_tried:
                break
            tried += 1
            yield domain


def roomiest(attempt: Attempt, task: Task, rows: Sequence[int]) -> FreedRoom | None:
    """Frees the row where each victim makes room for most tasks like this one, of equal ones the first that it can."""
    session, pool, at = attempt.session, attempt.pool(task), np.asarray(rows)
    now, freed = (_room(session, task.shape, gain, at) for gain in (NOTHING_FREED, pool.freeable))
    victims = np.array([max(1, len(pool.candidates(row))) for row in rows])
    return first_that_does(attempt, task, at[np.argsort((now - freed) / victims, kind="stable")].tolist())


class KindRooms(NamedTuple):
    """How many tasks of one kind the nodes hold, at most ``tasks``."""

    now: Ints
    """int64[nodes]: once pods that are leaving have left."""
    freed: Ints
    """int64[nodes]: once all possible victims have left too."""
    tasks: int


def rooms_once_freed(session: Session, pool: CandidatePool, kind: TaskKind) -> KindRooms:
    """How many tasks of a kind nodes hold, now and without the candidates of a pool."""
    selection = session.node_selection
    now = np.minimum(selection.rooms(kind.first), kind.tasks)
    freed = np.minimum(_room(session, kind.first.shape, pool.freeable), kind.tasks)
    freed[~selection.candidates(kind.first, pool.freeable)] = 0
    return KindRooms(now, np.maximum(now, freed), kind.tasks)


def _room(session: Session, shape: Shape, freed: Mapping[int, Ints], rows: Ints | slice = ALL_ROWS) -> Ints:
    """int64[rows]: how many tasks of a shape nodes hold by their amounts, once these (by column) are free too."""
    room: Ints = np.full(len(session.nodes), np.iinfo(np.int64).max)[rows]
    for column, amount in shape.request:
        free = session.nodes.future_idle(column)[rows]
        if column in freed:
            free = free + freed[column][rows]
        np.minimum(room, np.maximum(free, 0) // amount, out=room)
    return room


def _none(tier: Tier) -> Ints:
    return np.zeros(len(tier.domains), dtype=np.int64)
