"""How the answers of several plugins become one, where that takes more than all or any (reference 7.1, 7.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vsched.framework.codes import Code
from vsched.framework.extension import Standing, Vote
from vsched.framework.jobs import JobView
from vsched.framework.refusal import Refusal
from vsched.model.task import Task

VictimAnswer = Callable[[Task, Sequence[Task]], Sequence[Task] | None]
Retakes = Callable[[Task, Task], bool | None]
Keeps = Callable[[Task, Standing], bool | None]

REJECTED = Refusal("Rejected", "a plugin rejected it", code=Code.REFUSED)


def vote(tiers: Sequence[Sequence[Callable[[JobView], Vote | Refusal]]], job: JobView) -> Refusal | None:
    """The vote of reference 7.1: None where it passes, else the objection."""
    for tier in tiers:
        permitted = False
        for ask in tier:
            answer = ask(job)
            if isinstance(answer, Refusal):
                return answer
            if answer is Vote.REJECT:
                return REJECTED
            permitted = permitted or answer is Vote.PERMIT
        if permitted:
            return None
    return None


def victims(tiers: Sequence[Sequence[VictimAnswer]], evictor: Task, candidates: Sequence[Task]) -> list[Task]:
    """The victims of reference 7.2, in the order of the candidates.

    Every plugin of a tier sees all candidates; those that abstain (None) do not count. An empty answer, or an
    intersection that becomes empty, ends the tier empty, and the next tier is asked.
    """
    for tier in tiers:
        agreed: set[str] | None = None
        for ask in tier:
            answer = ask(evictor, candidates)
            if answer is None:
                continue
            chosen = {task.uid for task in answer}
            agreed = chosen if agreed is None else agreed & chosen
            if not agreed:
                break
        if agreed:
            return [task for task in candidates if task.uid in agreed]
    return []


def tier_keeps(tier: Sequence[Keeps], evictor: Task, job: Standing) -> bool:
    """Whether a tier is certain to give no task of the job: one plugin is, or all of them abstain."""
    abstain = True
    for keeps in tier:
        answer = keeps(evictor, job)
        if answer:
            return True
        abstain = abstain and answer is None
    return abstain


def tier_lets(tier: Sequence[Retakes], victim: Task, evictor: Task) -> bool:
    """Whether a tier could let a victim have its place back: some plugin would, and none objects."""
    answers = [answer for could_retake in tier if (answer := could_retake(victim, evictor)) is not None]
    return bool(answers) and all(answers)


def number_of(name: str) -> int | None:
    """The number at the end of a pod's name of three or more dash-separated parts, as controllers give it."""
    parts = name.rsplit("-", 2)
    if len(parts) < 3 or not parts[2].isdecimal():
        return None
    return int(parts[2])
