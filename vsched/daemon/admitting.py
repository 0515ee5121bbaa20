"""What others ask of arbitration: kube-scheduler whether it may place a pod, the API server whether a Consumer will do.

Answered from the mirror as it is at that moment and from the last round; nothing is waited for.
"""

from __future__ import annotations

from collections.abc import Callable

from vsched.arbitrator.admission import problems
from vsched.arbitrator.extender import Asking, Gate, Sight
from vsched.clock import Clock
from vsched.cluster.cache import Cache
from vsched.model.arbitration import Bucket, Claim
from vsched.model.status import Status
from vsched.web.findings import Findings


class Review:
    """Judges Consumers and buckets that people write, by the mirror alone: standbys do so as well as the leader."""

    def __init__(self, cache: Cache, ready: Callable[[], str]) -> None:
        self._cache = cache
        self.ready = ready
        """Why nothing can be judged yet; empty where it can."""

    def review(self, found: Claim | Bucket) -> tuple[str, ...]:
        """What is wrong with a Consumer or a bucket, a line each."""
        arbitration = self._cache.arbitration()
        return problems(found, arbitration, {**self._cache.total(), **arbitration.storage})


class Admission:
    """Judges pods that other schedulers want to place; what it lets through is on its books, so one alone may judge."""

    def __init__(self, cache: Cache, findings: Findings, clock: Clock, idle: Callable[[], str] = lambda: "") -> None:
        self._cache = cache
        self._findings = findings
        self._clock = clock
        self._idle = idle
        """Why this process does not act at the moment; empty where it does."""
        self.gate = Gate()

    def ready(self) -> str:
        """Why nothing can be judged yet; empty where it can."""
        if self._findings.arbitrated is None:
            return self._idle() or "nothing has been divided yet: the mirror is not complete"
        return self._idle()

    def judge(self, asking: Asking) -> str | None:
        """Why a pod may not be placed, None where it may; what is let through counts as held from now on."""
        found = self._findings.arbitrated
        award = None if found is None else found.award(asking.namespace)
        held = self._cache.held(asking.namespace)
        return self.gate.judge(asking, held, award, self._look, self._clock.monotonic())

    def _look(self, uid: str) -> Sight:
        task = self._cache.task(uid)
        if task is None:
            return Sight.UNKNOWN
        return Sight.WAITING if task.status is Status.PENDING else Sight.PLACED
