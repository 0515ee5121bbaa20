"""Room that is idle and that nobody else gets: what of the nodes is held in a session, and for whom.

A nomination holds room from the start; a gang that gathers its places, or waits for others to leave some of them, holds
the rest of them to the end. Whoever finds too little there is told for whom it is held, and not that there is none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from vsched.framework.codes import Code
from vsched.framework.nodes.why import Explanation, Failing, counted_by_reason, sentence
from vsched.framework.session import Session
from vsched.framework.wording import BEGINNING, listed
from vsched.model.nodes.table import Ints, Mask
from vsched.model.pods.shape import Shape
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

OTHERS = "held for others"
HELD = f"{BEGINNING}had room that is {OTHERS}"


class Told(NamedTuple):
    """What is said of nodes, and who the others are that room is held for."""

    why: Explanation
    others: str = ""

    def named(self, text: str) -> str:
        """A sentence with names in it."""
        return named(text, self.others)


def named(text: str, others: str) -> str:
    """A sentence with the names of those that room is held for."""
    return text.replace(OTHERS, f"held for {others}") if others else text


class Holders:
    """Who holds what of the nodes of a session whose actions have run."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._told: dict[tuple[Shape, str, str, str], Told] = {}
        """Thousands of jobs that wait are told the same."""

    @cached_property
    def _rows(self) -> dict[int, Counter[str]]:
        """The jobs that hold room on each row, by key."""
        found: dict[int, Counter[str]] = {}
        for key, holding in self._by_job.items():
            for _, row in holding:
                found.setdefault(row, Counter())[key] += 1
        return found

    @cached_property
    def _amounts(self) -> dict[int, Ints]:
        """int64[nodes] by column: what is held, by whomever."""
        return self._sums(one for holding in self._by_job.values() for one in holding)

    def _sums(self, holding: Iterable[tuple[Task, int]]) -> dict[int, Ints]:
        found: dict[int, Ints] = {}
        for task, row in holding:
            for column, amount in task.shape.request:
                found.setdefault(column, np.zeros(len(self._session.nodes), dtype=np.int64))[row] += amount
        return found

    @cached_property
    def _by_job(self) -> dict[str, list[tuple[Task, int]]]:
        """The tasks that have places which are not carried out, with their rows, by job."""
        carried_out = {entry.task.uid for entry in self._session.committed}
        at = self._session.nodes.statics.row
        found: dict[str, list[tuple[Task, int]]] = {}
        for view in self._session.jobs.values():
            for uid, (status, node, task) in view.moved.items():
                waits = status is Status.PIPELINED or (status is Status.ALLOCATED and uid not in carried_out)
                if waits and node in at:
                    found.setdefault(view.key, []).append((task, at[node]))
        return found

    def explain(self, key: str, task: Task, why: Explanation) -> Told:
        """What is said of a task of a job, with the nodes counted apart whose room is held for others."""
        if Code.RESOURCES not in why.codes.values() or not self._rows:
            return Told(why)
        view = self._session.view(key)
        told = task.shape, key if key in self._by_job else "", "" if view is None else view.queue, why.message
        known = self._told.get(told)
        if known is None:
            known = self._told[told] = self._explained(key, task, why)
        return known

    def _explained(self, key: str, task: Task, why: Explanation) -> Told:
        filled = why.fits is not None
        found = self.split(key, task, self._session.node_selection.failing(task, filled=filled), filled)
        held = next((one.rows for one in found if one.reason == HELD), None)
        if held is None or not np.logical_or.reduce([one.rows for one in found]).all():
            return Told(why)
        reasons, codes = counted_by_reason(found)
        total = len(self._session.nodes)
        message = why.message.replace(sentence(total, why.reasons), sentence(total, reasons))
        return Told(why._replace(message=message, reasons=reasons, codes=codes), self.names(key, held))

    def split(self, key: str, task: Task, found: Sequence[Failing], filled: bool) -> list[Failing]:
        """Nodes by reason, those apart that would have room, were nothing of it held for others."""
        held = self._held(key, task, found, filled)
        if held is None:
            return list(found)
        rest = (one._replace(rows=one.rows & ~held) if one.code is Code.RESOURCES else one for one in found)
        return [*(one for one in rest if one.rows.any()), Failing(HELD, Code.ORDER, held)]

    def names(self, key: str, rows: Mask) -> str:
        """The jobs other than this one that hold room on these rows, those that hold most first."""
        jobs = Counter[str]()
        for row in np.flatnonzero(rows).tolist():
            jobs.update({one: count for one, count in self._rows.get(row, {}).items() if one != key})
        return listed("job", sorted(jobs, key=lambda one: (-jobs[one], one)))

    def _held(self, key: str, task: Task, found: Sequence[Failing], filled: bool) -> Mask | None:
        """bool[nodes]: too little is left for the task because of what others hold; None where nowhere."""
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
