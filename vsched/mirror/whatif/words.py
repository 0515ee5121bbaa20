"""What is said of what-if edits that cannot be made."""

from __future__ import annotations

# -- the policy --------------------------------------------------------------------------------------------------------


def no_argument(plugin: str, argument: str) -> str:
    return f"plugin {plugin}: has no argument {argument}"


def plugin_not_used(plugin: str) -> str:
    return f"plugin {plugin}: the policy does not use it"


# -- claims and devices ------------------------------------------------------------------------------------------------


def no_device(path: str) -> str:
    return f"device {path}: there is none of this name"


def no_volume_claim(claim: str) -> str:
    return f"PersistentVolumeClaim {claim}: there is none of this name"


def volume_claim_exists(claim: str) -> str:
    return f"PersistentVolumeClaim {claim}: there is one of this name"


def no_storage_capacity(capacity: str) -> str:
    return f"CSIStorageCapacity {capacity}: there is none of this name"


# -- jobs --------------------------------------------------------------------------------------------------------------


def no_network_topology(job: str) -> str:
    return f"job {job}: its spec has no networkTopology"


def no_pods_without_podgroup(job: str) -> str:
    return f"job {job}: no pods name a PodGroup of this name that does not exist"


def no_job(job: str) -> str:
    return f"job {job}: there is none of this name"


def no_sub_group_policy(job: str, policy: int) -> str:
    return f"job {job}: its spec has no subGroupPolicy[{policy}]"


def no_sub_group_topology(job: str, policy: int) -> str:
    return f"job {job}: its subGroupPolicy[{policy}] has no networkTopology"


def no_pod_in_job(namespace: str, pod: str, job: str) -> str:
    return f"pod {namespace}/{pod}: there is none of this name in {job}"


# -- nodes and queues --------------------------------------------------------------------------------------------------


def no_node(node: str) -> str:
    return f"node {node}: there is none of this name"


def no_queue(queue: str) -> str:
    return f"queue {queue}: there is none of this name"


def queue_left_out(queue: str) -> str:
    return f"Queue {queue}: was left out"
