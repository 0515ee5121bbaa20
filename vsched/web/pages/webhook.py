"""The validating webhook for Consumers and buckets.

It validates against the mirror, which is a moment behind, so two objects that are created at the same time may both
pass. The arbitrator cuts what is too much then, and what was created without the webhook, and reports it.
"""

from __future__ import annotations

from typing import Protocol

from aiohttp import web

from vsched import api
from vsched.errors import BadObject
from vsched.mirror.ingest.arbitration import bucket_of, claim_of
from vsched.model.arbitration.records import Bucket, Claim
from vsched.web.pages.admission import MOST_BYTES, REVIEW, AdmissionRequest, ReadyToReview, answer_to, asked
from vsched.web.serve.bodies import Intake, RequestError, guarded
from vsched.web.serve.routing import Route, as_json
from vsched.web.words import answers as answers_words
from vsched.web.words import routes as words

PATH = "/validate/consumers"


class Reviewing(ReadyToReview, Protocol):
    """What the route needs of arbitration."""

    def review(self, found: Claim | Bucket) -> tuple[str, ...]:
        """The problems of a new or changed object, one line each."""
        ...


def webhook_routes(reviewing: Reviewing, most_bytes: int = MOST_BYTES) -> list[Route]:
    """The routes of the webhook's own address."""
    intake = Intake(most_bytes)

    async def validate(request: web.Request) -> web.StreamResponse:
        found = await asked(request, intake, reviewing)
        return as_json(answer_to(found.uid, _problems(found, reviewing)))

    return [Route(PATH, guarded(validate, "error"), words.VALIDATE, "POST", contract=REVIEW)]


def _problems(request: AdmissionRequest, reviewing: Reviewing) -> tuple[str, ...]:
    """Why a request is denied; empty if it is allowed. Raises RequestError for an invalid request.

    A change that leaves the spec as it is passes, so that an object that has become invalid can still lose its
    finalizers or get a status.
    """
    if not request.writes or request.keeps_spec:
        return ()
    try:
        found = _read(request)
    except BadObject as error:
        return (str(error),)
    return reviewing.review(found)


def _read(request: AdmissionRequest) -> Claim | Bucket:
    """The new object; raises BadObject, or RequestError where it is of another kind."""
    kind = request.kind.kind
    if kind not in ("Consumer", "Bucket"):
        raise RequestError(400, answers_words.bad_kind(kind))
    try:
        found = api.decode(kind, request.object)
    except UnicodeDecodeError as error:
        raise RequestError(400, f"request.object: {error}") from None
    if isinstance(found, api.Bucket):
        return bucket_of(found)
    if not isinstance(found, api.Consumer):
        raise BadObject(answers_words.cannot_be_read(kind))
    found.metadata.namespace = found.metadata.namespace or request.namespace or ""
    return claim_of(found)
