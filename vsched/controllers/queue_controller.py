"""The controller of queue states: opens and closes queues as requested, and creates the queues that must exist.

It is level-triggered: a queue is checked when anything that its state depends on has changed, and again while a write
fails. Every write names the resourceVersion it was decided on, so a write based on outdated data is refused (409) and
the queue is checked again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import msgspec
import orjson

from vsched import api
from vsched.api.resources import QUEUES
from vsched.controllers import words
from vsched.controllers.queue_records import Order, QueueRecord, QueueRecords
from vsched.controllers.queues import (
    ACTIONS,
    STATE_WISH,
    WISHES,
    QueueDecision,
    boot_queues,
    decide,
    refusal_of,
)
from vsched.errors import VschedError
from vsched.kube.backoff import BackOff, BackOffs, BackOffSettings
from vsched.kube.client import MERGE_PATCH, ApiClient, Json
from vsched.kube.errors import NotFound
from vsched.kube.watch.deltas import PartsSink
from vsched.model.jobs.native import QueueMember
from vsched.model.queues.queue import CLOSED_BY_PARENT, CLOSING, ROOT, UNKNOWN
from vsched.writes.bodies import ObjectReference, queue_path, queue_reference
from vsched.writes.events import NORMAL, WARNING, EventRecorder
from vsched.writes.limits import Attempts
from vsched.writes.status.writer import ServedResources
from vsched.writes.workqueue import Workqueue, WorkqueueSettings
from vsched.writes.writer import Write, Writer, WriteResult

Worry = Callable[..., None]
"""Logs a warning: a sentence, and fields."""


class QueueControllerSettings(msgspec.Struct, frozen=True):
    """Limits and backoff of writes about queue states."""

    workqueue: WorkqueueSettings = WorkqueueSettings(workers=4, per_second=100.0, burst=200.0)
    attempts: Attempts = Attempts(4, first_seconds=0.1, ceiling_seconds=2.0)
    retry: BackOffSettings = BackOffSettings(first_seconds=0.2, ceiling_seconds=60.0)
    """Backoff after failed writes, those refused for an outdated version included."""


class QueueController:
    """Keeps the states of queues as their requests and PodGroups demand."""

    def __init__(
        self,
        client: ApiClient,
        writer: Writer,
        events: EventRecorder,
        default_queue: str,
        namespaces: frozenset[str],
        worry: Worry,
    ) -> None:
        self._client = client
        self._writer = writer
        self._served = ServedResources(client)
        self._events = events
        self._default_queue = default_queue
        self._worry = worry
        self._settings = QueueControllerSettings()
        self._records = QueueRecords(default_queue, namespaces, self._touched, self._refuse)
        self._done: dict[str, set[str]] = {}
        """Uids of Commands that are carried out and deleted, but still shown by the watch; by queue."""
        self._blamed: dict[str, str] = {}
        """Invalid annotations already reported, by queue."""
        self._back_offs = BackOffs(self._settings.retry)
        """By queue, for those with a failed write."""
        self._workqueue: Workqueue[str, None] = Workqueue(self._settings.workqueue, self._look)

    @property
    def sinks(self) -> Mapping[str, PartsSink[api.Object]]:
        """The sink for each kind that has to be watched."""
        return self._records.feeds

    def member(self, found: QueueMember) -> None:
        """The mirror shows a job without a PodGroup of Volcano in this queue."""
        self._records.member(found)

    def mirror_complete(self) -> None:
        """The mirror knows the jobs that there are."""
        self._records.mirror_complete()

    async def run(self) -> None:
        """Run the controller until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._workqueue.run(), name="queue-states")
            group.create_task(self._make_missing(), name="queues-there-must-be")

    def _touched(self, name: str) -> None:
        self._workqueue.put(name, None)

    # -- one queue

    async def _look(self, name: str, _: None) -> None:
        try:
            settled = await self._settle(name)
        except VschedError:
            settled = False
        if settled:
            self._back_offs.forget(name)
        else:
            self._workqueue.put(name, None, self._back_offs.next_seconds(name))

    async def _settle(self, name: str) -> bool:
        """Bring one queue up to date; False if part of it failed. Raises what the client raises."""
        record, command = self._records.queue(name), self._next_command(name)
        if record is None:
            self._blamed.pop(name, None)
        if command is not None and (record is None or command.target_uid not in ("", record.uid)):
            return await self._dismiss(name, command)
        if record is None or not record.readable:
            return True  # requests for a queue that cannot be decoded wait until it can be
        self._complain_of_wish(record)
        if command is not None:
            return await self._obey(record, command)
        return await self._carry_out(record, decide(self._records.standing(record)), "")

    def _next_command(self, name: str) -> Order | None:
        """The oldest Command for a queue that is not carried out yet."""
        orders = self._records.orders(name)
        done = self._done.get(name)
        if done is not None:
            done &= {order.uid for order in orders}
            if not done:
                del self._done[name]
        return next((order for order in orders if not done or order.uid not in done), None)

    async def _obey(self, record: QueueRecord, command: Order) -> bool:
        """Carry out a Command or record why not, and delete it."""
        standing = self._records.standing(record)
        asked = ACTIONS.get(command.action, "")
        verdict = decide(standing, asked)
        refusal = verdict.refusal
        if refusal and await self._is_behind(standing.parent):
            return False
        if not asked:
            refusal = words.unknown_action(command.action, " or ".join(ACTIONS))
        if not await self._carry_out(record, verdict, "" if refusal else f" as {command} asks"):
            return False
        if refusal:
            about = queue_reference(record.name, record.uid)
            self._events.record(about, WARNING, "CommandRefused", f"{command}: {refusal}")
        return await self._remove(record.name, command)

    async def _dismiss(self, name: str, command: Order) -> bool:
        """Delete a Command whose queue is gone; False if the queue exists and only the watch is behind."""
        try:
            found = await self._client.get(queue_path(name, subresource=False))
        except NotFound:
            pass
        else:
            if command.target_uid in ("", _said(found, "uid")):
                return False
        message = words.no_queue(name, any_more=bool(command.target_uid))
        self._events.record(command.reference, WARNING, "CommandRefused", message)
        return await self._remove(name, command)

    async def _is_behind(self, name: str) -> bool:
        """Whether a queue has changed since the watch last delivered it; checked before a request is refused."""
        record = self._records.queue(name)
        if record is None:
            return False
        found = await self._client.get(queue_path(name, subresource=False))
        return _said(found, "resourceVersion") != record.version

    async def _remove(self, name: str, command: Order) -> bool:
        answer = await self._writer.send(command.deletion, self._settings.attempts)
        self._events.refused(command.reference, str(command), answer, "DELETE")
        if not answer.done and answer.code != 404:
            return False
        self._done.setdefault(name, set()).add(command.uid)
        return True

    def _refuse(self, about: ObjectReference, message: str) -> None:
        """Record an Event on a Command that is not carried out; it is not deleted, as another controller may own it."""
        self._events.record(about, WARNING, "CommandRefused", message)

    def _complain_of_wish(self, record: QueueRecord) -> None:
        """Report an invalid annotation once, by an Event."""
        problem = ""
        if record.wish and record.wish not in WISHES:
            problem = words.unknown_state(record.wish[:40], " or ".join(WISHES))
        elif record.name == ROOT and record.wish:
            problem = refusal_of(self._records.standing(record), WISHES[record.wish])
        if not problem:
            self._blamed.pop(record.name, None)
        elif self._blamed.get(record.name) != record.wish:
            self._blamed[record.name] = record.wish
            message = f"metadata.annotations[{STATE_WISH}]: {problem}"
            self._events.record(queue_reference(record.name, record.uid), WARNING, "BadQueueState", message)

    # -- writing

    async def _carry_out(self, record: QueueRecord, verdict: QueueDecision, because: str) -> bool:
        """Write what differs, and always the state if it was requested; False if a write failed.

        The mark that a queue is closed because of its parent is set before it is closed, and removed after it is open.
        So the queue is opened again even if the process ends in between.
        """
        version = record.version
        notes: dict[str, str | None] = {}
        if verdict.by_parent and not record.by_parent:
            notes[CLOSED_BY_PARENT] = "true"
        if verdict.wish != WISHES.get(record.wish, ""):
            notes[STATE_WISH] = next(word for word, state in WISHES.items() if state == verdict.wish)
        if notes:
            noted = await self._annotate(record, notes, version)
            if noted is None:
                return False
            version = noted
        if because or verdict.state != record.state:
            if not await self._set_state(record, verdict.state, version):
                return False
            self._tell(record, verdict, because)
        if record.by_parent and not verdict.by_parent:
            return await self._annotate(record, {CLOSED_BY_PARENT: None}, "") is not None
        return True

    async def _annotate(self, record: QueueRecord, notes: Mapping[str, str | None], version: str) -> str | None:
        """Set annotations of a queue, over this version only where one is given; the new version, None on failure."""
        body = orjson.dumps({"metadata": {"annotations": notes, **_over(version)}})
        write = Write("queue", "PATCH", queue_path(record.name, subresource=False), body, MERGE_PATCH)
        return (await self._send(record, write, "annotations")).resource_version

    async def _set_state(self, record: QueueRecord, state: str, version: str) -> bool:
        subresource = await self._served.has("queues/status")
        body = orjson.dumps({"metadata": _over(version), "status": {"state": state}})
        write = Write("queue", "PATCH", queue_path(record.name, subresource), body, MERGE_PATCH)
        answer = await self._send(record, write, f"state {state}")
        if answer.code == 404:
            # The object is gone, or its definition has changed meanwhile.
            self._served.forget()
        return answer.done

    async def _send(self, record: QueueRecord, write: Write, what: str) -> WriteResult:
        """Send a write about a queue, and say on the queue why it was refused."""
        answer = await self._writer.send(write, self._settings.attempts)
        self._events.refused(queue_reference(record.name, record.uid), what, answer)
        return answer

    def _tell(self, record: QueueRecord, verdict: QueueDecision, because: str) -> None:
        """Record an Event about the new state of a queue; none for a new queue that is open."""
        about = queue_reference(record.name, record.uid)
        if verdict.state == UNKNOWN:
            message = words.unknown_status(record.state[:40])
            self._events.record(about, WARNING, "QueueUnknown", message)
        elif record.state and verdict.state != record.state:
            parent = words.WITH_ITS_PARENT if verdict.by_parent and not because else ""
            left = self._records.standing(record).podgroups if verdict.state == CLOSING else 0
            remain = f"; {left} job{'s remain' if left > 1 else ' remains'}" if left else ""
            self._events.record(
                about, NORMAL, f"Queue{verdict.state}", f"{record.state} to {verdict.state}{because or parent}{remain}"
            )

    async def _make_missing(self) -> None:
        """Create the queues that must exist; existing ones stay as they are."""
        await self._records.complete.wait()
        for name, body in boot_queues(self._default_queue).items():
            back_off = BackOff(self._settings.retry)
            while self._records.queue(name) is None:
                write = Write("queue", "POST", QUEUES.path(), orjson.dumps(body))
                answer = await self._writer.send(write, self._settings.attempts)
                if answer.done or answer.code == 409:
                    break
                if not back_off.failures:
                    self._worry(words.QUEUE_CANNOT_BE_CREATED, queue=name, problem=answer.message)
                await asyncio.sleep(back_off.next_seconds())


def _said(found: Json, field: str) -> object:
    """A field of an object's metadata; robust against unexpected answers."""
    metadata = found.get("metadata")
    return metadata.get(field) if isinstance(metadata, dict) else None


def _over(version: str) -> dict[str, str]:
    """Metadata for a patch that the API server refuses over any other version."""
    return {"resourceVersion": version} if version else {}
