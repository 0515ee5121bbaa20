"""The columns of the built-in kinds, as data: one line a kind.

A line is made of columns with ``|`` between them: ``NAME=SOURCE?DEFAULT``.

- Before the name, ``+`` marks a column that only ``-o wide`` shows, ``#`` one of integers, ``!`` one of booleans.
- The source is the path of a field, or ``@`` and the name of a function in ``cells``. Name and Age need none.
- The default stands where the field is missing or empty. Without one it is the zero of the column's type.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from vsched.apimachinery.meta.kinds import Kind, Obj, PrinterColumn
from vsched.sim.tables.cells import CELLS

Source = Callable[[Obj, datetime], Any]

_COLUMN = re.compile(r"(\+?)([#!]?)([^=]+)(?:=([^?]+)(?:\?(.+))?)?")
_TYPES: dict[str, tuple[str, Any]] = {"#": ("integer", 0), "!": ("boolean", False), "": ("string", "")}
_KNOWN = {"Name": "metadata.name", "Age": "@age"}
_TEMPLATE = "+Containers=@containers|+Images=@images|+Selector=@selector"
_WEBHOOKS = "Name|#Webhooks=@webhooks|Age"
_BINDINGS = "Name|Role=@role|Age|+Users=@users|+Groups=@groups|+ServiceAccounts=@service_accounts"
_REPLICAS = "Name|#Desired=spec.replicas|#Current=status.replicas|#Ready=status.readyReplicas|Age"

_TABLES = {
    "/pods": (
        "Name|Ready=@pod_ready|Status=@pod_status|Restarts=@pod_restarts|Age|+IP=@pod_ip|+Node=spec.nodeName?<none>"
        "|+Nominated Node=status.nominatedNodeName?<none>|+Readiness Gates=@readiness_gates"
    ),
    "/nodes": (
        "Name|Status=@node_status|Roles=@node_roles|Age|Version=status.nodeInfo.kubeletVersion"
        "|+Internal-IP=@internal_ip|+External-IP=@external_ip|+OS-Image=status.nodeInfo.osImage?<unknown>"
        "|+Kernel-Version=status.nodeInfo.kernelVersion?<unknown>"
        "|+Container-Runtime=status.nodeInfo.containerRuntimeVersion?<unknown>"
    ),
    "/namespaces": "Name|Status=status.phase|Age",
    "/services": (
        "Name|Type=spec.type|Cluster-IP=spec.clusterIP?<none>|External-IP=@external_address|Port(s)=@service_ports|Age"
        "|+Selector=@label_map"
    ),
    "/configmaps": "Name|#Data=@data_count|Age",
    "/secrets": "Name|Type=type|#Data=@data_count|Age",
    "/serviceaccounts": "Name|#Secrets=@secrets|Age",
    "/events": (
        "Last Seen=@last_seen|Type=type|Reason=reason|Object=@event_object|+Subobject=@event_subobject"
        "|+Source=@event_source|Message=@event_message|+First Seen=@first_seen|+#Count=@event_count|+Name"
    ),
    "/endpoints": "Name|Endpoints=@endpoint_addresses|Age",
    "discovery.k8s.io/endpointslices": (
        "Name|AddressType=addressType|Ports=@slice_ports|Endpoints=@slice_addresses|Age"
    ),
    "apps/controllerrevisions": "Name|Controller=@controller|#Revision=revision|Age",
    "/resourcequotas": "Name|Request=@quota_requests|Limit=@quota_limits|Age",
    "/persistentvolumes": (
        "Name|Capacity=spec.capacity.storage|Access Modes=@volume_modes"
        "|Reclaim Policy=spec.persistentVolumeReclaimPolicy|Status=@phase_or_terminating|Claim=@volume_claim"
        "|StorageClass=spec.storageClassName|VolumeAttributesClass=spec.volumeAttributesClassName?<unset>"
        "|Reason=status.reason|Age|+VolumeMode=spec.volumeMode?<unset>"
    ),
    "/persistentvolumeclaims": (
        "Name|Status=@phase_or_terminating|Volume=spec.volumeName|Capacity=@claim_capacity|Access Modes=@claim_modes"
        "|StorageClass=spec.storageClassName|VolumeAttributesClass=spec.volumeAttributesClassName?<unset>|Age"
        "|+VolumeMode=spec.volumeMode?<unset>"
    ),
    "/replicationcontrollers": f"{_REPLICAS}|+Containers=@containers|+Images=@images|+Selector=@label_map",
    "apps/deployments": (
        "Name|Ready=@ready_replicas|#Up-to-date=status.updatedReplicas|#Available=status.availableReplicas|Age"
        f"|{_TEMPLATE}"
    ),
    "apps/replicasets": f"{_REPLICAS}|{_TEMPLATE}",
    "apps/statefulsets": "Name|Ready=@ready_replicas|Age|+Containers=@containers|+Images=@images",
    "apps/daemonsets": (
        "Name|#Desired=status.desiredNumberScheduled|#Current=status.currentNumberScheduled|#Ready=status.numberReady"
        "|#Up-to-date=status.updatedNumberScheduled|#Available=status.numberAvailable|Node Selector=@node_selector|Age"
        f"|{_TEMPLATE}"
    ),
    "batch/jobs": f"Name|Status=@job_status|Completions=@job_completions|Duration=@job_duration|Age|{_TEMPLATE}",
    "batch/cronjobs": (
        "Name|Schedule=spec.schedule|Timezone=spec.timeZone?<none>|Suspend=@suspended|#Active=@active_jobs"
        f"|Last Schedule=@last_schedule|Age|{_TEMPLATE}"
    ),
    "coordination.k8s.io/leases": "Name|Holder=spec.holderIdentity|Age",
    "policy/poddisruptionbudgets": (
        "Name|Min Available=spec.minAvailable?N/A|Max Unavailable=spec.maxUnavailable?N/A"
        "|#Allowed Disruptions=status.disruptionsAllowed|Age"
    ),
    "scheduling.k8s.io/priorityclasses": (
        "Name|#Value=value|!Global-Default=globalDefault|Age|PreemptionPolicy=preemptionPolicy"
    ),
    "scheduling.k8s.io/workloads": "Name|Age",
    "scheduling.k8s.io/podgroups": "Name|Policy=@group_policy|Status=@group_status|Age|+Workload=@group_workload",
    "scheduling.k8s.io/compositepodgroups": (
        "Name|Policy=@group_policy|Status=@group_status|Age|+Workload=@group_workload"
    ),
    "storage.k8s.io/storageclasses": (
        "Name=@storage_class_name|Provisioner=provisioner|ReclaimPolicy=reclaimPolicy?Delete"
        "|VolumeBindingMode=volumeBindingMode?Immediate|!AllowVolumeExpansion=allowVolumeExpansion|Age"
    ),
    "storage.k8s.io/csinodes": "Name|#Drivers=@drivers|Age",
    "storage.k8s.io/volumeattachments": (
        "Name|Attacher=spec.attacher|PV=spec.source.persistentVolumeName|Node=spec.nodeName|!Attached=status.attached"
        "|Age"
    ),
    "storage.k8s.io/csidrivers": (
        "Name|!AttachRequired=spec.attachRequired|!PodInfoOnMount=spec.podInfoOnMount"
        "|!StorageCapacity=spec.storageCapacity|TokenRequests=@token_audiences"
        "|!RequiresRepublish=spec.requiresRepublish|Modes=@lifecycle_modes|Age"
    ),
    "storage.k8s.io/csistoragecapacities": "Name|StorageClassName=storageClassName|Capacity=capacity",
    "resource.k8s.io/deviceclasses": "Name|Age",
    "resource.k8s.io/resourceclaims": "Name|State=@claim_state|Age",
    "resource.k8s.io/resourceclaimtemplates": "Name|Age",
    "resource.k8s.io/devicetaintrules": "Name|Age",
    "resource.k8s.io/resourceslices": "Name|Node=spec.nodeName|Driver=spec.driver|Pool=spec.pool.name|Age",
    "rbac.authorization.k8s.io/rolebindings": _BINDINGS,
    "rbac.authorization.k8s.io/clusterrolebindings": _BINDINGS,
    "autoscaling/horizontalpodautoscalers": (
        "Name|Reference=@scale_target|Targets=@unknown|MinPods=spec.minReplicas?<unknown>|#MaxPods=spec.maxReplicas"
        "|#Replicas=status.currentReplicas|Age"
    ),
    "networking.k8s.io/ingresses": (
        "Name|Class=spec.ingressClassName?<none>|Hosts=@ingress_hosts|Address=@ingress_addresses|Ports=@ingress_ports"
        "|Age"
    ),
    "networking.k8s.io/networkpolicies": "Name|Pod-Selector=@pod_selector|Age",
    "networking.k8s.io/ingressclasses": "Name|Controller=spec.controller|Parameters=@none|Age",
    "node.k8s.io/runtimeclasses": "Name|Handler=handler|Age",
    "admissionregistration.k8s.io/mutatingwebhookconfigurations": _WEBHOOKS,
    "admissionregistration.k8s.io/validatingwebhookconfigurations": _WEBHOOKS,
}
"""By storage, so that two versions of a resource look alike."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of one kind, and the functions that fill them."""

    columns: tuple[PrinterColumn, ...]
    sources: tuple[Source, ...]

    def cells(self, obj: Obj, now: datetime) -> list[Any]:
        """The row of one object."""
        return [source(obj, now) for source in self.sources]


