"""What ``vsched migrate queues`` says."""

from __future__ import annotations

# -- what is converted -------------------------------------------------------------------------------------------------


def expected_queues(kueue_group: str, kai_group: str) -> str:
    return f"expected ClusterQueues of {kueue_group}, or Queues of {kai_group}"


HEADER = "Volcano Queues, made by vsched migrate queues. Read the comments, then: kubectl apply -f FILE"
WHAT_COUNTS = "deserved and the tree count with the plugin capacity (enableHierarchy: true), weight with proportion."


def nothing_to_convert(expected: str) -> str:
    return f"there are no queues to convert ({expected})"


def ignored(number: int, kind: str) -> str:
    return f"{number} of {kind}: ignored: neither of Kueue nor of KAI"


def name_taken(name: str) -> str:
    return f"the name is changed: a queue of Kueue is called {name}, too"


def default_queue(namespace: str) -> str:
    return f"The default queue of namespace {namespace}"


# -- any queue ---------------------------------------------------------------------------------------------------------


def no_name(where: str) -> str:
    return f"{where}: name is missing"


def above_itself(where: str, way: str) -> str:
    return f"{where}: it is above itself: {way}"


def capability_above(name: str, capability: str, most: str) -> str:
    return (
        f"capability {name} {capability} is more than that of the queues above, {most}: Volcano's webhook refuses it, "
        "vsched cuts it to that"
    )


def deserved_above(name: str, deserved: str, limit: str) -> str:
    return (
        f"deserved {name} {deserved} is more than capability {limit}: Volcano's webhook refuses it, vsched cuts it to "
        "the capability"
    )


def deserved_together(total: str, name: str, deserved: str) -> str:
    return (
        f"the queues below deserve {total} {name} together, this one {deserved}: Volcano's webhook refuses it, vsched "
        "cuts theirs"
    )


WEIGHT_OF_ZERO = "a weight of 0 cannot be carried over: a queue has at least 1"


def weight_rounded(most: int) -> str:
    return f"the weight is rounded: a queue has at most {most}"


# -- what is not carried over ------------------------------------------------------------------------------------------

NO_COUNTERPART = "there is no counterpart"


def not_carried_over(field: str, why: str = NO_COUNTERPART) -> str:
    return f"not carried over: {field}: {why}"


def of_source(source: str, field: str, why: str = NO_COUNTERPART) -> str:
    return f"{source}: not carried over: {field}: {why}"


def object_not_carried_over(kind: str, name: str, group: str) -> str:
    return f"{kind} {name} ({group}): not carried over: {NO_COUNTERPART}"


# -- clusters ----------------------------------------------------------------------------------------------------------


def no_queues_served(server: str) -> str:
    return f"{server} serves no queues of Kueue and none of KAI"


# -- queues of KAI -----------------------------------------------------------------------------------------------------

PODS_NAME_QUEUES = (
    "pods name their queue by the annotation scheduling.volcano.sh/queue-name, not by the label kai.scheduler/queue"
)


def whole_cluster(name: str) -> str:
    return f"the name is changed: {name} is the whole cluster"


def no_parent(parent: str) -> str:
    return f"not carried over: spec.parentQueue: Queue {parent} is not among what was read"


def no_duration(source: str, field: str, given: object) -> str:
    return f"{source}: spec.{field}: {given!r} is not a duration (expected one such as 90s or 1h)"


def deserves_none(where: str, resource: str) -> str:
    return f"not carried over: {where}.quota: -1 (all there is): the queue deserves no {resource}"


def holds_none(where: str, resource: str) -> str:
    return f"{where}.limit: not given, which KAI takes as 0: the queue may hold no {resource}"


def one_weight(field: str, weight: float, chosen: str) -> str:
    return (
        f"not carried over: spec.resources.{field}.overQuotaWeight: {weight:g}: a queue has one weight, and it is that "
        f"of {chosen}"
    )


def negative(where: str, value: float) -> str:
    return f"{where}: {value:g} is negative (expected zero or more, or -1)"


def no_priority(source: str, value: object) -> str:
    return f"{source}: spec.priority: expected a whole number, got {value!r}"


def negative_priority(value: int) -> str:
    return f"not carried over: spec.priority: {value}: a queue has at least 0"


# -- queues of Kueue ---------------------------------------------------------------------------------------------------

POLICY_EVICTS = "which jobs are evicted for others is a matter of the policy (actions preempt and reclaim)"
ALL_NAMESPACES = "a queue takes jobs of all namespaces; admission webhooks or RBAC can keep others out"
NO_FLAVORS = "there are no flavors to choose from; scores of nodes choose among them"
NOTHING_OUTSIDE = "nothing outside of vsched is asked before a job is admitted"
POLICY_ORDERS = "jobs are ordered by the policy"
OWN_SELECTORS = "pods are sent to nodes by their own node selectors, or by groups of nodes (plugin nodegroup)"
TAINTS_COUNT = "taints of nodes count as Kubernetes means them"
OWN_TOLERATIONS = "pods get no tolerations from their queue: they need their own"
CLOSENESS = "closeness is asked for by networkTopology of the job"


def cohort_named(name: str) -> str:
    return f"cohort {name}, which others name"


def another_queue(name: str) -> str:
    return f"the name is changed: there is another queue {name}"


NO_NAMESPACES = "not carried over: spec.namespaceSelector: none, so that Kueue takes no job at all"
NO_BORROWING = "not carried over: borrowingLimit: there is nobody above to borrow from"


def borrowing_cut(resource: str, parent: str) -> str:
    return f"borrowingLimit of {resource}: all that {parent} may hold, which is less"


NO_LENDING = "not carried over: lendingLimit: there is nobody above to lend to"


def sum_of_flavors(resource: str, flavors: str) -> str:
    return (
        f"not carried over: quotas of flavors: {resource} is the sum of {flavors}; the plugin nodegroup limits amounts "
        "by groups of nodes"
    )


def no_borrowing_limit(resource: str) -> str:
    return f"not carried over: borrowingLimit of {resource}: another flavor has none, so the sum has none"


STRICT_FIFO = (
    "not carried over: spec.queueingStrategy: StrictFIFO: jobs that fit go before older ones that do not; the plugin "
    "easy-backfill keeps room for the first"
)


def stopped(policy: str) -> str:
    return f"not carried over: spec.stopPolicy: {policy}: the queue is closed, but what runs goes on"


def no_cluster_queue(source: str, target: str) -> str:
    return f"{source}: not carried over: ClusterQueue {target} is not there"


def name_the_queue(source: str, group: str, name: str, queue: str) -> str:
    return (
        f"{source}: jobs that name it (label {group}/queue-name: {name}) have to name the queue {queue} (annotation "
        "scheduling.volcano.sh/queue-name)"
    )


def no_default(number: int) -> str:
    return (
        f"there are {number} LocalQueues, and none is called default: jobs that name no queue get the default one of "
        "vsched"
    )
