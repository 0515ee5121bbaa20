"""pdb: victims stay within the disruption budgets of their pods (reference 4.18).

They do so in any case (``framework.budgets``). Naming the plugin has its tier agree to victims within the budgets, as
in Volcano, where nothing else in that tier has an opinion.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from vsched.framework.extension import NoArgs, Opening, Plugin
from vsched.framework.refusal import Refusal
from vsched.framework.victim_points import Preemptable, Reclaimable
from vsched.model.task import Task


class Pdb(Plugin[NoArgs], Preemptable, Reclaimable):
    """Agrees to as many victims as PodDisruptionBudgets allow."""

    name = "pdb"
    protects_absolutely = True

    def open(self, opening: Opening) -> None:
        """Keep the budgets."""
        self._budgets = opening.budgets

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> Sequence[Task]:
        """Those that every budget about them allows, the first to go first."""
        return self._budgets.allowed(candidates)

    def preemptor_class(self, preemptor: Task) -> Hashable:
        """Who asks makes no difference."""
        return None

    def reclaimable(self, reclaimer: Task, candidates: Sequence[Task]) -> Sequence[Task]:
        """Those that every budget about them allows, the first to go first."""
        return self._budgets.allowed(candidates)

    def reclaimer_class(self, reclaimer: Task) -> Hashable:
        """Who asks makes no difference."""
        return None

    def protects(self, kept: Sequence[Task]) -> Refusal | None:
        """The budgets that are used up."""
        return self._budgets.protects(kept)
