"""cdp: protects a running pod from eviction for a time after it was scheduled (cool-down protection).

The pod states this time as ``volcano.sh/cooldown-time``, a label or else an annotation.
"""

from __future__ import annotations

from math import inf

from vsched.framework.points.extension import NoArgs, Plugin, SessionContext
from vsched.framework.points.terms import PlacementTerm
from vsched.framework.points.victims import Preemptable, Purpose, Reclaimable, Votes
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.plugins.words import victims


class Cdp(Plugin[NoArgs], Preemptable, Reclaimable):
    """Protects running pods until their cool-down is over."""

    name = "cdp"
    terms = frozenset({PlacementTerm.COOLDOWN})
    protects_absolutely = True
    judges_moves = True

    def open(self, context: SessionContext) -> None:
        """Keep the time of the cycle."""
        self._now, self._until = context.snapshot.now, inf

    def victim_votes(self, evictor: Task, purpose: Purpose) -> Votes:
        """All tasks except running ones in their cool-down."""
        return Votes.each(self._is_cooled, victims.COOLING_DOWN, depends_on=None)

    def lasts_until(self) -> float:
        """Until the first cool-down ends of the pods that it was asked about."""
        return self._until

    def _is_cooled(self, victim: Task) -> bool:
        if victim.protected_until <= self._now or victim.status is not Status.RUNNING:
            return True
        self._until = min(self._until, victim.protected_until)
        return False
