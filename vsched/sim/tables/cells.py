"""Cells of the built-in kinds that take more than the value of one field, by the names that ``columns`` uses."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.label_selectors import label_selector_text
from vsched.apimachinery.meta.times import parse_time
from vsched.model.amounts.durations import short_duration
from vsched.sim.tables import pods
from vsched.sim.tables.ages import age_of
from vsched.sim.tables.pods import NONE, UNKNOWN

_ACCESS_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def _spec(obj: Obj) -> Obj:
    spec: Obj = obj.get("spec", {})
    return spec


def _status(obj: Obj) -> Obj:
    status: Obj = obj.get("status", {})
    return status


def _labels(labels: Obj | None) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or NONE


def _shortened(words: list[str]) -> str:
    if not words:
        return NONE
    return ",".join(words[:3]) + (f" + {len(words) - 3} more..." if len(words) > 3 else "")


def _workload(obj: Obj) -> Obj:
    """The spec that has the pod template; of a CronJob, that of its Jobs."""
    spec = _spec(obj)
    inner: Obj = spec["jobTemplate"].get("spec", {}) if "jobTemplate" in spec else spec
    return inner


def _containers(obj: Obj, field: str) -> str:
    containers = _workload(obj).get("template", {}).get("spec", {}).get("containers") or ()
    return ",".join(one.get(field, "") for one in containers)


def _job_status(obj: Obj, now: datetime) -> str:
    true = {one.get("type") for one in _status(obj).get("conditions") or () if one.get("status") == "True"}
    for condition in ("Complete", "Failed"):
        if condition in true:
            return condition
    if "deletionTimestamp" in obj["metadata"]:
        return "Terminating"
    return next((each for each in ("Suspended", "FailureTarget", "SuccessCriteriaMet") if each in true), "Running")


def _job_completions(obj: Obj, now: datetime) -> str:
    wanted, parallel = _spec(obj).get("completions"), _spec(obj).get("parallelism", 1)
    if wanted is None:
        wanted = f"1 of {parallel}" if parallel > 1 else "1"
    return f"{_status(obj).get('succeeded', 0)}/{wanted}"


def _job_duration(obj: Obj, now: datetime) -> str:
    started, completed = (_status(obj).get(field) for field in ("startTime", "completionTime"))
    if not started:
        return ""
    return short_duration(((parse_time(completed) if completed else now) - parse_time(started)).total_seconds())


def _last_schedule(obj: Obj, now: datetime) -> str:
    last = _status(obj).get("lastScheduleTime")
    return age_of(last, now) if last else NONE


def _controller(obj: Obj, now: datetime) -> str:
    owner = next((each for each in obj["metadata"].get("ownerReferences") or () if each.get("controller")), None)
    if owner is None:
        return NONE
    group = owner.get("apiVersion", "").rpartition("/")[0]
    kind = owner.get("kind", "").lower()
    return f"{kind}.{group}/{owner.get('name')}" if group else f"{kind}/{owner.get('name')}"


def _kind_and_name(reference: Obj | None) -> str:
    return f"{(reference or {}).get('kind', '')}/{(reference or {}).get('name', '')}"


def _either(obj: Obj, older: str, newer: str) -> Any:
    """A field of an event by its name in either version of the API."""
    return obj.get(older) or obj.get(newer)


def _first_seen(obj: Obj) -> Any:
    return _either(obj, "firstTimestamp", "deprecatedFirstTimestamp")


def _last_seen(obj: Obj, now: datetime) -> str:
    observed = (obj.get("series") or {}).get("lastObservedTime")
    last = _either(obj, "lastTimestamp", "deprecatedLastTimestamp")
    return age_of(observed or last or obj.get("eventTime") or _first_seen(obj), now)


def _event_object(obj: Obj, now: datetime) -> str:
    about = _either(obj, "involvedObject", "regarding") or {}
    return "/".join(word for word in (about.get("kind", "").lower(), about.get("name", "")) if word)


def _event_source(obj: Obj, now: datetime) -> str:
    source = _either(obj, "source", "deprecatedSource") or {}
    component = source.get("component") or _either(obj, "reportingComponent", "reportingController")
    return ", ".join(word for word in (component, source.get("host") or obj.get("reportingInstance")) if word)


def _quota(obj: Obj, *, limits: bool) -> str:
    hard, used = _status(obj).get("hard") or {}, _status(obj).get("used") or {}
    names = [name for name in sorted(hard) if name.startswith("limits.") == limits]
    return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in names)


def _subjects(obj: Obj, kind: str) -> str:
    found = [subject for subject in obj.get("subjects") or () if subject.get("kind") == kind]
    named = kind == "ServiceAccount"
    return ", ".join((f"{one.get('namespace', '')}/" if named else "") + one.get("name", "") for one in found)


def _service_ports(obj: Obj, now: datetime) -> str:
    ports = [
        f"{port.get('port')}{':' + str(port['nodePort']) if port.get('nodePort') else ''}/{port.get('protocol')}"
        for port in _spec(obj).get("ports") or ()
    ]
    return ",".join(ports) or NONE


def _balancer(obj: Obj) -> str:
    """The addresses of the load balancer of an ingress or a service."""
    ingress = _status(obj).get("loadBalancer", {}).get("ingress") or ()
    return ",".join(one.get("ip") or one.get("hostname") or "" for one in ingress)


def _external_address(obj: Obj, now: datetime) -> str:
    spec = _spec(obj)
    given = ",".join(spec.get("externalIPs") or ())
    if spec.get("type") == "ExternalName":
        return str(spec.get("externalName", ""))
    if spec.get("type") != "LoadBalancer":
        return given or NONE
    return ",".join(part for part in (_balancer(obj), given) if part) or "<pending>"


def _endpoints(obj: Obj, now: datetime) -> str:
    shown = [
        f"{address.get('ip', '')}:{port.get('port', 0)}" if port else str(address.get("ip", ""))
        for subset in obj.get("subsets") or ()
        for port in subset.get("ports") or (None,)
        for address in subset.get("addresses") or ()
    ]
    return _shortened(shown)


def _modes(modes: list[str] | None) -> str:
    return ",".join(_ACCESS_MODES.get(mode, mode) for mode in dict.fromkeys(modes or ()))


def _phase(obj: Obj, now: datetime) -> str:
    return "Terminating" if "deletionTimestamp" in obj["metadata"] else str(_status(obj).get("phase", ""))


def _volume_claim(obj: Obj, now: datetime) -> str:
    claim = _spec(obj).get("claimRef") or {}
    return f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else ""


def _bound(obj: Obj) -> Obj:
    """The status of a claim if it is bound."""
    return _status(obj) if _spec(obj).get("volumeName") else {}


def _storage_class(obj: Obj, now: datetime) -> str:
    metadata = obj["metadata"]
    default = (metadata.get("annotations") or {}).get("storageclass.kubernetes.io/is-default-class") == "true"
    return f"{metadata['name']} (default)" if default else str(metadata["name"])


def _group_policy(obj: Obj, now: datetime) -> str:
    """How a native PodGroup is scheduled: ``Gang (4)`` or ``Basic``."""
    gang = (_spec(obj).get("schedulingPolicy") or {}).get("gang")
    return "Basic" if gang is None else f"Gang ({gang.get('minCount') or gang.get('minGroupCount')})"


def _group_status(obj: Obj, now: datetime) -> str:
    """Whether a native PodGroup was scheduled, by the reason of its condition."""
    conditions = _status(obj).get("conditions") or ()
    reasons = (one.get("reason") for one in conditions if str(one.get("type", "")).endswith("Scheduled"))
    return str(next(reasons, None) or "Pending")


def _group_workload(obj: Obj, now: datetime) -> str:
    spec = _spec(obj)
    older = (spec.get("podGroupTemplateRef") or {}).get("workload") or {}
    return str((spec.get("workloadRef") or older).get("workloadName") or NONE)


def _claim_state(obj: Obj, now: datetime) -> str:
    """What has come of a ResourceClaim."""
    states = ["deleted"] if "deletionTimestamp" in obj["metadata"] else []
    if _status(obj).get("allocation") is None:
        return ",".join(states or ["pending"])
    states.append("allocated")
    if _status(obj).get("reservedFor"):
        states.append("reserved")
    return ",".join(states)


CELLS: dict[str, Callable[[Obj, datetime], Any]] = {
    "none": lambda obj, now: NONE,
    "unknown": lambda obj, now: UNKNOWN,
    "age": lambda obj, now: age_of(obj["metadata"].get("creationTimestamp"), now),
    "data_count": lambda obj, now: len(obj.get("data") or ()) + len(obj.get("binaryData") or ()),
    # pods and nodes
    "pod_ready": pods.ready,
    "pod_status": lambda obj, now: pods.pod_reason(obj),
    "pod_restarts": pods.restarts,
    "pod_ip": pods.address,
    "readiness_gates": pods.readiness_gates,
    "node_status": pods.node_status,
    "node_roles": pods.node_roles,
    "internal_ip": lambda obj, now: pods.node_address(obj, "InternalIP"),
    "external_ip": lambda obj, now: pods.node_address(obj, "ExternalIP"),
    # workloads
    "containers": lambda obj, now: _containers(obj, "name"),
    "images": lambda obj, now: _containers(obj, "image"),
    "selector": lambda obj, now: label_selector_text(_workload(obj).get("selector") or {}) or NONE,
    "label_map": lambda obj, now: _labels(_spec(obj).get("selector")),
    "node_selector": lambda obj, now: _labels(_workload(obj).get("template", {}).get("spec", {}).get("nodeSelector")),
    "ready_replicas": lambda obj, now: f"{_status(obj).get('readyReplicas', 0)}/{_spec(obj).get('replicas', 0)}",
    "job_status": _job_status,
    "job_completions": _job_completions,
    "job_duration": _job_duration,
    "suspended": lambda obj, now: str(bool(_spec(obj).get("suspend"))),
    "active_jobs": lambda obj, now: len(_status(obj).get("active") or ()),
    "last_schedule": _last_schedule,
    "scale_target": lambda obj, now: _kind_and_name(_spec(obj).get("scaleTargetRef")),
    "controller": _controller,
    # events
    "last_seen": _last_seen,
    "first_seen": lambda obj, now: age_of(_first_seen(obj) or obj.get("eventTime"), now),
    "event_object": _event_object,
    "event_subobject": lambda obj, now: (_either(obj, "involvedObject", "regarding") or {}).get("fieldPath", ""),
    "event_source": _event_source,
    "event_message": lambda obj, now: str(_either(obj, "message", "note") or "").strip(),
    "event_count": lambda obj, now: (
        (obj.get("series") or {}).get("count") or _either(obj, "count", "deprecatedCount") or 1
    ),
    # access
    "quota_requests": lambda obj, now: _quota(obj, limits=False),
    "quota_limits": lambda obj, now: _quota(obj, limits=True),
    "role": lambda obj, now: _kind_and_name(obj.get("roleRef")),
    "users": lambda obj, now: _subjects(obj, "User"),
    "groups": lambda obj, now: _subjects(obj, "Group"),
    "service_accounts": lambda obj, now: _subjects(obj, "ServiceAccount"),
    "secrets": lambda obj, now: len(obj.get("secrets") or ()),
    "webhooks": lambda obj, now: len(obj.get("webhooks") or ()),
    # network
    "service_ports": _service_ports,
    "external_address": _external_address,
    "ingress_hosts": lambda obj, now: (
        ",".join(each["host"] for each in _spec(obj).get("rules") or () if each.get("host")) or "*"
    ),
    "ingress_addresses": lambda obj, now: _balancer(obj),
    "ingress_ports": lambda obj, now: "80, 443" if _spec(obj).get("tls") else "80",
    "pod_selector": lambda obj, now: label_selector_text(_spec(obj).get("podSelector") or {}) or NONE,
    "endpoint_addresses": _endpoints,
    "slice_ports": lambda obj, now: _shortened([str(port.get("port", "*")) for port in obj.get("ports") or ()]),
    "slice_addresses": lambda obj, now: _shortened(
        [address for one in obj.get("endpoints") or () for address in one.get("addresses") or ()]
    ),
    # storage
    "phase_or_terminating": _phase,
    "volume_modes": lambda obj, now: _modes(_spec(obj).get("accessModes")),
    "volume_claim": _volume_claim,
    "claim_capacity": lambda obj, now: _bound(obj).get("capacity", {}).get("storage", ""),
    "claim_modes": lambda obj, now: _modes(_bound(obj).get("accessModes")),
    "storage_class_name": _storage_class,
    "drivers": lambda obj, now: len(_spec(obj).get("drivers") or ()),
    "token_audiences": lambda obj, now: (
        ",".join(each.get("audience", "") for each in _spec(obj).get("tokenRequests") or ()) or "<unset>"
    ),
    "lifecycle_modes": lambda obj, now: ",".join(_spec(obj).get("volumeLifecycleModes") or ()) or NONE,
    # devices
    "claim_state": _claim_state,
    "group_policy": _group_policy,
    "group_status": _group_status,
    "group_workload": _group_workload,
}
