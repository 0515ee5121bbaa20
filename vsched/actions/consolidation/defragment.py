"""Moves a pod now and then although nobody waits for its room, so that what is free stays usable.

What a move is worth is for plugins to say (``MoveGain``). A pod is moved only if it is worth something where the policy
would place its successor now.
"""

from __future__ import annotations

from collections.abc import Iterator

from vsched.actions.close_choice import choose_close
from vsched.actions.consolidation.movers import Mover, Movers, successor_of
from vsched.actions.consolidation.trial import Move
from vsched.actions.shuffle import may_have_again
from vsched.framework.ledger.ledger import NO_CAUSE
from vsched.framework.nodes.selection import Choice
from vsched.framework.session import Session

HOUR_SECONDS = 3600.0
GAIN_MIN = 10.0
"""A move has to be worth more than this: one per cent of a device."""


def best_move(session: Session, movers: Movers, moves_per_hour: int, steps: int) -> tuple[Move, ...] | None:
    """The move that is worth most, of equal ones the cheapest; None where none is due, or worth it.

    An hour has so many parts, counted from the epoch, and one pod may be moved in the first session of each. So no
    more are moved than that, whatever daemons come and go, and nothing has to be remembered.
    """
    now, previous, part = session.snapshot.now, session.snapshot.previous, HOUR_SECONDS / moves_per_hour
    rules = session.plugins.victim_rules
    if not session.plugins.knows_move_gains:
        return None
    rules.due = min(rules.due, (now // part + 1) * part)
    if not previous or now // part == previous // part:
        return None
    best: tuple[float, Mover, int] | None = None
    for mover in _candidates(session, movers, int(now // part), steps):
        to = _next_place(session, mover)
        gain = 0.0 if to is None else session.plugins.move_gain(mover.tasks[0][0], mover.tasks[0][1], to)
        if to is None or gain <= GAIN_MIN or not movers.may_leave([mover]):
            continue
        if best is None or (-gain, mover.cost, mover.uid) < (-best[0], best[1].cost, best[1].uid):
            best = gain, mover, to
    if best is None:
        return None
    _, mover, to = best
    task, row = mover.tasks[0]
    return (Move(mover.job, task, row, to),)


def _candidates(session: Session, movers: Movers, turn: int, most: int) -> Iterator[Mover]:
    """Pods that may be moved by themselves, one of each kind on a node; other nodes come first in each turn."""
    rows = sorted(movers.by_row)
    begin = turn % len(rows) if rows else 0
    for row in rows[begin:] + rows[:begin]:
        seen = set[object]()
        for mover in movers.any_at(row):
            task = mover.tasks[0][0]
            kind = session.node_selection.kind(task), mover.job.queue
            if mover.job.spec.leaves_whole or kind in seen:
                continue
            if most <= 0:
                return
            most -= 1
            seen.add(kind)
            yield mover


def _next_place(session: Session, mover: Mover) -> int | None:
    """The node with room now where the policy would place a pod's successor; None where it would not place it."""
    task, row = mover.tasks[0]
    job, selection, successor = mover.job, session.node_selection, successor_of(task)
    queue = session.queue(job)
    with session.statement() as trial:
        trial.evict(job, task, row, NO_CAUSE)
        if not task.best_effort and not may_have_again(session, queue, successor):
            return None
        choice = choose_close(session, job, (successor,), lambda: selection.choose(successor, besides=row))
    return choice.row if isinstance(choice, Choice) and not choice.waits else None
