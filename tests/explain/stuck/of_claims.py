"""Volumes and devices: situations in which claims bind."""

from __future__ import annotations

from tests.explain.stuck.case import CAPACITY, GI, Case
from tests.support.builders import Fields
from tests.support.devices import DRIVER as GPUS
from tests.support.devices import (
    allocated,
    claim_template,
    device,
    device_class,
    pod_claims,
    request,
    resource_claim,
    resource_slice,
    taint_rule,
)
from tests.support.volumes import (
    DRIVER,
    NO_PROVISIONER,
    ZONE,
    claim,
    claim_volumes,
    csi_driver,
    csi_node,
    ephemeral_volume,
    storage_capacity,
    storage_class,
    volume,
)
from vsched.explain.edits.claims import AddDevices, AddVolumes, CreateVolumeClaims, SetStorage
from vsched.explain.edits.jobs import SetMinMember
from vsched.explain.edits.nodes import AddNodes, SetNodeAmount
from vsched.explain.edits.queues import SetQueueAmount
from vsched.explain.edits.rules import DropRule, TolerateDevices
from vsched.framework.codes import Code

DATA = {"volumes": claim_volumes("data")}
GPU = {"resourceClaims": pod_claims(gpu="template/gpus")}
ONE = "node n1 cpu=8\njob ns/b pods=1 cpu=1"
TWO_ZONES = f"node n1 cpu=4 {ZONE}=a\nnode n2 cpu=4 {ZONE}=b\n"


def holder(name: str, node: str, **spec: object) -> Fields:
    """A pod of another that runs, with claims."""
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ns", "uid": f"uid-{name}"},
        "spec": {
            "schedulerName": "vsched",
            "nodeName": node,
            "containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}],
            **spec,
        },
        "status": {"phase": "Running"},
    }


def held_by(name: str, node: str, *devices: str) -> list[Fields]:
    """A pod that runs and holds devices of its node by a claim."""
    pod = holder(name, node, resourceClaims=pod_claims(gpu=f"{name}-gpu"))
    asked = resource_claim(f"{name}-gpu", request(count=len(devices)))
    return [pod, allocated(asked, node, *devices, pods=[pod])]


