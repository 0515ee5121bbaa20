"""Places tasks of one job until enough have a node: one after the other, else in any way that there is.

Tasks that are placed one after the other may take room that only others can use. So where a gang found no room like
that, its tasks are tried on all nodes, those with the best scores first, and are taken back where the others cannot fit
any more (``gang_assignment``).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from vsched.actions.blocked import PendingTasks
from vsched.actions.gang_assignment import GangAssignment
from vsched.actions.gang_counts import CELLS_OF_A_STEP, SearchBudget
from vsched.actions.gang_memory import search_once
from vsched.actions.placing import PlacingArgs, PlacingGoal, goal_of, place_in_order
from vsched.actions.task_kinds import KindsInDomain, TaskKinds, kinds_of
from vsched.framework.jobs import JobView
from vsched.framework.ledger.ledger import LedgerEntry
from vsched.framework.ledger.statement import Statement
from vsched.framework.nodes.why import NodeReasons
from vsched.framework.nominations import lift_nomination
from vsched.framework.session import Session
from vsched.model.pods.status import Status
from vsched.model.queues.queue import Queue

SEARCHES_MAX = 10
"""In one session, as many steps as so many gangs may take are taken in all: sessions stay short whatever waits."""


class AllocateArgs(PlacingArgs, frozen=True, forbid_unknown_fields=True):
    """Arguments of allocate."""

    gang_search_steps: int = msgspec.field(default=300, name="gangSearchSteps")
    """How many placements are tried, in each session, for a gang that found no room task by task; 0 for none."""


def place_until_ready(
    session: Session,
    queue: Queue,
    job: JobView,
    pending: PendingTasks,
    statement: Statement,
    goal: PlacingGoal | None = None,
) -> None:
    """Place tasks until the job is ready, or until failed tasks make that impossible.

    A ``goal`` stands in place of the whole job's.
    """
    goal = goal_of(session, job) if goal is None else goal
    is_gang = len(pending) > 1 and (goal.missing() > 1 or goal.parts_missing(False))
    tasks = tuple(pending) if is_gang else ()
    before = statement.savepoint()
    place_in_order(session, queue, job, pending, statement, goal)
    if tasks and not goal.met():
        kinds = kinds_of(session, tasks, lambda task: task.role)
        place_in_any_way(session, queue, job, kinds, pending, statement, before, goal)


def place_in_any_way(
    session: Session,
    queue: Queue,
    job: JobView,
    kinds: TaskKinds,
    pending: PendingTasks,
    statement: Statement,
    before: int,
    goal: PlacingGoal,
    domains: Sequence[KindsInDomain] = (),
) -> None:
    """Place tasks in any way that meets the goal, in place of the steps since a savepoint.

    Where there is none, these steps are taken again.
    """
    if not search_budget(session).cells or (len(kinds.firsts) < 2 and kinds.are_plain and not domains):
        return  # whatever the way, each node takes as many
    selection = session.node_selection
    in_order, waits, cut = session.ledger.log[before:], goal.will_be_met(), False
    statement.rollback(before)
    for later in (False, True) if session.nodes.in_motion and not waits else (False,):
        budget = search_budget(session)
        steps = budget.steps
        search = GangAssignment(session, queue, job, kinds, statement, goal, budget, later=later)
        found = search_once(search, domains)
        selection.searched += steps - budget.steps
        if found:
            placed = {entry.task.uid for entry in session.ledger.log[before:]}
            pending.clear()
            pending.extend(task for task in kinds.all if task.uid not in placed)
            return
        cut = cut or budget.cut
    place_again(session, statement, in_order)
    if cut:
        whys = ((task.uid, session.refused.tasks.get(task.uid)) for task in kinds.all)
        session.refused.tasks.update({uid: why._replace(cut=True) for uid, why in whys if isinstance(why, NodeReasons)})


def search_budget(session: Session) -> SearchBudget:
    """What one search may cost at present: no more than that of one gang, and of ten in a session."""
    most = session.args("allocate", AllocateArgs).gang_search_steps
    steps = max(0, min(most, SEARCHES_MAX * most - session.node_selection.searched))
    return SearchBudget(steps, most * CELLS_OF_A_STEP)


def place_again(session: Session, statement: Statement, steps: Sequence[LedgerEntry]) -> None:
    """Take these steps again, which were undone."""
    for job, task, row, before, status, _ in steps:
        if before is Status.PIPELINED:
            lift_nomination(session, statement, job, task)
        elif status is Status.ALLOCATED:
            statement.allocate(job, task, row)
        else:
            statement.pipeline(job, task, row)
