"""Validation: the errors of an object's metadata, and by the rules of its kind.

The tables at the end name the rules of each kind, which are in the modules beside this one. Objects come decoded and
with defaults. Of custom kinds only the metadata is checked here.
"""

from __future__ import annotations

from collections.abc import Callable

from vsched.apimachinery.meta.field_errors import Causes
from vsched.apimachinery.meta.kinds import Kind, Obj
from vsched.apimachinery.meta.name_formats import (
    label_1035_problems,
    label_problems,
    path_segment_problems,
    qualified_name_problems,
    subdomain_problems,
)
from vsched.apimachinery.meta.remembered import remembered
from vsched.apimachinery.objects.field_decoding import unknown_fields
from vsched.apimachinery.validation import (
    cluster,
    devices,
    event,
    native_groups,
    pod_update,
    resource_claims,
    volumes,
    workload,
)
from vsched.apimachinery.validation.pod import check_pod_spec
from vsched.apimachinery.validation.webhooks import check_webhooks

__all__ = ["unknown_fields", "validate_create", "validate_metadata", "validate_update"]

Check = Callable[[Obj, Causes], None]
UpdateCheck = Callable[[Obj, Obj, Causes], None]

_FINALIZERS = frozenset({"orphan", "foregroundDeletion", "kubernetes"})


def validate_create(kind: Kind, obj: Obj) -> Causes:
    """The errors of a new object."""
    causes = validate_metadata(kind, obj)
    check = None if kind.custom else _CREATE.get(kind.storage)
    if check is not None:
        check(obj, causes)
    return causes


def validate_update(kind: Kind, new: Obj, old: Obj, subresource: str = "") -> Causes:
    """The errors of a new state of an object."""
    causes = Causes()
    if new["metadata"] is not old["metadata"]:
        if not _same_metadata(new["metadata"], old["metadata"]):
            causes = validate_metadata(kind, new)
        _check_metadata_update(new["metadata"], old["metadata"], causes)
    if kind.custom:
        return causes
    if subresource:
        by_subresource = _UPDATE_SUBRESOURCE.get((kind.storage, subresource))
        if by_subresource is not None:
            by_subresource(new, old, causes)
        return causes
    update = _UPDATE.get(kind.storage)
    if update is not None:
        update(new, old, causes)
    elif kind.storage in _CREATE:
        _CREATE[kind.storage](new, causes)
    return causes


def validate_metadata(kind: Kind, obj: Obj) -> Causes:
    """The errors of the name, labels, annotations, finalizers and owner references of any object."""
    causes = Causes()
    metadata = obj["metadata"]
    name = metadata.get("name")
    if not name:
        causes.required("metadata.name", "name or generateName is required")
    else:
        causes.check_format(name, _NAMES.get(kind.storage, subdomain_problems), "metadata.name")
    if "labels" in metadata:
        causes.check_labels(metadata["labels"], "metadata.labels")
    if "annotations" in metadata:
        causes.check_annotations(metadata["annotations"], "metadata.annotations")
    for finalizer in metadata.get("finalizers") or ():
        _check_finalizer(finalizer, causes)
    if "ownerReferences" in metadata:
        _check_owners(metadata["ownerReferences"] or [], causes)
    return causes


def _check_finalizer(finalizer: str, causes: Causes) -> None:
    where = "metadata.finalizers"
    qualified = causes.check_format(finalizer, qualified_name_problems, where)
    if qualified and "/" not in finalizer and finalizer not in _FINALIZERS:
        why = "name is neither a standard finalizer name nor is it fully qualified"
        causes.invalid(where, finalizer, why)


def _check_owners(owners: list[Obj], causes: Causes) -> None:
    controllers = 0
    where = "metadata.ownerReferences"
    for owner in owners:
        for field in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(field):
                why = "version must not be empty" if field == "apiVersion" else f"{field} must not be empty"
                causes.invalid(f"{where}.{field}", owner.get(field) or "", why)
        if owner.get("kind") == "Event" and owner.get("apiVersion") in ("v1", "events.k8s.io/v1"):
            causes.invalid(where, owner, f"{owner['apiVersion']}, Kind=Event is disallowed from being an owner")
        controllers += bool(owner.get("controller"))
    if controllers > 1:
        named = [owner.get("name") for owner in owners if owner.get("controller")]
        why = f"Only one reference can have Controller set to true. Found {controllers} controllers: {named}"
        causes.invalid(where, owners, why)


def _same_metadata(new: Obj, old: Obj) -> bool:
    return all(new.get(field) == old.get(field) for field in ("labels", "annotations", "finalizers", "ownerReferences"))


def _check_metadata_update(new: Obj, old: Obj, causes: Causes) -> None:
    for field in ("name", "namespace", "uid", "deletionTimestamp", "deletionGracePeriodSeconds"):
        if new.get(field, "") != old.get(field, ""):
            causes.check_immutable(new.get(field), old.get(field), f"metadata.{field}")
    if old.get("deletionTimestamp"):
        before = old.get("finalizers") or ()
        added = [one for one in new.get("finalizers") or () if one not in before]
        if added:
            listed = ", ".join(f'"{one}"' for one in added)
            why = (
                "no new finalizers can be added if the object is being deleted,"
                f" found new finalizers []string{{{listed}}}"
            )
            causes.forbidden("metadata.finalizers", why)


def _check_pod(obj: Obj, causes: Causes) -> None:
    if not _is_fine(obj["spec"]):
        check_pod_spec(obj["spec"], "spec", causes)


