"""Admission of new objects: namespaces, the taint of new nodes, storage classes and protection, limit ranges, quotas.

Writes nothing: the caller stores the charged quotas.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vsched.apimachinery.admission.pod import ObjectLister, admit_pod, apply_limit_ranges, with_group_priority
from vsched.apimachinery.admission.quota import charge
from vsched.apimachinery.meta.api_errors import FieldCause, bad_request, forbidden, invalid, not_found
from vsched.apimachinery.meta.field_errors import Causes
from vsched.apimachinery.meta.kinds import Kind, Obj
from vsched.apimachinery.objects.native_groups import PROTECTION

NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
_ADMIN_ACCESS = "resource.kubernetes.io/admin-access"
_WITH_ADMIN_ACCESS = frozenset({"resource.k8s.io/resourceclaims", "resource.k8s.io/resourceclaimtemplates"})
_GROUPS = frozenset({"scheduling.k8s.io/podgroups", "scheduling.k8s.io/compositepodgroups"})
_WORKLOADS = "scheduling.k8s.io/workloads"
_DEFAULT_STORAGE_CLASS = "storageclass.kubernetes.io/is-default-class"


def admit_create(kind: Kind, obj: Obj, store: ObjectLister, *, name: str = "") -> Obj:
    """The new object with what admission adds; raises Failure.

    Errors have ``name`` instead of the object's own name, because the server generates names only afterwards.
    """
    name = name or obj["metadata"].get("name", "")
    if kind.namespaced:
        _check_namespace(kind, obj["metadata"]["namespace"], name, store)
    if kind.custom:
        return obj
    if kind.storage == "/pods":
        namespace = obj["metadata"]["namespace"]
        ranges = store.objects("limitranges", namespace)
        if ranges:
            obj = apply_limit_ranges(kind, obj, ranges, name)
        return admit_pod(kind, obj, store, name)
    if kind.storage == "/nodes":
        return _tainted(obj)
    if kind.storage == "/persistentvolumeclaims":
        return _protected(_with_storage_class(obj, store), "kubernetes.io/pvc-protection")
    if kind.storage == "/persistentvolumes":
        return _protected(obj, "kubernetes.io/pv-protection")
    if kind.storage in _GROUPS:
        _check_workload(kind, obj, name, store)
        return _protected(with_group_priority(kind, obj, store, name), PROTECTION)
    if kind.storage in _WITH_ADMIN_ACCESS:
        _check_admin_access(kind, obj, name, store)
    return obj


def charge_quotas(kind: Kind, obj: Obj, store: ObjectLister) -> list[Obj]:
    """The quotas of the namespace that count this object, charged with it; raises Failure if one is exceeded."""
    if not kind.namespaced or kind.storage in _FREE:
        return []
    quotas = store.objects("resourcequotas", obj["metadata"]["namespace"])
    return charge(kind, obj, quotas) if quotas else []


_FREE = frozenset({"/events", "/bindings", "authorization.k8s.io/localsubjectaccessreviews"})
"""Resources that no quota counts."""


def check_open(kind: Kind, namespace: str, metadata: Obj, store: ObjectLister, *, name: str) -> None:
    """Checks the namespace of a subresource such as a binding; raises Failure if it is another or terminating one."""
    if metadata.get("namespace", namespace) != namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    _check_namespace(kind, namespace, name, store)


def _check_namespace(kind: Kind, namespace: str, name: str, store: ObjectLister) -> None:
    found = store.find("namespaces", "", namespace)
    if found is None:
        raise not_found(store.registry.resource("namespaces"), namespace)
    if "deletionTimestamp" in found["metadata"]:
        cause = FieldCause("NamespaceTerminating", f"namespace {namespace} is being terminated", "metadata.namespace")
        why = f"unable to create new content in namespace {namespace} because it is being terminated"
        raise forbidden(kind, name, why, [cause])


def _tainted(obj: Obj) -> Obj:
    """A new node has the not-ready taint until the node controller removes it."""
    spec = obj.get("spec", {})
    taints = spec.get("taints") or []
    if any(taint.get("key") == NOT_READY["key"] and taint.get("effect") == NOT_READY["effect"] for taint in taints):
        return obj
    return {**obj, "spec": {**spec, "taints": [*taints, NOT_READY]}}


def _check_admin_access(kind: Kind, obj: Obj, name: str, store: ObjectLister) -> None:
    """Claims with admin access are only for namespaces that are labelled for it."""
    namespace = store.find("namespaces", "", obj["metadata"]["namespace"])
    labels = ((namespace or {}).get("metadata") or {}).get("labels") or {}
    if labels.get(_ADMIN_ACCESS) == "true":
        return
    path = "spec.spec" if "Template" in kind.kind else "spec"
    spec = (obj.get("spec") or {}).get("spec") or {} if "Template" in kind.kind else obj.get("spec") or {}
    causes = Causes()
    for index, request in enumerate((spec.get("devices") or {}).get("requests") or ()):
        if (request.get("exactly") or {}).get("adminAccess"):
            why = f"admin access to devices requires the `{_ADMIN_ACCESS}: true` label on the containing namespace"
            causes.forbidden(f"{path}.devices.requests[{index}].exactly.adminAccess", why)
    if causes:
        raise invalid(kind, name, causes)


def _check_workload(kind: Kind, obj: Obj, name: str, store: ObjectLister) -> None:
    """The Workload and the template that a group names have to be there."""
    spec = obj.get("spec") or {}
    older = (spec.get("podGroupTemplateRef") or {}).get("workload") or {}
    newer = spec.get("workloadRef") or {}
    wanted = newer.get("workloadName") or older.get("workloadName")
    template = newer.get("templateName") or older.get("podGroupTemplateName")
    if not wanted:
        return
    workload = store.find(_WORKLOADS, obj["metadata"]["namespace"], wanted)
    if workload is None:
        raise forbidden(kind, name, f'workloads.scheduling.k8s.io "{wanted}" not found')
    if "deletionTimestamp" in workload["metadata"]:
        raise forbidden(kind, name, f'workload "{wanted}" is being deleted')
    if str(template) not in _template_names(workload.get("spec") or {}):
        raise forbidden(kind, name, f'workload "{wanted}" has no template "{template}"')


def _template_names(spec: Obj) -> Iterator[str]:
    for field in ("podGroupTemplates", "compositePodGroupTemplates"):
        for template in spec.get(field) or ():
            yield template.get("name", "")
            yield from _template_names(template)


def _protected(obj: Obj, finalizer: str) -> Obj:
    """With the finalizer that keeps claims and volumes while they are in use."""
    metadata = obj["metadata"]
    finalizers = metadata.get("finalizers") or []
    if finalizer in finalizers:
        return obj
    return {**obj, "metadata": {**metadata, "finalizers": [*finalizers, finalizer]}}


def _with_storage_class(obj: Obj, store: ObjectLister) -> Obj:
    """A claim without a class gets the default one, if there is one."""
    spec = obj.get("spec", {})
    if "storageClassName" in spec:
        return obj
    chosen = default_storage_class(store.objects("storage.k8s.io/storageclasses"))
    return obj if chosen is None else {**obj, "spec": {**spec, "storageClassName": chosen["metadata"]["name"]}}


def default_storage_class(classes: Iterable[Obj]) -> Obj | None:
    """The class of claims that name none: of several that are marked as default the newest, then the first by name."""
    marked = (each for each in classes if is_default_class(each))
    return max(marked, key=lambda each: str(each["metadata"]["creationTimestamp"]), default=None)


def is_default_class(storage_class: Obj) -> bool:
    annotations = storage_class["metadata"].get("annotations") or {}
    return bool(annotations.get(_DEFAULT_STORAGE_CLASS) == "true")
