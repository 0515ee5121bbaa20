"""Reports on NUMA zones, as manifests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Obj = dict[str, Any]
POLICY, DECISION = "volcano.sh/numa-topology-policy", "volcano.sh/topology-decision"


def report(
    node: str, *available: str, policy: str = "single-numa-node", scope: str = "container", of: str = "4", **more: Any
) -> Obj:
    """A NodeResourceTopology: what is available of the cpus of each zone, out of ``of``."""
    return {
        "apiVersion": "topology.node.k8s.io/v1alpha2",
        "kind": "NodeResourceTopology",
        "metadata": {"name": node, **more},
        "attributes": [
            {"name": "topologyManagerPolicy", "value": policy},
            {"name": "topologyManagerScope", "value": scope},
        ],
        "zones": [zone(number, cpu=(amount, of)) for number, amount in enumerate(available)],
    }


def zone(number: int, **resources: tuple[str, str]) -> Obj:
    """One zone: what is available of each resource, and what there is."""
    found = [
        {"name": name, "capacity": most, "allocatable": most, "available": free}
        for name, (free, most) in resources.items()
    ]
    return {"name": f"node-{number}", "type": "Node", "resources": found}


def volcano_report(
    node: str,
    free: str,
    cpus: Mapping[int, int],
    policy: str = "single-numa-node",
    pods: Mapping[str, Sequence[str]] | None = None,
    reserved: str = "0",
) -> Obj:
    """A Numatopology: the free cpus, the zone of each cpu, and by uid what each container of a pod has."""
    allocated = [
        {"uid": uid, "containerAllocations": [{"name": "c", "allocations": {"cpu": found}} for found in containers]}
        for uid, containers in (pods or {}).items()
    ]
    return {
        "apiVersion": "nodeinfo.volcano.sh/v1alpha1",
        "kind": "Numatopology",
        "metadata": {"name": node},
        "spec": {
            "policies": {"CPUManagerPolicy": "static", "TopologyManagerPolicy": policy},
            "resReserved": {"cpu": reserved},
            "numares": {"cpu": {"allocatable": free, "capacity": len(cpus)}},
            "cpuDetail": {str(cpu): {"numa": numa, "socket": numa, "core": cpu} for cpu, numa in cpus.items()},
            **({} if pods is None else {"podAllocations": allocated}),
        },
    }
