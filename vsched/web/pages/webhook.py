"""The validating webhook for Consumers and buckets: an AdmissionReview in, the same with a verdict out.

It judges by the mirror, which is a moment behind: two that are made in one breath may both pass. What comes of that,
and what comes past a webhook that is not there, the arbitrator cuts and says so.
"""

from __future__ import annotations

from typing import Any, Protocol

import msgspec
from aiohttp import web

from vsched.errors import BadObject
from vsched.kube.errors import one_line
from vsched.mirror import wire
from vsched.mirror.ingest.arbitration import bucket_of, claim_of
from vsched.mirror.wire.base import NO_BYTES, Raw
from vsched.model.arbitration import Bucket, Claim
from vsched.web.serve.bodies import BadRequest, Intake, decoded, guarded
from vsched.web.serve.routing import Route, as_json

PATH = "/validate/consumers"
REVIEW_VERSION = "admission.k8s.io/v1"
MOST_BYTES = 8 << 20
"""Two objects of the size that the API server takes at most, and what is around them."""
MOST_PROBLEMS = 20
"""Said of one object at once."""

_ABSENT = (b"", b"null")


class Reviewing(Protocol):
    """Whoever knows all Consumers, buckets, quotas and what the cluster has."""

    def ready(self) -> str:
        """Why there is no answer at the moment; empty where there is."""
        ...

    def review(self, found: Claim | Bucket) -> tuple[str, ...]:
        """What is wrong with an object that is to be as it is here, one line each."""
        ...


class _Kind(msgspec.Struct):
    kind: str = ""


class _Request(msgspec.Struct, rename="camel"):
    """The part of an AdmissionRequest that matters."""

    uid: str
    operation: str
    kind: _Kind = msgspec.field(default_factory=_Kind)
    sub_resource: str | None = None
    namespace: str | None = None
    object: Raw = NO_BYTES
    old_object: Raw = NO_BYTES


class _Review(msgspec.Struct, rename="camel"):
    api_version: str
    kind: str
    request: _Request | None = None


class _Specified(msgspec.Struct):
    spec: Any = None


def webhook_routes(reviewing: Reviewing, most_bytes: int = MOST_BYTES) -> list[Route]:
    """What the webhook's own address serves, over TLS."""
    intake = Intake(most_bytes)

    async def validate(request: web.Request) -> web.StreamResponse:
        async with intake.body(request) as body:
            problem = reviewing.ready()
            if problem:
                raise BadRequest(503, problem)
            asked = _request(body)
            return as_json(_answer(asked.uid, problems_of(asked, reviewing)))

    return [Route(PATH, guarded(validate, "error"), "validates Consumers and Buckets", "POST")]


def problems_of(asked: _Request, reviewing: Reviewing) -> tuple[str, ...]:
    """Why a request is to be denied; nothing where it is allowed. Raises BadRequest where it makes no sense.

    Who leaves the spec as it is may do so whatever is wrong with it: else an object that has become bad could not lose
    its finalizers, or be told so in its status.
    """
    if asked.operation not in ("CREATE", "UPDATE") or asked.sub_resource:
        return ()
    if bytes(asked.object) in _ABSENT:
        raise BadRequest(400, f"request.object: missing (expected the object of a {asked.operation})")
    if asked.operation == "UPDATE" and _spec(asked.old_object) == _spec(asked.object):
        return ()
    try:
        found = _read(asked)
    except BadObject as error:
        return (str(error),)
    return reviewing.review(found)


def _request(body: bytes) -> _Request:
    review = decoded(body, _Review)
    if (review.api_version, review.kind) != (REVIEW_VERSION, "AdmissionReview"):
        raise BadRequest(400, f"{review.api_version} {review.kind} (expected {REVIEW_VERSION} AdmissionReview)")
    if review.request is None:
        raise BadRequest(400, "request: missing (expected an AdmissionRequest)")
    return review.request


def _read(asked: _Request) -> Claim | Bucket:
    """The object that is to be; raises BadObject, or BadRequest where it is of another kind."""
    kind = asked.kind.kind
    if kind not in ("Consumer", "Bucket"):
        raise BadRequest(400, f"request.kind.kind: {kind!r} (expected Consumer or Bucket)")
    try:
        found = wire.decode(kind, asked.object)
    except UnicodeDecodeError as error:
        raise BadRequest(400, f"request.object: {error}") from None
    if isinstance(found, wire.Bucket):
        return bucket_of(found)
    if not isinstance(found, wire.Consumer):
        raise BadObject(f"{kind}: cannot be read")
    found.metadata.namespace = found.metadata.namespace or asked.namespace or ""
    return claim_of(found)


def _spec(raw: Raw) -> Any:
    return None if bytes(raw) in _ABSENT else decoded(raw, _Specified, "request.object").spec


def _answer(uid: str, problems: tuple[str, ...]) -> dict[str, Any]:
    response: dict[str, Any] = {"uid": uid, "allowed": not problems}
    if problems:
        more = len(problems) - MOST_PROBLEMS
        said = [one_line(problem) for problem in problems[:MOST_PROBLEMS]]
        text = "; ".join([*said, f"and {more} more"] if more > 0 else said)
        response["status"] = {"status": "Failure", "code": 403, "reason": "Forbidden", "message": text}
    return {"apiVersion": REVIEW_VERSION, "kind": "AdmissionReview", "response": response}
