"""A vcjob with its pods and its PodGroup in memory; plans are carried out write after write, as the controller does."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from vsched.api.batch import VolcanoJobStatus
from vsched.controllers.vcjobs.naming import partition_of, pod_name
from vsched.controllers.vcjobs.podgroup import podgroup_spec
from vsched.controllers.vcjobs.read import status_of
from vsched.controllers.vcjobs.reconcile import reconcile
from vsched.controllers.vcjobs.spec import JobAction, VcJob
from vsched.controllers.vcjobs.stages import gang_of
from vsched.controllers.vcjobs.view import ActionRequest, GroupState, JobPlan, VcjobPod, VcjobView


class World:
    """One vcjob, alone in a cluster with room for everything."""

    def __init__(self, job: VcJob, now: float = 1_000_000.0) -> None:
        self.job = job
        self.now = now
        self.pods: dict[str, VcjobPod] = {}
        self.group: GroupState | None = None
        self.objects = False
        self.evicted: dict[str, VcjobPod] = {}
        self.command: ActionRequest | None = None
        self.claims: tuple[str, ...] = ()
        self.made: list[str] = []
        """The names of pods in the order in which they were made."""
        self.events: list[str] = []
        self.gone = False
        self._uids = 0

    @property
    def phase(self) -> str:
        return self.job.status.phase.value

    @property
    def status(self) -> dict[str, object]:
        return self.job.status.body

    @property
    def view(self) -> VcjobView:
        return VcjobView(self.job, dict(self.pods), self.group, self.claims, tuple(self.evicted.values()))

    def plan(self) -> JobPlan:
        return reconcile(self.view, self.command, self.now)

    def writes(self, plan: JobPlan) -> Iterator[str]:
        """Carry the plan out; a pause after each write, where a process can die."""
        if plan.objects == "delete":
            self.objects = False
            yield "objects"
        if plan.status is not None:
            self.job = replace(self.job, status=status_of(msgspec.convert(plan.status, VolcanoJobStatus)))
            yield "status"
        self.command = None
        self.events += [f"{event.reason}: {event.message}" for event in plan.events]
        for name in plan.delete:
            if self.pods[name].gone:
                del self.pods[name]
                continue
            self.pods[name] = replace(self.pods[name], deleting=True)
            yield f"delete {name}"
        if plan.group:
            yield self._write_group(plan.group)
        if plan.objects == "make" and not self.objects:
            self.objects = True
            yield "objects"
        for task, index in plan.create:
            yield self._make(task, index)
        for uid in plan.forget:
            self.evicted.pop(uid, None)
        self.gone |= plan.delete_job

    def step(self) -> bool:
        """One decision, carried out whole; whether anything was written."""
        return bool(list(self.writes(self.plan())))

    def settle(self, most: int = 30) -> World:
        """Decide until nothing is left to do; pods that are being deleted go at once."""
        for _ in range(most):
            wrote = self.step()
            if not (self.clear() or wrote):
                return self
        raise AssertionError(f"still busy: {self.phase}, {self.plan()}")

    def clear(self) -> bool:
        """What is being deleted is gone."""
        deleting = [name for name, pod in self.pods.items() if pod.deleting]
        for name in deleting:
            del self.pods[name]
        return bool(deleting)

    def ask(self, action: JobAction, uid: str = "c-1") -> World:
        """A Command."""
        self.command = ActionRequest(action, why=f"Command stop ({uid})")
        return self

    def admit(self) -> World:
        if self.group is not None and self.group.phase in ("", "Pending"):
            self.group = self.group._replace(phase="Inqueue")
        return self

    def set(self, name: str, phase: str, *, code: int | None = None, **fields: object) -> World:
        self.pods[name] = replace(self.pods[name], phase=phase, exit_code=code, since=self.now, **fields)
        return self

    def run(self, *names: str) -> World:
        """These pods run; all that are pending, where none is named."""
        for name in names or [pod.name for pod in self.pods.values() if pod.phase == "Pending" and not pod.deleting]:
            self.set(name, "Running", ready=True)
        return self

    def fail(self, name: str, code: int = 1) -> World:
        return self.set(name, "Failed", code=code)

    def evict(self, name: str) -> World:
        """Somebody deletes the pod, and it is gone at once."""
        pod = self.pods.pop(name)
        if pod.ended:
            self.pods[name] = replace(pod, gone=True)
        else:
            self.evicted[pod.uid] = replace(pod, since=self.now)
        return self

    def wait(self, seconds: float) -> World:
        self.now += seconds
        return self

    def _write_group(self, change: str) -> str:
        if change == "delete":
            self.group = None
        else:
            before = GroupState(self._uid(), "1", "", {}) if self.group is None else self.group
            self.group = before._replace(spec=podgroup_spec(gang_of(self.view), {}))
        return f"{change} group"

    def _make(self, task: str, index: int) -> str:
        name = pod_name(self.job, task, index)
        assert name not in self.pods, f"{name} is doubled"
        spec = next(each for each in self.job.tasks if each.name == task)
        status = self.job.status
        self.pods[name] = VcjobPod(
            name=name,
            uid=self._uid(),
            task=task,
            index=index,
            phase="Pending",
            version=status.version,
            retries=status.retries,
            partition=partition_of(spec, index),
            since=self.now,
        )
        self.made.append(name)
        return f"create {name}"

    def _uid(self) -> str:
        self._uids += 1
        return f"u{self._uids}"


def started(job: VcJob) -> World:
    """The job with its PodGroup admitted and all of its pods running."""
    return World(job).settle().admit().settle().run().settle()
