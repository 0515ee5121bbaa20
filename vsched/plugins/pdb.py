"""pdb: victims stay within the disruption budgets of their pods (reference 4.18).

What was evicted earlier in the cycle counts against a budget, unless the budget's status counts it already. As the
Eviction API has it, a pod that has not begun to run costs no budget; a pod that runs and is not ready costs as much as
one that is, so that at worst too few are taken. A pod without labels is as good a victim as any other: only a budget
that selects all pods is about it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from vsched.framework.codes import Code
from vsched.framework.extension import NoArgs, Opening, PlacementListener, Plugin
from vsched.framework.jobs import JobView
from vsched.framework.refusal import Refusal
from vsched.framework.victim_points import Preemptable, Reclaimable, VictimBounds
from vsched.model.budget import DisruptionBudget
from vsched.model.shape import PodLabels
from vsched.model.status import Status
from vsched.model.task import Task

Budgets = tuple[DisruptionBudget, ...]
NO_BUDGETS: Budgets = ()
NAMED_MAX = 3
"""So many budgets are named."""


class Pdb(Plugin[NoArgs], Preemptable, Reclaimable, VictimBounds, PlacementListener):
    """Agrees to as many victims as PodDisruptionBudgets allow."""

    name = "pdb"

    def open(self, opening: Opening) -> None:
        """Keep the budgets; which pods they are about is looked at when asked."""
        self._budgets = opening.snapshot.budgets
        self._about: dict[PodLabels, Budgets] = {}
        self._left: dict[tuple[str, str], int] = {}
        """What this cycle's evictions left of budgets they touched, by namespace and name."""

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> Sequence[Task]:
        """Those that every budget about them allows, the first to go first."""
        return self._allowed(candidates)

    def preemptor_class(self, preemptor: Task) -> Hashable:
        """Who asks makes no difference."""
        return None

    def reclaimable(self, reclaimer: Task, candidates: Sequence[Task]) -> Sequence[Task]:
        """Those that every budget about them allows, the first to go first."""
        return self._allowed(candidates)

    def reclaimer_class(self, reclaimer: Task) -> Hashable:
        """Who asks makes no difference."""
        return None

    def protects(self, kept: Sequence[Task]) -> Refusal | None:
        """The budgets that are used up."""
        spent = sorted(
            {
                f"{budget.namespace}/{budget.name}"
                for victim in kept
                for budget in self._charged(victim)
                if self._left.get((budget.namespace, budget.name), budget.allowed) <= 0
            }
        )
        if not spent:
            return None
        who = (
            f"disruption budget {spent[0]} forbids" if len(spent) == 1 else f"disruption budgets {_list(spent)} forbid"
        )
        return Refusal("DisruptionBudget", f"{who} the only victims", code=Code.BUDGET, subject=spent[0])

    def bounded(self, victims: Sequence[Task]) -> Sequence[Task]:
        """Those that every budget about them allows; the plugin names no victims of its own.

        In the reference it does, and as answers of a tier are joined, all pods would go that budgets allow.
        """
        return self._allowed(victims)

    def on_allocate(self, job: JobView, task: Task, row: int) -> None:
        """An eviction was taken back."""
        self._spend(task, 1)

    def on_release(self, job: JobView, task: Task, row: int) -> None:
        """A pod is to leave, if it was on its node before the cycle."""
        self._spend(task, -1)

    def _allowed(self, candidates: Sequence[Task]) -> Sequence[Task]:
        if not self._budgets:
            return candidates
        left: dict[tuple[str, str], int] = {}
        allowed: list[Task] = []
        for victim in candidates:
            agreed = True
            for budget in self._charged(victim):
                key = (budget.namespace, budget.name)
                # Whoever is not agreed to costs its other budgets all the same, as with kube-scheduler.
                left[key] = left.get(key, self._left.get(key, budget.allowed)) - 1
                agreed = agreed and left[key] >= 0
            if agreed:
                allowed.append(victim)
        return allowed

    def _spend(self, task: Task, by: int) -> None:
        for budget in self._charged(task):
            key = (budget.namespace, budget.name)
            self._left[key] = self._left.get(key, budget.allowed) + by

    def _charged(self, task: Task) -> Budgets:
        """The budgets that the eviction of a pod costs."""
        if task.status is not Status.RUNNING or task.namespace not in self._budgets:
            return NO_BUDGETS
        labels = task.labels
        about = self._about.get(labels)
        if about is None:
            pairs = dict(labels.pairs)
            about = self._about[labels] = tuple(
                budget for budget in self._budgets[task.namespace] if budget.selector.matches(pairs)
            )
        if about and any(task.name in budget.disrupted for budget in about):
            return tuple(budget for budget in about if task.name not in budget.disrupted)
        return about


def _list(names: Sequence[str]) -> str:
    """The first few of many names."""
    return ", ".join(names[:NAMED_MAX]) + (", …" if len(names) > NAMED_MAX else "")
