"""The extender of kube-scheduler: it asks before it places a pod, and is told whether the pod's namespace may hold it.

A namespace either may hold a pod or may not, wherever: so all nodes pass, or none does. Five thousand names take longer
to read and to write than the answer takes to find: whole nodes go out again byte for byte, and an answer is sent in the
parts it is made of, since copying a megabyte costs more than making it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

import msgspec
import orjson
from aiohttp import web

from vsched.arbitrator.extender import Asking, ExtenderAnswer
from vsched.mirror import wire
from vsched.mirror.ingest.requests import limits_of, request_of
from vsched.mirror.wire.base import NO_BYTES, Raw, uid_of
from vsched.model.counted import counted_name
from vsched.model.resources import ResourceAxis
from vsched.web.serve.bodies import BadRequest, Intake, decoded, guarded
from vsched.web.serve.routing import Route, as_json

MOST_BYTES = 64 << 20
"""Five thousand whole nodes with long lists of images are some 50 MB."""

UNSEEN_SECONDS = 0.5
"""How long a pod that is not known is waited for; kube-scheduler waits for us 1 s, as we have it configured."""
UNSEEN_MOST = 64
"""As many are waited for at a time."""
LOOK_SECONDS = 0.02
"""Between two looks."""

ABSENT = {
    "prioritize": "which of the nodes is best is kube-scheduler's to say, the arbitrator only counts",
    "preempt": "taking back goes by what namespaces deserve, through the Eviction API, not by priority",
    "bind": "kube-scheduler binds its pods itself; the arbitrator places nothing",
}
"""Verbs that an extender may have and this one has not, each with the reason."""

Parts = tuple[bytes, ...]
"""An answer in JSON, piece by piece."""

_ABSENT = (b"", b"null")


class Admitting(Protocol):
    """Whoever knows what namespaces hold and may hold."""

    def ready(self) -> str:
        """Why there is no answer at the moment: a standby, or a mirror that is not complete; empty where there is."""
        ...

    def judge(self, asking: Asking) -> ExtenderAnswer:
        """Whether the pod may be placed. Must be quick."""
        ...


class _Arguments(msgspec.Struct):
    """ExtenderArgs. Its Go type gives no names for JSON, so fields come as in Go; long ago they came in lower case."""

    pod: Raw = msgspec.field(default=NO_BYTES, name="Pod")
    nodes: Raw = msgspec.field(default=NO_BYTES, name="Nodes")
    names: list[str] | None = msgspec.field(default=None, name="NodeNames")
    old_pod: Raw = msgspec.field(default=NO_BYTES, name="pod")
    old_nodes: Raw = msgspec.field(default=NO_BYTES, name="nodes")
    old_names: list[str] | None = msgspec.field(default=None, name="nodenames")
    camel_names: list[str] | None = msgspec.field(default=None, name="nodeNames")


class _Named(msgspec.Struct):
    name: str


class _Node(msgspec.Struct):
    metadata: _Named


class _NodeList(msgspec.Struct):
    items: list[_Node] | None = None


class Question(msgspec.Struct, frozen=True):
    """What kube-scheduler asks: about which pod, and on which nodes it could run."""

    asking: Asking
    nodes: bytes
    """A NodeList as it came, empty where none did."""
    names: Sequence[str] | None
    """A list of names, None where none came."""
    named: Sequence[str]
    """The names of the nodes, whichever way they came."""


class InParts(web.StreamResponse):
    """An answer whose parts are never put together: the socket takes them as they are."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(headers={"Content-Type": "application/json"})
        self.content_length = sum(map(len, parts))
        self._parts = parts

    async def write_eof(self, data: bytes = b"") -> None:
        """Send them; whoever asks for that once more finds it done."""
        parts, self._parts = self._parts, ()
        for part in parts:
            await self.write(part)
        await super().write_eof(data)


class Unseen:
    """Waits for pods that are asked about before the mirror shows them: only pods that exist are let through.

    kube-scheduler may hear of a pod a moment before we do. What is made up is waited for in vain: that is an error,
    after which kube-scheduler soon tries again (or goes on, if it is told to ignore errors), and no refusal, after
    which it waits for something to change.
    """

    def __init__(self, seconds: float = UNSEEN_SECONDS, most: int = UNSEEN_MOST) -> None:
        self._seconds = seconds
        self._most = most
        self._waiting = 0

    async def judged(self, admitting: Admitting, asking: Asking) -> str | None:
        """Why the pod may not be placed, None where it may; raises BadRequest where there is no such pod."""
        answer = admitting.judge(asking)
        if answer.seen:
            return answer.refusal
        if self._waiting >= self._most:
            raise BadRequest(503, "too many pods at once that are not known here")
        self._waiting += 1
        try:
            ends = asyncio.get_running_loop().time() + self._seconds
            while asyncio.get_running_loop().time() < ends:
                await asyncio.sleep(LOOK_SECONDS)
                answer = admitting.judge(asking)
                if answer.seen:
                    return answer.refusal
        finally:
            self._waiting -= 1
        raise BadRequest(503, f"pod {asking.namespace}/{asking.name} of uid {asking.uid!r} is not known here (yet)")