CASES: dict[str, Case] = {
    "its volume claim does not exist": Case(
        ONE, Code.CLAIM, "data|does not exist", [(CreateVolumeClaims(("ns/data",)),)], spec=DATA, never=True
    ),
    "two volume claims do not exist": Case(
        ONE,
        Code.CLAIM,
        "data|logs|do not exist",
        [(CreateVolumeClaims(("ns/data", "ns/logs")),)],
        spec={"volumes": claim_volumes("data", "logs")},
        never=True,
    ),
    "the class of its claim is misspelt": Case(
        ONE,
        Code.CLAIM,
        "data|StorageClass fastt does not exist",
        [],
        spec=DATA,
        more=[storage_class("fast"), claim(storage_class="fastt")],
        never=True,
        also="did you mean StorageClass fast?",
    ),
    "its claim names no class": Case(
        ONE,
        Code.CLAIM,
        "data is not bound: it names no StorageClass",
        spec=DATA,
        more=[storage_class(), claim(storage_class="")],
    ),
    "the class of its ephemeral volume does not exist": Case(
        ONE,
        Code.CLAIM,
        "StorageClass gone does not exist",
        [],
        spec={"volumes": [ephemeral_volume(storage_class="gone")]},
        never=True,
    ),
    "its volume is in a zone without nodes": Case(
        f"node n1 cpu=4 {ZONE}=a\njob ns/b pods=1 cpu=1",
        Code.VOLUMES,
        "reach its PersistentVolume",
        [],
        spec=DATA,
        more=[storage_class(), claim(volume="pv"), volume(zone="c", claim="ns/data")],
        never=True,
    ),
    "its volume is in a zone whose only node is full": Case(
        f"{TWO_ZONES}job x/a phase=Running\npods x/a 1 cpu=4 on=n2\njob ns/b pods=1 cpu=1",
        Code.RESOURCES,
        "cpu|reach its PersistentVolume",
        [(SetNodeAmount("n2", "cpu", 5000),)],
        spec=DATA,
        more=[storage_class(), claim(volume="pv"), volume(zone="b", claim="ns/data")],
    ),
    "another pod has the volume for itself": Case(
        ONE,
        Code.VOLUMES,
        "ReadWriteOncePod",
        [],
        spec=DATA,
        more=[
            storage_class(),
            claim(volume="pv", modes=("ReadWriteOncePod",)),
            volume(claim="ns/data", modes=("ReadWriteOncePod",)),
            holder("other", "n1", volumes=claim_volumes("data")),
        ],
        also="PersistentVolumeClaim data (ReadWriteOncePod) is used by pod ns/other",
    ),
    "the node can attach no more volumes": Case(
        ONE,
        Code.VOLUMES,
        "attach more volumes",
        [(AddNodes("n1", 1),)],
        spec=DATA,
        more=[
            storage_class(),
            csi_driver(),
            csi_node(limits={DRIVER: 1}),
            claim(volume="pv"),
            volume(claim="ns/data"),
            claim("old", volume="pv2"),
            volume("pv2", claim="ns/old"),
            holder("other", "n1", volumes=claim_volumes("old")),
        ],
        also="node n1 can attach 1 volume of csi.example.com: used by pod ns/other",
    ),
    "its class makes volumes in a zone without nodes": Case(
        f"node n1 cpu=4 {ZONE}=a\njob ns/b pods=1 cpu=1",
        Code.VOLUMES,
        "volume",
        [],
        spec=DATA,
        more=[storage_class(zones=("c",)), claim()],
        never=True,
    ),
    "less storage is free than its claim asks for": Case(
        ONE,
        Code.VOLUMES,
        "storage",
        [(SetStorage("kube-system/capacity", 30 * GI),)],
        spec=DATA,
        more=[
            storage_class(),
            csi_driver(counts_capacity=True),
            csi_node(topology_keys=("kubernetes.io/hostname",)),
            storage_capacity(size="10Gi", node="n1"),
            claim(size="30Gi"),
        ],
    ),
    "volumes that people make are all too small": Case(
        ONE,
        Code.VOLUMES,
        "volume",
        [(AddVolumes("ns/data", 1),)],
        spec=DATA,
        more=[storage_class(provisioner=NO_PROVISIONER), claim(size="10Gi"), volume(size="5Gi", node="n1")],
    ),
    "its claim is being deleted": Case(
        ONE,
        Code.CLAIM,
        "data|deleted",
        [],
        spec=DATA,
        more=[
            storage_class(),
            volume(claim="ns/data"),
            claim(volume="pv", metadata={"deletionTimestamp": "2027-01-15T07:00:00Z", "finalizers": ["x/y"]}),
        ],
    ),
    "its volume is on one node, and its selector wants another": Case(
        "node n1 cpu=4 disk-of=me\nnode n2 cpu=4 pool=fast\njob ns/b pods=1 cpu=1 selector=pool:fast",
        Code.VOLUMES,
        "reach its PersistentVolume|selector",
        [(DropRule("ns/b", "nodeSelector"),)],
        spec=DATA,
        more=[storage_class(), claim(volume="pv"), volume(node="n1", claim="ns/data")],
        never=True,
    ),
    "a gang of two shares a volume for one node, which has room for one": Case(
        "node n1 cpu=1\nnode n2 cpu=4\njob ns/b min=2 pods=2 cpu=1",
        Code.GANG_SIZE,
        "needs 2|1",
        [(SetMinMember("ns/b", 1),)],
        spec=DATA,
        more=[storage_class(), claim(volume="pv"), volume(node="n1", claim="ns/data")],
        never=True,
    ),
    "each pod has a volume of its own node, and one of the nodes is full": Case(
        "node n1 cpu=1\nnode n2 cpu=1\nnode n3 cpu=1\njob x/a phase=Running\npods x/a 1 cpu=1 on=n3\n"
        "job ns/b min=3\npods ns/b 1 cpu=1 claim=d1\npods ns/b 1 cpu=1 claim=d2\npods ns/b 1 cpu=1 claim=d3",
        Code.GANG_SIZE,
        "needs 3, 2 fit: |too little cpu",
        [(SetMinMember("ns/b", 2),)],
        more=[
            storage_class(),
            *(claim(f"d{number}", volume=f"pv{number}") for number in (1, 2, 3)),
            *(volume(f"pv{number}", node=f"n{number}", claim=f"ns/d{number}") for number in (1, 2, 3)),
        ],
    ),
    "the class of its devices does not exist": Case(
        ONE,
        Code.CLAIM,
        "DeviceClass gpu.exmaple.com, which does not exist",
        [],
        spec=GPU,
        more=[
            device_class(),
            resource_slice("n1", 2),
            claim_template("gpus", request(device_class="gpu.exmaple.com")),
        ],
        never=True,
        also="did you mean DeviceClass gpu.example.com?",
    ),
    "others hold all devices": Case(
        ONE,
        Code.DEVICES,
        "ResourceClaim",
        [(AddNodes("n1", 1),)],
        spec=GPU,
        more=[
            device_class(),
            resource_slice("n1", 2),
            claim_template("gpus"),
            *held_by("other", "n1", "gpu-0", "gpu-1"),
        ],
        also="0 of 1 of class gpu.example.com are free on any one node (0 of 2 in all)"
        "|Pod ns/other holds 2 of class gpu.example.com",
    ),
    "a rule taints all devices": Case(
        ONE,
        Code.DEVICES,
        "ResourceClaim",
        [(TolerateDevices("ns/b", "burn-in", "yes"),)],
        spec=GPU,
        more=[
            device_class(),
            resource_slice("n1", 2),
            claim_template("gpus"),
            taint_rule(taint="burn-in=yes:NoSchedule", driver=GPUS),
        ],
        also="2 match, but have the taint burn-in=yes:NoSchedule",
    ),
    "it asks for four devices, and no node has more than two": Case(
        "node n1 cpu=8\nnode n2 cpu=8\njob ns/b pods=1 cpu=1",
        Code.DEVICES,
        "ResourceClaim",
        [(AddDevices("n1", GPUS, (GPUS, "n1", "gpu-0"), 2),)],
        spec=GPU,
        more=[
            device_class(),
            resource_slice("n1", 2),
            resource_slice("n2", 2),
            claim_template("gpus", request(count=4)),
        ],
        never=True,
        also="4 of class gpu.example.com asked, and no node has more than 2 (4 in all)",
    ),
    "no device is of the model that it asks for": Case(
        ONE,
        Code.DEVICES,
        "ResourceClaim",
        [],
        spec=GPU,
        more=[
            device_class(),
            resource_slice("n1", [device(attributes={"model": "a100"})]),
            claim_template("gpus", request("gpu", 1, f"device.attributes['{GPUS}'].model == 'h100'")),
        ],
        never=True,
        also="with model h100 asked, and no device matches",
    ),
    "its claim has devices of a node that is full": Case(
        "node n1 cpu=2\nnode n2 cpu=4\njob x/a phase=Running\npods x/a 2 cpu=1 on=n1\njob ns/b pods=1 cpu=1",
        Code.RESOURCES,
        "cpu|ResourceClaim",
        [],
        spec={"resourceClaims": pod_claims(gpu="mine")},
        more=[device_class(), resource_slice("n1", 2), allocated(resource_claim("mine"), "n1", "gpu-0")],
    ),
    "its resource claim does not exist": Case(
        ONE,
        Code.CLAIM,
        "mine|does not exist",
        [],
        spec={"resourceClaims": pod_claims(gpu="mine")},
        more=[device_class(), resource_slice("n1", 2)],
        never=True,
    ),
    "it asks for all devices of a node, and somebody has one": Case(
        ONE,
        Code.DEVICES,
        "ResourceClaim",
        [(AddNodes("n1", 1),)],
        spec=GPU,
        more=[
            device_class(),
            resource_slice("n1", 2),
            claim_template("gpus", request(count=0)),
            *held_by("other", "n1", "gpu-0"),
        ],
        also="Pod ns/other holds 1 of class gpu.example.com",
    ),
    "its devices have to be of one board, and boards have one each": Case(
        ONE,
        Code.DEVICES,
        "ResourceClaim",
        [],
        spec=GPU,
        more=[
            device_class(),
            resource_slice("n1", [device(f"gpu-{number}", attributes={"board": f"x{number}"}) for number in range(2)]),
            claim_template(
                "gpus",
                request(count=2),
                constraints=[{"requests": ["gpu"], "matchAttribute": f"{GPUS}/board"}],
            ),
        ],
    ),
    "somebody has a part of the only device, and it wants the whole": Case(
        ONE,
        Code.DEVICES,
        "ResourceClaim",
        [(AddNodes("n1", 1),)],
        spec=GPU,
        more=[
            device_class(),
            resource_slice(
                "n1",
                [
                    device(
                        "whole",
                        consumesCounters=[{"counterSet": "s", "counters": {"c": {"value": "2"}}}],
                        attributes={"size": 2},
                    ),
                    device(
                        "half-0",
                        consumesCounters=[{"counterSet": "s", "counters": {"c": {"value": "1"}}}],
                        attributes={"size": 1},
                    ),
                    device(
                        "half-1",
                        consumesCounters=[{"counterSet": "s", "counters": {"c": {"value": "1"}}}],
                        attributes={"size": 1},
                    ),
                ],
                count=2,
            ),
            resource_slice(
                "n1",
                [],
                name="n1-counters",
                count=2,
                spec={"sharedCounters": [{"name": "s", "counters": {"c": {"value": "2"}}}]},
            ),
            claim_template("gpus", request("gpu", 1, f"device.attributes['{GPUS}'].size == 2")),
            *held_by("other", "n1", "half-0"),
        ],
        also="0 of 1 of class gpu.example.com with size 2 are free on any one node (0 of 1 in all)"
        "|Pod ns/other holds 1 of class gpu.example.com",
    ),
    "its queue may hold two devices of the class, and holds both": Case(
        f"node n1 cpu=8\nqueue q capability=deviceclass/{GPUS}:2\njob ns/b pods=1 cpu=1 queue=q",
        Code.QUEUE_CAPABILITY,
        "q|2|1",
        [(SetQueueAmount("q", "capability", f"deviceclass/{GPUS}", 3000),)],
        CAPACITY,
        spec=GPU,
        more=[
            device_class(),
            resource_slice("n1", 4),
            claim_template("gpus"),
            {
                "kind": "PodGroup",
                "apiVersion": "scheduling.volcano.sh/v1beta1",
                "metadata": {"name": "o", "namespace": "ns"},
                "spec": {"minMember": 1, "queue": "q"},
                "status": {"phase": "Running"},
            },
            *(
                found | {"metadata": found["metadata"] | {"annotations": {"scheduling.k8s.io/group-name": "o"}}}
                if found["kind"] == "Pod"
                else found
                for found in held_by("other", "n1", "gpu-0", "gpu-1")
            ),
        ],
        also="queue q: ns/o holds 2 deviceclass/gpu.example.com",
    ),
}
