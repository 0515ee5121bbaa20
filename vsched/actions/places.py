"""Places tasks that have to be close to each other: all in one domain, in the closest tier where they fit.

Domains are tried only where sums over their nodes say that the tasks may fit. Each try is rolled back exactly if it
fails. Later tasks of a job join the pods that have a node: they go to the closest domain that holds these pods and has
room.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import chain, islice
from typing import NamedTuple

from vsched.actions.assigning import place_until_ready, search_budget
from vsched.actions.blocked import PendingTasks
from vsched.actions.gang_counts import GangCounts
from vsched.actions.placing import PlacingGoal, goal_of
from vsched.actions.task_kinds import kinds_of, mask_of
from vsched.actions.words import not_in, not_tried
from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.ledger.statement import Statement
from vsched.framework.nodes.why import NodeReasons
from vsched.framework.nominations import lift_nomination
from vsched.framework.places import words
from vsched.framework.places.domains import Domain
from vsched.framework.places.look import TierLook
from vsched.framework.places.places import REASON
from vsched.framework.places.pods_by_domain import PodsByDomain
from vsched.framework.refusal import Refusal
from vsched.framework.session import Session
from vsched.framework.starting import PIPELINED
from vsched.model.pods.status import Status
from vsched.model.queues.queue import Queue
from vsched.model.topology.constraints import NetworkTopology
from vsched.model.topology.tiers import Tier

TRIES_MAX = 8
"""How many domains of one tier are tried for one group of tasks, because sums over them say that it may fit. For tasks
of one kind without rules that depend on other pods the sums are exact, so the first try succeeds. Of further domains,
those are tried where exact counting says the same."""

ABOUT_GROUPS = (Code.TOPOLOGY, Code.GANG_INCOMPLETE)
"""Codes of refusals about one sub-group."""
ABOUT_PLACES = (Code.CLAIM, *ABOUT_GROUPS)
"""Codes of refusals in one domain that another domain may not have."""

Reach = Sequence[tuple[Tier, int | None]]
"""Tiers, closest first, each with the only domain that may be used; None for any."""


class GangPlacement(NamedTuple):
    """Tasks of a job that are placed together: those of the whole job, or of one sub-group."""

    job: JobView
    topology: NetworkTopology
    pods_by_domain: Callable[[], PodsByDomain]
    """Those of its pods that have a node by now."""
    goal: PlacingGoal
    place: Callable[[PendingTasks], object] | None = None
    """Places tasks on nodes that may be chosen, until the goal is met; None for one after the other."""


def gang_of(session: Session, job: JobView, topology: NetworkTopology) -> GangPlacement:
    """A whole job as one gang."""
    return GangPlacement(
        job,
        topology,
        lambda: session.places.pods_by_domain(job, topology),
        goal_of(session, job),
    )


def place_close(session: Session, queue: Queue, job: JobView, pending: PendingTasks, statement: Statement) -> None:
    """Place the tasks that the job lacks in one domain, or none of them; one more task where it is ready already.

    Placed tasks are removed from ``pending``, as is a task of a ready job for which no allowed domain has room.
    """
    topology = job.spec.topology
    assert topology is not None, "the caller has looked"
    gang = gang_of(session, job, topology)
    if not gang.goal.met():
        if gang.goal.missing() <= len(pending):
            place_gang(session, queue, pending, statement, gang)
        return
    failed: dict[Hashable, NodeReasons | Refusal] = {}
    while pending:
        one = deque((pending.popleft(),))
        uid, kind = one[0].uid, (session.node_selection.kind(one[0]), one[0].role)
        if kind in failed and uid not in session.decisions.nominated:
            session.refused.tasks[uid] = failed[kind]
            continue
        place_gang(session, queue, one, statement, gang)
        if not one and statement.placed:
            return
        if (why := session.refused.tasks.get(uid)) is not None:
            failed[kind] = why


def place_gang(
    session: Session, queue: Queue, pending: PendingTasks, statement: Statement, gang: GangPlacement
) -> None:
    """Place the tasks together; where the whole cluster is one of the domains, the reasons are those of nodes.

    The caller rolls back what does not meet the goal.
    """
    if place_together(session, queue, pending, statement, gang) is None and _may_be_anywhere(session, gang):
        _place(session, queue, pending, statement, gang)


def _place(session: Session, queue: Queue, pending: PendingTasks, statement: Statement, gang: GangPlacement) -> None:
    if gang.place is None:
        place_until_ready(session, queue, gang.job, pending, statement, gang.goal)
    else:
        gang.place(pending)


def _may_be_anywhere(session: Session, gang: GangPlacement) -> bool:
    allowed = session.places.allowed(gang.topology)
    return not isinstance(allowed, Refusal) and allowed[-1] is session.places.tiers.tiers[-1]


def place_together(
    session: Session, queue: Queue, pending: PendingTasks, statement: Statement, gang: GangPlacement
) -> Domain | None:
    """Place the tasks in the closest allowed domain with room, until the gang's goal is met; else none of them.

    The domain must hold the gang's pods with a node, too. Returns it; placed tasks are removed from
    ``pending``. Where no domain will do, nothing changes, and the first task gets the refusal. A restriction of the
    choice of nodes stays in force.
    """
    before, job = statement.savepoint(), gang.job
    for task in pending:
        lift_nomination(session, statement, job, task)
    pods_by_domain = gang.pods_by_domain()
    reach = session.places.reach(gang.topology, pods_by_domain)
    if isinstance(reach, Refusal):
        refusal = reach
    else:
        search = PlaceSearch(session, queue, pending, statement, gang, pods_by_domain, reach)
        found = search.run()
        if found is not None or search.refused:
            if found is None:
                statement.rollback(before)
            return found
        refusal = Refusal(REASON, search.words(), code=Code.TOPOLOGY)
    statement.rollback(before)
    session.refused.tasks[pending[0].uid] = refusal
    return None


class PlaceSearch:
    """The search for a domain for one gang's tasks."""

    def __init__(
        self,
        session: Session,
        queue: Queue,
        pending: PendingTasks,
        statement: Statement,
        gang: GangPlacement,
        pods_by_domain: PodsByDomain,
        reach: Reach,
    ) -> None:
        self.session = session
        self.refused = False
        """Whether a rule that is not about nodes refused a task, so that other domains would not help."""
        self._queue = queue
        self._pending = pending
        self._statement = statement
        self._gang = gang
        self._reach = reach
        self._pods_by_domain = pods_by_domain
        self._scores = session.places.near_scores(gang.topology, pods_by_domain)
        self._looks: list[TierLook] = []
        self._done: set[tuple[int, int]] = set()
        """The tried domains by first row and number of rows, which identify them, because domains nest."""
        self._failed: tuple[Domain, str] | None = None
        """The first try that failed, and why."""
        self._group_problem = ""
        """Why a sub-group found no room in the first domain that was tried."""
        self._left_untried = 0

    def run(self) -> Domain | None:
        """The domain where the tasks were placed; None where none will do, with nothing changed."""
        nominated = self._nominated()
        if nominated is not None and self._try(nominated, waits=True):
            return nominated
        soft = not self._gang.topology.hard
        # A soft constraint is no reason to wait for pods to leave where the tasks could start at once elsewhere.
        for waits in (False, True) if soft and self.session.nodes.in_motion else (True,):
            self._looks.clear()
            self._done.clear()
            self._left_untried = 0
            for domain in self._domains():
                if self._try(domain, waits=waits):
                    return domain
                if self.refused:
                    return None
        return None

    def words(self) -> str:
        """Why no domain took the tasks."""
        if self._group_problem:
            return self._group_problem
        tried = ""
        if self._failed is not None:
            domain, why = self._failed
            tried = not_in(words.where(domain, self.session.places.tiers), why)
        if self._left_untried:
            tried += not_tried(self._left_untried)
        return words.no_domain(self._looks, self.session.places.tiers, tried)

    def _domains(self) -> Iterator[Domain]:
        """The domains to try: closest tier first, and within a tier the best first."""
        places, only = self.session.places, self.session.node_selection.restricted_to
        tier, domain = self._reach[0]
        if domain is not None and len(self._pending) == 1 and not places.has_counted(self._pending[0]):
            # One more pod mostly fits where the others are: to try costs less than to count.
            yield places.domain(tier, domain)
        task_set = places.task_set(self._pending, min(len(self._pending), max(1, self._gang.goal.missing())))
        for at, (tier, domain) in enumerate(self._reach):
            look = places.look(task_set, tier, domain, self._pods_by_domain.inside(at))
            self._looks.append(look)
            domains = look.domains(places.grouping(tier), only)
            yield from islice(domains, TRIES_MAX)
            yield from self._counted(domains)

    def _counted(self, domains: Iterator[Domain]) -> Iterator[Domain]:
        """Of further domains, those that by amounts have room for the tasks together, as far as the search may go."""
        first = next(domains, None)
        if first is None:
            return
        session, goal = self.session, self._gang.goal
        kinds = kinds_of(session, list(self._pending), lambda task: task.role)
        budget = search_budget(session)
        steps = budget.steps
        counts = GangCounts(session, kinds, goal, budget, later=session.nodes.in_motion)
        for domain in chain((first,), domains):
            if not budget.take():
                self._left_untried += 1
                continue
            mask = mask_of(session, domain.rows)
            counts.reach = dict.fromkeys(range(len(kinds.firsts)), mask)
            may_be_met = counts.may_be_met()
            budget.steps -= len(self._pending) if may_be_met else 0
            session.node_selection.searched += steps - budget.steps
            if may_be_met:
                yield domain
            budget.steps = steps = min(budget.steps, search_budget(session).steps)

    def _nominated(self) -> Domain | None:
        """The closest domain in reach that holds all nodes that are nominated for these tasks; None without any."""
        session = self.session
        rows = [row for task in self._pending if (row := session.decisions.nominated.get(task.uid)) is not None]
        if not rows:
            return None
        for tier, domain in self._reach:
            found = set(tier.ids[rows].tolist())
            if len(found) == 1 and (number := found.pop()) >= 0 and domain in (None, number):
                return session.places.domain(tier, number)
        return None

    def _try(self, domain: Domain, *, waits: bool) -> bool:
        """Whether the tasks were placed in a domain; if not, nothing has changed but for ``refused``.

        Without ``waits``, placements do not count that wait for other pods to leave.
        """
        nodes = (int(domain.rows[0]), len(domain.rows)) if len(domain.rows) else (-1, 0)
        if nodes in self._done:
            return False
        self._done.add(nodes)
        session, statement, gang = self.session, self._statement, self._gang
        before, refusals = statement.savepoint(), session.refused.of_tasks(self._pending)
        trial = deque(self._pending)
        with self._within(domain):
            _place(session, self._queue, trial, statement, gang)
        steps = session.ledger.log[before:]
        placed = {entry.task.uid for entry in steps}
        waiting = any(entry.status is Status.PIPELINED for entry in steps)
        if placed and (waits or not waiting) and (gang.goal.met() or gang.goal.will_be_met()):
            left = [task for task in self._pending if task.uid not in placed]
            self._pending.clear()
            self._pending.extend(left)
            return True
        statement.rollback(before)
        self._note(domain, placed)
        if not self.refused:
            session.refused.restore(refusals)
        return False

    def _within(self, domain: Domain) -> AbstractContextManager[None]:
        """The restriction to a domain; none where it is the whole cluster and no plugin prefers nodes of it."""
        if self._scores is None and len(domain.rows) == len(self.session.nodes):
            return nullcontext()
        return self.session.node_selection.within(domain.rows, self._scores)

    def _note(self, domain: Domain, placed: set[str]) -> None:
        """Record what stopped the first of the tasks that found no place."""
        whys = (self.session.refused.tasks.get(task.uid) for task in self._pending if task.uid not in placed)
        why = next((one for one in whys if one is not None), None)
        if isinstance(why, Refusal):
            self.refused = why.reason != PIPELINED and why.code not in ABOUT_PLACES
            if why.code in ABOUT_GROUPS:
                self._group_problem = self._group_problem or why.message
        elif why is not None and why.also is not None:
            self.refused = True
        if self._failed is None and self._looks and isinstance(why, NodeReasons):
            self._failed = domain, why.message
