"""Takes room from others for a job: anywhere, or in the one domain whose freeing costs least.

A job that asks for closeness gets room in one domain that it may use. The domains are tried one after the other, each
try is rolled back, and only the cheapest one's victims are evicted. So nothing is evicted outside of that domain.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

import numpy as np

from vsched.actions.pools import CandidatePool, Pools
from vsched.actions.victim_search import VictimSearch
from vsched.actions.victims import Attempt, Pick, make_room, note_protection, signature
from vsched.framework.jobs import JobView
from vsched.framework.ledger.statement import Statement
from vsched.framework.places.batch import Kind
from vsched.framework.places.domains import Domain
from vsched.framework.refusal import Refusal
from vsched.framework.session import Session
from vsched.model.nodes.table import Ints
from vsched.model.pods.task import Task
from vsched.model.topology.constraints import NetworkTopology
from vsched.model.topology.tiers import Tier

PRIORITY_OFFSET = 1 << 31
"""Added to every priority to make it positive, so that more victims always cost more than fewer."""

NO_ROWS: Ints = np.zeros(0, dtype=np.int64)

Cost = tuple[int, int, int, float]


def cost_of(victims: Sequence[Task]) -> Cost:
    """The cost of victims; smaller is better (reference 3.4).

    It compares the highest priority, then the sum of priorities, then the number of victims. Last, the later start of
    the most important victim is better. No victims cost least.
    """
    if not victims:
        return -PRIORITY_OFFSET, 0, 0, 0.0
    highest = max(victim.priority for victim in victims)
    weight = sum(victim.priority + PRIORITY_OFFSET for victim in victims)
    earliest = min(victim.started for victim in victims if victim.priority == highest)
    return highest, weight, len(victims), -earliest


def take_for(session: Session, search: VictimSearch, pools: Pools, tasks: Sequence[Task], pick: Pick) -> bool:
    """Make room for as many tasks as a job is entitled to, at least for its minimum; True where that succeeds."""
    job = search.job
    if session.plugins.tasks_missing(job) > job.waiting + len(tasks):
        return False
    pool = pools.of(search, tasks[0])
    asked = signature(session, search, tasks), _closeness(session, job)
    if asked in pool.hopeless and pool.hopeless[asked] is session.ledger.latest:
        note_protection(session, job, pool, tasks)
        return False
    topology = job.spec.topology
    if topology is None:
        if _take(session, search, pools, tasks, pick):
            return True
    else:
        domain = cheapest(session, search, pools, tasks, pick, topology)
        if domain is not None:
            with session.node_selection.within(domain.rows):
                return _take(session, search, pools, tasks, pick)
    pool.hopeless[asked] = session.ledger.latest
    note_protection(session, job, pool, tasks)
    return False


def _take(session: Session, search: VictimSearch, pools: Pools, tasks: Sequence[Task], pick: Pick) -> bool:
    """Make room on the nodes that may be chosen at present; nothing has changed where that fails."""
    with session.statement() as statement:
        attempt = Attempt(session, search, pools, statement, pick)
        if make_room(session, attempt, tasks):
            if not statement.evictions and not attempt.is_worth_it:
                attempt.book()
                return True
            if attempt.is_sound:
                statement.commit()
                return True
        attempt.give_up()
    return False


def beside_its_own(session: Session, job: JobView) -> AbstractContextManager[None]:
    """A restriction to the nodes where a pod of a job may join those that have a node.

    There is none where the job does not ask for closeness, and no such node where none of its pods has one.
    """
    topology = job.spec.topology
    if topology is None or not topology.hard:
        return nullcontext()
    places = session.places
    reach = places.reach(topology, places.footing(job, topology))
    tier, domain = (None, None) if isinstance(reach, Refusal) else reach[-1]
    rows = NO_ROWS if tier is None or domain is None else places.domain(tier, domain).rows
    return session.node_selection.within(rows)


def _closeness(session: Session, job: JobView) -> Hashable:
    """What of a job's wish for closeness affects where it may get room; jobs with pods on nodes have answers alone."""
    topology = job.spec.topology
    if topology is None:
        return None
    return topology, job.key if session.places.footing(job, topology).pods else ""


