"""Occupants that stand in for pods a snapshot knows only as sums by node: those of other schedulers.

What such pods take, who of them leaves, their labels, terms and ports are all known of a node together, but not which
pod has which. Any pods that add up to the same decide the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from vsched.model.placed import NodeCounts
from vsched.model.resources import ONE_POD, PODS, Amounts, Vector, subtract
from vsched.model.shape import HostPort, PodAffinity, PodLabels, Shape, ShapeTable
from vsched.model.snapshot import Snapshot
from vsched.model.status import HOLDS, Status
from vsched.model.task import Task
from vsched.model.termindex import TermKey


class Young(NamedTuple):
    """A pod that the latest averages of usage lack: its shape is known, and when it started (infinity: not yet)."""

    shape: Shape
    started: float


class Rest:
    """What is on one node once the pods that are known one by one are taken away."""

    def __init__(self) -> None:
        self.used: Vector = {}
        self.releasing: Vector = {}
        self.scoring = [0, 0]
        """Cpu and memory as scores count them."""
        self.labels: Counter[PodLabels] = Counter()
        self.terms: Counter[TermKey] = Counter()
        self.ports: Counter[HostPort] = Counter()
        self.young: Counter[Young] = Counter()

    def take(self, task: Task) -> None:
        """Take away a pod that is known."""
        shape = task.shape
        subtract(self.used, shape.request)
        if HOLDS[task.status].releasing:
            subtract(self.releasing, shape.request)
        self.labels[task.labels] -= 1
        self.take_traits(shape, task.labels.namespace)
        self.young -= Counter((Young(shape, _started(task)),))

    def take_traits(self, shape: Shape, namespace: str) -> None:
        """Take away what a shape counts for besides what it asks for."""
        self.scoring[0] -= shape.scoring_cpu
        self.scoring[1] -= shape.scoring_memory
        if shape.affinity is not None:
            self.terms[shape.affinity, namespace] -= 1
        self.ports.subtract(shape.ports)


def rests(snapshot: Snapshot) -> dict[str, Rest]:
    """What stands-ins have to make up for, by node; only nodes where there is anything."""
    found = _everything(snapshot)
    for job in (*snapshot.jobs.values(), *snapshot.strays.values()):
        for task in job.tasks.values():
            if task.node in found and HOLDS[task.status].uses:
                found[task.node].take(task)
    return {name: rest for name, rest in found.items() if rest.labels.total()}


def occupants(node: str, rest: Rest, table: ShapeTable) -> Iterator[Task]:
    """Pods that together take what is left of one node."""
    members = sorted(rest.labels.elements(), key=_by_name)
    number = 0
    for young in rest.young.elements():
        labels = _matching(young.shape, members, rest.terms)
        members.remove(labels)
        subtract(rest.used, young.shape.request)
        rest.take_traits(young.shape, labels.namespace)
        status = Status.RUNNING if np.isfinite(young.started) else Status.BOUND
        yield _occupant(node, number, young.shape, labels, status, young.started)
        number += 1
    leaving = rest.releasing.get(PODS, 0)
    subtract(rest.used, tuple(rest.releasing.items()))
    carried, ports = _carried(members, rest.terms), _spread(rest.ports, len(members))
    for position, labels in enumerate(members):
        part = rest.releasing if position < leaving else rest.used
        request = _all_but(part, (leaving if position < leaving else len(members) - leaving) - 1)
        first = position in (0, leaving)
        shape = table.shape(
            request if first else ONE_POD,
            scoring_cpu=rest.scoring[0] if position == 0 else 0,
            scoring_memory=rest.scoring[1] if position == 0 else 0,
            affinity=carried.get(position),
            ports=ports[position],
        )
        status = Status.RELEASING if position < leaving else Status.RUNNING
        yield _occupant(node, number + position, shape, labels, status)


def _everything(snapshot: Snapshot) -> dict[str, Rest]:
    """What is on each node, whoever's it is."""
    nodes = snapshot.nodes
    found = {name: Rest() for name in nodes.statics.names}
    for row, rest in enumerate(found.values()):
        rest.used = _vector(nodes.allocatable[:, row] - nodes.idle[:, row])
        rest.releasing = _vector(nodes.releasing[:, row])
        rest.scoring = nodes.scoring[:, row].tolist()
    for labels, counts in snapshot.placed.counts.items():
        for name, count in _there(counts, found):
            found[name].labels[labels] = count
    for key, counts in snapshot.placed.terms.items():
        for name, count in _there(counts, found):
            found[name].terms[key] = count
    for port, counts in snapshot.placed.ports.items():
        for name, count in _there(counts, found):
            found[name].ports[port] = count
    if nodes.usage is not None:
        young = nodes.usage.young
        entries = zip(young.rows.tolist(), young.shapes.tolist(), young.started.tolist(), strict=True)
        for row, kind, started in entries:
            found[nodes.statics.names[row]].young[Young(young.kinds[kind], started)] += 1
    return found


def _there(counts: NodeCounts, found: Mapping[str, Rest]) -> Iterable[tuple[str, int]]:
    return ((name, count) for name, count in counts.items() if name in found)


def _vector(column: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> Vector:
    return {position: value for position, value in enumerate(column.tolist()) if value}


def _started(task: Task) -> float:
    """As the books of usage count it: infinity where a pod does not run yet."""
    return task.started if task.status is Status.RUNNING else np.inf


def _matching(shape: Shape, members: list[PodLabels], terms: Counter[TermKey]) -> PodLabels:
    """One of the label sets that a pod of this shape may have: its terms are counted in its namespace."""
    if shape.affinity is None:
        return members[0]
    return next(labels for labels in members if terms[shape.affinity, labels.namespace] > 0)


def _carried(members: list[PodLabels], terms: Counter[TermKey]) -> dict[int, PodAffinity]:
    """Which of the members carries which terms: a pod carries one set at most, counted in its own namespace."""
    free: dict[str, list[int]] = {}
    for position, labels in enumerate(members):
        free.setdefault(labels.namespace, []).append(position)
    return {free[namespace].pop(): affinity for affinity, namespace in terms.elements()}


def _spread(ports: Counter[HostPort], members: int) -> list[tuple[HostPort, ...]]:
    """The ports of each member: none has one twice."""
    found: list[list[HostPort]] = [[] for _ in range(members)]
    for port, count in ports.items():
        for position in range(count):
            found[position].append(port)
    return [tuple(each) for each in found]


def _all_but(vector: Vector, others: int) -> Amounts:
    """What one of them takes if each of the others takes nothing but its slot."""
    rest = {**vector, PODS: vector.get(PODS, 0) - others}
    return tuple(sorted((column, value) for column, value in rest.items() if value))


def _by_name(labels: PodLabels) -> tuple[str, tuple[tuple[str, str], ...]]:
    return labels.namespace, labels.pairs


def _occupant(node: str, number: int, shape: Shape, labels: PodLabels, status: Status, started: float = 0.0) -> Task:
    started = started if np.isfinite(started) else 0.0
    name = f"others-{number}"
    uid = f"{node}/{name}"
    return Task(uid, labels.namespace, name, "", shape, labels, status, node, started=started)
