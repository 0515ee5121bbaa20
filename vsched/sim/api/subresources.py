"""The subresources with forms of their own: binding, eviction, scale and log; and reviews without access control.

status, finalize, resize and the like are updates (``admission.updates``).
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from vsched.apimachinery.admission.objects import check_open
from vsched.apimachinery.admission.pod import topology_labels
from vsched.apimachinery.meta.api_errors import Failure, bad_request, conflict, not_found, storage_conflict
from vsched.apimachinery.meta.field_errors import Causes
from vsched.apimachinery.meta.kinds import Kind, Obj
from vsched.apimachinery.meta.label_selectors import label_selector_text
from vsched.apimachinery.meta.objects import with_condition
from vsched.apimachinery.objects import request_bodies
from vsched.apimachinery.objects.body_decoding import decoded
from vsched.sim.requests.request import ApiRequest
from vsched.sim.store import eviction
from vsched.sim.store.deletion import DeleteOptions
from vsched.sim.store.store import Store
from vsched.sim.writer import WriteOptions

_BINDING = "pods/binding"


def bind(store: Store, namespace: str, name: str, body: Obj, options: WriteOptions, now: datetime) -> None:
    """Binds a pod to a node; without a name in the path, that of the binding counts."""
    pods = store.registry.resource("pods")
    body = decoded(request_bodies.BINDING, body, options.field_validation, options.warnings)
    metadata = body.get("metadata") or {}
    given = metadata.get("name", "")
    check_open(pods, namespace, metadata, store, name=name or given)
    if name and given != name:
        raise bad_request("name in URL does not match name in Binding object")
    node_name = _binding_target(body)
    if not given:
        raise bad_request("Name parameter required.")
    if not name:
        # A binding without a pod's path is a new object, whose uid is ignored.
        name, metadata = given, {**metadata, "uid": ""}
    record = store.get(pods, namespace, name)
    if record is None:
        raise not_found(pods, name)
    pod = record.obj
    _check_binding(pods, pod, metadata)
    status = {key: value for key, value in pod.get("status", {}).items() if key != "nominatedNodeName"}
    status["conditions"] = _scheduled(status.get("conditions"), now)
    bound = {
        **pod,
        "metadata": _merged_metadata(store, pod["metadata"], metadata, node_name),
        "spec": {**pod["spec"], "nodeName": node_name},
        "status": status,
    }
    if not options.dry_run:
        store.replace(pods, bound, record)


def _binding_target(body: Obj) -> str:
    target = body.get("target") or {}
    causes = Causes()
    if target.get("kind") not in (None, "", "Node"):
        causes.not_supported("target.kind", target["kind"], ("Node", "<empty>"))
    if not target.get("name"):
        causes.required("target.name")
    if causes:
        texts = ", ".join(cause.text for cause in causes)
        raise Failure(500, "", f"[{texts}]" if len(causes) > 1 else texts)
    return str(target["name"])


def _check_binding(kind: Kind, pod: Obj, wanted: Obj) -> None:
    metadata = pod["metadata"]
    name, namespace = metadata["name"], metadata["namespace"]
    for field, word in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        given = wanted.get(field)
        if given and given != metadata[field]:
            why = f"Precondition failed: {word} in precondition: {given}, {word} in object meta: {metadata[field]}"
            raise storage_conflict(kind, namespace, name, why)
    if metadata.get("deletionTimestamp"):
        why = f"pod {name} is being deleted, cannot be assigned to a host"
        raise conflict(kind, name, why, resource=_BINDING)
    if pod["spec"].get("nodeName"):
        why = f'pod {name} is already assigned to node "{pod["spec"]["nodeName"]}"'
        raise conflict(kind, name, why, resource=_BINDING)
    if pod["spec"].get("schedulingGates"):
        raise conflict(kind, name, f"pod {name} has non-empty .spec.schedulingGates", resource=_BINDING)


def _merged_metadata(store: Store, metadata: Obj, wanted: Obj, node_name: str) -> Obj:
    """The metadata of the pod with labels and annotations of the binding, and with the node's topology labels."""
    merged = metadata
    labels = {**(wanted.get("labels") or {}), **topology_labels(store, node_name)}
    if labels:
        merged = {**merged, "labels": {**(metadata.get("labels") or {}), **labels}}
    if wanted.get("annotations"):
        merged = {**merged, "annotations": {**(metadata.get("annotations") or {}), **wanted["annotations"]}}
    return merged


def _scheduled(conditions: list[Obj] | None, now: datetime) -> list[Obj]:
    return with_condition(conditions, {"type": "PodScheduled", "status": "True", "lastProbeTime": None}, now)


