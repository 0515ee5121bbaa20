"""Places tasks that have to be close to each other: all in one domain, in the closest tier where they fit.

Domains are tried only where sums over their nodes say that the tasks may fit. Each try is rolled back exactly if it
fails. Later tasks of a job join the pods that have a node: they go to the closest domain that holds these pods and has
room.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

from vsched.actions.assigning import place_until_ready
from vsched.actions.held import Worksheet
from vsched.actions.placing import PlacingGoal, goal_of
from vsched.framework.codes import Code
from vsched.framework.holding import lift
from vsched.framework.jobs import JobView
from vsched.framework.ledger.statement import Statement
from vsched.framework.nodes.selection import Choice
from vsched.framework.nodes.why import NodeReasons
from vsched.framework.places import words
from vsched.framework.places.domains import Domain
from vsched.framework.places.footing import Footing
from vsched.framework.places.look import TierLook
from vsched.framework.places.places import REASON
from vsched.framework.refusal import Refusal
from vsched.framework.session import Session
from vsched.framework.starting import PIPELINED
from vsched.framework.subgroups import Part
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue
from vsched.model.topology.constraints import NetworkTopology
from vsched.model.topology.tiers import Tier

TRIES_MAX = 8
"""How many domains of one tier are tried for one group of tasks. The sums are exact where tasks are alike and no rule
depends on other pods, so the first try succeeds then."""

ABOUT_PARTS = (Code.TOPOLOGY, Code.GANG_INCOMPLETE)
"""Codes of refusals of one sub-group."""
ABOUT_PLACES = (Code.CLAIM, *ABOUT_PARTS)
"""Codes of refusals in one domain that another domain may not have."""

Reach = Sequence[tuple[Tier, int | None]]
"""Tiers, closest first, each with the only domain that may be used; None for any."""


class GangPlacement(NamedTuple):
    """Tasks of a job that are placed together: the whole job, or a part of it."""

    job: JobView
    topology: NetworkTopology
    footing: Callable[[], Footing]
    """Where those of its pods stand that have a node, as of now."""
    goal: PlacingGoal
    place: Callable[[Worksheet], object] | None = None
    """Places tasks of a sheet on nodes that may be chosen, until the goal is met; None for one after the other."""


def gang_of(session: Session, job: JobView, topology: NetworkTopology) -> GangPlacement:
    """A whole job as one gang."""
    return GangPlacement(
        job,
        topology,
        lambda: session.places.footing(job, topology),
        goal_of(session, job),
    )


def place_close(session: Session, queue: Queue, job: JobView, sheet: Worksheet, statement: Statement) -> None:
    """Place the tasks that the job lacks in one domain, or none of them; one more task where it is ready already.

    What is placed leaves the sheet, and so does a task of a ready job for which no allowed domain has room.
    """
    topology = job.spec.topology
    assert topology is not None, "the caller has looked"
    gang = gang_of(session, job, topology)
    if not gang.goal.met():
        if gang.goal.missing() <= len(sheet):
            place_gang(session, queue, sheet, statement, gang)
        return
    failed: dict[Hashable, NodeReasons | Refusal] = {}
    while sheet:
        one = deque((sheet.popleft(),))
        uid, kind = one[0].uid, (session.node_selection.kind(one[0]), one[0].role)
        if kind in failed and uid not in session.decisions.nominated:
            session.refused.tasks[uid] = failed[kind]
            continue
        place_gang(session, queue, one, statement, gang)
        if not one and statement.placed:
            return
        if (why := session.refused.tasks.get(uid)) is not None:
            failed[kind] = why


def place_gang(session: Session, queue: Queue, sheet: Worksheet, statement: Statement, gang: GangPlacement) -> None:
    """Place the tasks of a sheet together; where the whole cluster is one of the domains, nodes say why not.

    The caller rolls back what does not meet the goal.
    """
    if place_together(session, queue, sheet, statement, gang) is None and _may_be_anywhere(session, gang):
        _place(session, queue, sheet, statement, gang)


def _place(session: Session, queue: Queue, sheet: Worksheet, statement: Statement, gang: GangPlacement) -> None:
    if gang.place is None:
        place_until_ready(session, queue, gang.job, sheet, statement, gang.goal)
    else:
        gang.place(sheet)


def _may_be_anywhere(session: Session, gang: GangPlacement) -> bool:
    allowed = session.places.allowed(gang.topology)
    return not isinstance(allowed, Refusal) and allowed[-1] is session.places.tiers.tiers[-1]


def place_together(
    session: Session, queue: Queue, sheet: Worksheet, statement: Statement, gang: GangPlacement
) -> Domain | None:
    """Place the tasks of a sheet in the closest allowed domain with room, until the gang's goal is met; else none.

    The domain must hold the gang's pods with a node, too. Returns it; tasks with a place then leave the sheet. Where no
    domain will do, nothing changes, and the first task says why. A restriction of the choice of nodes stays in force.
    """
    before, job = statement.savepoint(), gang.job
    for task in sheet:
        lift(session, statement, job, task)
    footing = gang.footing()
    reach = session.places.reach(gang.topology, footing)
    if isinstance(reach, Refusal):
        refusal = reach
    else:
        search = PlaceSearch(session, queue, sheet, statement, gang, footing, reach)
        found = search.run()
        if found is not None or search.refused:
            if found is None:
                statement.rollback(before)
            return found
        refusal = Refusal(REASON, search.words(), code=Code.TOPOLOGY)
    statement.rollback(before)
    session.refused.tasks[sheet[0].uid] = refusal
    return None


class PlaceSearch:
    """The tries to place one sheet."""

    def __init__(
        self,
        session: Session,
        queue: Queue,
        sheet: Worksheet,
        statement: Statement,
        gang: GangPlacement,
        footing: Footing,
        reach: Reach,
    ) -> None:
        self.session = session
        self.refused = False
        """Whether a rule that is not about nodes refused a task, so that other domains would not help."""
        self._queue = queue
        self._sheet = sheet
        self._statement = statement
        self._gang = gang
        self._reach = reach
        self._footing = footing
        self._scores = session.places.near_scores(gang.topology, footing)
        self._looks: list[TierLook] = []
        self._done: set[tuple[int, int]] = set()
        """What was tried: first row and number of rows. Domains nest, so these two tell their sets of nodes apart."""
        self._failed: tuple[Domain, str] | None = None
        """The first try that failed, and why."""
        self._part = ""
        """Why a sub-group found no place in the first domain that was tried."""
        self._left_untried = 0

    def run(self) -> Domain | None:
        """The domain where the tasks were placed; None where none will do, with nothing changed."""
        held = self._held()
        if held is not None and self._try(held, waits=True):
            return held
        soft = not self._gang.topology.hard
        # A wish is no reason to wait for pods to leave where the tasks could start at once elsewhere.
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
        if self._part:
            return self._part
        tried = ""
        if self._failed is not None:
            domain, why = self._failed
            tried = f"; not in {words.where(domain, self.session.places.tiers)}: {why}"
        if self._left_untried:
            tried += f"; {self._left_untried} more with room were not tried"
        return words.no_domain(self._looks, self.session.places.tiers, tried)

    def _domains(self) -> Iterator[Domain]:
        """The domains to try: closest tier first, and within a tier the best first."""
        places, only = self.session.places, self.session.node_selection.restricted_to
        tier, domain = self._reach[0]
        if domain is not None and len(self._sheet) == 1 and not places.has_counted(self._sheet[0]):
            # One more pod mostly fits where the others are: to try costs less than to count.
            yield places.domain(tier, domain)
        task_set = places.task_set(self._sheet, min(len(self._sheet), max(1, self._gang.goal.missing())))
        for at, (tier, domain) in enumerate(self._reach):
            look = places.look(task_set, tier, domain, self._footing.inside(at))
            self._looks.append(look)
            self._left_untried += max(0, len(look.ordered) - TRIES_MAX)
            yield from look.domains(places.grouping(tier), only, TRIES_MAX)

    def _held(self) -> Domain | None:
        """The closest domain in reach that holds all nodes that are nominated for these tasks; None without any."""
        session = self.session
        rows = [row for task in self._sheet if (row := session.decisions.nominated.get(task.uid)) is not None]
        if not rows:
            return None
        for tier, domain in self._reach:
            found = set(tier.ids[rows].tolist())
            if len(found) == 1 and (number := found.pop()) >= 0 and domain in (None, number):
                return session.places.domain(tier, number)
        return None

    def _try(self, domain: Domain, *, waits: bool) -> bool:
        """Whether the tasks were placed in a domain; if not, nothing has changed, except for what ``refused`` tells.

        Without ``waits``, placements do not count that wait for other pods to leave.
        """
        nodes = (int(domain.rows[0]), len(domain.rows)) if len(domain.rows) else (-1, 0)
        if nodes in self._done:
            return False
        self._done.add(nodes)
        session, statement, gang = self.session, self._statement, self._gang
        before, told = statement.savepoint(), session.refused.of_tasks(self._sheet)
        trial = deque(self._sheet)
        with self._within(domain):
            _place(session, self._queue, trial, statement, gang)
        steps = session.ledger.log[before:]
        placed = {entry.task.uid for entry in steps}
        waiting = any(entry.status is Status.PIPELINED for entry in steps)
        if placed and (waits or not waiting) and (gang.goal.met() or gang.goal.will_be_met()):
            left = [task for task in self._sheet if task.uid not in placed]
            self._sheet.clear()
            self._sheet.extend(left)
            return True
        statement.rollback(before)
        self._note(domain, placed)
        if not self.refused:
            session.refused.restore(told)
        return False

    def _within(self, domain: Domain) -> AbstractContextManager[None]:
        """The restriction to a domain; none where it is the whole cluster and no plugin prefers nodes of it."""
        if self._scores is None and len(domain.rows) == len(self.session.nodes):
            return nullcontext()
        return self.session.node_selection.within(domain.rows, self._scores)

    def _note(self, domain: Domain, placed: set[str]) -> None:
        """Record what stopped the first of the tasks that found no place."""
        whys = (self.session.refused.tasks.get(task.uid) for task in self._sheet if task.uid not in placed)
        why = next((one for one in whys if one is not None), None)
        if isinstance(why, Refusal):
            self.refused = why.reason != PIPELINED and why.code not in ABOUT_PLACES
            if why.code in ABOUT_PARTS:
                self._part = self._part or why.message
        elif why is not None and why.also is not None:
            self.refused = True
        if self._failed is None and self._looks and isinstance(why, NodeReasons):
            self._failed = domain, why.message


def choose_close(
    session: Session, job: JobView, tasks: Sequence[Task], pick: Callable[[], Choice | None]
) -> Choice | Refusal | None:
    """What ``pick`` chooses for the first of these tasks, where it may be; None where it finds no node at all.

    Of a job or sub-group without pods on nodes, the domain should have room for all of its tasks. A refusal where
    closeness is asked for and no allowed domain will do.
    """
    groups = job.sub_groups
    parts: tuple[Part, ...] = ()
    if groups is not None:
        group = groups.of(tasks[0])
        parts = (*groups.path(group), group)

    def choose(tasks: Sequence[Task], inner: tuple[Part, ...]) -> Choice | Refusal | None:
        """What is chosen inside the domains of these parts, the outermost first."""
        if groups is None or not inner:
            return pick()
        part, *more = inner
        if part.topology is None:
            return choose(tasks, tuple(more))
        own = [task for task in tasks if part is groups.of(task) or part in groups.path(groups.of(task))]
        footing = session.places.footing(job, part.topology, part)
        return _choose_in(session, part.topology, footing, own, lambda: choose(own, tuple(more)))

    topology = job.spec.topology
    if topology is None:
        return choose(tasks, parts)
    return _choose_in(session, topology, session.places.footing(job, topology), tasks, lambda: choose(tasks, parts))


def _choose_in(
    session: Session,
    topology: NetworkTopology,
    footing: Footing,
    tasks: Sequence[Task],
    pick: Callable[[], Choice | Refusal | None],
) -> Choice | Refusal | None:
    places, selection = session.places, session.node_selection
    reach = places.reach(topology, footing)
    if isinstance(reach, Refusal):
        return reach
    looks: list[TierLook] = []
    for wanted in dict.fromkeys((len(tasks), 1)):
        task_set = places.task_set(tasks, wanted)
        looks.clear()
        for at, (tier, domain) in enumerate(reach):
            looks.append(places.look(task_set, tier, domain, footing.inside(at)))
            for one in looks[-1].domains(places.grouping(tier), selection.restricted_to, TRIES_MAX):
                with selection.within(one.rows, places.near_scores(topology, footing)):
                    choice = pick()
                if isinstance(choice, Choice):
                    return choice
    if reach[-1][0] is places.tiers.tiers[-1]:
        return None
    return Refusal(REASON, words.no_domain(looks, places.tiers, ""), code=Code.TOPOLOGY)
