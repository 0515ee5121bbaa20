"""Validation of volumes, claims and what they depend on."""

from __future__ import annotations

from vsched.apimachinery.meta.field_errors import Causes, forbidden
from vsched.apimachinery.meta.kinds import Obj, without
from vsched.apimachinery.meta.name_formats import subdomain_problems
from vsched.apimachinery.validation.resources import check_amount

_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_VOLUME_MODES = ("Block", "Filesystem")
_POLICIES = ("Delete", "Recycle", "Retain")
_NOT_A_SOURCE = frozenset(
    {"capacity", "accessModes", "claimRef", "persistentVolumeReclaimPolicy", "storageClassName", "mountOptions"}
    | {"volumeMode", "nodeAffinity", "volumeAttributesClassName"}
)


def check_claim(obj: Obj, causes: Causes) -> None:
    spec = obj.get("spec") or {}
    if not spec.get("accessModes"):
        causes.required("spec.accessModes", "at least 1 access mode is required")
    _check_access_modes(spec, causes)
    requests = (spec.get("resources") or {}).get("requests") or {}
    if "storage" not in requests:
        causes.required("spec.resources[storage]")
    else:
        check_amount("storage", requests["storage"], "spec.resources[storage]", causes)
    causes.check_selector(spec.get("selector"), "spec.selector")


def _check_access_modes(spec: Obj, causes: Causes) -> None:
    modes = spec.get("accessModes") or ()
    for mode in modes:
        causes.check_one_of(mode, _ACCESS_MODES, "spec.accessModes")
    if "ReadWriteOncePod" in modes and len(modes) > 1:
        causes.forbidden("spec.accessModes", "may not use ReadWriteOncePod with other access modes")
    causes.check_one_of(spec.get("volumeMode", "Filesystem"), _VOLUME_MODES, "spec.volumeMode")


def check_claim_update(new: Obj, old: Obj, causes: Causes) -> None:
    check_claim(new, causes)
    mutable = ("resources", "volumeAttributesClassName")
    now, was = without(new["spec"], mutable), without(old["spec"], mutable)
    if not was.get("volumeName"):
        now.pop("volumeName", None)
        if "storageClassName" not in was:
            now.pop("storageClassName", None)
    if now != was:
        but = "resources.requests and volumeAttributesClassName for bound claims"
        why = f"spec is immutable after creation except {but}\n"
        causes.forbidden("spec", why)


def check_volume(obj: Obj, causes: Causes) -> None:
    spec = obj.get("spec") or {}
    if not spec.get("accessModes"):
        causes.required("spec.accessModes")
    _check_access_modes(spec, causes)
    capacity = spec.get("capacity") or {}
    if not capacity:
        causes.required("spec.capacity")
    elif "storage" not in capacity or len(capacity) > 1:
        causes.not_supported("spec.capacity", sorted(capacity), ("storage",))
    else:
        check_amount("storage", capacity["storage"], "spec.capacity[storage]", causes)
    causes.check_one_of(spec.get("persistentVolumeReclaimPolicy"), _POLICIES, "spec.persistentVolumeReclaimPolicy")
    sources = [field for field in spec if field not in _NOT_A_SOURCE]
    if not sources:
        causes.required("spec", "must specify a volume type")
    causes.extend(forbidden(f"spec.{each}", "may not specify more than 1 volume type") for each in sources[1:])
    if "csi" in spec:
        causes.check_name(spec["csi"].get("driver"), subdomain_problems, "spec.csi.driver")
        if not spec["csi"].get("volumeHandle"):
            causes.required("spec.csi.volumeHandle")
    affinity = spec.get("nodeAffinity")
    if affinity is not None and not (affinity.get("required") or {}).get("nodeSelectorTerms"):
        path = "spec.nodeAffinity.required"
        causes.required(path if "required" not in affinity else f"{path}.nodeSelectorTerms")


def check_volume_update(new: Obj, old: Obj, causes: Causes) -> None:
    check_volume(new, causes)
    now, was = new["spec"], old["spec"]
    if without(now, _NOT_A_SOURCE) != without(was, _NOT_A_SOURCE):
        causes.forbidden("spec.persistentvolumesource", "spec.persistentvolumesource is immutable after creation")
    causes.check_immutable(now.get("volumeMode"), was.get("volumeMode"), "spec.volumeMode")
    if was.get("nodeAffinity") and now.get("nodeAffinity") != was["nodeAffinity"]:
        causes.invalid("spec.nodeAffinity", now.get("nodeAffinity"), "field is immutable")


def check_storage_class(obj: Obj, causes: Causes) -> None:
    if not obj.get("provisioner"):
        causes.required("provisioner")
    causes.check_one_of(obj.get("reclaimPolicy"), ("Delete", "Retain"), "reclaimPolicy")
    modes = ("Immediate", "WaitForFirstConsumer")
    causes.check_one_of(obj.get("volumeBindingMode"), modes, "volumeBindingMode")


def check_storage_class_update(new: Obj, old: Obj, causes: Causes) -> None:
    changed = [field for field in ("parameters", "provisioner", "reclaimPolicy") if new.get(field) != old.get(field)]
    causes.extend(forbidden(field, f"updates to {field} are forbidden.") for field in changed)
    causes.check_immutable(new.get("volumeBindingMode"), old.get("volumeBindingMode"), "volumeBindingMode")


def check_csi_node(obj: Obj, causes: Causes) -> None:
    for index, driver in enumerate((obj.get("spec") or {}).get("drivers") or ()):
        name = driver.get("name") or ""
        where = f"spec.drivers[{index}]"
        causes.check_format(name, subdomain_problems, f"{where}.name")
        if not driver.get("nodeID"):
            causes.required(f"{where}.nodeID")


def check_attachment(obj: Obj, causes: Causes) -> None:
    spec = obj.get("spec") or {}
    causes.check_name(spec.get("attacher"), subdomain_problems, "spec.attacher")
    if not spec.get("nodeName"):
        causes.required("spec.nodeName")
    if not (spec.get("source") or {}).get("persistentVolumeName") and "inlineVolumeSpec" not in spec.get("source", {}):
        causes.required("spec.source", "must specify exactly one of inlineVolumeSpec and persistentVolumeName")


def check_attachment_update(new: Obj, old: Obj, causes: Causes) -> None:
    check_attachment(new, causes)
    causes.check_immutable(new.get("spec"), old.get("spec"), "spec")


def check_capacity(obj: Obj, causes: Causes) -> None:
    causes.check_name(obj.get("storageClassName"), subdomain_problems, "storageClassName")
    causes.check_selector(obj.get("nodeTopology"), "nodeTopology")
    for field in ("capacity", "maximumVolumeSize"):
        if field in obj:
            check_amount("storage", obj[field], field, causes)
