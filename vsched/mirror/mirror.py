"""The mirror: the cluster as the watches show it, plus decisions that the watches do not show yet.

It is synchronous and changes only through the methods of its parts: events and lists of the watches, decisions and
the outcomes of writes, and what others work out. The cost of ``snapshot`` follows what changed since the last one, not
the size of the cluster. Objects may arrive in any order, twice or late; the result is the same as from a fresh list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from vsched.mirror.assumptions import Assumptions
from vsched.mirror.events import MirrorEvents
from vsched.mirror.ingest.implicit import ImplicitPodGroup
from vsched.mirror.inputs import SnapshotInputs
from vsched.mirror.intake import ObjectIntake
from vsched.mirror.problems import Problem
from vsched.mirror.state.gang_pods import GangPod
from vsched.mirror.state.node_tables import dense_vector
from vsched.mirror.stores import MirrorSettings, Stores
from vsched.mirror.watched_claims import WatchedClaims
from vsched.model.amounts.resources import Amounts
from vsched.model.arbitration.records import Arbitration
from vsched.model.nodes.table import NodeAttributes
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue
from vsched.model.snapshot import Snapshot


class Mirror:
    """The mirror of the cluster that cycles are decided on: what may be read of it, and its parts."""

    def __init__(
        self,
        settings: MirrorSettings,
        events: MirrorEvents | None = None,
        make_stores: Callable[[MirrorSettings, MirrorEvents], Stores] = Stores,
    ) -> None:
        self.settings = settings
        self.events = events = events or MirrorEvents()
        """What it tells of."""
        self.stores = stores = make_stores(settings, events)
        """For the parts of the mirror, and for clusters on paper."""
        self.assumptions = Assumptions(stores, events)
        """What was decided and done, until the watches show it."""
        self.intake = ObjectIntake(settings, stores, self.assumptions, events)
        """Takes in what the watches show."""
        self.inputs = SnapshotInputs(stores, events)
        """What others work out for snapshots."""
        self.claims = WatchedClaims(stores)
        self.axis, self.history, self.topology = stores.axis, stores.history, stores.topology
        self.broken = stores.problems.broken
        """Problems of objects that are left out."""
        self.blemished = stores.problems.blemished
        """Problems of objects that are used except for an annotation or a selector."""
        self.unserved = stores.problems.unserved
        """Problems of objects that state what no plugin of the policy acts on; kept by who knows the policy."""
        self._published_axis = stores.axis.copy()
        """The columns of the last snapshot."""
        self._snapshots = 0
        self._versions: tuple[float, ...] = ()
        """Of jobs, nodes and accounts in the last snapshot, and since when the use of the cluster is known."""
        self._state: object | None = None
        """``Snapshot.state`` for as long as these versions stay."""

    def preparing(self) -> Iterator[None]:
        """Most of the work of the next snapshot in steps, where much has changed, as after the first lists.

        Events may be taken in between. The last snapshot is not valid any more from the first step on.
        """
        yield from self.stores.settling_defaults()
        yield from self.stores.jobs.prepare()
        yield from self.stores.nodes.prepare()
        yield from self.stores.jobs.prepare()  # those of pods that came meanwhile, as their bindings do after a burst

    def snapshot(self, now: float) -> Snapshot:
        """The cluster now. The snapshot is valid until the next one is taken."""
        stores, inputs = self.stores, self.inputs
        self._snapshots += 1
        previous = self.assumptions.advance(now)
        self.intake.make_room(now, inputs.ceilings.values())
        if self._published_axis.names != stores.axis.names:
            self._published_axis = stores.axis.copy()
        stores.settle_defaults()
        stores.jobs.bar(stores.loops.barred(now))
        changed = stores.jobs.publish()
        nodes, placed = stores.nodes.publish(self._published_axis)
        stores.claims.serve(stores.nodes, nodes.statics)
        if stores.nodes.is_dirty:
            nodes, placed = stores.nodes.publish(self._published_axis)
        stores.accounts.see_nodes(stores.nodes.capacity_version, nodes.allocatable)
        stores.pods.sweep_overgrown()
        jobs, sums = stores.jobs.published, stores.jobs.published.sums
        stores.history.follow(now, self._published_axis, stores.nodes.total, sums.take_moved())
        held, held_limits = stores.accounts.publish_kept()
        queues = stores.defaults.queues(sums.usage, ("Queue", self.settings.default_queue) not in self.broken)
        queues = stores.restarts.asking(queues, sums.usage, now)
        history, since = stores.history.publish(), self._state
        versions = jobs.version, stores.nodes.version, stores.accounts.kept_version, history.since
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
            namespaces=stores.defaults.namespaces(),
            selections=stores.selections.publish(),
            placed=placed,
            total=dense_vector(stores.nodes.total, nodes.width),
            used=dense_vector(stores.nodes.used, nodes.width),
            previous=previous,
            budgets=stores.budgets.publish(),
            quotas=stores.quotas.publish(),
            priority_range=stores.defaults.priority_range(queues),
            priority_classes=stores.defaults.classes(),
            ceilings=inputs.ceilings,
            pools=inputs.pools,
            held=held,
            held_limits=held_limits,
            advice=inputs.advice,
            provisioning=inputs.provisioning,
            node_pools=inputs.node_pools,
            strays=jobs.orphans,
            history=history,
            learnt=stores.pods.learn(),
            setbacks=stores.records.refused.publish(),
            ignored=tuple(sorted(stores.defaults.ignored)),
            foreign=stores.foreign.publish(),
            claims=stores.claims.publish(),
            topology=stores.topology.publish(),
            zones=stores.zones.publish(),
            device_shares=stores.device_shares.publish(),
            masks=inputs.masks,
            phases=jobs.phases,
            state=self._state,
            since=since,
        )

    def unused(self) -> Iterator[Problem]:
        """Objects that are not scheduled: those that cannot be used, and pods of other schedulers."""
        yield from tuple(self.broken.values())
        yield from tuple(self.stores.problems.foreign.values())

    def arbitration(self) -> Arbitration:
        """The input of arbitration as of now; immutable. Call it right after ``snapshot``."""
        return self.stores.accounts.publish()

    def held(self, namespace: str) -> dict[str, int]:
        """What pods of a namespace use now, by counted name, with limits; pods that are leaving do not count."""
        return self.stores.accounts.kept(namespace)

    def take_moved(self) -> set[str]:
        """Namespaces whose usage has changed since the last call. For a single caller."""
        return self.stores.accounts.take_moved()

    def total(self) -> dict[str, int]:
        """The allocatable amounts of all nodes together, by resource name."""
        return {self.stores.axis.names[column]: value for column, value in self.stores.nodes.total.items()}

    def nodes(self) -> Iterator[tuple[NodeAttributes, Amounts]]:
        """Every node with its allocatable amounts."""
        return self.stores.nodes.known()

    def is_leaving(self, namespace: str) -> bool:
        """Whether a namespace is being deleted."""
        return namespace in self.stores.leaving

    def task(self, uid: str) -> Task | None:
        """The pod of this uid, None where there is none."""
        return self.stores.records.tasks.get(uid)

    def tasks_of(self, key: str) -> list[Task] | None:
        """The pods of a job, None where there is no such job."""
        job = self.stores.jobs.job(key)
        return None if job is None else list(job.tasks.values())

    def called(self, key: str) -> str:
        """How sentences name the job of a key; the key itself where there is no such job."""
        job = self.stores.jobs.job(key)
        return key if job is None else job.called

    def watched_queue(self, name: str) -> Queue | None:
        """The queue of this name as its object states it, None where there is none."""
        found = self.stores.defaults.queue_facts(name)
        return None if found is None else found.queue

    def parents_of_queues(self) -> set[str]:
        """The names that queues give as their parents."""
        facts = map(self.stores.defaults.queue_facts, self.stores.defaults.queue_names())
        return {found.queue.parent for found in facts if found is not None and found.queue.parent}

    def has_node(self, name: str) -> bool:
        """Whether there is such a node."""
        return name in self.stores.nodes

    def tasks_on(self, node: str) -> list[Task] | None:
        """The pods on a node, of any scheduler; None where there is no such node."""
        return self.stores.nodes.tasks(node)

    def group_uid(self, key: str) -> str:
        """The uid of the PodGroup object of this key, empty where there is none."""
        return self.stores.groups.uid(key) or self.stores.native.uid(key)

    def gang_pod(self, uid: str) -> GangPod | None:
        """What the owners of a pod say of its gang; None for a pod whose owners do not matter."""
        return self.stores.gangs.of(uid)

    def implicit_group(self, key: str) -> ImplicitPodGroup | None:
        """The implicit PodGroup of this key, None where there is none."""
        return self.stores.jobs.implicit_group(key)

    def describe(self) -> Mapping[str, int]:
        """Sizes, for metrics."""
        stores = self.stores
        return {
            **stores.pods.describe(),
            "nodes": len(stores.nodes),
            "young_tasks": stores.nodes.young,
            **stores.jobs.describe(),
            "assumed_phases": stores.groups.assumed,
            "selectors": len(stores.selections),
            "budgets": len(stores.budgets),
            "quotas": len(stores.quotas),
            "hypernodes": len(stores.topology),
            **stores.claims.describe(),
            "zoned_nodes": len(stores.zones),
            "nodes_with_shared_devices": len(stores.device_shares),
            **stores.gangs.describe(),
            "broken": len(self.broken),
            "blemished": len(self.blemished),
            "snapshots": self._snapshots,
            **(stores.accounts.describe() if self.settings.arbitrating else {}),
        }
