"""Room on nodes that is reserved for gangs with a ProvisioningRequest.

The nodes come one after the other, and a gang starts once it has all of them. Until then, its room on them is reserved.
Jobs of higher priority may take it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.nodes.reserving import Placements, limit_beside, limit_to
from vsched.framework.nodes.why import Failing
from vsched.framework.points.nodes import Check
from vsched.framework.words import nodes as words
from vsched.model.amounts.quantity import UNLIMITED
from vsched.model.jobs.job import Job
from vsched.model.nodes.table import Ints, NodeTable
from vsched.model.pods.task import Task


class Provisioned(NamedTuple):
    """The room of one gang."""

    job: JobView
    places: Placements


class ProvisionedRoom:
    """The room that is reserved for the gangs of a session, and what that leaves to other tasks."""

    def __init__(self, nodes: NodeTable, jobs: Mapping[str, Job]) -> None:
        self._nodes = nodes
        self._jobs = jobs
        self._gangs: dict[str, Provisioned] = {}
        """By the key of the gang."""
        self._summed: tuple[str, ...] = ()
        self._sums: dict[int, Ints] = {}
        """int64[nodes] by column: what is reserved for the gangs of these keys together."""

    def reserve(self, job: JobView, places: Placements) -> None:
        """Reserve the room of these placements for a gang, in place of what was reserved for it before."""
        if job.key in self._gangs:
            self._reserved_for(())
        self._gangs[job.key] = Provisioned(job, places)

    def class_of(self, task: Task) -> Hashable:
        """The gangs that bind a task: tasks of one shape and of equal class find the same room."""
        return self._binding(task)

    def checks(self, task: Task) -> list[Check]:
        """The nodes where a task fits beside the gangs that bind it."""
        found = self._binding(task)
        return [Check(self._reason(found), self._room(found, task) > 0, code=Code.RESERVED)] if found else []

    def limit(self, task: Task, rooms: Ints) -> list[Failing]:
        """Limit how many tasks like this one each node could hold; says which nodes could hold more if nothing were
        reserved."""
        found = self._binding(task)
        return [limit_to(rooms, self._room(found, task), self._reason(found))] if found else []

    def _binding(self, task: Task) -> tuple[str, ...]:
        """The keys of the gangs that still wait for their nodes and that the task's job does not outrank."""
        priority = self._jobs[task.job].priority
        return tuple(
            [
                key
                for key, (gang, _) in self._gangs.items()
                if gang.priority >= priority and key != task.job and not gang.is_pipelined
            ]
        )

    def _room(self, gangs: tuple[str, ...], task: Task) -> Ints:
        """int64[nodes]: how many tasks like this one fit beside these gangs; any number where nothing is reserved."""
        reserved = self._reserved_for(gangs)
        rooms: Ints = np.full(len(self._nodes), UNLIMITED, dtype=np.int64)
        for column, amount in task.shape.request:
            need = reserved.get(column)
            if need is not None:
                limit_beside(rooms, self._nodes.future_idle(column), need, amount)
        return np.maximum(rooms, 0, out=rooms)

    def _reserved_for(self, gangs: tuple[str, ...]) -> dict[int, Ints]:
        """int64[nodes] by column: what is reserved for these gangs together; valid until the next call.

        Only gangs that differ from those of the last call are counted.
        """
        if gangs != self._summed:
            before, after = set(self._summed), set(gangs)
            for key in before ^ after:
                sign = 1 if key in after else -1
                for task, row in self._gangs[key].places:
                    for column, amount in task.shape.request:
                        if column not in self._sums:
                            self._sums[column] = np.zeros(len(self._nodes), dtype=np.int64)
                        self._sums[column][row] += sign * amount
            self._summed = gangs
        return self._sums

    def _reason(self, gangs: Sequence[str]) -> str:
        return words.provisioned(len(gangs), self._gangs[gangs[0]].job.called)
