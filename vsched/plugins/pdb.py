"""pdb: agrees to victims within their PodDisruptionBudgets.

The scheduler always respects these budgets, also without this plugin (``framework.budgets``). A policy that names the
plugin makes its tier agree to victims within the budgets where no other plugin of the tier votes, as in Volcano.
"""

from __future__ import annotations

from vsched.framework.points.extension import NoArgs, Plugin, SessionContext
from vsched.framework.points.victims import Preemptable, Purpose, Reclaimable, Votes
from vsched.framework.words.victims import BUDGETS_SPENT
from vsched.model.pods.task import Task


class Pdb(Plugin[NoArgs], Preemptable, Reclaimable):
    """Agrees to as many victims as PodDisruptionBudgets allow."""

    name = "pdb"
    timeless = True
    votes_by_kind = True
    protects_absolutely = True

    def open(self, context: SessionContext) -> None:
        """Keep the budgets."""
        self._budgets = context.budgets

    def victim_votes(self, evictor: Task, purpose: Purpose) -> Votes:
        """The candidates that all their budgets allow; earlier candidates use up the budgets first."""
        return Votes(self._budgets.allowed, BUDGETS_SPENT, depends_on=None, refusal=self._budgets.protects)
