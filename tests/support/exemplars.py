"""One object of every kind that is followed, every field that vsched reads filled in: what spoilt ones start from."""

from __future__ import annotations

from typing import Any

Obj = dict[str, Any]

_TIME = "2026-01-01T00:00:00Z"
_AMOUNTS = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1", "ephemeral-storage": "1Gi", "hugepages-2Mi": "2Mi"}
_SELECTOR = {"matchLabels": {"app": "a"}, "matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "b"]}]}


def _metadata(name: str, **more: Any) -> Obj:
    return {
        "name": name,
        "namespace": "ns",
        "uid": f"uid-{name}",
        "resourceVersion": "7",
        "creationTimestamp": _TIME,
        "generation": 1,
        "labels": {"app": "a", "volcano.sh/task-spec": "worker"},
        "annotations": {"note": "n"},
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "owner", "uid": "uid-owner", "controller": True}
        ],
        **more,
    }


def _pod_term(app: str) -> Obj:
    return {
        "labelSelector": {"matchLabels": {"app": app}, "matchExpressions": _SELECTOR["matchExpressions"]},
        "topologyKey": "zone",
        "namespaces": ["ns"],
        "namespaceSelector": _SELECTOR,
        "matchLabelKeys": ["app"],
        "mismatchLabelKeys": ["tier"],
    }


def _pod_terms(app: str) -> Obj:
    return {
        "requiredDuringSchedulingIgnoredDuringExecution": [_pod_term(app)],
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 10, "podAffinityTerm": _pod_term(app)}],
    }


def _node_affinity() -> Obj:
    term = {
        "matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}],
        "matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n9"]}],
    }
    return {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]},
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 10, "preference": term}],
    }


def _container(name: str, **more: Any) -> Obj:
    return {
        "name": name,
        "image": "busybox",
        "resources": {"requests": dict(_AMOUNTS), "limits": dict(_AMOUNTS)},
        "ports": [{"containerPort": 80, "hostPort": 8080, "protocol": "TCP", "hostIP": "10.0.0.1"}],
        **more,
    }


_POD_ANNOTATIONS = {
    "volcano.sh/preemptable": "true",
    "volcano.sh/revocable-zone": "*",
    "volcano.sh/task-priority": "3",
    "volcano.sh/cooldown-time": "600s",
    "vsched.io/expected-duration": "1h",
    "scheduling.volcano.sh/queue-name": "default",
    "scheduling.volcano.sh/group-min-member": "1",
    "scheduling.volcano.sh/queue-allocation-gate": "true",
    "volcano.sh/resource-strategy-scoring-type": "LeastAllocated",
    "volcano.sh/resource-strategy-weight": '{"cpu": 1}',
    "volcano.sh/sla-waiting-time": "1h",
    "volcano.sh/jdb-min-available": "1",
    "volcano.sh/preferred-victim": "true",
}


def _pod(**more: Any) -> Obj:
    spec = {
        "schedulerName": "vsched",
        "priority": 5,
        "priorityClassName": "high",
        "preemptionPolicy": "PreemptLowerPriority",
        "hostNetwork": False,
        "restartPolicy": "Never",
        "activeDeadlineSeconds": 3600,
        "containers": [_container("main")],
        "initContainers": [_container("init"), _container("side", restartPolicy="Always")],
        "nodeSelector": {"zone": "a"},
        "affinity": {
            "nodeAffinity": _node_affinity(),
            "podAffinity": _pod_terms("a"),
            "podAntiAffinity": _pod_terms("other"),
        },
        "tolerations": [
            {"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule", "tolerationSeconds": 5}
        ],
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "zone",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": _SELECTOR,
                "minDomains": 1,
                "nodeAffinityPolicy": "Honor",
                "nodeTaintsPolicy": "Honor",
                "matchLabelKeys": ["app"],
            }
        ],
        "overhead": {"cpu": "100m", "memory": "1Mi"},
        "resources": {"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"cpu": "2"}},
        **more.pop("spec", {}),
    }
    return {
        "metadata": _metadata("x", annotations=dict(_POD_ANNOTATIONS)),
        "spec": spec,
        "status": {"phase": "Pending", "nominatedNodeName": "n1", **more.pop("status", {})},
    }


