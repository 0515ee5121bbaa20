"""What the volume controller does for a claim and for a volume. Pure."""

from __future__ import annotations

from datetime import datetime

from vsched.apimachinery.meta.kinds import Obj, without
from vsched.apimachinery.meta.objects import is_deleting
from vsched.apimachinery.meta.times import format_time
from vsched.apimachinery.workloads.actions import Action, Tell, Update, delete, set_status
from vsched.sim.controllers.volumes.matching import mismatch
from vsched.sim.controllers.volumes.objects import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    CLAIMS,
    NO_PROVISIONER,
    OLD_STORAGE_PROVISIONER,
    PROVISIONED_BY,
    STORAGE_PROVISIONER,
    VOLUMES,
    annotation,
    belongs_to,
    claim_reference,
    class_name,
    is_meant_for,
    waits_for_consumer,
    with_annotations,
)


def bind(claim: Obj, volume: Obj, now: datetime) -> list[Action]:
    """Binds the two to each other; what is there already is not written again."""
    actions: list[Action] = []
    if not belongs_to(volume, claim):
        wanted = {**volume, "spec": {**volume["spec"], "claimRef": claim_reference(claim)}}
        chosen = is_meant_for(volume, claim)
        actions.append(Update(VOLUMES, wanted if chosen else with_annotations(wanted, {BOUND_BY_CONTROLLER: "yes"})))
    actions += set_phase(volume, "Bound", now)
    name, marks = volume["metadata"]["name"], {}
    if claim["spec"].get("volumeName") != name:
        marks[BOUND_BY_CONTROLLER] = "yes"
    if not annotation(claim, BIND_COMPLETED):
        marks[BIND_COMPLETED] = "yes"
    if marks:
        bound = {**claim, "spec": {**claim["spec"], "volumeName": name}}
        actions.append(Update(CLAIMS, with_annotations(bound, marks)))
    status = {
        **(claim.get("status") or {}),
        "phase": "Bound",
        "accessModes": volume["spec"].get("accessModes") or [],
        "capacity": volume["spec"].get("capacity") or {},
    }
    return [*actions, *set_status(CLAIMS, claim, status)]


def set_phase(volume: Obj, phase: str, now: datetime) -> list[Action]:
    old = volume.get("status") or {}
    if old.get("phase") == phase:
        return []
    return set_status(VOLUMES, volume, {**old, "phase": phase, "lastPhaseTransitionTime": format_time(now)})


def wait_for_volume(claim: Obj, storage_class: Obj | None) -> list[Action]:
    """For a claim that no volume fits: it waits for a consumer, for its provisioner, or for somebody else."""
    if waits_for_consumer(claim, storage_class):
        why = "waiting for first consumer to be created before binding"
        return [Tell(CLAIMS, claim, "WaitForFirstConsumer", why)]
    if not class_name(claim):
        why = "no persistent volumes available for this claim and no storage class is set"
        return [Tell(CLAIMS, claim, "FailedBinding", why)]
    if storage_class is None:
        why = f'storageclass.storage.k8s.io "{class_name(claim)}" not found'
        return [Tell(CLAIMS, claim, "ProvisioningFailed", why, warning=True)]
    provisioner = storage_class["provisioner"]
    if provisioner == NO_PROVISIONER:
        why = "no volume plugin matched name: kubernetes.io/no-provisioner"
        return [Tell(CLAIMS, claim, "ProvisioningFailed", why, warning=True)]
    why = (
        f"Waiting for a volume to be created either by the external provisioner '{provisioner}' or manually by the "
        "system administrator. If volume creation is delayed, please verify that the provisioner is running and "
        "correctly registered."
    )
    marks: dict[str, str | None] = {STORAGE_PROVISIONER: provisioner, OLD_STORAGE_PROVISIONER: provisioner}
    if all(annotation(claim, key) == value for key, value in marks.items()):
        return []
    return [Update(CLAIMS, with_annotations(claim, marks)), Tell(CLAIMS, claim, "ExternalProvisioning", why)]


def bind_to_named(claim: Obj, volume: Obj | None, now: datetime) -> list[Action]:
    """For a claim whose user names the volume."""
    if volume is None:
        return []
    if volume["spec"].get("claimRef") and not is_meant_for(volume, claim):
        name = volume["metadata"]["name"]
        return [Tell(CLAIMS, claim, "FailedBinding", f'volume "{name}" already bound to a different claim.')]
    if not volume["spec"].get("claimRef") and (why := mismatch(volume, claim)):
        name = volume["metadata"]["name"]
        message = f'Cannot bind to requested volume "{name}": {why}'
        return [Tell(CLAIMS, claim, "VolumeMismatch", message, warning=True)]
    return bind(claim, volume, now)


def keep_bound(claim: Obj, volume: Obj | None, now: datetime) -> list[Action]:
    """For a claim that was bound: it is lost once its volume is gone or belongs to another object."""
    if not claim["spec"].get("volumeName"):
        return _lose(claim, "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!")
    if volume is None:
        return _lose(claim, "Bound claim has lost its PersistentVolume. Data on the volume is lost!")
    if not volume["spec"].get("claimRef") or belongs_to(volume, claim):
        return bind(claim, volume, now)
    why = "Two claims are bound to the same volume, this one is bound incorrectly"
    return _lose(claim, why, reason="ClaimMisbound")


def _lose(claim: Obj, why: str, *, reason: str = "ClaimLost") -> list[Action]:
    old = claim.get("status") or {}
    if old.get("phase") == "Lost":
        return []
    lost = set_status(CLAIMS, claim, {**old, "phase": "Lost"})
    return [*lost, Tell(CLAIMS, claim, reason, why, warning=True)]


def tend_volume(volume: Obj, claim: Obj | None, now: datetime) -> list[Action]:
    """The phase of a volume; one whose claim is gone is kept or deleted, by its policy."""
    reference = volume["spec"].get("claimRef")
    if not reference or not reference.get("uid"):
        return set_phase(volume, "Available", now)
    if claim is None or claim["metadata"]["uid"] != reference["uid"]:
        return _release(volume, now)
    wanted = claim["spec"].get("volumeName")
    if not wanted:
        # The claim is bound next.
        return []
    if wanted == volume["metadata"]["name"]:
        return set_phase(volume, "Bound", now)
    if annotation(volume, PROVISIONED_BY) and _is_deleted_with_claim(volume):
        return _release(volume, now)
    return [_unbound(volume), *set_phase(volume, "Available", now)]


def _release(volume: Obj, now: datetime) -> list[Action]:
    actions = set_phase(volume, "Released", now)
    if _is_deleted_with_claim(volume) and not is_deleting(volume):
        actions.append(delete(VOLUMES, volume))
    return actions


def _is_deleted_with_claim(volume: Obj) -> bool:
    return bool(volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete")


def _unbound(volume: Obj) -> Update:
    """The volume without its claim, or without the uid of the claim if the user chose it."""
    if annotation(volume, BOUND_BY_CONTROLLER):
        spec = without(volume["spec"], ("claimRef",))
        return Update(VOLUMES, with_annotations({**volume, "spec": spec}, {BOUND_BY_CONTROLLER: None}))
    spec = {**volume["spec"], "claimRef": without(volume["spec"]["claimRef"], ("uid", "resourceVersion"))}
    return Update(VOLUMES, {**volume, "spec": spec})
