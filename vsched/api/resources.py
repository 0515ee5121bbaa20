"""Where the API server has each kind of object that vsched reads or writes."""

from __future__ import annotations

from functools import partial

import msgspec

from vsched.kube.paths import ApiResource
from vsched.model.arbitration.records import ARBITRATOR_GROUP
from vsched.model.jobs.native import API_GROUP

BATCH_GROUP = "scheduling.volcano.sh"
DEVICE_GROUP = "resource.k8s.io"
LIFECYCLE_GROUP = "lifecycle.k8s.io"
TOPOLOGY_GROUP = "topology.volcano.sh"
NATIVE_VERSIONS = ("v1beta1", "v1alpha3", "v1alpha2")
"""The versions of Kubernetes' own PodGroups that are read, in the order in which they are looked for."""

_CORE = partial(ApiResource, "", "v1")
_APPS = partial(ApiResource, "apps", "v1")
_BATCH = partial(ApiResource, BATCH_GROUP, "v1beta1")
_ARBITRATOR = partial(ApiResource, ARBITRATOR_GROUP, "v1")
_STORAGE = partial(ApiResource, "storage.k8s.io", "v1")
_NATIVE = partial(ApiResource, API_GROUP, NATIVE_VERSIONS[0])
_DEVICES = partial(ApiResource, DEVICE_GROUP, "v1")
_TAINT_RULES = partial(ApiResource, DEVICE_GROUP, plural="devicetaintrules", namespaced=False)

PODS, EVENTS, NODES = _CORE("pods"), _CORE("events"), _CORE("nodes", namespaced=False)
SERVICES, CONFIG_MAPS, SECRETS = _CORE("services"), _CORE("configmaps"), _CORE("secrets")
NETWORK_POLICIES = ApiResource("networking.k8s.io", "v1", "networkpolicies")
PODGROUPS, QUEUES = _BATCH("podgroups"), _BATCH("queues", namespaced=False)
COMMANDS = ApiResource("bus.volcano.sh", "v1alpha1", "commands")
VCJOB = "Job.batch.volcano.sh"
"""Volcano's kind of this name, vcjob for short; ``Job`` alone is Kubernetes' own."""
VCJOBS = ApiResource("batch.volcano.sh", "v1alpha1", "jobs")
VOLCANO_CRON_JOB = "CronJob.batch.volcano.sh"
"""Volcano's kind of this name; ``CronJob`` alone is Kubernetes' own."""
VOLCANO_CRON_JOBS = ApiResource("batch.volcano.sh", "v1alpha1", "cronjobs")
JOB_FLOWS = ApiResource("flow.volcano.sh", "v1alpha1", "jobflows")
JOB_TEMPLATES = ApiResource("flow.volcano.sh", "v1alpha1", "jobtemplates")
CONSUMERS, ALLOCATIONS = _ARBITRATOR("consumers"), _ARBITRATOR("allocations")
BUCKETS = _ARBITRATOR("buckets", namespaced=False)
VOLUME_CLAIMS, VOLUMES = _CORE("persistentvolumeclaims"), _CORE("persistentvolumes", namespaced=False)
NATIVE_POD_GROUPS, COMPOSITE_POD_GROUPS = _NATIVE("podgroups"), _NATIVE("compositepodgroups")
RESOURCE_CLAIMS, DEVICE_CLASSES = _DEVICES("resourceclaims"), _DEVICES("deviceclasses", namespaced=False)

_LIFECYCLE = partial(ApiResource, LIFECYCLE_GROUP, "v1alpha1")
EVICTION_REQUESTS, EVICTIONS = _LIFECYCLE("evictionrequests"), _LIFECYCLE("evictions")

AUTOSCALING_GROUP = "autoscaling.x-k8s.io"
PROVISIONING_REQUESTS = ApiResource(AUTOSCALING_GROUP, "v1", "provisioningrequests")
NODE_POOLS = ApiResource("karpenter.sh", "v1", "nodepools", namespaced=False)
CAPACITY_BUFFERS = ApiResource(AUTOSCALING_GROUP, "v1beta1", "capacitybuffers")
POD_TEMPLATES = _CORE("podtemplates")

