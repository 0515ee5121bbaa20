"""What to write next about a PersistentVolumeClaim or a PersistentVolume, given how it was read. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from vsched.api.volumes import ClaimReference
from vsched.errors import BadInput
from vsched.mirror.ingest.rules import node_terms
from vsched.mirror.ingest.volumes import SELECTED_NODE
from vsched.mirror.state.resource_versions import SeenObject
from vsched.model.claims.volumes import Volume, VolumeClaim
from vsched.model.pods.shape import NodeTerm, requirement_holds
from vsched.writes.claims import words
from vsched.writes.claims.objects import (
    BOUND_BY_CONTROLLER,
    VolumeClaimRead,
    VolumeRead,
)
from vsched.writes.claims.patches import annotate, opening, patch, trouble
from vsched.writes.claims.steps import DONE, Failed, Send, Step, Wait
from vsched.writes.claims.wishes import VolumeWish

KIND = "PersistentVolumeClaim"
VOLUME = "PersistentVolume"


def select_node(found: VolumeClaimRead | None, wish: VolumeWish) -> Step:
    """Have a volume made for the node; a claim that was bound in the meantime is left as it is."""
    why = trouble(found, KIND, wish.key, wish.uid)
    if found is None or why:
        return Failed(why)
    selected = found.metadata.annotation(SELECTED_NODE)
    if found.volume or selected == wish.selected_node:
        return DONE
    if selected:
        return Failed(words.volume_being_made(KIND, wish.key, selected))
    return annotate(found, {SELECTED_NODE: wish.selected_node})


def select_unread(watched: SeenObject[VolumeClaim] | None, wish: VolumeWish) -> Send | None:
    """The same, by what the mirror shows; None where the claim has to be read."""
    if watched is None or not wish.uid or not is_free(watched.found, wish) or watched.found.selected_node:
        return None
    metadata = {"annotations": {SELECTED_NODE: wish.selected_node}}
    return opening(VolumeClaimRead, wish.key, wish.uid, watched.resource_version, metadata)


def is_free(claim: VolumeClaim, wish: VolumeWish) -> bool:
    """Whether the claim is the one that is meant, and neither bound nor in trouble."""
    return not (claim.uid != wish.uid or claim.deleting or claim.lost or claim.bound or claim.volume)


def shown_volume(watched: SeenObject[VolumeClaim] | None, wish: VolumeWish) -> str:
    """The volume that the claim is bound to, by what the mirror shows; empty where the claim has to be read."""
    claim = None if watched is None else watched.found
    if claim is None or claim.uid != wish.uid or claim.deleting or claim.lost or not claim.bound:
        return ""
    return claim.volume if wish.volume in ("", claim.volume) else ""


def reaches(watched: SeenObject[Volume] | None, wish: VolumeWish, labels: Mapping[str, str]) -> bool:
    """Whether the claim's volume can be used on the pod's node, by what the mirror shows; if not, it has to be read."""
    volume = None if watched is None else watched.found
    if volume is None or not volume.claim_uid or volume.claim_uid != wish.uid or volume.spent:
        return False
    return volume.affinity is None or any(_met(term, wish.node, labels) for term in volume.affinity)


def unchanged(watched: SeenObject[VolumeClaim] | None, wish: VolumeWish) -> Wait | None:
    """Whether the claim still waits for its volume, by what the mirror shows; None where it has to be read."""
    if watched is None or not wish.selected_node or not is_free(watched.found, wish):
        return None
    return _not_bound(wish) if watched.found.selected_node == wish.selected_node else None


def _not_bound(wish: VolumeWish) -> Wait:
    return Wait(words.was_not_bound(KIND, wish.key))


def reserve_volume(found: VolumeRead | None, wish: VolumeWish) -> Step:
    """Reserve a static volume for the claim; the volume controller then binds them."""
    why = trouble(found, VOLUME, wish.volume, "")
    if found is None or why:
        return Failed(why)
    reserved = found.spec.claim_ref
    if reserved is not None and not _is_for(reserved, wish):
        return Failed(words.volume_reserved_for(VOLUME, wish.volume, reserved.namespace, reserved.name))
    if reserved is not None and reserved.uid:
        return DONE
    if found.status.phase not in (None, "", "Available", "Pending"):
        return Failed(words.volume_cannot_be_used(VOLUME, wish.volume, found.status.phase))
    namespace, _, name = wish.key.partition("/")
    claim_ref = {"apiVersion": "v1", "kind": KIND, "namespace": namespace, "name": name, "uid": wish.uid}
    content = {"spec": {"claimRef": claim_ref}}
    # Without the annotation it is the administrator's reservation, which nobody else may remove.
    return patch(found, content) if reserved is not None else annotate(found, {BOUND_BY_CONTROLLER: "yes"}, content)


def _is_for(reserved: ClaimReference, wish: VolumeWish) -> bool:
    named = f"{reserved.namespace}/{reserved.name}" == wish.key
    return named and (not reserved.uid or reserved.uid == wish.uid)


def bound(found: VolumeClaimRead | None, wish: VolumeWish) -> Step:
    """Whether the claim is bound, and to the chosen volume."""
    why = trouble(found, KIND, wish.key, wish.uid)
    if found is None or why:
        return Failed(why)
    if found.status.phase == "Lost":
        return Failed(words.lost_its_volume(KIND, wish.key))
    if found.volume and wish.volume and found.volume != wish.volume:
        return Failed(words.bound_to_another_volume(KIND, wish.key, found.volume, wish.volume))
    if found.is_bound:
        return DONE
    if not found.volume and wish.selected_node:
        selected = found.metadata.annotation(SELECTED_NODE)
        if selected != wish.selected_node:
            return Failed(words.no_volume_could_be_made(KIND, wish.key, wish.selected_node))
    return _not_bound(wish)


def usable(found: VolumeRead | None, name: str, node: str, labels: Mapping[str, str]) -> Step:
    """Whether the volume that a claim was bound to can be used on the pod's node."""
    why = trouble(found, VOLUME, name, "")
    if found is None or why:
        return Failed(why)
    affinity = found.spec.node_affinity
    if affinity is None or affinity.required is None:
        return DONE
    try:
        terms = node_terms(affinity.required, "spec.nodeAffinity.required")
    except BadInput as error:
        return Failed(f"{VOLUME} {name}: {error}")
    if any(_met(term, node, labels) for term in terms):
        return DONE
    return Failed(words.volume_not_on_node(VOLUME, name, node))