def extender_routes(admitting: Admitting, most_bytes: int = MOST_BYTES) -> list[Route]:
    """What ``--listen-address`` serves besides while there is arbitration."""
    intake, unseen = Intake(most_bytes), Unseen()

    async def filter_nodes(request: web.Request) -> web.StreamResponse:
        async with intake.body(request) as body:
            problem = admitting.ready()
            if problem:
                raise BadRequest(503, problem)
            question = question_of(body)
            refusal = await unseen.judged(admitting, question.asking)
            return InParts(passed(question) if refusal is None else refused(question, refusal))

    says = "for kube-scheduler: whether the namespace of a pod may hold it"
    return [Route("/extender/filter", guarded(filter_nodes, "Error"), says, "POST"), *map(_absent, ABSENT)]


def _absent(verb: str) -> Route:
    path, says = f"/extender/{verb}", f"absent on purpose: {ABSENT[verb]}"

    async def answer(_: web.Request) -> web.StreamResponse:
        return as_json({"Error": f"{path} is {says}"}, 404)

    return Route(path, answer, says, "*")


def question_of(body: bytes) -> Question:
    """What is asked; raises BadRequest, or BadObject for a pod that makes no sense."""
    arguments = decoded(body, _Arguments)
    pod = _first(arguments.pod, arguments.old_pod)
    if not pod:
        raise BadRequest(400, "Pod: missing (expected ExtenderArgs: Pod, and NodeNames or Nodes)")
    spelt = (arguments.names, arguments.camel_names, arguments.old_names)
    names = next((found for found in spelt if found is not None), None)
    nodes = _first(arguments.nodes, arguments.old_nodes)
    named: Sequence[str] = names or ()
    if names is None and nodes:
        named = [node.metadata.name for node in decoded(msgspec.Raw(nodes), _NodeList, "Nodes").items or ()]
    return Question(asking_of(pod), nodes, names, named)


def asking_of(data: bytes) -> Asking:
    """A pod that is to be placed; raises BadObject, or BadRequest where it does not say of which namespace it is."""
    try:
        pod = wire.decode("Pod", data)
    except (UnicodeDecodeError, RecursionError) as error:
        raise BadRequest(400, f"Pod: {error}") from None
    assert isinstance(pod, wire.Pod)
    metadata = pod.metadata
    if not metadata.namespace:
        raise BadRequest(400, f"{wire.named('Pod', metadata)}: metadata.namespace: missing (expected its namespace)")
    # An axis of its own: whoever can reach this port could make the mirror's grow for ever.
    axis = ResourceAxis()
    amounts = {counted_name(axis.names[column]): value for column, value in request_of(pod, axis).amounts}
    amounts |= limits_of(pod, axis)
    amounts.pop("", None)
    return Asking(metadata.namespace, metadata.name, uid_of(metadata), amounts)


def passed(question: Question) -> Parts:
    """ExtenderFilterResult for a pod that may be placed: every node, as it came."""
    names = b"null" if question.names is None else orjson.dumps(question.names)
    return _result(question.nodes or b"null", names)


def refused(question: Question, refusal: str) -> Parts:
    """ExtenderFilterResult for a pod that may not: no node, and the reason at each.

    The nodes stand under both words for failure. kube-scheduler believes ``FailedAndUnresolvableNodes`` first, and that
    is the truth for its preemption, which looks for pods to be taken from a node until the pod fits there: it fits
    already, so there is nothing to find but an error ("expected at least one victim pod"). ``FailedNodes`` is what
    schedulers read that do not know the other. A pod that comes without nodes gets the reason as ``Error``.
    """
    if question.names is None and not question.nodes:
        return _result(b"null", b"null", error=orjson.dumps(refusal))
    failed = _failures(question.named, refusal)
    if question.names is not None:
        return _result(b"null", b"[]", failed)
    return _result(b'{"metadata":{},"items":[]}', b"null", failed)


def _failures(names: Sequence[str], refusal: str) -> bytes:
    """A map from each name to the reason, which is made JSON once and not five thousand times."""
    if not names or b"\\" in orjson.dumps(names):  # names that JSON has to escape are none that nodes can have
        return orjson.dumps(dict.fromkeys(names, refusal))
    reason = orjson.dumps(refusal).decode()
    between = f'":{reason},"'
    return f'{{"{between.join(names)}":{reason}}}'.encode()


def _result(nodes: bytes, names: bytes, failed: bytes = b"{}", error: bytes = b'""') -> Parts:
    before = (b'{"Nodes":', nodes, b',"NodeNames":', names, b',"FailedNodes":', failed)
    return *before, b',"FailedAndUnresolvableNodes":', failed, b',"Error":', error, b"}"


def _first(*found: Raw) -> bytes:
    return next((bytes(raw) for raw in found if bytes(raw) not in _ABSENT), b"")
