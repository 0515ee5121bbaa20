"""Opens scheduling gates of pods that sessions have admitted: removes the gate of their queue from the object.

A condition of the pod says so first: room is kept for pods that have it, and whoever makes a pod cannot write it.
The mirror counts a gate as open as soon as this is decided, so that no session decides it again. This module reports
only gates that could not be opened. A later session binds the pod, once the watch shows it without the gate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec
import orjson

from vsched.api.resources import PODS
from vsched.controllers import words
from vsched.kube.backoff import BackOff, BackOffSettings
from vsched.kube.client import MERGE_PATCH
from vsched.mirror.ingest.pod_status import LET_IN
from vsched.model.plan import Ungate
from vsched.writes.bodies import pod_reference, pod_status_write
from vsched.writes.events import EventRecorder
from vsched.writes.limits import Attempts
from vsched.writes.workqueue import Workqueue, WorkqueueSettings
from vsched.writes.writer import NOT_PERMITTED, Write, Writer

FINAL = frozenset({NOT_PERMITTED, 404, 409})
"""Codes of answers after which a gate is not tried again: the pod is gone or replaced, or writes are not permitted."""


class GateSettings(msgspec.Struct, frozen=True):
    """Limits of the writes that open gates."""

    workqueue: WorkqueueSettings = WorkqueueSettings(workers=4, per_second=200.0, burst=400.0)
    attempts: Attempts = Attempts(3, first_seconds=0.1, ceiling_seconds=2.0)
    retry: BackOffSettings = BackOffSettings(first_seconds=1.0, ceiling_seconds=60.0)


class _Wish(msgspec.Struct):
    ungate: Ungate
    back_off: BackOff


class GateKeeper:
    """Opens gates; retries each until it is open or cannot be opened."""

    def __init__(
        self,
        writer: Writer,
        events: EventRecorder,
        failed: Callable[[str], None],
    ) -> None:
        self._writer = writer
        self._events = events
        self._failed = failed
        """Called with the uid of each pod whose gate could not be opened."""
        self._settings = GateSettings()
        self.workqueue: Workqueue[str, _Wish] = Workqueue(self._settings.workqueue, self._write)

    async def run(self) -> None:
        """Open queued gates until cancelled."""
        await self.workqueue.run()

    def submit(self, ungated: Iterable[Ungate]) -> None:
        """Queue the gates that a cycle opens."""
        for ungate in ungated:
            if not self.workqueue.put(ungate.uid, _Wish(ungate, BackOff(self._settings.retry))):
                self._failed(ungate.uid)

    async def _write(self, uid: str, wish: _Wish) -> None:
        answer = await self._writer.send(admission_write(wish.ungate), self._settings.attempts)
        if answer.done:
            answer = await self._writer.send(gate_write(wish.ungate), self._settings.attempts)
        if answer.code in FINAL:
            self._failed(uid)
        elif not answer.done:
            about = pod_reference(wish.ungate.namespace, wish.ungate.name, wish.ungate.uid)
            self._events.refused(about, "scheduling gate", answer)
            self.workqueue.put(uid, wish, wish.back_off.next_seconds(answer.asked_seconds))


def admission_write(ungate: Ungate) -> Write:
    """Say that vsched opens the gate of a pod."""
    condition = {
        "type": LET_IN,
        "status": "True",
        "reason": "RoomKept",
        "message": words.QUEUE_RESERVES,
    }
    return pod_status_write(ungate.namespace, ungate.name, ungate.uid, {"conditions": [condition]})


def gate_write(ungate: Ungate) -> Write:
    """Take the gate off a pod: it is the only one, and gates are never added to a pod; the uid makes it this pod."""
    body = orjson.dumps({"metadata": {"uid": ungate.uid}, "spec": {"schedulingGates": None}})
    return Write("pod", "PATCH", PODS.path(ungate.namespace, ungate.name), body, MERGE_PATCH)
