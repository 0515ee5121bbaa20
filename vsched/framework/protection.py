"""Who keeps an evictor from victims that would be enough: the plugins that object, each asked for itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from vsched.framework.budgets import Budgets
from vsched.framework.pluginset import PluginSet
from vsched.framework.refusal import Refusal
from vsched.framework.victim_points import Preemptable, Protecting, Reclaimable
from vsched.model.task import Task

Enough = Callable[[Sequence[Task]], bool]


class Objection(NamedTuple):
    """One plugin that agrees to too few victims."""

    plugin: Protecting | Budgets
    kept: Sequence[Task]
    """Those it does not agree to."""


def objections(
    plugins: PluginSet, evictor: Task, candidates: Sequence[Task], enough: Enough, *, across: bool
) -> list[Objection]:
    """Whose agreement would not be enough, were they the only ones: plugins, and disruption budgets in any case.

    ``across`` queues or within one.
    """
    found: list[Objection] = []
    for plugin, agreed in _answers(plugins, evictor, candidates, across):
        if agreed is not None and not enough(agreed):
            uids = {task.uid for task in agreed}
            found.append(Objection(plugin, [task for task in candidates if task.uid not in uids]))
    return found


def only_objection(
    plugins: PluginSet, evictor: Task, candidates: Sequence[Task], enough: Enough, *, across: bool
) -> Refusal | None:
    """What the one thing is said to be that stands between an evictor and victims that would be enough."""
    return said_alone(objections(plugins, evictor, candidates, enough, across=across))


def said_alone(found: Sequence[Objection]) -> Refusal | None:
    """What all that object say as one: the plugin ``pdb`` speaks for the budgets, which bind without it, too."""
    told = {one.plugin.protects(one.kept) for one in found}
    return told.pop() if len(told) == 1 else None


def _answers(
    plugins: PluginSet, evictor: Task, candidates: Sequence[Task], across: bool
) -> list[tuple[Protecting | Budgets, Sequence[Task] | None]]:
    found: list[tuple[Protecting | Budgets, Sequence[Task] | None]] = []
    if across:
        found += [(one, one.reclaimable(evictor, candidates)) for one in plugins.taking_part(Reclaimable)]
    else:
        found += [(one, one.preemptable(evictor, candidates)) for one in plugins.taking_part(Preemptable)]
    return [*found, (plugins.budgets, plugins.budgets.allowed(candidates))]
