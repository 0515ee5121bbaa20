"""The mirror: the cluster as the watches show it, plus decisions that the watches do not show yet.

It is synchronous and changes only through its own methods: events and lists of the watches, usage, assumed decisions,
and reports on writes. The cost of ``snapshot`` follows what changed since the last one, not the size of the cluster.
Objects may arrive in any order, twice or late; the result is the same as from a fresh list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from vsched.mirror import wire
from vsched.mirror.ingest.implicit import ImplicitPodGroup
from vsched.mirror.ingest.workload_kinds import WorkloadTable, read_again_for
from vsched.mirror.intake import ObjectIntake
from vsched.mirror.problems import Problem
from vsched.mirror.state.gang_pods import GangPod
from vsched.mirror.state.node_tables import dense_vector
from vsched.mirror.state.resource_versions import SeenObject
from vsched.model.amounts.resources import Amounts
from vsched.model.arbitration.records import Arbitration, Ceiling, PoolLimits
from vsched.model.claims.devices import DeviceClaim
from vsched.model.claims.volumes import Volume, VolumeClaim
from vsched.model.deviceshare.divisions import Divisions
from vsched.model.jobs.advice import Advice
from vsched.model.jobs.provisioning import Provisioning
from vsched.model.nodes.masks import NodeMask
from vsched.model.nodes.pools import NodePool
from vsched.model.nodes.table import NodeAttributes
from vsched.model.nodes.usage import Reading
from vsched.model.plan import CycleReport
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue
from vsched.model.snapshot import Snapshot

T = TypeVar("T")

SETTLING = frozenset({"Queue", "PriorityClass", "Namespace"})
"""Kinds from which the priorities of pods and jobs follow, and their default queues."""


class Cache(ObjectIntake):
    """The mirror of the cluster that cycles are decided on."""

    def use(self, reading: Reading | None) -> None:
        """Set the measured usage of nodes; None where it is not collected."""
        self._nodes.use(reading)
        self.on_change()

    # Decisions

    def assume(self, report: CycleReport) -> None:
        """Assume the decisions of a cycle until the watch shows them or a failure is reported."""
        for _ in self.assuming(report):
            pass

    def assuming(self, report: CycleReport) -> Iterator[None]:
        """The same in steps, one for each pod and each job; events may be taken in between."""
        leaving: list[Task] = []
        for _ in self._pods.assume(report, leaving):
            for task in leaving:
                self._budgets.promise(task, self._previous)
            leaving.clear()
            yield
        yield from self._groups.assuming(report.jobs)
        for release in report.released:
            self._claims.release(release)

    def forget(self, uid: str) -> bool:
        """Drop an assumed binding or eviction that failed: the pod and its claims are as last watched.

        False if nothing was assumed.
        """
        self._budgets.withdraw(uid)
        forgotten = self._pods.forget(uid)
        if forgotten:
            self.on_change()
        return forgotten

    def binding_refused(self, uid: str, message: str, node: str = "") -> None:
        """The API server refused a binding; ``node`` is where admission will not have the pod, empty for no node."""
        self._pods.binding_refused(uid, message, node, self._previous)
        self.on_calm_change()

    def binding_settled(self, uid: str) -> None:
        """The pod is bound, or is gone: what was refused to it does not count any more."""
        self._pods.binding_settled(uid)

    def found_bound(self, uid: str, node: str) -> None:
        """The API server says that a pod which was to be bound was bound already, to this node."""
        if self._pods.found_bound(uid, node):
            self.on_change()

    def accepted(self, uid: str) -> None:
        """The API server accepted the binding: lists that begin from now on must show it."""
        self._pods.accept(uid)

    def claim_release_failed(self, key: str) -> None:
        """A claim (``namespace/name``) could not be given back: it is again as last watched."""
        if self._claims.release_failed(key):
            self.on_change()

    def set_unread(self, kind: str, why: str) -> None:
        """Say why a kind of object cannot be read, empty where it can."""
        if kind == "HyperNode":
            changed = self.topology.set_problem(why)
        else:
            changed = self._claims.set_unread(kind, why)
        if changed:
            self.on_change()

    def set_refused(self, kind: str, *, refused: bool) -> None:
        """Say whether we may not read a kind: then no pod waits for an owner of it."""
        if self._gangs.set_refused(kind, refused=refused):
            self.on_change()

    def use_workloads(self, table: WorkloadTable) -> frozenset[str]:
        """Use another table of workload kinds; returns the mirrored kinds that have to be listed again for it.

        Kinds that only the table before had are not mirrored any more, and those that are new in it are from now on.
        """
        before, self.workloads = self.workloads, table
        changed = self._gangs.use_table(table)
        kept = {kind.id for kind in table.followed}
        for kind in before.followed:
            if kind.id not in kept:
                self.leave(kind.id)
        again = frozenset(read_again_for(before, table, wire.OWNERS) & self._seen.keys())
        self.read_again(again)
        for kind in table.followed:
            self.follow(kind.id)
        if changed:
            self.on_change()
        return again

    def restart(self, kind: str) -> None:
        """A full list of one kind begins. It shows all bindings that were accepted before."""
        super().restart(kind)
        if kind == "Pod":
            self._pods.list_begins()
        elif kind == "PodGroup":
            self._groups.list_begins()

    def finish(self, kind: str) -> Iterator[None]:
        """The list is complete. What follows for pods and jobs from short lists is worked out while there are few."""
        yield from super().finish(kind)
        if kind in SETTLING:
            yield from self._settling_defaults()

    def include(self, kind: str, found: wire.Object) -> None:
        """An object of the list under way. A pod in it without a node was not bound, whatever the answer was."""
        super().include(kind, found)
        if (
            isinstance(found, wire.Pod)
            and not found.spec.node_name
            and self._pods.listed_unbound(wire.identity_of(kind, found.metadata))
        ):
            self.on_change()

    def spare(self, uid: str) -> None:
        """An eviction was refused: the pod is no victim until ``unspare``, or until it is gone."""
        self._pods.spare(uid)

    def unspare(self, uid: str) -> None:
        """The pod may be a victim again."""
        if self._pods.unspare(uid):
            self.on_change()

    def took(self, taker: str, victim: str, now: float) -> float:
        """A pod of the job ``victim`` was evicted for another one. How long they leave each other alone from now on
        because they take from each other in turn; 0 where they do not."""
        return self._loops.took(taker, victim, now)

    def nomination_written(self, uid: str, node: str, resource_version: str = "") -> None:
        """A nomination was written; ``resource_version`` is that of the pod, empty if unknown."""
        self._pods.nomination_written(uid, node, resource_version)

    def nomination_failed(self, uid: str, node: str) -> None:
        """A nomination cannot be written: the pod's nomination is again as last watched."""
        self._pods.nomination_failed(uid, node)

    def ungate_failed(self, uid: str) -> None:
        """A scheduling gate could not be removed: the pod still waits at it."""
        if self._pods.ungate_failed(uid):
            self.on_change()

    def status_written(self, key: str, resource_version: str = "") -> None:
        """A PodGroup's status was written; ``resource_version`` is that of the object, empty if unknown."""
        self._groups.status_written(key, resource_version)

    def status_failed(self, key: str) -> None:
        """A PodGroup's status could not be written: its phase is again as last watched."""
        if self._groups.status_failed(key):
            self.on_change()

    def set_ceilings(self, ceilings: Mapping[str, Ceiling], pools: Mapping[str, PoolLimits]) -> None:
        """Set the limits of namespaces, each and together, for snapshots from now on."""
        self._ceilings, self._pools = ceilings, pools

    def unused(self) -> Iterator[Problem]:
        """Objects that are not scheduled: those that cannot be used, and pods of other schedulers."""
        yield from tuple(self.broken.values())
        yield from tuple(self._problems.foreign.values())

    def advise(self, advice: Mapping[str, Advice]) -> None:
        """Set the advice for waiting jobs, for snapshots from now on."""
        self._advice = advice

    def provision(self, found: Mapping[str, Provisioning] | None) -> None:
        """Set the ProvisioningRequests of gangs, for snapshots from now on; None where none are made."""
        if found != self._provisioning:
            self._provisioning = found
            self.on_change()

    def offer(self, found: Mapping[str, NodePool]) -> None:
        """Set Karpenter's NodePools, for snapshots from now on."""
        self._node_pools = found

    def mask(self, masks: Sequence[NodeMask]) -> None:
        """Set which nodes are ours, for snapshots from now on."""
        if tuple(masks) != tuple(self._masks):
            self._masks = tuple(masks)
            self.on_change()

    def settle(self, report: CycleReport) -> None:
        """Make the decisions of a cycle true, for what-if simulations, which have no watch."""
        self._budgets.settle(*self._pods.settle(report, self._decided_at))
        for eviction in report.evictions:
            self._problems.drop("Pod", eviction.uid)
        self._groups.settle(report.jobs)

    @property
    def _decided_at(self) -> float:
        """When the cycle ran whose decisions are made true: at the time of the last snapshot."""
        return self._previous

    def review(self) -> None:
        """Show every job as changed once, some in each session: the leader before may not have written its status."""
        self._jobs.review()

    # Views

    def preparing(self) -> Iterator[None]:
        """Most of the work of the next snapshot in steps, where much has changed, as after the first lists.

        Events may be taken in between. The last snapshot is not valid any more from the first step on.
        """
        yield from self._settling_defaults()
        yield from self._jobs.prepare()
        yield from self._nodes.prepare()
        yield from self._jobs.prepare()  # those of pods that came meanwhile, as their bindings do after a burst

    def snapshot(self, now: float) -> Snapshot:
        """The cluster now. The snapshot is valid until the next one is taken."""
        self._snapshots += 1
        previous, self._previous = self._previous, now
        self._groups.shown()
        self._budgets.expire(now)
        self._pods.forget_refusals(now)
        if self._awaiting_columns:
            self._make_room(now)
        if self._published_axis.names != self.axis.names:
            self._published_axis = self.axis.copy()
        self._settle_defaults()
        self._jobs.bar(self._loops.barred(now))
        changed = self._jobs.publish()
        nodes, placed = self._nodes.publish(self._published_axis)
        self._claims.serve(self._nodes, nodes.statics)
        if self._nodes.is_dirty:
            nodes, placed = self._nodes.publish(self._published_axis)
        self._accounts.see_nodes(self._nodes.capacity_version, nodes.allocatable)
        self._pods.sweep_overgrown()
        jobs, sums = self._jobs.published, self._jobs.published.sums
        self.history.advance(now)
        self.history.see(self._published_axis, self._nodes.total, sums.take_moved())
        held, held_limits = self._accounts.publish_kept()
        queues = self._defaults.queues(sums.usage, ("Queue", self._default_queue) not in self.broken)
        queues = self._restarts.asking(queues, sums.usage, now)
        versions, since = (jobs.version, self._nodes.version, self._accounts.kept_version), self._state
        if versions != self._versions:
            self._versions, self._state = versions, object()
        return Snapshot(
            now=now,
            axis=self._published_axis,
            nodes=nodes,
            jobs=jobs.jobs,
            active=jobs.active,
            changed=changed,
            nominated=sorted(jobs.nominated),
            admitted=sorted(jobs.admitted),
            reserving=sorted(jobs.reserving),
            asked=sorted(jobs.asked),
            holders=jobs.holders.by_queue,
            runs=jobs.runs.by_class,
            queues=queues,
            books=sums.usage,
            shares=sums.shares,
            namespaces=self._defaults.namespaces(),
            selections=self._selections.publish(),
            placed=placed,
            total=dense_vector(self._nodes.total, nodes.width),
            used=dense_vector(self._nodes.used, nodes.width),
            previous=previous,
            budgets=self._budgets.publish(),
            quotas=self._quotas.publish(),
            priority_range=self._defaults.priority_range(queues),
            priority_classes=self._defaults.classes(),
            ceilings=self._ceilings,
            pools=self._pools,
            held=held,
            held_limits=held_limits,
            advice=self._advice,
            provisioning=self._provisioning,
            node_pools=self._node_pools,
            strays=jobs.orphans,
            history=self.history.publish(),
            learnt=self._pods.learn(),
            setbacks=self._pods.refused.publish(),
            ignored=tuple(sorted(self._defaults.ignored)),
            foreign=self._foreign.publish(),
            claims=self._claims.publish(),
            topology=self.topology.publish(),
            zones=self._zones.publish(),
            device_shares=self._device_shares.publish(),
            masks=self._masks,
            phases=jobs.phases,
            state=self._state,
            since=since,
        )

    def arbitration(self) -> Arbitration:
        """The input of arbitration as of now; immutable. Call it right after ``snapshot``."""
        return self._accounts.publish()

    def held(self, namespace: str) -> dict[str, int]:
        """What pods of a namespace use now, by counted name, with limits; pods that are leaving do not count."""
        return self._accounts.kept(namespace)

    def take_moved(self) -> set[str]:
        """Namespaces whose usage has changed since the last call. For a single caller."""
        return self._accounts.take_moved()

    def total(self) -> dict[str, int]:
        """The allocatable amounts of all nodes together, by resource name."""
        return {self.axis.names[column]: value for column, value in self._nodes.total.items()}

    def nodes(self) -> Iterator[tuple[NodeAttributes, Amounts]]:
        """Every node with its allocatable amounts."""
        return self._nodes.known()

    def is_leaving(self, namespace: str) -> bool:
        """Whether a namespace is being deleted."""
        return namespace in self._leaving

    def awaits(self, uid: str) -> bool:
        """Whether a binding or an eviction of the pod is assumed and not shown by the watch yet."""
        return self._pods.awaits(uid)

    def task(self, uid: str) -> Task | None:
        """The pod of this uid, None where there is none."""
        return self._pods.get(uid)

    def use_divisions(self, divisions: Divisions) -> bool:
        """Take over how shared devices may be divided; True where that has changed."""
        if not self._device_shares.use(divisions):
            return False
        self.on_change()
        return True

    def unread(self) -> Mapping[str, str]:
        """By kind of object that claims need and that cannot be read: why."""
        return self._claims.unread

    def claim(self, key: str) -> DeviceClaim | None:
        """The ResourceClaim of this key (``namespace/name``) as snapshots show it, None where there is none."""
        return self._claims.devices.claims.get(key)

    def volume_claim(self, key: str) -> VolumeClaim | None:
        """The PersistentVolumeClaim of this key as snapshots show it, None where there is none."""
        return self._claims.volumes.claims.get(key)

    def watched_claim(self, key: str) -> SeenObject[DeviceClaim] | None:
        """The ResourceClaim of this key as last watched or written; None where there is none or a list is under way."""
        return self._watched("ResourceClaim", key, self._claims.devices.watched(key))

    def watched_volume_claim(self, key: str) -> SeenObject[VolumeClaim] | None:
        """The same for a PersistentVolumeClaim."""
        return self._watched("PersistentVolumeClaim", key, self._claims.volumes.watched(key))

    def watched_volume(self, name: str) -> SeenObject[Volume] | None:
        """The same for a PersistentVolume."""
        return self._watched("PersistentVolume", name, self._claims.volumes.watched_volume(name))

    def _watched(self, kind: str, key: str, found: T | None) -> SeenObject[T] | None:
        seen = self._seen[kind]
        version = 0 if seen.is_listing else seen.version(key)
        return SeenObject(found, str(version)) if found is not None and version else None

    def tasks_of(self, key: str) -> list[Task] | None:
        """The pods of a job, None where there is no such job."""
        return self._jobs.tasks(key)

    def called(self, key: str) -> str:
        """How sentences name the job of a key; the key itself where there is no such job."""
        return self._jobs.called(key)

    def watched_queue(self, name: str) -> Queue | None:
        """The queue of this name as its object states it, None where there is none."""
        found = self._defaults.queue_facts(name)
        return None if found is None else found.queue

    def parents_of_queues(self) -> set[str]:
        """The names that queues give as their parents."""
        facts = map(self._defaults.queue_facts, self._defaults.queue_names())
        return {found.queue.parent for found in facts if found is not None and found.queue.parent}

    def has_node(self, name: str) -> bool:
        """Whether there is such a node."""
        return name in self._nodes

    def tasks_on(self, node: str) -> list[Task] | None:
        """The pods on a node, of any scheduler; None where there is no such node."""
        return self._nodes.tasks(node)

    def group_uid(self, key: str) -> str:
        """The uid of the PodGroup object of this key, empty where there is none."""
        return self._groups.uid(key) or self._native.uid(key)

    def gang_pod(self, uid: str) -> GangPod | None:
        """What the owners of a pod say of its gang; None for a pod whose owners do not matter."""
        return self._gangs.of(uid)

    def implicit_group(self, key: str) -> ImplicitPodGroup | None:
        """The implicit PodGroup of this key, None where there is none."""
        return self._jobs.implicit_group(key)

    def describe(self) -> Mapping[str, int]:
        """Sizes, for metrics."""
        return {
            **self._pods.describe(),
            "nodes": len(self._nodes),
            "young_tasks": self._nodes.young,
            **self._jobs.describe(),
            "assumed_phases": self._groups.assumed,
            "selectors": len(self._selections),
            "budgets": len(self._budgets),
            "quotas": len(self._quotas),
            "hypernodes": len(self.topology),
            **self._claims.describe(),
            "zoned_nodes": len(self._zones),
            "nodes_with_shared_devices": len(self._device_shares),
            **self._gangs.describe(),
            "broken": len(self.broken),
            "blemished": len(self.blemished),
            "snapshots": self._snapshots,
            **(self._accounts.describe() if self.arbitrating else {}),
        }
