"""A pod starts once its claims are bound to volumes that its node can use and that are attached to it."""

from __future__ import annotations

from collections.abc import Iterable

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.objects import is_deleting, is_finished
from vsched.sim.client import LocalClient
from vsched.sim.controllers.pod_claims import ephemeral_volumes, is_owned_by, volume_claims
from vsched.sim.controllers.pod_index import PodIndex
from vsched.sim.controllers.start_checks import StartObstacle
from vsched.sim.controllers.volumes.attaching import attachment_name, needs_attachment
from vsched.sim.controllers.volumes.objects import (
    ATTACHMENTS,
    CLAIMS,
    CSI_DRIVERS,
    VOLUMES,
    belongs_to,
    claim_key_of,
)
from vsched.sim.store.node_selectors import matches_node_selector
from vsched.sim.store.store import key_of

FAILED_MOUNT = "FailedMount"
_ONE_POD = "ReadWriteOncePod"


class VolumesMounted:
    """The check of the volumes of a pod."""

    def __init__(self, client: LocalClient, pod_index: PodIndex) -> None:
        self._client = client
        self._pod_index = pod_index

    def obstacle(self, pod: Obj, node: Obj) -> StartObstacle | None:
        ephemeral = {volume["name"] for volume in ephemeral_volumes(pod)}
        for volume, name in volume_claims(pod).items():
            found = self._of_claim(pod, node, volume, name, ephemeral=volume in ephemeral)
            if found is not None:
                return found
        return None

    def _of_claim(self, pod: Obj, node: Obj, volume: str, name: str, *, ephemeral: bool) -> StartObstacle | None:
        key = f"{pod['metadata']['namespace']}/{name}"
        claim = self._client.get(CLAIMS, pod["metadata"]["namespace"], name)
        if claim is None:
            missing = f'persistentvolumeclaims "{name}" not found'
            return _not_processed(volume, key, f"failed to fetch PVC from API server: {missing}")
        if ephemeral and not is_owned_by(claim, pod):
            return _not_processed(volume, key, f"PVC {key} was not created for pod {key_of(pod)} (pod is not owner)")
        if is_deleting(claim):
            return _not_processed(volume, key, "can't start pod because PVC is being deleted")
        phase, bound = (claim.get("status") or {}).get("phase", ""), claim["spec"].get("volumeName", "")
        if phase != "Bound" or not bound:
            why = f'PVC {key} has non-bound phase ("{phase}") or empty pvc.Spec.VolumeName ("{bound}")'
            return _not_processed(volume, key, why)
        found = self._client.get(VOLUMES, "", bound)
        if found is None:
            why = f'failed to fetch PV {bound} from API server: persistentvolumes "{bound}" not found'
            return _not_processed(volume, key, why)
        if not belongs_to(found, claim):
            other = (found["spec"].get("claimRef") or {}).get("uid", "")
            why = f"found PV object {bound} but its pv.Spec.ClaimRef.UID {other} does not point to claim.UID"
            return _not_processed(volume, key, f"{why} {claim['metadata']['uid']}")
        return self._of_volume(pod, node, claim, found)

    def _of_volume(self, pod: Obj, node: Obj, claim: Obj, volume: Obj) -> StartObstacle | None:
        name = volume["metadata"]["name"]
        if not matches_node_selector((volume["spec"].get("nodeAffinity") or {}).get("required"), node):
            why = f'MountVolume.NodeAffinity check failed for volume "{name}" : no matching NodeSelectorTerms found'
            return StartObstacle(FAILED_MOUNT, why)
        if _ONE_POD in (claim["spec"].get("accessModes") or ()) and self._is_used_by_another(pod, claim):
            why = "volume uses the ReadWriteOncePod access mode and is already in use by another pod"
            return StartObstacle(FAILED_MOUNT, f'MountVolume.SetUp failed for volume "{name}" : {why}')
        return None if self._is_attached(volume, node) else StartObstacle()

    def _is_used_by_another(self, pod: Obj, claim: Obj) -> bool:
        users = (each for each in self._pod_index.of_volume_claim(key_of(claim)) if each is not pod)
        return any(each["status"].get("phase") == "Running" for each in users)

    def _is_attached(self, volume: Obj, node: Obj) -> bool:
        """The controller that attaches volumes says itself what is in its way."""
        csi = volume["spec"].get("csi")
        if csi is None or not needs_attachment(volume, self._client.get(CSI_DRIVERS, "", csi["driver"])):
            return True
        attachment = self._client.get(ATTACHMENTS, "", attachment_name(volume, node["metadata"]["name"]))
        return attachment is not None and bool(attachment["status"].get("attached"))

    def started(self, pod: Obj) -> None:
        """Nothing to note: the status of the pod says that it uses its volumes."""

    def affected(self, resource: str, obj: Obj, *, gone: bool) -> Iterable[str]:
        match resource:
            case "persistentvolumeclaims":
                return self._pod_index.keys_of_volume_claim(key_of(obj))
            case "persistentvolumes":
                return self._pod_index.keys_of_volume_claim(claim_key_of(obj))
            case "storage.k8s.io/volumeattachments":
                name = (obj["spec"].get("source") or {}).get("persistentVolumeName", "")
                volume = self._client.get(VOLUMES, "", name)
                return self._pod_index.keys_of_volume_claim(claim_key_of(volume)) if volume else ()
            case "pods" if (gone or is_finished(obj)) and obj["spec"].get("volumes"):
                namespace = obj["metadata"]["namespace"]
                claims = (f"{namespace}/{name}" for name in volume_claims(obj).values())
                return [key for claim in claims for key in self._pod_index.keys_of_volume_claim(claim)]
        return ()


def _not_processed(volume: str, claim: str, why: str) -> StartObstacle:
    whole = f"failed to process volumes=[{volume}]: error processing PVC {claim}: {why}"
    prefix = f"Unable to attach or mount volumes: unmounted volumes=[{volume}], unattached volumes=[], "
    return StartObstacle(FAILED_MOUNT, prefix + whole)
