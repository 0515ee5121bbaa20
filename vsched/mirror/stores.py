"""The stores of the mirror: one for each kind of thing, and who follows whom among them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from vsched import api
from vsched.handlers import Handlers
from vsched.mirror.accounts.history import HistoryBook
from vsched.mirror.accounts.namespaces import NamespaceAccounts
from vsched.mirror.events import MirrorEvents
from vsched.mirror.ingest.gangs import OwnedGang
from vsched.mirror.ingest.pods import ASKS_SECONDS, PodReader
from vsched.mirror.ingest.workload_kinds import NO_WORKLOADS, WorkloadTable
from vsched.mirror.problems import ObjectProblems
from vsched.mirror.state.budgets import BudgetIndex
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
from vsched.mirror.state.pod_records import PodRecords
from vsched.mirror.state.pod_uses import PodUses
from vsched.mirror.state.podgroups import PodGroupStore
from vsched.mirror.state.pods import OtherObjects, PodStore
from vsched.mirror.state.resource_versions import SeenVersions
from vsched.mirror.state.responders import ResponderStore
from vsched.mirror.state.restarts import RestartStore
from vsched.mirror.state.topology import TopologyStore
from vsched.mirror.state.zones import ZoneStore
from vsched.model.amounts.resources import ResourceAxis
from vsched.model.jobs.native import QueueMember
from vsched.model.jobs.spec import JobSpec
from vsched.model.pods.selections import Selections
from vsched.model.pods.shape import Selector
from vsched.model.pods.task import Task
from vsched.model.queues.quota import Quota

MakeClaims = Callable[[Callable[[str], None], Mapping[str, Task]], ClaimStore]
MakeAccounts = Callable[[ResourceAxis, Callable[[str], int]], NamespaceAccounts]


@dataclass(frozen=True, slots=True)
class MirrorSettings:
    """What a mirror is told once."""

    scheduler_names: frozenset[str]
    default_queue: str = "default"
    open_without_state: bool = False
    """Whether a queue without a state is open."""
    arbitrating: bool = False
    """Whether the objects of arbitration are mirrored; otherwise they are ignored."""
    queue_gates: bool = True
    ignored: frozenset[str] = frozenset()
    asks_seconds: float = ASKS_SECONDS
    workloads: WorkloadTable = NO_WORKLOADS
    """The kinds of workloads whose pods form gangs, at the beginning."""


class Stores:
    """All stores; what one of them finds out goes to those that follow from it."""

    def __init__(
        self,
        settings: MirrorSettings,
        events: MirrorEvents,
        *,
        claims: MakeClaims = ClaimStore,
        accounts: MakeAccounts = NamespaceAccounts,
    ) -> None:
        names, axis = settings.scheduler_names, ResourceAxis()
        self._events = events
        kinds = (kind for kind in api.KINDS if settings.arbitrating or kind not in api.ARBITRATED)
        followed = (kind.id for kind in settings.workloads.followed)
        self.seen = {kind: SeenVersions() for kind in (*kinds, api.VCJOB, *followed)}
        """By kind that is mirrored; others are ignored."""
        self.axis = axis
        self.problems = ObjectProblems()
        self.leaving: set[str] = set()
        """Namespaces that are being deleted."""
        self.defaults = ClusterDefaults(settings.default_queue, settings.ignored)
        self.nodes = NodeStore(axis)
        self.selections: NamespaceIndex[tuple[str, str], Selector, Selections] = NamespaceIndex(as_selections)
        self.budgets = BudgetIndex()
        self.quotas: NamespaceIndex[str, Quota, tuple[Quota, ...]] = NamespaceIndex(in_order)
        self.history = HistoryBook()
        self.loops = EvictionLoops()
        self.topology = TopologyStore()
        self.zones = ZoneStore()
        self.device_shares = DeviceShareStore()
        self.responders = ResponderStore()
        self.foreign = ForeignPodIndex(names)
        self.accounts = accounts(axis, self.defaults.weight_of)
        requeue: Handlers[[str]] = Handlers()
        rejoin: Handlers[[Collection[str]]] = Handlers()
        regather: Handlers[[Collection[str]]] = Handlers()
        see_job = self.accounts.see_job if settings.arbitrating else lambda key, job: None
        self.jobs = JobStore(self.defaults.judge, self.defaults.queue_of, requeue, see_job, events.on_member)
        self.groups = PodGroupStore(self.seen["PodGroup"], self.jobs, events.on_calm_change)
        self.restarts = RestartStore(self.jobs.job)
        self.native = NativeGroupStore(
            names, self._set_native, self.jobs.workloads.queue, self.defaults.queue_of, rejoin
        )
        requeue.add(self.native.requeue_of)
        self.gangs = GangStore(settings.workloads, names, self._set_gang, regather)
        tasks: dict[str, Task] = {}
        self.claims = claims(events.on_claim, tasks)
        counted = self.accounts if settings.arbitrating else None
        uses = PodUses(self.nodes, self.claims, self.zones, self.device_shares, counted)
        reader = PodReader(
            axis,
            names,
            foreign=settings.arbitrating,
            queue_gates=settings.queue_gates,
            ignored=settings.ignored,
            asks_seconds=settings.asks_seconds,
            has_owners=self.gangs.has,
        )
        self.records = PodRecords(tasks, uses, self.jobs, reader.shaper)
        others = OtherObjects(self.gangs, self.native.joined, self.responders.answered, self.defaults.judge_pod)
        self.pods = PodStore(self.records, reader, self.seen["Pod"], others, events)
        rejoin.add(self.pods.rejoin)
        regather.add(self.pods.regather)
        regather.add(self._tell_regathered)
        self._settling: Iterator[None] | None = None
        """What follows from classes, queues and namespaces that changed, as far as it is not worked out yet."""

    def _set_native(self, key: str, spec: JobSpec | None) -> None:
        """Show a native PodGroup as a job, None where it is none any more."""
        self.groups.put_native(key, spec)
        self._events.on_member(QueueMember(key, None if spec is None else spec.queue))

    def _set_gang(self, key: str, gang: OwnedGang | None) -> None:
        """The owners of its pods say something new about an implicit PodGroup."""
        self.jobs.set_gang(key, gang)
        self._events.on_gang(key)

    def _tell_regathered(self, uids: Collection[str]) -> None:
        """These pods belong to other gangs now."""
        for uid in uids:
            self._events.on_regathered(uid)

    def settle_defaults(self) -> None:
        """Recompute what depends on classes, queues and namespaces that changed, once for each snapshot."""
        for _ in self.settling_defaults():
            pass

    def settling_defaults(self) -> Iterator[None]:
        """The same in steps, a pod or a job each; what another caller has begun is ended first."""
        while True:
            if self._settling is None:
                priorities = self.defaults.take_priorities_changed()
                queues = self.defaults.take_default_queues_changed()
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
            yield from self.pods.repricing()
            yield from self.jobs.repricing()
        if queues:
            yield from self.jobs.respecifying_implicit()
            yield from self.native.requeueing()
