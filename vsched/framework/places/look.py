"""The domains of one tier that have room for tasks, in the order in which to try them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from vsched.framework.places.domains import Domain, Grouping
from vsched.framework.places.task_sets import TaskSet
from vsched.model.nodes.table import Floats, Ints, Mask
from vsched.model.topology.tiers import Tier


class DomainCounts(NamedTuple):
    """What the domains of a tier hold at most of some tasks."""

    fits: Ints
    """int64[domains]: how many of the tasks."""
    room: Ints
    """int64[domains]: how many tasks like the first."""
    enough: Mask | None = None
    """bool[domains]: whether the sum of requests fits as well; None where all tasks are of one kind."""


class TierLook(NamedTuple):
    """The result for one tier."""

    tier: Tier
    wanted: int
    counts: DomainCounts
    looked: Ints
    """int64[..]: the positions of the domains that were considered."""
    ordered: Ints
    """int64[..]: those with room for as many tasks as wanted, the best first."""

    def domains(self, grouping: Grouping, only: Mask | None) -> Iterator[Domain]:
        """The domains to try, the best first; with ``only``, the part of each in these rows."""
        for number in self.ordered.tolist():
            rows = grouping.rows(number)
            rows = rows if only is None else rows[only[rows]]
            yield Domain(self.tier, number, rows, int(self.counts.fits[number]))

    @property
    def best(self) -> tuple[int, int] | None:
        """The position of the first domain where most tasks fit, and how many; None where no domain was considered."""
        if not len(self.looked):
            return None
        at = int(self.counts.fits[self.looked].argmax())
        return int(self.looked[at]), int(self.counts.fits[self.looked[at]])


def ordered(
    passing: Ints, counts: DomainCounts, now: Ints | None, task_set: TaskSet, inside: Ints, scores: Floats | None
) -> Ints:
    """Passing domains in order: those with room now; by score, else the tightest fit; more pods inside; by name.

    Without scores, domains with room for all tasks go first, the one with the least room before the others; then
    the one with the most room. ``inside`` counts the job's pods by domain.
    """
    room = counts.room[passing]
    if scores is not None:
        keys: Sequence[Ints | Floats | Mask] = (-scores[passing],)
    else:
        partly = counts.fits[passing] < task_set.tasks
        keys = (partly, np.where(partly, -room, room))
    later = np.zeros(len(passing), dtype=np.bool_) if now is None else now[passing] < task_set.wanted
    # The last key of lexsort decides first. Positions are in the order of names.
    return passing[np.lexsort((passing, -inside[passing], *reversed(keys), later))]
