"""Takes room from others for a job: anywhere, or in the one domain whose freeing costs least.

A job that asks for closeness gets room in one domain that it may use. The domains are tried one after the other, each
try is rolled back, and only the cheapest one's victims are evicted. So nothing is evicted outside of that domain.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager

from vsched.actions.blocked import gang_refusal, may_start
from vsched.actions.fewest_victims import in_any_way
from vsched.actions.freeing import Cost, WantedRoom, cheapest_of, cost_of, domains_to_free, roomiest, victims_of
from vsched.actions.pools import Pools
from vsched.actions.rivals import NO_ROOM, Rehearsal, could_take_back
from vsched.actions.room import first_that_does, make_room, note_protection, signature
from vsched.actions.taking_groups import make_room_in_groups
from vsched.actions.victim_search import VictimSearch, unplaced
from vsched.actions.victims import Attempt, Pick, request_kind
from vsched.framework.jobs import JobView
from vsched.framework.ledger.statement import Statement
from vsched.framework.places.domains import Domain
from vsched.framework.session import Session
from vsched.model.pods.task import Task
from vsched.model.topology.constraints import NetworkTopology


def take_missing(session: Session, kind: type[VictimSearch], job: JobView, pools: Pools, pick: Pick) -> bool:
    """Make room for as many of its missing tasks as a starving job is entitled to, at least for its minimum.

    True where that succeeds. A job of a kind for which it failed before is not tried.
    """
    agreement = session.plugins.agreement[kind.purpose]
    if not may_start(session, job) or pools.has_failed(job, kind, agreement):
        return False
    if not session.plugins.job_starving(job):
        return False
    tasks = unplaced(session, job)
    if not tasks or take_for(session, kind(session, job), pools, tasks, pick):
        return bool(tasks)
    pools.note_failure(job, kind, agreement)
    return False


def take_for(session: Session, search: VictimSearch, pools: Pools, tasks: Sequence[Task], pick: Pick) -> bool:
    """Make room for as many tasks as a job is entitled to, at least for its minimum; True where that succeeds."""
    job = search.job
    if session.plugins.tasks_missing(job) > job.waiting + len(tasks) or not may_start(session, job):
        return False
    if not any(search.may_take(task) for task in tasks):
        return False
    pool = pools.of(search, tasks[0])
    asked = signature(session, search, tasks), _closeness(session, job)
    if asked in pool.hopeless and pool.hopeless[asked] is session.ledger.latest:
        note_protection(session, search, pool, tasks)
        return False
    if _may_hold(session, search, pools, tasks):
        with _in_reach(session, search, pools, tasks, pick) as best:
            taken = best is not None and _take(session, search, pools, tasks, best)
        if taken or (best is not None and job.spec.topology is not None):
            return taken
    pool.hopeless[asked] = session.ledger.latest
    note_protection(session, search, pool, tasks)
    return False


@contextmanager
def _in_reach(
    session: Session, search: VictimSearch, pools: Pools, tasks: Sequence[Task], pick: Pick
) -> Iterator[Pick | None]:
    """A context in which only nodes may be chosen where a job's tasks may go together, with the pick of nodes there.

    None where no domain that the job's topology asks for can be freed.
    """
    topology = search.job.spec.topology
    if topology is None:
        yield pick
        return
    domain, best = cheapest(session, search, pools, tasks, pick, topology)
    if domain is None:
        yield None
        return
    with session.node_selection.within(domain.rows):
        yield best


def _may_hold(session: Session, search: VictimSearch, pools: Pools, tasks: Sequence[Task]) -> bool:
    """Whether queue and namespace may hold what a job lacks; False only where nobody can be evicted for it, either."""
    missing = max(1, session.plugins.tasks_missing(search.job) - search.job.waiting)
    if gang_refusal(session, search.queue, search.job, tasks, missing) is None:
        return True
    return any(pools.of(search, task) for task in {request_kind(session, task): task for task in tasks}.values())


def _take(session: Session, search: VictimSearch, pools: Pools, tasks: Sequence[Task], pick: Pick) -> bool:
    """Make room on the nodes that may be chosen at present; nothing has changed where that fails."""
    with session.statement() as statement:
        attempt = Attempt(session, search, pools, statement, pick)
        if _make_room(session, attempt, tasks):
            if not statement.evictions and not attempt.is_worth_it:
                attempt.reserve()
                return True
            while attempt.is_sound:
                if not could_be_taken_back(session, pools, search.job, statement):
                    statement.commit()
                    search.job.gained = search.action
                    pools.rely(search.job)
                    return True
                if not attempt.bring_back():
                    break
        attempt.give_up()
    return False


def could_be_taken_back(session: Session, pools: Pools, job: JobView, statement: Statement) -> bool:
    """Whether another waiting job could keep this one from its minimum, where this statement placed tasks of it."""

    def rehearse(search: VictimSearch) -> Rehearsal:
        tries = (_rehearse(session, search, pools, job) for search in search.in_turn())
        return next((found for found in tries if found.has_room), NO_ROOM)

    with session.node_selection.anywhere():
        return could_take_back(session, pools, job, statement, rehearse)


def _rehearse(session: Session, search: VictimSearch, pools: Pools, other: JobView) -> Rehearsal:
    """What would become of a job, and of another one, if it took room where ``take_for`` would. All is rolled back."""
    tasks = unplaced(session, search.job)
    with _in_reach(session, search, pools, tasks, first_that_does) as pick:
        if pick is None:
            return NO_ROOM
        with session.statement() as statement:
            attempt = Attempt(session, search, pools, statement, pick)
            has_room = _make_room(session, attempt, tasks) and attempt.is_sound
            found = Rehearsal(has_room, session.plugins.job_pipelined(other)) if has_room else NO_ROOM
            attempt.give_up()
    return found


def _make_room(session: Session, attempt: Attempt, tasks: Sequence[Task]) -> bool:
    groups, before = attempt.search.job.sub_groups, attempt.mark()
    if groups is None or not (groups.is_tree or any(group.topology is not None for group in groups.groups.values())):
        made = make_room(session, attempt, tasks)
    else:
        made = make_room_in_groups(session, attempt, groups, tasks)
    return in_any_way(session, attempt, tasks, before, made=made)


def _closeness(session: Session, job: JobView) -> Hashable:
    """What of a job's topology affects where it may get room; jobs with pods on nodes share no answers."""
    topology, groups = job.spec.topology, job.spec.sub_groups
    if topology is None and not groups:
        return None
    return topology, groups, job.key if job.job.holding or job.moved else ""


