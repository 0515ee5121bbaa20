"""What others ask of arbitration: kube-scheduler whether it may place a pod, the API server whether a Consumer will do.

Answered from the mirror as it is at that moment and from the last round; nothing is waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vsched.arbitrator.admission import problems
from vsched.arbitrator.extender import Asking, ExtenderAnswer, Gate, PodState, Seen
from vsched.clock import Clock
from vsched.mirror.cache import Cache
from vsched.model.arbitration import Bucket, Claim
from vsched.model.counted import Counted
from vsched.model.status import Status
from vsched.web.findings import Arbitrated, Findings


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
        self.gate = Gate(cache.held, self._look)
        self._round: Arbitrated | None = None
        """The last round that the gate knows of."""

    def ready(self) -> str:
        """Why nothing can be judged yet; empty where it can."""
        if self._findings.arbitrated is None:
            return self._idle() or "nothing has been divided yet: the mirror is not complete"
        return self._idle()

    def judge(self, asking: Asking) -> ExtenderAnswer:
        """Whether a pod may be placed; what is let through counts as held from now on."""
        found = self._findings.arbitrated
        if found is not None and found is not self._round:
            self.gate.use(found.division, lends=not found.verdict.promised)
            self._round = found
        self.gate.moved(self._cache.take_moved())
        return self.gate.judge(asking, self._clock.monotonic())

    def granted(self) -> Mapping[str, Counted]:
        """What others are about to place, by namespace: sessions count it as held."""
        return self.gate.granted(self._clock.monotonic())

    def _look(self, uid: str) -> Seen:
        task = self._cache.task(uid)
        if task is None:
            return Seen(PodState.UNKNOWN)
        names = self._cache.axis.names
        amounts = {names[column]: value for column, value in task.shape.request} | dict(task.shape.limits)
        sight = PodState.WAITING if task.status is Status.PENDING else PodState.PLACED
        return Seen(sight, Asking(task.namespace, task.name, uid, amounts), ours=bool(task.job))
