"""What is said of writes to the API server, in Events and conditions."""

from __future__ import annotations

# -- why a write is given up -------------------------------------------------------------------------------------------


def pod_cannot_be_read(why: Exception) -> str:
    return f"the pod cannot be read: {why}"


STOPPING = "the scheduler is stopping"
WALL_TIME_IS_OVER = "the wall time of its job is over"
NOT_THE_LEADER = "not sent: this process is not the leader"
MORE_THAN_ONE_BUDGET = "more than one PodDisruptionBudget"
"""What the API server says."""


# -- nodes that are locked ---------------------------------------------------------------------------------------------


def node_is_locked(annotation: str, value: str) -> str:
    return f"the node is locked by its annotation {annotation}: {value!r}"


def node_cannot_be_locked(why: str) -> str:
    return f"the node cannot be locked: {why}"


def node_cannot_be_read(why: Exception) -> str:
    return f"the node cannot be read: {why}"


NO_NODE = "the node cannot be read: it is no Node"


# -- what is dropped, or not sent --------------------------------------------------------------------------------------


def no_event(kind: str, name: str) -> str:
    return f"no Event about the problem of {kind} {name!a}"


def key_is_dropped(key: object) -> str:
    return f"what was to be written of {key!a} is dropped"


def queue_is_full(what: str) -> str:
    return f"the queue of {what}s is full"


def item_is_dropped(what: str, namespace: str, name: str) -> str:
    return f"the {what} of {namespace}/{name} is dropped"


def not_sent(why: str) -> str:
    return f"not sent: {why}"


# -- statuses ----------------------------------------------------------------------------------------------------------

HYPERNODES_CANNOT_BE_WRITTEN = "HyperNode statuses cannot be written"
MINIMUM_IS_PLACED = "its minimum is placed"


# -- Events ------------------------------------------------------------------------------------------------------------


def failed_and_retries(why: str) -> str:
    return f"the scheduler failed and retries: {why}"


def assigned(namespace: str, pod: str, node: str) -> str:
    return f"Successfully assigned {namespace}/{pod} to {node}"


def binding_failed(node: str, why: str) -> str:
    return f"binding to {node} failed: {why}"


def not_bound_to(node: str, why: str) -> str:
    return f"not bound to {node}: {why}"


def not_bound(why: str) -> str:
    return f"not bound: {why}"


def evicted_from(node: str, why: str) -> str:
    return f"Evicted from {node}: {why}"


def pods_evicted(why: str) -> str:
    return f"Pods evicted: {why}"


def makes_room_for(job: str) -> str:
    """A pod that is moved."""
    return f"moved to make room for {job}"


DEFRAGMENTS = "moved so that free devices stay usable"


def has_room_on(cause: str, node: str) -> str:
    """Where a pod that is moved has another place."""
    return f"{cause}; it has room on {node}"


def evict_each_other(other: str, seconds: float) -> str:
    return f"evicts pods of {other}, which evicted its own: neither may evict the other's for {seconds:g} s"


def asked_to_end(why: str) -> str:
    return f"Asked to end by itself: {why}"


def pods_asked_to_end(why: str) -> str:
    return f"Pods asked to end by themselves: {why}"


def no_longer_asked_to_end(why: str) -> str:
    return f"No longer asked to end: {why}"


def pods_no_longer_asked_to_end(why: str) -> str:
    return f"Pods no longer asked to end: {why}"


# -- answers -----------------------------------------------------------------------------------------------------------


def server_answers(code: int) -> str:
    return f"the API server answers {code}"


def namespace_being_deleted(namespace: str) -> str:
    return f"not sent: the namespace {namespace} is being deleted"
