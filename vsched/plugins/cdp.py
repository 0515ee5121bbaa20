"""cdp: a running pod is nobody's victim for a while after it was scheduled (cool-down protection, reference 4.19).

The pod says for how long (``volcano.sh/cooldown-time``, a label or else an annotation).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from vsched.framework.extension import NoArgs, Opening, Plugin
from vsched.framework.victim_points import Preemptable, Reclaimable
from vsched.model.status import Status
from vsched.model.task import Task


class Cdp(Plugin[NoArgs], Preemptable, Reclaimable):
    """Keeps pods out of the victims until their cool-down is over."""

    name = "cdp"
    protects_absolutely = True

    def open(self, opening: Opening) -> None:
        """Note the time."""
        self._now = opening.snapshot.now

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> Sequence[Task]:
        """All but those that run and were scheduled a short while ago."""
        return self._cooled(candidates)

    def preemptor_class(self, preemptor: Task) -> Hashable:
        """Who asks makes no difference."""
        return None

    def reclaimable(self, reclaimer: Task, candidates: Sequence[Task]) -> Sequence[Task]:
        """All but those that run and were scheduled a short while ago."""
        return self._cooled(candidates)

    def reclaimer_class(self, reclaimer: Task) -> Hashable:
        """Who asks makes no difference."""
        return None

    def _cooled(self, candidates: Sequence[Task]) -> list[Task]:
        now = self._now
        return [victim for victim in candidates if victim.protected_until <= now or victim.status is not Status.RUNNING]
