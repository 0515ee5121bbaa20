"""The action consolidate: moves running pods to other nodes, so that a starving job has room where they were.

Nothing is taken from anybody: each pod that is evicted has a node now that has room for its successor, beside all
others, and its queue may hold it. So neither priority nor queue decides who is moved, but the number of moves and what
they cost. If no moves let the job start, none is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Annotated

import msgspec
import numpy as np

from vsched.actions.blocked import gang_refusal, may_start
from vsched.actions.consolidation.defragment import best_move
from vsched.actions.consolidation.movers import Movers
from vsched.actions.consolidation.options import MoveOptions
from vsched.actions.consolidation.search import LOOKS_OF_A_STEP, MoveSearch
from vsched.actions.consolidation.trial import Moves, MoveTrial, carry_out, move_off
from vsched.actions.ordering import OrderingArgs, QueueOrdering
from vsched.actions.pending import workable
from vsched.actions.pools import Pools
from vsched.actions.takers import Takers
from vsched.actions.taking import could_be_taken_back
from vsched.actions.task_kinds import TaskKinds, kinds_of
from vsched.actions.victim_search import unplaced
from vsched.framework.jobs import JobView
from vsched.framework.ledger.statement import Statement
from vsched.framework.places.domains import Domain
from vsched.framework.points.victims import Purpose
from vsched.framework.policy import Seconds
from vsched.framework.refusal import Refusal
from vsched.framework.session import Session
from vsched.model.amounts.resources import Vector, add
from vsched.model.plan import CONSOLIDATE
from vsched.model.pods.task import Task

SEARCHES_MAX = 10
"""In one session, as many steps as so many jobs may take are taken in all."""
STEPS_LEAST = 30
"""A search costs about as much as so many steps, whatever comes of it."""
DOMAINS_MAX = 8
"""How many domains are searched for a job that has to be in one."""
Steps = Annotated[int, msgspec.Meta(ge=0, le=100_000)]


class ConsolidateArgs(OrderingArgs, frozen=True, forbid_unknown_fields=True):
    """Arguments of consolidate."""

    min_running: Seconds = msgspec.field(default=600.0, name="minRunningTime")
    """How long a pod runs before it may be moved. The successor of one that was moved runs as long again."""
    search_steps: Steps = msgspec.field(default=300, name="moveSearchSteps")
    """How many evictions and placements are tried for a job; 0 for none."""
    moves_per_hour: Annotated[int, msgspec.Meta(ge=0, le=3600)] = msgspec.field(
        default=0, name="defragment.movesPerHour"
    )
    """How many pods are moved in an hour although nobody waits for their room; 0 for none."""

    def needed_plugins(self) -> Mapping[str, str]:
        """The plugins without which arguments have no effect, by argument."""
        return {"defragment.movesPerHour": "fragmentation"} if self.moves_per_hour else {}


def consolidate(session: Session) -> None:
    """Move pods for starving jobs, in turn."""
    args = session.args(CONSOLIDATE, ConsolidateArgs)
    ordering, pools = QueueOrdering(session.plugins, args), Pools(session, CONSOLIDATE)
    consolidation = Consolidation(session, args, pools)
    takers = Takers(session, Purpose.PREEMPT, consolidation.may_be_helped)

    def move(job: JobView) -> None:
        with session.reservations.lifted(job):
            found = consolidation.moves_for(job)
            if found is not None:
                carry_out(session, job, found)

    for wave in ordering.waves(takers):
        for segments in ordering.queue_by_queue(wave, session.snapshot.queues):
            takers.give_turns(segments, move)
    takers.end()
    pools.release()
    if args.moves_per_hour and not session.decisions.moving:
        consolidation.defragment(args.moves_per_hour)


class Consolidation:
    """The search for moves in one session."""

    def __init__(self, session: Session, args: ConsolidateArgs, pools: Pools) -> None:
        self._session, self._pools = session, pools
        self._movers = Movers(session, args.min_running)
        self._steps = args.search_steps
        self._steps_left = SEARCHES_MAX * args.search_steps

    def may_be_helped(self, job: JobView) -> bool:
        """Whether a job starves, and may be worked on."""
        return self._starves(job) and workable(self._session, job)

    def _starves(self, job: JobView) -> bool:
        """Whether a job lacks its minimum, whatever else plugins call starving."""
        return self._session.plugins.job_starving(job) and not job.has_minima

    def moves_for(self, job: JobView) -> Moves | None:
        """The fewest and cheapest moves by which a job gets its minimum; None where there are none, or none needed."""
        session, queue = self._session, self._session.queue(job)
        if not may_start(session, job) or not self._starves(job) or session.plugins.overused(queue):
            return None
        tasks = [task for task in unplaced(session, job) if not task.best_effort]
        missing = max(1, session.plugins.tasks_missing(job) - job.waiting)
        if len(tasks) < missing or gang_refusal(session, queue, job, tasks, missing) is not None:
            return None
        if self._steps_left <= 0 or not self._is_enough_in_all(tasks, missing):
            return None
        kinds = kinds_of(session, tasks, lambda task: task.role)
        if not kinds.firsts or self._trial(job, kinds).find(()) is not None or not self._movers.by_row:
            return None
        found: Moves | None = None
        for place in self._places(job, tasks):
            with place:
                other = self._search(job, kinds)
            if other is not None and (found is None or other.cost < found.cost):
                found = other
        return found

    def defragment(self, moves_per_hour: int) -> None:
        """Move one pod, if one is due and it is worth it although nobody waits for its room."""
        found = best_move(self._session, self._movers, moves_per_hour, self._steps)
        if found is not None:
            move_off(self._session, found, "")

    def _search(self, job: JobView, kinds: TaskKinds) -> Moves | None:
        trial = self._trial(job, kinds)
        before = trial.steps
        options = MoveOptions(self._session, job, kinds, self._movers, before * LOOKS_OF_A_STEP)
        found = MoveSearch(self._session, job, kinds, options, trial).run()
        self._steps_left -= max(before - trial.steps, STEPS_LEAST)
        return found

    def _trial(self, job: JobView, kinds: TaskKinds) -> MoveTrial:
        def is_kept(statement: Statement) -> bool:
            return not could_be_taken_back(self._session, self._pools, job, statement)

        steps = min(self._steps, self._steps_left)
        return MoveTrial(self._session, job, kinds, self._movers, steps, is_kept)

    def _is_enough_in_all(self, tasks: Sequence[Task], missing: int) -> bool:
        """Whether the nodes have enough for the job all together: moves add nothing to that."""
        least: Vector = {}
        for column in {column for task in tasks for column, _ in task.shape.request}:
            asked = sorted(dict(task.shape.request).get(column, 0) for task in tasks)
            add(least, ((column, sum(asked[:missing])),))
        free = (
            (np.maximum(self._session.nodes.future_idle(column), 0).sum(), amount) for column, amount in least.items()
        )
        return all(has >= amount for has, amount in free)

    def _places(self, job: JobView, tasks: Sequence[Task]) -> Iterator[AbstractContextManager[None]]:
        """The nodes to search, as contexts: all of them; for a job that has to be in one domain, each that it may use.

        Those domains first that have most room for it.
        """
        session, topology = self._session, job.spec.topology
        if topology is None or not topology.hard:
            yield nullcontext()
            return
        reach = session.places.reach(topology, session.places.pods_by_domain(job, topology))
        if isinstance(reach, Refusal):
            return
        tier, only = reach[-1]  # closer domains are in these
        domains = [only] if only is not None else range(len(tier.domains))
        found = [session.places.domain(tier, number) for number in domains]
        firsts = {session.node_selection.kind(task): task for task in reversed(tasks)}.values()
        rooms = np.sum([session.node_selection.rooms(task) for task in firsts], axis=0)

        def has(domain: Domain) -> int:
            return -int(np.sum(rooms[domain.rows]))

        for domain in sorted(found, key=lambda one: (has(one), one.name))[:DOMAINS_MAX]:
            yield session.node_selection.within(domain.rows)
