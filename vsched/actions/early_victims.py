"""Victims that may not be evicted yet: from when on there would be room for a job that gets none. Only for messages."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isinf

from vsched.actions.candidates import CandidatePool, candidates_of
from vsched.actions.pricing import would_do
from vsched.actions.victim_search import RECLAIM, VictimSearch
from vsched.actions.words import may_evict_from
from vsched.framework.codes import Code
from vsched.framework.refusal import Refusal
from vsched.framework.session import Session
from vsched.framework.times import clock
from vsched.model.pods.task import Task

NOT_YET = "VictimsProtected"
NODES_MAX = 16
"""At most this many nodes are examined, in the order of the node table."""


def not_yet(session: Session, search: VictimSearch, pool: CandidatePool, tasks: Sequence[Task]) -> Refusal | None:
    """The refusal that says from when on a job's first task may evict others, where their protection only has to end.

    None where nothing is protected for a time, where more than that is in the way, or where the end is not known.
    """
    rules, task = session.plugins.victim_rules, tasks[0]
    if task.shape in pool.early:
        return pool.early[task.shape]
    pool.early[task.shape] = None
    protected = rules.protected(search.purpose)
    if protected is None:
        return None
    rows: dict[int, list[Task]] = {}
    for victim, row in candidates_of(session, search, task, early=True):
        rows.setdefault(row, []).append(victim)
    open_rows = [check.passes for check in session.node_selection.static_checks(task)]
    first, why = inf, ""
    for row in [row for row in sorted(rows) if all(passes[row] for passes in open_rows)][:NODES_MAX]:
        agreed = search.agreed(task, [*pool.candidates(row), *rows[row]])
        ends = sorted((rules.protected_until(victim, search.purpose), at) for at, victim in enumerate(agreed))
        for count in range(1, len(ends) + 1):
            if would_do(session, task, row, [agreed[at] for _, at in ends[:count]]):
                end, last = ends[count - 1]
                if session.snapshot.now < end < first:
                    first, why = end, rules.words(agreed[last], search.purpose)
                break
    if isinf(first):
        return None
    begin = clock(first, session.snapshot.now, bool(first % 60))
    message = may_evict_from(begin, why, reclaims=search.action == RECLAIM)
    refusal = Refusal(NOT_YET, message, code=Code.PROTECTED)
    pool.early[task.shape] = refusal
    return refusal
