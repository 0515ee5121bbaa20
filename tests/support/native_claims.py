"""Native PodGroups whose pods share claims, for tests with a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.support import devices
from tests.support.claiming import NS, RESOURCE_CLAIMS
from tests.support.running import pod
from vsched.sim.cluster import Cluster

Obj = dict[str, Any]
VERSION = "v1beta1"
GROUPS = "scheduling.k8s.io/podgroups"


def group(name: str, minimum: int, version: str = VERSION, **claims: str) -> Obj:
    """A gang whose pods share these claims: ``template/NAME``, or the name of a claim, by the name of the entry."""
    return {
        "apiVersion": f"scheduling.k8s.io/{version}",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": NS},
        "spec": {
            "schedulingPolicy": {"gang": {"minCount": minimum}},
            **({"resourceClaims": devices.pod_claims(**claims)} if claims else {}),
        },
    }


def member(name: str, of: str, cpu: str = "1", **claims: str) -> Obj:
    """A pod of a group that names these claims."""
    made = pod(name, cpu=cpu)
    made["spec"]["schedulingGroup"] = {"podGroupName": of}
    if claims:
        made["spec"]["resourceClaims"] = devices.pod_claims(**claims)
    return made


def members(of: str, count: int, cpu: str = "1", **claims: str) -> list[Obj]:
    return [member(f"{of}-{number}", of, cpu, **claims) for number in range(count)]


def consumers(claim: Obj) -> Sequence[tuple[str, str]]:
    """Whom a claim is reserved for, as (resource, name)."""
    return [(each["resource"], each["name"]) for each in (claim.get("status") or {}).get("reservedFor") or ()]


def claims_of(cluster: Cluster) -> list[Obj]:
    return cluster.client.list(RESOURCE_CLAIMS, NS)


def made_for(cluster: Cluster, name: str) -> dict[str, str]:
    """The claims that were made for a group, as its status says."""
    found = cluster.client.get(GROUPS, NS, name) or {}
    statuses = (found.get("status") or {}).get("resourceClaimStatuses") or ()
    return {each["name"]: each["resourceClaimName"] for each in statuses}
