"""Writes nominated nodes to pods: the latest nomination of each, retried until it is written.

The mirror assumes a nomination as soon as it is decided. This module reports the resourceVersion in which the pod
shows it, or that the pod is gone.
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

OnNominated = Callable[[Nominate, str | None], None]
"""Called for each nomination with the resourceVersion it was written as, None where it cannot be written."""

FINAL = frozenset({NOT_PERMITTED, 404, 409, 422})
"""The pod is gone, another of its name has taken its place, or nothing may be written any more."""


class NominationSettings(msgspec.Struct, frozen=True):
    """Bounds of writing nominations."""

    workqueue: WorkqueueSettings = WorkqueueSettings(workers=4, per_second=200.0, burst=400.0)
    attempts: Attempts = Attempts(3, first_seconds=0.1, ceiling_seconds=2.0)
    repeat_seconds: float = 1.0
    """The wait before a failed write is repeated; it doubles up to the ceiling."""
    repeat_ceiling_seconds: float = 60.0


class _Pending(msgspec.Struct):
    nomination: Nominate
    failures: int = 0


class Nominations:
    """Writes ``nominatedNodeName`` of pods that wait for others to leave, and takes it back."""

    def __init__(self, writer: Writer, settings: NominationSettings, on_nominated: OnNominated) -> None:
        self._writer = writer
        self._settings = settings
        self._on_nominated = on_nominated
        self._unwritten: dict[str, _Pending] = {}
        """By uid: what is not written yet. Bounded by the workqueue."""
        self.workqueue: Workqueue[str, _Pending] = Workqueue(settings.workqueue, self._write)

    def submit(self, report: CycleReport) -> None:
        """Queue the nominations of a cycle; a pod that is bound needs none any more."""
        for nomination in report.lasting_nominations:
            pending = _Pending(nomination)
            if self.workqueue.put(nomination.uid, pending):
                self._unwritten[nomination.uid] = pending
            else:
                self._on_nominated(nomination, None)
        for bind in report.binds:
            if self._unwritten.pop(bind.uid, None) is not None:
                self.workqueue.discard(bind.uid)

    async def _write(self, uid: str, pending: _Pending) -> None:
        nomination = pending.nomination
        status = {"nominatedNodeName": nomination.node or None}
        write = pod_status_write(nomination.namespace, nomination.name, uid, status)
        answer = await self._writer.send(write, self._settings.attempts)
        if self._unwritten.get(uid) is not pending:
            return  # another nomination has replaced it, or the pod is bound
        if answer.done or answer.code in FINAL:
            del self._unwritten[uid]
            self._on_nominated(nomination, answer.resource_version)
            return
        pending.failures += 1
        settings = self._settings
        self.workqueue.put(
            uid, pending, doubled(settings.repeat_seconds, settings.repeat_ceiling_seconds, pending.failures)
        )
