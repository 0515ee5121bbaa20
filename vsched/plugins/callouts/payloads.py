"""What an extender is sent and what it may answer: one struct a message, keys as written here in camelCase.

Amounts are Kubernetes quantities by resource name; what is not named is zero.
"""

from __future__ import annotations

import msgspec

from vsched.model.nodes.table import Taint

Quantities = dict[str, str]
Labels = dict[str, str]

# -- what is sent ---------------------------------------------------------------------------------------------------


class PodKind(msgspec.Struct, frozen=True, rename="camel"):
    """What all pods have in common that are asked about at once: the same request, rules and labels."""

    namespace: str
    labels: Labels
    """Without those that only number the pods of a workload."""
    request: Quantities
    node_selector: Labels


class TaskPayload(msgspec.Struct, frozen=True, rename="camel"):
    """One pod."""

    uid: str
    namespace: str
    name: str
    job: str
    """``namespace/podgroup``."""
    role: str
    labels: Labels
    priority: int
    preemptable: bool
    request: Quantities
    node: str
    """Where it is or is to be, empty where that is open."""
    status: str
    """Pending, Allocated, Pipelined, Binding, Bound, Running, Releasing, Succeeded, Failed or Unknown."""


class NodePayload(msgspec.Struct, frozen=True, rename="camel"):
    """One node as the cycle sees it at the time of asking."""

    name: str
    labels: Labels
    taints: tuple[Taint, ...]
    unschedulable: bool
    allocatable: Quantities
    idle: Quantities
    """Negative where the node is over-used."""
    releasing: Quantities
    """Used by pods that are leaving."""
    pipelined: Quantities
    """Reserved for pods that wait for others to leave."""


class QueuePayload(msgspec.Struct, frozen=True, rename="camel"):
    """One queue, with what it holds at the time of asking."""

    name: str
    weight: int
    priority: int
    parent: str
    state: str
    reclaimable: bool
    annotations: dict[str, str]
    capability: Quantities
    deserved: Quantities
    guarantee: Quantities
    allocated: Quantities


class JobPayload(msgspec.Struct, frozen=True, rename="camel"):
    """One PodGroup, with what its pods hold at the time of asking."""

    uid: str
    namespace: str
    name: str
    queue: str
    priority: int
    phase: str
    annotations: dict[str, str]
    min_member: int
    min_resources: Quantities
    ready: int
    """Pods that count towards the minimum."""
    waiting: int
    """Pods that have a node once others have left it."""
    pending: int
    allocated: Quantities
    tasks: list[TaskPayload] | msgspec.UnsetType = msgspec.UNSET
    """At the opening of a session only."""


class NamespacePayload(msgspec.Struct, frozen=True, rename="camel"):
    """One namespace."""

    weight: int
    labels: Labels


class NodesRequest(msgspec.Struct, frozen=True, rename="camel"):
    """``predicate`` and ``prioritize``."""

    task: PodKind
    nodes: list[msgspec.Raw]
    """NodePayloads."""


class VictimsRequest(msgspec.Struct, frozen=True, rename="camel"):
    """``preemptable`` and ``reclaimable``: candidates on one node in the order they would go."""

    evictor: TaskPayload
    evictees: list[TaskPayload]


class QueueRequest(msgspec.Struct, frozen=True, rename="camel"):
    """``queueOverused``."""

    queue: QueuePayload


class JobRequest(msgspec.Struct, frozen=True, rename="camel"):
    """``jobEnqueueable``, ``jobEnqueued`` and ``jobReady``."""

    job: JobPayload


class TaskRequest(msgspec.Struct, frozen=True, rename="camel"):
    """``allocateFunc`` and ``deallocateFunc``."""

    task: TaskPayload


class SessionRequest(msgspec.Struct, frozen=True, rename="camel"):
    """``onSessionOpen``: all nodes, queues and namespaces, and the jobs that the cycle may do something for."""

    jobs: dict[str, JobPayload]
    nodes: dict[str, msgspec.Raw]
    """NodePayloads by name."""
    queues: dict[str, QueuePayload]
    namespace_info: dict[str, NamespacePayload]


class EmptyRequest(msgspec.Struct, frozen=True):
    """``onSessionClose``."""


# -- what is answered -----------------------------------------------------------------------------------------------


class Verdict(msgspec.Struct, frozen=True, rename="camel"):
    """Why not a node, or (``allocateFunc``) what is wrong with a placement; an empty message means nothing is."""

    error_message: str = ""
    code: int = 0
    """Volcano's: 2 where evicting pods from the node could cure it, anything else where it could not."""


class NodesAnswer(msgspec.Struct, frozen=True, rename="camel"):
    """``predicate``: nodes that are out of the question; those not named pass."""

    nodes: dict[str, Verdict] | None = None
    error_message: str = ""
    """Holds for all nodes asked about."""


class ScoresAnswer(msgspec.Struct, frozen=True, rename="camel"):
    """``prioritize``: added to the scores of other plugins; nodes not named get nothing."""

    node_score: dict[str, float] | None = None
    error_message: str = ""


class Victim(msgspec.Struct, frozen=True):
    """A pod that may be evicted, by its uid as it was sent, or spelled as Go writes it."""

    uid: str = ""
    go_uid: str = msgspec.field(default="", name="UID")


class VictimsAnswer(msgspec.Struct, frozen=True, rename="camel"):
    """``preemptable`` and ``reclaimable``: 1 agrees to the victims, 0 has no opinion, -1 agrees to none."""

    status: int = 0
    victims: list[Victim] | None = None


class StatusAnswer(msgspec.Struct, frozen=True, rename="camel"):
    """``jobEnqueueable``: 1 admits, 0 has no opinion, -1 rejects."""

    status: int = 0


class ReadyAnswer(msgspec.Struct, frozen=True, rename="camel"):
    """``jobReady``."""

    status: bool = False


class OverusedAnswer(msgspec.Struct, frozen=True, rename="camel"):
    """``queueOverused``."""

    overused: bool = False
