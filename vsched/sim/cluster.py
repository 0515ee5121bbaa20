"""The embedded cluster: composes the store, the API server on a loopback port, nodes and controllers."""

from __future__ import annotations

import asyncio
import ipaddress
import ssl
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

import yaml

from vsched.apimachinery.manifests.documents import Manifest, read_manifests
from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.times import Clock, utc_now
from vsched.apimachinery.objects import native_groups
from vsched.errors import BadInput
from vsched.randomness import secret
from vsched.sim.api import metrics_apis
from vsched.sim.api.fault_plan import FaultInjector
from vsched.sim.api.metrics_apis import MetricsApis
from vsched.sim.api.server import ApiServer, Gate
from vsched.sim.auth.access import AccessControl
from vsched.sim.authentication import ADMIN, TokenAuthenticator
from vsched.sim.client import LocalClient
from vsched.sim.controllers import ControllerSettings, Engine, PodIndex, PoolDescription, UsageMeter, start_engine
from vsched.sim.fleet.device_file import DeviceFile
from vsched.sim.fleet.nodes import read_fleet, read_pools, uniform_fleet
from vsched.sim.fleet.residents import ResidentLoader, Residents, read_residents
from vsched.sim.manifests import apply_all
from vsched.sim.store.store import Store
from vsched.sim.writer import ObjectWriter

if TYPE_CHECKING:
    import trustme

Authorization = Literal["none", "rbac"]
CONTEXT = "vsched-cluster"
_NODES_A_TURN = 200
_GANGS_A_TURN = 20


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """The settings of an embedded cluster."""

    controllers: ControllerSettings | None = field(default_factory=ControllerSettings)
    """How its machines behave; None for an API server without controllers."""
    authorization: Authorization = "none"
    """Whether everybody may do everything, or only what roles allow."""
    tls: bool = False
    """Serve over TLS. Without it kubectl and other users of client-go send no tokens."""
    native_groups: tuple[str, ...] = ()
    """The versions in which Kubernetes' own PodGroups are served (``scheduling.k8s.io``); none by default."""


