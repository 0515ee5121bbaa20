"""What a plugin says about victims, asked as a session asks it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from vsched.framework.combine.agreeing import Agreement
from vsched.framework.points.extension import JobState
from vsched.framework.points.victims import Purpose, VictimVotes
from vsched.model.pods.task import Task

PREEMPT, RECLAIM = Purpose.PREEMPT, Purpose.RECLAIM


def agreed(plugin: VictimVotes, evictor: Task, candidates: Sequence[Task], purpose: Purpose) -> list[Task] | None:
    """The victims it agrees to; None where it abstains."""
    votes = plugin.victim_votes(evictor, purpose)
    found = None if votes is None else votes.agreed(candidates)
    return None if found is None else list(found)


def rules_out(plugin: VictimVotes, evictor: Task, job: JobState, purpose: Purpose) -> bool:
    """Whether no task of the job can be among them."""
    votes = plugin.victim_votes(evictor, purpose)
    return votes is not None and votes.rules_out(job)


def class_of(plugin: VictimVotes, evictor: Task, purpose: Purpose) -> Hashable:
    """Evictors of one class share their candidates."""
    return Agreement([[plugin]], purpose).class_of(evictor)
