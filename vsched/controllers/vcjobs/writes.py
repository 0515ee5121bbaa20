"""Carries the plan for a vcjob out: its status, pods, PodGroup, and the objects of plugins and volumes.

Everything is created under a fixed name. An object of that name that the job owns was made by a process that ended
before it could say so; one that belongs to another object is reported, and the job waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
import orjson
from cachetools import LRUCache

from vsched.api.resources import (
    CONFIG_MAPS,
    NETWORK_POLICIES,
    PODGROUPS,
    PODS,
    SECRETS,
    SERVICES,
    VCJOBS,
    VOLUME_CLAIMS,
)
from vsched.controllers.vcjobs import words
from vsched.controllers.vcjobs.naming import Body, is_controlled_by, job_reference, task_named
from vsched.controllers.vcjobs.objects import (
    content_key,
    controlled_resources,
    following_objects,
    names_of_plugin_objects,
    objects_of,
)
from vsched.controllers.vcjobs.plugins import KeyPair, needs_keys, plugin_problems
from vsched.controllers.vcjobs.podgroup import correction, podgroup_of
from vsched.controllers.vcjobs.pods import pod_of
from vsched.controllers.vcjobs.reconcile import UNCREATED
from vsched.controllers.vcjobs.records import JobRecords
from vsched.controllers.vcjobs.spec import VcJob
from vsched.controllers.vcjobs.stages import gang_of
from vsched.controllers.vcjobs.view import JobPlan, VcjobView
from vsched.errors import BadObject, VschedError
from vsched.kube.client import JSON_PATCH, MERGE_PATCH, ApiClient
from vsched.kube.errors import AlreadyExists, NotFound
from vsched.kube.paths import ApiResource
from vsched.together import together
from vsched.writes.bodies import deletion_options, status_replacement
from vsched.writes.events import WARNING, EventRecorder
from vsched.writes.limits import Attempts
from vsched.writes.writer import Write, Writer, WriteResult, refusal_of

OBJECTS: Mapping[str, ApiResource] = {
    "PersistentVolumeClaim": VOLUME_CLAIMS,
    "Service": SERVICES,
    "ConfigMap": CONFIG_MAPS,
    "Secret": SECRETS,
    "NetworkPolicy": NETWORK_POLICIES,
}
"""What plugins and volumes make, by kind."""
NO_KEYS = KeyPair("", "")


class JobWriteSettings(msgspec.Struct, frozen=True):
    """Limits of the writes about one vcjob."""

    attempts: Attempts = Attempts(3, first_seconds=0.1, ceiling_seconds=1.0)
    at_once: int = 16
    """Pods that are made or deleted at the same time."""
    remembered: int = 50_000
    """Jobs whose objects are known to be there."""


class JobWrites:
    """Writes what a plan says."""

    def __init__(
        self,
        client: ApiClient,
        writer: Writer,
        events: EventRecorder,
        records: JobRecords,
    ) -> None:
        self._client = client
        self._writer = writer
        self._events = events
        self._records = records
        self._settings = JobWriteSettings()
        self._there: LRUCache[str, tuple[object, ...]] = LRUCache(self._settings.remembered)
        """The jobs whose objects are there, by uid, with what the content of these follows from."""
        self._uncreated: LRUCache[str, set[str]] = LRUCache(self._settings.remembered)
        """What the API server would not create when it was asked last, and why, by the uid of the job."""

    def uncreated(self, job: VcJob) -> str:
        """What the API server would not create for a job when it was asked last, and why."""
        found = sorted(self._uncreated.get(job.uid, ()))
        others = words.more_not_created(len(found) - 1) if len(found) > 1 else ""
        return f"{found[0]}{others}" if found else ""

    async def write_defaults(self, job: VcJob) -> bool:
        """Write into a new job the defaults that it leaves out, so that whoever has it later goes by the same.

        False if that is to be tried again. Where it may not be, the job runs all the same, and an Event says so.
        """
        same = {"op": "test", "path": "/metadata/resourceVersion", "value": job.resource_version}
        operations = [same, *(default.as_operation() for default in job.defaults)]
        path, shown = VCJOBS.path(job.namespace, job.name), self._records.version(job.key)
        write = Write("vcjob", "PATCH", path, orjson.dumps(operations), JSON_PATCH)
        answer = await self._send(job, write, "defaults")
        if answer.done:
            self._records.wrote_job(answer.body, shown)
        return answer.done or (answer.code in (400, 403, 422) and self._records.version(job.key) == shown)

    async def carry_out(self, view: VcjobView, plan: JobPlan) -> bool:
        """Write all that a plan says; False if something failed, or was decided on outdated data."""
        self._uncreated.pop(view.job.uid, None)
        return await self._carry_out(view, plan)

    async def _carry_out(self, view: VcjobView, plan: JobPlan) -> bool:
        job = view.job
        if plan.objects == "delete" and not await self._delete_objects(job):
            return False
        if not await self._write_status(job, plan):
            return False
        for event in plan.events:
            self._events.record(job_reference(job), event.type, event.reason, event.message)
        if plan.delete and not await self._in_turn(self._delete_pod(view, name) for name in plan.delete):
            return False
        if plan.group and not await self._write_group(view, plan.group):
            return False
        if plan.objects == "make" and not await self._make_objects(job):
            return False
        if plan.create and not await self._in_turn(self._make_pod(job, *each) for each in plan.create):
            return False
        return not plan.delete_job or await self._delete_job(job)

    # -- the job

    async def _write_status(self, job: VcJob, plan: JobPlan) -> bool:
        """Write the status over the version that was decided on, and no other.

        What plugins make is named before it is made: so it is found and taken back, whoever ends in between.
        """
        body = plan.status
        if plan.objects == "make":
            wanted = controlled_resources(job)
            if dict(job.status.controlled) != wanted:
                body = {**(job.status.body if body is None else body), "controlledResources": wanted}
        if body is None:
            return True
        about = job_reference(job)._replace(resource_version=job.resource_version)
        path = VCJOBS.path(job.namespace, job.name, "status")
        shown = self._records.version(job.key)
        answer = await self._send(job, Write("vcjob", "PUT", path, status_replacement(about, body)), "status")
        if answer.done:
            self._records.wrote_job(answer.body, shown)
        return answer.done

    async def _delete_job(self, job: VcJob) -> bool:
        body = deletion_options(job.uid, job.resource_version, background=True)
        answer = await self._send(job, Write("vcjob", "DELETE", VCJOBS.path(job.namespace, job.name), body), job.name)
        return answer.done or answer.code == 404

    # -- pods

    async def _make_pod(self, job: VcJob, task_name: str, index: int) -> bool:
        task = task_named(job, task_name)
        assert task is not None, "a plan makes pods of tasks of its job"
        body = pod_of(job, task, index)
        answer = await self._create(job, "pod", PODS, body)
        if answer is not None:
            self._records.wrote_pod(answer)
        return answer is not None

    async def _delete_pod(self, view: VcjobView, name: str) -> bool:
        uid = view.pods[name].uid
        if view.pods[name].gone:
            self._records.gone.forget_ended(view.job.uid, name)
            return True
        done = await self._delete(view.job, "pod", PODS, name, uid)
        if done:
            self._records.deleted(uid)
        return done

    # -- the PodGroup

    async def _write_group(self, view: VcjobView, what: str) -> bool:
        job, group = view.job, view.group
        if what == "delete":
            done = group is None or await self._delete(job, "podgroup", PODGROUPS, job.podgroup, group.uid)
            if done and group is not None:
                self._records.deleted(group.uid)
            return done
        try:
            if what == "make":
                made = await self._create(job, "podgroup", PODGROUPS, podgroup_of(gang_of(view), view.priorities))
                if made is not None:
                    self._records.wrote_group(made)
                return made is not None
            patch = None if group is None else correction(group.spec, gang_of(view), view.priorities)
        except BadObject as error:
            self._complain(job, "PodGroupError", str(error))
            return False
        if patch is None or group is None:
            return True
        patch = {**patch, "metadata": {"uid": group.uid}}
        path = PODGROUPS.path(job.namespace, job.podgroup)
        write = Write("podgroup", "PATCH", path, orjson.dumps(patch), MERGE_PATCH)
        answer = await self._send(job, write, f"PodGroup {job.podgroup}")
        if answer.done:
            self._records.wrote_group(answer.body)
        return answer.done

    # -- the objects of plugins and volumes

    async def _make_objects(self, job: VcJob) -> bool:
        """Make those that are missing, unless they are known to be there as the job wants them."""
        content = content_key(job)
        if self._there.get(job.uid) == content:
            return True
        following = {(body["kind"], body["metadata"]["name"]): body["data"] for body in following_objects(job)}
        for problem in plugin_problems(job):
            self._complain(job, "PluginError", problem)
        keys = NO_KEYS
        if needs_keys(job) and not await self._has_secret(job):
            keys = await asyncio.to_thread(_new_keys)
        for body in objects_of(job, keys):
            made = await self._create(job, body["kind"].lower(), OBJECTS[body["kind"]], body)
            if made is None:
                return False
            data = following.get((body["kind"], body["metadata"]["name"]))
            if data is not None and not await self._update_data(job, body, orjson.loads(made), data):
                return False
        self._there[job.uid] = content
        return True

    async def _has_secret(self, job: VcJob) -> bool:
        """Whether the Secret is there, by trying to make it: nobody need be allowed to read all Secrets for that."""
        for body in objects_of(job, NO_KEYS):
            if body["kind"] == "Secret":
                path, data = SECRETS.path(job.namespace), orjson.dumps(body)
                try:
                    await self._client.request("POST", path, params={"dryRun": "All"}, body=data)
                except AlreadyExists:
                    continue
                return False
        return True

    async def _update_data(self, job: VcJob, body: Body, found: Body, wanted: Mapping[str, str]) -> bool:
        """Bring the data of an object up to date that follow the job."""
        before = found.get("data") or {}
        if before == wanted:
            return True
        changed = {key: None for key in before if key not in wanted} | dict(wanted)
        patch = {"metadata": {"uid": found["metadata"]["uid"]}, "data": changed}
        path = OBJECTS[body["kind"]].path(body["metadata"]["namespace"], body["metadata"]["name"])
        write = Write(body["kind"].lower(), "PATCH", path, orjson.dumps(patch), MERGE_PATCH)
        return (await self._send(job, write, f"{body['kind']} {body['metadata']['name']}")).done

    async def _delete_objects(self, job: VcJob) -> bool:
        """Take back what plugins have made, but for Secrets: a job that is resumed wants the same keys."""
        self._there.pop(job.uid, None)
        for kind, name in names_of_plugin_objects(job):
            if kind == "Secret":
                continue
            path = OBJECTS[kind].path(job.namespace, name)
            try:
                found = await self._client.get(path)
            except NotFound:
                continue
            uid = found["metadata"]["uid"]
            if is_controlled_by(found, job.uid) and not await self._delete(job, kind.lower(), OBJECTS[kind], name, uid):
                return False
        return True

    # -- requests

    async def _create(self, job: VcJob, kind: str, resource: ApiResource, body: Body) -> bytes | None:
        """Create an object; the object as it is, also where it was there already. None if that failed."""
        name = body["metadata"]["name"]
        write = Write(kind, "POST", resource.path(job.namespace), orjson.dumps(body))
        answer = await self._send(job, write, f"{body['kind']} {name}")
        if answer.done:
            return answer.body
        if answer.code == 409 and resource == SECRETS:
            return b"{}"  # whose it is cannot be known without the right to read all Secrets
        if answer.code == 409:
            try:
                found = await self._client.get(resource.path(job.namespace, name))
            except VschedError:
                return None
            if is_controlled_by(found, job.uid):
                return orjson.dumps(found)
            owner = words.OBJECT_OF_ANOTHER
            self._tell_uncreated(job, f"{body['kind']} {name}: {owner}")
            self._complain(job, UNCREATED, f"{body['kind']} {name}: {owner}")
        elif why := refusal_of(answer, "POST"):
            self._tell_uncreated(job, f"{body['kind']} {name}: {why}")
        return None

    async def _delete(self, job: VcJob, kind: str, resource: ApiResource, name: str, uid: str) -> bool:
        write = Write(kind, "DELETE", resource.path(job.namespace, name), deletion_options(uid, background=True))
        answer = await self._send(job, write, f"{kind} {name}")
        # 409: another object has taken the name, which the watch will show, or a race was lost.
        return answer.done or answer.code == 404

    async def _send(self, job: VcJob, write: Write, what: str) -> WriteResult:
        """Send a write, and say on the job why it was refused."""
        answer = await self._writer.send(write, self._settings.attempts)
        self._events.refused(job_reference(job), what, answer, write.method)
        return answer

    async def _in_turn(self, wanted: Iterable[Any]) -> bool:
        """Do all of this, a few at a time; False if some of it failed. What comes after a failure is left for later."""
        for batch in _batches(wanted, self._settings.at_once):
            if not all(await together(*batch)):
                return False
        return True

    def _tell_uncreated(self, job: VcJob, what: str) -> None:
        self._uncreated.setdefault(job.uid, set()).add(what)

    def _complain(self, job: VcJob, reason: str, message: str) -> None:
        self._events.record(job_reference(job), WARNING, reason, message)


def _new_keys() -> KeyPair:
    """A new pair of keys. What makes them is loaded only for it, as few daemons ever need it."""
    from vsched.controllers.vcjobs.keys import new_keys

    return new_keys()


def _batches(wanted: Iterable[Any], size: int) -> Iterator[list[Any]]:
    batch: list[Any] = []
    for each in wanted:
        batch.append(each)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
