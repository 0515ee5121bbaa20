"""Finds running pods that could make room for a pending one but are protected, and says what protects them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import inf, isinf

from vsched.actions.pricing import would_do
from vsched.actions.victim_search import RECLAIM, PreemptSearch, ReclaimSearch, VictimSearch
from vsched.explain.records import Constraint
from vsched.explain.why import words
from vsched.framework.codes import Code
from vsched.framework.combine.protection import objections, said_alone
from vsched.framework.jobs import JobView
from vsched.framework.points.victims import Purpose
from vsched.framework.session import Session
from vsched.framework.times import at_and_in
from vsched.framework.words.lists import counted
from vsched.model.amounts.resources import PODS
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue

ROWS_MAX = 64
"""At most this many nodes are examined, in the order of the node table."""


def protected(session: Session, view: JobView, task: Task) -> Iterator[Constraint]:
    """What protects the victims that could make room for a pending task, by action; empty without such victims."""
    if task.best_effort or view.queue not in session.snapshot.queues:
        return
    growing = session.plugins.knows_starving and session.plugins.job_pipelined(view)
    searches: tuple[VictimSearch, ...] = (PreemptSearch(session, view), ReclaimSearch(session, view, growing=growing))
    for search in searches:
        action = search.action
        if not search.has_claim:
            continue
        rows = _victims(session, search, task)
        if action == RECLAIM and action in session.policy.actions:
            yield from _not_reclaimable(session, view, task)
        if not rows:
            continue
        if action not in session.policy.actions:
            if action == RECLAIM and _under_share(session, view):
                yield Constraint(Code.PROTECTED, words.NO_RECLAIM)
        elif (begin := session.plugins.victim_rules.may_evict_from(view)) > session.snapshot.now:
            why = session.plugins.victim_rules.why_not_yet(view)
            yield Constraint(Code.PROTECTED, words.may_evict_later(why, at_and_in(begin, session.snapshot.now)))
        elif not search.may_take(task):
            yield Constraint(Code.PROTECTED, _may_not(view, task))
        else:
            yield from _objecting(session, search, task, rows)


def _not_reclaimable(session: Session, view: JobView, task: Task) -> Iterator[Constraint]:
    """Queues that hold more than they deserve of what the task asks for, and from which nothing is reclaimed."""
    if not _under_share(session, view):
        return
    found = [
        queue.name
        for queue in session.snapshot.queues.values()
        if not queue.reclaimable and queue.name != view.queue and _is_over(session, queue, task)
    ]
    if found:
        yield Constraint(Code.PROTECTED, words.not_reclaimable(sorted(found)), subject=min(found))


def _is_over(session: Session, queue: Queue, task: Task) -> bool:
    division, held = session.plugins.division(queue), session.usage.queue(queue.name)
    return division is not None and any(
        held.get(column, 0) > division.deserved.get(column, 0) for column, _ in task.shape.request if column != PODS
    )


def _victims(session: Session, search: VictimSearch, task: Task) -> dict[int, list[Task]]:
    """Possible victims by row of node, for feasible nodes on which all of them together would make room."""
    open_rows = [check.passes for check in session.node_selection.static_checks(task)]
    rows: dict[int, list[Task]] = {}
    for job in search.holders():
        for victim in job.tasks.values():
            row = session.nodes.statics.row.get(victim.node)
            if row is not None and victim.status in (Status.RUNNING, Status.BOUND) and search.takes(task, victim):
                rows.setdefault(row, []).append(victim)
    found: dict[int, list[Task]] = {}
    for row in sorted(rows):
        if len(found) == ROWS_MAX:
            break
        if all(passes[row] for passes in open_rows) and would_do(session, task, row, rows[row]):
            found[row] = rows[row]
    return found


def _objecting(session: Session, search: VictimSearch, task: Task, rows: dict[int, list[Task]]) -> Iterator[Constraint]:
    """What protects the victims, with the number of nodes for each reason; empty if one node has no single cause."""
    said: Counter[str] = Counter()
    waiting = EarlyVictims(session, search.purpose)
    for row, victims in rows.items():
        allowed = [victim for victim in victims if victim.preemptable]
        if not would_do(session, task, row, allowed):
            spared = [victim for victim in victims if victim.preemptable or victim.spared]
            said[words.REFUSED if would_do(session, task, row, spared) else words.NOT_PREEMPTABLE] += 1
            continue
        free = waiting.without(allowed)
        if len(free) < len(allowed) and not would_do(session, task, row, free):
            said[waiting.note(allowed, partial(would_do, session, task, row))] += 1
            continue
        may_go = search.let_go(free)
        if len(may_go) < len(free) and not would_do(session, task, row, may_go):
            said[words.KEPT] += 1
            continue
        found = objections(
            session.plugins,
            task,
            may_go,
            lambda agreed, row=row: would_do(session, task, row, agreed),  # type: ignore[misc]  # bound per node
            search.purpose,
        )
        if not found:
            return
        if (alone := said_alone(found)) is not None:
            yield Constraint(alone.code, alone.message, subject=alone.subject)
            return
        said.update(dict.fromkeys((one.because for one in found), 1))
    where = "other queues" if search.purpose is Purpose.RECLAIM else words.OTHERS_OF_QUEUE
    # Of several reasons it is told on how many nodes each holds.
    reasons = "; ".join(
        f"{why}{waiting.until(why)}" + (f" ({counted(count, 'node', 'nodes')})" if len(said) > 1 else "")
        for why, count in said.most_common()
    )
    yield Constraint(Code.PROTECTED, words.protected(where, len(rows), reasons))


class EarlyVictims:
    """Victims that may not be evicted yet, and when the first node has enough that may be."""

    def __init__(self, session: Session, purpose: Purpose) -> None:
        self._rules = session.plugins.victim_rules
        self._purpose = purpose
        self._now = session.snapshot.now
        self._enough_at: dict[str, float] = {}
        """By reason: when enough victims of one node may be evicted."""

    def without(self, victims: Sequence[Task]) -> Sequence[Task]:
        """The victims that may be evicted now."""
        protected = self._rules.protected(self._purpose)
        return victims if protected is None else [victim for victim in victims if not protected(victim)]

    def note(self, victims: Sequence[Task], enough: Callable[[Sequence[Task]], bool]) -> str:
        """Note when enough of a node's victims may be evicted; returns why they may not be evicted now."""
        until = {victim.uid: self._rules.protected_until(victim, self._purpose) for victim in victims}
        ends = sorted(victims, key=lambda victim: until[victim.uid])
        last = next(number for number in range(1, len(ends) + 1) if enough(ends[:number])) - 1
        why = self._rules.words(ends[last], self._purpose)
        self._enough_at[why] = min(self._enough_at.get(why, inf), until[ends[last].uid])
        return why

    def until(self, why: str) -> str:
        """Until when the first node's victims are protected for this reason; empty where that is not known."""
        moment = self._enough_at.get(why, inf)
        return "" if isinf(moment) else f" until {at_and_in(moment, self._now)}"


def _under_share(session: Session, view: JobView) -> bool:
    """Whether the job's queue holds less than it deserves of some resource."""
    division = session.plugins.division(session.queue(view))
    if division is None or division.overused:
        return False
    held = session.usage.queue(view.queue)
    return any(held.get(column, 0) < amount for column, amount in division.deserved.items())


def _may_not(view: JobView, task: Task) -> str:
    if not task.preempts:
        return words.NEVER_PREEMPTS
    return words.may_not_reclaim(view.queue)
