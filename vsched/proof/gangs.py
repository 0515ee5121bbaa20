"""Gangs: all of the minimum, or nothing, on paper as well."""

from __future__ import annotations

from collections.abc import Iterator

from vsched.proof.cycle import Cycle
from vsched.proof.placement import could_be_whole


def gangs_start_whole(cycle: Cycle) -> Iterator[str]:
    """Pods of a job are bound only if its minima are met with what ran and what was bound.

    config/policies/README.md, "gang": all of a job's minimum or nothing, by ``minMember``, role and sub-group.
    """
    for key in dict.fromkeys(bind.job for bind in cycle.report.binds):
        short = cycle.short(key, evicted=True)
        yield f"{key} starts with {short}" if short else ""


def gangs_keep_whole(cycle: Cycle) -> Iterator[str]:
    """Room is kept for the pods of a job only if its minima are met with that room.

    A gang that cannot start takes nothing, not even on paper: others could use the room. Reports tell of no room that
    a gang has on paper besides on idle nodes: it counts where there is any.
    """
    for key in dict.fromkeys(cycle.tasks[uid].job for uid in cycle.kept):
        short = cycle.short(key, kept=True)
        wrong = short and not could_be_whole(cycle, cycle.jobs[key])
        yield f"room is kept for {key}, which would start with {short}" if wrong else ""
