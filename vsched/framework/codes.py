"""What can stand between a job and its start, in one word each: the words stay, sentences may be told better."""

from __future__ import annotations

from enum import StrEnum


class Code(StrEnum):
    """The constraint that binds: what conditions, pages and columns show as the reason."""

    # The queue.
    QUEUE_NOT_FOUND = "QueueNotFound"
    QUEUE_CLOSED = "QueueClosed"
    QUEUE_LEFT_OUT = "QueueLeftOut"
    """What its object says cannot be followed."""
    QUEUE_NOT_LEAF = "QueueNotLeaf"
    """It has child queues, and jobs belong in one of these."""
    QUEUE_CAPABILITY = "QueueCapability"
    """It, or a queue above it, may hold no more."""
    QUEUE_SHARE = "QueueShare"
    """It holds what it deserves, or all that the guarantees of others leave to it."""
    QUEUE_ADMISSION = "QueueAdmission"
    """As much work is admitted as the cluster is to be promised."""

    # The namespace.
    QUOTA = "Quota"
    """A ResourceQuota has no room for the job's minimum."""
    NAMESPACE_CEILING = "NamespaceCeiling"
    """The division among namespaces lets it hold no more."""

    # The job itself.
    GANG_SIZE = "GangSize"
    """Some of the minimum fit, and not enough of them."""
    GANG_INCOMPLETE = "GangIncomplete"
    """Fewer pods exist than the minimum, of the job or of a role."""
    ROLE_MINIMUM = "RoleMinimum"
    """The job has its minimum, and a role has not."""
    GATED = "Gated"
    """Scheduling gates hold its pods back."""
    UNSUPPORTED = "Unsupported"
    """It asks for what is not built, or has its priority from a class that does not exist."""
    NO_POD_GROUP = "NoPodGroup"
    """The PodGroup that a pod names does not exist."""

    # The nodes.
    NO_NODES = "NoNodes"
    RESOURCES = "Resources"
    """Too little is idle, pod slots included."""
    TAINTS = "Taints"
    CORDONED = "Cordoned"
    SELECTOR = "Selector"
    """Node selector, node affinity, or a node named."""
    PORTS = "Ports"
    POD_AFFINITY = "PodAffinity"
    """Affinity or anti-affinity, the pod's own or another's."""
    SPREAD = "Spread"
    USAGE = "Usage"
    """Measured usage is above the threshold."""
    NODE_GROUP = "NodeGroup"
    """The queue may not use the group of nodes, or no more of it."""
    TIME_WINDOW = "TimeWindow"
    """The nodes are lent out at other times, or to other pods."""
    KEPT = "Kept"
    """What is idle is kept for pods that ask for something scarce."""

    # Others.
    BUDGET = "Budget"
    """Disruption budgets forbid the only victims."""
    PROTECTED = "Protected"
    """Those who could make room may not be taken from."""
    ORDER = "Order"
    """All would be there, were it not for those before it."""
    LEAVING = "Leaving"
    """It has its places, and waits for others to leave them."""
    STARTING = "Starting"
    """It has its places, and nobody has to leave them: the next session binds it."""
    BINDING = "Binding"
    """Its places were decided, and the API server does not take the bindings."""
    REFUSED = "Refused"
    """A service outside objects."""
    OTHER = "Other"