_PLAIN = Layout(
    (PrinterColumn("Name", "string", "name"), PrinterColumn("Created At", "date")),
    (
        lambda obj, now: str(obj["metadata"].get("name", "")),
        lambda obj, now: obj["metadata"].get("creationTimestamp"),
    ),
)
"""For kinds without a line."""


def layout_of(kind: Kind) -> Layout:
    """The columns of a built-in kind."""
    text = _TABLES.get(kind.storage)
    return _layout(text) if text else _PLAIN


@cache
def _layout(text: str) -> Layout:
    columns, sources = zip(*(_column(each) for each in text.split("|")), strict=True)
    return Layout(columns, sources)


def _column(text: str) -> tuple[PrinterColumn, Source]:
    match = _COLUMN.fullmatch(text)
    assert match is not None
    wide, mark, name, given, default = match.groups()
    type_, zero = _TYPES[mark]
    column = PrinterColumn(name, type_, "name" if name == "Name" else "", "", 1 if wide else 0)
    source = given or _KNOWN[name]
    if source.startswith("@"):
        return column, CELLS[source[1:]]
    return column, _field(source.split("."), default if default is not None else zero)


def _field(path: list[str], default: Any) -> Source:
    """The value of a field; a column of strings shows other values as text."""

    def read(obj: Obj, now: datetime) -> Any:
        value: Any = obj
        for step in path:
            value = value.get(step) if isinstance(value, dict) else None
        if value is None or value == "":
            return default
        return str(value) if isinstance(default, str) else value

    return read