def _running() -> Obj:
    status = {
        "phase": "Running",
        "startTime": _TIME,
        "conditions": [
            {"type": "PodScheduled", "status": "True", "reason": "r", "message": "m", "lastTransitionTime": _TIME},
            {"type": "PodResizePending", "status": "True", "reason": "Infeasible"},
        ],
        "containerStatuses": [
            {
                "name": "main",
                "state": {"running": {"startedAt": _TIME}},
                "allocatedResources": dict(_AMOUNTS),
                "resources": {"requests": dict(_AMOUNTS), "limits": dict(_AMOUNTS)},
            }
        ],
        "initContainerStatuses": [{"name": "init", "state": {"terminated": {"finishedAt": _TIME}}}],
    }
    status["resourceClaimStatuses"] = [{"name": "gpu", "resourceClaimName": "x-gpu"}]
    status["extendedResourceClaimStatus"] = {"resourceClaimName": "x-extended"}
    volumes = [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
    ]
    claims = [{"name": "gpu", "resourceClaimTemplateName": "t"}, {"name": "own", "resourceClaimName": "c"}]
    return _pod(spec={"nodeName": "n1", "volumes": volumes, "resourceClaims": claims}, status=status)


def _finished() -> Obj:
    status = {
        "phase": "Succeeded",
        "startTime": _TIME,
        "containerStatuses": [{"name": "main", "state": {"terminated": {"finishedAt": _TIME}}}],
    }
    return _pod(spec={"nodeName": "n1"}, status=status)


def _gated() -> Obj:
    return _pod(spec={"schedulingGates": [{"name": "scheduling.volcano.sh/queue-allocation-gate"}]})


def _podgroup() -> Obj:
    annotations = {
        "volcano.sh/preemptable": "true",
        "volcano.sh/sla-waiting-time": "1h",
        "volcano.sh/jdb-max-unavailable": "50%",
        "volcano.sh/cooldown-time": "600s",
        "vsched.io/expected-duration": "1h",
    }
    return {
        "metadata": _metadata("x", annotations=annotations),
        "spec": {
            "minMember": 1,
            "minTaskMember": {"worker": 1},
            "queue": "default",
            "priorityClassName": "high",
            "minResources": {**_AMOUNTS, "requests.cpu": "1", "limits.memory": "1Gi"},
            "networkTopology": {"mode": "soft", "highestTierAllowed": 1},
        },
        "status": {
            "phase": "Inqueue",
            "conditions": [
                {
                    "type": "Unschedulable",
                    "status": "True",
                    "reason": "r",
                    "message": "m",
                    "lastTransitionTime": _TIME,
                    "transitionID": "t",
                }
            ],
            "running": 1,
            "succeeded": 1,
            "failed": 1,
        },
    }


def _queue() -> Obj:
    terms = {
        "requiredDuringSchedulingIgnoredDuringExecution": ["g1"],
        "preferredDuringSchedulingIgnoredDuringExecution": ["g2"],
    }
    annotations = {
        "volcano.sh/nodegroup-resource-limits": '{"g1": {"cpu": 8}}',
        "scheduling.volcano.sh/queue-state": "open",
        "volcano.sh/closed-by-parent": "true",
    }
    return {
        "metadata": _metadata("x", annotations=annotations),
        "spec": {
            "weight": 2,
            "capability": dict(_AMOUNTS),
            "deserved": dict(_AMOUNTS),
            "guarantee": {"resource": dict(_AMOUNTS)},
            "reclaimable": True,
            "priority": 3,
            "priorityClassName": "high",
            "parent": "root",
            "affinity": {"nodeGroupAffinity": terms, "nodeGroupAntiAffinity": terms},
        },
        "status": {"state": "Open"},
    }


