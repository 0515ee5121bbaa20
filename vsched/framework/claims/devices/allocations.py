"""From chosen devices to the allocation of a claim."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from uuid import UUID

from vsched.kernels.devices.inventory import Inventory
from vsched.kernels.devices.search import ClaimAsk, Pick
from vsched.kernels.selectors import NAME_FIELD
from vsched.model.claims.devices import AllocatedDevice, AllocationResult, Device
from vsched.model.pods.shape import NodeTerm, Requirement


def allocation_of(
    picks: Sequence[Pick], asked: ClaimAsk, inventory: Inventory, node: str, uid: str
) -> AllocationResult:
    """The allocation of a claim: its devices in the order of its requests, and the nodes where they can be used.

    ``uid`` belongs to the claim or its pod: the ids of shares are made from it, so that equal inputs give equal plans.
    """
    tolerations = {ask.name: ask.want.tolerations for alternatives in asked.requests for ask in alternatives}
    devices = [inventory.devices[pick.device] for pick in picks]
    results = [
        AllocatedDevice(
            pick.request,
            device.id,
            pick.admin,
            _share(uid, at, device) if pick.shared and not pick.admin else "",
            pick.taken,
            tolerations[pick.request],
            device.traits.binding_conditions,
            device.traits.binding_failures,
        )
        for at, (pick, device) in enumerate(zip(picks, devices, strict=True))
    ]
    return AllocationResult(tuple(results), _nodes(devices, node))


def _nodes(devices: Sequence[Device], node: str) -> tuple[NodeTerm, ...] | None:
    """Where all devices can be used: one node, if one of them is there only; otherwise where all selectors match."""
    expressions: dict[Requirement, None] = {}
    fields: dict[Requirement, None] = {}
    for device in devices:
        traits = device.traits
        if device.node or traits.binds_to_node or (traits.nodes is not None and len(traits.nodes) != 1):
            return _only(node)
        for term in traits.nodes or ():
            expressions.update(dict.fromkeys(term.expressions))
            fields.update(dict.fromkeys(term.fields))
    return (NodeTerm(tuple(expressions), tuple(fields)),) if expressions or fields else None


@lru_cache(maxsize=16384)
def _only(node: str) -> tuple[NodeTerm, ...]:
    return (NodeTerm(fields=(Requirement(NAME_FIELD, "In", (node,)),)),)


def _share(uid: str, at: int, device: Device) -> str:
    name = device.id
    digest = sha256("\0".join((uid, str(at), name.driver, name.pool, name.device)).encode()).digest()
    return str(UUID(bytes=digest[:16], version=4))
