"""Random clusters with volumes and devices, pods that run with them, and gangs that claim them."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import strategies as st

from tests.support import devices as d
from tests.support import volumes as v
from tests.support.plans import NOW, Manifest, manifests, mirror
from tests.support.taking import taking
from vsched.framework.cycle import run_cycle
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot
from vsched.settings.built_in import REGISTRY

POLICY = taking("enqueue, allocate, preempt, backfill", "priority gang-P conformance", "predicates nodeorder")
ZONES = ("a", "b")


class Case(NamedTuple):
    """The objects of a cluster."""

    text: str
    objects: tuple[Manifest, ...]
    claims: dict[str, list[Manifest]]
    """By pod: ``spec.resourceClaims``."""

    def manifests(self) -> list[Manifest]:
        """All objects."""
        found = manifests(self.text)
        for one in found:
            if one["kind"] == "Pod" and one["metadata"]["name"] in self.claims:
                one["spec"]["resourceClaims"] = self.claims[one["metadata"]["name"]]
        return [*found, *self.objects]

    def report(self) -> tuple[Snapshot, CycleReport]:
        """The cluster as a cycle sees it, and what the cycle decides."""
        snapshot = mirror(self.manifests()).snapshot(NOW)
        return snapshot, run_cycle(snapshot, POLICY, REGISTRY)


def gpu(number: int, memory: int) -> Manifest:
    return d.device(f"gpu-{number}", capacity={"memory": f"{memory}Gi"}, attributes={"model": f"m{memory}"})


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Up to four nodes in two zones with devices and limits on volumes; pods that run and gangs that claim."""
    text, claims = "class high 9\n", dict[str, list[Manifest]]()
    objects: list[Manifest] = [d.device_class(), v.storage_class(), v.storage_class("zoned", zones=("a",))]
    free: dict[str, list[str]] = {}
    for node in (f"n{number}" for number in range(draw(st.integers(1, 4)))):
        text += f"node {node} cpu=4 {v.ZONE}={draw(st.sampled_from(ZONES))}\n"
        memories = draw(st.lists(st.sampled_from([40, 80]), max_size=4))
        if memories:
            objects.append(d.resource_slice(node, [gpu(at, memory) for at, memory in enumerate(memories)]))
        free[node] = [f"gpu-{at}" for at in range(len(memories))]
        if draw(st.booleans()):
            objects.append(v.csi_node(node, {v.DRIVER: draw(st.integers(0, 2))}))
    for number, zone in enumerate(draw(st.lists(st.sampled_from(ZONES), max_size=2))):
        objects.append(v.volume(f"pv{number}", "2Gi", zone=zone))
    for number in range(draw(st.integers(0, 2))):
        node = draw(st.sampled_from(sorted(free)))
        text += f"job ns/run{number} pods=1 cpu=1 on={node} phase=Running\n"
        if free[node]:
            name = f"run{number}.0"
            objects.append(held(name, node, free[node].pop(0)))
            claims[name] = d.pod_claims(gpu=name)
    shared = draw(st.booleans())
    for job in ("a", "b")[: draw(st.integers(1, 2))]:
        size = draw(st.integers(1, 3))
        text += f"job ns/{job} class=high min={draw(st.integers(1, size))}\n"
        for number in range(size):
            pod, wants = f"{job}.{number}", draw(st.sampled_from(["", "gpu", "gpu2", "volume", "both", "shared"]))
            fields = ""
            if wants in ("volume", "both"):
                fields = f"claim=d-{pod}"
                kind = draw(st.sampled_from([v.CLASS, "zoned", "missing"]))
                if kind != "missing":
                    objects.append(v.claim(f"d-{pod}", storage_class=kind))
            if wants in ("gpu", "gpu2", "both"):
                claims[pod] = d.pod_claims(gpu=pod)
                chosen = draw(
                    st.sampled_from([(), (f"device.capacity['{d.DRIVER}'].memory.isGreaterThan(quantity('60Gi'))",)])
                )
                same = [{"matchAttribute": f"{d.DRIVER}/model"}] if draw(st.booleans()) else []
                request = d.request("gpu", 2 if wants == "gpu2" else 1, *chosen)
                objects.append(d.resource_claim(pod, request, constraints=same))
            if wants == "shared" and shared:
                claims[pod] = d.pod_claims(gpu="shared")
            text += f"pods ns/{job} 1 cpu={draw(st.integers(0, 2))} {fields}\n"
    if shared:
        objects.append(d.resource_claim("shared"))
    return Case(text, tuple(objects), claims)


def held(pod: str, node: str, device: str) -> Manifest:
    """The claim of a pod that runs with a device."""
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": f"ns/{pod}", "controller": True}
    results = [{"request": "gpu", "driver": d.DRIVER, "pool": node, "device": device}]
    status = {
        "allocation": {"devices": {"results": results}, "nodeSelector": v.in_topology(v.HOSTNAME, node)},
        "reservedFor": [{"resource": "pods", "name": pod, "uid": f"ns/{pod}"}],
    }
    return d.resource_claim(pod, metadata={"ownerReferences": [owner]}, status=status)
