"""How objects of each kind enter the mirror's stores, and how objects that cannot be used are left out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from vsched.errors import UNUSABLE, BadObject, NoColumn
from vsched.mirror import wire
from vsched.mirror.accounts.history import HistoryBook
from vsched.mirror.accounts.namespaces import NamespaceAccounts
from vsched.mirror.awaiting_columns import AwaitingColumns
from vsched.mirror.handlers import Handlers
from vsched.mirror.ingest.budgets import budget_of, quota_of
from vsched.mirror.ingest.gangs import OwnedGang
from vsched.mirror.ingest.hypernodes import hypernode_of
from vsched.mirror.ingest.native import native_record_of
from vsched.mirror.ingest.nodes import node_of
from vsched.mirror.ingest.objects import class_of, namespace_of, selected_by
from vsched.mirror.ingest.podgroups import job_spec_of
from vsched.mirror.ingest.pods import ASKS_SECONDS, PodReader
from vsched.mirror.ingest.queues import queue_of
from vsched.mirror.ingest.restarts import restart_of
from vsched.mirror.ingest.weights import weight_of
from vsched.mirror.ingest.workload_kinds import NO_WORKLOADS, WorkloadTable
from vsched.mirror.problems import ObjectProblems, Problems
from vsched.mirror.state.budgets import BudgetIndex
from vsched.mirror.state.claims.store import KINDS as CLAIMED
from vsched.mirror.state.claims.store import ClaimStore
from vsched.mirror.state.defaults import ClusterDefaults
from vsched.mirror.state.deviceshare import DeviceShareStore
from vsched.mirror.state.eviction_loops import EvictionLoops
from vsched.mirror.state.foreign_pods import ForeignPodIndex
from vsched.mirror.state.gangs import GangStore
from vsched.mirror.state.jobs import JobStore
from vsched.mirror.state.namespace_objects import NamespaceIndex, as_selections, in_order
from vsched.mirror.state.native.store import NativeGroupStore
from vsched.mirror.state.nodes import NodeStore
from vsched.mirror.state.podgroups import PodGroupStore
from vsched.mirror.state.pods import PodStore
from vsched.mirror.state.responders import ResponderStore
from vsched.mirror.state.restarts import RestartStore
from vsched.mirror.state.topology import TopologyStore
from vsched.mirror.state.zones import KINDS as ZONED
from vsched.mirror.state.zones import ZoneStore
from vsched.mirror.watch_events import WatchHandler
from vsched.model.amounts.resources import ResourceAxis
from vsched.model.arbitration.records import Ceiling, PoolLimits
from vsched.model.jobs.advice import Advice
from vsched.model.jobs.native import NativeQueue, native_key
from vsched.model.jobs.provisioning import Provisioning
from vsched.model.jobs.spec import JobSpec
from vsched.model.nodes.masks import NodeMask
from vsched.model.nodes.pools import NodePool
from vsched.model.pods.selections import Selections
from vsched.model.pods.shape import Selector
from vsched.model.pods.task import Task
from vsched.model.queues.quota import Quota


class ObjectIntake(WatchHandler):
    """The stores of the mirror, and the way of each kind of object into them."""

    def __init__(
        self,
        scheduler_names: frozenset[str],
        default_queue: str = "default",
        *,
        open_without_state: bool = False,
        arbitrating: bool = False,
        queue_gates: bool = True,
        ignored: frozenset[str] = frozenset(),
        asks_seconds: float = ASKS_SECONDS,
        workloads: WorkloadTable = NO_WORKLOADS,
        on_change: Callable[[], None] = lambda: None,
        on_calm_change: Callable[[], None] | None = None,
    ) -> None:
        kinds = (kind for kind in wire.KINDS if arbitrating or kind not in wire.ARBITRATED)
        super().__init__((*kinds, wire.VCJOB, *(kind.id for kind in workloads.followed)), on_change)
        self.on_calm_change = on_calm_change or on_change
        """Called after changes that no decision follows from, and that are to be told."""
        self.axis = ResourceAxis()
        self._published_axis = self.axis.copy()
        """The columns of the last snapshot."""
        self._awaiting_columns = AwaitingColumns(self.axis)
        self._problems = ObjectProblems()
        self.broken: Problems = self._problems.broken
        """Problems of objects that are left out."""
        self.blemished: Problems = self._problems.blemished
        """Problems of objects that are used except for an annotation or a selector."""
        self._leaving: set[str] = set()
        """Namespaces that are being deleted."""
        self.workloads = workloads
        """The kinds of workloads whose pods form gangs."""
        self._open_without_state = open_without_state
        self._default_queue = default_queue
        self.arbitrating = arbitrating
        """Whether the objects of arbitration are mirrored; otherwise they are ignored."""
        self._defaults = ClusterDefaults(default_queue, ignored)
        self._nodes = NodeStore(self.axis)
        self._selections: NamespaceIndex[tuple[str, str], Selector, Selections] = NamespaceIndex(as_selections)
        self._budgets = BudgetIndex()
        self._quotas: NamespaceIndex[str, Quota, tuple[Quota, ...]] = NamespaceIndex(in_order)
        self._jobs = JobStore(self._defaults.judge, self._defaults.queue_of)
        self._groups = PodGroupStore(self._seen["PodGroup"], self._jobs, lambda: self.on_calm_change())
        self._restarts = RestartStore(self._jobs.job)
        self._loops = EvictionLoops()
        self._native = NativeGroupStore(
            scheduler_names, self._set_native, self._jobs.workloads.queue, self._defaults.queue_of
        )
        self._jobs.workloads.on_change = self._native.requeue_of
        self.on_native: Handlers[NativeQueue] = Handlers()
        """Called with the queue of a native PodGroup that has become a job, changed, or is none any more."""
        self._gangs = GangStore(workloads, scheduler_names, self._set_gang)
        self.on_gang: Handlers[str] = Handlers()
        """Called with the key of an implicit PodGroup whose pods' owners say something new about it."""
        self.on_regathered: Handlers[str] = Handlers()
        """Called with the uid of a pod that belongs to another gang now."""
        self._accounts = NamespaceAccounts(self.axis, self._defaults.weight_of)
        if arbitrating:
            self._jobs.published.on_change = lambda key, job: self._accounts.see_job(key, job)
        self.history = HistoryBook()
        self._ceilings: Mapping[str, Ceiling] = {}
        self._pools: Mapping[str, PoolLimits] = {}
        self._advice: Mapping[str, Advice] = {}
        self._provisioning: Mapping[str, Provisioning] | None = None
        self._node_pools: Mapping[str, NodePool] = {}
        self._masks: Sequence[NodeMask] = ()
        self.on_arrival: Handlers[str] = Handlers()
        """Called with the uid of a pod with an assumed binding, once the watch shows its outcome."""
        self.on_foreign: Handlers[Task] = Handlers()
        """Called with a pod of ours that another scheduler has bound."""
        self.on_claim: Handlers[str] = Handlers()
        """Called with ``namespace/name`` of a PersistentVolumeClaim or a ResourceClaim that has changed or is gone."""
        self._claims = ClaimStore(self.on_claim, lambda uid: self._pods.known_uid(uid))
        self.topology = TopologyStore()
        self._zones = ZoneStore()
        self._device_shares = DeviceShareStore()
        self._responders = ResponderStore()
        self._scheduler_names = scheduler_names
        self._foreign = ForeignPodIndex(scheduler_names)
        reader = PodReader(
            self.axis,
            scheduler_names,
            foreign=arbitrating,
            queue_gates=queue_gates,
            ignored=ignored,
            asks_seconds=asks_seconds,
            has_owners=self._gangs.has,
        )
        accounts = self._accounts if arbitrating else None
        self._pods = PodStore(
            reader,
            self._seen["Pod"],
            self._nodes,
            self._jobs,
            self._defaults.judge_pod,
            self._claims,
            self._zones,
            self._device_shares,
            accounts,
            self._native.joined,
            self._responders.answered,
            self._gangs,
        )
        self._pods.on_arrival, self._pods.on_foreign = self.on_arrival, self.on_foreign
        self._pods.on_start = lambda: self.on_calm_change()
        self._gangs.rejoin = self._regather
        self._native.rejoin = self._pods.rejoin
        self._settling: Iterator[None] | None = None
        """What follows from classes, queues and namespaces that changed, as far as it is not worked out yet."""
        self._snapshots = 0
        self._previous = 0.0
        self._versions: tuple[int, ...] = ()
        """Of jobs, nodes and accounts in the last snapshot."""
        self._state: object | None = None
        """``Snapshot.state`` for as long as these versions stay."""

    def _set_native(self, key: str, spec: JobSpec | None) -> None:
        """Show a native PodGroup as a job, None where it is none any more."""
        self._groups.put_native(key, spec)
        self.on_native(NativeQueue(key, None if spec is None else spec.queue))

    def _set_gang(self, key: str, gang: OwnedGang | None) -> None:
        """The owners of its pods say something new about an implicit PodGroup."""
        self._jobs.set_gang(key, gang)
        self.on_gang(key)

    def _regather(self, uids: Collection[str]) -> None:
        """These pods belong to other gangs now."""
        self._pods.regather(uids)
        for uid in uids:
            self.on_regathered(uid)

    def _put(self, kind: str, key: str, found: wire.Object) -> bool:
        """Take in an object, or leave it out and note the problem; True where that can matter to scheduling."""
        if isinstance(found, wire.Pod):
            return self._put_pod(key, found)
        remarks, matters = list[str](), False
        self._awaiting_columns.drop(kind, key)
        try:
            match found:
                case wire.Node():
                    facts = node_of(found, self.axis, remarks)
                    if self._nodes.alters(facts.attributes):
                        self._pods.forget_node(key)
                    matters = self._nodes.see(facts)
                    matters |= self._device_shares.put(key, facts.devices)
                case wire.PodGroup():
                    spec = job_spec_of(found, self.axis, self._default_queue, remarks)
                    matters = self._groups.put(key, spec)
                case wire.NativePodGroup() | wire.CompositePodGroup():
                    matters = self._native.put(key, native_record_of(found, remarks))
                case wire.SchedulingWorkload():
                    matters = self._native.put_workload(key, found)
                case wire.VolcanoJob():
                    ours = found.spec.scheduler_name in ("", *self._scheduler_names)
                    matters = self._restarts.put(key, restart_of(found, self.axis) if ours else None)
                case wire.Queue():
                    matters = self._defaults.put_queue(queue_of(found, self.axis, self._open_without_state, remarks))
                case wire.PriorityClass():
                    matters = self._defaults.put_class(class_of(found))
                case wire.Namespace():
                    (self._leaving.discard if found.metadata.deletion_timestamp is None else self._leaving.add)(key)
                    matters = self._defaults.put_namespace(namespace_of(found))
                case wire.ResourceQuota():
                    matters = self._quotas.put(wire.namespace_in(key), key, quota_of(found))
                    matters |= self._defaults.put_weight(wire.namespace_in(key), key, weight_of(found, remarks))
                case wire.PodDisruptionBudget():
                    matters = self._budgets.see(wire.namespace_in(key), key, budget_of(found), self._pods.has_left)
                case wire.NodeResourceTopology() | wire.Numatopology():
                    matters = self._zones.put(key, found)
                case wire.Eviction():
                    matters = self._pods.answer(self._responders.put(key, found))
                case wire.Selecting():
                    matters = self._put_selection(kind, key, selected_by(found))
                case wire.HyperNode():
                    parsed = hypernode_of(found)
                    matters = self.topology.put(parsed)
                    if parsed.problem:
                        raise BadObject(f"{wire.named(kind, found.metadata)}: {parsed.problem}")
                case wire.Malformed() if kind == wire.VCJOB:
                    matters = self._restarts.put(key, None)  # whoever looks after vcjobs says what is wrong with it
                case wire.Malformed():
                    raise BadObject(found.message)
            if kind in CLAIMED:
                matters = self._claims.put(key, found, remarks)
            if isinstance(found, wire.Workload):
                matters |= self._jobs.workloads.put(kind, key, found)
            if isinstance(found, wire.Workload | wire.WorkloadObject):
                matters |= self._gangs.put(kind, key, found, remarks)
            if self.arbitrating:
                matters |= self._accounts.put(key, found)
        except UNUSABLE as error:
            if kind == "HyperNode":
                self._leave_out_hypernode(key, found, error)
            else:
                self._drop(kind, key)
            self._leave_out(kind, key, found, error)
            return True
        self._remark(kind, key, found, remarks)
        return matters

    def _put_pod(self, uid: str, pod: wire.Pod) -> bool:
        """The same for a pod, of which there are more than of all others."""
        remarks = list[str]()
        self._awaiting_columns.drop("Pod", uid)
        try:
            matters = self._native.see(uid, pod)
            self._gangs.see(uid, pod)
            matters |= self._pods.put(uid, pod, remarks)
        except UNUSABLE as error:  # of such a pod, its usage of its node is kept
            self._leave_out("Pod", uid, pod, error)
            return True
        ours = (pod.spec.scheduler_name or "") in self._scheduler_names
        if ours:
            if len(self._foreign):
                matters |= self._jobs.report_again(self._foreign.drop(uid))
            self._remark("Pod", uid, pod, remarks)
        else:
            matters |= self._jobs.report_again(self._foreign.put(uid, pod))
            self._problems.put_foreign(uid, pod)
        return matters

    def _leave_out(self, kind: str, key: str, found: wire.Object, error: Exception) -> None:
        """Note why an object is left out."""
        if self.arbitrating:
            self._accounts.leave_out(kind, key)
        if isinstance(error, NoColumn):
            self._awaiting_columns.put(kind, key, found)
        self._problems.put_broken(kind, key, found.metadata, wire.complaint(kind, found.metadata, error))

    def _remark(self, kind: str, key: str, found: wire.Object, remarks: list[str]) -> None:
        """Note what of an object cannot be used, or that there is nothing of that kind."""
        if remarks:
            self._problems.put_blemished(kind, key, found.metadata, remarks)
        else:
            self._problems.drop(kind, key)

    def _leave_out_hypernode(self, name: str, found: wire.Object, error: Exception) -> None:
        """Its tree is left out with it. Of one with a bad field, the store has what can be read."""
        if isinstance(found, wire.Malformed):
            why = wire.complaint("HyperNode", found.metadata, error).removeprefix(f"HyperNode {name}: ")
            self.topology.put_unread(name, found.metadata.uid, why)

    def _delete(self, kind: str, key: str) -> bool:
        self._problems.drop(kind, key)
        self._awaiting_columns.drop(kind, key)
        if kind == "Pod":
            self._pods.refused.drop(key)
        return self._drop(kind, key)

    def _drop(self, kind: str, key: str) -> bool:
        """Forget an object; True where it was known."""
        match kind:
            case "Pod":
                known = self._jobs.report_again(self._foreign.drop(key))
                gone = self._pods.drop(key)
                self._gangs.lose(key)
                return self._native.lose(key) or gone or known
            case "Node":
                self._device_shares.put(key, ())
                self._pods.forget_node(key)
                return self._nodes.lose(key)
            case "PodGroup":
                return self._groups.drop(key)
            case "HyperNode":
                return self.topology.drop(key)
            case "Namespace":
                self._leaving.discard(key)
            case wire.NATIVE_POD_GROUP | "CompositePodGroup":
                composite = kind != wire.NATIVE_POD_GROUP
                self._groups.drop_native(native_key(*key.split("/"), composite=composite))
                return self._native.drop(key, composite=composite)
            case "Workload":
                return self._native.put_workload(key, None)
            case "Eviction":
                return self._pods.answer(self._responders.drop(key))
            case wire.VCJOB:
                return self._restarts.put(key, None)
        if kind in ZONED:
            return self._zones.drop(kind, key)
        if kind in CLAIMED:
            known = self._claims.drop(kind, key)
            divided = self.arbitrating and self._accounts.drop(kind, key)
            return known or divided
        said = self._gangs.drop(kind, key)
        if kind not in wire.KINDS:
            return said
        said |= self._jobs.workloads.drop(kind, key)
        if issubclass(wire.KINDS[kind], wire.Selecting):
            return self._put_selection(kind, key, None) or said
        if kind == "PodDisruptionBudget":
            return self._budgets.see(wire.namespace_in(key), key, None, self._pods.has_left)
        limited = kind == "ResourceQuota" and self._quotas.put(wire.namespace_in(key), key, None)
        divided = self.arbitrating and self._accounts.drop(kind, key)
        return self._defaults.drop(kind, key) or limited or divided or said

    def _put_selection(self, kind: str, key: str, selector: Selector | None) -> bool:
        """Never a reason for a session: a selector changes scores, not whether a node fits."""
        self._selections.put(wire.namespace_in(key), (kind, key), selector)
        return False

    def _make_room(self, now: float) -> None:
        """Free columns that nothing uses any more, for resources that found none."""
        room = False
        if self._awaiting_columns.due(now):
            self._pods.sweep()
            offered = self._nodes.columns() | self._defaults.columns()
            asked = self._pods.columns() | self._jobs.columns() | self._restarts.columns()
            divided = {column for ceiling in self._ceilings.values() for column in ceiling.most}
            room = self.axis.keep(offered | asked | divided, offered)
        for kind, key, found in self._awaiting_columns.again(room=room):
            self._put(kind, key, found)

    def _settle_defaults(self) -> None:
        """Recompute what depends on classes, queues and namespaces that changed, once for each snapshot."""
        for _ in self._settling_defaults():
            pass

    def _settling_defaults(self) -> Iterator[None]:
        """The same in steps, a pod or a job each; what another caller has begun is ended first."""
        while True:
            if self._settling is None:
                priorities = self._defaults.take_priorities_changed()
                queues = self._defaults.take_default_queues_changed()
                if not priorities and not queues:
                    return
                self._settling = self._following(priorities=priorities, queues=queues)
            settling = self._settling
            for _ in settling:  # not ``yield from``, which would end it for all when one caller is cancelled
                yield
            if self._settling is settling:
                self._settling = None

    def _following(self, *, priorities: bool, queues: bool) -> Iterator[None]:
        """Work out what follows from other priorities, and from other default queues."""
        if priorities:
            yield from self._pods.repricing()
            yield from self._jobs.repricing()
        if queues:
            yield from self._jobs.respecifying_implicit()
            yield from self._native.requeueing()
