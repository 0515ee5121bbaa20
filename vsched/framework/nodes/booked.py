"""Room on nodes that is kept for gangs that nodes were asked for.

Nodes come one after the other, and a gang starts once it has all of them. Until then, its room on them is kept from
other jobs. Jobs of higher priority may take it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.nodes.why import Failing
from vsched.framework.points.nodes import Check
from vsched.model.amounts.quantity import UNLIMITED
from vsched.model.jobs.job import Job
from vsched.model.nodes.table import Ints, NodeTable
from vsched.model.pods.task import Task

Places = Sequence[tuple[Task, int]]
"""Tasks with rows."""


class Booking(NamedTuple):
    """What is kept for one gang."""

    job: JobView
    places: Places


class BookedRoom:
    """What is kept for the gangs of a session, and what that leaves to other tasks."""

    def __init__(self, nodes: NodeTable, jobs: Mapping[str, Job]) -> None:
        self._nodes = nodes
        self._jobs = jobs
        self._bookings: list[Booking] = []
        self._sums: dict[tuple[str, ...], dict[int, Ints]] = {}
        """int64[nodes] by column, by the keys of gangs: what is kept for them together."""

    def keep(self, job: JobView, places: Places) -> None:
        """Keep the room of these places for a gang."""
        self._bookings.append(Booking(job, places))

    def class_of(self, task: Task) -> Hashable:
        """The gangs that bind a task: tasks of one shape and of equal class find the same room."""
        return self._binding(task)

    def checks(self, task: Task) -> list[Check]:
        """The nodes where a task fits beside the gangs that bind it."""
        found = self._binding(task)
        return [Check(_reason(found), self._room(found, task) > 0, code=Code.RESERVED)] if found else []

    def limit(self, task: Task, rooms: Ints) -> list[Failing]:
        """Limit how many tasks like this one each node could hold; says which nodes could hold more if nothing were
        kept."""
        found = self._binding(task)
        if not found:
            return []
        most = self._room(found, task)
        scarce = most < rooms
        np.minimum(rooms, most, out=rooms)
        return [Failing(_reason(found), Code.RESERVED, scarce)]

    def _binding(self, task: Task) -> tuple[str, ...]:
        """The keys of the gangs that still wait for their nodes and that the task's job does not outrank."""
        priority = self._jobs[task.job].priority
        return tuple(
            [
                one.job.key
                for one in self._bookings
                if one.job.priority >= priority and one.job.key != task.job and not one.job.is_pipelined
            ]
        )

    def _room(self, gangs: tuple[str, ...], task: Task) -> Ints:
        """int64[nodes]: how many tasks like this one fit beside these gangs; any number where nothing is kept."""
        kept = self._kept_for(gangs)
        rooms: Ints = np.full(len(self._nodes), UNLIMITED, dtype=np.int64)
        for column, amount in task.shape.request:
            need = kept.get(column)
            if need is not None:
                free = self._nodes.future_idle(column) - need
                np.minimum(rooms, np.where(need > 0, free // amount, UNLIMITED), out=rooms)
        return np.maximum(rooms, 0, out=rooms)

    def _kept_for(self, gangs: tuple[str, ...]) -> dict[int, Ints]:
        found = self._sums.get(gangs)
        if found is None:
            found = self._sums[gangs] = {}
            for one in self._bookings:
                if one.job.key in gangs:
                    for task, row in one.places:
                        for column, amount in task.shape.request:
                            found.setdefault(column, np.zeros(len(self._nodes), dtype=np.int64))[row] += amount
        return found


def _reason(gangs: Sequence[str]) -> str:
    who = f"gang {gangs[0]} until all its" if len(gangs) == 1 else f"{len(gangs)} gangs until all their"
    return f"node(s) had room that is kept for {who} nodes are there"