# -- domains ----------------------------------------------------------------------------------------------------------


def cheapest(
    session: Session,
    search: VictimSearch,
    pools: Pools,
    tasks: Sequence[Task],
    pick: Pick,
    topology: NetworkTopology,
) -> tuple[Domain | None, Pick]:
    """The domain where room for the tasks costs least, and how its nodes are picked; None without any.

    Of equal domains it is that of the closest tier. Nodes are picked by ``pick``, or so that each victim makes room for
    as many tasks as possible, where that costs less.
    """
    job = search.job
    missing = session.plugins.tasks_missing(job) - job.waiting
    wanted = WantedRoom(tasks, missing, topology, session.places.pods_by_domain(job, topology))
    roomy: set[tuple[int, str]] = set()

    def cost_by(picking: Pick) -> Cost | None:
        with session.statement() as statement:
            return _cost_here(session, Attempt(session, search, pools, statement, picking), statement, tasks)

    def cost_in(domain: Domain) -> Cost | None:
        with session.node_selection.within(domain.rows):
            cost = cost_by(pick)
            if cost is None or victims_of(cost) < 2:
                return cost  # victims are taken only where there is no room without any
            other = cost_by(roomiest)
            if other is None or other >= cost:
                return cost
            roomy.add((domain.level, domain.name))
            return other

    with session.plugins.rehearsal():
        domain = cheapest_of(domains_to_free(session, search, pools, wanted, search.domains_max), cost_in)
    best = roomiest if domain is not None and (domain.level, domain.name) in roomy else pick
    return domain, best


def _cost_here(session: Session, attempt: Attempt, statement: Statement, tasks: Sequence[Task]) -> Cost | None:
    """What room would cost on the nodes that may be chosen; None where there is none to be had. All is rolled back."""
    made = _make_room(session, attempt, tasks) and attempt.is_sound
    cost = cost_of(session, [entry.task for entry in statement.evictions]) if made else None
    attempt.give_up()
    return cost
