"""Columns and cells of the built-in kinds, one row a kind in the table at the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from vsched.sim.ages import age_of, short_duration
from vsched.sim.kinds import Column, Kind
from vsched.sim.table_pods import NONE, UNKNOWN, node_cells, pod_cells
from vsched.sim.times import parse_time

Obj = dict[str, Any]
Cells = Callable[[Obj, datetime], list[Any]]

_UNSET = "<unset>"
_ACCESS_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of one kind and the function that fills them."""

    columns: tuple[Column, ...]
    cells: Cells


def layout_of(kind: Kind) -> Layout:
    return _LAYOUTS.get(kind.storage, _PLAIN)


def _columns(names: str) -> tuple[Column, ...]:
    """``Name|Age|+Selector|#Count``: + is shown with -o wide only, # holds integers, ! booleans."""
    columns = []
    for name in names.split("|"):
        wide = name.startswith("+")
        bare = name.lstrip("+#!")
        kind = "integer" if "#" in name else "boolean" if "!" in name else "string"
        columns.append(Column(bare, kind, "name" if bare == "Name" else "", "", 1 if wide else 0))
    return tuple(columns)


def _name(obj: Obj) -> str:
    return str(obj["metadata"].get("name", ""))


def _age(obj: Obj, now: datetime) -> str:
    return age_of(obj["metadata"].get("creationTimestamp"), now)


def _images(template: Obj) -> tuple[str, str]:
    containers = template.get("spec", {}).get("containers") or ()
    return ",".join(one.get("name", "") for one in containers), ",".join(one.get("image", "") for one in containers)


def _selector_text(selector: Obj | None) -> str:
    """A label selector in the short form."""
    if not selector:
        return NONE
    terms = [f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items())]
    for one in selector.get("matchExpressions") or ():
        key, values = one.get("key", ""), ",".join(sorted(one.get("values") or ()))
        operators = {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})", "Exists": key}
        terms.append(operators.get(one.get("operator", ""), f"!{key}"))
    return ",".join(terms) or NONE


def _labels_text(labels: Obj | None) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or NONE


def _created(obj: Obj, now: datetime) -> list[Any]:
    return [_name(obj), obj["metadata"].get("creationTimestamp")]


def _named(*fields: Callable[[Obj], Any]) -> Cells:
    """Name, then what the functions give, then the age."""
    return lambda obj, now: [_name(obj), *(field(obj) for field in fields), _age(obj, now)]


def _namespace_cells(obj: Obj, now: datetime) -> list[Any]:
    return [_name(obj), obj.get("status", {}).get("phase", ""), _age(obj, now)]


def _service_cells(obj: Obj, now: datetime) -> list[Any]:
    spec = obj.get("spec", {})
    ports = [
        f"{port.get('port')}:{port['nodePort']}/{port.get('protocol')}"
        if port.get("nodePort")
        else f"{port.get('port')}/{port.get('protocol')}"
        for port in spec.get("ports") or ()
    ]
    return [
        _name(obj),
        spec.get("type", ""),
        spec.get("clusterIP") or NONE,
        _external_address(obj),
        ",".join(ports) or NONE,
        _age(obj, now),
        _labels_text(spec.get("selector")),
    ]


def _external_address(obj: Obj) -> str:
    spec = obj.get("spec", {})
    given = ",".join(spec.get("externalIPs") or ())
    if spec.get("type") == "ExternalName":
        return str(spec.get("externalName", ""))
    if spec.get("type") != "LoadBalancer":
        return given or NONE
    ingress = obj.get("status", {}).get("loadBalancer", {}).get("ingress") or ()
    found = ",".join(one.get("ip") or one.get("hostname") or "" for one in ingress)
    return ",".join(part for part in (found, given) if part) or "<pending>"


def _deployment_cells(obj: Obj, now: datetime) -> list[Any]:
    spec, status = obj.get("spec", {}), obj.get("status", {})
    return [
        _name(obj),
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}",
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        _age(obj, now),
        *_images(spec.get("template", {})),
        _selector_text(spec.get("selector")),
    ]


