"""What becomes of claims, volumes and pools of devices on paper. Pure: records in, records out."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from vsched.model.claims.devices import ClaimConsumer, Device, DeviceClaim, DeviceId, DevicePool
from vsched.model.claims.volumes import StorageCapacity, StorageClass, Volume, VolumeClaim
from vsched.model.pods.claims import PodVolume
from vsched.model.pods.shape import NodeTerm, Requirement, Selector
from vsched.model.pods.task import Task

ZONE = "topology.kubernetes.io/zone"
"""Where a volume is made that its class does not restrict: in the zone of the node."""
Labels = Mapping[str, str]

# -- resource claims --------------------------------------------------------------------------------------------------


def reserved(claim: DeviceClaim, consumer: ClaimConsumer) -> DeviceClaim:
    """The claim, reserved for a pod or a PodGroup as well."""
    others = tuple(one for one in claim.consumers if one.uid != consumer.uid)
    return replace(claim, consumers=(*others, consumer))


def left(claim: DeviceClaim, pod: str, group: str = "") -> DeviceClaim | None:
    """The claim once the pod is gone: without devices where nobody else has it, None where it was made for the pod.

    ``group`` is the PodGroup that has it no longer, either.
    """
    if claim.owner == pod:
        return None
    consumers = tuple(one for one in claim.consumers if one.uid not in (pod, group))
    if len(consumers) == len(claim.consumers):
        return claim
    return replace(claim, consumers=consumers, allocation=claim.allocation if consumers else None)


def emptied(claim: DeviceClaim, uid: str, owner: str) -> DeviceClaim:
    """A claim that asks for the same and has nothing."""
    return DeviceClaim(claim.key, uid, claim.spec, owner=owner, extended=claim.extended)


def pool_on(pool: DevicePool, like: str, name: str) -> DevicePool:
    """The part of a pool that is on one node, on another node."""
    called = name if pool.name == like else f"{pool.name}-{name}"
    devices = tuple(
        replace(device, id=replace(device.id, pool=called), node=name) for device in pool.devices if device.node == like
    )
    return replace(pool, name=called, devices=devices)


def copies(device: Device, pool: str, node: str, count: int) -> list[Device]:
    """So many devices of the same model on a node, untainted."""
    return [
        replace(
            device,
            id=DeviceId(device.id.driver, pool, f"{device.id.device}-new-{number}"),
            node=node,
            traits=replace(device.traits, nodes=None, taints=(), consumes=()),
        )
        for number in range(count)
    ]


# -- volumes ----------------------------------------------------------------------------------------------------------


def fits(volume: Volume, claim: VolumeClaim) -> bool:
    """Whether the volume controller may bind the claim to a static volume that nobody has chosen for it."""
    return (
        not volume.claim
        and volume.capacity >= claim.request
        and set(claim.modes) <= set(volume.modes)
        and volume.block == claim.block
        and volume.attributes_class == claim.attributes_class
        and (claim.selector is None or claim.selector.matches(volume.labels))
    )


def volume_for(claim: VolumeClaim, kind: StorageClass | None, where: tuple[NodeTerm, ...] | None) -> Volume:
    """The volume that is made for a claim."""
    name = f"pvc-{claim.uid}"
    return Volume(
        name,
        claim.storage_class,
        claim.request,
        claim.modes,
        claim.block,
        available=False,
        affinity=where,
        driver="" if kind is None else kind.provisioner,
        handle=name,
        attributes_class=claim.attributes_class,
    )


def static_volume_for(claim: VolumeClaim, number: int) -> Volume:
    """A volume that somebody makes for claims like this one, for every node."""
    asked = () if claim.selector is None else claim.selector.requirements
    labels = {one.key: one.values[0] if one.values else "" for one in asked if one.operator in ("In", "Exists")}
    return Volume(
        f"{claim.key.replace('/', '-')}-new-{number}",
        claim.storage_class,
        claim.request,
        claim.modes,
        claim.block,
        labels=labels,
        attributes_class=claim.attributes_class,
    )


def place_of(kind: StorageClass | None, labels: Labels) -> tuple[NodeTerm, ...] | None:
    """The nodes that reach a volume made for a node: those with its labels of the class's topologies, else its zone."""
    terms = () if kind is None else kind.topologies
    keys = dict.fromkeys(one.key for term in terms for one in term.expressions) or {ZONE: None}
    shared = tuple(Requirement(key, "In", (labels[key],)) for key in keys if key in labels)
    return (NodeTerm(shared),) if shared else None


def is_for_node(selector: Selector | None, node: str) -> bool:
    """Whether the selector is for this one node, by a label that has its name."""
    return selector is not None and any(one.values == (node,) for one in selector.requirements)


def capacity_on(found: StorageCapacity, like: str, name: str) -> StorageCapacity:
    """The storage capacity of one node, for another node."""
    asked = () if found.nodes is None else found.nodes.requirements
    nodes = Selector(tuple(replace(one, values=(name,)) if one.values == (like,) else one for one in asked))
    return replace(found, key=f"{found.key}-{name}", nodes=nodes)


def name_for(volume: PodVolume, task: Task, like: Task) -> str:
    """The claim of a new pod's volume: named after the pod where that of the other pod is; else it is shared."""
    if volume.ephemeral:
        return f"{task.name}{volume.claim.removeprefix(like.name)}"
    return (
        f"{volume.claim.removesuffix(like.name)}{task.name}" if volume.claim.endswith(f"-{like.name}") else volume.claim
    )


def unbound(claim: VolumeClaim, key: str, owner: str) -> VolumeClaim:
    """A claim for the same, as it is made for a pod."""
    uid = f"{claim.uid}+" if key == claim.key else f"{claim.uid}/{key}"
    fresh = replace(claim, volume="", bound=False, selected_node="", lost=False, deleting=False)
    return replace(fresh, key=key, uid=uid, owner=owner)
