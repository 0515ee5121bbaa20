"""Transactions of gangs with claims at an embedded cluster, told what a session would have decided."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Generator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from tests.support import builders as make
from tests.support import devices, volumes
from tests.support.recording_server import writer_to
from vsched.clock import SystemClock
from vsched.handlers import Handlers
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.mirror.mirror import Mirror
from vsched.mirror.stores import MirrorSettings
from vsched.model.claims.catalogue import ClaimCatalogue, DeviceCatalogue, VolumeCatalogue
from vsched.model.claims.devices import (
    AllocatedDevice,
    AllocationResult,
    ClaimSpec,
    DeviceClaim,
    DeviceId,
    DeviceRequest,
)
from vsched.model.claims.plan import ClaimPlan, ClaimRelease, DeviceChoice, VolumeChoice
from vsched.model.claims.volumes import VolumeClaim
from vsched.model.plan import Bind, CycleReport
from vsched.model.pods.shape import NodeTerm, Requirement
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.sim.controllers import ControllerSettings, PodTimes
from vsched.writes.bindings import Dispatcher, DispatchSettings, Outcome
from vsched.writes.claims.claim_writes import ClaimWrites
from vsched.writes.claims.gang import Obstacle
from vsched.writes.claims.transactions import GangTransactions, TransactionReports, TransactionSettings
from vsched.writes.claims.waiting import WaitSettings
from vsched.writes.claims.wishes import GangWish
from vsched.writes.limits import Attempts

Obj = dict[str, Any]
NS = "default"
VOLUME_CLAIMS, VOLUMES, RESOURCE_CLAIMS = (
    "persistentvolumeclaims",
    "persistentvolumes",
    "resource.k8s.io/resourceclaims",
)
QUICK = TransactionSettings(waits=WaitSettings(pods_seconds=0.02, objects_seconds=0.05))


def taken(steps: Generator[None, None, Sequence[Bind]]) -> Sequence[Bind]:
    """What the steps return at their end."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return list(end.value)


def machine(name: str, **labels: str) -> Obj:
    """A node with its host name, and a zone where one is given."""
    found = {key.replace("zone", volumes.ZONE): value for key, value in labels.items()}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {volumes.HOSTNAME: name, **found}},
        "status": {"allocatable": {"cpu": "8", "memory": "16Gi", "pods": "110"}},
    }


def cluster_with(
    *manifests: Obj,
    nodes: Sequence[Obj] = (),
    controllers: bool = True,
    native: Sequence[str] = (),
    **settings: Any,
) -> Cluster:
    """An embedded cluster with two nodes whose controllers are quick, or without any.

    ``native`` are the versions in which it serves PodGroups of Kubernetes.
    """
    chosen = None
    if controllers:
        chosen = ControllerSettings(**{"pods": PodTimes(termination=0.0), "provisioning": 0.0, **settings})
    machines = list(nodes) or [machine("n1", zone="a"), machine("n2", zone="b")]
    return Cluster(
        machines,
        manifests=[_plain(each) for each in manifests],
        settings=ClusterSettings(chosen, native_groups=tuple(native)),
    )


def _plain(manifest: Obj) -> Obj:
    """Without the uid of the builders: the server gives its own."""
    metadata = {name: value for name, value in manifest["metadata"].items() if name != "uid"}
    return {**manifest, "metadata": metadata}


def on_node(node: str) -> tuple[NodeTerm, ...]:
    """Where devices of one node can be used."""
    return (NodeTerm(fields=(Requirement("metadata.name", "In", (node,)),)),)


def allocation(
    node: str, *names: str, request: str = "gpu", conditions: tuple[str, ...] = (), failures: tuple[str, ...] = ()
) -> AllocationResult:
    """Devices of a node's pool."""
    given = tuple(
        AllocatedDevice(
            request,
            DeviceId(devices.DRIVER, node, name),
            binding_conditions=conditions,
            binding_failures=failures,
        )
        for name in names
    )
    return AllocationResult(given, on_node(node))


