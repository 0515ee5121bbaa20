"""The validating webhook for Consumers and buckets.

It validates against the mirror, which is a moment behind, so two objects that are created at the same time may both
pass. The arbitrator cuts what is too much then, and what was created without the webhook, and reports it.
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
from vsched.model.arbitration.records import Bucket, Claim
from vsched.web.serve.bodies import Intake, RequestError, decoded, guarded
from vsched.web.serve.routing import Route, as_json

PATH = "/validate/consumers"
REVIEW_VERSION = "admission.k8s.io/v1"
MOST_BYTES = 8 << 20
"""Room for two objects of the largest size and the rest of the review."""
MOST_PROBLEMS = 20
"""The largest number of problems in one answer."""

_ABSENT = (b"", b"null")


class Reviewing(Protocol):
    """What the route needs of arbitration."""

    def ready(self) -> str:
        """Why there is no answer now; empty if there is."""
        ...

    def review(self, found: Claim | Bucket) -> tuple[str, ...]:
        """The problems of a new or changed object, one line each."""
        ...


class _Kind(msgspec.Struct):
    kind: str = ""


class _Request(msgspec.Struct, rename="camel"):
    """The fields of an AdmissionRequest that are read."""

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
    """The routes of the webhook's own address."""
    intake = Intake(most_bytes)

    async def validate(request: web.Request) -> web.StreamResponse:
        async with intake.body(request) as body:
            problem = reviewing.ready()
            if problem:
                raise RequestError(503, problem)
            asked = _request(body)
            return as_json(_answer(asked.uid, problems_of(asked, reviewing)))

    return [Route(PATH, guarded(validate, "error"), "validates Consumers and Buckets", "POST")]


def problems_of(asked: _Request, reviewing: Reviewing) -> tuple[str, ...]:
    """Why a request is denied; empty if it is allowed. Raises BadRequest for an invalid request.

    A change that leaves the spec as it is passes, so that an object that has become invalid can still lose its
    finalizers or get a status.
    """
    if asked.operation not in ("CREATE", "UPDATE") or asked.sub_resource:
        return ()
    if bytes(asked.object) in _ABSENT:
        raise RequestError(400, f"request.object: missing (expected the object of a {asked.operation})")
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
        raise RequestError(400, f"{review.api_version} {review.kind} (expected {REVIEW_VERSION} AdmissionReview)")
    if review.request is None:
        raise RequestError(400, "request: missing (expected an AdmissionRequest)")
    return review.request


def _read(asked: _Request) -> Claim | Bucket:
    """The new object; raises BadObject, or BadRequest where it is of another kind."""
    kind = asked.kind.kind
    if kind not in ("Consumer", "Bucket"):
        raise RequestError(400, f"request.kind.kind: {kind!r} (expected Consumer or Bucket)")
    try:
        found = wire.decode(kind, asked.object)
    except UnicodeDecodeError as error:
        raise RequestError(400, f"request.object: {error}") from None
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
