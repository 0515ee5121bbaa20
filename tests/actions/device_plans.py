"""Plans for clusters whose pods claim devices."""

from __future__ import annotations

from collections.abc import Iterable

from tests.support import devices as d
from tests.support.builders import merged
from tests.support.plans import Manifest, Plan, decide, manifests, policy_of
from vsched.framework.policy import Policy

POLICY = policy_of("priority gang conformance", "predicates proportion nodeorder")


def decided(
    text: str, *objects: Manifest, uses: dict[str, str | Iterable[str]], policy: Policy = POLICY, cycles: int = 1
) -> Plan:
    """What is decided on the text's objects and these; ``uses`` names the claims of pods, by name of the pod."""
    found = manifests(text)
    for one in found:
        if one["kind"] == "Pod" and one["metadata"]["name"] in uses:
            used = uses[one["metadata"]["name"]]
            names = (used,) if isinstance(used, str) else tuple(used)
            one["spec"]["resourceClaims"] = d.pod_claims(**{name: name for name in names})
    return decide([*found, d.device_class(), *objects], policy, cycles=cycles)


def own(*pods: str, count: int = 1) -> list[Manifest]:
    """A claim for each pod, by its name, that was made for it."""
    return [
        d.resource_claim(name, d.request(count=count), metadata={"ownerReferences": [_owner(name)]}) for name in pods
    ]


def _owner(pod: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": f"ns/{pod}", "controller": True}


def held(claim: Manifest, node: str, *devices: str, by: Iterable[str]) -> Manifest:
    """The claim with devices of a node, reserved for pods."""
    results = [{"request": "gpu", "driver": d.DRIVER, "pool": node, "device": name} for name in devices]
    on_node = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]}
    status = {
        "allocation": {"devices": {"results": results}, "nodeSelector": on_node},
        "reservedFor": [{"resource": "pods", "name": name, "uid": f"ns/{name}"} for name in by],
    }
    return merged(claim, {"status": status})
