"""The mirror: the cluster as the watches show it, plus decisions that the watches do not show yet.

It is synchronous and changes only through its own methods: events and lists of the watches, usage, assumed decisions,
and reports on writes. The cost of ``snapshot`` follows what changed since the last one, not the size of the cluster.
Objects may arrive in any order, twice or late; the result is the same as from a fresh list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from vsched.errors import UNUSABLE, BadObject, NoColumn, why_unreadable
from vsched.mirror import wire
from vsched.mirror.accounts.namespaces import NamespaceAccounts
from vsched.mirror.awaiting_columns import AwaitingColumns
from vsched.mirror.handlers import Handlers
from vsched.mirror.ingest.budgets import budget_of, quota_of
from vsched.mirror.ingest.implicit import ImplicitPodGroup
from vsched.mirror.ingest.nodes import node_of
from vsched.mirror.ingest.objects import class_of, namespace_of, selected_by
from vsched.mirror.ingest.podgroups import job_spec_of
from vsched.mirror.ingest.pods import PodReader
from vsched.mirror.ingest.queues import queue_of
from vsched.mirror.ingest.weights import weight_of
from vsched.mirror.problems import ObjectProblems, Problem, Problems
from vsched.mirror.state.budgets import BudgetIndex
from vsched.mirror.state.defaults import ClusterDefaults
from vsched.mirror.state.foreign_pods import ForeignPodIndex
from vsched.mirror.state.jobs import JobStore
from vsched.mirror.state.namespace_objects import NamespaceIndex, as_selections, in_order
from vsched.mirror.state.nodes import NodeStore, dense_vector
from vsched.mirror.state.podgroups import PodGroupStore
from vsched.mirror.state.pods import PodStore
from vsched.mirror.state.refused_bindings import RefusedBindings
from vsched.mirror.watch_events import WatchHandler
from vsched.model.advice import Advice
from vsched.model.arbitration import Arbitration, Ceiling, Pool
from vsched.model.nodes import NodeAttributes
from vsched.model.plan import CycleReport
from vsched.model.quota import Quota
from vsched.model.resources import Amounts, ResourceAxis
from vsched.model.selections import Selections
from vsched.model.shape import Selector
from vsched.model.snapshot import Snapshot
from vsched.model.task import Task
from vsched.model.usage import Reading


def _complaint(kind: str, metadata: wire.Metadata, error: Exception) -> str:
    """The problem of an object, as one line."""
    return str(error) if isinstance(error, BadObject) else f"{wire.named(kind, metadata)}: {why_unreadable(error)}"


class Cache(WatchHandler):
    """The mirror of the cluster that cycles are decided on."""

    def __init__(
        self,
        scheduler_names: frozenset[str],
        default_queue: str = "default",
        *,
        open_without_state: bool = False,
        arbitrating: bool = False,
        queue_gates: bool = True,
        ignored: frozenset[str] = frozenset(),
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__((kind for kind in wire.KINDS if arbitrating or kind not in wire.ARBITRATED), on_change)
        self.axis = ResourceAxis()
        self._published_axis = self.axis.copy()
        """The columns of the last snapshot."""
        self._awaiting_columns = AwaitingColumns(self.axis)
        self._problems = ObjectProblems()
        self.broken: Problems = self._problems.broken
        """Problems of objects that are left out."""
        self.blemished: Problems = self._problems.blemished
        """Problems of objects that are used except for an annotation."""
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
        self._groups = PodGroupStore(self._seen["PodGroup"], self._jobs)
        self._accounts = NamespaceAccounts(self.axis, self._defaults.weight_of)
        self._ceilings: Mapping[str, Ceiling] = {}
        self._pools: Mapping[str, Pool] = {}
        self._advice: Mapping[str, Advice] = {}
        self.refused = RefusedBindings()
        self.on_arrival: Handlers[str] = Handlers()
        """Called with the uid of a pod with an assumed binding, once the watch shows its outcome."""
        self.on_foreign: Handlers[Task] = Handlers()
        """Called with a pod of ours that another scheduler has bound."""
        self._scheduler_names = scheduler_names
        self._foreign = ForeignPodIndex(scheduler_names)
        reader = PodReader(self.axis, scheduler_names, foreign=arbitrating, queue_gates=queue_gates, ignored=ignored)
        accounts = self._accounts if arbitrating else None
        self._pods = PodStore(
            reader,
            self._seen["Pod"],
            self._nodes,
            self._jobs,
            self._defaults.judge_pod,
            accounts,
            self.on_arrival,
            self.on_foreign,
        )
        self._snapshots = 0
        self._previous = 0.0

    def use(self, reading: Reading | None) -> None:
        """Set the measured usage of nodes; None where it is not collected."""
        self._nodes.use(reading)
        self.on_change()

    # Decisions

    def assume(self, report: CycleReport) -> None:
        """Assume the decisions of a cycle until the watch shows them or a failure is reported."""
        for task in self._pods.assume(report):
            self._budgets.promise(task, self._previous)
        self._groups.assume(report.jobs)

    def forget(self, uid: str) -> bool:
        """Drop an assumed binding or eviction that failed: the pod is as last watched. False if none was assumed."""
        self._budgets.withdraw(uid)
        forgotten = self._pods.forget(uid)
        if forgotten:
            self.on_change()
        return forgotten

    def found_bound(self, uid: str, node: str) -> None:
        """The API server says that a pod was already bound to the node that it was to be bound to."""
        self._pods.found_bound(uid, node)

    def accepted(self, uid: str) -> None:
        """The API server accepted the binding: lists that begin from now on must show it."""
        self._pods.accept(uid)

    def restart(self, kind: str) -> None:
        """A full list of one kind begins. It shows all bindings that were accepted before."""
        super().restart(kind)
        if kind == "Pod":
            self._pods.list_begins()
        elif kind == "PodGroup":
            self._groups.list_begins()

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

    def set_ceilings(self, ceilings: Mapping[str, Ceiling], pools: Mapping[str, Pool]) -> None:
        """Set the limits of namespaces, each and together, for snapshots from now on."""
        self._ceilings, self._pools = ceilings, pools

    def unused(self) -> Iterator[Problem]:
        """Objects that are not scheduled: those that cannot be used, and pods of other schedulers."""
        yield from tuple(self.broken.values())
        yield from tuple(self._problems.foreign.values())

    def advise(self, advice: Mapping[str, Advice]) -> None:
        """Set the advice for waiting jobs, for snapshots from now on."""
        self._advice = advice

    def settle(self, report: CycleReport) -> None:
        """Make the decisions of a cycle true, for what-if simulations, which have no watch."""
        self._budgets.settle(*self._pods.settle(report, self._previous))
        for eviction in report.evictions:
            self._problems.drop("Pod", eviction.uid)
        self._groups.settle(report.jobs)

    def review(self) -> None:
        """Show every job as changed once, some in each session: the leader before may not have written its status."""
        self._jobs.review()

    # Views

    def snapshot(self, now: float) -> Snapshot:
        """The cluster now. The snapshot is valid until the next one is taken."""
        self._snapshots += 1
        previous, self._previous = self._previous, now
        self._budgets.expire(now)
        if self._awaiting_columns:
            self._make_room(now)
        if self._published_axis.names != self.axis.names:
            self._published_axis = self.axis.copy()
        self._settle_defaults()
        changed = self._jobs.publish()
        for key in changed if self.arbitrating else ():
            self._accounts.see_job(key, self._jobs.published.get(key) or self._jobs.strays.get(key))
        nodes, placed = self._nodes.publish(self._published_axis)
        self._accounts.see_nodes(self._nodes.capacity_version, nodes.allocatable)
        self._pods.sweep_overgrown()
        sums = self._jobs.sums
        held, held_limits = self._accounts.publish_kept()
        queues = self._defaults.queues(sums.usage, ("Queue", self._default_queue) not in self.broken)
        return Snapshot(
            now=now,
            axis=self._published_axis,
            nodes=nodes,
            jobs=self._jobs.published,
            active=self._jobs.active,
            changed=changed,
            nominated=sorted(self._jobs.nominated),
            admitted=sorted(self._jobs.admitted),
            reserving=sorted(self._jobs.reserving),
            holders=self._jobs.holders.by_queue,
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
            strays=self._jobs.strays,
            learnt=self._pods.learn(),
            setbacks=self.refused.publish(),
            ignored=tuple(sorted(self._defaults.ignored)),
            foreign=self._foreign.publish(),
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

    def awaits(self, uid: str) -> bool:
        """Whether a binding or an eviction of the pod is assumed and not shown by the watch yet."""
        return self._pods.awaits(uid)

    def task(self, uid: str) -> Task | None:
        """The pod of this uid, None where there is none."""
        return self._pods.get(uid)

    def tasks_of(self, key: str) -> list[Task] | None:
        """The pods of a job, None where there is no such job."""
        return self._jobs.tasks(key)

    def tasks_on(self, node: str) -> list[Task] | None:
        """The pods on a node, of any scheduler; None where there is no such node."""
        return self._nodes.tasks(node)

    def group_uid(self, key: str) -> str:
        """The uid of the PodGroup object of this key, empty where there is none."""
        return self._groups.uid(key)

    def stand_in(self, key: str) -> ImplicitPodGroup | None:
        """The implicit PodGroup of this key, None where there is none."""
        return self._jobs.stand_in(key)

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
            "broken": len(self.broken),
            "blemished": len(self.blemished),
            "snapshots": self._snapshots,
            **(self._accounts.describe() if self.arbitrating else {}),
        }

    # One object

    def _put(self, kind: str, key: str, found: wire.Object) -> bool:
        """Take in an object, or leave it out and note the problem; True where that can matter to scheduling."""
        remarks, matters = list[str](), False
        self._awaiting_columns.drop(kind, key)
        try:
            match found:
                case wire.Pod():
                    matters = self._pods.put(key, found, remarks)
                case wire.Node():
                    matters = self._nodes.see(node_of(found, self.axis))
                case wire.PodGroup():
                    spec = job_spec_of(found, self.axis, self._default_queue, remarks, self._defaults.ignored)
                    matters = self._groups.put(key, spec)
                case wire.Queue():
                    matters = self._defaults.put_queue(queue_of(found, self.axis, self._open_without_state, remarks))
                case wire.PriorityClass():
                    matters = self._defaults.put_class(class_of(found))
                case wire.Namespace():
                    matters = self._defaults.put_namespace(namespace_of(found))
                case wire.ResourceQuota():
                    matters = self._quotas.put(wire.namespace_in(key), key, quota_of(found))
                    matters |= self._defaults.put_weight(wire.namespace_in(key), key, weight_of(found, remarks))
                case wire.PodDisruptionBudget():
                    matters = self._budgets.see(wire.namespace_in(key), key, budget_of(found), self._pods.has_left)
                case wire.Selecting():
                    matters = self._put_selection(kind, key, selected_by(found))
                case wire.Malformed():
                    raise BadObject(found.message)
            if isinstance(found, wire.Workload):
                matters |= self._jobs.workloads.put(kind, key, found)
            if self.arbitrating and kind != "Pod":
                matters |= self._accounts.put(key, found)
        except UNUSABLE as error:
            if not isinstance(found, wire.Pod):
                self._drop(kind, key)
            if self.arbitrating:
                self._accounts.leave_out(kind, key)
            if isinstance(error, NoColumn):
                self._awaiting_columns.put(kind, key, found)
            self._problems.put_broken(kind, key, found.metadata, _complaint(kind, found.metadata, error))
            return True
        if isinstance(found, wire.Pod):
            matters |= self._put_foreign(key, found)
        if isinstance(found, wire.Pod) and (found.spec.scheduler_name or "") not in self._scheduler_names:
            self._problems.put_foreign(key, found)
        elif remarks:
            self._problems.put_blemished(kind, key, found.metadata, remarks)
        else:
            self._problems.drop(kind, key)
        return matters

    def _put_foreign(self, key: str, pod: wire.Pod) -> bool:
        """Count a pod of another scheduler for the PodGroup that it names; True where its job is shown again."""
        ours = (pod.spec.scheduler_name or "") in self._scheduler_names
        return self._jobs.tell_again(self._foreign.drop(key) if ours else self._foreign.put(key, pod))

    def _delete(self, kind: str, key: str) -> bool:
        self._problems.drop(kind, key)
        self._awaiting_columns.drop(kind, key)
        if kind == "Pod":
            self.refused.drop(key)
        return self._drop(kind, key)

    def _drop(self, kind: str, key: str) -> bool:
        """Forget an object; True where it was known."""
        match kind:
            case "Pod":
                known = self._jobs.tell_again(self._foreign.drop(key))
                return self._pods.drop(key) or known
            case "Node":
                return self._nodes.lose(key)
            case "PodGroup":
                return self._groups.drop(key)
        said = self._jobs.workloads.drop(kind, key)
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
            asked = self._pods.columns() | self._jobs.columns()
            divided = {column for ceiling in self._ceilings.values() for column in ceiling.most}
            room = self.axis.keep(offered | asked | divided, offered)
        for kind, key, found in self._awaiting_columns.again(room=room):
            self._put(kind, key, found)

    # What one object means for others

    def _settle_defaults(self) -> None:
        """Recompute what depends on classes, queues and namespaces that changed, once for each snapshot."""
        if self._defaults.take_priorities_changed():
            self._pods.reprice()
            self._jobs.reprice()
        if self._defaults.take_default_queues_changed():
            self._jobs.respecify_implicit()
