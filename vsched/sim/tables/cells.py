"""Columns and cells of the built-in kinds, one row a kind in the table at the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from vsched.sim.store.kinds import Column, Kind, Obj
from vsched.sim.store.label_selectors import label_selector_text
from vsched.sim.store.times import parse_time
from vsched.sim.tables.ages import age_of, short_duration
from vsched.sim.tables.pods import NONE, node_cells, pod_cells
from vsched.sim.tables.resources import (
    claim_cells,
    creation_age,
    ingress_cells,
    labels_text,
    name_of,
    role_binding_cells,
    scaler_cells,
    service_cells,
    storage_class_cells,
    volume_cells,
)

Cells = Callable[[Obj, datetime], list[Any]]


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


def _images(template: Obj) -> tuple[str, str]:
    containers = template.get("spec", {}).get("containers") or ()
    return ",".join(one.get("name", "") for one in containers), ",".join(one.get("image", "") for one in containers)


def _selector_text(selector: Obj | None) -> str:
    return label_selector_text(selector or {}) or NONE


def _created(obj: Obj, now: datetime) -> list[Any]:
    return [name_of(obj), obj["metadata"].get("creationTimestamp")]


def _named(*fields: Callable[[Obj], Any]) -> Cells:
    """Name, then what the functions give, then the age."""
    return lambda obj, now: [name_of(obj), *(field(obj) for field in fields), creation_age(obj, now)]


def _namespace_cells(obj: Obj, now: datetime) -> list[Any]:
    return [name_of(obj), obj.get("status", {}).get("phase", ""), creation_age(obj, now)]


def _deployment_cells(obj: Obj, now: datetime) -> list[Any]:
    spec, status = obj.get("spec", {}), obj.get("status", {})
    return [
        name_of(obj),
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}",
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        creation_age(obj, now),
        *_images(spec.get("template", {})),
        _selector_text(spec.get("selector")),
    ]


def _replica_set_cells(obj: Obj, now: datetime) -> list[Any]:
    spec, status = obj.get("spec", {}), obj.get("status", {})
    return [
        name_of(obj),
        spec.get("replicas", 0),
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        creation_age(obj, now),
        *_images(spec.get("template", {})),
        _selector_text(spec.get("selector")),
    ]


def _stateful_set_cells(obj: Obj, now: datetime) -> list[Any]:
    spec, status = obj.get("spec", {}), obj.get("status", {})
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}"
    return [name_of(obj), ready, creation_age(obj, now), *_images(spec.get("template", {}))]


def _daemon_set_cells(obj: Obj, now: datetime) -> list[Any]:
    spec, status = obj.get("spec", {}), obj.get("status", {})
    counts = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady", "updatedNumberScheduled",
              "numberAvailable")  # fmt: skip
    return [
        name_of(obj),
        *(status.get(field, 0) for field in counts),
        labels_text(spec.get("template", {}).get("spec", {}).get("nodeSelector")),
        creation_age(obj, now),
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
        name_of(obj),
        _job_status(obj),
        f"{status.get('succeeded', 0)}/{wanted}",
        duration,
        creation_age(obj, now),
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
        name_of(obj),
        spec.get("schedule", ""),
        spec.get("timeZone") or NONE,
        str(bool(spec.get("suspend"))),
        len(status.get("active") or ()),
        age_of(last, now) if last else NONE,
        creation_age(obj, now),
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
        name_of(obj),
    ]


def _budget_cells(obj: Obj, now: datetime) -> list[Any]:
    spec = obj.get("spec", {})
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    allowed = obj.get("status", {}).get("disruptionsAllowed", 0)
    shown = ["N/A" if value is None else str(value) for value in (least, most)]
    return [name_of(obj), *shown, allowed, creation_age(obj, now)]


def _quota_cells(obj: Obj, now: datetime) -> list[Any]:
    status = obj.get("status", {})
    used = status.get("used") or {}
    requests: list[str] = []
    limits: list[str] = []
    for name, hard in sorted((status.get("hard") or {}).items()):
        shown = f"{name}: {used.get(name, '0')}/{hard}"
        (limits if name.startswith("limits.") else requests).append(shown)
    return [name_of(obj), ", ".join(requests), ", ".join(limits), creation_age(obj, now)]


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
_BINDINGS = Layout(_columns("Name|Role|Age|+Users|+Groups|+ServiceAccounts"), role_binding_cells)


def _endpoint_addresses(obj: Obj) -> str:
    shown = [
        f"{address.get('ip', '')}:{port.get('port', 0)}" if port else str(address.get("ip", ""))
        for subset in obj.get("subsets") or ()
        for port in subset.get("ports") or (None,)
        for address in subset.get("addresses") or ()
    ]
    return _shortened(shown)


def _shortened(words: list[str]) -> str:
    if not words:
        return NONE
    return ",".join(words[:3]) + (f" + {len(words) - 3} more..." if len(words) > 3 else "")


def _slice_ports(obj: Obj) -> str:
    return _shortened([str(port["port"]) if "port" in port else "*" for port in obj.get("ports") or ()])


def _slice_addresses(obj: Obj) -> str:
    return _shortened([address for one in obj.get("endpoints") or () for address in one.get("addresses") or ()])


def _controller(obj: Obj) -> str:
    owners = [owner for owner in obj["metadata"].get("ownerReferences") or () if owner.get("controller")]
    if not owners:
        return NONE
    group = owners[0].get("apiVersion", "").rpartition("/")[0]
    kind = owners[0].get("kind", "").lower()
    return f"{kind}.{group}/{owners[0].get('name')}" if group else f"{kind}/{owners[0].get('name')}"


_LAYOUTS: dict[str, Layout] = {
    "/pods": Layout(_columns("Name|Ready|Status|Restarts|Age|+IP|+Node|+Nominated Node|+Readiness Gates"), pod_cells),
    "/nodes": Layout(
        _columns(
            "Name|Status|Roles|Age|Version|+Internal-IP|+External-IP|+OS-Image|+Kernel-Version|+Container-Runtime"
        ),
        node_cells,
    ),
    "/namespaces": Layout(_columns("Name|Status|Age"), _namespace_cells),
    "/services": Layout(_columns("Name|Type|Cluster-IP|External-IP|Port(s)|Age|+Selector"), service_cells),
    "/configmaps": Layout(_columns("Name|#Data|Age"), _named(_data_count("data", "binaryData"))),
    "/secrets": Layout(_columns("Name|Type|#Data|Age"), _named(_at("type"), _data_count("data"))),
    "/serviceaccounts": Layout(_columns("Name|#Secrets|Age"), _named(_count("secrets"))),
    "/events": Layout(
        _columns("Last Seen|Type|Reason|Object|+Subobject|+Source|Message|+First Seen|+#Count|+Name"),
        _event_cells,
    ),
    "/endpoints": Layout(_columns("Name|Endpoints|Age"), _named(_endpoint_addresses)),
    "discovery.k8s.io/endpointslices": Layout(
        _columns("Name|AddressType|Ports|Endpoints|Age"), _named(_at("addressType"), _slice_ports, _slice_addresses)
    ),
    "apps/controllerrevisions": Layout(
        _columns("Name|Controller|#Revision|Age"), _named(_controller, _at("revision", default=0))
    ),
    "/resourcequotas": Layout(_columns("Name|Request|Limit|Age"), _quota_cells),
    "/persistentvolumes": Layout(
        _columns(
            "Name|Capacity|Access Modes|Reclaim Policy|Status|Claim|StorageClass|VolumeAttributesClass|Reason|Age"
            "|+VolumeMode"
        ),
        volume_cells,
    ),
    "/persistentvolumeclaims": Layout(
        _columns("Name|Status|Volume|Capacity|Access Modes|StorageClass|VolumeAttributesClass|Age|+VolumeMode"),
        claim_cells,
    ),
    "/replicationcontrollers": Layout(
        _columns(f"Name|#Desired|#Current|#Ready|Age|{_WITH_TEMPLATE}"),
        lambda obj, now: [
            *_replica_set_cells(obj, now)[:-1],
            labels_text(obj.get("spec", {}).get("selector")),
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
            name_of(obj),
            obj.get("value", 0),
            bool(obj.get("globalDefault")),
            creation_age(obj, now),
            obj.get("preemptionPolicy", ""),
        ],
    ),
    "storage.k8s.io/storageclasses": Layout(
        _columns("Name|Provisioner|ReclaimPolicy|VolumeBindingMode|!AllowVolumeExpansion|Age"), storage_class_cells
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
        _columns("Name|Reference|Targets|MinPods|#MaxPods|#Replicas|Age"), scaler_cells
    ),
    "networking.k8s.io/ingresses": Layout(_columns("Name|Class|Hosts|Address|Ports|Age"), ingress_cells),
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
