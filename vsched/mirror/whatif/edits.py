"""Edits that a person could make to let something start, as records. Amounts are base units, and in all, not more.

``ClusterEditor`` makes them of a cluster, ``explain.situation`` of a policy. ``explain.words.telling`` has the words
for people and for ``kubectl``.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

# -- of the job itself ------------------------------------------------------------------------------------------------


class SetMinMember(msgspec.Struct, frozen=True, tag_field="edit", tag="minMember"):
    """Let a gang start with fewer."""

    job: str
    minimum: int
    min_resources: dict[str, int] = {}
    """What ``minResources`` is to say with it, by resource; empty where the job states none."""


class SetMinResources(msgspec.Struct, frozen=True, tag_field="edit", tag="minResources"):
    """Let a job's minimum state less than it does, by resource; what is not named stays."""

    job: str
    amounts: dict[str, int]


class SetRoleMinimum(msgspec.Struct, frozen=True, tag_field="edit", tag="roleMinimum"):
    """Let a gang start with fewer pods of one role."""

    job: str
    role: str
    minimum: int
    members: int
    """The minimum of the whole gang with it."""


class SetRequest(msgspec.Struct, frozen=True, tag_field="edit", tag="request"):
    """Have each waiting pod of a job ask for at most so much of a resource, and the job's minimum with them."""

    job: str
    resource: str
    amount: int


class SetJobQueue(msgspec.Struct, frozen=True, tag_field="edit", tag="jobQueue"):
    """Put a job into another queue."""

    job: str
    queue: str


class SetPriority(msgspec.Struct, frozen=True, tag_field="edit", tag="priority"):
    """Give a job another priority."""

    job: str
    priority: int
    priority_class: str = ""
    """The class of that value; empty where there is none yet."""


class SetVictimMinimum(msgspec.Struct, frozen=True, tag_field="edit", tag="victimMinimum"):
    """Let others take from a job that runs what it holds beyond a smaller minimum."""

    job: str
    minimum: int
    min_resources: dict[str, int] = {}
    """What its ``minResources`` is to say with it, by resource; empty where it states none."""


class CreatePriorityClass(msgspec.Struct, frozen=True, tag_field="edit", tag="createPriorityClass"):
    """Make a priority class that does not exist."""

    name: str
    value: int


class Tolerate(msgspec.Struct, frozen=True, tag_field="edit", tag="tolerate"):
    """Have the waiting pods of a job tolerate a taint."""

    job: str
    key: str
    value: str = ""
    effect: str = "NoSchedule"


Rule = Literal["nodeSelector", "hostPorts", "podAffinity", "podAntiAffinity", "topologySpread"]
"""What of a pod keeps it off nodes; the first stands for selector, node affinity and node name together."""


class DropRule(msgspec.Struct, frozen=True, tag_field="edit", tag="dropRule"):
    """Have the waiting pods of a job do without one kind of rule about nodes or about other pods."""

    job: str
    rule: Rule


class RemoveGates(msgspec.Struct, frozen=True, tag_field="edit", tag="removeGates"):
    """Take the scheduling gates from the pods of a job."""

    job: str


class LetIn(msgspec.Struct, frozen=True, tag_field="edit", tag="letIn"):
    """Open the gates of a job's queue for its pods: nobody's choice, but what a cycle decides once there is room."""

    job: str


class AddPods(msgspec.Struct, frozen=True, tag_field="edit", tag="addPods"):
    """Make more pods of a job, like one there is."""

    job: str
    like: str
    """Name of a pod."""
    count: int
    role: str = ""
    """The role they are to have."""


class CreatePodGroup(msgspec.Struct, frozen=True, tag_field="edit", tag="createPodGroup"):
    """Make the PodGroup that pods name and that does not exist."""

    job: str
    queue: str
    minimum: int = 1


# -- of queues --------------------------------------------------------------------------------------------------------


class CreateQueue(msgspec.Struct, frozen=True, tag_field="edit", tag="createQueue"):
    """Make a queue that jobs name and that does not exist."""

    queue: str


class OpenQueue(msgspec.Struct, frozen=True, tag_field="edit", tag="openQueue"):
    """Open a queue that takes no jobs."""

    queue: str


class SetQueueAmount(msgspec.Struct, frozen=True, tag_field="edit", tag="queueAmount"):
    """Let a queue hold more of one resource, or deserve more of it."""

    queue: str
    field: Literal["capability", "deserved", "guarantee"]
    resource: str
    amount: int


class LowerGuarantee(msgspec.Struct, frozen=True, tag_field="edit", tag="guarantee"):
    """Keep less of one resource free for a queue, whoever asks."""

    queue: str
    resource: str
    amount: int