@dataclass
class Claiming:
    """The parts that carry out gangs, and what became of these."""

    cluster: Cluster
    client: ApiClient
    cache: Mirror
    writes: ClaimWrites
    dispatcher: Dispatcher
    outcomes: list[Outcome]
    undone: list[tuple[GangWish, Obstacle]]
    worries: list[str]
    names: int = field(default=0)
    chosen: dict[str, str] = field(default_factory=dict)
    """The static volumes that the mirror shows for claims."""
    extended: dict[str, str] = field(default_factory=dict)
    """The DeviceClasses of extended resources."""

    @property
    def gangs(self) -> GangTransactions:
        return self.writes.gangs

    def pod(self, name: str = "", **spec: Any) -> Obj:
        """A pod that waits; also in the mirror."""
        self.names += 1
        name = name or f"p{self.names}"
        pod = make.merged(
            make.pod(name, namespace=NS), {"apiVersion": "v1", "spec": {"schedulerName": "volcano", **spec}}
        )
        pod["spec"]["containers"][0]["image"] = "busybox"
        pod["metadata"].pop("uid")
        made = self.cluster.client.create("pods", pod)
        self.cache.intake.apply("Pod", "ADDED", make.read(made))
        return made

    def bind(self, pod: Obj, node: str = "n1", job: str = "default/g", **plan: Any) -> Bind:
        """The placement of a pod."""
        about = pod["metadata"]
        return Bind(about["uid"], NS, about["name"], node, job, ClaimPlan(**plan) if plan else None)

    def choose(self, claim: str, volume: str = "") -> VolumeChoice:
        """A volume is made for the claim, or it gets this one."""
        return VolumeChoice(f"{NS}/{claim}", self.uid(VOLUME_CLAIMS, claim), volume)

    def give(self, claim: str, given: AllocationResult) -> DeviceChoice:
        """The claim gets these devices."""
        return DeviceChoice(f"{NS}/{claim}", self.uid(RESOURCE_CLAIMS, claim), given)

    def submit(self, *binds: Bind, released: Sequence[ClaimRelease] = ()) -> list[Bind]:
        """A session decided this. Returns what the transactions leave to others."""
        snapshot = self.cache.snapshot(1_800_000_000.0)
        report = CycleReport(binds=binds, released=tuple(released))
        self.cache.assumptions.assume(report)
        return list(taken(self.writes.submitting(report, replace(snapshot, claims=self._catalogue()))))

    def release(self, claim: str, *, device: bool) -> ClaimRelease:
        """Waiting pods hold the claim in vain."""
        kind = RESOURCE_CLAIMS if device else VOLUME_CLAIMS
        return ClaimRelease(f"{NS}/{claim}", self.uid(kind, claim), device, "default/g")

    def _catalogue(self) -> ClaimCatalogue:
        asked = ClaimSpec(((DeviceRequest("gpu", devices.DRIVER),),))
        return ClaimCatalogue(
            VolumeCatalogue(
                claims={
                    f"{NS}/{each['metadata']['name']}": VolumeClaim(
                        f"{NS}/{each['metadata']['name']}",
                        each["metadata"]["uid"],
                        volume=each["spec"].get("volumeName") or self.chosen.get(each["metadata"]["name"], ""),
                        selected_node=(each["metadata"].get("annotations") or {}).get(volumes.SELECTED_NODE, ""),
                    )
                    for each in self.cluster.client.list(VOLUME_CLAIMS)
                }
            ),
            DeviceCatalogue(
                claims={
                    f"{NS}/{each['metadata']['name']}": DeviceClaim(
                        f"{NS}/{each['metadata']['name']}", each["metadata"]["uid"], asked, _allocated(each)
                    )
                    for each in self.cluster.client.list(RESOURCE_CLAIMS)
                },
                extended={self.cache.axis.column(name): served for name, served in self.extended.items()},
            ),
        )

    # -- what others do

    def say(self, claim: str, device: str, condition: str) -> None:
        """The driver says that a condition of a device is true."""
        said = {"type": condition, "status": "True", "reason": "Driver", "message": ""}
        said["lastTransitionTime"] = "2026-01-01T00:00:00Z"
        status = {"driver": devices.DRIVER, "pool": "n1", "device": device, "conditions": [said]}
        self.cluster.client.patch_status(
            RESOURCE_CLAIMS, NS, claim, lambda found: make.merged(found, {"status": {"devices": [status]}})
        )

    def bind_volume(self, claim: str, volume: str, zone: str = "a") -> None:
        """A provisioner makes a volume for a claim, and the volume controller binds them."""
        made = volumes.volume(volume, zone=zone, claim=f"{NS}/{claim}")
        made["spec"]["claimRef"]["uid"] = self.uid(VOLUME_CLAIMS, claim)
        made["metadata"].pop("uid")
        self.cluster.client.create(VOLUMES, made)

    # -- what the cluster says

    def uid(self, resource: str, name: str) -> str:
        return str(self.get(resource, name)["metadata"]["uid"])

    def get(self, resource: str, name: str) -> Obj:
        namespace = "" if resource in (VOLUMES, "nodes") else NS
        found = self.cluster.client.get(resource, namespace, name)
        assert found is not None, (resource, name)
        return found

    def nodes(self) -> dict[str, str]:
        """The nodes of the pods that have one."""
        pods = self.cluster.client.list("pods")
        return {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in pods if pod["spec"].get("nodeName")}

    def reserved(self, claim: str) -> list[str]:
        """The pods that a ResourceClaim is reserved for."""
        status = self.get(RESOURCE_CLAIMS, claim).get("status") or {}
        return [each["name"] for each in status.get("reservedFor") or ()]

    def devices(self, claim: str) -> list[str]:
        """The devices that a ResourceClaim has."""
        allocated = (self.get(RESOURCE_CLAIMS, claim).get("status") or {}).get("allocation") or {}
        return [each["device"] for each in (allocated.get("devices") or {}).get("results") or ()]

    def selected(self, claim: str) -> str:
        """The node that was selected for a PersistentVolumeClaim."""
        return str((self.get(VOLUME_CLAIMS, claim)["metadata"].get("annotations") or {}).get(volumes.SELECTED_NODE, ""))

    def is_free(self) -> bool:
        """Whether nothing is reserved: no devices, no finalizer, no node, no volume that is not bound."""
        claims = self.cluster.client.list(RESOURCE_CLAIMS)
        waiting = [each for each in self.cluster.client.list(VOLUME_CLAIMS) if not each["spec"].get("volumeName")]
        free = [each for each in self.cluster.client.list(VOLUMES) if each["status"].get("phase") != "Bound"]
        return (
            not any(each.get("status") or each["metadata"].get("finalizers") for each in claims)
            and not any(self.selected(each["metadata"]["name"]) for each in waiting)
            and not any(each["spec"].get("claimRef") for each in free)
        )


