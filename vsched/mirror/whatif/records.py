"""A restored mirror whose records can be changed; each change can be undone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from msgspec.structs import replace

from vsched.mirror.ingest.nodes import NodeFacts
from vsched.mirror.ingest.queues import ParsedQueue
from vsched.mirror.ingest.workload_kinds import NO_WORKLOADS, WorkloadTable
from vsched.mirror.whatif.claim_edits import ClaimEdits
from vsched.mirror.whatif.restoring import RestoredMirror
from vsched.model.arbitration.records import Arbitration, Ceiling
from vsched.model.claims.devices import DeviceId
from vsched.model.deviceshare.records import NodeDevices
from vsched.model.jobs.budget import DisruptionBudget
from vsched.model.jobs.job import Job
from vsched.model.jobs.spec import JobSpec
from vsched.model.pods.shape import Toleration
from vsched.model.pods.task import Task
from vsched.model.queues.queue import PriorityClass, Queue
from vsched.model.queues.quota import Quota
from vsched.model.snapshot import Snapshot


def like_devices(found: NodeDevices, node: str) -> NodeDevices:
    """Shared devices of a new node like those of another one: healthy, and with uuids of their own."""
    devices = tuple(replace(one, uuid=f"{node}-{one.index}" if one.uuid else "", healthy=True) for one in found.devices)
    return replace(found, node=node, devices=devices)


class EditableMirror(RestoredMirror):
    """A mirror made from a snapshot that takes changed records and keeps an undo log.

    ``mark`` gives a position in the log, ``take_back`` undoes all changes since that position.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        scheduler_names: Iterable[str] = (),
        default_queue: str = "default",
        workloads: WorkloadTable = NO_WORKLOADS,
    ) -> None:
        super().__init__(snapshot, scheduler_names, default_queue, workloads)
        self.arbitrated: Arbitration | None = snapshot.arbitration
        """What the arbitrator divides among namespaces; None if the snapshot has none."""
        self._claim_edits = ClaimEdits(self._paper)
        self._undo: list[Callable[[], object]] = []
        """One undo function for each change, in the order of the changes."""

    def mark(self) -> int:
        """The current position in the undo log."""
        return len(self._undo)

    def take_back(self, mark: int) -> None:
        """Undo all changes made since this mark."""
        while len(self._undo) > mark:
            self._undo.pop()()

    # Reading

    def job(self, key: str) -> Job | None:
        """A job as it is now, not to be modified; None if there is none of this key."""
        return self.stores.jobs.job(key) if self.stores.jobs.spec(key) is not None else None

    def stray(self, key: str) -> Job | None:
        """The job of pods that name a missing PodGroup of this key; None if there are no such pods."""
        return self.stores.jobs.job(key) if self.stores.jobs.spec(key) is None else None

    def node_facts(self, name: str) -> NodeFacts | None:
        """A node as it is now; None if it does not exist."""
        return self.stores.nodes.facts(name)

    def queues(self) -> dict[str, Queue]:
        """The queues that have a Queue object, by name."""
        names = self.stores.defaults.queue_names()
        return {name: facts.queue for name in names if (facts := self.stores.defaults.queue_facts(name)) is not None}

    def quotas(self, namespace: str) -> list[Quota]:
        """The resource quotas of a namespace."""
        return list(self.stores.quotas.items(namespace).values())

    def budgets(self, namespace: str) -> list[DisruptionBudget]:
        """The disruption budgets of a namespace."""
        return list(self.stores.budgets.items(namespace).values())

    def ceiling(self, namespace: str) -> Ceiling | None:
        """The ceiling of a namespace; None if it has none."""
        return self.inputs.ceilings.get(namespace)

    # Changes

    def put_tasks(self, tasks: Iterable[Task]) -> None:
        """Replace pods by these, and add those that do not exist yet; quotas count the pods as they are then."""
        changed = [(task, self.task(task.uid)) for task in tasks]
        gone = [before for _, before in changed if before is not None]
        for namespace, quota in self._recounted(gone, [task for task, _ in changed]):
            self.put_quota(namespace, quota)
        take_back_claims = self._claim_edits.undo_of(before for _, before in changed)
        for task, before in changed:
            self._restore(task, task if before is None else before)

        def undo() -> None:
            # In the order of the changes, so that the pods keep their order within the job.
            for task, before in changed:
                if before is None:
                    self.stores.records.drop(task.uid)
                else:
                    self._restore(before, before)
            take_back_claims()

        self._undo.append(undo)

    def restate(self, key: str, spec: JobSpec, priority: int | None = None) -> None:
        """Replace the spec of a job; its priority is that of its class unless ``priority`` is given."""
        job = self.stores.jobs.job(key)
        assert job is not None, key
        before = None if self.stores.jobs.spec(key) is None else job.spec
        self._undo.append(partial(self.stores.jobs.restate, key, before, self.stores.jobs.given.get(key)))
        self.stores.jobs.restate(key, spec, priority)

    def enter(self, key: str, phase: str) -> None:
        """Set the phase of a PodGroup; ``take_back`` does not reset it."""
        self.stores.groups.enter(key, phase)

    def put_class(self, found: PriorityClass) -> None:
        """Add a priority class; an existing one of the same name stays unchanged."""
        if found.name not in self.stores.defaults.classes():
            self.stores.defaults.put_class(found)
            self._undo.append(partial(self.stores.defaults.drop, "PriorityClass", found.name))

    def put_node(self, facts: NodeFacts) -> None:
        """Replace a node, or add a new, empty one."""
        name = facts.attributes.name
        before = self.stores.nodes.facts(name)
        self.stores.nodes.see(facts)
        nodes = self.stores.nodes
        self._undo.append(partial(nodes.lose, name) if before is None else partial(nodes.see, before))

    def copy_devices(self, like: str, names: Sequence[str]) -> None:
        """New nodes have the devices, attach limits and local storage of one like them."""
        self._undo.append(self._claim_edits.copy_node(like, names))
        found = self.stores.device_shares.of(like)
        for name in names if found else ():
            self.put_shared_devices(name, tuple(like_devices(one, name) for one in found))

    def shared_devices(self, node: str) -> tuple[NodeDevices, ...]:
        """The shared devices of a node, by kind."""
        return self.stores.device_shares.of(node)

    def put_shared_devices(self, node: str, found: tuple[NodeDevices, ...]) -> None:
        """Replace the shared devices of a node."""
        self._undo.append(partial(self.stores.device_shares.put, node, self.stores.device_shares.of(node)))
        self.stores.device_shares.put(node, found)

    def add_devices(self, node: str, like: DeviceId, count: int) -> None:
        """Add devices like one to a node; raises BadInput if there is no such device."""
        self._undo.append(self._claim_edits.add_devices(node, like, count))

    def tolerate_devices(self, tasks: Iterable[Task], toleration: Toleration) -> None:
        """Let the claims of these pods that have no devices yet get devices with a taint."""
        self._undo.append(self._claim_edits.tolerate_devices(tasks, toleration))

    def add_volumes(self, claim: str, count: int) -> None:
        """Add static volumes that a claim may get; raises BadInput if there is no such claim."""
        self._undo.append(self._claim_edits.add_volumes(claim, count))

    def create_volume_claims(self, claims: Sequence[str]) -> None:
        """Create claims that are bound to volumes; raises BadInput if there is one of these already."""
        self._undo.append(self._claim_edits.create_volume_claims(claims))

    def set_storage(self, capacity: str, amount: int) -> None:
        """Set the free storage of a CSIStorageCapacity; raises BadInput if there is no such capacity."""
        self._undo.append(self._claim_edits.set_storage(capacity, amount))

    def with_own_claims(self, task: Task, like: Task) -> Task:
        """A new pod with claims like those that were made for another one, in place of these."""
        claims, undo = self._claim_edits.copy_claims(task, like)
        self._undo.append(undo)
        return replace(task, claims=claims)

    def put_queue(self, queue: Queue) -> None:
        """Replace or add a queue; the source of its priority (own field or class) stays."""
        before = self.stores.defaults.queue_facts(queue.name)
        self.stores.defaults.put_queue(ParsedQueue(queue, None, "") if before is None else before._replace(queue=queue))
        undo = partial(self.stores.defaults.drop, "Queue", queue.name)
        self._undo.append(undo if before is None else partial(self.stores.defaults.put_queue, before))

    def put_quota(self, namespace: str, quota: Quota) -> None:
        """Replace an existing resource quota."""
        key = f"{namespace}/{quota.name}"
        self._undo.append(partial(self.stores.quotas.put, namespace, key, self.stores.quotas.items(namespace)[key]))
        self.stores.quotas.put(namespace, key, quota)

    def put_budget(self, namespace: str, budget: DisruptionBudget) -> None:
        """Replace an existing disruption budget."""
        key = f"{namespace}/{budget.name}"
        self._undo.append(partial(self.stores.budgets.put, namespace, key, self.stores.budgets.items(namespace)[key]))
        self.stores.budgets.put(namespace, key, budget)

    def put_arbitration(self, arbitrated: Arbitration) -> None:
        """Replace what the arbitrator divides among namespaces."""
        self._undo.append(partial(setattr, self, "arbitrated", self.arbitrated))
        self.arbitrated = arbitrated

    def put_ceiling(self, namespace: str, ceiling: Ceiling) -> None:
        """Replace the ceiling of a namespace."""
        self._undo.append(partial(self.inputs.set_ceilings, self.inputs.ceilings, self.inputs.pools))
        self.inputs.set_ceilings({**self.inputs.ceilings, namespace: ceiling}, self.inputs.pools)

    def _restore(self, task: Task, like: Task) -> None:
        """Store a pod; the implicit job spec that it carries, if any, is that of the pod ``like``."""
        self.stores.records.restore(task, self.stores.jobs.implicit_of(like))