def _replica_set_cells(obj: Obj, now: datetime) -> list[Any]:
    spec, status = obj.get("spec", {}), obj.get("status", {})
    return [
        _name(obj),
        spec.get("replicas", 0),
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        _age(obj, now),
        *_images(spec.get("template", {})),
        _selector_text(spec.get("selector")),
    ]


def _stateful_set_cells(obj: Obj, now: datetime) -> list[Any]:
    spec, status = obj.get("spec", {}), obj.get("status", {})
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}"
    return [_name(obj), ready, _age(obj, now), *_images(spec.get("template", {}))]


def _daemon_set_cells(obj: Obj, now: datetime) -> list[Any]:
    spec, status = obj.get("spec", {}), obj.get("status", {})
    counts = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady", "updatedNumberScheduled",
              "numberAvailable")  # fmt: skip
    return [
        _name(obj),
        *(status.get(field, 0) for field in counts),
        _labels_text(spec.get("template", {}).get("spec", {}).get("nodeSelector")),
        _age(obj, now),
        *_images(spec.get("template", {})),
        _selector_text(spec.get("selector")),
    ]


def _job_cells(obj: Obj, now: datetime) -> list[Any]:
    spec, status = obj.get("spec", {}), obj.get("status", {})
    wanted = spec.get("completions")
    if wanted is None:
        parallel = spec.get("parallelism", 1)
        wanted = f"1 of {parallel}" if parallel > 1 else "1"
    duration = ""
    if status.get("startTime"):
        end = parse_time(status["completionTime"]) if status.get("completionTime") else now
        duration = short_duration((end - parse_time(status["startTime"])).total_seconds())
    return [
        _name(obj),
        _job_status(obj),
        f"{status.get('succeeded', 0)}/{wanted}",
        duration,
        _age(obj, now),
        *_images(spec.get("template", {})),
        _selector_text(spec.get("selector")),
    ]


def _job_status(obj: Obj) -> str:
    true = {one.get("type") for one in obj.get("status", {}).get("conditions") or () if one.get("status") == "True"}
    for condition, shown in (("Complete", "Complete"), ("Failed", "Failed")):
        if condition in true:
            return shown
    if "deletionTimestamp" in obj["metadata"]:
        return "Terminating"
    for condition in ("Suspended", "FailureTarget", "SuccessCriteriaMet"):
        if condition in true:
            return condition
    return "Running"


def _cron_job_cells(obj: Obj, now: datetime) -> list[Any]:
    spec, status = obj.get("spec", {}), obj.get("status", {})
    job = spec.get("jobTemplate", {}).get("spec", {})
    last = status.get("lastScheduleTime")
    return [
        _name(obj),
        spec.get("schedule", ""),
        spec.get("timeZone") or NONE,
        str(bool(spec.get("suspend"))),
        len(status.get("active") or ()),
        age_of(last, now) if last else NONE,
        _age(obj, now),
        *_images(job.get("template", {})),
        _selector_text(job.get("selector")),
    ]


def _event_cells(obj: Obj, now: datetime) -> list[Any]:
    about = obj.get("involvedObject") or obj.get("regarding") or {}
    source = obj.get("source") or obj.get("deprecatedSource") or {}
    first = obj.get("firstTimestamp") or obj.get("deprecatedFirstTimestamp")
    last = obj.get("lastTimestamp") or obj.get("deprecatedLastTimestamp")
    series, when = obj.get("series") or {}, obj.get("eventTime")
    shown_first = age_of(first or when, now)
    shown_last = age_of(series.get("lastObservedTime") or last or when or first, now)
    count = series.get("count") or obj.get("count") or obj.get("deprecatedCount") or 1
    kind = about.get("kind", "").lower()
    words = [source.get("component") or obj.get("reportingComponent") or obj.get("reportingController") or "",
             source.get("host") or obj.get("reportingInstance") or ""]  # fmt: skip
    return [
        shown_last,
        obj.get("type", ""),
        obj.get("reason", ""),
        f"{kind}/{about.get('name', '')}" if kind else about.get("name", ""),
        about.get("fieldPath", ""),
        ", ".join(word for word in words if word),
        str(obj.get("message") or obj.get("note") or "").strip(),
        shown_first,
        count,
        _name(obj),
    ]


