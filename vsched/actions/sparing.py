"""Removes unnecessary evictions once all tasks of a job have nodes.

Victims are chosen task by task. The victims of a later task may make a victim of an earlier task unnecessary. That
holds within one try, and among the tries by which reclaim lets a job grow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from vsched.actions.victim_search import VictimSearch
from vsched.framework.ledger.ledger import LedgerEntry
from vsched.framework.ledger.statement import Statement
from vsched.framework.session import Session
from vsched.model.pods.status import Status


def spare(session: Session, search: VictimSearch, statement: Statement) -> None:
    """Undo the evictions that the placements of a try do not need; the most valuable victims are checked first."""
    evictions = statement.evictions
    for unit in reversed(list(units(evictions, search.left_whole(evictions)))):
        if all(_has_room_again(session, search, eviction) for eviction in unit):
            _spare(session, search, statement, unit)


def spare_of_tries(session: Session, search: VictimSearch, turn: Statement) -> bool:
    """Undo evictions of committed tries that are not needed after later ones; True where there were some.

    ``turn`` has the steps of all these tries. At least one victim of each job stays evicted: only then its nodes stay
    reserved for it in later cycles.
    """
    evictions, idle_at = turn.evictions, session.nodes.future_idle_at
    victims = Counter(_beneficiary(eviction) for eviction in evictions)
    back: list[LedgerEntry] = []
    given: Counter[tuple[int, int]] = Counter()
    """What the victims that stay take of nodes, by row and column."""
    for unit in reversed(list(units(evictions, search.left_whole(evictions)))):
        beneficiary = _beneficiary(unit[0])
        if victims[beneficiary] <= len(unit) or not all(_has_room_again(session, search, each) for each in unit):
            continue
        taken: Counter[tuple[int, int]] = Counter()
        for eviction in unit:
            for column, amount in eviction.task.shape.request:
                taken[eviction.row, column] += amount
        if all(idle_at(column, row) >= given[row, column] + amount for (row, column), amount in taken.items()):
            back += unit
            given.update(taken)
            victims[beneficiary] -= len(unit)
    return bool(back) and _spare(session, search, turn, back)


def _beneficiary(eviction: LedgerEntry) -> str:
    return "" if eviction.cause is None else eviction.cause.beneficiary


def _spare(session: Session, search: VictimSearch, statement: Statement, unneeded: Sequence[LedgerEntry]) -> bool:
    """Undo these evictions of a statement if its placements are possible without them."""
    steps = statement.steps
    start = statement.savepoint() - len(steps)
    tasks, rows = {eviction.task.uid for eviction in unneeded}, {eviction.row for eviction in unneeded}
    fewer = [step for step in steps if step.task.uid not in tasks]
    checked = sorted(fewer, key=lambda step: step.row not in rows)
    enough = _is_possible(session, search, statement, start, checked)
    statement.rollback(start)
    if any(session.claims.concerns(step.task) for step in fewer):
        # What tasks get depends on the order. Only this one was checked, with the evictions first.
        fewer = sorted(checked, key=lambda step: step.cause is None)
    redo(statement, fewer if enough else steps)
    return enough


def _has_room_again(session: Session, search: VictimSearch, eviction: LedgerEntry) -> bool:
    """Whether the victim would still have room and what it claims on its node, and room in its queue if need be."""
    request = eviction.task.shape.request
    if any(session.nodes.future_idle_at(column, eviction.row) < amount for column, amount in request):
        return False
    claims = session.claims.of(eviction.task.moved(Status.PENDING, ""))
    if claims is not None and not claims.passes(eviction.row, later=True):
        return False  # what it claims is taken by a placement
    return eviction.job.queue != search.job.queue or session.plugins.allocatable(search.queue, request) is None


def _is_possible(
    session: Session, search: VictimSearch, statement: Statement, start: int, steps: Sequence[LedgerEntry]
) -> bool:
    """Whether all placements among these steps are possible after the evictions among them."""
    statement.rollback(start)
    redo(statement, (step for step in steps if step.cause is not None))
    for step in steps:
        if step.cause is not None:
            continue
        if session.plugins.grantable(search.queue, step.task) is not None:
            return False
        if not session.node_selection.fits_at(step.task, step.row):
            return False
        redo(statement, (step,))
    return True


def redo(statement: Statement, steps: Iterable[LedgerEntry]) -> None:
    """Take steps again that were undone."""
    for step in steps:
        if step.cause is None:
            statement.pipeline(step.job, step.task, step.row)
        else:
            statement.evict(step.job, step.task, step.row, step.cause)


def units(evictions: Sequence[LedgerEntry], together: Iterable[str]) -> Iterator[list[LedgerEntry]]:
    """The evictions in order, those of the jobs ``together`` as one unit each, at the place of its last eviction."""
    keys, by_job = frozenset(together), dict[str, list[LedgerEntry]]()
    for eviction in evictions:
        if eviction.job.key in keys:
            by_job.setdefault(eviction.job.key, []).append(eviction)
    for eviction in evictions:
        unit = by_job.get(eviction.job.key)
        if unit is None:
            yield [eviction]
        elif eviction is unit[-1]:
            yield unit
