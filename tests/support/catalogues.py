"""A catalogue of claims with something in every field."""

from __future__ import annotations

from collections.abc import Sequence

from vsched.model.claims.catalogue import ClaimCatalogue, DeviceCatalogue, VolumeCatalogue
from vsched.model.claims.devices import (
    ALL,
    AllocatedDevice,
    AllocationResult,
    CapacityPolicy,
    ClaimConsumer,
    ClaimSpec,
    Device,
    DeviceClaim,
    DeviceClass,
    DeviceConstraint,
    DeviceId,
    DevicePool,
    DeviceRequest,
    DeviceSelector,
    DeviceTaint,
    DeviceTraits,
    Version,
    device_model,
)
from vsched.model.claims.volumes import Attachment, CSIDriver, StorageCapacity, StorageClass, Volume, VolumeClaim
from vsched.model.nodes.table import Taint
from vsched.model.pods.shape import NodeTerm, Requirement, Selector, Toleration
from vsched.model.pods.task import Task

IN_ZONE = NodeTerm((Requirement("topology.kubernetes.io/zone", "In", ("acme-zone",)),))
ON_NODE = NodeTerm(fields=(Requirement("metadata.name", "In", ("n1",)),))
SELECTOR = 'device.attributes["gpu.acme.corp"].model == "acme-100"'
MODEL = device_model(
    "gpu.acme.corp",
    (
        ("gpu.acme.corp/driver", Version("1.2.3-acme")),
        ("gpu.acme.corp/index", 3),
        ("gpu.acme.corp/mig", True),
        ("gpu.acme.corp/model", "acme-100"),
    ),
    (("gpu.acme.corp/memory", 80_000),),
    shareable=True,
)
REQUEST = DeviceRequest(
    "gpus/acme",
    "tensor",
    (DeviceSelector(SELECTOR),),
    count=2,
    tolerations=(Toleration("acme.corp/broken", "Exists"),),
    capacity=(("gpu.acme.corp/memory", 1500),),
)
SPEC = ClaimSpec(
    ((REQUEST, DeviceRequest("gpus/any", "tensor", mode=ALL, admin=True)),),
    (DeviceConstraint("gpu.acme.corp/model", ("gpus",)), DeviceConstraint("gpu.acme.corp/index", distinct=True)),
)


def volume_catalogue(users: Sequence[Task]) -> VolumeCatalogue:
    """Volumes; the users are on nodes and use the claim x/acme-data."""
    volumes = {
        one.name: one
        for one in (
            Volume("acme-pv-2", "acme-fast", 5 << 30, ("ReadWriteOnce",), affinity=(IN_ZONE,), labels={"acme": "n1"}),
            Volume("acme-pv-1", "acme-fast", 9 << 30, ("ReadWriteOncePod",), block=True, driver="csi.acme.corp"),
            Volume("acme-pv-3", "", 1, (), available=False, claim="x/acme-data", claim_uid="uid-data", handle="acme:3"),
        )
    }
    selector = Selector((Requirement("acme", "Exists"),))
    claims = (
        VolumeClaim("x/acme-data", "uid-data", volume="acme-pv-3", bound=True),
        VolumeClaim("x/acme-new", "uid-new", "acme-fast", 1 << 30, ("ReadWriteOnce",), selector=selector, owner="uid"),
        VolumeClaim("x/acme-made", "uid-made", "acme-fast", 1, selected_node="n2", lost=True, deleting=True),
    )
    by_uid = {task.uid: task for task in users}
    on_nodes: dict[str, dict[str, Task]] = {}
    for task in users:
        on_nodes.setdefault(task.node, {})[task.uid] = task
    return VolumeCatalogue(
        claims={claim.key: claim for claim in claims},
        volumes=volumes,
        available={"acme-fast": (volumes["acme-pv-2"], volumes["acme-pv-1"])},
        classes={
            "acme-fast": StorageClass("acme-fast", "csi.acme.corp", waits=True, topologies=(IN_ZONE,)),
            "acme-old": StorageClass("acme-old", "kubernetes.io/no-provisioner"),
        },
        drivers={"csi.acme.corp": CSIDriver("csi.acme.corp", tracks_capacity=True, required=True)},
        limits={"n1": {"csi.acme.corp": 2, "acme.free": None}, "n2": {}},
        capacities={"acme-fast": (StorageCapacity("acme/one", "acme-fast", selector, 7, 3),)},
        attachments={"n1": (Attachment("acme-at", "n1", "csi.acme.corp", "acme-pv-3"),)},
        users={"x/acme-data": by_uid},
        by_node=on_nodes,
    )


def device_catalogue(users: Sequence[Task]) -> DeviceCatalogue:
    """Devices; the users use the claim x/acme-held."""
    first, second = (DeviceId("gpu.acme.corp", "n1", f"acme-gpu-{number}") for number in range(2))
    share = AllocatedDevice("gpus/acme", first, share="uid-share", consumed=(("gpu.acme.corp/memory", 2000),))
    admin = AllocatedDevice(
        "gpus/any", second, admin=True, binding_conditions=("AcmeReady",), binding_failures=("AcmeBroken",)
    )
    claims = (
        DeviceClaim("x/acme-free", "uid-free", SPEC, owner="uid-of-a-pod", deleting=True),
        DeviceClaim(
            "x/acme-held",
            "uid-held",
            SPEC,
            AllocationResult((share, admin), (ON_NODE,)),
            (
                ClaimConsumer("uid-c", "acme-train-0"),
                ClaimConsumer("uid-g", "acme-group", "podgroups", "scheduling.k8s.io"),
            ),
            failed="AcmeBroken",
            ready=False,
        ),
    )
    taints = (DeviceTaint(Taint("acme.corp/broken", "acme"), 5.0),)
    counters = (("acme-set", (("acme-slices", 7000),)),)
    policy = ("gpu.acme.corp/memory", CapacityPolicy(1000, (1000, 2000)))
    traits = DeviceTraits(None, taints, counters, (policy,), True, ("AcmeReady",), ("AcmeBroken",))
    devices = (
        Device(first, MODEL, "n1", traits),
        Device(second, MODEL, "", DeviceTraits((IN_ZONE,))),
    )
    return DeviceCatalogue(
        claims={claim.key: claim for claim in claims},
        classes={"tensor": DeviceClass("tensor", (DeviceSelector(SELECTOR),), "example.com/gpu")},
        pools=(
            DevicePool("gpu.acme.corp", "n1", 4, devices, counters, complete=False),
            DevicePool("gpu.acme.corp", "n2", 1, (), problem="device acme twice"),
        ),
        allocated={"x/acme-held": claims[1]},
        users={"x/acme-held": {task.uid: task for task in users}},
        extended={2: "tensor"},
        made={"uid-pod": "x/acme-extended"},
        plugins={2: frozenset({"n1"})},
    )


def catalogue(users: Sequence[Task]) -> ClaimCatalogue:
    """Volumes and devices, with these users, which are on nodes."""
    return ClaimCatalogue(volume_catalogue(users), device_catalogue(users), {"CSINode": "acme forbids it"})
