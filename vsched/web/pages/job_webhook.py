"""The webhooks for vcjobs: one that refuses what cannot be run, and one that writes the defaults into new vcjobs.

CronJobs, JobFlows and JobTemplates of Volcano are reviewed when they are created. Reviews go by the mirror, which is a
moment behind: a queue that was made just before its vcjob is waited for.
"""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

import msgspec
from aiohttp import web

from vsched import api
from vsched.api.base import Raw
from vsched.api.resources import JOB_FLOWS, VCJOB, VCJOBS, VOLCANO_CRON_JOB
from vsched.errors import BadObject
from vsched.web.pages.admission import MOST_BYTES, REVIEW, AdmissionRequest, ReadyToReview, answer_to, asked
from vsched.web.serve.bodies import Intake, RequestError, decoded, guarded
from vsched.web.serve.routing import Route, as_json
from vsched.web.words import routes as words

VALIDATE, MUTATE = "/validate/jobs", "/mutate/jobs"
UNSEEN_SECONDS = 1.0
"""How long a queue may take to be known here."""
UNSEEN_MOST = 64
"""How many requests wait for queues at once; further ones are answered as it stands."""
LOOK_SECONDS = 0.02

KINDS = {
    (VCJOBS.group, "Job"): VCJOB,
    (VCJOBS.group, "CronJob"): VOLCANO_CRON_JOB,
    (JOB_FLOWS.group, "JobFlow"): "JobFlow",
    (JOB_FLOWS.group, "JobTemplate"): "JobTemplate",
}
"""What is reviewed."""
_BASE, _SUFFIX = 58, "xxxxx"
"""How much of ``generateName`` is kept, and as many letters as the API server adds to it."""

Data = dict[str, Any]


class JobReviewing(ReadyToReview, Protocol):
    """What the routes need of whoever looks after vcjobs."""

    def passes(self, found: api.Object) -> bool:
        """Whether an object is let through as it is."""
        ...

    def refusals(self, found: api.Object) -> list[str]:
        """What is wrong with a new object."""
        ...

    def queue_problem(self, found: api.Object) -> str:
        """Why the queue of a new vcjob takes none; empty where it does."""
        ...

    def changes(self, before: Data, after: Data, were: api.VolcanoJob | None, found: api.VolcanoJob) -> list[str]:
        """What may not be changed of a vcjob."""
        ...

    def defaults(self, found: api.VolcanoJob) -> list[Data]:
        """The operations of a JSON patch that writes the defaults into a new vcjob."""
        ...


def job_webhook_routes(reviewing: JobReviewing) -> list[Route]:
    """The routes for vcjobs at the webhook's own address."""
    intake, unseen = Intake(MOST_BYTES), asyncio.Semaphore(UNSEEN_MOST)

    async def validate(request: web.Request) -> web.StreamResponse:
        found = await asked(request, intake, reviewing)
        problems = [] if not found.writes or found.keeps_spec else await _problems(found, reviewing, unseen)
        return as_json(answer_to(found.uid, problems))

    async def mutate(request: web.Request) -> web.StreamResponse:
        found = await asked(request, intake, reviewing)
        patch = _patch(found, reviewing) if found.writes and found.operation == "CREATE" else []
        return as_json(answer_to(found.uid, (), patch))

    return [
        Route(VALIDATE, guarded(validate, "error"), words.JOB_VALIDATE, "POST", contract=REVIEW),
        Route(MUTATE, guarded(mutate, "error"), words.JOB_MUTATE, "POST", contract=REVIEW),
    ]


async def _problems(request: AdmissionRequest, reviewing: JobReviewing, unseen: asyncio.Semaphore) -> list[str]:
    """Why a request is denied. Raises RequestError for an invalid request."""
    try:
        found = _read(request, request.object)
    except BadObject as error:
        return [str(error)]
    if reviewing.passes(found):
        return []
    if request.operation == "UPDATE" and isinstance(found, api.VolcanoJob):
        return _changes(request, found, reviewing)
    return reviewing.refusals(found) or await _queue_problems(found, reviewing, unseen)


def _changes(request: AdmissionRequest, found: api.VolcanoJob, reviewing: JobReviewing) -> list[str]:
    try:
        before = _read(request, request.old_object)
    except BadObject:
        before = None
    were = before if isinstance(before, api.VolcanoJob) else None
    old, new = (decoded(raw, dict[str, Any], "request.object") for raw in (request.old_object, request.object))
    return reviewing.changes(old, new, were, found)


async def _queue_problems(found: api.Object, reviewing: JobReviewing, unseen: asyncio.Semaphore) -> list[str]:
    """What is wrong with the queue; the mirror gets a while to see one that has just been made."""
    problem = reviewing.queue_problem(found)
    if problem and not unseen.locked():
        async with unseen:
            ends = asyncio.get_running_loop().time() + UNSEEN_SECONDS
            while problem and asyncio.get_running_loop().time() < ends:
                await asyncio.sleep(LOOK_SECONDS)
                problem = reviewing.queue_problem(found)
    return [problem] if problem else []


def _patch(request: AdmissionRequest, reviewing: JobReviewing) -> list[Data]:
    """The defaults of a new vcjob; none for one that cannot be read, which is refused elsewhere."""
    try:
        found = _read(request, request.object)
    except BadObject:
        return []
    if not isinstance(found, api.VolcanoJob) or reviewing.passes(found):
        return []
    return reviewing.defaults(found)


def _read(request: AdmissionRequest, raw: Raw) -> api.Object:
    """An object of a request; raises BadObject, or RequestError where it is of another kind.

    One that is still to be named has a name of the same length.
    """
    kind = KINDS.get((request.kind.group, request.kind.kind))
    if kind is None:
        known = ", ".join(f"{name}.{group}" for group, name in KINDS)
        raise RequestError(400, f"request.kind: {request.kind.kind}.{request.kind.group} (expected {known})")
    body = decoded(raw, dict[str, Any], "request.object")
    metadata = body.get("metadata")
    if isinstance(metadata, dict):
        base = metadata.get("generateName")
        if not metadata.get("name") and isinstance(base, str):
            metadata["name"] = f"{base[:_BASE]}{_SUFFIX}"
        metadata.setdefault("namespace", request.namespace or "")
    return api.decode(kind, msgspec.json.encode(body))