class Cluster:
    """An embedded cluster from ``async with`` to its end."""

    def __init__(
        self,
        nodes: int | Path | Sequence[Obj] = 0,
        *,
        port: int = 0,
        host: str = "127.0.0.1",
        manifests: Sequence[Obj | Path] = (),
        residents: Sequence[Residents] | Path = (),
        devices: Path | None = None,
        pools: Sequence[PoolDescription] | Path = (),
        settings: ClusterSettings | None = None,
        gate: Gate | None = None,
        faults: FaultInjector | None = None,
        now: Clock = utc_now,
        seed: int | None = None,
    ) -> None:
        """``devices`` is a file of the devices of nodes, which is followed; an autoscaler adds nodes of ``pools``.

        ``now`` gives the time stamps of objects; with a ``seed`` equal requests give equal names and uids.
        """
        _check_loopback(host)
        self._settings = settings or ClusterSettings()
        self._host, self._port = host, port
        self._nodes = _read_nodes(nodes)
        self._manifests = _read_all(manifests)
        self._residents = read_residents(residents) if isinstance(residents, Path) else residents
        self._device_file = DeviceFile(devices) if devices is not None else None
        self._pools = read_pools(pools) if isinstance(pools, Path) else pools
        self._engine: Engine | None = None
        self.store = Store()
        native_groups.serve(self.store.registry, self._settings.native_groups)
        self._writer = ObjectWriter(self.store, now=now, seed=seed)
        self.client = LocalClient(self._writer)
        self._meter = self._new_meter()
        metrics = MetricsApis(self.store, self._meter) if self._meter is not None else None
        self.tokens = TokenAuthenticator(self.store)
        """The tokens of users, for ``authorization``; the static ones may be changed at any time."""
        self.admin_token = secret(18).hex() if self._settings.authorization == "rbac" else ""
        self._authority = _make_authority() if self._settings.tls else None
        access = None
        if self.admin_token:
            self.tokens.static[self.admin_token] = ADMIN
            access = AccessControl(self.store, self.tokens)
        self._server = ApiServer(
            self.store, writer=self._writer, gate=gate, now=now, metrics=metrics, access=access, faults=faults
        )

    def _new_meter(self) -> UsageMeter | None:
        """The usage meter, with its APIs in discovery; None if the settings have no usage."""
        controllers = self._settings.controllers
        if controllers is None or controllers.usage is None:
            return None
        metrics_apis.serve(self.store.registry)
        return UsageMeter(self.client, PodIndex(self.client), controllers.usage)

    async def __aenter__(self) -> Self:
        try:
            await self.serve()
            await self._settle_residents()
            self._start_engine()
            for index, node in enumerate(self._nodes):
                self.client.create("nodes", node)
                if not index % _NODES_A_TURN:
                    await asyncio.sleep(0)
            apply_all(self.client, self.store.registry, self._manifests)
            if self._device_file is not None:
                self._device_file.start(self.client, self.store.registry)
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def serve(self) -> None:
        """Listens; again at the same address after ``stop_serving``."""
        self._port = await self._server.start(self._host, self._port, self._tls())

    async def stop_serving(self) -> None:
        """Ends all connections and listens no more, as a server that is killed; its controllers go on."""
        await self._server.close()

    async def restore(self, revision: int) -> None:
        """Goes back to the state at a revision, as from a backup. Who watches must be gone; controllers start anew."""
        if self._engine is not None:
            await self._engine.close()
        self.store.restore(revision)
        self._start_engine()

    def _start_engine(self) -> None:
        if self._settings.controllers is not None:
            fleet = self._device_file.fleet if self._device_file is not None else None
            self._engine = start_engine(
                self.store, self.client, self._settings.controllers, self._meter, fleet, self._pools
            )

    def _tls(self) -> ssl.SSLContext | None:
        """What the server presents its certificate with."""
        if self._authority is None:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._authority.issue_cert("localhost", "127.0.0.1", "::1").configure_cert(context)
        return context

    async def _settle_residents(self) -> None:
        """Before the controllers start, which could not keep up."""
        settlement = ResidentLoader(self.store, self._writer, self._nodes, self._writer.now())
        for residents in self._residents:
            for number, _ in enumerate(settlement.settle(residents)):
                if not number % _GANGS_A_TURN:
                    await asyncio.sleep(0)

    def expire_watches(self, resource: str) -> None:
        """Ends every watch, and drops the history of one resource, so that its clients have to list again."""
        self.store.expire(self.client.kind(resource))
        self._server.drop_watches()

    async def close(self) -> None:
        """Stops the controllers, then the server."""
        if self._device_file is not None:
            await self._device_file.close()
        if self._engine is not None:
            await self._engine.close()
            self._engine = None
        await self._server.close()

    @property
    def url(self) -> str:
        return self._server.url

    def apply(self, manifests: Sequence[Obj | Path]) -> None:
        """Creates or updates these objects."""
        apply_all(self.client, self.store.registry, _read_all(manifests))

    async def settle(self, timeout_seconds: float = 10.0) -> bool:
        """Waits until the controllers have nothing to reconcile now; False if the time is up first."""
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout_seconds
        quiet = 0
        while quiet < 3:
            await asyncio.sleep(0.002)
            busy = self._engine is not None and self._engine.busy()
            quiet = 0 if busy else quiet + 1
            if loop.time() > end:
                return False
        return True

    def kubeconfig(self) -> Obj:
        """A kubeconfig for this cluster, with the token of an administrator if one is needed."""
        cluster, user = {"server": self.url}, {}
        if self._authority is not None:
            cluster["certificate-authority-data"] = b64encode(self._authority.cert_pem.bytes()).decode()
        if self.admin_token:
            user["token"] = self.admin_token
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": CONTEXT, "cluster": cluster}],
            "users": [{"name": CONTEXT, "user": user}],
            "contexts": [{"name": CONTEXT, "context": {"cluster": CONTEXT, "user": CONTEXT}}],
            "current-context": CONTEXT,
        }

    def write_kubeconfig(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if self.admin_token:
                # Created with these rights before the token is written, so that nobody else can read it.
                path.touch(mode=0o600)
                path.chmod(0o600)
            path.write_text(yaml.safe_dump(self.kubeconfig(), sort_keys=False), encoding="utf-8")
        except OSError as error:
            raise BadInput(f"{path}: cannot be written: {error.strerror}") from None


def _make_authority() -> trustme.CA:
    """An authority for this cluster alone, made anew each time."""
    # Imported where it is needed: it takes 0.15 s, and few clusters serve over TLS.
    import trustme

    return trustme.CA()


def _check_loopback(host: str) -> None:
    """The server must not be reachable from the network, because it may have no authentication."""
    try:
        loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        raise BadInput(f"host {host!r} is not a loopback address: expected 127.0.0.1, ::1 or localhost")


def _read_nodes(nodes: int | Path | Sequence[Obj]) -> list[Obj]:
    if isinstance(nodes, int):
        return uniform_fleet(nodes)
    return read_fleet(nodes) if isinstance(nodes, Path) else list(nodes)


def _read_all(manifests: Sequence[Obj | Path]) -> list[Manifest]:
    found: list[Manifest] = []
    for index, each in enumerate(manifests):
        found += read_manifests(each) if isinstance(each, Path) else [Manifest(each, f"manifests[{index}]")]
    return found
