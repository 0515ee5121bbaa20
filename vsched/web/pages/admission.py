"""AdmissionReviews: the requests that the API server makes of webhooks, and the answers."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from typing import Any, NotRequired, Protocol, TypedDict

import msgspec
import orjson
from aiohttp import web

from vsched.api.base import NO_BYTES, Raw
from vsched.kube.errors import one_line
from vsched.web.serve.bodies import Intake, RequestError, decoded
from vsched.web.serve.routing import Contract
from vsched.web.words import answers as words

REVIEW_VERSION = "admission.k8s.io/v1"
MOST_BYTES = 8 << 20
"""Room for two objects of the largest size and the rest of the review."""
MOST_PROBLEMS = 20
"""The largest number of problems in one answer."""

_ABSENT = (b"", b"null")


class ReviewedKind(msgspec.Struct):
    """The type of the object."""

    kind: str = ""
    group: str = ""


class AdmissionRequest(msgspec.Struct, rename="camel"):
    """The fields of an AdmissionRequest that are read."""

    uid: str
    operation: str
    kind: ReviewedKind = msgspec.field(default_factory=ReviewedKind)
    sub_resource: str | None = None
    namespace: str | None = None
    object: Raw = NO_BYTES
    old_object: Raw = NO_BYTES

    @property
    def writes(self) -> bool:
        """Whether an object, and not a part of it such as its status, is made or changed."""
        return self.operation in ("CREATE", "UPDATE") and not self.sub_resource

    @property
    def keeps_spec(self) -> bool:
        """Whether an object is changed, and its spec stays."""
        return self.operation == "UPDATE" and _spec(self.old_object) == _spec(self.object)

    def check_object(self) -> None:
        """Raise RequestError where there is no object."""
        if bytes(self.object) in _ABSENT:
            raise RequestError(400, words.object_missing(self.operation))


class AdmissionResponse(TypedDict):
    """What the API server is to do."""

    uid: str
    allowed: bool
    status: NotRequired[dict[str, Any]]
    patchType: NotRequired[str]
    patch: NotRequired[str]


class AdmissionAnswer(TypedDict):
    """An AdmissionReview with the answer."""

    apiVersion: str
    kind: str
    response: AdmissionResponse


REVIEW = Contract((AdmissionAnswer,), takes=dict[str, Any])


class ReadyToReview(Protocol):
    """Who answers AdmissionReviews."""

    def ready(self) -> str:
        """Why there is no answer now; empty if there is."""
        ...


class _Review(msgspec.Struct, rename="camel"):
    api_version: str
    kind: str
    request: AdmissionRequest | None = None


class _Specified(msgspec.Struct):
    spec: Any = None


async def asked(request: web.Request, intake: Intake, reviewing: ReadyToReview) -> AdmissionRequest:
    """What the API server asks; raises RequestError for an invalid request, and while there is no answer."""
    async with intake.body(request) as body:
        problem = reviewing.ready()
        if problem:
            raise RequestError(503, problem)
        found = request_of(body)
        if found.writes:
            found.check_object()
        return found


def request_of(body: bytes) -> AdmissionRequest:
    """The request in an AdmissionReview; raises RequestError."""
    review = decoded(body, _Review)
    if (review.api_version, review.kind) != (REVIEW_VERSION, "AdmissionReview"):
        raise RequestError(400, f"{review.api_version} {review.kind} (expected {REVIEW_VERSION} AdmissionReview)")
    if review.request is None:
        raise RequestError(400, words.REQUEST_MISSING)
    return review.request


def _spec(raw: Raw) -> Any:
    return None if bytes(raw) in _ABSENT else decoded(raw, _Specified, "request.object").spec


def answer_to(uid: str, problems: Sequence[str], patch: Sequence[dict[str, Any]] = ()) -> AdmissionAnswer:
    """The AdmissionReview that allows a write, with a JSON patch, or denies it where there are problems."""
    response: AdmissionResponse = {"uid": uid, "allowed": not problems}
    if problems:
        more = len(problems) - MOST_PROBLEMS
        said = [one_line(problem) for problem in problems[:MOST_PROBLEMS]]
        text = "; ".join([*said, f"and {more} more"] if more > 0 else said)
        response["status"] = {"status": "Failure", "code": 403, "reason": "Forbidden", "message": text}
    elif patch:
        response["patchType"] = "JSONPatch"
        response["patch"] = b64encode(orjson.dumps(list(patch))).decode()
    return {"apiVersion": REVIEW_VERSION, "kind": "AdmissionReview", "response": response}
