"""Admission of new pods: priority, default tolerations, overhead, limit ranges, topology labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar

from vsched.apimachinery.meta.api_errors import forbidden
from vsched.apimachinery.meta.kinds import Kind, KindRegistry, Obj
from vsched.apimachinery.meta.remembered import remembered
from vsched.apimachinery.validation.cluster import SYSTEM_PRIORITIES
from vsched.cel import quantities

R = TypeVar("R")


class ObjectLister(Protocol):
    """The objects of all kinds. A resource is named ``pods`` or ``group/plural``."""

    registry: KindRegistry

    def find(self, resource: str, namespace: str, name: str) -> Obj | None:
        """The object of this name."""

    def objects(self, resource: str, namespace: str = "") -> list[Obj]:
        """All objects of a resource, or those of a namespace."""

    def derived(self, resource: str, work_out: Callable[[list[Obj]], R]) -> R:
        """What a function makes of all objects of a resource; it may be kept until one of them changes."""


TOPOLOGY_LABELS = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
_PREEMPT = "PreemptLowerPriority"
_TOLERATED_SECONDS = 300
_NODE_TROUBLES = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_DEFAULT_TOLERATIONS = {
    key: {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _TOLERATED_SECONDS}
    for key in _NODE_TROUBLES
}


def admit_pod(kind: Kind, obj: Obj, store: ObjectLister, name: str) -> Obj:
    """The pod with what admission adds to it; raises Failure."""
    metadata, spec = obj["metadata"], obj["spec"]
    spec = _completed(spec, _granted(kind, name, spec, store))
    if spec.get("runtimeClassName"):
        spec = _with_overhead(kind, name, spec, store)
    obj = {**obj, "spec": spec}
    if spec.get("nodeName"):
        labels = topology_labels(store, spec["nodeName"])
        if labels:
            obj["metadata"] = {**metadata, "labels": {**metadata.get("labels", {}), **labels}}
    return obj


def with_group_priority(kind: Kind, obj: Obj, store: ObjectLister, name: str) -> Obj:
    """A native PodGroup with the priority of its class, as pods get it; raises Failure."""
    spec = {**(obj.get("spec") or {})}
    policy = spec.pop("preemptionPolicy", None)
    granted = _granted(kind, name, spec, store)
    spec |= {**granted.named, "priority": granted.priority}
    if not obj["apiVersion"].endswith("/v1alpha2"):
        spec["preemptionPolicy"] = policy or granted.policy
    return {**obj, "spec": spec}


def topology_labels(store: ObjectLister, node_name: str) -> dict[str, str]:
    """The zone and region labels of a node, which its pods get when they are bound."""
    node = store.find("nodes", "", node_name)
    labels = (node or {}).get("metadata", {}).get("labels") or {}
    return {key: labels[key] for key in TOPOLOGY_LABELS if key in labels}


class _Granted(NamedTuple):
    """What the priority class of a pod grants it."""

    default_class: str
    """The class of pods that name none; empty where there is none, or the pod names one."""
    priority: int
    policy: str

    @property
    def named(self) -> Obj:
        return {"priorityClassName": self.default_class} if self.default_class else {}


@remembered
def _completed(spec: Obj, granted: _Granted) -> Obj:
    """The spec with its priority and the default tolerations."""
    spec = {**spec, **granted.named, "priority": granted.priority, "preemptionPolicy": granted.policy}
    tolerations = with_default_tolerations(spec.get("tolerations"))
    if tolerations:
        spec["tolerations"] = tolerations
    return spec


def _granted(kind: Kind, pod_name: str, spec: Obj, store: ObjectLister) -> _Granted:
    name, default_class = spec.get("priorityClassName"), ""
    if name:
        found = store.find("scheduling.k8s.io/priorityclasses", "", name)
        if found is None and name in SYSTEM_PRIORITIES:
            found = {"value": SYSTEM_PRIORITIES[name]}
        if found is None:
            raise forbidden(kind, pod_name, f"no PriorityClass with name {name} was found")
    else:
        found = store.derived("scheduling.k8s.io/priorityclasses", _default_class)
        if found is not None:
            default_class = found["metadata"]["name"]
    priority = found.get("value", 0) if found else 0
    policy = (found or {}).get("preemptionPolicy") or _PREEMPT
    given = spec.get("priority")
    if given is not None and given != priority:
        raise forbidden(kind, pod_name, _computed("integer", "priority", given, priority))
    given = spec.get("preemptionPolicy")
    if given is not None and given != policy:
        raise forbidden(kind, pod_name, _computed("string", "PreemptionPolicy", given, policy))
    return _Granted(default_class, priority, policy)


def _computed(kind: str, field: str, given: object, computed: object) -> str:
    return (
        f"the {kind} value of {field} ({given}) must not be provided in pod spec; "
        f"priority admission controller computed {computed} from the given PriorityClass name"
    )


def _default_class(classes: list[Obj]) -> Obj | None:
    """The global default class; the lowest if there are several."""
    defaults = [one for one in classes if one.get("globalDefault")]
    return min(defaults, key=lambda one: int(one.get("value", 0))) if defaults else None


def with_default_tolerations(tolerations: list[Obj] | None) -> list[Obj] | None:
    """The tolerations with those for not-ready and unreachable nodes; the same list if it covers them."""
    given = tolerations or ()
    missing = [key for key in _NODE_TROUBLES if not any(_covers(one, key) for one in given)]
    return [*given, *(_DEFAULT_TOLERATIONS[key] for key in missing)] if missing else tolerations


def _covers(toleration: Obj, key: str) -> bool:
    return toleration.get("key") in (None, "", key) and toleration.get("effect") in (None, "", "NoExecute")


def _with_overhead(kind: Kind, pod_name: str, spec: Obj, store: ObjectLister) -> Obj:
    name = spec["runtimeClassName"]
    found = store.find("node.k8s.io/runtimeclasses", "", name)
    if found is None:
        raise forbidden(kind, pod_name, f'pod rejected: RuntimeClass "{name}" not found')
    overhead = (found.get("overhead") or {}).get("podFixed")
    return {**spec, "overhead": overhead} if overhead else spec


def apply_limit_ranges(kind: Kind, obj: Obj, ranges: list[Obj], name: str) -> Obj:
    """The pod with the default requests and limits of its namespace; raises Failure if it violates a range."""
    items = [item for one in ranges for item in one.get("spec", {}).get("limits") or ()]
    items = [item for item in items if item.get("type") == "Container"]
    if not items:
        return obj
    spec = {**obj["spec"]}
    for field in ("containers", "initContainers"):
        if spec.get(field):
            spec[field] = [_with_default_resources(container, items) for container in spec[field]]
    problems = [
        problem
        for container in spec["containers"]
        for item in items
        for problem in _range_problems(container.get("resources") or {}, item)
    ]
    if problems:
        shown = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
        raise forbidden(kind, name, shown)
    return {**obj, "spec": spec}


def _with_default_resources(container: Obj, items: list[Obj]) -> Obj:
    resources = {**(container.get("resources") or {})}
    for item in items:
        for field, source in (("limits", "default"), ("requests", "defaultRequest")):
            if item.get(source):
                resources[field] = {**item[source], **resources.get(field, {})}
    return {**container, "resources": resources}


def _range_problems(resources: Obj, item: Obj) -> list[str]:
    problems = []
    for name, least in (item.get("min") or {}).items():
        request = (resources.get("requests") or {}).get(name)
        if request is None:
            problems.append(f"minimum {name} usage per Container is {least}.  No request is specified")
        elif quantities.amount(request) < quantities.amount(least):
            problems.append(f"minimum {name} usage per Container is {least}, but request is {request}")
    for name, most in (item.get("max") or {}).items():
        limit = (resources.get("limits") or {}).get(name)
        if limit is None:
            problems.append(f"maximum {name} usage per Container is {most}.  No limit is specified")
        elif quantities.amount(limit) > quantities.amount(most):
            problems.append(f"maximum {name} usage per Container is {most}, but limit is {limit}")
    return problems