def _met(term: NodeTerm, node: str, labels: Mapping[str, str]) -> bool:
    if not term.expressions and not term.fields:
        return False  # as Kubernetes has it: a term that says nothing matches nothing
    by_label = all(requirement_holds(each, dict(labels)) for each in term.expressions)
    return by_label and all(requirement_holds(each, {"metadata.name": node}) for each in term.fields)


def unselect_node(found: VolumeClaimRead | None, uid: str, node: str) -> Step:
    """Take back the choice of a node, unless the claim has got its volume."""
    if found is None or (uid and found.metadata.uid != uid) or found.volume:
        return DONE
    selected = found.metadata.annotation(SELECTED_NODE)
    return annotate(found, {SELECTED_NODE: None}) if selected and node in ("", selected) else DONE


def release_volume(found: VolumeRead | None, wish: VolumeWish) -> Step:
    """Take back the reservation of a static volume, unless it is bound by now."""
    reserved = None if found is None else found.spec.claim_ref
    if found is None or reserved is None or not reserved.uid or not _is_for(reserved, wish):
        return DONE
    if found.status.phase == "Bound":
        return DONE
    if found.metadata.annotation(BOUND_BY_CONTROLLER):
        return annotate(found, {BOUND_BY_CONTROLLER: None}, {"spec": {"claimRef": None}})
    return patch(found, {"spec": {"claimRef": {"uid": None}}})
