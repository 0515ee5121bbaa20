"""The defaults of built-in kinds: what the API server fills in on creation, and on every later write.

The tables at the end have one row a kind. Objects come decoded; the results share all parts that did not change.
Admission (priority, tolerations, quotas) is elsewhere.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable

from vsched.apimachinery.meta.kinds import Kind, Obj
from vsched.apimachinery.meta.remembered import remembered
from vsched.apimachinery.objects.defaults_devices import (
    default_claim,
    default_claim_template,
    default_slice,
    default_taint_rule,
)
from vsched.apimachinery.objects.defaults_network import default_endpoints, default_ingress_policy, default_service
from vsched.apimachinery.objects.defaults_pod import default_pod_spec, quality_of_service
from vsched.apimachinery.objects.defaults_workload import (
    default_cron_job,
    default_daemon_set,
    default_deployment,
    default_job,
    default_replica_set,
    default_replication_controller,
    default_stateful_set,
    generate_job_selector,
)
from vsched.apimachinery.objects.native_groups import default_group, default_workload

Rule = Callable[[Obj], Obj]

GATED = {
    "type": "PodScheduled",
    "status": "False",
    "lastProbeTime": None,
    "lastTransitionTime": None,
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}

_SERVER_OWNED = ("generation", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")
_RBAC = "rbac.authorization.k8s.io"


def default_on_create(kind: Kind, obj: Obj) -> Obj:
    """A new object with its defaults, status and generation.

    The caller has set its name, uid and creation time.
    """
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _SERVER_OWNED}
    if kind.counts_generation:
        metadata["generation"] = 1
    obj = {**obj, "metadata": metadata}
    if kind.custom:
        return obj
    name = f"{kind.group.partition('.')[0]}/{kind.kind}"
    rule = _ALWAYS.get(name)
    if rule is not None:
        obj = rule(obj)
    rule = _ON_CREATE.get(name)
    return rule(obj) if rule is not None else obj


def default_on_update(kind: Kind, obj: Obj, old: Obj) -> Obj:
    """An object that replaces ``old``, with the defaults for every write."""
    if kind.custom:
        return obj
    name = f"{kind.group.partition('.')[0]}/{kind.kind}"
    keep = _KEPT.get(name)
    if keep is not None:
        obj = keep(obj, old)
    rule = _ALWAYS.get(name)
    # The spec of the stored object has its defaults.
    if rule is None or (name not in _NOT_OF_SPEC and "spec" in obj and obj["spec"] is old.get("spec")):
        return obj
    return rule(obj)


def _pod(obj: Obj) -> Obj:
    return {**obj, "spec": _pod_spec(obj["spec"])}


@remembered
def _pod_spec(spec: Obj) -> Obj:
    return default_pod_spec(spec, pod=True)


def _new_pod(obj: Obj) -> Obj:
    status: Obj = {"phase": "Pending", "qosClass": _pod_quality(obj["spec"])}
    if obj["spec"].get("schedulingGates"):
        status["conditions"] = [GATED]
    return {**obj, "status": status}


_pod_quality = remembered(quality_of_service)


def _complete_status(obj: Obj, old: Obj) -> Obj:
    """Keeps the QoS class that a status does not repeat, and fills in podIP and podIPs from each other."""
    status, was = obj.get("status"), old.get("status", {})
    if status is None or status is was:
        return obj
    filled: Obj = {}
    if was.get("qosClass") and not status.get("qosClass"):
        filled["qosClass"] = was["qosClass"]
    address, addresses = status.get("podIP"), status.get("podIPs")
    # If both are given and differ, podIP counts, because old kubelets know no other.
    if address and (not addresses or addresses[0].get("ip") != address):
        filled["podIPs"] = [{"ip": address}]
    elif addresses and not address:
        filled["podIP"] = addresses[0].get("ip", "")
    return {**obj, "status": {**status, **filled}} if filled else obj


def _keep_address(obj: Obj, old: Obj) -> Obj:
    """Keeps the cluster IP of a Service that the body does not repeat."""
    spec, was = obj.get("spec", {}), old.get("spec", {})
    if spec.get("type", "ClusterIP") == "ExternalName" or was.get("type") == "ExternalName":
        return obj
    kept = {key: was[key] for key in ("clusterIP", "clusterIPs") if key in was and not spec.get(key)}
    return {**obj, "spec": {**spec, **kept}} if kept else obj


def _status(status: Obj) -> Rule:
    """New objects start with this status."""
    return lambda obj: {**obj, "status": status}


def _spec(defaults: Obj) -> Rule:
    """Defaults for fields of the spec."""
    return lambda obj: {**obj, "spec": {**defaults, **obj.get("spec", {})}}


def _top(defaults: Obj) -> Rule:
    """Defaults for top-level fields."""
    return lambda obj: {**obj, **{key: value for key, value in defaults.items() if key not in obj}}


def _chain(*rules: Rule) -> Rule:
    def apply(obj: Obj) -> Obj:
        for rule in rules:
            obj = rule(obj)
        return obj

    return apply


def _namespace(obj: Obj) -> Obj:
    """Its name as a label, so that selectors can select it."""
    metadata = obj["metadata"]
    labels = {**metadata.get("labels", {}), "kubernetes.io/metadata.name": metadata["name"]}
    return {**obj, "metadata": {**metadata, "labels": labels}}


def _new_namespace(obj: Obj) -> Obj:
    finalizers = obj.get("spec", {}).get("finalizers") or []
    if "kubernetes" not in finalizers:
        finalizers = [*finalizers, "kubernetes"]
    return {**obj, "spec": {"finalizers": finalizers}, "status": {"phase": "Active"}}


def _node(obj: Obj) -> Obj:
    status = obj.get("status", {})
    if status.get("capacity") and not status.get("allocatable"):
        obj = {**obj, "status": {**status, "allocatable": status["capacity"]}}
    spec = obj.get("spec", {})
    if spec.get("podCIDR") and not spec.get("podCIDRs"):
        obj = {**obj, "spec": {**spec, "podCIDRs": [spec["podCIDR"]]}}
    return obj


def _secret(obj: Obj) -> Obj:
    """stringData is write-only: it goes to data."""
    obj = {"type": "Opaque", **obj}
    text = obj.pop("stringData", None)
    if text:
        encoded = {key: b64encode(value.encode()).decode() for key, value in text.items()}
        obj["data"] = {**obj.get("data", {}), **encoded}
    return obj


def _claim(obj: Obj) -> Obj:
    return {**obj, "spec": {"volumeMode": "Filesystem", **obj.get("spec", {})}}


def _volume(obj: Obj) -> Obj:
    spec = {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem", **obj.get("spec", {})}
    if "hostPath" in spec:
        spec["hostPath"] = {"type": "", **spec["hostPath"]}
    return {**obj, "spec": spec}


def _role_binding(obj: Obj) -> Obj:
    obj = {**obj, "roleRef": {"apiGroup": _RBAC, **obj.get("roleRef", {})}}
    if obj.get("subjects"):
        obj["subjects"] = [
            {"apiGroup": _RBAC, **subject} if subject.get("kind") in ("User", "Group") else subject
            for subject in obj["subjects"]
        ]
    return obj


def _limit_range(obj: Obj) -> Obj:
    """For containers, max is the default of the limit, and the default limit (or min) that of the request."""
    limits = []
    for item in obj.get("spec", {}).get("limits") or ():
        if item.get("type") == "Container":
            default = {**item.get("max", {}), **item.get("default", {})}
            request = {**item.get("min", {}), **default, **item.get("defaultRequest", {})}
            item = {
                **item,
                **({"default": default} if default else {}),
                **({"defaultRequest": request} if request else {}),
            }
        limits.append(item)
    return {**obj, "spec": {**obj.get("spec", {}), "limits": limits}} if limits else obj


def _webhooks(mutating: bool) -> Rule:
    defaults: Obj = {
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
        "timeoutSeconds": 10,
        **({"reinvocationPolicy": "Never"} if mutating else {}),
    }

    def webhook(one: Obj) -> Obj:
        one = {**defaults, **one}
        client = one.get("clientConfig", {})
        if client.get("service"):
            one["clientConfig"] = {**client, "service": {"port": 443, **client["service"]}}
        if one.get("rules"):
            one["rules"] = [{"scope": "*", **rule} for rule in one["rules"]]
        return one

    return lambda obj: {**obj, "webhooks": [webhook(one) for one in obj["webhooks"]]} if obj.get("webhooks") else obj


def _pod_template(obj: Obj) -> Obj:
    template = obj.get("template", {})
    if "spec" not in template:
        return obj
    return {**obj, "template": {**template, "spec": default_pod_spec(template["spec"], pod=False)}}


_ALWAYS: dict[str, Rule] = {
    "/Pod": _pod,
    "/PodTemplate": _pod_template,
    "/Namespace": _namespace,
    "/Node": _node,
    "/Secret": _secret,
    "/Service": default_service,
    "/Endpoints": default_endpoints,
    "/PersistentVolumeClaim": _claim,
    "/PersistentVolume": _volume,
    "/LimitRange": _limit_range,
    "/ReplicationController": default_replication_controller,
    "apps/Deployment": default_deployment,
    "apps/ReplicaSet": default_replica_set,
    "apps/StatefulSet": default_stateful_set,
    "apps/DaemonSet": default_daemon_set,
    "batch/Job": default_job,
    "batch/CronJob": default_cron_job,
    "scheduling/PriorityClass": _top({"preemptionPolicy": "PreemptLowerPriority"}),
    "storage/StorageClass": _top({"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"}),
    "storage/CSIDriver": _spec(
        {
            "attachRequired": True,
            "podInfoOnMount": False,
            "storageCapacity": False,
            "fsGroupPolicy": "ReadWriteOnceWithFSType",
            "volumeLifecycleModes": ["Persistent"],
            "requiresRepublish": False,
            "seLinuxMount": False,
        }
    ),
    "resource/ResourceClaim": default_claim,
    "resource/ResourceClaimTemplate": default_claim_template,
    "resource/ResourceSlice": default_slice,
    "resource/DeviceTaintRule": default_taint_rule,
    "scheduling/PodGroup": default_group,
    "scheduling/CompositePodGroup": default_group,
    "scheduling/Workload": default_workload,
    "rbac/RoleBinding": _role_binding,
    "rbac/ClusterRoleBinding": _role_binding,
    "networking/NetworkPolicy": default_ingress_policy,
    "autoscaling/HorizontalPodAutoscaler": _spec({"minReplicas": 1}),
    "admissionregistration/MutatingWebhookConfiguration": _webhooks(True),
    "admissionregistration/ValidatingWebhookConfiguration": _webhooks(False),
}
"""By the first label of the group and the kind."""

_NOT_OF_SPEC = frozenset({"/Namespace"})
"""Kinds whose rule fills in more than the spec."""

_KEPT: dict[str, Callable[[Obj, Obj], Obj]] = {"/Pod": _complete_status, "/Service": _keep_address}
"""What an update keeps of the stored object."""

_NO_DISRUPTIONS = {"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0}
_NO_DAEMONS = {
    "currentNumberScheduled": 0,
    "desiredNumberScheduled": 0,
    "numberMisscheduled": 0,
    "numberReady": 0,
}

_ON_CREATE: dict[str, Rule] = {
    "/Pod": _new_pod,
    "/Namespace": _new_namespace,
    "/Service": _status({"loadBalancer": {}}),
    "/PersistentVolumeClaim": _status({"phase": "Pending"}),
    "/PersistentVolume": _status({"phase": "Pending"}),
    "/ResourceQuota": _status({}),
    "/ReplicationController": _status({"replicas": 0}),
    "apps/Deployment": _status({}),
    "apps/ReplicaSet": _status({"replicas": 0}),
    "apps/StatefulSet": _status({"replicas": 0, "availableReplicas": 0}),
    "apps/DaemonSet": _status(_NO_DAEMONS),
    "batch/Job": _chain(_status({}), generate_job_selector),
    "batch/CronJob": _status({}),
    "policy/PodDisruptionBudget": _status(_NO_DISRUPTIONS),
    "networking/Ingress": _status({"loadBalancer": {}}),
    "storage/VolumeAttachment": _status({"attached": False}),
    "resource/ResourceClaim": _status({}),
    "scheduling/PodGroup": _status({}),
    "scheduling/CompositePodGroup": _status({}),
}