NODE_SHARDS = ApiResource("shard.volcano.sh", "v1alpha1", "nodeshards", namespaced=False)
HYPERNODES = ApiResource(TOPOLOGY_GROUP, "v1alpha1", "hypernodes", namespaced=False)

RESOURCES: dict[str, ApiResource] = {
    "Pod": PODS,
    "Node": NODES,
    "PodGroup": PODGROUPS,
    "Queue": QUEUES,
    "PriorityClass": ApiResource("scheduling.k8s.io", "v1", "priorityclasses", namespaced=False),
    "Namespace": _CORE("namespaces", namespaced=False),
    "ResourceQuota": _CORE("resourcequotas"),
    "PodDisruptionBudget": ApiResource("policy", "v1", "poddisruptionbudgets"),
    "Service": SERVICES,
    "ReplicationController": _CORE("replicationcontrollers"),
    "ReplicaSet": _APPS("replicasets"),
    "StatefulSet": _APPS("statefulsets"),
    "DaemonSet": _APPS("daemonsets"),
    "Job": ApiResource("batch", "v1", "jobs"),
    "Consumer": CONSUMERS,
    "Allocation": ALLOCATIONS,
    "Bucket": BUCKETS,
    "PersistentVolumeClaim": VOLUME_CLAIMS,
    "PersistentVolume": VOLUMES,
    "StorageClass": _STORAGE("storageclasses", namespaced=False),
    "CSINode": _STORAGE("csinodes", namespaced=False),
    "CSIDriver": _STORAGE("csidrivers", namespaced=False),
    "CSIStorageCapacity": _STORAGE("csistoragecapacities"),
    "VolumeAttachment": _STORAGE("volumeattachments", namespaced=False),
    "ResourceClaim": RESOURCE_CLAIMS,
    "ResourceSlice": _DEVICES("resourceslices", namespaced=False),
    "DeviceClass": DEVICE_CLASSES,
    "HyperNode": HYPERNODES,
    "DeviceTaintRule": _TAINT_RULES("v1beta2"),
    "PodGroup.scheduling.k8s.io": NATIVE_POD_GROUPS,
    "CompositePodGroup": COMPOSITE_POD_GROUPS,
    "Workload": _NATIVE("workloads"),
    "NodeResourceTopology": ApiResource("topology.node.k8s.io", "v1alpha2", "noderesourcetopologies", namespaced=False),
    "Eviction": EVICTIONS,
    "Numatopology": ApiResource("nodeinfo.volcano.sh", "v1alpha1", "numatopologies", namespaced=False),
}
"""By kind: all that the mirror keeps."""

HEEDED: dict[str, ApiResource] = {
    "Command": COMMANDS,
    VCJOB: VCJOBS,
    VOLCANO_CRON_JOB: VOLCANO_CRON_JOBS,
    "JobFlow": JOB_FLOWS,
    "JobTemplate": JOB_TEMPLATES,
    "ProvisioningRequest": PROVISIONING_REQUESTS,
    "CapacityBuffer": CAPACITY_BUFFERS,
    "NodePool": NODE_POOLS,
    "NodeShard": NODE_SHARDS,
}
"""By kind: what controllers follow, and the mirror does not keep."""

SELDOM_SERVED = frozenset(
    {
        "HyperNode",
        "DeviceTaintRule",
        "PodGroup.scheduling.k8s.io",
        "CompositePodGroup",
        "Workload",
        "NodeResourceTopology",
        "Numatopology",
        "Eviction",
        VCJOB,
        VOLCANO_CRON_JOB,
        "JobFlow",
        "JobTemplate",
        "ProvisioningRequest",
        "CapacityBuffer",
        "NodePool",
        "NodeShard",
    }
)
"""The kinds that a cluster need not serve. Where it does not, there are none of them: nothing is missing, and nobody
is warned."""

OLDER: dict[str, tuple[ApiResource, ...]] = {
    "DeviceTaintRule": (_TAINT_RULES("v1alpha3"),),
    **{
        kind: tuple(msgspec.structs.replace(resource, version=version) for version in NATIVE_VERSIONS[1:])
        for kind, resource in RESOURCES.items()
        if resource.group == API_GROUP and resource.version == NATIVE_VERSIONS[0]
    },
}
"""By kind: versions that are read where the newest one is not served."""
