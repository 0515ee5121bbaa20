"""The data of the controller of CronJobs and JobFlows: they themselves, JobTemplates, and the vcjobs that were made.

Watches feed it, and so do the answers to writes, which come earlier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec
from cachetools import LRUCache

from vsched import api
from vsched.api.resources import JOB_FLOWS, VCJOB, VOLCANO_CRON_JOB, VOLCANO_CRON_JOBS
from vsched.clock import Clock
from vsched.controllers.flows.cronjobs import CronJob, cron_job_of
from vsched.controllers.flows.jobflows import FLOW_PHASES, FlowRecord, flow_phase, job_flow_of
from vsched.controllers.flows.jobtemplates import TemplateRecord, job_template_of
from vsched.controllers.flows.made import MadeJob, made_job_of
from vsched.controllers.queue_records import ObjectFeed
from vsched.controllers.vcjobs.fresh import UNSEEN_SECONDS, Fresh, FreshGroups, answered
from vsched.writes.bodies import ObjectReference

NOT_DECODED = "unreadable"
"""As what those are counted that could not be decoded."""
REMEMBERED = 10_000
"""How many of the uids that this process has deleted are remembered."""


class BadMaker(msgspec.Struct, frozen=True):
    """A CronJob or a JobFlow that could not be decoded."""

    reference: ObjectReference
    problem: str


Maker = CronJob | FlowRecord | BadMaker
Kept = Maker | TemplateRecord
"""What is looked after: each has a status."""


class MakerRecords:
    """The feeds together; they call ``touched`` with the key of each object to be looked at."""

    def __init__(self, touched: Callable[[str], None], clock: Clock) -> None:
        self._touched = touched
        self._made: dict[str, dict[str, MadeJob]] = {}
        """By the uid of their maker, and their name."""
        self._users: dict[str, set[str]] = {}
        """JobFlows by the JobTemplate that they name."""
        self._of_template: dict[str, dict[str, MadeJob]] = {}
        """Vcjobs by the JobTemplate of which they were made, and by their name."""
        self._fresh_jobs: FreshGroups[MadeJob] = FreshGroups(UNSEEN_SECONDS, clock.monotonic)
        """By the uid of their maker."""
        self._fresh_makers: Fresh[Kept] = Fresh(UNSEEN_SECONDS, clock.monotonic)
        self._deleted: LRUCache[str, None] = LRUCache(REMEMBERED)
        self._jobs: ObjectFeed[MadeJob] = ObjectFeed(made_job_of, self._job_changed, self._listed)
        self._templates: ObjectFeed[TemplateRecord] = ObjectFeed(job_template_of, self._template_changed, self._listed)
        self._crons: ObjectFeed[Maker] = ObjectFeed(_maker_of, self._cron_changed, self._listed)
        self._flows: ObjectFeed[Maker] = ObjectFeed(_maker_of, self._flow_changed, self._listed)
        self._kept: Mapping[str, ObjectFeed[Any]] = {
            VOLCANO_CRON_JOB: self._crons,
            "JobFlow": self._flows,
            "JobTemplate": self._templates,
        }

    @property
    def feeds(self) -> Mapping[str, ObjectFeed[Any]]:
        """The sinks of the watched kinds."""
        return {VCJOB: self._jobs, **self._kept}

    # -- what is known

    def all_keys(self) -> Iterator[str]:
        """All CronJobs, JobFlows and JobTemplates."""
        for kind, feed in self._kept.items():
            yield from (f"{kind} {key}" for key in feed.found)

    def maker(self, key: str) -> Kept | None:
        """A CronJob, a JobFlow or a JobTemplate as its object is."""
        kind, _, name = key.partition(" ")
        found: Kept | None = self._kept[kind].found.get(name)
        return None if found is None else self._fresh_makers.get(key) or found

    def flow_counts(self) -> dict[str, float]:
        """How many JobFlows there are, by phase."""
        counts = dict.fromkeys((*FLOW_PHASES, NOT_DECODED), 0.0)
        for flow in self._flows.found.values():
            counts[flow_phase(flow) if isinstance(flow, FlowRecord) else NOT_DECODED] += 1
        return counts

    def cron_counts(self) -> dict[str, float]:
        """How many CronJobs there are, by whether they are suspended."""
        counts = dict.fromkeys(("scheduled", "suspended", NOT_DECODED), 0.0)
        for cron in self._crons.found.values():
            if isinstance(cron, CronJob):
                counts["suspended" if cron.suspended else "scheduled"] += 1
            else:
                counts[NOT_DECODED] += 1
        return counts

    def is_ready(self, maker: Kept) -> bool:
        """Whether everything is listed that a decision needs."""
        return self._jobs.listed and (self._templates.listed or not isinstance(maker, FlowRecord))

    def jobs(self, uid: str) -> list[MadeJob]:
        """The vcjobs that a CronJob or a JobFlow controls."""
        found = self._fresh_jobs.joined(uid, self._made.get(uid, {}))
        return [
            msgspec.structs.replace(job, deleting=True) if job.uid in self._deleted else job for job in found.values()
        ]

    @property
    def templates(self) -> Mapping[str, TemplateRecord]:
        """JobTemplates by their key."""
        return self._templates.found

    def of_template(self, template: TemplateRecord) -> Iterable[MadeJob]:
        """The vcjobs that are there and were made of a JobTemplate."""
        return self._of_template.get(f"{template.namespace}/{template.name}", {}).values()

    # -- what writes have answered

    def wrote_job(self, data: bytes) -> None:
        """A vcjob as it was made."""
        job = answered(VCJOB, data, made_job_of)
        if job is not None and job.name not in self._made.get(job.owner, {}):
            self._fresh_jobs.put(job.owner, job.name, job)

    def wrote_maker(self, key: str, data: bytes) -> None:
        """A CronJob, a JobFlow or a JobTemplate as it is after a write."""
        found = answered(key.partition(" ")[0], data, _kept_of)
        if isinstance(found, CronJob | FlowRecord | TemplateRecord):
            self._fresh_makers.put(key, found)

    def deleted(self, uid: str) -> None:
        """This process has deleted a vcjob."""
        self._deleted[uid] = None

    # -- changes

    def _listed(self) -> None:
        for key in list(self.all_keys()):
            self._touched(key)

    def _job_changed(self, key: str, before: MadeJob | None, after: MadeJob | None) -> None:
        if before is not None:
            made = self._made.get(before.owner, {})
            made.pop(before.name, None)
            if not made:
                self._made.pop(before.owner, None)
        if after is not None:
            self._made.setdefault(after.owner, {})[after.name] = after
            self._fresh_jobs.drop(after.owner, after.name)
        for job in (before, after):
            if job is not None:
                self._touched(job.maker)
        self._note_template(before, after)

    def _note_template(self, before: MadeJob | None, after: MadeJob | None) -> None:
        """Touch a JobTemplate where a vcjob of it has come or gone."""
        for job in (before, after):
            if job is None or not job.template:
                continue
            jobs = self._of_template.setdefault(job.template, {})
            if job is after:
                jobs[job.name] = job
            else:
                jobs.pop(job.name, None)
            if not jobs:
                del self._of_template[job.template]
            if before is None or after is None or (before.uid, before.template) != (after.uid, after.template):
                self._touched(f"JobTemplate {job.template}")

    def _cron_changed(self, key: str, before: Maker | None, after: Maker | None) -> None:
        self._maker_changed(f"{VOLCANO_CRON_JOB} {key}")

    def _flow_changed(self, key: str, before: Maker | None, after: Maker | None) -> None:
        for flow in (before, after):
            if isinstance(flow, FlowRecord):
                for template in flow.templates:
                    users = self._users.setdefault(template, set())
                    (users.add if flow is after else users.discard)(flow.key)
                    if not users:
                        del self._users[template]
        self._maker_changed(f"JobFlow {key}")

    def _maker_changed(self, key: str) -> None:
        self._fresh_makers.drop(key)
        self._touched(key)

    def _template_changed(self, key: str, before: TemplateRecord | None, after: TemplateRecord | None) -> None:
        if before is None or after is None or before.spec != after.spec:
            for flow in list(self._users.get(key, ())):
                self._touched(flow)
        self._maker_changed(f"JobTemplate {key}")


def _kept_of(item: api.Object) -> Kept | None:
    return job_template_of(item) or _maker_of(item)


def _maker_of(item: api.Object) -> Maker | None:
    if isinstance(item, api.VolcanoCronJob):
        return cron_job_of(item)
    if isinstance(item, api.JobFlow):
        return job_flow_of(item)
    if not isinstance(item, api.Malformed):
        return None
    metadata, is_flow = item.metadata, item.kind == "JobFlow"
    version = (JOB_FLOWS if is_flow else VOLCANO_CRON_JOBS).api_version
    kind = "JobFlow" if is_flow else "CronJob"
    return BadMaker(ObjectReference(version, kind, metadata.namespace, metadata.name, metadata.uid), item.message)
