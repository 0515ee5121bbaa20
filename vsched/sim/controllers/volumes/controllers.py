"""The controllers that bind claims to volumes, make the claims of ephemeral volumes, and protect what is in use."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import ClassVar

from vsched.apimachinery.admission.objects import default_storage_class, is_default_class
from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.objects import is_deleting, is_finished, reference_to, split_key, without_finalizer
from vsched.apimachinery.meta.times import utc_now
from vsched.apimachinery.workloads.actions import Action, Create, Tell, Update
from vsched.sim.client import LocalClient
from vsched.sim.controllers.controller import Controller
from vsched.sim.controllers.pod_claims import ephemeral_claim_name, ephemeral_volumes, is_owned_by, volume_claims
from vsched.sim.controllers.pod_index import PodIndex
from vsched.sim.controllers.volumes.binding import bind, bind_to_named, keep_bound, tend_volume, wait_for_volume
from vsched.sim.controllers.volumes.matching import FreeVolumes, chosen_for, fits
from vsched.sim.controllers.volumes.objects import (
    BIND_COMPLETED,
    CLAIMS,
    CLASSES,
    VOLUMES,
    annotation,
    asked_size,
    claim_key_of,
    class_name,
    is_bound,
    is_delayed,
)
from vsched.sim.store.store import key_of

BINDER = "persistentvolume-controller"
_CLASS = "*"
"""Before the name of a class, in the key for all of its claims that wait; it is in no name."""
CLAIM_PROTECTION = "kubernetes.io/pvc-protection"
VOLUME_PROTECTION = "kubernetes.io/pv-protection"


class ClaimBinder(Controller):
    """Binds every claim to a volume, or has one made."""

    name: ClassVar[str] = "claim binder"
    primary: ClassVar[str] = CLAIMS
    component: ClassVar[str] = BINDER
    watches: ClassVar[tuple[str, ...]] = (CLAIMS, VOLUMES, CLASSES)

    def __init__(self, client: LocalClient, pod_index: PodIndex) -> None:
        super().__init__(client, pod_index)
        self._free = FreeVolumes()
        self._waiting: dict[str, dict[str, None]] = defaultdict(dict)
        """The claims without a volume, by class."""

    def affected(self, resource: str, obj: Obj, old: Obj | None, *, gone: bool) -> Iterable[str]:
        if resource == CLASSES:
            classes = (obj["metadata"]["name"], *([""] if is_default_class(obj) else []))
            return () if gone else [key for name in classes for key in self._waiting.get(name, ())]
        if resource == CLAIMS:
            if old is not None and class_name(old) != class_name(obj):
                self._note_claim(old, gone=True)
            return self._note_claim(obj, gone=gone)
        claim = claim_key_of(obj)
        self._free.note(obj, claim, gone=gone)
        if claim:
            return (claim,)
        became_free = not gone and (obj.get("status") or {}).get("phase") == "Available"
        # Once for any number of volumes.
        return (f"{_CLASS}{class_name(obj)}",) if became_free and class_name(obj) in self._waiting else ()

    def _note_claim(self, claim: Obj, *, gone: bool) -> Iterable[str]:
        key, class_ = key_of(claim), class_name(claim)
        if gone or is_bound(claim):
            self._waiting[class_].pop(key, None)
            if not self._waiting[class_]:
                del self._waiting[class_]
        else:
            self._waiting[class_][key] = None
        return () if gone else (key,)

    def reconcile(self, key: str) -> Sequence[Action]:
        if key.startswith(_CLASS):
            self._look_again(key.removeprefix(_CLASS))
            return ()
        claim = self.find(key)
        if claim is None:
            return ()
        now, named = utc_now(), claim["spec"].get("volumeName")
        volume = self._volume(named) if named else None
        if annotation(claim, BIND_COMPLETED):
            return keep_bound(claim, volume, now)
        if named:
            return bind_to_named(claim, volume, now)
        if "storageClassName" not in claim["spec"]:
            default = default_storage_class(self.client.list(CLASSES))
            if default is not None:
                spec = {**claim["spec"], "storageClassName": default["metadata"]["name"]}
                return [Update(CLAIMS, {**claim, "spec": spec})]
        storage_class = self._class_of(claim)
        found = self._match(claim, storage_class)
        if found is None:
            return wait_for_volume(claim, storage_class)
        # At once, so that the next claim does not look at it.
        self._free.note(found, key, gone=False)
        return bind(claim, found, now)

    def _look_again(self, class_: str) -> None:
        """Reconciles the claims of a class that may get a volume now."""
        if not class_ or not is_delayed(self.client.get(CLASSES, "", class_)):
            for key in self._waiting.get(class_, ()):
                self.queue.add(key)

    def _match(self, claim: Obj, storage_class: Obj | None) -> Obj | None:
        """The volume for a claim; in a class whose volumes a scheduler chooses only a volume that names it."""
        meant = (self._volume(name) for name in self._free.meant_for(key_of(claim)))
        chosen = chosen_for(claim, (volume for volume in meant if volume is not None))
        if chosen is not None or is_delayed(storage_class):
            return chosen
        names = self._free.at_least(class_name(claim), asked_size(claim))
        volumes = (self._volume(name) for name in names)
        return next((volume for volume in volumes if volume is not None and fits(volume, claim)), None)

    def _volume(self, name: str) -> Obj | None:
        return self.client.get(VOLUMES, "", name)

    def _class_of(self, claim: Obj) -> Obj | None:
        name = class_name(claim)
        return self.client.get(CLASSES, "", name) if name else None


class VolumePhases(Controller):
    """Keeps the phases of volumes, and deletes those that are to go with their claims."""

    name: ClassVar[str] = "volume phases"
    primary: ClassVar[str] = VOLUMES
    component: ClassVar[str] = BINDER
    watches: ClassVar[tuple[str, ...]] = (VOLUMES, CLAIMS)

    def __init__(self, client: LocalClient, pod_index: PodIndex) -> None:
        super().__init__(client, pod_index)
        self._volumes_of: dict[str, dict[str, None]] = defaultdict(dict)
        """The volumes that name a claim."""

    def affected(self, resource: str, obj: Obj, old: Obj | None, *, gone: bool) -> Iterable[str]:
        if resource == CLAIMS:
            changed = gone or old is None or obj["spec"] != old["spec"]
            return list(self._volumes_of.get(key_of(obj), ())) if changed else ()
        name = obj["metadata"]["name"]
        before = claim_key_of(old) if old is not None else ""
        claim = "" if gone else claim_key_of(obj)
        if before != claim:
            self._volumes_of[before].pop(name, None)
            if not self._volumes_of[before]:
                del self._volumes_of[before]
        if claim:
            self._volumes_of[claim][name] = None
        return () if gone else (name,)

    def reconcile(self, key: str) -> Sequence[Action]:
        volume = self.find(key)
        if volume is None:
            return ()
        claim = claim_key_of(volume)
        return tend_volume(volume, self.client.get(CLAIMS, *split_key(claim)) if claim else None, utc_now())


class EphemeralVolumes(Controller):
    """Makes the claims of generic ephemeral volumes; their pods own them."""

    name: ClassVar[str] = "ephemeral volumes"
    primary: ClassVar[str] = "pods"
    component: ClassVar[str] = "ephemeral_volume"
    only_pods_with_claims: ClassVar[bool] = True
    watches: ClassVar[tuple[str, ...]] = ("pods", CLAIMS)

    def affected(self, resource: str, obj: Obj, old: Obj | None, *, gone: bool) -> Iterable[str]:
        if resource == CLAIMS:
            return self.pod_index.keys_of_volume_claim(key_of(obj)) if gone else ()
        fresh = old is None and not gone and obj["spec"].get("volumes")
        return (key_of(obj),) if fresh and any(ephemeral_volumes(obj)) else ()

    def reconcile(self, key: str) -> Sequence[Action]:
        pod = self.find(key)
        if pod is None or is_deleting(pod) or is_finished(pod):
            return ()
        return [action for volume in ephemeral_volumes(pod) for action in self._claim(pod, volume)]

    def _claim(self, pod: Obj, volume: Obj) -> list[Action]:
        namespace, name = pod["metadata"]["namespace"], ephemeral_claim_name(pod, volume)
        found = self.client.get(CLAIMS, namespace, name)
        if found is None:
            return [Create(CLAIMS, _ephemeral_claim(pod, volume, name))]
        if is_owned_by(found, pod):
            return []
        why = f'PVC "{namespace}/{name}" was not created for pod "{key_of(pod)}" (pod is not owner)'
        message = f"ephemeral volume {volume['name']}: {why}"
        return [Tell("pods", pod, "FailedBinding", message, warning=True)]


def _ephemeral_claim(pod: Obj, volume: Obj, name: str) -> Obj:
    template = volume["ephemeral"].get("volumeClaimTemplate") or {}
    given = template.get("metadata") or {}
    metadata: Obj = {"name": name, "namespace": pod["metadata"]["namespace"]}
    metadata |= {field: given[field] for field in ("labels", "annotations") if given.get(field)}
    metadata["ownerReferences"] = [reference_to(pod, "v1", "Pod")]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata,
        "spec": template.get("spec") or {},
    }


class ClaimProtection(Controller):
    """Lets a deleted claim go once no pod on a node uses it."""

    name: ClassVar[str] = "claim protection"
    primary: ClassVar[str] = CLAIMS
    only_pods_with_claims: ClassVar[bool] = True
    watches: ClassVar[tuple[str, ...]] = (CLAIMS, "pods")

    def affected(self, resource: str, obj: Obj, old: Obj | None, *, gone: bool) -> Iterable[str]:
        if resource == CLAIMS:
            return (key_of(obj),) if is_deleting(obj) and not gone else ()
        if not gone or not obj["spec"].get("volumes"):
            return ()
        namespace = obj["metadata"]["namespace"]
        return [f"{namespace}/{name}" for name in volume_claims(obj).values()]

    def reconcile(self, key: str) -> Sequence[Action]:
        claim = self.find(key)
        if claim is None or not is_deleting(claim):
            return ()
        protected = CLAIM_PROTECTION in (claim["metadata"].get("finalizers") or ())
        if not protected or any(pod["spec"].get("nodeName") for pod in self.pod_index.of_volume_claim(key)):
            return ()
        return [Update(CLAIMS, without_finalizer(claim, CLAIM_PROTECTION))]


class VolumeProtection(Controller):
    """Lets a deleted volume go once it is not bound."""

    name: ClassVar[str] = "volume protection"
    primary: ClassVar[str] = VOLUMES
    watches: ClassVar[tuple[str, ...]] = (VOLUMES,)

    def affected(self, resource: str, obj: Obj, old: Obj | None, *, gone: bool) -> Iterable[str]:
        return (obj["metadata"]["name"],) if is_deleting(obj) and not gone else ()

    def reconcile(self, key: str) -> Sequence[Action]:
        volume = self.find(key)
        if volume is None or not is_deleting(volume):
            return ()
        protected = VOLUME_PROTECTION in (volume["metadata"].get("finalizers") or ())
        if not protected or (volume.get("status") or {}).get("phase") == "Bound":
            return ()
        return [Update(VOLUMES, without_finalizer(volume, VOLUME_PROTECTION))]
