"""The same as ``exemplars`` for the kinds that controllers look after, and for groups that Kubernetes itself knows."""

from __future__ import annotations

from typing import Any

from tests.support.exemplars import EXEMPLARS, Obj

_TEMPLATE: Obj = {
    "metadata": {"labels": {"app": "a"}, "annotations": {"note": "n"}},
    "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox", "env": [{"name": "A"}]}]},
}
_POLICY: Obj = {"action": "RestartJob", "event": "PodFailed", "events": ["PodEvicted"], "timeout": "10m"}
_TOPOLOGY: Obj = {"mode": "hard", "highestTierName": "rack"}
_VCJOB: Obj = {
    "schedulerName": "vsched",
    "minAvailable": 1,
    "queue": "default",
    "priorityClassName": "high",
    "volumes": [{"mountPath": "/data", "volumeClaim": {"accessModes": ["ReadWriteOnce"]}}],
    "plugins": {"env": ["--a=b"], "svc": []},
    "policies": [_POLICY],
    "networkTopology": _TOPOLOGY,
    "tasks": [
        {
            "name": "w",
            "replicas": 2,
            "minAvailable": 1,
            "template": _TEMPLATE,
            "policies": [_POLICY],
            "dependsOn": {"name": ["v"], "iteration": "any"},
            "partitionPolicy": {"totalPartitions": 1, "partitionSize": 2, "networkTopology": _TOPOLOGY},
        },
        {"name": "v", "replicas": 1, "template": _TEMPLATE},
    ],
}
_PROBE: Obj = {
    "taskStatusList": [{"taskName": "w", "phase": "Running"}],
    "httpGetList": [{"taskName": "w", "path": "/", "port": 80, "httpHeader": {"name": "A", "value": "b"}}],
    "tcpSocketList": [{"taskName": "w", "port": 80}],
}
_CONDITION: Obj = {"type": "Ready", "status": "True", "reason": "r", "message": "m"}


def _of(kind: str, spec: Any, status: Any = None) -> list[Obj]:
    metadata = {**EXEMPLARS["PodGroup"][0]["metadata"], "name": kind.lower().partition(".")[0]}
    return [{"metadata": metadata, "spec": spec, **({} if status is None else {"status": status})}]


_SPECS: dict[str, tuple[Any, Any]] = {
    "Job.batch.volcano.sh": (
        _VCJOB,
        {
            "state": {"phase": "Running", "reason": "r", "message": "m"},
            "taskStatusCount": {"w": {"phase": {"Running": 1}}},
            "controlledResources": {"plugin-svc": "svc"},
            "conditions": [{"status": "Running"}],
        },
    ),
    "CronJob.batch.volcano.sh": (
        {
            "schedule": "1,2,3 * * * *",
            "timeZone": "Europe/Berlin",
            "concurrencyPolicy": "Forbid",
            "jobTemplate": {"metadata": {"labels": {"a": "b"}, "annotations": {"a": "b"}}, "spec": _VCJOB},
        },
        {"active": [{"kind": "Job", "name": "a"}], "lastScheduleTime": "2026-01-01T00:00:00Z"},
    ),
    "JobFlow": (
        {
            "flows": [
                {"name": "a"},
                {"name": "b", "dependsOn": {"targets": ["a"], "probe": _PROBE}, "patch": {"jobSpec": _VCJOB}},
            ],
            "jobRetainPolicy": "retain",
        },
        {
            "jobStatusList": [{"name": "f-a", "state": "Running", "runningHistories": [{"state": "Running"}]}],
            "conditions": {"f-a": {"phase": "Running"}},
            "runningJobs": ["f-a"],
            "state": {"phase": "Running"},
        },
    ),
    "JobTemplate": (_VCJOB, {"jobDependsOnList": ["a"]}),
    "ProvisioningRequest": (
        {"podSets": [{"podTemplateRef": {"name": "t"}, "count": 2}], "provisioningClassName": "vsched.io/check"},
        {"conditions": [_CONDITION]},
    ),
    "CapacityBuffer": (
        {"provisioningStrategy": "a", "podTemplateRef": {"name": "t"}, "scalableRef": {"kind": "a", "name": "b"}},
        {"conditions": [_CONDITION]},
    ),
    "NodeShard": (
        {"nodesDesired": ["n1"]},
        {"nodesInUse": ["n1"], "nodesToAdd": ["n2"], "nodesToRemove": ["n3"]},
    ),
    "NodePool": (
        {
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {
                    "requirements": [{"key": "a", "operator": "In", "values": ["b"]}],
                    "taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}],
                },
            },
            "limits": {"cpu": "100"},
        },
        None,
    ),
    "PodGroup.scheduling.k8s.io": (
        {
            "schedulingPolicy": {"gang": {"minCount": 2}},
            "schedulingConstraints": {"topology": [{"key": "zone"}]},
            "resourceClaims": [{"name": "c", "resourceClaimName": "c"}],
            "podGroupTemplateRef": {"workload": {"workloadName": "w"}},
            "priorityClassName": "high",
        },
        {"conditions": [_CONDITION], "resourceClaimStatuses": [{"name": "c", "resourceClaimName": "c"}]},
    ),
    "CompositePodGroup": (
        {"schedulingPolicy": {"gang": {"minGroupCount": 2}}, "schedulingConstraints": {"topology": [{"key": "zone"}]}},
        {"conditions": [_CONDITION]},
    ),
    "Workload": ({"podGroupTemplates": [{"name": "a", "schedulingPolicy": {"gang": {"minCount": 2}}}]}, None),
    "JobSet.jobset.x-k8s.io": (
        {
            "replicatedJobs": [
                {"name": "a", "replicas": 1, "template": {"spec": {"parallelism": 2, "template": _TEMPLATE}}}
            ],
            "network": {"subdomain": "s"},
        },
        {"conditions": [_CONDITION]},
    ),
}
MAKERS: dict[str, list[Obj]] = {kind: _of(kind, *parts) for kind, parts in _SPECS.items()}
"""By kind."""
