"""What the server fills into new objects."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.builtin_kinds import KINDS, POD, WIDGET, container, pod
from vsched.apimachinery.objects.defaults import default_on_create, default_on_update
from vsched.apimachinery.objects.field_decoding import conform

Obj = dict[str, Any]


def _created(name: str, obj: Obj) -> Obj:
    kind = KINDS[name]
    return default_on_create(kind, conform(kind, {"metadata": {"name": "x", "namespace": "d", "uid": "u"}, **obj})[0])


def test_a_pod_of_one_container() -> None:
    assert default_on_create(POD, conform(POD, pod())[0]) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "d", "generation": 1},
        "spec": {
            "containers": [
                {
                    "name": "c",
                    "image": "app",
                    "imagePullPolicy": "Always",
                    "resources": {},
                    "terminationMessagePath": "/dev/termination-log",
                    "terminationMessagePolicy": "File",
                }
            ],
            "dnsPolicy": "ClusterFirst",
            "enableServiceLinks": True,
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "securityContext": {},
            "terminationGracePeriodSeconds": 30,
        },
        "status": {"phase": "Pending", "qosClass": "BestEffort"},
    }


def test_what_a_body_says_about_identity_and_status_is_ignored() -> None:
    obj = {**pod(), "status": {"phase": "Running", "podIP": "1.2.3.4"}}
    obj["metadata"] |= {"generation": 7, "deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 1}
    made = default_on_create(POD, conform(POD, obj)[0])
    assert made["metadata"] == {"name": "p", "namespace": "d", "generation": 1}
    assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


def test_a_gated_pod_is_not_scheduled() -> None:
    made = default_on_create(POD, conform(POD, pod(schedulingGates=[{"name": "a/b"}]))[0])
    assert made["status"]["conditions"] == [
        {
            "type": "PodScheduled",
            "status": "False",
            "lastProbeTime": None,
            "lastTransitionTime": None,
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
        }
    ]


_PULL = {
    "no tag is latest": ("app", "Always"),
    "latest is always pulled": ("app:latest", "Always"),
    "a tag is pulled once": ("app:1.2", "IfNotPresent"),
    "a port is no tag": ("registry:5000/app", "Always"),
    "a digest is pulled once": ("app@sha256:0123", "IfNotPresent"),
}


@pytest.mark.parametrize(("image", "policy"), _PULL.values(), ids=_PULL)
def test_pull_policy(image: str, policy: str) -> None:
    made = default_on_create(POD, conform(POD, pod(containers=[{"name": "c", "image": image}]))[0])
    assert made["spec"]["containers"][0]["imagePullPolicy"] == policy


_QUALITY: dict[str, tuple[Obj, str]] = {
    "nothing asked is best effort": ({}, "BestEffort"),
    "only GPUs is best effort": ({"limits": {"nvidia.com/gpu": "1"}}, "BestEffort"),
    "limits of both are guaranteed": ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
    "a limit of one is burstable": ({"limits": {"cpu": "1"}}, "Burstable"),
    "requests alone are burstable": ({"requests": {"cpu": "1", "memory": "1Gi"}}, "Burstable"),
    "requests below limits are burstable": (
        {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}}, "Burstable",
    ),
    "a request of nothing is best effort": ({"requests": {"cpu": "0"}}, "BestEffort"),
}  # fmt: skip


@pytest.mark.parametrize(("resources", "quality"), _QUALITY.values(), ids=_QUALITY)
def test_class_of_service(resources: Obj, quality: str) -> None:
    made = default_on_create(POD, conform(POD, pod(containers=[container(resources=resources)]))[0])
    assert made["status"]["qosClass"] == quality
    limits = resources.get("limits", {})
    requests = made["spec"]["containers"][0]["resources"].get("requests", {})
    assert limits.keys() <= requests.keys()


def test_volumes_probes_and_references() -> None:
    spec = {
        "volumes": [
            {"name": "none"},
            {"name": "secret", "secret": {"secretName": "s"}},
            {"name": "host", "hostPath": {"path": "/x"}},
            {"name": "all", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
        ],
        "containers": [
            container(
                ports=[{"containerPort": 80}],
                env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
                livenessProbe={"httpGet": {"port": 80}},
                lifecycle={"preStop": {"httpGet": {"port": 80}}},
            )
        ],
        "serviceAccountName": "robot",
    }
    made = default_on_create(POD, conform(POD, pod(**spec))[0])["spec"]
    assert made["volumes"] == [
        {"name": "none", "emptyDir": {}},
        {"name": "secret", "secret": {"defaultMode": 420, "secretName": "s"}},
        {"name": "host", "hostPath": {"type": "", "path": "/x"}},
        {
            "name": "all",
            "projected": {
                "defaultMode": 420,
                "sources": [{"serviceAccountToken": {"expirationSeconds": 3600, "path": "t"}}],
            },
        },
    ]
    first = made["containers"][0]
    assert first["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    assert first["env"][0]["valueFrom"]["fieldRef"]["apiVersion"] == "v1"
    assert first["livenessProbe"] == {
        "httpGet": {"port": 80, "path": "/", "scheme": "HTTP"},
        "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3,
    }  # fmt: skip
    assert first["lifecycle"]["preStop"]["httpGet"]["scheme"] == "HTTP"
    assert made["serviceAccount"] == "robot"


def _at(obj: Obj, path: str) -> Any:
    value: Any = obj
    for step in path.split("."):
        value = value[int(step)] if isinstance(value, list) else value[step]
    return value


_TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "app"}]}}
_SELECTING = {"selector": {"matchLabels": {"a": "b"}}, "template": _TEMPLATE}
_KINDS: dict[str, tuple[str, Obj, dict[str, Any]]] = {
    "a Deployment rolls by quarters": (
        "apps/Deployment", {"spec": _SELECTING},
        {
            "spec.replicas": 1, "spec.revisionHistoryLimit": 10, "spec.progressDeadlineSeconds": 600,
            "spec.strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
            "spec.template.spec.restartPolicy": "Always", "status": {},
        },
    ),
    "a Recreate strategy has no limits": (
        "apps/Deployment", {"spec": {**_SELECTING, "strategy": {"type": "Recreate"}}},
        {"spec.strategy": {"type": "Recreate"}},
    ),
    "no replicas are kept": ("apps/ReplicaSet", {"spec": {**_SELECTING, "replicas": 0}}, {"spec.replicas": 0}),
    "a StatefulSet starts in order": (
        "apps/StatefulSet", {"spec": {**_SELECTING, "volumeClaimTemplates": [{"metadata": {"name": "v"}}]}},
        {
            "spec.podManagementPolicy": "OrderedReady",
            "spec.updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
            "spec.persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
            "spec.volumeClaimTemplates.0.kind": "PersistentVolumeClaim",
            "spec.volumeClaimTemplates.0.status.phase": "Pending",
        },
    ),
    "a DaemonSet replaces one at a time": (
        "apps/DaemonSet", {"spec": _SELECTING},
        {"spec.updateStrategy.rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}, "status.numberReady": 0},
    ),
    "a Job runs once and finds its pods by uid": (
        "batch/Job", {"spec": {"template": _TEMPLATE}},
        {
            "spec.completions": 1, "spec.parallelism": 1, "spec.backoffLimit": 6, "spec.suspend": False,
            "spec.completionMode": "NonIndexed", "spec.podReplacementPolicy": "TerminatingOrFailed",
            "spec.selector.matchLabels": {"batch.kubernetes.io/controller-uid": "u"},
            "spec.template.metadata.labels": {
                "a": "b", "batch.kubernetes.io/controller-uid": "u", "batch.kubernetes.io/job-name": "x",
                "controller-uid": "u", "job-name": "x",
            },
            "metadata.labels": {"a": "b"},
        },
    ),
    "a CronJob keeps some history": (
        "batch/CronJob", {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": _TEMPLATE}}}},
        {
            "spec.concurrencyPolicy": "Allow", "spec.successfulJobsHistoryLimit": 3,
            "spec.jobTemplate.spec.template.spec.dnsPolicy": "ClusterFirst",
        },
    ),
    "a Service gets an address": (
        "/Service", {"spec": {"ports": [{"port": 80}]}},
        {
            "spec.type": "ClusterIP", "spec.ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
            "spec.ipFamilies": ["IPv4"], "spec.sessionAffinity": "None", "status": {"loadBalancer": {}},
        },
    ),
    "a namespace carries its name as a label": (
        "/Namespace", {},
        {
            "metadata.labels": {"kubernetes.io/metadata.name": "x"}, "spec.finalizers": ["kubernetes"],
            "status.phase": "Active",
        },
    ),
    "a node's allocatable is its capacity": (
        "/Node", {"status": {"capacity": {"cpu": "4"}}}, {"status.allocatable": {"cpu": "4"}},
    ),
    "the text of a Secret lands in its data": (
        "/Secret", {"stringData": {"a": "b"}}, {"data": {"a": "Yg=="}, "type": "Opaque"},
    ),
    "a claim is a file system": (
        "/PersistentVolumeClaim", {"spec": {}}, {"spec.volumeMode": "Filesystem", "status": {"phase": "Pending"}},
    ),
    "a priority class preempts": (
        "scheduling/PriorityClass", {"value": 5}, {"preemptionPolicy": "PreemptLowerPriority", "value": 5},
    ),
    "a budget starts with nothing allowed": (
        "policy/PodDisruptionBudget", {"spec": {"minAvailable": 1}}, {"status.disruptionsAllowed": 0},
    ),
    "a storage class deletes": (
        "storage/StorageClass", {"provisioner": "p"}, {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"},
    ),
    "a role binding speaks of the RBAC group": (
        "rbac/RoleBinding", {"roleRef": {"kind": "Role", "name": "r"}, "subjects": [{"kind": "User", "name": "u"}]},
        {
            "roleRef.apiGroup": "rbac.authorization.k8s.io",
            "subjects.0.apiGroup": "rbac.authorization.k8s.io",
        },
    ),
    "the maximum of a limit range is the default limit": (
        "/LimitRange", {"spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}}]}},
        {"spec.limits.0.default": {"cpu": "2"}, "spec.limits.0.defaultRequest": {"cpu": "2"}},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("name", "obj", "expected"), _KINDS.values(), ids=_KINDS)
def test_kinds(name: str, obj: Obj, expected: dict[str, Any]) -> None:
    made = _created(name, obj)
    assert {path: _at(made, path) for path in expected} == expected


@pytest.mark.parametrize("name", KINDS)
def test_an_empty_object_of_any_kind_survives(name: str) -> None:
    made = _created(name, {"spec": {}} if name not in ("/Secret",) else {})
    assert made["metadata"]["name"] == "x"
    assert default_on_update(KINDS[name], made, made) is not None


def test_custom_kinds_only_lose_what_the_server_owns() -> None:
    obj = {"metadata": {"name": "w", "generation": 9}, "spec": {"a": 1}, "status": {"b": 2}}
    assert default_on_create(WIDGET, obj) == {**obj, "metadata": {"name": "w"}}


def test_an_update_of_the_status_keeps_the_class_of_service() -> None:
    old = default_on_create(POD, conform(POD, pod())[0])
    new = {**old, "status": {"phase": "Running"}}
    assert default_on_update(POD, new, old)["status"] == {"phase": "Running", "qosClass": "BestEffort"}


def test_a_service_keeps_its_address() -> None:
    service = KINDS["/Service"]
    old = _created("/Service", {"spec": {"ports": [{"port": 80}]}})
    old["spec"]["clusterIP"] = "10.1.2.3"
    old["spec"]["clusterIPs"] = ["10.1.2.3"]
    new = default_on_update(service, {"metadata": old["metadata"], "spec": {"ports": [{"port": 81}]}}, old)
    assert new["spec"]["clusterIP"] == "10.1.2.3"
