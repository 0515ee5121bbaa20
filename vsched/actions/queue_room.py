"""Whether a queue could hold a task once victims have left, before any node is tried."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from vsched.actions.candidates import CandidatePool
from vsched.actions.victim_search import VictimSearch
from vsched.framework.points.victims import Purpose
from vsched.framework.session import Session
from vsched.model.amounts.resources import Amounts
from vsched.model.pods.task import Task


class Evicts(Protocol):
    """A try to make room, which can evict and undo that."""

    @property
    def session(self) -> Session:
        """The session that it is part of."""

    @property
    def search(self) -> VictimSearch:
        """Whom it may evict."""

    def true_without(self, gone: Sequence[tuple[Task, int]], condition: Callable[[], bool]) -> bool:
        """Whether a condition holds once these victims are evicted; the evictions are undone."""


def queue_could_take(attempt: Evicts, pool: CandidatePool, task: Task, *, anywhere: bool = False) -> bool:
    """Whether the task's queue could hold it if one node's candidates were evicted; checked for each resource.

    For reclaim, candidates of several nodes are tried too: of each queue those on the node where they hold most. With
    ``anywhere``, of each queue those on as many nodes as hold what the task asks for: it takes the place of others, and
    a queue that holds more than it may loses nothing else for it.
    """
    search, allocatable = attempt.search, attempt.session.plugins.allocatable

    def has_room_without(request: Amounts, gone: Sequence[tuple[Task, int]]) -> bool:
        return attempt.true_without(gone, lambda: allocatable(search.queue, request) is None)

    for column, amount in task.shape.request:
        part = ((column, amount),)
        if allocatable(search.queue, part) is None:
            continue
        if column not in pool.freeable:
            return False
        row = int(pool.freeable[column].argmax())
        if has_room_without(part, [(victim, row) for victim in pool.candidates(row)]):
            continue
        if search.purpose is Purpose.PREEMPT and (not anywhere or pool.freeable[column][row] >= amount):
            return False
        if not has_room_without(part, pool.richest(column, amount if anywhere else 0)):
            return False
    return _could_hold_claims(attempt, pool, task)


def _could_hold_claims(attempt: Evicts, pool: CandidatePool, task: Task) -> bool:
    """Whether the task's queue could hold its claims if all candidates with claims were evicted."""
    claim_limit, queue = attempt.session.plugins.claim_limit, attempt.search.queue
    if claim_limit(queue, (task,)) is None:
        return True
    return attempt.true_without(pool.claiming(), lambda: claim_limit(queue, (task,)) is None)
