"""Who keeps an evictor from victims that would be enough: the plugins that object, each asked for itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from vsched.framework.budgets import SPENT
from vsched.framework.combine.pluginset import PluginSet
from vsched.framework.points.victims import Purpose, Votes
from vsched.framework.refusal import Refusal
from vsched.model.pods.task import Task

Enough = Callable[[Sequence[Task]], bool]


class Objection(NamedTuple):
    """One plugin that agrees to too few victims, or the disruption budgets."""

    because: str
    """Why it keeps them, said of them."""
    refusal: Refusal | None
    """What the job's own message says where it alone objects."""


def objections(
    plugins: PluginSet, evictor: Task, candidates: Sequence[Task], enough: Enough, purpose: Purpose
) -> list[Objection]:
    """Whose agreement would not be enough, were they the only ones: plugins, and disruption budgets in any case."""
    found: list[Objection] = []
    for name, votes in _votes(plugins, evictor, purpose):
        agreed = votes.agreed(candidates)
        if agreed is not None and not enough(agreed):
            uids = {task.uid for task in agreed}
            kept = [task for task in candidates if task.uid not in uids]
            found.append(Objection(votes.because or f"{name} does not agree", votes.refusal(kept)))
    return found


def only_objection(
    plugins: PluginSet, evictor: Task, candidates: Sequence[Task], enough: Enough, purpose: Purpose
) -> Refusal | None:
    """What the one thing is said to be that stands between an evictor and victims that would be enough."""
    return said_alone(objections(plugins, evictor, candidates, enough, purpose))


def said_alone(found: Sequence[Objection]) -> Refusal | None:
    """What all that object say as one: a plugin may speak for the budgets, which bind without it, too."""
    told = {one.refusal for one in found}
    return told.pop() if len(told) == 1 else None


def _votes(plugins: PluginSet, evictor: Task, purpose: Purpose) -> Iterator[tuple[str, Votes]]:
    yield from plugins.agreement[purpose].votes(evictor)
    yield "", Votes(plugins.budgets.allowed, SPENT, refusal=plugins.budgets.protects)