# -- domains ----------------------------------------------------------------------------------------------------------


def cheapest(
    session: Session,
    search: VictimSearch,
    pools: Pools,
    tasks: Sequence[Task],
    pick: Pick,
    topology: NetworkTopology,
) -> Domain | None:
    """The domain where room for the tasks costs least, of equal ones that of the closest tier; None without any."""
    best: tuple[Cost, int, str] | None = None
    found: Domain | None = None
    with session.plugins.rehearsal():
        for domain in candidates(session, search, pools, tasks, topology):
            with session.node_selection.within(domain.rows), session.statement() as statement:
                cost = _cost_here(session, Attempt(session, search, pools, statement, pick), statement, tasks)
            if cost is not None and (best is None or (cost, domain.level, domain.name) < best):
                best, found = (cost, domain.level, domain.name), domain
    return found


def _cost_here(session: Session, attempt: Attempt, statement: Statement, tasks: Sequence[Task]) -> Cost | None:
    """What room would cost on the nodes that may be chosen; None where there is none to be had. All is rolled back."""
    made = make_room(session, attempt, tasks) and attempt.is_sound
    cost = cost_of([entry.task for entry in statement.evictions]) if made else None
    attempt.give_up()
    return cost


def candidates(
    session: Session, search: VictimSearch, pools: Pools, tasks: Sequence[Task], topology: NetworkTopology
) -> Iterator[Domain]:
    """The domains to try: of each tier, closest first, those that lack least room, as many as the policy says.

    Sums by domain of what each node would hold without all possible victims rule out most domains before any try.
    """
    places, job = session.places, search.job
    reach = places.reach(topology, places.footing(job, topology))
    if isinstance(reach, Refusal):
        return
    wanted = max(1, session.plugins.tasks_missing(job) - job.waiting)
    batch = places.batch(tasks, min(wanted, len(tasks)))
    rooms = [_rooms(session, pools.of(search, kind.first), kind) for kind in batch.kinds]
    done: set[tuple[int, int]] = set()
    for tier, only in reach:
        sums = places.grouping(tier).sums
        most, has = _none(tier), _none(tier)
        for room in rooms:
            most += np.minimum(sums(room.freed), room.tasks)
            has += np.minimum(sums(room.now), room.tasks)
        numbers = np.flatnonzero(most >= batch.wanted)
        if only is not None:
            numbers = numbers[numbers == only]
        short = np.maximum(batch.wanted - has[numbers], 0)
        tried = 0
        for number in numbers[np.lexsort((numbers, short))].tolist():
            domain = places.domain(tier, number)
            nodes = (int(domain.rows[0]), len(domain.rows)) if len(domain.rows) else (-1, 0)
            if nodes in done:  # domains nest, so these two numbers tell their sets of nodes apart
                continue
            done.add(nodes)
            if tried == search.domains_max:
                break
            tried += 1
            yield domain


class Rooms(NamedTuple):
    """How many tasks of one kind the nodes hold, at most ``tasks``."""

    now: Ints
    """int64[nodes]: once pods that are leaving have left."""
    freed: Ints
    """int64[nodes]: once all possible victims have left too."""
    tasks: int


def _rooms(session: Session, pool: CandidatePool, kind: Kind) -> Rooms:
    selection, nodes = session.node_selection, session.nodes
    now = np.minimum(selection.rooms(kind.first), kind.tasks)
    freed: Ints = np.where(selection.candidates(kind.first, pool.freeable), kind.tasks, 0)
    for column, amount in kind.first.shape.request:
        free = nodes.future_idle(column)
        if column in pool.freeable:
            free = free + pool.freeable[column]
        np.minimum(freed, np.maximum(free, 0) // amount, out=freed)
    return Rooms(now, np.maximum(now, freed), kind.tasks)


def _none(tier: Tier) -> Ints:
    return np.zeros(len(tier.domains), dtype=np.int64)
