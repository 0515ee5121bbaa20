"""Rules that combine the answers of several plugins, beyond plain "all" and "any"."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.points.extension import Vote
from vsched.framework.refusal import Refusal
from vsched.framework.words import jobs as words
from vsched.model.pods.task import Task

_PERMIT, _REJECT = Vote.PERMIT, Vote.REJECT
"""Looked up once: members of enumerations take long to look up in Python 3.11."""

Agreed = Callable[[Sequence[Task]], Sequence[Task] | None]
"""The victims among candidates that a plugin agrees to; None where it abstains."""
VoteOnJob = Callable[[JobView], Vote | Refusal]

REJECTED = Refusal("Rejected", words.REJECTED, code=Code.REFUSED)


def vote(tiers: Sequence[Sequence[VoteOnJob]], job: JobView) -> Refusal | None:
    """The vote of the tiers: None where it passes, else the refusal."""
    for tier in tiers:
        permitted = False
        for ask in tier:
            answer = ask(job)
            if answer is _PERMIT:
                permitted = True
            elif isinstance(answer, Refusal):
                return answer
            elif answer is _REJECT:
                return REJECTED
        if permitted:
            return None
    return None


def victims(tiers: Iterable[Iterable[Agreed]], candidates: Sequence[Task]) -> list[Task]:
    """The victims that the tiers agree on, in the order of the candidates.

    Every plugin of a tier sees all candidates; those that abstain (None) do not count. An empty answer, or an
    intersection that becomes empty, ends the tier empty, and the next tier is asked.
    """
    for tier in tiers:
        chosen: set[str] | None = None
        for ask in tier:
            answer = ask(candidates)
            if answer is None:
                continue
            named = {task.uid for task in answer}
            chosen = named if chosen is None else chosen & named
            if not chosen:
                break
        if chosen:
            return [task for task in candidates if task.uid in chosen]
    return []
