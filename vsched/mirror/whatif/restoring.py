"""A mirror made from a snapshot: it decides as the one that the snapshot was taken of, and can be told of changes.

For what-if questions about a running cluster: nothing but the snapshot is needed, and nothing else is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace as renewed
from math import floor, isnan
from typing import TypeVar

import msgspec

from vsched.errors import BadObject
from vsched.mirror import wire
from vsched.mirror.cache import Cache
from vsched.mirror.ingest.nodes import NodeFacts
from vsched.mirror.ingest.queues import QueueFacts
from vsched.mirror.notes import Broken
from vsched.mirror.whatif.rendering import Manifest, encoded, group_manifest, node_manifest, queue_manifest
from vsched.mirror.whatif.standins import occupants, rests
from vsched.model.counted import summed
from vsched.model.job import Job, JobSpec
from vsched.model.plan import CycleReport
from vsched.model.resources import Vector, add
from vsched.model.shape import Shape, ShapeTable
from vsched.model.snapshot import Snapshot
from vsched.model.status import HOLDS, Phase, Status
from vsched.model.task import Task
from vsched.model.usage import Column, Figures, NodeUsage, Reading, UsageTable

K = TypeVar("K")


class Restored(Cache):
    """The mirror that a snapshot was taken of, as far as decisions go.

    Pods of other schedulers are known by what they take together, so what they hold of each namespace's share of the
    cluster stays as it was. So do the ceilings of arbitration: they rest on more than a snapshot of a session has.
    """

    def __init__(self, snapshot: Snapshot, scheduler_names: Iterable[str], default_queue: str = "default") -> None:
        arbitrating = bool(snapshot.held or snapshot.ceilings or snapshot.arbitration)
        super().__init__(
            frozenset(scheduler_names),
            default_queue,
            open_without_state=True,
            arbitrating=arbitrating,
            ignored=frozenset(snapshot.ignored),
        )
        self.origin = snapshot
        self.scheduler_names = frozenset(scheduler_names)
        self.moment = floor(snapshot.now) + 1.0
        """When changes are made: in the next whole second, so that what is new is younger than the rest."""
        self._strangers: dict[str, tuple[Task, ...]] = {}
        self._named: dict[str, dict[str, bool]] | None = None
        """Names of the pods there are by namespace, and whether controllers own them, once anybody has asked."""
        for name in snapshot.axis.names:
            self.axis.column(name)
        self._restore_nodes()
        self._restore_small_objects()
        for job in snapshot.jobs.values():
            self._restore_job(job)
        for job in snapshot.strays.values():
            for task in job.tasks.values():
                self._pods.restore(task, None)
        self._restore_strangers()
        self.set_ceilings(snapshot.ceilings, snapshot.pools)
        self.advise(snapshot.advice)
        if snapshot.nodes.usage is not None:
            self.use(reading_of(snapshot.nodes.usage, snapshot.nodes.statics.names, snapshot.now))
        self._previous = snapshot.previous
        kept, limits = self._parties.publish_kept()
        self._held_by_others = _beyond(snapshot.held, kept)
        self._limits_of_others = _beyond(snapshot.held_limits, limits)

    def snapshot(self, now: float) -> Snapshot:
        """The cluster as it is now; every job counts as changed since the session that this was restored from."""
        found = renewed(super().snapshot(now), learnt=self.origin.learnt)
        if not self.arbitrating:
            return found
        held: dict[str, Vector] = {namespace: dict(amounts) for namespace, amounts in found.held.items()}
        for name, others in self._held_by_others.items():
            add(held.setdefault(name, {}), others.items())
        limits = {
            namespace: summed((found.held_limits.get(namespace, {}), self._limits_of_others.get(namespace, {})))
            for namespace in found.held_limits.keys() | self._limits_of_others.keys()
        }
        return renewed(found, held=held, held_limits=limits)

    def settle(self, report: CycleReport) -> None:
        """What a cycle decided has come true; pods that were evicted come back where a controller makes them anew."""
        evicted = [task for each in report.evictions if (task := self.task(each.uid)) is not None]
        said = [self._jobs.implicit_of(task) for task in evicted]
        super().settle(report)
        for task, implicit in zip(evicted, said, strict=True):
            if task.owned and not task.returns:
                self._begin_anew(task, implicit)

    # What there is, as manifests

    def node(self, name: str) -> Manifest | None:
        """A node as a manifest, None where there is none."""
        facts = self._nodes.facts(name)
        return None if facts is None else node_manifest(facts.attributes, facts.allocatable, self.axis)

    def queue(self, name: str) -> Manifest | None:
        """A queue as a manifest, None where there is no object of that name."""
        facts = self._defaults.queue_facts(name)
        return None if facts is None else queue_manifest(facts, self.axis)

    def group(self, key: str) -> Manifest | None:
        """A PodGroup as a manifest, None where there is no object of that name."""
        spec = self._jobs.group(key)
        return None if spec is None else group_manifest(spec, self.axis)

    def is_made(self, key: str) -> bool:
        """Whether a PodGroup only records what pods say that name none."""
        spec = self._jobs.group(key)
        return spec is not None and spec.made

    def names(self, kind: str) -> list[str]:
        """The names (PodGroups: ``namespace/name``) of the nodes, queues, PodGroups or priority classes there are."""
        match kind:
            case "Node":
                return sorted(attributes.name for attributes, _ in self.nodes())
            case "Queue":
                return self._defaults.queue_names()
            case "PodGroup":
                return self._jobs.group_keys()
            case _:
                return list(self._defaults.classes())

    # Changes

    def tell(self, manifest: Manifest) -> None:
        """An object is now this one, as a watch would say; raises BadObject."""
        kind = manifest["kind"]
        found = wire.decode(kind, encoded(manifest))
        before = self._jobs.group(wire.identity_of(kind, found.metadata)) if kind == "PodGroup" else None
        self.apply(kind, "MODIFIED", found)
        if before is not None:
            self._groups.ask_in_vain(before)
        broken = self.broken.get((kind, wire.identity_of(kind, found.metadata)))
        if broken is not None:
            raise BadObject(broken.message)

    def on(self, node: str) -> tuple[list[Task], tuple[Task, ...]]:
        """Pods of jobs that use a node, by name, and those that stand in for others there."""
        ours = [
            task
            for job in self._jobs.everyone()
            for task in job.tasks.values()
            if task.node == node and HOLDS[task.status].uses
        ]
        return sorted(ours, key=lambda task: task.key), self._strangers.get(node, ())

    def bound_for(self, node: str) -> list[Task]:
        """Pods of DaemonSets that wait for a place on this node: where it goes, their controller withdraws them."""
        everyone = (task for job in self._jobs.everyone() for task in job.pending.values())
        return [task for task in everyone if task.returns and _only_node(task.shape) == node]

    def take_away(self, task: Task) -> None:
        """A pod is gone, for good."""
        self._pods.drop(task.uid)
        if self._named is not None:
            self._named.get(task.namespace, {}).pop(task.name, None)

    def start_anew(self, task: Task) -> None:
        """A pod is gone, and its controller has made another one like it, which waits."""
        implicit = self._jobs.implicit_of(task)
        self._pods.drop(task.uid)
        self._begin_anew(task, implicit)

    def clear_of_others(self, node: str) -> None:
        """The pods of other schedulers have left a node."""
        for task in self._strangers.pop(node, ()):
            self._nodes.move(task, None)

    def lose_node(self, name: str) -> None:
        """A node is gone."""
        self.apply("Node", "DELETED", wire.Node(wire.Metadata(name)))

    def has_pod(self, namespace: str, name: str) -> bool:
        """Whether a job has had a pod of this name from the beginning, and has it still."""
        return name in self._names(namespace)

    def owned_names(self, namespace: str) -> list[str]:
        """The names of those pods of a namespace that controllers own."""
        return [name for name, owned in self._names(namespace).items() if owned]

    def _names(self, namespace: str) -> Mapping[str, bool]:
        if self._named is None:
            self._named = {}
            for job in self._jobs.everyone():
                for task in job.tasks.values():
                    self._named.setdefault(task.namespace, {})[task.name] = task.owned
        return self._named.get(namespace, {})

    def _begin_anew(self, task: Task, implicit: JobSpec | None) -> None:
        """Another pod of the same controller, under the same name: what it will be called, nobody knows."""
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
            spared=False,
        )
        said = None if implicit is None else msgspec.structs.replace(implicit, created=fresh.created)
        self._pods.restore(fresh, said)

    # What was

    def _restore_nodes(self) -> None:
        nodes = self.origin.nodes
        for row, attributes in enumerate(nodes.statics.attributes):
            column = enumerate(nodes.allocatable[:, row].tolist())
            self._nodes.see(NodeFacts(attributes, tuple((position, value) for position, value in column if value)))

    def _restore_small_objects(self) -> None:
        origin = self.origin
        for found in origin.priority_classes.values():
            self._defaults.put_class(found)
        for name, queue in origin.queues.items():
            self._defaults.put_queue(
                QueueFacts(queue, queue.priority if self._has_priority(name) else None, queue.missing_class)
            )
        for name, namespace in origin.namespaces.items():
            self._defaults.put_namespace(namespace)
            if namespace.weight != 1:
                self._defaults.put_weight(name, _restored(name), namespace.weight)
        for name, selections in origin.selections.items():
            for number, selector in enumerate(selections.selectors):
                self._selections.put(name, ("", f"{_restored(name)}{number}"), selector)
        for name, budgets in origin.budgets.items():
            for budget in budgets:
                self._budgets.put(name, f"{name}/{budget.name}", budget)
        for name, quotas in origin.quotas.items():
            for quota in quotas:
                self._quotas.put(name, f"{name}/{quota.name}", quota)
        default = self._default_queue
        if default in origin.books and default not in origin.queues:
            # There is an object that cannot be used; else the queue would have been made up.
            self.broken["Queue", default] = Broken("Queue", "", default, "", f"Queue {default}: was left out")

    def _has_priority(self, name: str) -> bool:
        """Whether a queue has a priority of its own: one that is 0 keeps the default class from its jobs."""
        origin = self.origin
        if origin.queues[name].priority:
            return True
        if origin.queues[name].missing_class:
            return False
        default = min((found.value for found in origin.priority_classes.values() if found.is_default), default=0)
        inheriting = (job for job in origin.jobs.values() if job.spec.priority_class not in origin.priority_classes)
        return default != 0 and any(job.spec.queue == name and job.priority == 0 for job in inheriting)

    def _restore_job(self, job: Job) -> None:
        spec = job.spec
        implicit = _implied(spec) if spec.implicit or spec.made else None
        for task in job.tasks.values():
            said = None if implicit is None else msgspec.structs.replace(implicit, created=task.created)
            self._pods.restore(task, said)
        if not spec.implicit:
            self._groups.put(job.key, spec)

    def _restore_strangers(self) -> None:
        table = ShapeTable()
        for node, rest in rests(self.origin).items():
            self._strangers[node] = tuple(occupants(node, rest, table))
            for task in self._strangers[node]:
                self._nodes.move(None, task)


def reading_of(table: UsageTable, names: Sequence[str], now: float) -> Reading:
    """The reading that a table was made of; when it was taken is only known to within its newest sample."""
    nodes = {
        name: NodeUsage(measured, _figures(table.cpu, row), _figures(table.memory, row))
        for row, (name, measured) in enumerate(zip(names, table.measured.tolist(), strict=True))
        if not isnan(measured)
    }
    return Reading(max((usage.measured for usage in nodes.values()), default=now), nodes)


def _figures(columns: Mapping[str, Column], row: int) -> dict[str, Figures]:
    return {
        period: Figures(float(column.average[row]), float(column.spread[row]))
        for period, column in columns.items()
        if not isnan(column.average[row])
    }


def _only_node(shape: Shape) -> str:
    """The one node that a pod is made for, empty where there is none."""
    terms = shape.rules.required or ()
    fields = [field for term in terms for field in term.fields]
    return fields[0].values[0] if fields and fields[0].operator == "In" and fields[0].values else ""


def _beyond(whole: Mapping[str, Mapping[K, int]], part: Mapping[str, Mapping[K, int]]) -> dict[str, dict[K, int]]:
    """What the whole has more than the part, namespace by namespace."""
    return {
        namespace: {key: value - known.get(key, 0) for key, value in amounts.items() if value != known.get(key, 0)}
        for namespace, amounts in whole.items()
        if (known := part.get(namespace, {})) != amounts
    }


def _implied(spec: JobSpec) -> JobSpec:
    """What each pod says of a job that pods stand for, given what all of them say together."""
    return msgspec.structs.replace(
        spec,
        uid="",
        phase=Phase.INQUEUE,
        written_phase="",
        conditions=(),
        running=0,
        succeeded=0,
        failed=0,
        min_resources=None,
        implicit=True,
        made=False,
    )


def _restored(namespace: str) -> str:
    """The key of something in a namespace that no object can have."""
    return f"{namespace}/"
