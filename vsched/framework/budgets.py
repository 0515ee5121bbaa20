"""Disruption budgets of the cluster: they bind every eviction, whatever plugins the policy names (reference 4.18).

Counted is what the Eviction API counts: what was evicted earlier in the cycle, unless the budget's status counts it
already. A pod that has not begun to run costs no budget. A pod that runs and is not ready costs none where its budget
says so (``unhealthyPodEvictionPolicy``). A pod that two budgets are about cannot be evicted at all. A pod without
labels is as good a victim as any other: only a budget that selects all pods is about it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.refusal import Refusal
from vsched.model.jobs.budget import DisruptionBudget
from vsched.model.pods.shape import PodLabels
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

About = tuple[DisruptionBudget, ...]
NOBODY: About = ()
NAMED_MAX = 3
"""So many budgets are named."""
SPENT = "disruption budgets are used up"
"""Why pods are kept that budgets protect."""


class Budgets:
    """What the budgets of a cycle's snapshot allow, and what its evictions leave of them."""

    def __init__(self, budgets: Mapping[str, Sequence[DisruptionBudget]]) -> None:
        self._budgets = budgets
        self._about: dict[PodLabels, About] = {}
        self._left: dict[tuple[str, str], int] = {}
        """What this cycle's evictions left of budgets they touched, by namespace and name."""

    def __bool__(self) -> bool:
        return bool(self._budgets)

    def allowed(self, candidates: Sequence[Task]) -> Sequence[Task]:
        """Those that the budgets about them let go together, the first to go first."""
        if not self._budgets:
            return candidates
        left: dict[tuple[str, str], int] = {}
        allowed: list[Task] = []
        for victim in candidates:
            about = self._binding(victim)
            if not about:
                allowed.append(victim)
            elif len(about) == 1:
                budget = about[0]
                key = (budget.namespace, budget.name)
                has = left.get(key, self._left.get(key, budget.allowed))
                if not self._costs(victim, budget):
                    allowed.append(victim)
                elif has > 0:
                    left[key] = has - 1
                    allowed.append(victim)
        return allowed

    def protects(self, kept: Sequence[Task]) -> Refusal | None:
        """The budgets that keep these, where any does."""
        found = [about for victim in kept if (about := self._binding(victim))]
        spent = {_name(about[0]) for about in found if len(about) == 1 and self._is_spent(about[0])}
        if spent:
            forbid, allow = ("forbids", "it allows") if len(spent) == 1 else ("forbid", "they allow")
            again = f"(tried again as soon as {allow} more)"
            return _refusal(sorted(spent), f"{_named(sorted(spent))} {forbid} the only victims {again}")
        doubled = sorted({_name(budget) for about in found if len(about) > 1 for budget in about})
        if not doubled:
            return None
        message = f"the only victims are in more than one disruption budget ({_list(doubled)}): nobody may evict them"
        return _refusal(doubled, message)

    def on_allocate(self, job: JobView, task: Task, row: int) -> None:
        """An eviction was taken back."""
        self._spend(task, 1)

    def on_release(self, job: JobView, task: Task, row: int) -> None:
        """A pod is to leave, if it was on its node before the cycle."""
        self._spend(task, -1)

    def _spend(self, task: Task, by: int) -> None:
        for budget in self._binding(task):
            if self._costs(task, budget):
                key = (budget.namespace, budget.name)
                self._left[key] = self._left.get(key, budget.allowed) + by

    def _is_spent(self, budget: DisruptionBudget) -> bool:
        return self._left.get((budget.namespace, budget.name), budget.allowed) <= 0

    def _costs(self, task: Task, budget: DisruptionBudget) -> bool:
        """Whether the eviction of a pod that the budget is about uses some of it up."""
        return task.name not in budget.disrupted and not (task.unready and budget.spares_unready)

    def _binding(self, task: Task) -> About:
        """The budgets that are asked before the pod is evicted."""
        if task.status is not Status.RUNNING or task.namespace not in self._budgets:
            return NOBODY
        labels = task.labels
        about = self._about.get(labels)
        if about is None:
            pairs = dict(labels.pairs)
            about = self._about[labels] = tuple(
                budget for budget in self._budgets[task.namespace] if budget.selector.matches(pairs)
            )
        return about


def _refusal(names: Sequence[str], told: str) -> Refusal:
    return Refusal("DisruptionBudget", told, code=Code.BUDGET, subject=names[0])


def _name(budget: DisruptionBudget) -> str:
    return f"{budget.namespace}/{budget.name}"


def _named(names: Sequence[str]) -> str:
    return f"disruption budget {names[0]}" if len(names) == 1 else f"disruption budgets {_list(names)}"


def _list(names: Sequence[str]) -> str:
    """The first few of many names."""
    return ", ".join(names[:NAMED_MAX]) + (", …" if len(names) > NAMED_MAX else "")


NO_BUDGETS = Budgets({})
