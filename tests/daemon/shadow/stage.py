"""A cluster whose scheduler in charge is the test, and a shadow beside it, on a clock of the test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.running import node
from tests.support.shadowing import shadowing, volcanos
from tests.support.waiting import until
from vsched.clock import FakeClock
from vsched.daemon.loop.stepping import Steps
from vsched.daemon.shadow.app import ShadowDaemon, ShadowSettings
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.model.plan import Bind, Evict
from vsched.shadow.comparing import ComparisonSettings
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.sim.controllers import ControllerSettings, PodTimes

BOUNDS = ComparisonSettings(partial_seconds=20.0, eviction_seconds=20.0, interval_seconds=30.0, gap_seconds=15.0)
CPU = 4


class Seen(NamedTuple):
    """A state of the cluster that a session saw."""

    at: float
    nodes: dict[str, str]
    """The node of each pod that is on one and is not being deleted, by name."""
    pods: frozenset[str]
    evicted: frozenset[str]
    """Pods that are being deleted by an eviction."""
    binds: tuple[Bind, ...]
    """What the shadow decided."""
    evictions: tuple[Evict, ...]
    """Also that."""
    codes: dict[str, str]
    """Why gangs wait by the shadow, by name; empty for those that do not."""
    created: dict[str, float]
    """When each pod was created."""


class Stage:
    """A cluster, its shadow, and the scheduler in charge of it."""

    def __init__(self, cluster: Cluster, shadow: ShadowDaemon, client: ApiClient, clock: FakeClock) -> None:
        self.cluster, self.shadow, self._client, self.clock = cluster, shadow, client, clock
        trigger = shadow._base.trigger
        assert isinstance(trigger, Steps)
        self.trigger = trigger
        self.minima: dict[str, int] = {}
        self._events = cluster.store.subscribe(cluster.client.kind("pods"))
        self._now: dict[str, dict[str, Any]] = {}
        """The pods by the event log."""
        self.seen: list[Seen] = []

    def submit(self, name: str, size: int, cpu: str = "1") -> None:
        self.minima[name] = size
        self.cluster.apply(volcanos(name, size, cpu=cpu))

    async def bind(self, pod: str, target: str) -> None:
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod}}
        target_of = {"apiVersion": "v1", "kind": "Node", "name": target}
        await self._client.create(f"/api/v1/namespaces/default/pods/{pod}/binding", body | {"target": target_of})

    async def evict(self, pod: str) -> None:
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": "default"}}
        await self._client.create(f"/api/v1/namespaces/default/pods/{pod}/eviction", body)

    async def session(self, seconds: float) -> None:
        """Time passes, and the shadow has a session in which it sees all that has happened."""
        store, reflectors = self.cluster.store, self.shadow.reflectors
        kinds = {"Pod": "pods", "PodGroup": "scheduling.volcano.sh/podgroups", "Node": "nodes"}
        watched = {kind: store.registry.preferred(*_of(name)) for kind, name in kinds.items()}

        def shows() -> bool:
            return all(
                found is not None and int(reflectors[kind].version or 0) >= store.latest(found)
                for kind, found in watched.items()
            )

        await self.cluster.settle()
        await until(shows)
        self.clock.advance(seconds)
        look = self.shadow.inspection.snapshots.look()
        asked = asyncio.ensure_future(look)
        await asyncio.sleep(0)
        await self.trigger.step()
        frozen = await asked
        self._replay()
        placed, evicted = {}, set()
        for name, pod in self._now.items():
            if not pod["metadata"].get("deletionTimestamp") and pod["spec"].get("nodeName"):
                placed[name] = pod["spec"]["nodeName"]
            elif any(one["type"] == "DisruptionTarget" for one in pod["status"].get("conditions") or ()):
                evicted.add(name)
        binds = frozen.report.binds
        codes = {key.partition("/")[2]: one.code for key, one in frozen.report.jobs.items()}
        stamps = ((name, pod["metadata"]["creationTimestamp"]) for name, pod in self._now.items())
        created = {name: datetime.fromisoformat(stamp).timestamp() for name, stamp in stamps}
        sets = frozenset(self._now), frozenset(evicted)
        self.seen.append(Seen(self.clock.now(), placed, *sets, binds, frozen.report.evictions, codes, created))

    def _replay(self) -> None:
        """Take the event log into account up to now."""
        while events := self._events.take():
            for event in events:
                found = event.record.obj
                name = found["metadata"]["name"]
                if event.type == "DELETED":
                    self._now.pop(name, None)
                else:
                    self._now[name] = found


def _of(resource: str) -> tuple[str, str]:
    group, _, plural = resource.rpartition("/")
    return group, plural


@asynccontextmanager
async def stage(folder: Path | None, nodes: int = 2, termination: float = 0.02, **options: Any) -> AsyncIterator[Stage]:
    clock, trigger = FakeClock(), Steps()
    settings = ClusterSettings(ControllerSettings(PodTimes(termination=termination)))
    machines = [node(f"n{number}", str(CPU)) for number in range(nodes)]
    async with (
        Cluster(machines, settings=settings, now=lambda: datetime.fromtimestamp(clock.now(), UTC)) as cluster,
        ApiClient(Connection(cluster.url)) as client,
        shadowing(
            cluster,
            settings=ShadowSettings(comparison=BOUNDS),
            clock=clock,
            trigger=trigger,
            shadow_log=folder,
            **options,
        ) as shadow,
    ):
        await until(lambda: shadow.health.ready().ok)
        try:
            yield Stage(cluster, shadow, client, clock)
        finally:
            trigger.release()
