"""Carries placements out: one POST of a binding a pod, many in flight, and the outcome back by callback.

A success is only confirmed by the watch. A failure is told once it is certain: an answer that was lost may have been a
success, so the pod is read before its place is given to another one.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from enum import StrEnum

import msgspec
import orjson
from msgspec.structs import replace

from vsched.api.pods import Pod
from vsched.api.resources import PODS
from vsched.errors import UNREADABLE, Unavailable
from vsched.kube.client import ApiClient
from vsched.kube.errors import ApiError, NotFound
from vsched.kube.watch.bounds import LoopTurns
from vsched.model.plan import Bind
from vsched.writes import words
from vsched.writes.limits import Attempts
from vsched.writes.outgoing import Outgoing
from vsched.writes.writer import NO_ANSWER, NOT_PERMITTED, RETRIED, Write, Writer, WriteResult

SLICE_SECONDS = 0.005
"""How long what is left at the end is dropped before others have their turn."""
_LACKS_RIGHTS = re.compile(r'User "[^"]*" cannot create resource')
_ASSIGNED = re.compile(r'is already assigned to node "([^"]*)"')


class BindOutcome(StrEnum):
    """What became of a placement."""

    BOUND = "bound"
    GONE = "gone"
    """The pod is no more."""
    REFUSED = "refused"
    """The API server will not have it: another node, another uid, a gate, bad content."""
    GAVE_UP = "gave-up"
    """No usable answer after all attempts, and the pod has no node."""
    UNDONE = "undone"
    """Never sent: what the gang claims could not be had, and all of it was given back."""
    DROPPED = "dropped"
    """Never sent: the queue was full, or the process is on its way out or may not write."""


class Outcome(msgspec.Struct, frozen=True):
    """A placement and what became of it."""

    bind: Bind
    verdict: BindOutcome
    code: int = NO_ANSWER
    message: str = ""
    seconds: float = 0.0
    found_done: bool = False
    """The first thing the API server said was that the pod has this node already."""
    by_admission: bool = False
    """Whether admission refused it, which concerns this pod on this node and does not pass by itself."""
    elsewhere: str = ""
    """The node that the pod has already, where that is another one."""

    @property
    def bound(self) -> bool:
        return self.verdict is BindOutcome.BOUND


class DispatchSettings(msgspec.Struct, frozen=True):
    """Bounds of the dispatcher."""

    max_in_flight: int = 32
    """Requests on the wire at once; beyond 64 one client process only gets slower."""
    queue_limit: int = 100_000
    """Placements waiting to be sent; what a cycle decides beyond it is forgotten and decided again."""
    attempts: Attempts = Attempts(4, first_seconds=0.05, ceiling_seconds=1.0)


def binding_write(bind: Bind) -> Write:
    """The request that binds a pod; the uid keeps it from binding a newer pod of the same name."""
    metadata: dict[str, object] = {"name": bind.name, "namespace": bind.namespace, "uid": bind.uid}
    if bind.annotations:  # the API server gives them to the pod
        metadata["annotations"] = dict(bind.annotations)
    body = orjson.dumps(
        {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": metadata,
            "target": {"apiVersion": "v1", "kind": "Node", "name": bind.node},
        }
    )
    return Write("binding", "POST", PODS.path(bind.namespace, bind.name, "binding"), body)


def judge(bind: Bind, answer: WriteResult) -> BindOutcome:
    """What an answer means for a placement."""
    if answer.done or assigned(answer) == bind.node:  # a repeat after a lost answer finds its own work done
        return BindOutcome.BOUND
    if answer.code == 404:
        return BindOutcome.GONE
    if answer.code == NOT_PERMITTED:
        return BindOutcome.DROPPED
    return BindOutcome.GAVE_UP if answer.code in RETRIED else BindOutcome.REFUSED


def assigned(answer: WriteResult) -> str:
    """The node that the pod has already, as a conflict says it; empty where the answer says nothing of the kind."""
    found = _ASSIGNED.search(answer.message) if answer.code == 409 else None
    return found[1] if found else ""


def is_doubtful(answer: WriteResult) -> bool:
    """Whether a binding that failed in the end may have been done by an attempt whose answer was lost."""
    return (answer.code in RETRIED or answer.attempts > 1) and not assigned(answer)


async def node_of(client: ApiClient, bind: Bind) -> str | None:
    """The node that the pod has by what the API server says now, empty for none; None where the pod is gone.

    Raises ApiError, or Unavailable where the server does not say.
    """
    try:
        answer = await client.request("GET", PODS.path(bind.namespace, bind.name), attempts=1)
        found = msgspec.json.decode(answer.body, type=Pod)
    except NotFound:
        return None
    except UNREADABLE as error:
        raise Unavailable(words.pod_cannot_be_read(error)) from error
    return (found.spec.node_name or "") if found.metadata.uid == bind.uid else None


def refused_by_admission(answer: WriteResult) -> bool:
    """Whether admission will not have this pod on this node: no lack of our own rights, and no namespace that goes."""
    if answer.code == 403:
        return not answer.namespace_ends and not _LACKS_RIGHTS.search(answer.message)
    return answer.code in (400, 422)


Notes = Callable[[Bind], tuple[tuple[str, str], ...]]


def no_notes(bind: Bind) -> tuple[tuple[str, str], ...]:
    """No further annotations."""
    return ()


class Dispatcher(Outgoing[Bind]):
    """Sends bindings. It accepts nothing new once it is draining."""

    what = "binding"

    def __init__(
        self,
        client: ApiClient,
        writer: Writer,
        on_outcome: Callable[[Outcome], None],
        settings: DispatchSettings,
        notes: Notes = no_notes,
    ) -> None:
        """``notes`` gives further annotations to a pod that is bound: they cost no write of their own."""
        super().__init__(writer, settings.max_in_flight, settings.queue_limit)
        self._client = client
        self._told = on_outcome
        self._open: dict[str, Bind] = {}
        self._attempts = settings.attempts
        self._closed = False
        self._notes = notes

    def _submit(self, item: Bind) -> None:
        self._open[item.uid] = item
        if self._closed:
            self._drop(item, words.STOPPING)
        else:
            super()._submit(item)

    async def drain(self, deadline_seconds: float) -> int:
        """Take nothing new, wait for what is queued and in flight; drops and counts what is left at the deadline."""
        self._closed = True
        left = await super().drain(deadline_seconds)
        turns = LoopTurns(SLICE_SECONDS)
        for bind in self._workqueue.take_all():
            self._drop(bind, words.STOPPING)
            if turns.over:
                await turns.turn()
        return left

    @property
    def under_way(self) -> Mapping[str, Bind]:
        """By the pod's uid, what was submitted and has no outcome yet."""
        return self._open

    def _on_outcome(self, outcome: Outcome) -> None:
        if self._open.get(outcome.bind.uid) is outcome.bind:  # else the pod has a newer decision
            del self._open[outcome.bind.uid]
        self._told(outcome)

    async def _carry_out(self, item: Bind) -> None:
        await self._bind(item)

    async def _bind(self, item: Bind) -> bool:
        """Send a binding, say what became of it, and return whether the pod is bound."""
        answer = await self._send(item, self._write, self._attempts)
        verdict, elsewhere = judge(item, answer), assigned(answer)
        if verdict in (BindOutcome.GAVE_UP, BindOutcome.REFUSED) and is_doubtful(answer):
            verdict, elsewhere = await self._made_certain(item, verdict)
        refused = verdict is BindOutcome.REFUSED
        outcome = Outcome(
            item,
            verdict,
            answer.code,
            answer.message,
            answer.seconds,
            found_done=assigned(answer) == item.node and answer.attempts == 1,
            by_admission=refused and refused_by_admission(answer),
            elsewhere=elsewhere if refused else "",
        )
        self._on_outcome(outcome)
        return verdict is BindOutcome.BOUND

    async def _made_certain(self, item: Bind, verdict: BindOutcome) -> tuple[BindOutcome, str]:
        """Read the pod until the API server says whether it was bound: meanwhile its place is kept.

        Returns the verdict and the node that the pod has; the verdict stands where it has none, or may not be read.
        """
        back_off = self._attempts.back_off()
        while self._writer.permitted:
            try:
                node = await node_of(self._client, item)
            except (ApiError, Unavailable) as error:
                if isinstance(error, ApiError) and error.code not in RETRIED:
                    return verdict, ""
                await asyncio.sleep(back_off.next_seconds())
                continue
            if node is None:
                return BindOutcome.GONE, ""
            if not node:
                return verdict, ""
            return (BindOutcome.BOUND if node == item.node else BindOutcome.REFUSED), node
        return BindOutcome.DROPPED, ""

    def _write(self, item: Bind) -> Write:
        notes = self._notes(item)
        return binding_write(replace(item, annotations=(*item.annotations, *notes)) if notes else item)

    def _drop(self, item: Bind, why: str) -> None:
        self._on_outcome(Outcome(item, BindOutcome.DROPPED, message=why))