def _allocated(claim: Obj) -> AllocationResult | None:
    given = (claim.get("status") or {}).get("allocation")
    if given is None:
        return None
    results = given["devices"]["results"]
    return AllocationResult(
        tuple(
            AllocatedDevice(each["request"], DeviceId(each["driver"], each["pool"], each["device"])) for each in results
        )
    )


@asynccontextmanager
async def claiming(
    cluster: Cluster,
    url: str = "",
    bind_seconds: float = 60.0,
    settings: TransactionSettings = QUICK,
    permit: Callable[[], bool] = lambda: True,
) -> AsyncIterator[Claiming]:
    """Everything from the decision to the binding; ``url`` is another way to the cluster."""
    outcomes: list[Outcome] = []
    undone: list[tuple[GangWish, Obstacle]] = []
    worries: list[str] = []
    cache = Mirror(MirrorSettings(frozenset({"volcano"})))
    for node in cluster.client.list("nodes"):
        cache.intake.apply("Node", "ADDED", make.read(node))
    async with ApiClient(Connection(url or cluster.url)) as client, asyncio.TaskGroup() as group:
        writer = writer_to(client, permit=permit)
        ended: Handlers[Outcome] = Handlers()
        ended.add(outcomes.append)
        dispatcher = Dispatcher(client, writer, ended, DispatchSettings())
        writes = ClaimWrites(
            client,
            writer,
            dispatcher,
            cache,
            SystemClock(),
            TransactionReports(lambda *told: undone.append(told), outcomes.append, worries.append),
            lambda: bind_seconds,
            msgspec.structs.replace(settings, attempts=Attempts(8, first_seconds=0.01, ceiling_seconds=0.05)),
        )
        ended.add(writes.gangs.answered)
        tasks = [group.create_task(dispatcher.run()), group.create_task(writes.run())]
        yield Claiming(cluster, client, cache, writes, dispatcher, outcomes, undone, worries)
        for task in tasks:
            task.cancel()
