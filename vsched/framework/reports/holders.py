"""Idle room on nodes that a session reserves for jobs, and the names of those jobs.

A nomination reserves room from the start of a session. A gang that is still being placed, or that waits for victims to
leave, keeps its nodes to the end. When another job finds too little room on such a node, its message names these jobs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from vsched.framework.codes import Code
from vsched.framework.nodes.why import Failing, NodeReasons, counted_by_reason
from vsched.framework.reports.on_paper import placed_on_paper
from vsched.framework.session import Session
from vsched.framework.times import SOON_SECONDS, clock
from vsched.framework.words import nodes as words
from vsched.framework.words.lists import listed_jobs
from vsched.model.nodes.table import Ints, Mask
from vsched.model.pods.shape import Shape
from vsched.model.pods.task import Task


class ReservedReasons(NamedTuple):
    """An explanation about nodes, and the jobs (as text) that room on them is reserved for."""

    why: NodeReasons
    others: str = ""
    starts: str = ""
    """The planned starts that room is reserved for, as text."""

    def named(self, text: str) -> str:
        """The sentence with the names of these jobs and these starts in it."""
        text = words.with_others(text, self.others)
        return text.replace(words.A_START, self.starts) if self.starts else text


class Holders:
    """The jobs with uncommitted placements on nodes, in a session whose actions have run."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._cache: dict[tuple[Shape, str, str, str], ReservedReasons] = {}
        """A cache: thousands of waiting jobs get the same explanation."""

    @cached_property
    def _rows(self) -> dict[int, Counter[str]]:
        """By node row: the keys of the jobs with such placements there, with their number of tasks."""
        found: dict[int, Counter[str]] = {}
        for key, holding in self._by_job.items():
            for _, row in holding:
                found.setdefault(row, Counter())[key] += 1
        return found

    @cached_property
    def _amounts(self) -> dict[int, Ints]:
        """int64[nodes] by column: the amounts of all such placements."""
        return self._sums(one for holding in self._by_job.values() for one in holding)

    def _sums(self, holding: Iterable[tuple[Task, int]]) -> dict[int, Ints]:
        found: dict[int, Ints] = {}
        for task, row in holding:
            for column, amount in task.shape.request:
                found.setdefault(column, np.zeros(len(self._session.nodes), dtype=np.int64))[row] += amount
        return found

    @cached_property
    def _by_job(self) -> dict[str, list[tuple[Task, int]]]:
        return placed_on_paper(self._session)

    def explain(self, key: str, task: Task, why: NodeReasons) -> ReservedReasons:
        """The explanation for a task. Nodes whose room is reserved for other jobs are counted as a separate reason."""
        found, planned = self._with_jobs(key, task, why), self._session.reserved.planned
        if planned is None or Code.RESERVED not in why.codes.values():
            return found
        now = self._session.snapshot.now
        starts = [
            f"{plan.job.called} at {clock(plan.at, now, plan.at - now < SOON_SECONDS)} UTC"
            for plan in planned.binding(task)
        ]
        return found._replace(starts=words.start_of(starts)) if starts else found

    def _with_jobs(self, key: str, task: Task, why: NodeReasons) -> ReservedReasons:
        if Code.RESOURCES not in why.codes.values() or not self._rows:
            return ReservedReasons(why)
        view = self._session.view(key)
        case = task.shape, key if key in self._by_job else "", "" if view is None else view.queue, why.message
        known = self._cache.get(case)
        if known is None:
            known = self._cache[case] = self._explained(key, task, why)
        return known

    def _explained(self, key: str, task: Task, why: NodeReasons) -> ReservedReasons:
        filled = why.fits is not None
        found = self.split(key, task, self._session.node_selection.failing(task, filled=filled), filled)
        reserved = next((one.rows for one in found if one.reason == words.RESERVED_FOR_OTHERS), None)
        if reserved is None or not np.logical_or.reduce([one.rows for one in found]).all():
            return ReservedReasons(why)
        reasons, codes = counted_by_reason(found)
        total = len(self._session.nodes)
        message = why.message.replace(words.available(total, why.reasons), words.available(total, reasons))
        return ReservedReasons(why._replace(message=message, reasons=reasons, codes=codes), self.names(key, reserved))

    def split(self, key: str, task: Task, found: Sequence[Failing], filled: bool) -> list[Failing]:
        """Nodes by reason; those with room but for other jobs' reservations get the reason ``RESERVED_FOR_OTHERS``."""
        reserved = self._reserved_rows(key, task, found, filled)
        if reserved is None:
            return list(found)
        rest = (one._replace(rows=one.rows & ~reserved) if one.code is Code.RESOURCES else one for one in found)
        return [*(one for one in rest if one.rows.any()), Failing(words.RESERVED_FOR_OTHERS, Code.ORDER, reserved)]

    def names(self, key: str, rows: Mask) -> str:
        """The other jobs that room on these rows is reserved for as text, those with the most tasks there first."""
        jobs = Counter[str]()
        for row in np.flatnonzero(rows).tolist():
            jobs.update({one: count for one, count in self._rows.get(row, {}).items() if one != key})
        snapshot = self._session.snapshot
        ranked = sorted(jobs, key=lambda one: (-jobs[one], snapshot.by_name(one)))
        return listed_jobs([*map(snapshot.called, ranked)])

    def _reserved_rows(self, key: str, task: Task, found: Sequence[Failing], filled: bool) -> Mask | None:
        """bool[nodes]: nodes that lack room for the task only by reservations of other jobs; None without any."""
        nodes = self._session.nodes
        reserved: Mask = np.zeros(len(nodes), dtype=np.bool_)
        reserved[[row for row, jobs in self._rows.items() if jobs.keys() - {key}]] = True
        short: Mask = np.zeros(len(nodes), dtype=np.bool_)
        for one in found:
            if one.code is Code.RESOURCES:
                short |= one.rows
        reserved &= short
        if not reserved.any():
            return None
        selection, own = self._session.node_selection, self._sums(self._by_job.get(key, ()))
        for column, amount in task.shape.request:
            others = self._amounts.get(column, 0) - own.get(column, 0)
            asked = amount * (selection.rooms(task) + 1) if filled else amount
            reserved &= nodes.future_idle(column) + others >= asked
        return reserved if reserved.any() else None
