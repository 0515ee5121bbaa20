"""Idle room on nodes that a session holds for jobs, and the names of those jobs.

A nomination holds room from the start of a session. A gang that is still being placed, or that waits for victims to
leave, holds its places to the end. When another job finds too little room on such a node, its message names the jobs
that hold the room.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from vsched.framework.codes import Code
from vsched.framework.nodes.planned_room import A_START
from vsched.framework.nodes.why import Failing, NodeReasons, counted_by_reason, sentence
from vsched.framework.reports.on_paper import placed_on_paper
from vsched.framework.session import Session
from vsched.framework.times import SOON_SECONDS, clock
from vsched.framework.wording import BEGINNING, listed_jobs
from vsched.model.nodes.table import Ints, Mask
from vsched.model.pods.shape import Shape
from vsched.model.pods.task import Task

OTHERS = "reserved for others"
HELD = f"{BEGINNING}had resources that are {OTHERS}"


class HeldReasons(NamedTuple):
    """An explanation about nodes, and the jobs (as text) that room on them is held for."""

    why: NodeReasons
    others: str = ""
    starts: str = ""
    """The planned starts that room is kept for, as text."""

    def named(self, text: str) -> str:
        """The sentence with the names of these jobs and these starts in it."""
        text = named(text, self.others)
        return text.replace(A_START, self.starts) if self.starts else text


def named(text: str, others: str) -> str:
    """The sentence with the names of the jobs that room is held for; unchanged where ``others`` is empty."""
    return text.replace(OTHERS, f"reserved for {others}") if others else text


class Holders:
    """Which jobs hold which amounts on nodes, in a session whose actions have run."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._cache: dict[tuple[Shape, str, str, str], HeldReasons] = {}
        """A cache: thousands of waiting jobs get the same explanation."""

    @cached_property
    def _rows(self) -> dict[int, Counter[str]]:
        """By node row: the keys of the jobs that hold room there, with their number of tasks."""
        found: dict[int, Counter[str]] = {}
        for key, holding in self._by_job.items():
            for _, row in holding:
                found.setdefault(row, Counter())[key] += 1
        return found

    @cached_property
    def _amounts(self) -> dict[int, Ints]:
        """int64[nodes] by column: the amounts that all jobs together hold."""
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

    def explain(self, key: str, task: Task, why: NodeReasons) -> HeldReasons:
        """The explanation for a task. Nodes whose room is held for other jobs are counted as a separate reason."""
        found, kept = self._of_places(key, task, why), self._session.reserved.planned
        if kept is None or Code.RESERVED not in why.codes.values():
            return found
        now = self._session.snapshot.now
        starts = [
            f"{plan.job.called} at {clock(plan.at, now, plan.at - now < SOON_SECONDS)} UTC"
            for plan in kept.binding(task)
        ]
        return found._replace(starts=f"the start of {' and '.join(starts)}") if starts else found

    def _of_places(self, key: str, task: Task, why: NodeReasons) -> HeldReasons:
        if Code.RESOURCES not in why.codes.values() or not self._rows:
            return HeldReasons(why)
        view = self._session.view(key)
        case = task.shape, key if key in self._by_job else "", "" if view is None else view.queue, why.message
        known = self._cache.get(case)
        if known is None:
            known = self._cache[case] = self._explained(key, task, why)
        return known

    def _explained(self, key: str, task: Task, why: NodeReasons) -> HeldReasons:
        filled = why.fits is not None
        found = self.split(key, task, self._session.node_selection.failing(task, filled=filled), filled)
        held = next((one.rows for one in found if one.reason == HELD), None)
        if held is None or not np.logical_or.reduce([one.rows for one in found]).all():
            return HeldReasons(why)
        reasons, codes = counted_by_reason(found)
        total = len(self._session.nodes)
        message = why.message.replace(sentence(total, why.reasons), sentence(total, reasons))
        return HeldReasons(why._replace(message=message, reasons=reasons, codes=codes), self.names(key, held))

    def split(self, key: str, task: Task, found: Sequence[Failing], filled: bool) -> list[Failing]:
        """Nodes by reason; nodes that would have room if nothing were held for other jobs get the reason ``HELD``."""
        held = self._held(key, task, found, filled)
        if held is None:
            return list(found)
        rest = (one._replace(rows=one.rows & ~held) if one.code is Code.RESOURCES else one for one in found)
        return [*(one for one in rest if one.rows.any()), Failing(HELD, Code.ORDER, held)]

    def names(self, key: str, rows: Mask) -> str:
        """The other jobs that hold room on these rows as text, those with the most tasks there first."""
        jobs = Counter[str]()
        for row in np.flatnonzero(rows).tolist():
            jobs.update({one: count for one, count in self._rows.get(row, {}).items() if one != key})
        ranked = sorted(jobs, key=lambda one: (-jobs[one], one))
        return listed_jobs([self._session.snapshot.called(one) for one in ranked])

    def _held(self, key: str, task: Task, found: Sequence[Failing], filled: bool) -> Mask | None:
        """bool[nodes]: nodes that lack room for the task only because other jobs hold it; None where there are none."""
        nodes = self._session.nodes
        held: Mask = np.zeros(len(nodes), dtype=np.bool_)
        held[[row for row, jobs in self._rows.items() if jobs.keys() - {key}]] = True
        short: Mask = np.zeros(len(nodes), dtype=np.bool_)
        for one in found:
            if one.code is Code.RESOURCES:
                short |= one.rows
        held &= short
        if not held.any():
            return None
        selection, own = self._session.node_selection, self._sums(self._by_job.get(key, ()))
        for column, amount in task.shape.request:
            others = self._amounts.get(column, 0) - own.get(column, 0)
            asked = amount * (selection.rooms(task) + 1) if filled else amount
            held &= nodes.future_idle(column) + others >= asked
        return held if held.any() else None
