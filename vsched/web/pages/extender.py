"""An extender for kube-scheduler, which calls it before it places a pod: may the pod's namespace use that much more?

The answer is the same for all nodes, so all pass the filter or none. Reading and writing five thousand names takes
longer than the decision: nodes are sent back byte for byte, and an answer is sent in parts rather than copied together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Protocol, TypedDict

import msgspec
import orjson
from aiohttp import web

from vsched import api
from vsched.api.base import NO_BYTES, Raw, uid_of
from vsched.arbitrator.extender import ExtenderAnswer, PlacementRequest
from vsched.mirror.ingest.requests import limits_of, request_of
from vsched.model.amounts.counted import counted_name
from vsched.model.amounts.resources import ResourceAxis
from vsched.web.serve.bodies import Intake, RequestError, decoded, guarded
from vsched.web.serve.routing import Contract, Route, as_json
from vsched.web.words import answers as answers_words
from vsched.web.words import routes as words

MOST_BYTES = 64 << 20
"""Five thousand whole nodes with long lists of images are some 50 MB."""

UNSEEN_SECONDS = 0.5
"""How long to wait for an unknown pod; kube-scheduler is configured to wait 1 s for an answer."""
UNSEEN_MOST = 64
"""How many requests may wait for unknown pods at a time."""
LOOK_SECONDS = 0.02
"""Between two checks."""

ABSENT = {
    "prioritize": words.KUBE_SCHEDULER_SCORES,
    "preempt": words.ARBITRATOR_EVICTS,
    "bind": words.KUBE_SCHEDULER_BINDS,
}
"""Verbs of extenders that this one does not have, each with the reason."""

Parts = tuple[bytes, ...]
"""An answer in JSON, piece by piece."""

_ABSENT = (b"", b"null")


class Admitting(Protocol):
    """What the routes need of arbitration."""

    def ready(self) -> str:
        """Why there is no answer now (a standby, an incomplete mirror); empty if there is."""
        ...

    def judge(self, asking: PlacementRequest) -> ExtenderAnswer:
        """Whether the pod may be placed. It must return at once."""
        ...


class _Arguments(msgspec.Struct):
    """ExtenderArgs. Its Go type has no names for JSON, so fields are named as in Go; in old versions in lower case."""

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
    """A request: a pod, and the nodes it could run on."""

    asking: PlacementRequest
    nodes: bytes
    """The NodeList as received, empty without one."""
    names: Sequence[str] | None
    """The list of names, None without one."""
    named: Sequence[str]
    """The names of the nodes from either list."""


class InParts(web.StreamResponse):
    """An answer that is written to the socket part by part."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(headers={"Content-Type": "application/json"})
        self.content_length = sum(map(len, parts))
        self._parts = parts

    async def write_eof(self, data: bytes = b"") -> None:
        """Send the parts; a second call sends nothing."""
        parts, self._parts = self._parts, ()
        for part in parts:
            await self.write(part)
        await super().write_eof(data)


class ExtenderError(TypedDict):
    """An answer where there is none, as kube-scheduler reads it."""

    Error: str


class ExtenderFilterResult(TypedDict):
    """The answer: all nodes or none."""

    Nodes: dict[str, Any] | None
    NodeNames: list[str] | None
    FailedNodes: dict[str, str]
    FailedAndUnresolvableNodes: dict[str, str]
    Error: str


_REFUSED = Contract((ExtenderError,), status=404)


class Unseen:
    """Waits for pods that the mirror does not show yet, as only existing pods may be admitted.

    kube-scheduler may see a pod a moment before this daemon. A pod that does not appear is an error, after which
    kube-scheduler soon retries (or goes on, if the extender is ignorable). A refusal would make it wait for a change.
    """

    def __init__(self, seconds: float = UNSEEN_SECONDS, most: int = UNSEEN_MOST) -> None:
        self._seconds = seconds
        self._most = most
        self._waiting = 0

    async def judged(self, admitting: Admitting, asking: PlacementRequest) -> str | None:
        """Why the pod may not be placed, None where it may; raises RequestError where there is no such pod."""
        answer = admitting.judge(asking)
        if answer.seen:
            return answer.refusal
        if self._waiting >= self._most:
            raise RequestError(503, answers_words.TOO_MANY_UNKNOWN_PODS)
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
        raise RequestError(503, answers_words.pod_not_known(asking.namespace, asking.name, asking.uid))


