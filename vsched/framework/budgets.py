"""PodDisruptionBudgets: they apply to every eviction, whatever plugins the policy has.

The rules are those of the Eviction API:

- Evictions earlier in the cycle use up a budget, unless the budget's status counts them already.
- The eviction of a pod that does not run yet uses up no budget.
- The eviction of a running pod that is not ready uses up none where the budget says so
  (``unhealthyPodEvictionPolicy``).
- A pod that two budgets select cannot be evicted.
- A pod without labels may be evicted like any other; only a budget that selects all pods applies to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.refusal import Refusal
from vsched.framework.words import victims as words
from vsched.model.jobs.budget import DisruptionBudget
from vsched.model.pods.shape import PodLabels
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

About = tuple[DisruptionBudget, ...]
NOBODY: About = ()


class Budgets:
    """The disruption budgets of a snapshot, and how much of them the session's evictions have used up."""

    def __init__(self, budgets: Mapping[str, Sequence[DisruptionBudget]]) -> None:
        self._budgets = budgets
        self._about: dict[PodLabels, About] = {}
        self._left: dict[tuple[str, str], int] = {}
        """By namespace and name: the evictions that a budget still allows, for budgets that this session changed."""

    def __bool__(self) -> bool:
        return bool(self._budgets)

    def allowed(self, candidates: Sequence[Task]) -> Sequence[Task]:
        """The candidates that the budgets allow to evict together, in their order; earlier ones take precedence."""
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

    def protects(self, protected: Sequence[Task]) -> Refusal | None:
        """The refusal that names the budgets protecting these tasks; None where no budget protects them."""
        found = [about for victim in protected if (about := self._binding(victim))]
        spent = {_name(about[0]) for about in found if len(about) == 1 and self._is_spent(about[0])}
        if spent:
            return _refusal(sorted(spent), words.budgets_forbid(sorted(spent)))
        doubled = sorted({_name(budget) for about in found if len(about) > 1 for budget in about})
        return _refusal(doubled, words.in_several_budgets(doubled)) if doubled else None

    def expect(self, task: Task) -> None:
        """Count the eviction of a pod that earlier cycles asked to end by itself."""
        self._spend(task.moved(Status.RUNNING, task.node), -1)

    def on_allocate(self, job: JobView, task: Task, row: int) -> None:
        """Give back what an eviction used up, because it was undone."""
        self._spend(task, 1)

    def on_release(self, job: JobView, task: Task, row: int) -> None:
        """Count an eviction, if the pod was running before the cycle."""
        self._spend(task, -1)

    def _spend(self, task: Task, by: int) -> None:
        for budget in self._binding(task):
            if self._costs(task, budget):
                key = (budget.namespace, budget.name)
                self._left[key] = self._left.get(key, budget.allowed) + by

    def _is_spent(self, budget: DisruptionBudget) -> bool:
        return self._left.get((budget.namespace, budget.name), budget.allowed) <= 0

    def _costs(self, task: Task, budget: DisruptionBudget) -> bool:
        """Whether the eviction of a pod uses up the budget, which selects the pod."""
        return task.name not in budget.disrupted and not (task.unready and budget.spares_unready)

    def _binding(self, task: Task) -> About:
        """The budgets that apply to the eviction of the pod."""
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


def _refusal(names: Sequence[str], message: str) -> Refusal:
    return Refusal("DisruptionBudget", message, code=Code.BUDGET, subject=names[0])


def _name(budget: DisruptionBudget) -> str:
    return f"{budget.namespace}/{budget.name}"


NO_BUDGETS = Budgets({})
