"""The vcjob controller: keeps the pods, the PodGroup and the status of each vcjob as its spec and its pods demand.

It is level-triggered: a vcjob is looked at when anything about it has changed, and again while a write fails. What must
be counted once is written to the status first, over the version that was decided on. So where a process is killed
between two writes, the next one continues.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from cachetools import LRUCache

from vsched.api.resources import VCJOBS
from vsched.clock import Clock
from vsched.controllers.queue_records import ObjectFeed, Order
from vsched.controllers.vcjobs import words
from vsched.controllers.vcjobs.changes import late_changes
from vsched.controllers.vcjobs.commands import refusal_of, request_of
from vsched.controllers.vcjobs.fresh import UNSEEN_SECONDS
from vsched.controllers.vcjobs.lost import lost_pods
from vsched.controllers.vcjobs.naming import job_reference
from vsched.controllers.vcjobs.reconcile import REFUSED, UNCREATED, reconcile
from vsched.controllers.vcjobs.records import BadJob, JobRecords
from vsched.controllers.vcjobs.rivals import RivalSettings, VolcanoControllers
from vsched.controllers.vcjobs.spec import JobPhase, VcJob
from vsched.controllers.vcjobs.states import FINISHED
from vsched.controllers.vcjobs.view import ActionRequest, JobPlan, VcjobPod, VcjobView
from vsched.controllers.vcjobs.writes import JobWrites
from vsched.controllers.words import not_managed, not_run_in
from vsched.errors import UNUSABLE, VschedError
from vsched.handlers import Handlers
from vsched.kube.backoff import BackOffs, BackOffSettings
from vsched.kube.client import ApiClient
from vsched.kube.errors import NotFound
from vsched.model.jobs.advice import headline_of
from vsched.writes.bodies import ObjectReference
from vsched.writes.events import WARNING, EventRecorder, without_numbers
from vsched.writes.limits import Attempts
from vsched.writes.unexpected import report
from vsched.writes.workqueue import Workqueue, WorkqueueSettings
from vsched.writes.writer import Writer

CHANGED = "ChangedUnderWay"
"""The reason of Events about changes that do not reach what a job has already."""


class JobControllerSettings(msgspec.Struct, frozen=True):
    """Limits and back-off of what is done about vcjobs."""

    workqueue: WorkqueueSettings = WorkqueueSettings(workers=8, per_second=2000.0, burst=4000.0, limit=500_000)
    attempts: Attempts = Attempts(3, first_seconds=0.1, ceiling_seconds=1.0)
    retry: BackOffSettings = BackOffSettings(first_seconds=0.1, ceiling_seconds=60.0)
    """Back-off after failed writes, those refused for an outdated version included."""
    gather_seconds: float = 0.02
    """How long a change waits for others of the same job, as of its other pods."""
    gather_seconds_per_pod: float = 0.0001
    """So much longer for each pod: a look costs as much as there are pods, and there is one for many changes."""
    pods_inline: int = 1000
    """Decisions about more pods, counted twice where they are there and asked for, are made in a thread: on the event
    loop they would hold up all else for several milliseconds."""
    behind_seconds: float = 2.0
    """How long the watch may take to show pods that the status of a job counts, before they are taken to have gone."""
    remembered: int = 50_000
    rivals: RivalSettings = RivalSettings()
    namespaces: frozenset[str] = frozenset()
    """Only the vcjobs of these are run; none means all."""


class JobController:
    """Looks after the vcjobs whose pods this scheduler places."""

    def __init__(
        self,
        client: ApiClient,
        writer: Writer,
        events: EventRecorder,
        scheduler_names: tuple[str, ...],
        clock: Clock,
        worry: Callable[..., None],
        settings: JobControllerSettings,
    ) -> None:
        self._client = client
        self._writer = writer
        self._events = events
        self._clock = clock
        self.on_hands: Handlers[[]] = Handlers()
        """Called when this process begins to look after vcjobs, or leaves them to Volcano's controllers."""
        self._settings = settings
        rivals = self._settings.rivals
        self._records = JobRecords(scheduler_names, self._touched, self._refuse, clock, rivals.namespace)
        self.rivals = VolcanoControllers(client, self._records.volcano, clock, self._changed_hands, worry, rivals)
        self._records.on_change.add(self._tell_late)
        self._writes = JobWrites(client, writer, events, self._records)
        self._done: LRUCache[str, None] = LRUCache(self._settings.remembered)
        """The uids of Commands that are carried out and deleted, and perhaps still shown by the watch."""
        self._blamed: LRUCache[str, str] = LRUCache(self._settings.remembered)
        """What was said of vcjobs that are not run, by uid."""
        self._lacking: LRUCache[str, float] = LRUCache(self._settings.remembered)
        """Since when jobs lack pods that their status counts, by uid, at the first look at them."""
        self._waits: LRUCache[str, str] = LRUCache(self._settings.remembered)
        """What was last said of PodGroups that wait, by the uid of their job."""
        self._began = clock.now()
        self._back_offs = BackOffs(self._settings.retry)
        self._workqueue: Workqueue[str, None] = Workqueue(self._settings.workqueue, self._look)

    @property
    def sinks(self) -> Mapping[str, ObjectFeed[Any]]:
        """The sink for each kind that has to be watched."""
        return self._records.feeds

    @property
    def standing_back(self) -> str:
        """Why no vcjob is looked after, in words; empty where they are."""
        return self.rivals.problem

    def told(self, namespace: str, name: str) -> str:
        """Why a vcjob may have no pods and no PodGroup, for people; empty where there is no such vcjob."""
        key = f"{namespace}/{name}"
        job = self._records.job(key)
        if job is None:
            return ""
        if isinstance(job, BadJob):
            return words.cannot_be_read(key, job.problem)
        if not self._records.is_ours(job):
            return words.for_another_scheduler(key, job.scheduler_name)
        if not self._may_run(key):
            return words.not_managed_here(key, not_run_in(namespace))
        if job.refusals:
            return words.cannot_be_run(key, job.refusals[0])
        if self.standing_back:
            return words.not_managed_here(key, self.standing_back)
        if job.status.phase is JobPhase.ABORTED:
            return words.suspended(key)
        why = f": {job.status.message}" if job.status.message else ""
        return words.has_no_podgroup(key, job.status.phase or JobPhase.PENDING, why)

    def uncreated(self, namespace: str, name: str) -> str:
        """Why pods of a vcjob that waits cannot be created, for people; empty where no refusal is known."""
        job = self._records.job(f"{namespace}/{name}")
        if job is None or isinstance(job, BadJob) or job.status.reason != UNCREATED:
            return ""
        return job.status.message

    def shown(self) -> dict[str, object]:
        """For ``/readyz``: why vcjobs are left alone, and why Volcano's Lease may not be read; empty otherwise."""
        said = {"problem": self.standing_back, "lease": self.rivals.unreadable}
        return {what: problem for what, problem in said.items() if problem}

    def keys(self) -> list[str]:
        """The vcjobs that are known, as ``namespace/name``."""
        return self._records.all_keys()

    def pods(self, uid: str) -> list[VcjobPod]:
        """The pods of a vcjob, as the watch shows them."""
        return self._records.pods(uid)

    async def run(self) -> None:
        """Run the controller until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._workqueue.run(), name="vcjobs")
                group.create_task(self.rivals.run(), name="vcjob-rivals")
        finally:
            self._records.act(False)

    def _touched(self, key: str) -> None:
        if self._records.is_known(key):
            more_seconds = self._settings.gather_seconds_per_pod * self._records.size(key)
            self._workqueue.put(key, None, self._settings.gather_seconds + more_seconds)
        else:
            self._workqueue.discard(key)
            self._back_offs.forget(key)

    def _changed_hands(self) -> None:
        """From now on this process looks after vcjobs, or Volcano's controllers do."""
        self._records.act(not self.rivals.problem)
        if self._records.complete.is_set():
            for key in self._records.all_keys():
                self._touched(key)
        self.on_hands()

    # -- one job

    async def _look(self, key: str, _: None) -> None:
        if self._writer.is_leaving(key.partition("/")[0]):
            return  # the API server deletes all of it, and lets nothing be made
        try:
            if await self.rivals.look_first():
                return  # all of them are looked at once nobody else does
            settled = await self._settle(key)
        except VschedError as error:
            settled = False
            self._complain(key, "FailedSync", str(error))
        except UNUSABLE as error:
            # Something in it that nobody thought of: its owner hears of it, and it is looked at again once it changes.
            why = report(words.vcjob_not_managed(key), error)
            self._complain(key, "InvalidJob", not_managed(why))
            settled = True
        if settled:
            self._back_offs.forget(key)
        elif self._records.is_known(key):
            self._workqueue.put(key, None, self._back_offs.next_seconds(key))

    async def _settle(self, key: str) -> bool:
        """Bring one vcjob up to date; False if part of it failed. Raises what the client raises."""
        job, order = self._records.job(key), self._next_order(key)
        if order is not None and (job is None or order.target_uid not in ("", job.uid)):
            return await self._dismiss(key, order)
        if job is None:
            return True
        if isinstance(job, BadJob):
            self._blame(key, job.uid, "InvalidJob", job.problem)
            return True
        if not self._records.is_ours(job):
            return True
        if not self._may_run(key):
            self._blame(key, job.uid, "NotManaged", not_run_in(job.namespace))
            return True
        request = None if order is None else request_of(order)
        if order is not None and request is None:
            self._events.record(job_reference(job), WARNING, "CommandRefused", f"{order}: {refusal_of(order)}")
            return await self._remove(order)
        if self._is_behind(key, job):
            return True
        if job.defaults and not job.deleting:
            if not await self._writes.write_defaults(job):
                return False
            found = self._records.job(key)
            job = found if isinstance(found, VcJob) and found.uid == job.uid else job
        view = self._records.view(job)._replace(uncreated=self._writes.uncreated(job))
        self._tell_waiting(view)
        plan = await self._decided(view, request)
        if not await self._writes.carry_out(view, plan):
            return False
        self._records.gone.forget(job.uid, plan.forget)
        if order is not None and not await self._remove(order):
            return False
        self._plan_next(key, job, plan.wake_at)
        return True

    async def _decided(self, view: VcjobView, request: ActionRequest | None) -> JobPlan:
        """The decision, which costs as much as there are pods: for many of them a thread makes it.

        Meanwhile the watch may show more. Then the job is looked at again; and what is counted by the status is only
        written over the version of the job that was decided on.
        """
        now = self._clock.now()
        if len(view.pods) + sum(task.replicas for task in view.job.tasks) <= self._settings.pods_inline:
            return reconcile(view, request, now)
        return await asyncio.to_thread(reconcile, view, request, now)

    def _is_behind(self, key: str, job: VcJob) -> bool:
        """At the first look at a job, find the pods that have gone before. True while the watch may only be behind."""
        if self._records.is_seen(job):
            return False
        lost = lost_pods(self._records.view(job), self._clock.now())
        now = self._clock.monotonic()
        left = self._lacking.setdefault(job.uid, now) + self._settings.behind_seconds - now if lost else 0.0
        if left > 0.0:
            self._workqueue.put(key, None, left)
            return True
        self._lacking.pop(job.uid, None)
        self._records.see(job, lost)
        return False

    def _tell_waiting(self, view: VcjobView) -> None:
        """Say on the job why its PodGroup waits, whenever that is something else than before."""
        job, group = view.job, view.group
        if group is None or not group.waits:
            self._waits.pop(job.uid, None)
            return
        waits = headline_of(group.waits)
        before, self._waits[job.uid] = self._waits.get(job.uid), waits
        if before == waits:
            return
        # What a PodGroup said before this process began was told by the process before it.
        again = before is None and group.waits_since < self._began
        message, cause = words.podgroup_waits(waits), without_numbers(waits)
        self._events.record(job_reference(job), WARNING, "PodGroupPending", message, cause=cause, again=again)

    def _plan_next(self, key: str, job: VcJob, wake_at: float | None) -> None:
        """Look again when a time is over, when the watch should show what was written, or for the next Command."""
        if self._next_order(key) is not None:
            self._workqueue.put(key, None)
        if self._records.unseen(job):
            self._workqueue.put(key, None, UNSEEN_SECONDS)
        if wake_at is not None:
            self._workqueue.put(key, None, max(0.0, wake_at - self._clock.now()))

    def _may_run(self, key: str) -> bool:
        """Whether the vcjobs of a namespace are run."""
        namespaces = self._settings.namespaces
        return not namespaces or key.partition("/")[0] in namespaces

    def _blame(self, key: str, uid: str, reason: str, problem: str) -> None:
        """Say once why a vcjob is not run."""
        if self._blamed.get(uid) != problem:
            self._blamed[uid] = problem
            self._complain(key, reason, problem)

    def _complain(self, key: str, reason: str, problem: str) -> None:
        job = self._records.job(key)
        if job is not None:
            namespace, _, name = key.partition("/")
            about = ObjectReference(VCJOBS.api_version, "Job", namespace, name, job.uid)
            self._events.record(about, WARNING, reason, problem, cause=without_numbers(problem))

    def _tell_late(self, before: VcJob, after: VcJob) -> None:
        """Say what of a change does not reach the pods and the PodGroup of a job, where it has some."""
        view = self._records.view(after)
        if after.status.phase in FINISHED or not self._records.is_ours(before) or not (view.pods or view.group):
            return
        about = job_reference(after)
        if not self._records.is_ours(after):
            what = words.no_longer_managed(after.scheduler_name)
            self._events.record(about, WARNING, CHANGED, what)
            return
        if after.refusals and after.refusals != before.refusals:
            problem = "; ".join(after.refusals)
            self._events.record(about, WARNING, REFUSED, words.no_more_pods(problem))
        late = late_changes(before, after)
        if late:
            self._events.record(about, WARNING, CHANGED, "; ".join(late))

    # -- Commands

    def _next_order(self, key: str) -> Order | None:
        """The oldest Command about a vcjob that is not carried out yet."""
        return next((order for order in self._records.orders(key) if order.uid not in self._done), None)

    async def _dismiss(self, key: str, order: Order) -> bool:
        """Delete a Command whose vcjob is gone; False if the job is there and only the watch is behind."""
        namespace, _, name = key.partition("/")
        try:
            found = await self._client.get(VCJOBS.path(namespace, name))
        except NotFound:
            pass
        else:
            if order.target_uid in ("", found.get("metadata", {}).get("uid")):
                return False
        message = words.no_job(name, any_more=bool(order.target_uid))
        self._refuse(order.reference, message)
        return await self._remove(order)

    async def _remove(self, order: Order) -> bool:
        answer = await self._writer.send(order.deletion, self._settings.attempts)
        self._events.refused(order.reference, str(order), answer, "DELETE")
        if not answer.done and answer.code != 404:
            return False
        self._done[order.uid] = None
        return True

    def _refuse(self, about: ObjectReference, message: str) -> None:
        self._events.record(about, WARNING, "CommandRefused", message)
