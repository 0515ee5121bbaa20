"""The requests that vsched sends to an extender, and the answers it accepts: one struct a message.

JSON keys are the field names in camelCase. Amounts are Kubernetes quantities by resource name; a resource that is not
named is zero.
"""

from __future__ import annotations

import msgspec

from vsched.model.nodes.table import Taint

Quantities = dict[str, str]
Labels = dict[str, str]

# -- requests -------------------------------------------------------------------------------------------------------


class PodKind(msgspec.Struct, frozen=True, rename="camel"):
    """What pods of one kind share: request, rules and labels. The extender is asked about all of them at once."""

    namespace: str
    labels: Labels
    """Labels, without those that only number the pods of a workload."""
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
    """The node it is on or is placed on; empty where it has none."""
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
    """Reserved for pods that wait until other pods have left."""


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
    """Pods with a node that wait until other pods have left it."""
    pending: int
    allocated: Quantities
    tasks: list[TaskPayload] | msgspec.UnsetType = msgspec.UNSET
    """Present only in ``onSessionOpen``."""


class NamespacePayload(msgspec.Struct, frozen=True, rename="camel"):
    """One namespace."""

    weight: int
    labels: Labels


class NodesRequest(msgspec.Struct, frozen=True, rename="camel"):
    """The request of ``predicate`` and ``prioritize``."""

    task: PodKind
    nodes: list[msgspec.Raw]
    """Encoded NodePayloads."""


class VictimsRequest(msgspec.Struct, frozen=True, rename="camel"):
    """The request of ``preemptable`` and ``reclaimable``: candidates on one node, in the order of eviction."""

    evictor: TaskPayload
    evictees: list[TaskPayload]


class QueueRequest(msgspec.Struct, frozen=True, rename="camel"):
    """The request of ``queueOverused``."""

    queue: QueuePayload


class JobRequest(msgspec.Struct, frozen=True, rename="camel"):
    """The request of ``jobEnqueueable``, ``jobEnqueued`` and ``jobReady``."""

    job: JobPayload


class TaskRequest(msgspec.Struct, frozen=True, rename="camel"):
    """The request of ``allocateFunc`` and ``deallocateFunc``."""

    task: TaskPayload


class SessionRequest(msgspec.Struct, frozen=True, rename="camel"):
    """The request of ``onSessionOpen``: all nodes, queues and namespaces, and the jobs that the cycle may act on."""

    jobs: dict[str, JobPayload]
    nodes: dict[str, msgspec.Raw]
    """Encoded NodePayloads by node name."""
    queues: dict[str, QueuePayload]
    namespace_info: dict[str, NamespacePayload]


class EmptyRequest(msgspec.Struct, frozen=True):
    """The request of ``onSessionClose``."""


# -- answers --------------------------------------------------------------------------------------------------------


class CalloutVerdict(msgspec.Struct, frozen=True, rename="camel"):
    """Why a node is refused, or (``allocateFunc``) what is wrong with a placement; an empty message means accepted."""

    error_message: str = ""
    code: int = 0
    """Volcano's code: 2 where evicting pods from the node could help, any other number where it could not."""


class NodesAnswer(msgspec.Struct, frozen=True, rename="camel"):
    """The answer of ``predicate``: refused nodes by name; nodes that are not named pass."""

    nodes: dict[str, CalloutVerdict] | None = None
    error_message: str = ""
    """If set, all nodes of the request are refused with it."""


class ScoresAnswer(msgspec.Struct, frozen=True, rename="camel"):
    """The answer of ``prioritize``: scores, added to those of other plugins; nodes that are not named get 0."""

    node_score: dict[str, float] | None = None
    error_message: str = ""


class Victim(msgspec.Struct, frozen=True):
    """A pod that may be evicted, by its uid; the key is ``uid``, or ``UID`` as Go writes it."""

    uid: str = ""
    go_uid: str = msgspec.field(default="", name="UID")


class VictimsAnswer(msgspec.Struct, frozen=True, rename="camel"):
    """The answer of ``preemptable`` and ``reclaimable``: 1 agrees to the victims, 0 abstains, -1 agrees to none."""

    status: int = 0
    victims: list[Victim] | None = None


class StatusAnswer(msgspec.Struct, frozen=True, rename="camel"):
    """The answer of ``jobEnqueueable``: 1 permits, 0 abstains, -1 rejects."""

    status: int = 0


class ReadyAnswer(msgspec.Struct, frozen=True, rename="camel"):
    """The answer of ``jobReady``."""

    status: bool = False


class OverusedAnswer(msgspec.Struct, frozen=True, rename="camel"):
    """The answer of ``queueOverused``."""

    overused: bool = False
