"""Volcano's Jobs (vcjobs) for ``vsched job``: reading and making them, and Commands that stop and resume them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable
from typing import Any

import msgspec

from vsched import api
from vsched.api.manifests import read
from vsched.api.resources import COMMANDS, VCJOB, VCJOBS
from vsched.cli.ask.cluster import ClusterFlags, Obj, objects_of, with_client
from vsched.cli.job import words
from vsched.controllers.vcjobs.read import job_of
from vsched.controllers.vcjobs.spec import JobAction, JobPhase, VcJob
from vsched.controllers.vcjobs.states import FINISHED
from vsched.errors import BadInput, BadObject, BadQuantity, Unavailable, VschedError
from vsched.kube.client import ApiClient
from vsched.kube.errors import NotFound
from vsched.model.amounts.resources import parse_amount

POLL_SECONDS = 0.1
STOPPED = frozenset((JobPhase.ABORTING, JobPhase.ABORTED))


class JobFlags(msgspec.Struct, frozen=True):
    """A vcjob of one task, as flags describe it."""

    name: str
    image: str
    replicas: int
    minimum: int
    requests: str
    limits: str
    scheduler: str
    queue: str


def vcjob_of(found: Obj) -> VcJob:
    """A vcjob as an API server has it; raises BadObject where it cannot be read."""
    item = api.decode(VCJOB, msgspec.json.encode(found))
    assert isinstance(item, api.VolcanoJob)
    return job_of(item)


async def read_vcjobs(client: ApiClient) -> list[VcJob]:
    """All vcjobs of a cluster, by name."""
    return sorted(map(vcjob_of, await objects_of(client, VCJOBS)), key=lambda job: job.key)


async def read_vcjob(client: ApiClient, key: str) -> VcJob:
    """One vcjob; raises BadInput where there is none of this name."""
    namespace, _, name = key.partition("/")
    try:
        return vcjob_of(await client.get(VCJOBS.path(namespace, name)))
    except NotFound:
        raise BadInput(words.no_vcjob(key, client.connection.server)) from None


def known_vcjob(cluster: ClusterFlags, key: str) -> VcJob | None:
    """The vcjob of this name; None where there is none, or no cluster can be asked."""
    try:
        return with_client(cluster, lambda client: read_vcjob(client, key))
    except VschedError:
        return None


# -- making them


def from_file(file: str) -> list[Obj]:
    """The vcjobs of a file, ``-`` for standard input; raises BadInput where there is anything else in it."""
    found: list[Obj] = []
    for origin, manifest in read((file,), sys.stdin):
        if api.kind_of(str(manifest.get("apiVersion") or ""), manifest["kind"]) != VCJOB:
            what = f"{manifest['kind']} of {manifest.get('apiVersion') or 'no version'}"
            raise BadInput(words.expected_job(origin, what, VCJOBS.api_version))
        found.append(manifest)
    if not found:
        raise BadInput(words.nothing_in_it(file, VCJOBS.api_version))
    return found


def from_flags(flags: JobFlags) -> Obj:
    """The vcjob that flags describe; raises BadInput where an amount cannot be used."""
    requests, limits = _amounts("--requests", flags.requests), _amounts("--limits", flags.limits)
    for name, amount in requests.items():
        if name in limits and parse_amount(name, amount) > parse_amount(name, limits[name]):
            raise BadInput(words.above_the_limit(name, amount, limits[name]))
    resources = {"requests": requests, "limits": limits}
    container = {
        "name": flags.name,
        "image": flags.image,
        "imagePullPolicy": "IfNotPresent",
        "resources": {name: amounts for name, amounts in resources.items() if amounts},
    }
    template = {
        "metadata": {"labels": {"job.volcano.sh": flags.name}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    optional = {"schedulerName": flags.scheduler, "queue": flags.queue}
    return {
        "apiVersion": VCJOBS.api_version,
        "kind": "Job",
        "metadata": {"name": flags.name},
        "spec": {
            "minAvailable": flags.minimum,
            "tasks": [{"name": "default0", "replicas": flags.replicas, "template": template}],
            **{name: value for name, value in optional.items() if value},
        },
    }


def _amounts(flag: str, text: str) -> dict[str, str]:
    amounts: dict[str, str] = {}
    for part in filter(None, (each.strip() for each in text.split(","))):
        name, equals, amount = part.partition("=")
        try:
            parse_amount(name, amount)
        except BadQuantity:
            equals = ""
        if not (equals and name):
            raise BadInput(words.no_amounts(flag, part))
        amounts[name] = amount
    return amounts


async def make(client: ApiClient, wanted: Iterable[Obj], namespace: str) -> list[str]:
    """Create vcjobs; their keys. Raises BadInput before any is created where one could not be run as it is written."""
    complete = [_addressed(each, namespace, client.connection.namespace) for each in wanted]
    for each in complete:
        job = _checked(each)
        if job.refusals:
            raise BadInput(f"vcjob {job.key}: {'; '.join(job.refusals)}")
    made = []
    for each in complete:
        try:
            found = await client.create(VCJOBS.path(each["metadata"]["namespace"]), each)
        except NotFound as error:
            raise BadInput(words.not_installed(client.connection.server, error)) from None
        made.append(f"{found['metadata']['namespace']}/{found['metadata']['name']}")
    return made


def _addressed(job: Obj, namespace: str, usual: str) -> Obj:
    metadata = job.get("metadata")
    if not isinstance(metadata, dict):
        raise BadInput("vcjob: metadata: missing (expected a name)")
    stated = metadata.get("namespace")
    if namespace and stated and stated != namespace:
        raise BadInput(words.which_namespace(stated, metadata.get("name"), namespace))
    return {**job, "metadata": {**metadata, "namespace": stated or namespace or usual}}


def _checked(job: Obj) -> VcJob:
    """The vcjob as it would be read; one whose name is to be drawn gets one for that."""
    metadata: dict[str, Any] = job["metadata"]
    name = metadata.get("name") or (f"{metadata['generateName']}x" if metadata.get("generateName") else "")
    try:
        return vcjob_of({**job, "metadata": {**metadata, "name": name}})
    except BadObject as error:
        raise BadInput(str(error)) from None


# -- Commands


async def command(client: ApiClient, key: str, action: JobAction, wait_seconds: float) -> str:
    """Have a vcjob stop or go on, wait until it does, and return a line about it.

    Raises BadInput where it has ended, and Unavailable where nobody carries the Command out in time.
    """
    job = await read_vcjob(client, key)
    phase = job.status.phase
    if phase in FINISHED:
        raise BadInput(words.has_ended(key, phase))
    if _is_so(job, action):
        state = phase or words.ABOUT_TO_START
        return words.is_already(key, state)
    target = {"apiVersion": VCJOBS.api_version, "kind": "Job", "name": job.name, "uid": job.uid}
    body = {
        "apiVersion": COMMANDS.api_version,
        "kind": "Command",
        "metadata": {"generateName": f"{job.name}-{action.lower()}-", "ownerReferences": [target]},
        "action": action.value,
        "target": target,
    }
    made = await client.create(COMMANDS.path(job.namespace), body)
    asked = f"Command {job.namespace}/{made['metadata']['name']}"
    if not wait_seconds:
        return f"vcjob {key}: asked, by {asked}"
    try:
        async with asyncio.timeout(wait_seconds):
            while not _is_so(job, action):
                await asyncio.sleep(POLL_SECONDS)
                job = await read_vcjob(client, key)
    except TimeoutError:
        still = job.status.phase or "without a phase"
        raise Unavailable(words.still(key, asked, still, wait_seconds)) from None
    return f"vcjob {key}: {job.status.phase}"


def _is_so(job: VcJob, action: JobAction) -> bool:
    return (job.status.phase in STOPPED) == (action is JobAction.ABORT_JOB)
