"""One run of a small scene in a given order: a cluster of few objects, daemons, and what has to hold."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from typing import Any, ClassVar

from vsched.apimachinery.manifests.node_pools import PoolDescription
from vsched.apimachinery.meta.objects import is_finished
from vsched.daemon.app import Daemon, DaemonSettings
from vsched.daemon.options import Options
from vsched.daemon.policy.reload import PolicyInForce
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.lab.sender import Obj
from vsched.lab.soak import words as soak_words
from vsched.lab.soak.bottle import words
from vsched.lab.soak.bottle.daemons import BottleDaemon
from vsched.lab.soak.bottle.faults import SERVER
from vsched.lab.soak.bottle.misfortunes.tenants import PODGROUPS
from vsched.lab.soak.bottle.network import End
from vsched.lab.soak.bottle.orders import Deviation, Order, OrderedLoop, as_text
from vsched.lab.soak.bottle.processes import Process
from vsched.lab.soak.bottle.run import Bottle
from vsched.lab.soak.bottle.settings import BottleSettings
from vsched.lab.soak.bottle.statuses import cpus_of, stays, untrue_groups
from vsched.lab.soak.claims import for_nobody, key_of, wrong
from vsched.settings.installed import registry
from vsched.settings.load import load_text
from vsched.settings.settings import Settings
from vsched.sim.client import LocalClient
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.sim.controllers import ControllerSettings, PodTimes
from vsched.writes.status.podgroups import JobStatusSettings
from vsched.writes.status.pods import PodConditionSettings
from vsched.writes.writeback import WritebackSettings

KILL, STOP = "kill", "stop"
"""A daemon is killed, or told to stop, just before it writes; what it has sent arrives."""
PODS, CLAIMS, DISKS = "pods", "resource.k8s.io/resourceclaims", "persistentvolumeclaims"
WRITES = (b"POST ", b"PUT ", b"PATCH ", b"DELETE ")
LOOK_SECONDS = 0.1
QUIET_SECONDS = 2.5
"""Once all is as it should be, it has to stay so for so long."""
LOOKS = 60
"""How often it is looked, a second apart, whether all is as it should be."""
SOON = WritebackSettings(
    jobs=JobStatusSettings(grace_seconds=0.1, reword_seconds=0.1),
    pods=PodConditionSettings(grace_seconds=0.1, reword_seconds=0.1),
)
"""Statuses are written without the delays that spare the API server."""


class ScenePolicy(PolicyInForce):
    """The policy of a scene."""

    def __init__(self, text: str, clock: Process) -> None:
        self._text = text
        super().__init__(registry(), clock)

    def _load(self, generation: int) -> Settings:
        return load_text(self._text, "scene", self._registry, generation=generation)


class SceneDaemon(BottleDaemon):
    """A daemon with the policy of a scene."""

    policy = ""
    _ready: Process | None = None

    async def _run(self, process: Process) -> None:
        policy = ScenePolicy(self.policy, process) if self.policy else None
        async with ApiClient(Connection(self._url)) as client:
            self.daemon = Daemon(
                self._options, client, registry(), clock=process, policy=policy, settings=DaemonSettings(SOON)
            )
            await self.daemon.run()

    @property
    def is_ready(self) -> bool:
        """Whether it knows the whole cluster."""
        process = self.process
        if process is None or process is not self._ready:
            found = self.daemon is not None and self.daemon.health.ready().ok
            self._ready = process if found else None
        return self._ready is not None


class Scene(ABC):
    """A small scene: what is there, what happens, and what has to hold at its end."""

    name: ClassVar[str]
    daemons: ClassVar[int] = 1
    policy: ClassVar[str] = ""
    """The text of the policy; empty for the built-in one."""
    strokes: ClassVar[tuple[str, ...]] = (KILL,)
    """What may happen to a daemon before any of its writes, once a run."""
    late_seconds: ClassVar[float] = 1.5
    with_leases: ClassVar[bool] = False
    """Whether the order of what is said about Leases matters."""
    pools: ClassVar[tuple[PoolDescription, ...]] = ()

    def options(self) -> Options:
        """Of the daemons."""
        return Options(listen_address="", healthz_address="", verify=1.0, history=False, leader_elect=self.daemons > 1)

    @abstractmethod
    def nodes(self) -> Sequence[Obj]:
        """The nodes at the beginning."""

    def objects(self) -> Sequence[Obj]:
        """What is there besides."""
        return ()

    @abstractmethod
    async def play(self, stage: SceneRun) -> None:
        """What users do."""

    @abstractmethod
    def unsettled(self, stage: SceneRun) -> Iterator[str]:
        """What is not yet as it has to be at the end."""

    def broken(self, stage: SceneRun) -> Iterator[str]:
        """What must not be, not even for a moment."""
        yield from ()


class SceneRun(Bottle):
    """A scene while it runs, in one order."""

    loop: OrderedLoop

    def __init__(self, scene: Scene, order: Order = (), *, trace: bool = False) -> None:
        super().__init__(
            BottleSettings(trace=trace, nodes=0, daemons=scene.daemons),
            OrderedLoop(Random(1), order, scene.late_seconds),
        )
        self.order = order
        self._scene = scene
        self._struck = False
        self.loop.is_point, self.loop.strokes, self.loop.strike = self._is_point, self._strokes, self._strike
        self.deleted: set[str] = set()
        """The pods that users have deleted, by uid."""
        self.evicted: dict[str, str] = {}
        """The pods that somebody else has, with their keys."""
        self.client: LocalClient
        self.casts: list[SceneDaemon] = []
        self._quiet: set[End] = set()
        """Channels with what matters to nobody."""

    # -- what the explorer looks at

    @property
    def alternatives(self) -> Sequence[Deviation]:
        """The deviations from this run that lead to another one."""
        return self.loop.alternatives

    @property
    def trace(self) -> str:
        """Equal for runs that nobody can tell apart."""
        return self.loop.trace

    # -- points

    def _daemon_of(self, end: End) -> SceneDaemon | None:
        process = end.process
        return next((each for each in self.casts if each.process is process and process is not None), None)

    def _is_point(self, channel: End) -> bool:
        """Whether it matters when this arrives: between the server and a daemon that is at work."""
        daemon = self._daemon_of(channel) or self._daemon_of(channel.peer)
        return daemon is not None and daemon.is_ready and channel not in self._quiet and channel.peer not in self._quiet

    def _strokes(self, channel: End, data: bytes) -> Sequence[str]:
        if self._daemon_of(channel) is None:
            return ()
        head = data[:300]
        if head.startswith((b"GET ", *WRITES)):
            is_quiet = b"/events" in head.split(b"\r\n", 1)[0] or (b"/leases" in head and not self._scene.with_leases)
            (self._quiet.add if is_quiet else self._quiet.discard)(channel)
        if self._struck or channel in self._quiet or not head.startswith(WRITES):
            return ()
        return self._scene.strokes

    def _strike(self, what: str, channel: End) -> None:
        daemon = self._daemon_of(channel)
        assert daemon is not None, "it writes"
        self._struck = True
        self._say("", f"{what} {daemon.name}")
        if what == KILL:
            daemon.kill()
        else:
            assert daemon.daemon is not None, "it writes"
            daemon.daemon.stop()

    # -- what is in it

    async def _main(self, folder: str = "") -> None:
        scene, over, process = self._scene, asyncio.Event(), self._process(SERVER)
        settings = ClusterSettings(controllers=ControllerSettings(pods=PodTimes(termination=0.2)))
        cluster, server = await self._served(
            lambda: Cluster(
                scene.nodes(),
                manifests=scene.objects(),
                pools=scene.pools,
                settings=settings,
                gate=self._looked_at(),
                seed=1,
            ),
            process,
            over,
        )
        self.client = cluster.client
        for number in range(1, scene.daemons + 1):
            daemon = SceneDaemon(f"daemon-{number}", cluster.url, scene.options(), self._process, self.violations)
            daemon.policy = scene.policy
            self.casts.append(daemon)
        running = [self.loop.create_task(each.run()) for each in self.casts]
        playing = process.start(self._play())
        watching = process.start(self._look_on())
        done, _ = await asyncio.wait((playing, watching, server, *running), return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
        self.loop.finish()
        over.set()
        await self._ended(self.casts, (*running, watching), server)

    async def _play(self) -> None:
        await self.until(lambda: all(each.is_ready for each in self.casts))
        await asyncio.sleep(0.2)
        await self._scene.play(self)
        await self.at_rest(lambda: self._scene.unsettled(self))

    async def at_rest(self, unsettled: Callable[[], Iterable[str]]) -> None:
        """Wait until nothing is to be told any more, and see that it stays so; note what is told in the end."""
        for _ in range(LOOKS):
            if not any(True for _ in self._told(unsettled)):
                break
            await asyncio.sleep(1.0)
        await asyncio.sleep(QUIET_SECONDS)
        for told in self._told(unsettled):
            self.violations.add(words.NOT_AT_REST, told)

    def _told(self, unsettled: Callable[[], Iterable[str]]) -> Iterator[str]:
        yield from unsettled()
        pods = self.client.list(PODS)
        yield from for_nobody(pods, self.client.list(CLAIMS))
        yield from untrue_groups(pods, self.client.list(PODGROUPS))

    # -- what users do

    def open(self) -> None:
        """From now on, what happens may happen in another order."""
        self.loop.is_open = True

    def create(self, *objects: Obj) -> None:
        """Create objects at the server."""
        registry = self.client._store.registry
        for obj in objects:
            kind = registry.of(obj["apiVersion"], obj["kind"])
            assert kind is not None, obj["kind"]
            self.client.create(kind.path, obj)

    def delete(self, resource: str, name: str, namespace: str = "default") -> None:
        """Delete an object at the server."""
        found = self.client.get(resource, namespace, name)
        if found is not None:
            self.deleted.add(found["metadata"]["uid"])
            self.client.delete(resource, namespace, name)

    def pods(self, prefix: str = "") -> list[Obj]:
        """Those whose names begin so."""
        return [each for each in self.client.list(PODS) if each["metadata"]["name"].startswith(prefix)]

    def change(self, resource: str, name: str, change: Callable[[Obj], Obj], namespace: str = "default") -> None:
        """Change an object at the server, if it is there."""
        if self.client.get(resource, namespace, name) is not None:
            self.client.patch(resource, namespace, name, change)

    async def until(self, true: Callable[[], bool], seconds: float = 30.0) -> None:
        """Wait until something holds, so long at most."""
        for _ in range(int(seconds / LOOK_SECONDS)):
            if true():
                return
            await asyncio.sleep(LOOK_SECONDS)

    def placed(self, prefix: str = "") -> list[str]:
        """The names of those that run and stay."""
        return [each["metadata"]["name"] for each in self.pods(prefix) if stays(each)]

    # -- what must always hold

    async def _look_on(self) -> None:
        """See each change of a pod."""
        async for change, pod, _ in self.client.watch(PODS):
            uid, leaves = pod["metadata"]["uid"], "deletionTimestamp" in pod["metadata"]
            if pod["spec"].get("nodeName") and (leaves or change == "DELETED") and uid not in self.deleted:
                self.evicted.setdefault(uid, key_of(pod))
            self._overfull()
            for told in self._scene.broken(self):
                self.violations.add(words.NEVER, told)
            for told in wrong(*(self.client.list(each) for each in (PODS, CLAIMS, DISKS))):
                self.violations.add(soak_words.WITHOUT_CLAIMS, told)

    def _overfull(self) -> None:
        used: dict[str, int] = {}
        for pod in self.client.list(PODS):
            if (node := pod["spec"].get("nodeName")) and not is_finished(pod):
                used[node] = used.get(node, 0) + cpus_of(pod)
        for name, cpus in used.items():
            node_found = self.client.get("nodes", "", name)
            room = 0 if node_found is None else int(node_found["status"]["allocatable"]["cpu"])
            if node_found is not None and cpus > room:
                self.violations.add(soak_words.OVER_ITS_SIZE, words.holds(name, cpus, room))

    def to_dict(self) -> dict[str, Any]:
        """Everything that is known now."""
        return {
            "order": as_text(self.order),
            "seconds": round(self.loop.time(), 3),
            "warnings": dict(self.warned.most_common()),
            "violations": dict(self.violations.counts),
            "told": self.violations.first,
            "digest": self._digest.hexdigest(),
        }
