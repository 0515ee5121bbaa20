"""Answers for kube-scheduler (may this pod be placed?) and for the API server's webhook (is this Consumer valid?).

Answers come at once, from the mirror and from the last round of arbitration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vsched.arbitrator.admission import problems
from vsched.arbitrator.extender import ExtenderAnswer, Gate, PlacementRequest, PodState, Seen
from vsched.clock import Clock
from vsched.daemon.words import states as words
from vsched.mirror.mirror import Mirror
from vsched.model.amounts.counted import Counted
from vsched.model.arbitration.records import Bucket, Claim
from vsched.model.pods.status import Status
from vsched.web.findings import Arbitrated, Findings


class Review:
    """Validates Consumers and buckets by the mirror alone, so standbys can do it, too."""

    def __init__(self, mirror: Mirror, ready: Callable[[], str]) -> None:
        self._mirror = mirror
        self.ready = ready
        """Why nothing can be judged yet; empty where it can."""

    def review(self, found: Claim | Bucket) -> tuple[str, ...]:
        """The problems of a Consumer or a bucket, a line each."""
        arbitration = self._mirror.arbitration()
        return problems(found, arbitration, {**self._mirror.total(), **arbitration.storage})


class Admission:
    """Decides about pods that other schedulers want to place.

    It counts the pods it has admitted as used, so only one daemon at a time may decide.
    """

    def __init__(self, mirror: Mirror, findings: Findings, clock: Clock, idle: Callable[[], str] = lambda: "") -> None:
        self._mirror = mirror
        self._findings = findings
        self._clock = clock
        self._idle = idle
        """Why this process does not act at the moment; empty where it does."""
        self.gate = Gate(mirror.held, self._look)
        self._round: Arbitrated | None = None
        """The last round that the gate knows of."""

    def ready(self) -> str:
        """Why there is no answer yet; empty if there is."""
        if self._findings.arbitrated is None:
            return self._idle() or words.NOTHING_DIVIDED
        return self._idle()

    def judge(self, asking: PlacementRequest) -> ExtenderAnswer:
        """Whether a pod may be placed; an admitted pod counts as used from now on."""
        found = self._findings.arbitrated
        if found is not None and found is not self._round:
            self.gate.use(found.division, lends=not found.verdict.promised)
            self._round = found
        self.gate.moved(self._mirror.take_moved())
        return self.gate.judge(asking, self._clock.monotonic())

    def granted(self) -> Mapping[str, Counted]:
        """What admitted pods use, by namespace, until the watch shows them; sessions count it, too."""
        return self.gate.granted(self._clock.monotonic())

    def _look(self, uid: str) -> Seen:
        task = self._mirror.task(uid)
        if task is None:
            return Seen(PodState.UNKNOWN)
        names = self._mirror.axis.names
        amounts = {names[column]: value for column, value in task.shape.request} | dict(task.shape.limits)
        state = PodState.WAITING if task.status is Status.PENDING else PodState.PLACED
        return Seen(state, PlacementRequest(task.namespace, task.name, uid, amounts), ours=bool(task.job))
