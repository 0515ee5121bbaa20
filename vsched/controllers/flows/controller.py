"""The controller of Volcano's CronJobs, JobFlows and JobTemplates: makes their vcjobs, deletes those that are to go,
and writes statuses.

It is level-triggered. Vcjobs have fixed names, so that one which a killed process has made is found, and not made
twice. Where Volcano's own controllers run, it stands back with the controller of vcjobs.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec
import orjson
from cachetools import LRUCache

from vsched.api.resources import JOB_FLOWS, JOB_TEMPLATES, VCJOBS, VOLCANO_CRON_JOBS
from vsched.clock import Clock
from vsched.controllers.flows import words
from vsched.controllers.flows.cronjobs import CronJob, decide
from vsched.controllers.flows.jobflows import FlowRecord
from vsched.controllers.flows.jobtemplates import TemplateRecord, template_status
from vsched.controllers.flows.made import Body, MadeJob
from vsched.controllers.flows.prober import Prober, ProbeSettings
from vsched.controllers.flows.progress import FlowPlan, proceed
from vsched.controllers.flows.records import NOT_DECODED, BadMaker, Kept, MakerRecords
from vsched.controllers.queue_records import ObjectFeed
from vsched.controllers.vcjobs.naming import is_controlled_by
from vsched.controllers.vcjobs.view import VcjobPod
from vsched.controllers.words import not_managed, not_run_in
from vsched.errors import UNUSABLE, VschedError
from vsched.kube.backoff import BackOffs, BackOffSettings
from vsched.kube.client import ApiClient
from vsched.writes.bodies import ObjectReference, deletion_options, status_replacement
from vsched.writes.events import NORMAL, WARNING, EventRecorder, without_numbers
from vsched.writes.limits import Attempts
from vsched.writes.unexpected import report
from vsched.writes.workqueue import Workqueue, WorkqueueSettings
from vsched.writes.writer import Write, Writer, WriteResult

RESOURCES = {"CronJob": VOLCANO_CRON_JOBS, "JobFlow": JOB_FLOWS, "JobTemplate": JOB_TEMPLATES}
COUNTED = tuple(f"{kind} {what}" for kind in ("CronJob", "JobFlow") for what in ("created", "deleted"))
MESSAGE_MAX = 1000
"""So many characters has an Event at most."""
_OFTEN = ("ProbeFailed", "ForbidConcurrent", "MissSchedule")
"""Reasons whose messages differ in numbers again and again: they are one Event with a count."""
_GONE = (404, 409)
"""Answers to a deletion after which the object is not there: it was deleted, or replaced by another one."""


class MakerSettings(msgspec.Struct, frozen=True):
    """Limits and back-off of what is done about CronJobs and JobFlows."""

    workqueue: WorkqueueSettings = WorkqueueSettings(workers=4, per_second=100.0, burst=200.0, limit=100_000)
    attempts: Attempts = Attempts(3, first_seconds=0.1, ceiling_seconds=1.0)
    retry: BackOffSettings = BackOffSettings(first_seconds=0.1, ceiling_seconds=60.0)
    gather_seconds: float = 0.02
    """How long a change waits for others of the same object."""
    gather_seconds_of_templates: float = 0.5
    """The same of a JobTemplate: its status names all vcjobs of many JobFlows."""
    longest_seconds: float = 600.0
    """CronJobs are looked at this often at least: clocks may be set."""
    remembered: int = 10_000
    probes: ProbeSettings = ProbeSettings()
    namespaces: frozenset[str] = frozenset()
    """Only objects of these are looked after; none means all."""


class MakerController:
    """Looks after CronJobs and JobFlows."""

    def __init__(
        self,
        client: ApiClient,
        writer: Writer,
        events: EventRecorder,
        clock: Clock,
        stands_back: Callable[[], Awaitable[str]],
        pods: Callable[[str], Sequence[VcjobPod]],
        settings: MakerSettings,
    ) -> None:
        """``stands_back`` finds out why nothing is to be done for now, in words; empty where there is no such reason.
        ``pods`` gives the pods of a vcjob by its uid.
        """
        self._client = client
        self._writer = writer
        self._events = events
        self._clock = clock
        self._stands_back = stands_back
        self._pods = pods
        self._settings = settings
        self._records = MakerRecords(self._touched, clock)
        self._blamed: LRUCache[tuple[str, str], str] = LRUCache(self._settings.remembered)
        """What was said about objects, by uid and reason."""
        self._back_offs = BackOffs(self._settings.retry)
        self._workqueue: Workqueue[str, None] = Workqueue(self._settings.workqueue, self._look)
        self.counts: Counter[str] = Counter(dict.fromkeys(COUNTED, 0))
        """Vcjobs that were made and deleted, by what for."""
        self.prober = Prober(clock, self._touched, self._settings.probes)

    def numbers(self) -> Mapping[str, Mapping[str, float]]:
        """What is read off at every scrape."""
        return {
            "vsched_job_flows": self._records.flow_counts(),
            "vsched_cron_jobs": self._records.cron_counts(),
            "vsched_flow_vcjobs_total": {what: float(count) for what, count in self.counts.items()},
            "vsched_flow_probes_total": {result: float(count) for result, count in self.prober.counts.items()},
        }

    def shown(self) -> Mapping[str, object]:
        """For ``/readyz``: how many there are and how they fare, as far as there are any."""
        flows, crons = self._records.flow_counts(), self._records.cron_counts()
        counts = {
            "jobFlows": sum(flows.values()),
            "cronJobs": sum(crons.values()),
            "unreadable": flows[NOT_DECODED] + crons[NOT_DECODED],
            "probed": len(self.prober),
            "retried": len(self._back_offs),
        }
        return {what: int(count) for what, count in counts.items() if count}

    @property
    def sinks(self) -> Mapping[str, ObjectFeed[Any]]:
        """The sink for each kind that has to be watched."""
        return self._records.feeds

    async def run(self) -> None:
        """Run the controller until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._workqueue.run(), name="flows")
            group.create_task(self.prober.run(), name="probes")

    def look_at_all(self) -> None:
        """Whether something may be done has changed."""
        for key in list(self._records.all_keys()):
            self._touched(key)

    def _touched(self, key: str) -> None:
        if self._records.maker(key) is not None:
            is_template = key.startswith("JobTemplate ")
            settings = self._settings
            gather_seconds = settings.gather_seconds_of_templates if is_template else settings.gather_seconds
            self._workqueue.put(key, None, gather_seconds)
        else:
            self._workqueue.discard(key)
            self._back_offs.forget(key)
            self.prober.forget(key)

    async def _look(self, key: str, _: None) -> None:
        maker = self._records.maker(key)
        if maker is None or self._writer.is_leaving(maker.reference.namespace) or not self._records.is_ready(maker):
            self.prober.forget(key)
            return  # looked at again once that has changed
        if self._settings.namespaces and maker.reference.namespace not in self._settings.namespaces:
            self.prober.forget(key)
            self._blame(maker.reference, "NotManaged", not_run_in(maker.reference.namespace))
            return
        try:
            if await self._stands_back():
                self.prober.forget(key)
                return
            settled = await self._settle(key, maker)
        except VschedError as error:
            settled = False
            self._blame(maker.reference, "FailedSync", str(error))
        except UNUSABLE as error:
            # Something in it that nobody thought of: its owner hears of it, and it is looked at again once it changes.
            why = report(words.key_not_managed(key), error)
            self._blame(maker.reference, f"Invalid{maker.reference.kind}", not_managed(why))
            settled = True
        if settled:
            self._back_offs.forget(key)
        elif self._records.maker(key) is not None:
            self._workqueue.put(key, None, self._back_offs.next_seconds(key))

    async def _settle(self, key: str, maker: Kept) -> bool:
        """Bring one object up to date; False if part of it failed."""
        if isinstance(maker, TemplateRecord):
            return await self._finish(maker, template_status(maker, self._records.of_template(maker)))
        if isinstance(maker, BadMaker):
            self.prober.forget(key)
            self._blame(maker.reference, f"Invalid{maker.reference.kind}", maker.problem)
            return True
        return await (self._settle_cron(maker) if isinstance(maker, CronJob) else self._settle_flow(maker))

    async def _settle_cron(self, cron: CronJob) -> bool:
        plan = decide(cron, self._records.jobs(cron.uid), self._clock.now())
        self._blame(cron.reference, *plan.problem)
        if plan.wake_at is not None:
            wait = min(max(0.0, plan.wake_at - self._clock.now()), self._settings.longest_seconds)
            self._workqueue.put(cron.key, None, wait)
        if plan.create is not None:
            for job in plan.replace:
                if not await self._delete(cron.reference, job):
                    return False
            if not await self._create(cron.reference, plan.create):
                return False
            plan = decide(cron, self._records.jobs(cron.uid), self._clock.now())
        return await self._finish(cron, plan.status, plan.delete)

    async def _settle_flow(self, flow: FlowRecord) -> bool:
        plan = self._plan(flow)
        for reason, message in plan.problems:
            self._blame(flow.reference, reason, message)
        made = [await self._create(flow.reference, body) for body in plan.create]
        if any(made):
            plan = self._plan(flow)
        self.prober.want(flow.key, plan.asks)
        if plan.lacks_pods:
            self._workqueue.put(flow.key, None, self._settings.probes.period_seconds)
        return await self._finish(flow, plan.status, plan.delete) and all(made)

    def _plan(self, flow: FlowRecord) -> FlowPlan:
        jobs, now = self._records.jobs(flow.uid), self._clock.now()
        pods = {job.uid: self._pods(job.uid) for job in jobs} if flow.asks_pods else {}
        return proceed(flow, jobs, self._records.templates, now, pods, self.prober.answers(flow.key))

    async def _finish(
        self, maker: CronJob | FlowRecord | TemplateRecord, status: Body | None, old: tuple[MadeJob, ...] = ()
    ) -> bool:
        """Write the status, then delete what is to go."""
        if status is not None and not await self._write_status(maker, status):
            return False
        return all([await self._delete(maker.reference, job) for job in old])

    def _blame(self, about: ObjectReference, reason: str, message: str) -> None:
        """Say what is wrong, once."""
        if reason and self._blamed.get((about.uid, reason)) != message:
            self._blamed[about.uid, reason] = message
            cause = without_numbers(message) if reason in _OFTEN else ""
            self._events.record(about, WARNING, reason, message[:MESSAGE_MAX], cause=cause[:MESSAGE_MAX])

    # -- requests

    async def _write_status(self, maker: CronJob | FlowRecord | TemplateRecord, status: Body) -> bool:
        """Write the status over the version that was decided on, and no other."""
        about = maker.reference
        body = status_replacement(about._replace(resource_version=maker.resource_version), status)
        path = RESOURCES[about.kind].path(maker.namespace, maker.name, "status")
        answer = await self._send(about, Write(about.kind.lower(), "PUT", path, body), "status")
        if answer.done:
            self._records.wrote_maker(maker.key, answer.body)
        return answer.done

    async def _create(self, about: ObjectReference, body: Body) -> bool:
        """Make a vcjob, or find that it was made before; False if it is not there."""
        name = body["metadata"]["name"]
        write = Write("vcjob", "POST", VCJOBS.path(about.namespace), orjson.dumps(body))
        answer = await self._send(about, write, f"vcjob {name}")
        if answer.done:
            self.counts[f"{about.kind} created"] += 1
            self._records.wrote_job(answer.body)
            self._events.record(about, NORMAL, "SuccessfulCreate", words.created_vcjob(name))
            return True
        if answer.code == 409:
            found = await self._client.get(VCJOBS.path(about.namespace, name))
            if is_controlled_by(found, about.uid):
                self._records.wrote_job(orjson.dumps(found))
                return True
            self._blame(about, "FailedCreate", words.vcjob_of_another(name, about.kind))
        return False

    async def _delete(self, about: ObjectReference, job: MadeJob) -> bool:
        path = VCJOBS.path(job.namespace, job.name)
        write = Write("vcjob", "DELETE", path, deletion_options(job.uid, background=True))
        answer = await self._send(about, write, f"vcjob {job.name}")
        if answer.done:
            self.counts[f"{about.kind} deleted"] += 1
            self._events.record(about, NORMAL, "SuccessfulDelete", words.deleted_vcjob(job.name))
        if answer.done or answer.code in _GONE:
            self._records.deleted(job.uid)
            return True
        return False

    async def _send(self, about: ObjectReference, write: Write, what: str) -> WriteResult:
        """Send a write, and say on the object that it is for why it was refused."""
        answer = await self._writer.send(write, self._settings.attempts)
        self._events.refused(about, what, answer, write.method)
        return answer
