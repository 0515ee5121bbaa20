"""Restores a mirror from a snapshot: cycles on it decide as on the original mirror, and it takes further changes.

The stores of the mirror adopt the records of the snapshot. Of the pods of other schedulers only their sum on each node
is known. The snapshot itself stays unchanged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace as renewed
from functools import partial
from math import floor, inf, isinf

import msgspec

from vsched.mirror.accounts.namespaces import NamespaceAccounts
from vsched.mirror.accounts.pod_sums import CountedAs, part_of, put_sums
from vsched.mirror.ingest.queues import ParsedQueue
from vsched.mirror.ingest.workload_kinds import NO_WORKLOADS, WorkloadTable
from vsched.mirror.problems import Problem
from vsched.mirror.stores import MirrorSettings
from vsched.mirror.whatif import words
from vsched.mirror.whatif.claims import OwnedClaims
from vsched.mirror.whatif.paper import PaperMirror
from vsched.model.amounts.counted import Counted
from vsched.model.amounts.resources import ResourceAxis, Vector, add, subtract
from vsched.model.jobs.job import Job
from vsched.model.jobs.spec import JobSpec
from vsched.model.nodes.table import Ints
from vsched.model.nodes.usage import reading_of
from vsched.model.plan import CycleReport
from vsched.model.pods.shape import PodLabels, Shape
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.model.queues.quota import Quota, counting, used_by
from vsched.model.snapshot import Snapshot


class RestoredMirror(PaperMirror):
    """A mirror that makes the same decisions as the one that the snapshot was taken from.

    The ceilings of namespaces stay as they were: a snapshot does not hold all that they are computed from.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        scheduler_names: Iterable[str] = (),
        default_queue: str = "default",
        workloads: WorkloadTable = NO_WORKLOADS,
    ) -> None:
        arbitrating = bool(snapshot.held or snapshot.ceilings or snapshot.arbitration)
        settings = MirrorSettings(
            frozenset(scheduler_names),
            default_queue,
            open_without_state=True,
            arbitrating=arbitrating,
            ignored=frozenset(snapshot.ignored),
            workloads=workloads,
        )
        accounts = partial(RestoredAccounts, held=snapshot.held, limits=snapshot.held_limits)
        super().__init__(settings, accounts if arbitrating else NamespaceAccounts)
        self.know_owners(())
        self.origin = snapshot
        self.scheduler_names = frozenset(scheduler_names)
        self.moment = floor(snapshot.now) + 1.0
        """The time of changes: the next whole second, so that new objects are younger than all others."""
        for name in snapshot.axis.names:
            self.axis.column(name)
        self._adopt_small_objects()
        self.topology.adopt(snapshot.topology)
        self._adopt_pods()
        # The snapshot already has the priorities and queues of jobs: clear the marks that adopting the objects set.
        self.stores.defaults.take_priorities_changed()
        self.stores.defaults.take_default_queues_changed()
        inputs = self.inputs
        inputs.set_ceilings(snapshot.ceilings, snapshot.pools)
        inputs.advise(snapshot.advice)
        inputs.provision(snapshot.provisioning)
        inputs.offer(snapshot.node_pools)
        inputs.mask(snapshot.masks)
        if not snapshot.history.is_empty:
            self.history.adopt(snapshot.history, snapshot.axis, self.stores.nodes.total)
        self.assumptions.advance(snapshot.previous)
        self._first = True
        """Whether no snapshot has been made yet."""

    def snapshot(self, now: float) -> Snapshot:
        """The cluster as it is now; in the first snapshot, every job counts as changed."""
        found, first = super().snapshot(now), self._first
        self._first = False
        changed = tuple(sorted({*found.changed, *found.jobs})) if first else found.changed
        return renewed(found, changed=changed, learnt=self.origin.learnt, foreign=self.origin.foreign)

    def settle(self, report: CycleReport) -> None:
        """Carry out what a cycle decided; a controller replaces the evicted pods that it owns."""
        evicted = [task for each in report.evictions if (task := self.task(each.uid)) is not None]
        said = [(self.stores.jobs.implicit_of(task), self._paper.owned(task)) for task in evicted]
        super().settle(report)
        for task, (implicit, owned) in zip(evicted, said, strict=True):
            if self.task(task.uid) is not None:
                continue
            if task.owned and not task.returns:
                self._begin_anew(task, implicit, owned)
            else:
                self._no_longer_count(task)

    @property
    def _decided_at(self) -> float:
        """The same; a cycle may also have run on the snapshot that this mirror is made from."""
        return self.origin.now if self._first else super()._decided_at

    def _begin_anew(self, task: Task, implicit: JobSpec | None, owned: OwnedClaims) -> None:
        """Add the pod with which a controller replaces this one; it keeps the name, as the new one is not known.

        ``owned`` are the claims that were made for the pod.
        """
        fresh = msgspec.structs.replace(
            task.moved(Status.PENDING, ""),
            uid=f"{task.uid}+",
            created=self.moment,
            gated=bool(task.unsupported),
            nominated="",
            preemptable=task.preemptable or task.spared,
            condition="",
            started=0.0,
            protected_until=0.0,
            devices="",
            checkpoint=0.0,
            asked=None,
            spared=False,
        )
        said = None if implicit is None else msgspec.structs.replace(implicit, created=fresh.created)
        self._paper.make_anew(fresh, owned)
        self.stores.records.restore(fresh, said)

    def _no_longer_count(self, task: Task) -> None:
        """A pod is gone: quotas do not count it any more."""
        for namespace, quota in self._recounted((task,), ()):
            self.stores.quotas.put(namespace, f"{namespace}/{quota.name}", quota)

    def _recounted(self, gone: Iterable[Task], come: Iterable[Task]) -> Iterator[tuple[str, Quota]]:
        """The quotas that some pods change which are gone, and others which have come, with their namespaces."""
        names, changes = self.axis.names, dict[str, tuple[list[Task], list[Task]]]()
        for side, tasks in enumerate((gone, come)):
            for task in tasks:
                if self.stores.quotas.items(task.namespace):
                    changes.setdefault(task.namespace, ([], []))[side].append(task)
        for namespace, (went, came) in changes.items():
            less, more = used_by(went, names), used_by(came, names)
            for quota in list(self.stores.quotas.items(namespace).values()) if less != more else ():
                yield namespace, counting(quota, less, more)

    # Adopting the snapshot

    def _adopt_pods(self) -> None:
        """Take over pods, jobs, PodGroups, nodes and the measured usage of nodes."""
        origin = self.origin
        tasks: dict[str, Task] = {}
        for job in (*origin.jobs.values(), *origin.strays.values()):
            tasks.update(job.tasks)
        self.stores.records.adopt(tasks)
        self._paper.adopt(origin.claims)
        self.stores.zones.adopt(origin.zones, tasks)
        self.stores.device_shares.adopt(origin.device_shares)
        self.stores.jobs.adopt(origin)
        groups = {key: job.spec for key, job in origin.jobs.items() if not job.spec.implicit}
        self.stores.groups.adopt(groups)
        self.stores.nodes.adopt(origin.nodes, origin.placed, tasks.values(), origin.claims.devices.plugins)
        self._unknown = tuple(_unknown_young(origin, tasks.values()))
        """Stand-ins for young pods of other schedulers, whose load the latest usage averages do not include."""
        if origin.nodes.usage is not None:
            reading = reading_of(origin.nodes.usage, origin.nodes.statics.names, origin.now)
            self.stores.nodes.use(reading, self._unknown)

    def _adopt_small_objects(self) -> None:
        """Take over priority classes, queues, namespaces, selections, disruption budgets and resource quotas."""
        origin = self.origin
        for found in origin.priority_classes.values():
            self.stores.defaults.put_class(found)
        inheriting = self._inheriting_queues()
        for name, queue in origin.queues.items():
            stated = bool(queue.priority) or (name in inheriting and not queue.missing_class)
            self.stores.defaults.put_queue(ParsedQueue(queue, queue.priority if stated else None, queue.missing_class))
        for name, namespace in origin.namespaces.items():
            self.stores.defaults.put_namespace(namespace)
            if namespace.weight != 1:
                self.stores.defaults.put_weight(name, _no_object(name), namespace.weight)
        for name, selections in origin.selections.items():
            for number, selector in enumerate(selections.selectors):
                self.stores.selections.put(name, ("", f"{_no_object(name)}{number}"), selector)
        for name, budgets in origin.budgets.items():
            for budget in budgets:
                self.stores.budgets.put(name, f"{name}/{budget.name}", budget)
        for name, quotas in origin.quotas.items():
            for quota in quotas:
                self.stores.quotas.put(name, f"{name}/{quota.name}", quota)
        default = self.settings.default_queue
        if default in origin.books and default not in origin.queues:
            # The default queue has an object that cannot be used; without one, the mirror would have created the queue.
            self.broken["Queue", default] = Problem("Queue", "", default, "", words.queue_left_out(default))

    def _inheriting_queues(self) -> frozenset[str]:
        """Queues that set priority 0 themselves, so that their jobs do not get that of the default priority class."""
        classes = self.origin.priority_classes
        if not min((found.value for found in classes.values() if found.is_default), default=0):
            return frozenset()
        jobs = self.origin.jobs.values()
        return frozenset(job.spec.queue for job in jobs if not job.priority and job.spec.priority_class not in classes)


