"""The codes of reasons why a job waits. Codes are stable, and tools may rely on them; messages may be reworded."""

from __future__ import annotations

from enum import StrEnum


class Code(StrEnum):
    """The constraint that keeps a job from starting. Conditions, pages and table columns show it as the reason."""

    # The queue.
    QUEUE_NOT_FOUND = "QueueNotFound"
    QUEUE_CLOSED = "QueueClosed"
    QUEUE_LEFT_OUT = "QueueLeftOut"
    """The Queue object is invalid."""
    QUEUE_NOT_LEAF = "QueueNotLeaf"
    """The queue has child queues, and only leaf queues take jobs."""
    QUEUE_CAPABILITY = "QueueCapability"
    """The queue or one above it is at its capability."""
    QUEUE_SHARE = "QueueShare"
    """The queue holds what it deserves, or all that the guarantees of other queues leave to it."""
    QUEUE_ADMISSION = "QueueAdmission"
    """The admitted jobs already ask for as much as the cluster may be committed to."""

    # The namespace.
    QUOTA = "Quota"
    """A ResourceQuota has no room for the job's minimum."""
    NAMESPACE_CEILING = "NamespaceCeiling"
    """The namespace holds its whole share of the queue."""

    # The job itself.
    GANG_SIZE = "GangSize"
    """Some of the gang's pods fit, but fewer than its minimum."""
    GANG_INCOMPLETE = "GangIncomplete"
    """Fewer pods exist than the minimum of the job or of a role."""
    ROLE_MINIMUM = "RoleMinimum"
    """A role lacks its own minimum."""
    GATED = "Gated"
    """Scheduling gates hold its pods back."""
    UNSUPPORTED = "Unsupported"
    """The job asks for a feature that is not implemented, or for a PriorityClass that does not exist."""
    NO_POD_GROUP = "NoPodGroup"
    """The PodGroup that a pod names does not exist."""

    # The nodes.
    NO_NODES = "NoNodes"
    RESOURCES = "Resources"
    """Too little is idle, pod slots included."""
    TAINTS = "Taints"
    CORDONED = "Cordoned"
    SELECTOR = "Selector"
    """Node selector, node affinity, or ``spec.nodeName``."""
    PORTS = "Ports"
    POD_AFFINITY = "PodAffinity"
    """Affinity or anti-affinity, the pod's own or another's."""
    SPREAD = "Spread"
    USAGE = "Usage"
    """Measured usage is above the threshold."""
    NODE_GROUP = "NodeGroup"
    """The queue may not use the node group, or has reached its limit there."""
    TIME_WINDOW = "TimeWindow"
    """The nodes are open only at other times, or only to other pods."""
    CLAIM = "Claim"
    """A volume claim or a resource claim does not exist, is being deleted, or is not ready."""
    VOLUMES = "Volumes"
    """The volumes cannot be used, made or attached on the nodes."""
    DEVICES = "Devices"
    """Too few devices are free that match a resource claim."""
    TOPOLOGY = "Topology"
    """No domain that the job's network topology allows has room for its pods."""
    KEPT = "Kept"
    """The idle room is reserved for pods that ask for a scarce resource."""

    # Others.
    BUDGET = "Budget"
    """Disruption budgets forbid the only victims."""
    PROTECTED = "Protected"
    """The pods that could make room may not be evicted."""
    ORDER = "Order"
    """There would be room if jobs before it did not hold or claim it."""
    LEAVING = "Leaving"
    """Nodes are chosen, and the job waits for other pods to leave them."""
    STARTING = "Starting"
    """Nodes are chosen and free: the next session binds the job."""
    BINDING = "Binding"
    """Nodes are chosen, but the API server does not accept the bindings."""
    REFUSED = "Refused"
    """An external service refuses the job or the pod."""
    OTHER = "Other"
