"""Carries out the operations of a workload, and measures what they say is to be measured."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import TypeVar

from vsched.lab.suites.objects import Maker, class_of, key_of, slice_of
from vsched.lab.suites.operations import (
    AllocateClaims,
    Barrier,
    Churn,
    CreateAny,
    CreateNamespaces,
    CreateNodes,
    CreatePods,
    CreatePodSets,
    CreateResourceDriver,
    DeletePods,
    Operation,
    Sleep,
    StartMeasuring,
    StopMeasuring,
    UpdateAny,
    Workload,
)
from vsched.lab.suites.place import Action, PlacementMeter, SuiteCluster
from vsched.lab.suites.templates import Obj, template_of

T = TypeVar("T")

FAST_SECONDS = 0.05
"""The shortest time between two steps of what is done so many times a second: more is done in each then."""


class Performer:
    """Carries out one workload."""

    def __init__(self, place: SuiteCluster, arrivals: int = 0) -> None:
        self._place = place
        self._arrivals = arrivals
        """How many measured pods come at once; 0 for all."""
        self._maker = Maker()
        self._nodes: list[str] = []
        self._namespaces: set[str] = set()
        self._classes: set[str] = set()
        self._collecting: list[PlacementMeter] = []
        """Begun by ``startCollectingMetrics``."""
        self.measured: list[PlacementMeter] = []

    async def run(self, workload: Workload) -> list[PlacementMeter]:
        """All operations, one after the other; raises NotPlaced where pods stay where they are."""
        for operation in workload.operations:
            await self._do(operation)
        await self._stop()
        return self.measured

    async def _do(self, operation: Operation) -> None:
        match operation:
            case CreateNodes():
                await self._create_nodes(operation)
            case CreateNamespaces():
                await self._create_namespaces(operation)
            case CreatePods():
                await self._create_pods(operation, operation.namespace)
            case CreatePodSets():
                for number in range(operation.count):
                    await self._create_pods(operation.pods, f"{operation.prefix}-{number}")
            case Churn():
                await self._need(operation.namespace)
                self._place.every(operation.seconds, self._churning(operation))
            case Barrier():
                await self._barrier(operation)
            case Sleep():
                await self._place.sleep(operation.seconds)
            case DeletePods():
                await self._delete_pods(operation)
            case CreateAny():
                await self._need(operation.namespace)
                await self._create(self._maker.make(operation.template, operation.namespace, operation.count))
            case UpdateAny():
                await self._update(operation)
            case CreateResourceDriver():
                nodes = [node for node in self._nodes if fnmatchcase(node, operation.nodes)]
                await self._create(slice_of(operation.driver, node, operation.devices) for node in nodes)
            case AllocateClaims():
                await self._place.allocate(operation.namespace)
            case StartMeasuring():
                self._collecting.append(self._measure(operation))
            case StopMeasuring():
                await self._stop()

    async def _create(self, objects: Iterable[Obj]) -> None:
        """Create objects, and the priority classes of pods that nobody has created yet."""
        made = list(objects)
        for found in made:
            priority = class_of(found) if found["kind"] == "Pod" else None
            if priority is not None and key_of(priority) not in self._classes:
                self._classes.add(key_of(priority))
                await self._place.create([priority])
        await self._place.create(made)

    # Nodes and namespaces

    async def _create_nodes(self, operation: CreateNodes) -> None:
        made = list(self._maker.nodes(operation))
        await self._create(made)
        self._nodes += [found["metadata"]["name"] for found in made if found["kind"] == "Node"]

    async def _create_namespaces(self, operation: CreateNamespaces) -> None:
        for number in range(operation.count):
            name = f"{operation.prefix}-{number}"
            found: Obj = {"apiVersion": "v1", "kind": "Namespace", "metadata": {}}
            if operation.template is not None:
                found = template_of(operation.template).make(number, operation.count)
            found["metadata"]["name"] = name
            self._namespaces.add(name)
            await self._create([found])

    async def _need(self, namespace: str) -> None:
        """Create a namespace that nobody has created yet."""
        if namespace and namespace != "default" and namespace not in self._namespaces:
            self._namespaces.add(namespace)
            await self._create([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}])

    # Pods

    async def _create_pods(self, operation: CreatePods, namespace: str) -> None:
        await self._need(namespace)
        made = self._maker.pods(operation, namespace)
        if not self._arrivals and not operation.steady_seconds:
            made = iter(list(made))  # making them is no part of what is measured
        meter = None
        if operation.measured:
            meter = self._measure(StartMeasuring(name=namespace, namespaces=(namespace,)))
        if operation.steady_seconds:
            await self._keep_steady(operation, namespace)
        else:
            await self._create_and_wait(operation, made)
        if meter is not None:
            self._finish(meter)

    async def _create_and_wait(self, operation: CreatePods, made: Iterator[tuple[list[Obj], Obj]]) -> None:
        arrivals = self._arrivals if operation.measured and operation.waits else 0
        while part := list(islice(made, arrivals or None)):
            keys = await self._bring(part)
            if operation.waits:
                await self._place.until_placed(keys, len(keys))

    async def _bring(self, made: Iterable[tuple[list[Obj], Obj]]) -> list[str]:
        """Create pods with their volumes; returns their keys."""
        pairs = list(made)
        await self._create(each for volumes, _ in pairs for each in volumes)
        await self._create(pod for _, pod in pairs)
        return [key_of(pod) for _, pod in pairs]

    async def _keep_steady(self, operation: CreatePods, namespace: str) -> None:
        """Replace each pod that has a node, until the time is over."""
        place, indices = self._place, 0
        end = place.now() + operation.steady_seconds
        keys: list[str] = []
        while place.now() < end:
            missing = operation.count - len(keys)
            made = islice(self._maker.pods(operation, namespace, indices), missing)
            indices += missing
            keys += await self._bring(made)
            await place.until_placed(keys, 1)
            done = [key for key in keys if not place.pods.waiting([key])]
            await place.delete("Pod", done)
            gone = set(done)
            keys = [key for key in keys if key not in gone]
        await place.delete("Pod", keys)

    async def _delete_pods(self, operation: DeletePods) -> None:
        keys = deque(self._place.pods.keys([operation.namespace], operation.labels))
        if not operation.per_second:
            await self._place.delete("Pod", list(keys))
            return
        seconds, step = _pace(operation.per_second)

        async def some() -> bool:
            await self._place.delete("Pod", _first(keys, step))
            return bool(keys)

        await self._paced(seconds, some, waits=operation.waits)

    # Other objects

    def _churning(self, operation: Churn) -> Action:
        alive: deque[list[Obj]] = deque()
        rounds = 0

        async def again() -> bool:
            nonlocal rounds
            if operation.kept and len(alive) >= operation.kept:
                for old in alive.popleft():
                    await self._place.delete(old["kind"], [key_of(old)])
            made = [found for path in operation.templates for found in self._one(path, operation.namespace)]
            await self._create(made)
            alive.append(made if operation.kept else [])
            rounds += 1
            return not operation.most or rounds < operation.most

        return again

    def _one(self, path: Path, namespace: str) -> Iterator[Obj]:
        return self._maker.make(path, namespace, 1)

    async def _update(self, operation: UpdateAny) -> None:
        made = deque(self._maker.make(operation.template, operation.namespace, operation.count))
        seconds, step = _pace(operation.per_second) if operation.per_second else (0.0, len(made))

        async def some() -> bool:
            for found in _first(made, step):
                await self._place.update(found)
            return bool(made)

        if operation.per_second:
            await self._paced(seconds, some, waits=True)
        else:
            await some()

    async def _paced(self, seconds: float, action: Action, *, waits: bool) -> None:
        self._place.every(seconds, action)
        if waits:
            await self._place.until_over(action)

    async def _barrier(self, operation: Barrier) -> None:
        keys = list(self._place.pods.keys(operation.namespaces, operation.labels))
        if operation.attempted:
            await self._place.until_attempted(keys)
        else:
            await self._place.until_placed(keys, len(keys))

    # Measuring

    def _measure(self, operation: StartMeasuring) -> PlacementMeter:
        self._place.begin_measuring()
        name = operation.name or ", ".join(operation.namespaces)
        place = self._place
        meter = PlacementMeter(name, operation.namespaces, operation.labels, place.now(), used=place.used())
        place.pods.meters.append(meter)
        return meter

    async def _stop(self) -> None:
        for meter in self._collecting:
            self._finish(meter)
        self._collecting.clear()

    def _finish(self, meter: PlacementMeter) -> None:
        self._place.pods.meters.remove(meter)
        meter.used = {name: seconds - meter.used[name] for name, seconds in self._place.used().items()}
        self.measured.append(meter)


def _pace(per_second: float) -> tuple[float, int]:
    """The seconds between two steps, and how much is done in each."""
    seconds = 1 / per_second
    step = max(1, round(FAST_SECONDS / seconds))
    return step * seconds, step


def _first(queue: deque[T], count: int) -> list[T]:
    """So many from the front, which are taken off."""
    return [queue.popleft() for _ in range(min(count, len(queue)))]
