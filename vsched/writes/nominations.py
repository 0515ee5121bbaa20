"""Nominated nodes on their way to the pods: the latest wish of each, repeated until it is written.

The mirror takes a nomination for granted as soon as it is decided; here it is only told in which version the pod's
object shows it, or that the object is no more.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from vsched.kube.backoff import doubled
from vsched.model.plan import CycleReport, Nominate
from vsched.writes.bodies import pod_status_write
from vsched.writes.limits import Attempts
from vsched.writes.workqueue import Workqueue, WorkqueueSettings
from vsched.writes.writer import NOT_PERMITTED, Writer

Told = Callable[[Nominate, str | None], None]
"""Told of each nomination: the resourceVersion it was written as, None where it cannot be."""

FINAL = frozenset({NOT_PERMITTED, 404, 409, 422})
"""The pod is gone, another of its name has taken its place, or nothing may be written any more."""


class NominationSettings(msgspec.Struct, frozen=True):
    """Bounds of writing nominations."""

    lane: WorkqueueSettings = WorkqueueSettings(workers=4, per_second=200.0, burst=400.0)
    attempts: Attempts = Attempts(3, first_seconds=0.1, ceiling_seconds=2.0)
    repeat_seconds: float = 1.0
    """The wait before a failed write is repeated, doubling up to the ceiling."""
    repeat_ceiling_seconds: float = 60.0


class _Wish(msgspec.Struct):
    nomination: Nominate
    failures: int = 0


class Nominations:
    """Writes ``nominatedNodeName`` of pods that wait for others to leave, and takes it back."""

    def __init__(self, writer: Writer, settings: NominationSettings, told: Told) -> None:
        self._writer = writer
        self._settings = settings
        self._told = told
        self._wishes: dict[str, _Wish] = {}
        """By uid: what is not written yet. Bounded by the lane."""
        self.lane: Workqueue[str, _Wish] = Workqueue(settings.lane, self._write)

    def submit(self, report: CycleReport) -> None:
        """Take note of what is to be written at once; a pod that is bound needs no nomination any more."""
        for nomination in report.nominations:
            if not nomination.lasting:
                continue
            wish = _Wish(nomination)
            if self.lane.put(nomination.uid, wish):
                self._wishes[nomination.uid] = wish
            else:
                self._told(nomination, None)
        for bind in report.binds:
            if self._wishes.pop(bind.uid, None) is not None:
                self.lane.discard(bind.uid)

    async def _write(self, uid: str, wish: _Wish) -> None:
        nomination = wish.nomination
        status = {"nominatedNodeName": nomination.node or None}
        write = pod_status_write(nomination.namespace, nomination.name, uid, status)
        answer = await self._writer.send(write, self._settings.attempts)
        if self._wishes.get(uid) is not wish:
            return  # wished otherwise meanwhile, or bound
        if answer.done or answer.code in FINAL:
            del self._wishes[uid]
            self._told(nomination, answer.resource_version)
            return
        wish.failures += 1
        settings = self._settings
        self.lane.put(uid, wish, doubled(settings.repeat_seconds, settings.repeat_ceiling_seconds, wish.failures))
