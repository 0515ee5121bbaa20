"""Finds which plugins, or disruption budgets, protect candidates whose eviction would make enough room.

Each plugin is asked on its own. Messages name the plugin or budget that is the only obstacle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from vsched.framework.combine.pluginset import PluginSet
from vsched.framework.points.victims import Purpose, Votes
from vsched.framework.refusal import Refusal
from vsched.framework.words import victims as words
from vsched.model.pods.task import Task

Enough = Callable[[Sequence[Task]], bool]


class Objection(NamedTuple):
    """One plugin that agrees to too few victims, or the disruption budgets."""

    because: str
    """Why it protects the others, for messages."""
    refusal: Refusal | None
    """The refusal to report for the job where this is the only objection."""


def objections(
    plugins: PluginSet, evictor: Task, candidates: Sequence[Task], enough: Enough, purpose: Purpose
) -> list[Objection]:
    """The plugins that agree to too few victims even on their own, and the disruption budgets if they do."""
    found: list[Objection] = []
    for name, votes in _votes(plugins, evictor, purpose):
        agreed = votes.agreed(candidates)
        if agreed is not None and not enough(agreed):
            uids = {task.uid for task in agreed}
            protected = [task for task in candidates if task.uid not in uids]
            found.append(Objection(votes.because or words.plugin_disagrees(name), votes.refusal(protected)))
    return found


def only_objection(
    plugins: PluginSet, evictor: Task, candidates: Sequence[Task], enough: Enough, purpose: Purpose
) -> Refusal | None:
    """The refusal of the only objection between an evictor and enough victims; None where there are several or none."""
    return said_alone(objections(plugins, evictor, candidates, enough, purpose))


def said_alone(found: Sequence[Objection]) -> Refusal | None:
    """The refusal that all objections share; None where they differ. A plugin may give the refusal of the budgets."""
    refusals = {one.refusal for one in found}
    return refusals.pop() if len(refusals) == 1 else None


def _votes(plugins: PluginSet, evictor: Task, purpose: Purpose) -> Iterator[tuple[str, Votes]]:
    yield from plugins.agreement[purpose].votes(evictor)
    yield "", Votes(plugins.budgets.allowed, words.BUDGETS_SPENT, refusal=plugins.budgets.protects)
