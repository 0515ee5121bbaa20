"""What the controllers say of queues, PodGroups, NodeShards and ProvisioningRequests."""

from __future__ import annotations

# -- objects that are not managed or written ---------------------------------------------------------------------------


def not_run_in(namespace: str) -> str:
    return f"vcjobs are not run in namespace {namespace}: it is not one of those that vsched runs them in"


def not_managed(why: str) -> str:
    return f"not managed: {why}"


CANNOT_BE_WRITTEN = "cannot be written"


# -- PodGroups for pods without one ------------------------------------------------------------------------------------

QUEUE_RESERVES = "its queue reserves resources for it"
PODGROUP_BY_NAME = "PodGroup, by name"
PODGROUPS_CANNOT_BE_WRITTEN = "PodGroups for pods without one cannot be written"
AMOUNTS = 'amounts by resource, such as {"cpu": "4"}'


# -- ProvisioningRequests ----------------------------------------------------------------------------------------------

REQUESTS_CANNOT_BE_LISTED = "ProvisioningRequests cannot be listed, so pods request nodes by their conditions"


def asked_for_nodes(pods: int, request: str) -> str:
    return f"asked for nodes for {pods} pods by ProvisioningRequest {request}"


REQUEST_CANNOT_BE_WRITTEN = "ProvisioningRequest cannot be written"


def nodes_not_ready(length: str) -> str:
    return f"it was provisioned, but its nodes were not ready within {length}"


# -- queues ------------------------------------------------------------------------------------------------------------


def unknown_action(action: str, actions: str) -> str:
    return f"action: {action!r} is unknown (expected {actions})"


def no_queue(queue: str, *, any_more: bool = False) -> str:
    return f"Queue {queue} does not exist{' any more' if any_more else ''}"


def unknown_state(state: str, states: str) -> str:
    return f"{state!r} is unknown (expected {states})"


def unknown_status(state: str) -> str:
    return f"status.state: {state!r} is unknown; request the state that you want"


WITH_ITS_PARENT = " with its parent"
QUEUE_CANNOT_BE_CREATED = "queue cannot be created"


def commands_in_namespace_only(namespace: str) -> str:
    return f"Commands for queues are accepted in namespace {namespace} only"


def no_name(target: str, kind: str, expected: str) -> str:
    return f"target.name: {target!a} cannot be the name of {kind} (expected {expected})"


def root_cannot_be_closed(root: str) -> str:
    return f"{root} is the parent of all queues and cannot be closed"


def parent_first(parent: str, state: str) -> str:
    return f"its parent {parent} is {state} and must be opened first"


# -- NodeShards --------------------------------------------------------------------------------------------------------

NODESHARDS_CANNOT_BE_LISTED = "NodeShards cannot be listed, so all nodes are used"


def no_nodeshard_no_node(name: str) -> str:
    return f"NodeShard {name} does not exist, so no node may be used"


def no_nodeshard_none_preferred(name: str) -> str:
    return f"NodeShard {name} does not exist, so no node is preferred"
