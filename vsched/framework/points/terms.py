"""What objects state that plugins alone act on. In a policy without such a plugin it has no effect."""

from __future__ import annotations

from enum import Enum


class QueueTerm(Enum):
    """What a Queue states; the value is the field or annotation."""

    WEIGHT = "spec.weight"
    DESERVED = "spec.deserved"
    GUARANTEE = "spec.guarantee"
    CAPABILITY = "spec.capability"
    PARENT = "spec.parent"
    """Its place in a tree, as far as shares and amounts go by it."""
    PRIORITY = "spec.priority"
    NODE_GROUPS = "spec.affinity"
    """The node groups a queue may use."""
    GROUP_LIMITS = "volcano.sh/nodegroup-resource-limits"
    """How much of each node group it may use."""
    HIERARCHY = "volcano.sh/hierarchy"
    RUNNING_JOBS = "vsched.io/max-running-jobs"
    """How many jobs of the queue, and of each user in it, may run at once."""
    WALL_TIME = "vsched.io/max-wall-time"
    """For how long jobs of the queue may run."""
    PREEMPT_MIN_RUNTIME = "vsched.io/preempt-min-runtime"
    RECLAIM_MIN_RUNTIME = "vsched.io/reclaim-min-runtime"
    PREEMPTION_DELAY = "vsched.io/preemption-delay"


class JobTerm(Enum):
    """What a PodGroup states; the value is the field or annotation."""

    MINIMUM = "spec.minMember"
    ROLES = "spec.minTaskMember"
    WAITING_TIME = "volcano.sh/sla-waiting-time"
    WALL_TIME = "vsched.io/wall-time"
    BUDGET = "volcano.sh/jdb-min-available, volcano.sh/jdb-max-unavailable"
    TASK_TOPOLOGY = "volcano.sh/task-topology-*"
    PREEMPT_MIN_RUNTIME = "vsched.io/preempt-min-runtime"
    RECLAIM_MIN_RUNTIME = "vsched.io/reclaim-min-runtime"
    PREEMPTION_DELAY = "vsched.io/preemption-delay"


class PlacementTerm(Enum):
    """What a pod requires of its place, or states of it; the value is the field or annotation."""

    NODES = "spec.nodeSelector, spec.affinity.nodeAffinity"
    PORTS = "spec.containers[].ports[].hostPort"
    PODS = "spec.affinity.podAffinity, spec.affinity.podAntiAffinity"
    SPREAD = "spec.topologySpreadConstraints"
    VOLUMES = "spec.volumes[].persistentVolumeClaim"
    DEVICES = "spec.resourceClaims"
    NUMA = "volcano.sh/numa-topology-policy"
    STRATEGY = "volcano.sh/resource-strategy-scoring-type"
    REVOCABLE = "volcano.sh/revocable-zone"
    COOLDOWN = "volcano.sh/cooldown-time"
    """For how long nobody evicts it once it runs."""


Term = QueueTerm | JobTerm | PlacementTerm