def _unknown_young(snapshot: Snapshot, known: Iterable[Task]) -> Iterator[Task]:
    """Stand-ins for the young pods in the usage table that are none of the known pods.

    Young pods are those whose load the usage averages do not include yet.
    """
    usage, names = snapshot.nodes.usage, snapshot.nodes.statics.names
    if usage is None or not len(usage.young.rows):
        return
    young = usage.young
    entries = zip(young.rows.tolist(), young.shapes.tolist(), young.started.tolist(), strict=True)
    left: Counter[tuple[str, Shape, float]] = Counter((names[row], young.kinds[kind], at) for row, kind, at in entries)
    for task in known:
        if task.node:
            left[task.node, task.shape, task.started if task.status is Status.RUNNING else inf] -= 1
    for number, (node, shape, started) in enumerate((+left).elements()):
        status = Status.BOUND if isinf(started) else Status.RUNNING
        began = 0.0 if isinf(started) else started
        yield Task(f"{node}/unknown-{number}", "", "", "", shape, PodLabels("", ()), status, node, started=began)


def _no_object(namespace: str) -> str:
    """A key in a namespace that no object can have."""
    return f"{namespace}/"


class RestoredAccounts(NamespaceAccounts):
    """The sums in a snapshot, plus what pods took since then, less what they gave back.

    The division among namespaces stays as it was in the snapshot, so this counts nothing else about pods.
    """

    def __init__(
        self,
        axis: ResourceAxis,
        weight_of: Callable[[str], int],
        *,
        held: Mapping[str, Vector],
        limits: Mapping[str, Counted],
    ) -> None:
        super().__init__(axis, weight_of)
        self._held = {name: dict(amounts) for name, amounts in held.items()}
        self._limits: dict[str, Counted] = {name: dict(amounts) for name, amounts in limits.items()}

    def move(self, old: Task | None, new: Task | None) -> None:
        """Replace what a pod held before with what it holds now."""
        for task, sign in ((old, -1), (new, 1)):
            if task is not None and part_of(task) is CountedAs.HELD:
                self._shift(task, sign)

    def see_job(self, key: str, job: Job | None) -> None:
        """Do nothing: the sums do not count waiting pods."""

    def see_nodes(self, version: int, allocatable: Ints) -> None:
        """Do nothing: the allocatable amounts of nodes only matter to waiting pods."""

    def publish_kept(self) -> tuple[Mapping[str, Vector], Mapping[str, Counted]]:
        """What the pods of each namespace hold: amounts of node resources by column, and limits by name."""
        return self._held, self._limits

    def _shift(self, task: Task, sign: int) -> None:
        """Add (``sign`` 1) or subtract (-1) what a pod holds."""
        name = task.namespace
        held, limits = dict(self._held.get(name, {})), dict(self._limits.get(name, {}))
        (add if sign > 0 else subtract)(held, task.shape.request)
        for limit, amount in task.shape.limits:
            limits[limit] = limits.get(limit, 0) + sign * amount
        put_sums(self._held, name, {column: value for column, value in held.items() if value})
        put_sums(self._limits, name, {limit: value for limit, value in limits.items() if value})
