"""pdb: victims stay within the disruption budgets of their pods (reference 4.18).

They do so in any case (``framework.budgets``). Naming the plugin has its tier agree to victims within the budgets, as
in Volcano, where nothing else in that tier has an opinion.
"""

from __future__ import annotations

from vsched.framework.budgets import SPENT
from vsched.framework.points.extension import NoArgs, Plugin, SessionContext
from vsched.framework.points.victims import Preemptable, Purpose, Reclaimable, Votes
from vsched.model.pods.task import Task


class Pdb(Plugin[NoArgs], Preemptable, Reclaimable):
    """Agrees to as many victims as PodDisruptionBudgets allow."""

    name = "pdb"
    protects_absolutely = True

    def open(self, context: SessionContext) -> None:
        """Keep the budgets."""
        self._budgets = context.budgets

    def victim_votes(self, evictor: Task, purpose: Purpose) -> Votes:
        """Those that every budget about them allows, the first to go first."""
        return Votes(self._budgets.allowed, SPENT, depends_on=None, refusal=self._budgets.protects)
