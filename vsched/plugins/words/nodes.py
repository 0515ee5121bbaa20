"""Why a node is out of the question for a pod, as ``kubectl describe`` shows it after a number of nodes.

Those that kube-scheduler has as well are in its words, which ``vsched.framework.words.nodes`` has.
"""

from __future__ import annotations

# -- extender -----------------------------------------------------------------------------------------------------

SILENT = "the extender did not answer"
MISFIT = "the extender's answer is not what was expected"
"""Messages for pod conditions. They are constant, so that conditions do not change with every time-out."""
OTHER_REASON = "the extender has other reasons against the node"
REJECTED = "the extender rejected it"

# -- nodegroup ----------------------------------------------------------------------------------------------------

OTHER_GROUP = "node(s) weren't in a node group of the queue"
GROUP_AT_LIMIT = "node(s) were in a node group where the queue has reached its limit"
LIMITS_UNREADABLE = "node(s) were ruled out: the queue's limits by node group cannot be read"

# -- numa-aware ---------------------------------------------------------------------------------------------------

NO_REPORT = "node(s) whose numa info is empty"
NOT_STATIC = "node(s) whose cpu manager policy isn't static"
NO_CPUS = "node(s) whose cpu allocatable map is empty"
NOT_TOGETHER = "node(s) had no NUMA nodes with enough of everything that a container requests"


def other_policy(found: str, wanted: str) -> str:
    """The node's topology policy."""
    return f"node(s) whose topology policy {found} is different from the task's {wanted}"


def no_zone(resource: str) -> str:
    """Under a policy that keeps a pod in one NUMA node."""
    return f"node(s) had too little {resource} free in every NUMA node"


def too_few_zones(resource: str) -> str:
    """Under one that keeps it in few."""
    return f"node(s) had too little {resource} free in as few NUMA nodes as could hold it"


# -- predicates ---------------------------------------------------------------------------------------------------

OTHER_NODE = "node(s) didn't match the requested node name"


def rules_too_costly(comparisons: int) -> str:
    """More would take longer than a cycle may."""
    return f"node(s) were not checked: the pod's affinity rules take more than {comparisons:,} comparisons"


# -- resource-strategy-fit ----------------------------------------------------------------------------------------


def reserved_beside(resource: str) -> str:
    """What goes with a scarce resource."""
    return f"node(s) reserved cpu and memory for pods that ask for {resource}"


# -- tdm ----------------------------------------------------------------------------------------------------------

ZONE_CLOSED = "node(s) were in a revocable zone that is closed now"
NOT_REVOCABLE = "node(s) were in a revocable zone that the pod may not use"

# -- usage --------------------------------------------------------------------------------------------------------


def usage_above(resource: str, percent: float, period: str) -> str:
    """Above a threshold."""
    return f"node(s) had {resource} usage above {percent:g}% ({period} average)"