def extender_routes(admitting: Admitting, most_bytes: int = MOST_BYTES) -> list[Route]:
    """The routes for ``--listen-address``, with arbitration."""
    intake, unseen = Intake(most_bytes), Unseen()

    async def filter_nodes(request: web.Request) -> web.StreamResponse:
        async with intake.body(request) as body:
            problem = admitting.ready()
            if problem:
                raise RequestError(503, problem)
            question = question_of(body)
            refusal = await unseen.judged(admitting, question.asking)
            return InParts(passed(question) if refusal is None else refused(question, refusal))

    contract = Contract((ExtenderFilterResult,), takes=dict[str, Any], errors=ExtenderError)
    answer = guarded(filter_nodes, "Error")
    route = Route("/extender/filter", answer, words.EXTENDER_FILTER, "POST", contract=contract)
    return [route, *map(_absent, ABSENT)]


def _absent(verb: str) -> Route:
    path, says = f"/extender/{verb}", words.not_offered(ABSENT[verb])

    async def answer(_: web.Request) -> web.StreamResponse:
        return as_json({"Error": f"{path} is {says}"}, 404)

    return Route(path, answer, says, "*", contract=_REFUSED)


def question_of(body: bytes) -> Question:
    """The request in a body; raises RequestError, or BadObject for an invalid pod."""
    arguments = decoded(body, _Arguments)
    pod = _first(arguments.pod, arguments.old_pod)
    if not pod:
        raise RequestError(400, answers_words.POD_MISSING)
    spelt = (arguments.names, arguments.camel_names, arguments.old_names)
    names = next((found for found in spelt if found is not None), None)
    nodes = _first(arguments.nodes, arguments.old_nodes)
    named: Sequence[str] = names or ()
    if names is None and nodes:
        named = [node.metadata.name for node in decoded(msgspec.Raw(nodes), _NodeList, "Nodes").items or ()]
    return Question(asking_of(pod), nodes, names, named)


def asking_of(data: bytes) -> PlacementRequest:
    """The pod that is to be placed; raises BadObject, or RequestError without a namespace."""
    try:
        pod = api.decode("Pod", data)
    except (UnicodeDecodeError, RecursionError) as error:
        raise RequestError(400, f"Pod: {error}") from None
    assert isinstance(pod, api.Pod)
    metadata = pod.metadata
    if not metadata.namespace:
        raise RequestError(400, answers_words.namespace_missing(api.named("Pod", metadata)))
    # A separate axis, so that clients cannot make the mirror's grow without bounds.
    axis = ResourceAxis()
    amounts = {counted_name(axis.names[column]): value for column, value in request_of(pod, axis).amounts}
    amounts |= limits_of(pod, axis)
    amounts.pop("", None)
    return PlacementRequest(metadata.namespace, metadata.name, uid_of(metadata), amounts)


def passed(question: Question) -> Parts:
    """ExtenderFilterResult for an admitted pod: every node as received."""
    names = b"null" if question.names is None else orjson.dumps(question.names)
    return _result(question.nodes or b"null", names)


def refused(question: Question, refusal: str) -> Parts:
    """ExtenderFilterResult for a refused pod: no nodes, and the reason at each.

    The nodes are in both lists of failures. ``FailedAndUnresolvableNodes`` takes precedence and stops kube-scheduler's
    preemption, which would search for victims on a node where the pod already fits, and fail ("expected at least one
    victim pod"). Older schedulers read ``FailedNodes``. A request without nodes gets the reason as ``Error``.
    """
    if question.names is None and not question.nodes:
        return _result(b"null", b"null", error=orjson.dumps(refusal))
    failed = _failures(question.named, refusal)
    if question.names is not None:
        return _result(b"null", b"[]", failed)
    return _result(b'{"metadata":{},"items":[]}', b"null", failed)


def _failures(names: Sequence[str], refusal: str) -> bytes:
    """A map from each name to the reason, which is encoded once rather than for each node."""
    if not names or b"\\" in orjson.dumps(names):  # JSON would have to escape a name, which no node has
        return orjson.dumps(dict.fromkeys(names, refusal))
    reason = orjson.dumps(refusal).decode()
    between = f'":{reason},"'
    return f'{{"{between.join(names)}":{reason}}}'.encode()


def _result(nodes: bytes, names: bytes, failed: bytes = b"{}", error: bytes = b'""') -> Parts:
    before = (b'{"Nodes":', nodes, b',"NodeNames":', names, b',"FailedNodes":', failed)
    return *before, b',"FailedAndUnresolvableNodes":', failed, b',"Error":', error, b"}"


def _first(*found: Raw) -> bytes:
    return next((bytes(raw) for raw in found if bytes(raw) not in _ABSENT), b"")