def _node() -> Obj:
    labels = {"zone": "a", "volcano.sh/oversubscription": "true", "volcano.sh/nodegroup-name": "g1"}
    annotations = {
        "volcano.sh/oversubscription-cpu": "500",
        "volcano.sh/oversubscription-memory": "1000",
        "volcano.sh/revocable-zone": "rz1",
    }
    return {
        "metadata": _metadata("x", labels=labels, annotations=annotations),
        "spec": {"unschedulable": False, "taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]},
        "status": {
            "allocatable": {**_AMOUNTS, "pods": "110"},
            "images": [{"names": ["busybox:latest"], "sizeBytes": 1000}],
        },
    }


def _quota() -> Obj:
    hard = {"requests.cpu": "4", "limits.memory": "8Gi", "pods": "10", "cpu": "4", "volcano.sh/namespace.weight": "3",
            "requests.storage": "10Gi", "gold.storageclass.storage.k8s.io/requests.storage": "5Gi"}  # fmt: skip
    spec = {"hard": hard, "scopes": [], "scopeSelector": None}
    return {"metadata": _metadata("x"), "spec": spec, "status": {"hard": dict(hard), "used": {"pods": "1"}}}


def _divided(**more: Any) -> Obj:
    spec = {"hard": {"cpu": "4", "memory": "8Gi", "pods": "9"}, "reserved": {"cpu": "2"}, "weight": 2, **more}
    condition = {"type": "Ready", "status": "True", "reason": "r", "message": "m", "lastTransitionTime": _TIME}
    status = {
        "observedGeneration": 1,
        "deserved": {"cpu": "1"},
        "allocated": {"cpu": "1"},
        "conditions": [condition],
    }
    return {"metadata": _metadata("x"), "spec": spec, "status": status}


def _selecting(selector: Any) -> Obj:
    return {"metadata": _metadata("x"), "spec": {"selector": selector, "replicas": 3}}


def _claim() -> Obj:
    return {
        "metadata": _metadata("x"),
        "spec": {
            "storageClassName": "gold",
            "volumeAttributesClassName": "fast",
            "resources": {"requests": {"storage": "1Gi"}},
            "accessModes": ["ReadWriteOnce"],
            "volumeMode": "Filesystem",
            "volumeName": "pv",
            "selector": _SELECTOR,
        },
        "status": {"phase": "Bound", "allocatedResources": {"storage": "1Gi"}},
    }


def _node_selector() -> Obj:
    return _node_affinity()["requiredDuringSchedulingIgnoredDuringExecution"]


def _volume() -> Obj:
    return {
        "metadata": _metadata("x"),
        "spec": {
            "capacity": {"storage": "1Gi"},
            "storageClassName": "gold",
            "accessModes": ["ReadWriteOnce"],
            "volumeMode": "Filesystem",
            "claimRef": {"namespace": "ns", "name": "x", "uid": "uid-x"},
            "nodeAffinity": {"required": _node_selector()},
            "csi": {"driver": "d", "volumeHandle": "h"},
        },
        "status": {"phase": "Bound"},
    }


def _asked_devices() -> Obj:
    exactly = {
        "deviceClassName": "c",
        "selectors": [{"cel": {"expression": "true"}}],
        "allocationMode": "ExactCount",
        "count": 1,
        "adminAccess": False,
        "tolerations": [{"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule"}],
        "capacity": {"requests": {"memory": "1Gi"}},
    }
    return {
        "devices": {
            "requests": [
                {"name": "a", "exactly": exactly},
                {"name": "b", "firstAvailable": [{"name": "c", "deviceClassName": "c"}]},
            ],
            "constraints": [
                {"requests": ["a"], "matchAttribute": "d/a"},
                {"requests": ["a", "b"], "distinctAttribute": "d/b"},
            ],
        }
    }


def _resource_claim() -> Obj:
    result = {
        "request": "a",
        "driver": "d",
        "pool": "p",
        "device": "x",
        "shareID": "s",
        "consumedCapacity": {"memory": "1Gi"},
        "tolerations": [{"key": "k", "operator": "Exists"}],
        "bindingConditions": ["Ready"],
        "bindingFailureConditions": ["Broken"],
    }
    condition = {"type": "Ready", "status": "True"}
    return {
        "metadata": _metadata("x"),
        "spec": _asked_devices(),
        "status": {
            "allocation": {"devices": {"results": [result]}, "nodeSelector": _node_selector()},
            "reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}],
            "devices": [{"driver": "d", "pool": "p", "device": "x", "shareID": "s", "conditions": [condition]}],
        },
    }


def _slice() -> Obj:
    policies = {
        "memory": {"value": "4Gi", "requestPolicy": {"default": "1Gi", "validRange": {"min": "1Gi", "step": "1Gi"}}},
        "slots": {"value": "4", "requestPolicy": {"default": "1", "validValues": ["1", "2"]}},
    }
    device = {
        "name": "x",
        "attributes": {"model": {"string": "m"}, "count": {"int": 3}, "on": {"bool": True}, "v": {"version": "1.0.0"}},
        "capacity": policies,
        "consumesCounters": [{"counterSet": "s", "counters": {"c": {"value": "1"}}}],
        "taints": [{"key": "k", "value": "v", "effect": "NoSchedule", "timeAdded": _TIME}],
        "allowMultipleAllocations": True,
        "bindsToNode": True,
        "bindingConditions": ["Ready"],
        "bindingFailureConditions": ["Broken"],
    }
    return {
        "metadata": _metadata("x"),
        "spec": {
            "driver": "d",
            "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
            "nodeSelector": _node_selector(),
            "devices": [device],
            "sharedCounters": [{"name": "s", "counters": {"c": {"value": "4"}}}],
        },
    }


EXEMPLARS: dict[str, tuple[Obj, ...]] = {
    "Pod": (_pod(), _running(), _finished(), _gated()),
    "Node": (_node(),),
    "PodGroup": (_podgroup(),),
    "Queue": (_queue(),),
    "PriorityClass": ({"metadata": _metadata("x"), "value": 100, "globalDefault": True, "preemptionPolicy": "Never"},),
    "Namespace": ({"metadata": _metadata("x"), "status": {"phase": "Active"}},),
    "ResourceQuota": (_quota(),),
    "PodDisruptionBudget": (
        {
            "metadata": _metadata("x"),
            "spec": {"selector": _SELECTOR, "minAvailable": 1},
            "status": {"disruptionsAllowed": 1, "disruptedPods": {"p": _TIME}},
        },
    ),
    "Service": (_selecting({"app": "a"}),),
    "ReplicationController": (_selecting({"app": "a"}),),
    "ReplicaSet": (_selecting(_SELECTOR),),
    "StatefulSet": (_selecting(_SELECTOR),),
    "DaemonSet": ({"metadata": _metadata("x")},),
    "Job": ({"metadata": _metadata("x")},),
    "Command": (
        {
            "metadata": _metadata("x"),
            "action": "CloseQueue",
            "target": {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "name": "x", "uid": "u"},
        },
    ),
    "HyperNode": (
        {
            "metadata": _metadata("x"),
            "spec": {
                "tier": 2,
                "tierName": "block",
                "members": [
                    {"type": "HyperNode", "selector": {"exactMatch": {"name": "rack"}}},
                    {"type": "Node", "selector": {"exactMatch": {"name": "n1"}}},
                    {"type": "Node", "selector": {"regexMatch": {"pattern": "^n[2-4]$"}}},
                    {"type": "Node", "selector": {"labelMatch": _SELECTOR}},
                ],
            },
            "status": {
                "nodeCount": 1,
                "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": _TIME}],
            },
        },
    ),
    "Consumer": (_divided(parent="b"),),
    "Bucket": (_divided(),),
    "Allocation": (_divided(deserved={"cpu": "1"}),),
    "PersistentVolumeClaim": (_claim(),),
    "PersistentVolume": (_volume(),),
    "StorageClass": (
        {
            "metadata": _metadata("x"),
            "provisioner": "p",
            "volumeBindingMode": "WaitForFirstConsumer",
            "allowedTopologies": [{"matchLabelExpressions": [{"key": "zone", "values": ["a"]}]}],
        },
    ),
    "CSINode": (
        {"metadata": _metadata("x"), "spec": {"drivers": [{"name": "d", "nodeID": "x", "allocatable": {"count": 3}}]}},
    ),
    "CSIDriver": (
        {"metadata": _metadata("x"), "spec": {"storageCapacity": True, "preventPodSchedulingIfMissing": True}},
    ),
    "CSIStorageCapacity": (
        {
            "metadata": _metadata("x"),
            "storageClassName": "gold",
            "capacity": "1Gi",
            "maximumVolumeSize": "1Gi",
            "nodeTopology": _SELECTOR,
        },
    ),
    "VolumeAttachment": (
        {
            "metadata": _metadata("x"),
            "spec": {"attacher": "d", "nodeName": "n1", "source": {"persistentVolumeName": "pv"}},
        },
    ),
    "ResourceClaim": (_resource_claim(),),
    "ResourceSlice": (_slice(),),
    "DeviceClass": (
        {
            "metadata": _metadata("x"),
            "spec": {"selectors": [{"cel": {"expression": "true"}}], "extendedResourceName": "example.com/gpu"},
        },
    ),
    "DeviceTaintRule": (
        {
            "metadata": _metadata("x"),
            "spec": {
                "deviceSelector": {"driver": "d", "pool": "n1", "device": "gpu-0"},
                "taint": {"key": "k", "value": "v", "effect": "NoExecute", "timeAdded": _TIME},
            },
        },
    ),
    "NodeResourceTopology": (
        {
            "metadata": _metadata("x"),
            "attributes": [
                {"name": "topologyManagerPolicy", "value": "single-numa-node"},
                {"name": "topologyManagerScope", "value": "pod"},
            ],
            "zones": [
                {
                    "name": "node-0",
                    "type": "Node",
                    "resources": [{"name": "cpu", "capacity": "4", "allocatable": "4", "available": "3"}],
                }
            ],
        },
    ),
    "Eviction": (
        {
            "metadata": _metadata("x"),
            "spec": {"target": {"pod": {"name": "p", "uid": "u"}}},
            "status": {
                "conditions": [{"type": "Failed", "status": "False"}],
                "targetResponders": [{"name": "example.com/saver", "state": "Active"}],
                "responders": [
                    {
                        "name": "example.com/saver",
                        "expectedCompletionTime": _TIME,
                        "completionTime": _TIME,
                        "message": "saving",
                    }
                ],
            },
        },
    ),
    "Numatopology": (
        {
            "metadata": _metadata("x"),
            "spec": {
                "policies": {"CPUManagerPolicy": "static", "TopologyManagerPolicy": "restricted"},
                "resReserved": {"cpu": "1"},
                "numares": {"cpu": {"allocatable": "0-1", "capacity": 2}},
                "cpuDetail": {"0": {"numa": 0, "socket": 0, "core": 0}, "1": {"numa": 1, "socket": 0, "core": 1}},
                "podAllocations": [
                    {"uid": "u", "containerAllocations": [{"name": "c", "allocations": {"cpu": "1"}}]},
                ],
            },
        },
    ),
    "ResourceClaimTemplate": ({"metadata": _metadata("x"), "spec": {"spec": _asked_devices()}},),
}
"""By kind; more than one where an object looks different at other times of its life."""
