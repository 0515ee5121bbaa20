"""The planned start of one job: when and where it starts, what it takes there, and what it leaves to others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from vsched.framework.jobs import JobView
from vsched.framework.nodes.limited import Left
from vsched.framework.nodes.reserving import Placements
from vsched.framework.nodes.run_slots import RunSlots
from vsched.model.nodes.table import Ints


class Overlap(NamedTuple):
    """The nodes that two planned starts have in common."""

    other: JobStart
    here: Ints
    """Their positions in one of them."""
    there: Ints
    """Their positions in the other."""


class JobStart:
    """The planned start of one job."""

    __slots__ = (
        "ahead",
        "at",
        "beside",
        "ending",
        "extra",
        "has_devices",
        "job",
        "number",
        "own",
        "places",
        "positions",
        "rows",
        "runs",
    )

    def __init__(
        self,
        job: JobView,
        at: float,
        places: Placements,
        leaving: Mapping[int, Ints],
        number: int,
        ahead: Sequence[str],
        extra: Left,
        *,
        has_devices: bool,
        runs: RunSlots | None,
    ) -> None:
        self.job = job
        self.at = at
        """Seconds since the epoch."""
        self.places = places
        """Its tasks, with the rows where they will start."""
        self.rows: Ints = np.unique(np.array([row for _, row in places], dtype=np.int64))
        """int64[..]: the rows of its nodes, ascending."""
        self.own = _sums(self.rows, places)
        """int64[rows] by column: what it will take there."""
        self.beside: list[Overlap] = []
        """The planned starts before it that have nodes in common with it."""
        self.ending = {column: leaving[column][self.rows] for column in self.own if column in leaving}
        """int64[rows] by column: what work holds there, or waits for, that ends before its start."""
        self.number = number
        """The number of the job's turn. Jobs that had their last turn before it are not bound by this plan."""
        self.ahead = ahead
        """Keys of the jobs that have begun on its nodes since it waits, and end before."""
        self.extra = {limited: dict(amounts) for limited, amounts in extra.items()}
        """What its queue, those above and its namespace may hold besides it at its start, of work that has not ended
        by then."""
        self.runs = runs
        """The slots that it leaves at limits on running jobs; None where no such limit counts it."""
        self.has_devices = has_devices
        """Whether it claims devices. Which ones are free by then is not counted: until then its nodes take no work that
        claims devices and does not end in time."""
        self.positions = {row: at for at, row in enumerate(self.rows.tolist())}

    def need(self, column: int) -> Ints | None:
        """int64[rows]: what it will take there, and what planned starts before it will; None where it takes nothing."""
        own = self.own.get(column)
        if own is None:
            return None
        found: Ints = own.copy()
        for other, here, there in self.beside:
            theirs = other.own.get(column)
            if theirs is not None and not other.is_over:
                found[here] += theirs[there]
        return found

    @property
    def is_over(self) -> bool:
        """Whether the job has found places meanwhile."""
        return self.job.is_pipelined


def _sums(rows: Ints, places: Placements) -> dict[int, Ints]:
    """int64[rows] by column: what these tasks take together on each of their rows."""
    found: dict[int, Ints] = {}
    for task, row in places:
        position = rows.searchsorted(row)
        for column, amount in task.shape.request:
            found.setdefault(column, np.zeros(len(rows), dtype=np.int64))[position] += amount
    return found
