"""Asks for nodes by ProvisioningRequests: one for each gang that lacks nothing else, as long as it does.

Sessions say which gangs these are, and the mirror is told what became of the requests. Level-triggered: a gang is
looked at when what it needs or one of its requests has changed, and when a wait is over.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from vsched import api
from vsched.api.resources import PODS
from vsched.clock import Clock
from vsched.controllers import words
from vsched.controllers.provisioning.bodies import deletions, name_of, request_write, template_write
from vsched.controllers.provisioning.decide import Need, ProvisioningDecision, decide, waits_for_nodes
from vsched.controllers.provisioning.records import LackingGang, OwnRequest, PodShape, request_of
from vsched.controllers.provisioning.shown import AutoscalingShown, Buffer, LatestRequest, buffer_of
from vsched.controllers.queue_records import ObjectFeed
from vsched.errors import VschedError
from vsched.framework.policy import Autoscaling
from vsched.kube.backoff import BackOffs, BackOffSettings
from vsched.kube.client import ApiClient, Json
from vsched.kube.errors import NotFound
from vsched.kube.watch.deltas import PartsSink
from vsched.mirror.ingest.node_pools import node_pool_of
from vsched.mirror.inputs import SnapshotInputs
from vsched.model.jobs.job import Job
from vsched.model.jobs.provisioning import ASKED, FAILED, GIVEN_UP, PROVISIONED, Provisioning
from vsched.model.nodes.pools import NodePool
from vsched.model.plan import PROVISIONING, CycleReport
from vsched.model.pods.shape import Shape
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot
from vsched.writes.bodies import podgroup_reference
from vsched.writes.events import NORMAL, WARNING, EventRecorder
from vsched.writes.limits import Attempts
from vsched.writes.workqueue import Workqueue, WorkqueueSettings
from vsched.writes.writer import Write, Writer, WriteResult

BUFFERS_MAX = 200
"""How many CapacityBuffers have series of their own."""
Worry = Callable[..., None]
"""Logs a warning: a sentence, and fields."""


class ProvisioningSettings(msgspec.Struct, frozen=True):
    """Limits of writes about ProvisioningRequests."""

    workqueue: WorkqueueSettings = WorkqueueSettings(workers=2, per_second=20.0, burst=50.0)
    attempts: Attempts = Attempts(3, first_seconds=0.2, ceiling_seconds=2.0)
    retry: BackOffSettings = BackOffSettings(first_seconds=0.5, ceiling_seconds=60.0)
    shown_seconds: float = 5.0
    """How long the watch has to show a request that was made or deleted, before it is written again."""


class ProvisioningController:
    """Makes, follows and withdraws the ProvisioningRequests of gangs."""

    def __init__(
        self,
        client: ApiClient,
        writer: Writer,
        events: EventRecorder,
        rules: Callable[[], Autoscaling],
        inputs: SnapshotInputs,
        worry: Worry,
        clock: Clock,
    ) -> None:
        self._client = client
        self._writer = writer
        self._events = events
        self._rules = rules
        self._provision = inputs.provision
        self._worry = worry
        self._clock = clock
        self._settings = ProvisioningSettings()
        self._requests: ObjectFeed[OwnRequest] = ObjectFeed(request_of, self._changed, self._listed)
        self._buffers: ObjectFeed[Buffer] = ObjectFeed(buffer_of, lambda key, before, after: None, lambda: None)
        self._by_gang: dict[str, dict[str, OwnRequest]] = {}
        self._pools: ObjectFeed[NodePool] = ObjectFeed(
            node_pool_of, lambda key, before, after: inputs.offer(dict(self._pools.found)), lambda: None
        )
        self._needs: dict[str, Need] = {}
        """By job: those that want nodes, and those with requests."""
        self._gangs: dict[str, tuple[Job, list[Task], LackingGang]] = {}
        """By job that lacks nodes: what it asks for, with the records that this follows from. It is worked out anew
        where these are others: the mirror makes another record of a job whenever the job changes."""
        self._states: dict[str, Provisioning] = {}
        self._back_offs = BackOffs(self._settings.retry)
        self._complained = False
        self._told: tuple[bool, dict[str, Provisioning]] = (False, {})
        self.workqueue: Workqueue[str, None] = Workqueue(self._settings.workqueue, self._look)

    @property
    def sinks(self) -> Mapping[str, PartsSink[api.Object]]:
        """The sinks of the kinds that have to be watched."""
        return {"ProvisioningRequest": self._requests, "CapacityBuffer": self._buffers, "NodePool": self._pools}

    def shown(self) -> AutoscalingShown:
        """What people are shown, by name."""
        asked = tuple(
            LatestRequest(
                key, one.request, one.state, one.attempt, one.message, one.retry_at, one.kept_until, self._called(key)
            )
            for key, one in sorted(self._states.items())
        )
        buffers = tuple(found for _, found in sorted(self._buffers.found.items()))
        return AutoscalingShown(self._rules().provisioning_request, asked, buffers)

    def _called(self, key: str) -> str:
        found = self._gangs.get(key)
        return "" if found is None else found[0].called

    def numbers(self) -> Mapping[str, Mapping[str, float]]:
        """What is read off at every scrape."""
        states: dict[str, float] = dict.fromkeys((ASKED, PROVISIONED, FAILED, GIVEN_UP), 0.0)
        for one in self._states.values():
            states[one.state] += 1
        buffers = {f"{one.namespace}/{one.name}": float(one.pods) for one in self._buffers.found.values()}
        return {
            "vsched_provisioning_requests": states,
            "vsched_capacity_buffer_pods": dict(sorted(buffers.items())[:BUFFERS_MAX]),
        }

    async def run(self) -> None:
        """Run the controller until cancelled."""
        await self.workqueue.run()

    def submit(self, snapshot: Snapshot, report: CycleReport) -> None:
        """Take note of which gangs lack nodes after a session."""
        rules = self._rules()
        if rules.provisioning_request and not self._requests.listed and not self._complained:
            self._complained = True
            self._worry(words.REQUESTS_CANNOT_BE_LISTED)
        if not self._requests.listed or not (rules.provisioning_request or self._by_gang):
            self._tell()
            return
        wanted: dict[str, list[Task]] = {}
        for verdict in report.unschedulable.values():
            if verdict.reason == PROVISIONING:
                wanted.setdefault(verdict.job, []).append(snapshot.jobs[verdict.job].tasks[verdict.uid])
        gangs = {key: self._gang(snapshot, key, tasks) for key, tasks in wanted.items()}
        self._gangs = gangs
        for key in {*wanted, *self._needs, *self._by_gang} - self._elsewhere(snapshot):
            self._see(key, snapshot.jobs.get(key), gangs[key][-1] if key in gangs else None)
        self._tell()

    def _elsewhere(self, snapshot: Snapshot) -> set[str]:
        """The gangs with requests that another shard looks after: they wait, and not here."""
        jobs = ((key, snapshot.jobs.get(key)) for key in self._by_gang)
        waiting = {key for key, job in jobs if job is not None and job.waits}
        return waiting.difference(snapshot.active) if waiting else waiting

    def _gang(self, snapshot: Snapshot, key: str, tasks: list[Task]) -> tuple[Job, list[Task], LackingGang]:
        job, known = snapshot.jobs[key], self._gangs.get(key)
        if known is not None and known[0] is job and known[1] == tasks:
            return known
        return job, tasks, gang_of(job, tasks, snapshot.axis.names)

    def _see(self, key: str, job: Job | None, gang: LackingGang | None) -> None:
        before = self._needs.get(key)
        waits = job is not None and waits_for_nodes(job)
        since = before.since if before is not None and before.gang is None else self._clock.now()
        need = Need(gang, waits, 0.0 if gang is not None else since)
        if not waits and key not in self._by_gang:
            self._needs.pop(key, None)
            self._states.pop(key, None)
            self._back_offs.forget(key)
        elif before is None or need != before:
            self._needs[key] = need
            self.workqueue.put(key, None)

    def _changed(self, key: str, before: OwnRequest | None, after: OwnRequest | None) -> None:
        for one in (before, after):
            if one is not None:
                known = self._by_gang.setdefault(one.gang, {})
                known.pop(key, None)
                if one is after:
                    known[key] = one
                if not known:
                    del self._by_gang[one.gang]
                if one.gang in self._needs:
                    self.workqueue.put(one.gang, None)
        if after is not None and before is not None and after.ended and not before.ended:
            self._tell_end(after)

    def _listed(self) -> None:
        for gang in self._needs:
            self.workqueue.put(gang, None)
        self._tell()

    def _tell(self) -> None:
        """Tell the mirror, where anything has changed."""
        on = self._requests.listed and self._rules().provisioning_request
        if (on, self._states) != self._told:
            self._told = on, dict(self._states)
            self._provision(self._told[1] if on else None)

    # -- one gang

    async def _look(self, key: str, _: None) -> None:
        need = self._needs.get(key)
        if need is None:
            return
        now = self._clock.now()
        found = [*self._by_gang.get(key, {}).values()]
        decision = decide(need, found, self._rules(), now)
        self._tell_in_vain(need, found, self._states.get(key), decision.state)
        if decision.state is None:
            self._states.pop(key, None)
        else:
            self._states[key] = decision.state
        self._tell()
        try:
            done = await self._carry_out(need.gang, decision)
        except NotFound:
            done = False  # a pod of the gang has gone, which the watch is about to show
        except VschedError as error:
            done = self._failed(key, str(error))
        if not done:
            self.workqueue.put(key, None, self._back_offs.next_seconds(key))
            return
        self._back_offs.forget(key)
        if decision.create or decision.delete:
            self.workqueue.put(key, None, self._settings.shown_seconds)
        elif decision.wake_at is not None:
            self.workqueue.put(key, None, max(0.05, decision.wake_at - now))

    async def _carry_out(self, gang: LackingGang | None, decision: ProvisioningDecision) -> bool:
        """Make and delete requests; False if a write failed. A repeat changes nothing."""
        if decision.create and gang is not None and not await self._create(gang, decision.create):
            return False
        for request in decision.delete:
            for write in deletions(request):
                answer = await self._send(gang, write)
                if not answer.done and answer.code not in (404, 409):
                    return False
        return True

    async def _create(self, gang: LackingGang, attempt: int) -> bool:
        """Make the PodTemplates, then the request: their names are fixed, so what is there already is this one."""
        name = name_of(gang, attempt)
        for number, shape in enumerate(gang.shapes):
            pod: Json = await self._client.get(PODS.path(gang.owner.namespace, shape.pod))
            if not _is_there(await self._send(gang, template_write(gang, name, number, pod))):
                return False
        answer = await self._send(gang, request_write(gang, attempt, self._rules()))
        if not _is_there(answer):
            return False
        if answer.done:
            pods = sum(shape.number for shape in gang.shapes)
            message = words.asked_for_nodes(pods, name)
            self._events.record(gang.owner, NORMAL, "ProvisioningRequested", message)
        return True

    def _failed(self, key: str, message: str) -> bool:
        """Something cannot be read; it is told once for each gang, and tried again."""
        if key not in self._back_offs:
            self._worry(words.REQUEST_CANNOT_BE_WRITTEN, gang=key, problem=message)
        return False

    async def _send(self, gang: LackingGang | None, write: Write) -> WriteResult:
        """Send a write, and say on the PodGroup that it is for why it was refused."""
        answer = await self._writer.send(write, self._settings.attempts)
        if gang is not None:
            self._events.refused(gang.owner, write.kind, answer, write.method)
        return answer

    def _tell_in_vain(
        self, need: Need, found: Iterable[OwnRequest], before: Provisioning | None, after: Provisioning | None
    ) -> None:
        """Record an Event for a request whose nodes did not come, though the autoscaler has not ended it."""
        if before is None or after is None or after.state not in (FAILED, GIVEN_UP):
            return
        if before.request == after.request and before.state in (FAILED, GIVEN_UP):
            return
        for one in found:
            if one.name == after.request and not one.ended:
                self._tell_end(one._replace(message=after.message))

    def _tell_end(self, request: OwnRequest) -> None:
        """Record an Event on the PodGroup that a request came to nothing."""
        need = self._needs.get(request.gang)
        if need is not None and need.gang is not None:
            message = f"ProvisioningRequest {request.name}, attempt {request.attempt}: {request.message}"
            self._events.record(need.gang.owner, WARNING, "ProvisioningFailed", message)


def _is_there(answer: WriteResult) -> bool:
    """Whether an object was made, now or before."""
    return answer.done or (answer.code == 409 and "already exists" in answer.message)


def gang_of(job: Job, tasks: Sequence[Task], names: Sequence[str]) -> LackingGang:
    """What these tasks of a gang ask for."""
    counts: Counter[Shape] = Counter(task.shape for task in tasks)
    first: dict[Shape, Task] = {}
    for task in sorted(tasks, key=lambda task: task.name):
        first.setdefault(task.shape, task)
    told = sorted(
        (
            first[shape].role,
            sorted((names[column], amount) for column, amount in shape.request),
            count,
            first[shape].name,
        )
        for shape, count in counts.items()
    )
    shapes = tuple(PodShape(name, count) for _, _, count, name in told)
    said = [(role, amounts, count) for role, amounts, count, _ in told]
    digest = hashlib.sha256(repr(said).encode()).hexdigest()[:16]
    return LackingGang(job.key, podgroup_reference(job.key, job.spec.uid), shapes, digest)
