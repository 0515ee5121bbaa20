"""What edits are called: noun phrases that come after "would start with"."""

from __future__ import annotations

from vsched.framework.words.lists import counted
from vsched.model.amounts.quantity import format_bytes

# -- a job and its pods ------------------------------------------------------------------------------------------------


def minimum_of_job(field: str, minimum: int, job: str, now: int) -> str:
    return f"{field} {minimum} of {job} (now {now})"


def minimum(field: str, minimum: int, fewer: int) -> str:
    return f"{field} {minimum} ({fewer} fewer)"


def fewer(count: int) -> str:
    return f" ({count} fewer)"


def minimum_of_task(minimum: int, task: str, fewer: int) -> str:
    return f"minAvailable {minimum} of task {task} ({fewer} fewer)"


def minimum_of_role(minimum: int, role: str, fewer: int, members: int) -> str:
    return f"minTaskMember {minimum} of {role} ({fewer} fewer), and minMember {members}"


def minimum_of_sub_groups(minimum: int, policy: str, fewer: int) -> str:
    return f"minSubGroups {minimum} {of_sub_groups(policy)} ({fewer} fewer)"


def size_of_sub_groups(size: int, policy: str, fewer: int) -> str:
    return f"subGroupSize {size} {of_sub_groups(policy)} ({fewer} fewer)"


def and_min_member(members: int) -> str:
    return f", and minMember {members}"


def min_resources(amounts: str) -> str:
    return f"minResources {amounts}"


def and_min_resources(amounts: str) -> str:
    return f", and minResources {amounts}"


NO_LIMIT = "no limit"


def highest_tier(tier: int, now: str) -> str:
    return f"highestTierAllowed {tier} (now {now})"


def highest_tier_of_sub_groups(tier: int, policy: str, now: str) -> str:
    return f"highestTierAllowed {tier} {of_sub_groups(policy)} (now {now})"


def of_sub_groups(policy: str) -> str:
    return f"of sub-group policy {policy}"


def request_of_pods(amount: str, resource: str, now: str) -> str:
    return f"{amount} {resource} a pod instead of {now}"


def request_of_containers(amount: int, resource: str, now: int) -> str:
    return f"{amount} {resource} a container instead of {now}"


def more_pods(count: int, *, role: str = "", like: str = "") -> str:
    which = f" of role {role}" if role else f" like {like}" if like else ""
    return f"{counted(count, 'more pod', 'more pods')}{which}"


def priority_class(name: str) -> str:
    return f"priority class {name}"


def priority(value: int, now: int) -> str:
    return f"a priority of {value} (now {now})"


def priority_class_created(name: str, value: int) -> str:
    return f"priority class {name} created with value {value}"


def toleration(taint: str) -> str:
    return f"a toleration of the taint {taint}"


def toleration_in_claims(taint: str) -> str:
    return f"a toleration of the taint {taint} in its ResourceClaims"


_RULES = {
    "nodeSelector": "its node selector and node affinity",
    "hostPorts": "its host ports",
    "podAffinity": "its required pod affinity",
    "podAntiAffinity": "its required pod anti-affinity",
    "topologySpread": "its topology spread constraints",
    "deviceWishes": "its annotations that choose types, uuids or the mode of devices",
}


def rule_dropped(rule: str) -> str:
    return f"{_RULES[rule]} dropped"


GATES_REMOVED = "the scheduling gates of its pods removed"


def end_of(jobs: str) -> str:
    return f"the end of {jobs}"


def podgroup_created(podgroup: str, queue: str) -> str:
    return f"PodGroup {podgroup} created in queue {queue}"


# -- queues and namespaces ---------------------------------------------------------------------------------------------


def as_its_queue(queue: str) -> str:
    return f"queue {queue} as its queue"


def queue_created(queue: str) -> str:
    return f"queue {queue} created"


def queue_opened(queue: str) -> str:
    return f"queue {queue} opened"


def queue_made_reclaimable(queue: str) -> str:
    return f"queue {queue} made reclaimable"


def weight(value: int, queue: str, now: int) -> str:
    return f"weight {value} for queue {queue} (now {now})"


def more_in_queue(more: str, queue: str, field: str, amount: str) -> str:
    """``field`` is that of the Queue which then has this amount."""
    return f"{more} in queue {queue} ({field} {amount})"


def more_on_node_group(more: str, queue: str, group: str, limit: str) -> str:
    return f"{more} in queue {queue} on node group {group} (limit {limit})"


def less_guaranteed(less: str, resource: str, queue: str, left: str) -> str:
    return f"{less} less {resource} guaranteed to queue {queue} (guarantee {left})"


def running_jobs(most: int, queue: str, now: int | None, *, per_user: bool = False) -> str:
    whose = " of each user" if per_user else ""
    return f"{counted(most, 'running job', 'running jobs')}{whose} in queue {queue} (now {now})"


def wall_time(length: str, queue: str, now: str) -> str:
    return f"a wall time of {length} in queue {queue} (now {now})"


def node_group_added(group: str, queue: str) -> str:
    return f"node group {group} added to those of queue {queue}"


def more_in_quota(more: str, quota: str, whole: str) -> str:
    return f"{more} in resource quota {quota} ({whole} in all)"


def limit_of_consumer(amount: str, resource: str, consumer: str) -> str:
    return f"a limit of {amount} {resource} in Consumer {consumer}"


def more_evictions(count: int, budget: str) -> str:
    return f"{counted(count, 'more eviction', 'more evictions')} allowed by disruption budget {budget}"


# -- nodes, devices and volumes ----------------------------------------------------------------------------------------


def uncordoned(nodes: str) -> str:
    return f"{nodes} uncordoned"


def taint_removed(taint: str, nodes: str) -> str:
    return f"the taint {taint} removed from {nodes}"


def labelled(nodes: str, labels: str) -> str:
    return f"{nodes} labelled {labels}"


def more_nodes(count: int, like: str) -> str:
    return f"{counted(count, 'more node', 'more nodes')} like {like}"


def more_of_pool(count: int, pool: str) -> str:
    return f"{count} more of pool {pool}"


def more_on_node(more: str, node: str) -> str:
    return f"{more} on a node like {node}"


def more_pod_slots(count: int) -> str:
    return counted(count, "more pod slot", "more pod slots")


def more_devices(count: int, device_class: str, node: str) -> str:
    return f"{counted(count, 'more device', 'more devices')} of class {device_class} on a node like {node}"


def more_volumes(count: int, storage_class: str, size: int) -> str:
    more = counted(count, "more volume", "more volumes")
    return f"{more} of class {storage_class or 'none'} with {format_bytes(size)}"


def more_storage(more: int, storage_class: str, capacity: str) -> str:
    return f"{format_bytes(more)} more free storage of class {storage_class} in CSIStorageCapacity {capacity}"


def claims_created(claims: str) -> str:
    return f"{claims} created"


# -- the policy --------------------------------------------------------------------------------------------------------


def usage_threshold(name: str, percent: float) -> str:
    return f"usage threshold {name} at {percent:g} %"


def overcommit_factor(factor: float) -> str:
    return f"overcommit-factor {factor:g} in the policy"


def argument(key: str, value: str, plugin: str) -> str:
    return f"{key} {value} of plugin {plugin} in the policy"


def action(name: str) -> str:
    return f"action {name} in the policy"
