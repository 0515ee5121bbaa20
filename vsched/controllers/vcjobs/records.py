"""The data of the vcjob controller: vcjobs, their pods and PodGroups, Commands about them, claims and PriorityClasses.

Watches feed it, and so do the answers to writes, which come earlier: a pod that was just made is known at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec
from cachetools import LRUCache

from vsched import api
from vsched.api.resources import VCJOB, VCJOBS
from vsched.clock import Clock
from vsched.controllers.queue_records import ObjectFeed, Order, Refuse, command_reference, order_of
from vsched.controllers.vcjobs.defaults import lacking
from vsched.controllers.vcjobs.fresh import UNSEEN_SECONDS, Fresh, FreshGroups, answered
from vsched.controllers.vcjobs.gone import GonePods
from vsched.controllers.vcjobs.pod_states import JobGroup, JobPod, job_group_of, job_pod_of
from vsched.controllers.vcjobs.read import job_of
from vsched.controllers.vcjobs.rivals import VOLCANO_LABEL, is_volcano_controller
from vsched.controllers.vcjobs.spec import JobPhase, VcJob
from vsched.controllers.vcjobs.view import GroupState, VcjobPod, VcjobView
from vsched.controllers.vcjobs.volumes import named_claims
from vsched.errors import BadObject
from vsched.handlers import Handlers

REMEMBERED = 100_000
"""How many of the uids that this process has deleted are remembered."""


class BadJob(NamedTuple):
    """A vcjob that could not be decoded."""

    uid: str
    problem: str


class JobRecords:
    """The feeds together; they call ``touched`` with the key of each vcjob that may have to be looked at."""

    def __init__(
        self,
        scheduler_names: tuple[str, ...],
        touched: Callable[[str], None],
        refuse: Refuse,
        clock: Clock,
        volcano_namespace: str = "",
    ) -> None:
        """``volcano_namespace`` is where Volcano's own controllers are looked for; empty for nowhere."""
        self.complete = asyncio.Event()
        """Set once vcjobs, pods and PodGroups are listed; before that nothing can be decided."""
        self.acting = False
        """Whether somebody decides about the jobs: only then it matters which pods disappear."""
        self.volcano: set[str] = set()
        """The pods in which Volcano's own controllers run."""
        self.on_change: Handlers[[VcJob, VcJob]] = Handlers()
        """Called with the job before and after a change of its spec, while somebody decides about the jobs."""
        self._names = scheduler_names
        self._touched = touched
        self._refuse = refuse
        self._clock = clock
        self._volcano_namespace = volcano_namespace
        self._pods: dict[str, dict[str, VcjobPod]] = {}
        """By the uid of their job, and their name."""
        self.gone = GonePods()
        self._groups: dict[str, tuple[str, GroupState]] = {}
        """By the uid of their job, with their name."""
        self._targets: dict[str, dict[str, Order]] = {}
        """Commands by the job that they are about."""
        self._waiting: dict[str, set[str]] = {}
        """Jobs that name a claim, by the claim."""
        self._fresh_jobs: Fresh[VcJob] = Fresh(UNSEEN_SECONDS, clock.monotonic)
        self._fresh_groups: Fresh[GroupState] = Fresh(UNSEEN_SECONDS, clock.monotonic)
        self._fresh_pods: FreshGroups[VcjobPod] = FreshGroups(UNSEEN_SECONDS, clock.monotonic)
        self._seen: set[str] = set()
        """The uids of jobs that have been looked at since somebody decides about them."""
        self._deleted: LRUCache[str, float] = LRUCache(REMEMBERED)
        """The uids of what this process has deleted, with the monotonic time until which that is believed unseen."""
        self._job_feed: ObjectFeed[VcJob | BadJob] = ObjectFeed(self._job_of, self._job_changed, self._note_listed)
        self._pod_feed: ObjectFeed[JobPod | bool] = ObjectFeed(self._pod_of, self._pod_changed, self._note_listed)
        self._group_feed: ObjectFeed[JobGroup] = ObjectFeed(job_group_of, self._group_changed, self._note_listed)
        self._commands: ObjectFeed[Order] = ObjectFeed(self._order_of, self._command_changed, lambda: None)
        self._claims: ObjectFeed[bool] = ObjectFeed(lambda item: True, self._claim_changed, self._claims_listed)
        self._priorities: ObjectFeed[int] = ObjectFeed(priority_of, lambda key, before, after: None, lambda: None)

    @property
    def feeds(self) -> Mapping[str, ObjectFeed[Any]]:
        """The sinks of the watched kinds."""
        return {
            VCJOB: self._job_feed,
            "Pod": self._pod_feed,
            "PodGroup": self._group_feed,
            "Command": self._commands,
            "PersistentVolumeClaim": self._claims,
            "PriorityClass": self._priorities,
        }

    # -- what is known

    def job(self, key: str) -> VcJob | BadJob | None:
        """A vcjob as its object is."""
        return self._fresh_jobs.get(key) or self._job_feed.found.get(key)

    def all_keys(self) -> list[str]:
        """All vcjobs, and all that Commands are about."""
        return [*self._job_feed.found, *(key for key in self._targets if key not in self._job_feed.found)]

    def is_known(self, key: str) -> bool:
        """Whether there is a vcjob of this key, or a Command about one."""
        return key in self._job_feed.found or key in self._targets

    def size(self, key: str) -> int:
        """How many pods a vcjob has."""
        job = self._job_feed.found.get(key)
        return 0 if job is None else len(self._pods.get(job.uid, ()))

    def is_ours(self, job: VcJob) -> bool:
        """Whether this scheduler places the pods of the job."""
        return job.scheduler_name in self._names

    def orders(self, key: str) -> list[Order]:
        """The Commands about a vcjob, oldest first."""
        return sorted(self._targets.get(key, {}).values())

    def view(self, job: VcJob) -> VcjobView:
        """The vcjob with everything around it."""
        return VcjobView(
            job,
            self._pods_of(job),
            self._group_of(job),
            tuple(name for name in named_claims(job) if self._is_missing(f"{job.namespace}/{name}")),
            self.gone.evicted(job.uid),
            dict(self._priorities.found),  # it may be read in another thread
        )

    def pods(self, uid: str) -> list[VcjobPod]:
        """The pods of a vcjob that the watch shows."""
        return list(self._pods.get(uid, {}).values())

    def unseen(self, job: VcJob) -> bool:
        """Whether something was made or deleted for the job that the watch does not show yet."""
        group = self._groups.get(job.uid)
        return (
            job.uid in self._fresh_pods
            or (group is not None and self._is_leaving(group[1].uid))
            or bool(self._leaving(self._pods.get(job.uid, {})))
        )

    def _pods_of(self, job: VcJob) -> dict[str, VcjobPod]:
        pods = self._fresh_pods.joined(job.uid, self._pods.get(job.uid, {}))
        for name in self._leaving(pods):
            pods[name] = msgspec.structs.replace(pods[name], deleting=True)
        return {**self.gone.ended(job.uid), **pods}

    def _leaving(self, pods: Mapping[str, VcjobPod]) -> list[str]:
        """The names of those that this process has just deleted, and that the watch does not show as leaving yet."""
        if not self._deleted:
            return []
        now, until = self._clock.monotonic(), self._deleted.get
        return [name for name, pod in pods.items() if not pod.deleting and now < until(pod.uid, 0.0)]

    def _group_of(self, job: VcJob) -> GroupState | None:
        name, found = self._groups.get(job.uid, ("", None))
        if found is None or name != job.podgroup:
            found = self._fresh_groups.get(job.uid)
        return None if found is None or self._is_leaving(found.uid) else found

    def _is_leaving(self, uid: str) -> bool:
        """Whether this process has just deleted an object."""
        return self._clock.monotonic() < self._deleted.get(uid, 0.0)

    def _is_missing(self, claim: str) -> bool:
        return self._claims.listed and claim not in self._claims.found

    # -- what writes have answered

    def version(self, key: str) -> str:
        """The resourceVersion in which the watch shows a vcjob."""
        found = self._job_feed.found.get(key)
        return found.resource_version if isinstance(found, VcJob) else ""

    def wrote_job(self, data: bytes, version: str) -> None:
        """A vcjob as it is after a write, unless the watch no longer shows the version that it showed before."""
        job = answered(VCJOB, data, self._job_of)
        if isinstance(job, VcJob) and self.version(job.key) == version:
            self._fresh_jobs.put(job.key, job)

    def wrote_pod(self, data: bytes) -> None:
        """A pod as it was made."""
        pod = answered("Pod", data, job_pod_of)
        if pod is not None and pod.state.name not in self._pods.get(pod.owner, {}):
            self._fresh_pods.put(pod.owner, pod.state.name, pod.state)

    def wrote_group(self, data: bytes) -> None:
        """A PodGroup as it is after a write."""
        group = answered("PodGroup", data, job_group_of)
        if group is not None:
            self._fresh_groups.put(group.owner, group.state)

    def deleted(self, uid: str) -> None:
        """This process has deleted a pod or a PodGroup."""
        self._deleted[uid] = self._clock.monotonic() + UNSEEN_SECONDS

    def act(self, acting: bool) -> None:
        """From now on somebody decides about the jobs, or nobody does."""
        if self.acting and not acting:
            self.gone.clear()
            self._seen.clear()
        self.acting = acting

    def is_seen(self, job: VcJob) -> bool:
        """Whether the job has been looked at before."""
        return job.uid in self._seen

    def see(self, job: VcJob, lost: tuple[VcjobPod, ...]) -> None:
        """The job is looked at for the first time, and these of its pods have gone before."""
        self._seen.add(job.uid)
        for pod in lost:
            self.gone.put(job.uid, pod, pod.since)

    # -- changes

    def _touch(self, key: str) -> None:
        if self.complete.is_set():
            self._touched(key)

    def _note_listed(self) -> None:
        listed = self._job_feed.listed and self._pod_feed.listed and self._group_feed.listed
        if listed and not self.complete.is_set():
            self.complete.set()
            for key in self.all_keys():
                self._touched(key)

    def _claims_listed(self) -> None:
        for jobs in list(self._waiting.values()):
            for key in jobs:
                self._touch(key)

    def _job_of(self, item: api.Object) -> VcJob | BadJob | None:
        if isinstance(item, api.Malformed):
            return BadJob(item.metadata.uid, item.message)
        if not isinstance(item, api.VolcanoJob):
            return None
        # A job that names no scheduler is ours: where a webhook runs, it fills the name in.
        job = job_of(item, self._names[0])
        if job.status.phase is not JobPhase.NEW or job.refusals:
            return job
        return msgspec.structs.replace(job, defaults=lacking(item, job))

    def _job_changed(self, key: str, before: VcJob | BadJob | None, after: VcJob | BadJob | None) -> None:
        self._fresh_jobs.drop(key)
        for job in (before, after):
            if not isinstance(job, VcJob):
                continue
            for claim in named_claims(job):
                jobs = self._waiting.setdefault(f"{job.namespace}/{claim}", set())
                (jobs.add if job is after else jobs.discard)(key)
                if not jobs:
                    del self._waiting[f"{job.namespace}/{claim}"]
        if self.acting and isinstance(before, VcJob) and isinstance(after, VcJob) and _is_changed(before, after):
            self.on_change(before, after)
        if before is not None and (after is None or after.uid != before.uid):
            self.gone.forget_all(before.uid)
            self._fresh_pods.forget(before.uid)
            self._seen.discard(before.uid)
        self._touch(key)

    def _pod_of(self, item: api.Object) -> JobPod | bool | None:
        labels = item.metadata.labels
        if not labels:
            return None
        if VOLCANO_LABEL in labels and is_volcano_controller(item, self._volcano_namespace):
            return True
        return job_pod_of(item)

    def _pod_changed(self, key: str, before: JobPod | bool | None, after: JobPod | bool | None) -> None:
        if before is True or after is True:
            (self.volcano.add if after is True else self.volcano.discard)(key)
        if isinstance(before, JobPod) and (not isinstance(after, JobPod) or after.state.uid != before.state.uid):
            self._pod_gone(before)
        if isinstance(after, JobPod):
            pods = self._pods.setdefault(after.owner, {})
            pods[after.state.name] = _seen(pods.get(after.state.name), after.state)
            self._fresh_pods.drop(after.owner, after.state.name)
            self._touch(after.job)

    def _pod_gone(self, pod: JobPod) -> None:
        pods = self._pods.get(pod.owner, {})
        state = pods.pop(pod.state.name, pod.state)
        if not pods:
            self._pods.pop(pod.owner, None)
        if self.acting and self._deleted.pop(state.uid, None) is None:
            self.gone.put(pod.owner, state, self._clock.now())
        self._touch(pod.job)

    def _group_changed(self, key: str, before: JobGroup | None, after: JobGroup | None) -> None:
        name = key.partition("/")[2]
        if before is not None and (after is None or after.owner != before.owner):
            if self._groups.get(before.owner, ("", None))[0] == name:
                del self._groups[before.owner]
            self._touch(before.job)
        if after is not None:
            self._fresh_groups.drop(after.owner)
            same = before is not None and before.state.phase == after.state.phase
            known = self._groups.get(after.owner, ("", None))[1]
            since = known.since if same and known is not None else self._clock.now()
            self._groups[after.owner] = (name, after.state._replace(since=since))
            self._touch(after.job)

    def _command_changed(self, key: str, before: Order | None, after: Order | None) -> None:
        for order in (before, after):
            if order is None:
                continue
            job = f"{order.namespace}/{order.target}"
            about = self._targets.setdefault(job, {})
            about.pop(key, None)
            if order is after:
                about[key] = order
            if not about:
                del self._targets[job]
            self._touch(job)

    def _claim_changed(self, key: str, before: bool | None, after: bool | None) -> None:
        for job in self._waiting.get(key, ()):
            self._touch(job)

    def _order_of(self, item: api.Object) -> Order | None:
        """A Command about a vcjob; None for others. A Command that cannot be read is refused by whoever reads all."""
        if isinstance(item, api.Malformed):
            return None
        try:
            return order_of(item, "Job", VCJOBS.group)
        except BadObject as error:
            metadata = item.metadata
            self._refuse(command_reference(metadata.namespace, metadata.name, metadata.uid), str(error))
            return None


def _seen(before: VcjobPod | None, after: VcjobPod) -> VcjobPod:
    """A pod as it counts. Whether it has ended is decided when its deletion begins: its containers end by that, too."""
    if before is None or before.uid != after.uid or not after.deleting:
        return after
    return msgspec.structs.replace(before, deleting=True)


def _is_changed(before: VcJob, after: VcJob) -> bool:
    """Whether the spec of a job was written; its status does not count."""
    return before.uid == after.uid and before.generation != after.generation


def priority_of(item: api.Object) -> int | None:
    """The value of a PriorityClass."""
    return item.value if isinstance(item, api.PriorityClass) else None