class SetQueueWeight(msgspec.Struct, frozen=True, tag_field="edit", tag="queueWeight"):
    """Let a queue count for more when the cluster is divided."""

    queue: str
    weight: int


class SetReclaimable(msgspec.Struct, frozen=True, tag_field="edit", tag="reclaimable"):
    """Let others take back what a queue has of theirs."""

    queue: str


class AddNodeGroup(msgspec.Struct, frozen=True, tag_field="edit", tag="nodeGroup"):
    """Let a queue use one more group of nodes."""

    queue: str
    group: str


class SetGroupLimit(msgspec.Struct, frozen=True, tag_field="edit", tag="groupLimit"):
    """Let a queue hold more of one resource on a group of nodes."""

    queue: str
    group: str
    resource: str
    amount: int


# -- of namespaces ----------------------------------------------------------------------------------------------------


class SetQuota(msgspec.Struct, frozen=True, tag_field="edit", tag="quota"):
    """Raise one line of a ResourceQuota."""

    namespace: str
    quota: str
    resource: str
    """As the quota writes it: ``requests.cpu``."""
    hard: int


class SetConsumerLimit(msgspec.Struct, frozen=True, tag_field="edit", tag="consumerLimit"):
    """Let a namespace hold more of what is divided among namespaces."""

    namespace: str
    resource: str
    """As it is counted: ``cpu``, ``limits.cpu``."""
    amount: int


class AllowDisruptions(msgspec.Struct, frozen=True, tag_field="edit", tag="disruptions"):
    """Let a PodDisruptionBudget allow so many evictions."""

    namespace: str
    budget: str
    allowed: int


# -- of nodes ---------------------------------------------------------------------------------------------------------


class Uncordon(msgspec.Struct, frozen=True, tag_field="edit", tag="uncordon"):
    """Let pods onto nodes again."""

    nodes: tuple[str, ...]


class RemoveTaint(msgspec.Struct, frozen=True, tag_field="edit", tag="removeTaint"):
    """Take a taint from nodes."""

    nodes: tuple[str, ...]
    key: str
    value: str = ""
    effect: str = "NoSchedule"


class LabelNodes(msgspec.Struct, frozen=True, tag_field="edit", tag="labelNodes"):
    """Put labels on nodes."""

    nodes: tuple[str, ...]
    labels: dict[str, str]


class SetNodeAmount(msgspec.Struct, frozen=True, tag_field="edit", tag="nodeAmount"):
    """Have a node offer more of one resource."""

    node: str
    resource: str
    amount: int


class AddNodes(msgspec.Struct, frozen=True, tag_field="edit", tag="nodes"):
    """Add empty nodes like one there is."""

    like: str
    count: int


# -- of the policy ----------------------------------------------------------------------------------------------------


class SetThreshold(msgspec.Struct, frozen=True, tag_field="edit", tag="threshold"):
    """Close nodes to new pods only from a higher usage on."""

    name: str
    """As the policy writes it: ``cpu``, ``MEMUsageAvg.5m``."""
    percent: float
    plugin: ClassVar[str] = "usage"


class SetOvercommit(msgspec.Struct, frozen=True, tag_field="edit", tag="overcommit"):
    """Admit more work than the cluster has room for."""

    factor: float
    plugin: ClassVar[str] = "overcommit"


class SetArgument(msgspec.Struct, frozen=True, tag_field="edit", tag="argument"):
    """Give an argument of a plugin another value."""

    plugin: str
    key: str
    """As the policy writes it."""
    value: float


class UseAction(msgspec.Struct, frozen=True, tag_field="edit", tag="action"):
    """Run one more action in each session."""

    action: str


JobEdit = (
    SetMinMember
    | SetMinResources
    | SetRoleMinimum
    | SetRequest
    | SetJobQueue
    | SetPriority
    | Tolerate
    | DropRule
    | RemoveGates
    | AddPods
)
QueueEdit = (
    CreateQueue
    | OpenQueue
    | SetQueueAmount
    | LowerGuarantee
    | SetQueueWeight
    | SetReclaimable
    | AddNodeGroup
    | SetGroupLimit
)
OtherEdit = CreatePodGroup | SetVictimMinimum | CreatePriorityClass
"""Of other jobs than the one that waits, and of what it names and is not there."""
NamespaceEdit = SetQuota | SetConsumerLimit | AllowDisruptions
NodeEdit = Uncordon | RemoveTaint | LabelNodes | SetNodeAmount | AddNodes
PolicyEdit = SetThreshold | SetOvercommit | SetArgument | UseAction
ClusterEdit = JobEdit | OtherEdit | QueueEdit | NamespaceEdit | NodeEdit | LetIn
Edit = JobEdit | OtherEdit | QueueEdit | NamespaceEdit | NodeEdit | PolicyEdit