def evict(store: Store, namespace: str, name: str, body: Obj, options: WriteOptions, now: datetime) -> Obj:
    """The eviction subresource."""
    if body.get("apiVersion") == "policy/v1beta1":
        body = {**body, "apiVersion": request_bodies.EVICTION.api_version}
    body = decoded(request_bodies.EVICTION, body, options.field_validation, options.warnings)
    pods = store.registry.resource("pods")
    metadata = body.get("metadata") or {}
    check_open(pods, namespace, metadata, store, name=name)
    if metadata.get("name", "") != name:
        raise bad_request("name in URL does not match name in Eviction object")
    asked = DeleteOptions.of(body.get("deleteOptions") or {})
    deletion = replace(asked, orphan_dependents=None, dry_run=options.dry_run or asked.dry_run)
    return eviction.evict(store, pods, namespace, name, deletion, now)


def scale_of(kind: Kind, obj: Obj) -> Obj:
    """The Scale of a workload."""
    metadata = obj["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    if kind.custom:
        wanted, there, selector = (_at(obj, path) for path in kind.scale_paths)
    else:
        wanted, there = obj["spec"].get("replicas", 1), obj.get("status", {}).get("replicas", 0)
        selector = _selector_text(obj["spec"].get("selector"))
    scale: Obj = {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {field: metadata[field] for field in kept if field in metadata},
        "spec": {"replicas": wanted} if wanted else {},
        "status": {"replicas": there or 0},
    }
    if selector:
        scale["status"]["selector"] = selector
    return scale


def with_scale(kind: Kind, obj: Obj, scale: Obj) -> Obj:
    """The workload with the replicas of a Scale."""
    scale = request_bodies.scale(scale)
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    version = (scale.get("metadata") or {}).get("resourceVersion")
    scaled = _with(obj, kind.scale_paths[0] if kind.custom else ".spec.replicas", replicas)
    return {**scaled, "metadata": {**obj["metadata"], "resourceVersion": version}} if version else scaled


def _at(obj: Obj, path: str) -> object:
    value: object = obj
    for step in path.strip(".").split(".") if path else ():
        value = value.get(step) if isinstance(value, dict) else None
    return value if path else None


def _with(obj: Obj, path: str, value: object) -> Obj:
    step, _, rest = path.strip(".").partition(".")
    return {**obj, step: _with(obj.get(step) or {}, rest, value) if rest else value}


def _selector_text(selector: Obj | None) -> str:
    """A selector in the short form; that of a replication controller is a plain map."""
    if not selector:
        return ""
    plain = "matchLabels" not in selector and "matchExpressions" not in selector
    return label_selector_text({"matchLabels": selector} if plain else selector)


def log_of(store: Store, namespace: str, name: str, call: ApiRequest) -> bytes:
    """The log of a container: one line with its start and its node, because it runs nothing."""
    pods = store.registry.resource("pods")
    record = store.get(pods, namespace, name)
    if record is None:
        raise not_found(pods, name)
    spec = record.obj["spec"]
    names = [each["name"] for field in ("containers", "initContainers") for each in spec.get(field) or ()]
    container = call.query.get("container") or names[0]
    if container not in names:
        raise bad_request(f"container {container} is not valid for pod {name}")
    if not spec.get("nodeName"):
        raise bad_request(f"pod {name} does not have a host assigned")
    status = record.obj.get("status", {})
    if status.get("containerStatuses") and status.get("phase") == "Pending":
        raise bad_request(f'container "{container}" in pod "{name}" is waiting to start: ContainerCreating')
    started = status.get("startTime")
    return f"{started} container {container} runs on {spec['nodeName']}\n".encode() if started else b""


REVIEWS: dict[str, Obj] = {
    "selfsubjectaccessreviews": {"allowed": True},
    "subjectaccessreviews": {"allowed": True},
    "localsubjectaccessreviews": {"allowed": True},
    "selfsubjectrulesreviews": {
        "incomplete": False,
        "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    },
    "selfsubjectreviews": {"userInfo": {"username": "kubernetes-admin", "groups": ["system:masters"]}},
    "tokenreviews": {"authenticated": True, "user": {"username": "kubernetes-admin", "groups": ["system:masters"]}},
}
"""The answers to reviews without access control: everybody may do everything."""


def review(kind: Kind, body: Obj) -> Obj:
    """The answer to a review without access control."""
    return {
        "kind": kind.kind,
        "apiVersion": kind.api_version,
        "metadata": body.get("metadata") or {},
        "spec": body.get("spec") or {},
        "status": REVIEWS[kind.plural],
    }