@remembered
def _is_fine(spec: Obj) -> bool:
    causes = Causes()
    check_pod_spec(spec, "spec", causes)
    return not causes


def _check_pod_template(obj: Obj, causes: Causes) -> None:
    workload.check_template(obj.get("template"), "template", causes)


def _check_node_status(new: Obj, old: Obj, causes: Causes) -> None:
    cluster.check_node_status(new, causes)


def _check_quota_status(new: Obj, old: Obj, causes: Causes) -> None:
    cluster.check_quota(new, causes)


_NAMES: dict[str, Callable[[str], tuple[str, ...]]] = {
    "/namespaces": label_problems,
    "/services": label_1035_problems,
    "rbac.authorization.k8s.io/roles": path_segment_problems,
    "rbac.authorization.k8s.io/clusterroles": path_segment_problems,
    "rbac.authorization.k8s.io/rolebindings": path_segment_problems,
    "rbac.authorization.k8s.io/clusterrolebindings": path_segment_problems,
}
"""The formats of names that are not DNS subdomains; by storage."""

_CREATE: dict[str, Check] = {
    "admissionregistration.k8s.io/validatingwebhookconfigurations": check_webhooks,
    "admissionregistration.k8s.io/mutatingwebhookconfigurations": check_webhooks,
    "/pods": _check_pod,
    "/podtemplates": _check_pod_template,
    "/nodes": cluster.check_node,
    "/namespaces": cluster.check_namespace,
    "/services": cluster.check_service,
    "/configmaps": cluster.check_keys,
    "/secrets": cluster.check_keys,
    "/resourcequotas": cluster.check_quota,
    "/persistentvolumeclaims": volumes.check_claim,
    "/persistentvolumes": volumes.check_volume,
    "/events": event.check_event,
    "apps/deployments": workload.check_controller,
    "apps/replicasets": workload.check_controller,
    "apps/statefulsets": workload.check_controller,
    "apps/daemonsets": workload.check_controller,
    "batch/jobs": workload.check_job,
    "batch/cronjobs": workload.check_cron_job,
    "coordination.k8s.io/leases": cluster.check_lease,
    "policy/poddisruptionbudgets": cluster.check_budget,
    "rbac.authorization.k8s.io/rolebindings": cluster.check_role_binding,
    "rbac.authorization.k8s.io/clusterrolebindings": cluster.check_role_binding,
    "scheduling.k8s.io/priorityclasses": cluster.check_priority_class,
    "storage.k8s.io/storageclasses": volumes.check_storage_class,
    "storage.k8s.io/csinodes": volumes.check_csi_node,
    "storage.k8s.io/csistoragecapacities": volumes.check_capacity,
    "storage.k8s.io/volumeattachments": volumes.check_attachment,
    "resource.k8s.io/deviceclasses": devices.check_device_class,
    "resource.k8s.io/resourceslices": devices.check_slice,
    "resource.k8s.io/devicetaintrules": devices.check_taint_rule,
    "resource.k8s.io/resourceclaims": resource_claims.check_claim_object,
    "resource.k8s.io/resourceclaimtemplates": resource_claims.check_template,
    "scheduling.k8s.io/workloads": native_groups.check_workload,
    "scheduling.k8s.io/podgroups": native_groups.check_group,
    "scheduling.k8s.io/compositepodgroups": native_groups.check_composite,
}

_UPDATE: dict[str, UpdateCheck] = {
    "/pods": pod_update.check_pod_update,
    "/nodes": cluster.check_node_update,
    "/services": cluster.check_service_update,
    "/configmaps": cluster.check_keys_update,
    "/secrets": cluster.check_keys_update,
    "/persistentvolumeclaims": volumes.check_claim_update,
    "/persistentvolumes": volumes.check_volume_update,
    "/events": event.check_event_update,
    "apps/deployments": workload.check_controller_update,
    "apps/replicasets": workload.check_controller_update,
    "apps/statefulsets": workload.check_stateful_set_update,
    "apps/daemonsets": workload.check_controller_update,
    "batch/jobs": workload.check_job_update,
    "rbac.authorization.k8s.io/rolebindings": cluster.check_role_binding_update,
    "rbac.authorization.k8s.io/clusterrolebindings": cluster.check_role_binding_update,
    "scheduling.k8s.io/priorityclasses": cluster.check_priority_class_update,
    "storage.k8s.io/storageclasses": volumes.check_storage_class_update,
    "storage.k8s.io/volumeattachments": volumes.check_attachment_update,
    "resource.k8s.io/resourceslices": devices.check_slice_update,
    "resource.k8s.io/resourceclaims": resource_claims.check_unchanged,
    "resource.k8s.io/resourceclaimtemplates": resource_claims.check_unchanged,
    "scheduling.k8s.io/workloads": native_groups.check_workload_update,
    "scheduling.k8s.io/podgroups": native_groups.check_group_update,
    "scheduling.k8s.io/compositepodgroups": native_groups.check_composite_update,
}
"""Updates of other kinds are checked as new objects."""

_UPDATE_SUBRESOURCE: dict[tuple[str, str], UpdateCheck] = {
    ("/pods", "status"): pod_update.check_pod_status,
    ("/pods", "resize"): pod_update.check_resize,
    ("/pods", "ephemeralcontainers"): pod_update.check_ephemeral,
    ("/nodes", "status"): _check_node_status,
    ("/resourcequotas", "status"): _check_quota_status,
    ("resource.k8s.io/resourceclaims", "status"): resource_claims.check_claim_status,
}
