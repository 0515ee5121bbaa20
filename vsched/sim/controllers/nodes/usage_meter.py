"""What nodes and pods used: keeps which pods ran where and when, as long as a window of averages reaches back.

The figures are worked out when they are asked for, and numpy is loaded only then: without it a cluster starts a fifth
sooner.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, NamedTuple

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.workloads.actions import Action
from vsched.clock import now
from vsched.sim.client import LocalClient
from vsched.sim.controllers.controller import Controller
from vsched.sim.controllers.nodes.node_status import is_node_ready
from vsched.sim.controllers.pod_index import PodIndex
from vsched.sim.controllers.pod_usage import PlacedUsage, UsageSettings, pod_load
from vsched.sim.store.store import key_of

Clock = Callable[[], float]


class Measured(NamedTuple):
    """Averages over a window: used cores and bytes, and for nodes their shares of the capacity."""

    cpu: float
    memory: float
    cpu_share: float = 0.0
    memory_share: float = 0.0
    cpu_spread: float = 0.0
    """Standard deviation of the share over the window."""
    memory_spread: float = 0.0


class UsageMeter(Controller):
    """Notes when pods start and stop, and works out what they used."""

    name: ClassVar[str] = "usage meter"
    primary: ClassVar[str] = "pods"
    watches: ClassVar[tuple[str, ...]] = ("pods",)

    def __init__(self, client: LocalClient, pod_index: PodIndex, settings: UsageSettings, clock: Clock = now) -> None:
        super().__init__(client, pod_index)
        self.settings = settings
        self.clock = clock
        self._began = clock()
        self._running: dict[str, tuple[str, PlacedUsage]] = {}
        """The uid and the usage of running pods, by key."""
        self._over: deque[PlacedUsage] = deque()
        """The usages that have ended, in that order."""

    def keys(self) -> Iterable[str]:
        return {**dict.fromkeys(super().keys()), **dict.fromkeys(self._running)}

    def affected(self, resource: str, obj: Obj, old: Obj | None, *, gone: bool) -> Iterable[str]:
        return (key_of(obj),) if obj["spec"].get("nodeName") else ()

    def reconcile(self, key: str) -> Sequence[Action]:
        pod, now = self.find(key), self.clock()
        runs = pod is not None and pod.get("status", {}).get("phase") == "Running"
        known = self._running.get(key)
        uid, load = (pod["metadata"]["uid"], pod_load(pod, self.settings)) if pod is not None and runs else ("", None)
        if known is not None:
            if known[0] == uid and known[1].load == load:
                return ()
            known[1].ended = now
            self._over.append(self._running.pop(key)[1])
        if pod is not None and load is not None:
            self._running[key] = (uid, PlacedUsage(pod["spec"]["nodeName"], load, now))
        self._forget(now)
        return ()

    def _forget(self, now: float) -> None:
        while self._over and self._over[0].ended < now - self.settings.window_seconds:
            self._over.popleft()

    def nodes(self, nodes: Sequence[Obj], seconds: float) -> dict[str, Measured]:
        """What nodes used over a window that ends now, without nodes that are not ready."""
        from vsched.sim.controllers.usage_samples import of_nodes, sums, window

        heard = [node for node in nodes if is_node_ready(node)]
        place = {node["metadata"]["name"]: at for at, node in enumerate(heard)}
        stays = [stay for stay in (*self._over, *(found for _, found in self._running.values())) if stay.node in place]
        times = window(self.clock(), seconds, self._began)
        cores, held = sums(stays, [place[stay.node] for stay in stays], len(place), times, self.settings.cycle_seconds)
        rows = of_nodes(heard, times, cores, held)
        return {name: Measured(*row) for name, row in zip(place, rows, strict=True)}

    def pods(self, pods: Sequence[Obj], seconds: float) -> dict[str, Measured]:
        """What running pods used, by key."""
        from vsched.sim.controllers.usage_samples import sums, window

        found = {key: self._running[key][1] for key in map(key_of, pods) if key in self._running}
        times = window(self.clock(), seconds, self._began)
        stays = list(found.values())
        cores, held = sums(stays, range(len(stays)), len(stays), times, self.settings.cycle_seconds)
        return {key: Measured(float(cores[:, at].mean()), float(held[:, at].mean())) for at, key in enumerate(found)}