def _budget_cells(obj: Obj, now: datetime) -> list[Any]:
    spec = obj.get("spec", {})
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    allowed = obj.get("status", {}).get("disruptionsAllowed", 0)
    shown = ["N/A" if value is None else str(value) for value in (least, most)]
    return [_name(obj), *shown, allowed, _age(obj, now)]


def _quota_cells(obj: Obj, now: datetime) -> list[Any]:
    status = obj.get("status", {})
    used = status.get("used") or {}
    requests, limits = [], []
    for name, hard in sorted((status.get("hard") or {}).items()):
        shown = f"{name}: {used.get(name, '0')}/{hard}"
        (limits if name.startswith("limits.") else requests).append(shown)
    return [_name(obj), ", ".join(requests), ", ".join(limits), _age(obj, now)]


def _volume_cells(obj: Obj, now: datetime) -> list[Any]:
    spec, status = obj.get("spec", {}), obj.get("status", {})
    claim = spec.get("claimRef") or {}
    phase = "Terminating" if "deletionTimestamp" in obj["metadata"] else status.get("phase", "")
    return [
        _name(obj),
        spec.get("capacity", {}).get("storage", ""),
        _modes(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        phase,
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        spec.get("storageClassName", ""),
        spec.get("volumeAttributesClassName") or _UNSET,
        status.get("reason", ""),
        _age(obj, now),
        spec.get("volumeMode") or _UNSET,
    ]


def _claim_cells(obj: Obj, now: datetime) -> list[Any]:
    spec, status = obj.get("spec", {}), obj.get("status", {})
    bound = bool(spec.get("volumeName"))
    phase = "Terminating" if "deletionTimestamp" in obj["metadata"] else status.get("phase", "")
    return [
        _name(obj),
        phase,
        spec.get("volumeName", ""),
        status.get("capacity", {}).get("storage", "") if bound else "",
        _modes(status.get("accessModes")) if bound else "",
        spec.get("storageClassName", ""),
        spec.get("volumeAttributesClassName") or _UNSET,
        _age(obj, now),
        spec.get("volumeMode") or _UNSET,
    ]


def _modes(modes: list[str] | None) -> str:
    return ",".join(_ACCESS_MODES.get(mode, mode) for mode in dict.fromkeys(modes or ()))


def _storage_class_cells(obj: Obj, now: datetime) -> list[Any]:
    annotations = obj["metadata"].get("annotations") or {}
    default = annotations.get("storageclass.kubernetes.io/is-default-class") == "true"
    return [
        f"{_name(obj)} (default)" if default else _name(obj),
        obj.get("provisioner", ""),
        obj.get("reclaimPolicy", "Delete"),
        obj.get("volumeBindingMode", "Immediate"),
        bool(obj.get("allowVolumeExpansion")),
        _age(obj, now),
    ]


def _role_binding_cells(obj: Obj, now: datetime) -> list[Any]:
    role = obj.get("roleRef") or {}
    by_kind: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for subject in obj.get("subjects") or ():
        name = subject.get("name", "")
        if subject.get("kind") == "ServiceAccount":
            name = f"{subject.get('namespace', '')}/{name}"
        by_kind.setdefault(subject.get("kind", ""), []).append(name)
    subjects = [", ".join(by_kind[kind]) for kind in ("User", "Group", "ServiceAccount")]
    return [_name(obj), f"{role.get('kind', '')}/{role.get('name', '')}", _age(obj, now), *subjects]


def _scaler_cells(obj: Obj, now: datetime) -> list[Any]:
    spec, target = obj.get("spec", {}), obj.get("spec", {}).get("scaleTargetRef", {})
    return [
        _name(obj),
        f"{target.get('kind', '')}/{target.get('name', '')}",
        UNKNOWN,
        str(spec.get("minReplicas", UNKNOWN)),
        spec.get("maxReplicas", 0),
        obj.get("status", {}).get("currentReplicas", 0),
        _age(obj, now),
    ]


def _ingress_cells(obj: Obj, now: datetime) -> list[Any]:
    spec = obj.get("spec", {})
    hosts = ",".join(rule["host"] for rule in spec.get("rules") or () if rule.get("host")) or "*"
    ingress = obj.get("status", {}).get("loadBalancer", {}).get("ingress") or ()
    address = ",".join(one.get("ip") or one.get("hostname") or "" for one in ingress)
    ports = "80, 443" if spec.get("tls") else "80"
    return [_name(obj), spec.get("ingressClassName") or NONE, hosts, address, ports, _age(obj, now)]


def _data_count(*parts: str) -> Callable[[Obj], int]:
    return lambda obj: sum(len(obj.get(part) or ()) for part in parts)


def _at(*path: str, default: Any = "") -> Callable[[Obj], Any]:
    def read(obj: Obj) -> Any:
        value: Any = obj
        for step in path:
            value = value.get(step) if isinstance(value, dict) else None
        return default if value is None else value

    return read


def _count(*path: str) -> Callable[[Obj], int]:
    read = _at(*path, default=())
    return lambda obj: len(read(obj))


_PLAIN = Layout((Column("Name", "string", "name"), Column("Created At", "date")), _created)
_WITH_TEMPLATE = "+Containers|+Images|+Selector"
_WEBHOOKS = Layout(_columns("Name|#Webhooks|Age"), _named(_count("webhooks")))
_BINDINGS = Layout(_columns("Name|Role|Age|+Users|+Groups|+ServiceAccounts"), _role_binding_cells)

_LAYOUTS: dict[str, Layout] = {
    "/pods": Layout(_columns("Name|Ready|Status|Restarts|Age|+IP|+Node|+Nominated Node|+Readiness Gates"), pod_cells),
    "/nodes": Layout(
        _columns(
            "Name|Status|Roles|Age|Version|+Internal-IP|+External-IP|+OS-Image|+Kernel-Version|+Container-Runtime"
        ),
        node_cells,
    ),
    "/namespaces": Layout(_columns("Name|Status|Age"), _namespace_cells),
    "/services": Layout(_columns("Name|Type|Cluster-IP|External-IP|Port(s)|Age|+Selector"), _service_cells),
    "/configmaps": Layout(_columns("Name|#Data|Age"), _named(_data_count("data", "binaryData"))),
    "/secrets": Layout(_columns("Name|Type|#Data|Age"), _named(_at("type"), _data_count("data"))),
    "/serviceaccounts": Layout(_columns("Name|#Secrets|Age"), _named(_count("secrets"))),
    "/events": Layout(
        _columns("Last Seen|Type|Reason|Object|+Subobject|+Source|Message|+First Seen|+#Count|+Name"),
        _event_cells,
    ),
    "/resourcequotas": Layout(_columns("Name|Request|Limit|Age"), _quota_cells),
    "/persistentvolumes": Layout(
        _columns(
            "Name|Capacity|Access Modes|Reclaim Policy|Status|Claim|StorageClass|VolumeAttributesClass|Reason|Age"
            "|+VolumeMode"
        ),
        _volume_cells,
    ),
    "/persistentvolumeclaims": Layout(
        _columns("Name|Status|Volume|Capacity|Access Modes|StorageClass|VolumeAttributesClass|Age|+VolumeMode"),
        _claim_cells,
    ),
    "/replicationcontrollers": Layout(
        _columns(f"Name|#Desired|#Current|#Ready|Age|{_WITH_TEMPLATE}"),
        lambda obj, now: [
            *_replica_set_cells(obj, now)[:-1],
            _labels_text(obj.get("spec", {}).get("selector")),
        ],
    ),
    "apps/deployments": Layout(_columns(f"Name|Ready|#Up-to-date|#Available|Age|{_WITH_TEMPLATE}"), _deployment_cells),
    "apps/replicasets": Layout(_columns(f"Name|#Desired|#Current|#Ready|Age|{_WITH_TEMPLATE}"), _replica_set_cells),
    "apps/statefulsets": Layout(_columns("Name|Ready|Age|+Containers|+Images"), _stateful_set_cells),
    "apps/daemonsets": Layout(
        _columns(f"Name|#Desired|#Current|#Ready|#Up-to-date|#Available|Node Selector|Age|{_WITH_TEMPLATE}"),
        _daemon_set_cells,
    ),
    "batch/jobs": Layout(_columns(f"Name|Status|Completions|Duration|Age|{_WITH_TEMPLATE}"), _job_cells),
    "batch/cronjobs": Layout(
        _columns(f"Name|Schedule|Timezone|Suspend|#Active|Last Schedule|Age|{_WITH_TEMPLATE}"), _cron_job_cells
    ),
    "coordination.k8s.io/leases": Layout(_columns("Name|Holder|Age"), _named(_at("spec", "holderIdentity"))),
    "policy/poddisruptionbudgets": Layout(
        _columns("Name|Min Available|Max Unavailable|#Allowed Disruptions|Age"), _budget_cells
    ),
    "scheduling.k8s.io/priorityclasses": Layout(
        _columns("Name|#Value|!Global-Default|Age|PreemptionPolicy"),
        lambda obj, now: [
            _name(obj),
            obj.get("value", 0),
            bool(obj.get("globalDefault")),
            _age(obj, now),
            obj.get("preemptionPolicy", ""),
        ],
    ),
    "storage.k8s.io/storageclasses": Layout(
        _columns("Name|Provisioner|ReclaimPolicy|VolumeBindingMode|!AllowVolumeExpansion|Age"), _storage_class_cells
    ),
    "storage.k8s.io/csinodes": Layout(_columns("Name|#Drivers|Age"), _named(_count("spec", "drivers"))),
    "storage.k8s.io/volumeattachments": Layout(
        _columns("Name|Attacher|PV|Node|!Attached|Age"),
        _named(
            _at("spec", "attacher"),
            _at("spec", "source", "persistentVolumeName"),
            _at("spec", "nodeName"),
            _at("status", "attached", default=False),
        ),
    ),
    "rbac.authorization.k8s.io/rolebindings": _BINDINGS,
    "rbac.authorization.k8s.io/clusterrolebindings": _BINDINGS,
    "autoscaling/horizontalpodautoscalers": Layout(
        _columns("Name|Reference|Targets|MinPods|#MaxPods|#Replicas|Age"), _scaler_cells
    ),
    "networking.k8s.io/ingresses": Layout(_columns("Name|Class|Hosts|Address|Ports|Age"), _ingress_cells),
    "networking.k8s.io/networkpolicies": Layout(
        _columns("Name|Pod-Selector|Age"), _named(lambda obj: _selector_text(obj.get("spec", {}).get("podSelector")))
    ),
    "networking.k8s.io/ingressclasses": Layout(
        _columns("Name|Controller|Parameters|Age"), _named(_at("spec", "controller"), lambda obj: NONE)
    ),
    "node.k8s.io/runtimeclasses": Layout(_columns("Name|Handler|Age"), _named(_at("handler"))),
    "admissionregistration.k8s.io/mutatingwebhookconfigurations": _WEBHOOKS,
    "admissionregistration.k8s.io/validatingwebhookconfigurations": _WEBHOOKS,
}
"""By storage, so that two versions of a resource look alike."""
