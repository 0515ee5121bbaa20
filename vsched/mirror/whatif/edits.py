"""Edits: changes of a cluster or a policy that could let a job start, as frozen records.

An amount is the new total in base units, not the difference. ``ClusterEditor`` applies edits to a cluster,
``explain.situation`` applies them to a policy. ``explain.words`` turns them into sentences and commands.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from vsched.model.deviceshare.asking import DeviceAmount
from vsched.model.deviceshare.records import NodeDevices
from vsched.model.nodes.table import Taint
from vsched.model.queues.limits import MAX_RUNNING_JOBS, MAX_RUNNING_JOBS_PER_USER

# -- of the waiting job -----------------------------------------------------------------------------------------------


class SetMinMember(msgspec.Struct, frozen=True, tag_field="edit", tag="minMember"):
    """Lower the ``minMember`` of a gang."""

    job: str
    minimum: int
    min_resources: dict[str, int] = {}
    """The new ``minResources`` by resource; empty if the job states none."""


class SetMinResources(msgspec.Struct, frozen=True, tag_field="edit", tag="minResources"):
    """Lower the ``minResources`` of a job, by resource; resources that are not named stay."""

    job: str
    amounts: dict[str, int]


class SetRoleMinimum(msgspec.Struct, frozen=True, tag_field="edit", tag="roleMinimum"):
    """Lower the minimum of one role of a gang (``minTaskMember``)."""

    job: str
    role: str
    minimum: int
    members: int
    """The new ``minMember`` of the whole gang."""


class SetRequest(msgspec.Struct, frozen=True, tag_field="edit", tag="request"):
    """Cap the request of each pending pod of a job for a resource; ``minResources`` goes down accordingly."""

    job: str
    resource: str
    amount: int


class SetDeviceAmount(msgspec.Struct, frozen=True, tag_field="edit", tag="deviceAmount"):
    """Cap what each container of the pending pods of a job asks of shared devices; ``minResources`` goes down, too."""

    job: str
    what: DeviceAmount
    amount: int
    """Devices; MiB or per cent of each device."""


class SetJobQueue(msgspec.Struct, frozen=True, tag_field="edit", tag="jobQueue"):
    """Move a job to another queue."""

    job: str
    queue: str


class SetPriority(msgspec.Struct, frozen=True, tag_field="edit", tag="priority"):
    """Give a job another priority."""

    job: str
    priority: int
    priority_class: str = ""
    """The priority class of that value; empty to set the priority alone."""


class SetVictimMinimum(msgspec.Struct, frozen=True, tag_field="edit", tag="victimMinimum"):
    """Lower the ``minMember`` of a running job, so that other jobs can preempt or reclaim more of its pods."""

    job: str
    minimum: int
    min_resources: dict[str, int] = {}
    """The new ``minResources`` of that job, by resource; empty if it states none."""


class EndJobs(msgspec.Struct, frozen=True, tag_field="edit", tag="endJobs"):
    """End other jobs: all their pods leave."""

    jobs: tuple[str, ...]


class CreatePriorityClass(msgspec.Struct, frozen=True, tag_field="edit", tag="createPriorityClass"):
    """Create a priority class."""

    name: str
    value: int


class Tolerate(msgspec.Struct, frozen=True, tag_field="edit", tag="tolerate"):
    """Add a toleration of one taint to the pending pods of a job."""

    job: str
    key: str
    value: str = ""
    effect: str = "NoSchedule"


class TolerateDevices(msgspec.Struct, frozen=True, tag_field="edit", tag="tolerateDevices"):
    """Add a toleration of one taint of devices to the claims of the pending pods of a job."""

    job: str
    key: str
    value: str = ""
    effect: str = "NoSchedule"


Rule = Literal["nodeSelector", "hostPorts", "podAffinity", "podAntiAffinity", "topologySpread", "deviceWishes"]
"""Scheduling constraints of a pod; ``nodeSelector`` stands for node selector, node affinity and node name together,
``deviceWishes`` for the types, uuids and the mode of shared devices that it accepts."""


class DropRule(msgspec.Struct, frozen=True, tag_field="edit", tag="dropRule"):
    """Remove one kind of scheduling constraint from the pending pods of a job."""

    job: str
    rule: Rule


class SetHighestTier(msgspec.Struct, frozen=True, tag_field="edit", tag="highestTier"):
    """Let the pods of a job be in one domain of a higher tier (``networkTopology.highestTierAllowed``)."""

    job: str
    tier: int


class SetSubGroupTier(msgspec.Struct, frozen=True, tag_field="edit", tag="subGroupTier"):
    """Let each sub-group of one policy of a job be in one domain of a higher tier (``highestTierAllowed``)."""

    job: str
    policy: int
    """The position of the policy in ``subGroupPolicy``."""
    tier: int


class SetMinSubGroups(msgspec.Struct, frozen=True, tag_field="edit", tag="minSubGroups"):
    """Lower how many sub-groups of one policy a job needs (``minSubGroups``)."""

    job: str
    policy: int
    """The position of the policy in ``subGroupPolicy``."""
    minimum: int
    members: int
    """The new ``minMember`` of the whole gang."""
    min_resources: dict[str, int] = {}
    """The new ``minResources`` by resource; empty if they stay, or the job states none."""


class SetSubGroupSize(msgspec.Struct, frozen=True, tag_field="edit", tag="subGroupSize"):
    """Lower the minimum of each sub-group of one policy of a job (``subGroupSize``)."""

    job: str
    policy: int
    """The position of the policy in ``subGroupPolicy``."""
    size: int
    members: int
    """The new ``minMember`` of the whole gang."""
    min_resources: dict[str, int] = {}
    """The new ``minResources`` by resource; empty if they stay, or the job states none."""


class RemoveGates(msgspec.Struct, frozen=True, tag_field="edit", tag="removeGates"):
    """Remove the scheduling gates from the pods of a job, except the gate of its queue."""

    job: str


class LetIn(msgspec.Struct, frozen=True, tag_field="edit", tag="letIn"):
    """Open the queue's gate for the pods of a job.

    A cycle decides this once there is room; it is never proposed as a change.
    """

    job: str


class AddPods(msgspec.Struct, frozen=True, tag_field="edit", tag="addPods"):
    """Create more pods of a job, copied from one of its pods."""

    job: str
    like: str
    """Name of the pod to copy."""
    count: int
    role: str = ""
    """The role of the new pods."""


class CreatePodGroup(msgspec.Struct, frozen=True, tag_field="edit", tag="createPodGroup"):
    """Create a PodGroup that pods name and that does not exist."""

    job: str
    queue: str
    minimum: int = 1


# -- of queues --------------------------------------------------------------------------------------------------------


class CreateQueue(msgspec.Struct, frozen=True, tag_field="edit", tag="createQueue"):
    """Create a queue that jobs name and that does not exist."""

    queue: str


class OpenQueue(msgspec.Struct, frozen=True, tag_field="edit", tag="openQueue"):
    """Open a closed queue."""

    queue: str


class SetQueueAmount(msgspec.Struct, frozen=True, tag_field="edit", tag="queueAmount"):
    """Set the capability, deserved amount or guarantee of a queue for one resource."""

    queue: str
    field: Literal["capability", "deserved", "guarantee"]
    resource: str
    amount: int


class LowerGuarantee(msgspec.Struct, frozen=True, tag_field="edit", tag="guarantee"):
    """Lower the guarantee of a queue for one resource."""

    queue: str
    resource: str
    amount: int


class SetQueueWeight(msgspec.Struct, frozen=True, tag_field="edit", tag="queueWeight"):
    """Set the weight of a queue in the division of the cluster."""

    queue: str
    weight: int


class SetJobLimit(msgspec.Struct, frozen=True, tag_field="edit", tag="jobLimit"):
    """Set how many jobs of a queue may run at once, with the queues below it."""

    queue: str
    most: int
    per_user: bool = False
    """Whether this is the limit of each user there."""

    @property
    def annotation(self) -> str:
        """The annotation of the queue that states the limit."""
        return MAX_RUNNING_JOBS_PER_USER if self.per_user else MAX_RUNNING_JOBS


class SetWallTime(msgspec.Struct, frozen=True, tag_field="edit", tag="wallTime"):
    """Set for how long jobs of a queue may run."""

    queue: str
    seconds: float


class SetReclaimable(msgspec.Struct, frozen=True, tag_field="edit", tag="reclaimable"):
    """Make a queue reclaimable: other queues may reclaim what it holds beyond its deserved share."""

    queue: str


class AddNodeGroup(msgspec.Struct, frozen=True, tag_field="edit", tag="nodeGroup"):
    """Add one node group to the required node groups of a queue."""

    queue: str
    group: str


class SetGroupLimit(msgspec.Struct, frozen=True, tag_field="edit", tag="groupLimit"):
    """Set the limit of a queue for one resource on one node group."""

    queue: str
    group: str
    resource: str
    amount: int


# -- of namespaces ----------------------------------------------------------------------------------------------------


class SetQuota(msgspec.Struct, frozen=True, tag_field="edit", tag="quota"):
    """Set the hard limit of one resource in a ResourceQuota."""

    namespace: str
    quota: str
    resource: str
    """As the quota names it: ``requests.cpu``."""
    hard: int


class SetConsumerLimit(msgspec.Struct, frozen=True, tag_field="edit", tag="consumerLimit"):
    """Set the limit of a namespace for one resource in the division among namespaces."""

    namespace: str
    resource: str
    """As the Consumer names it: ``cpu``, ``limits.cpu``."""
    amount: int


class AllowDisruptions(msgspec.Struct, frozen=True, tag_field="edit", tag="disruptions"):
    """Set the number of evictions that a PodDisruptionBudget allows."""

    namespace: str
    budget: str
    allowed: int


# -- of nodes ---------------------------------------------------------------------------------------------------------


class Uncordon(msgspec.Struct, frozen=True, tag_field="edit", tag="uncordon"):
    """Uncordon nodes."""

    nodes: tuple[str, ...]


class RemoveTaint(msgspec.Struct, frozen=True, tag_field="edit", tag="removeTaint"):
    """Remove one taint from nodes."""

    nodes: tuple[str, ...]
    key: str
    value: str = ""
    effect: str = "NoSchedule"


class LabelNodes(msgspec.Struct, frozen=True, tag_field="edit", tag="labelNodes"):
    """Set labels of nodes."""

    nodes: tuple[str, ...]
    labels: dict[str, str]


class SetNodeAmount(msgspec.Struct, frozen=True, tag_field="edit", tag="nodeAmount"):
    """Set the allocatable amount of one resource on a node."""

    node: str
    resource: str
    amount: int


class AddNodes(msgspec.Struct, frozen=True, tag_field="edit", tag="nodes"):
    """Add empty nodes, copied from an existing node."""

    like: str
    count: int


class PoolNode(msgspec.Struct, frozen=True):
    """What a node of a pool is like, but for its name."""

    labels: dict[str, str]
    taints: tuple[Taint, ...]
    allocatable: dict[str, int]
    """In base units, by resource."""
    devices: tuple[NodeDevices, ...] = ()
    """Its shared devices, by kind."""


class AddPoolNodes(msgspec.Struct, frozen=True, tag_field="edit", tag="poolNodes"):
    """Add empty nodes of a pool, which may have no node yet."""

    pool: str
    nodes: tuple[PoolNode, ...]
    """The kinds of nodes of the pool, one for each zone; new nodes take them in turn."""
    count: int


class AddDevices(msgspec.Struct, frozen=True, tag_field="edit", tag="devices"):
    """Add devices to a node, copied from an existing device."""

    node: str
    device_class: str
    """A class that selects them."""
    like: tuple[str, str, str]
    """Driver, pool and name of the device."""
    count: int


class AddVolumes(msgspec.Struct, frozen=True, tag_field="edit", tag="volumes"):
    """Add static volumes that a claim may get, usable on every node."""

    claim: str
    """``namespace/name``: its class, size and access modes are those of the volumes."""
    count: int


class CreateVolumeClaims(msgspec.Struct, frozen=True, tag_field="edit", tag="createVolumeClaims"):
    """Create PersistentVolumeClaims that pods name and that do not exist, bound to volumes that every node reaches."""

    claims: tuple[str, ...]
    """``namespace/name``."""


class SetStorage(msgspec.Struct, frozen=True, tag_field="edit", tag="storage"):
    """Set the free storage that a CSIStorageCapacity states."""

    capacity: str
    """``namespace/name``."""
    amount: int
    """Bytes."""


# -- of the policy ----------------------------------------------------------------------------------------------------


class SetThreshold(msgspec.Struct, frozen=True, tag_field="edit", tag="threshold"):
    """Set a usage threshold of plugin ``usage``; nodes above it take no new pods."""

    name: str
    """As the policy names it: ``cpu``, ``MEMUsageAvg.5m``."""
    percent: float
    plugin: ClassVar[str] = "usage"


class SetOvercommit(msgspec.Struct, frozen=True, tag_field="edit", tag="overcommit"):
    """Set the overcommit factor: how much of the cluster's resources jobs may ask for and still be admitted."""

    factor: float
    plugin: ClassVar[str] = "overcommit"


class SetArgument(msgspec.Struct, frozen=True, tag_field="edit", tag="argument"):
    """Set an argument of a plugin."""

    plugin: str
    key: str
    """As the policy names it."""
    value: float


class UseAction(msgspec.Struct, frozen=True, tag_field="edit", tag="action"):
    """Add an action to the policy."""

    action: str


SubGroupEdit = SetSubGroupTier | SetMinSubGroups | SetSubGroupSize
JobEdit = (
    SetMinMember
    | SetMinResources
    | SetRoleMinimum
    | SetRequest
    | SetDeviceAmount
    | SetJobQueue
    | SetPriority
    | Tolerate
    | TolerateDevices
    | DropRule
    | SetHighestTier
    | SubGroupEdit
    | RemoveGates
    | AddPods
)
QueueEdit = (
    CreateQueue
    | OpenQueue
    | SetQueueAmount
    | LowerGuarantee
    | SetQueueWeight
    | SetJobLimit
    | SetWallTime
    | SetReclaimable
    | AddNodeGroup
    | SetGroupLimit
)
OtherEdit = CreatePodGroup | SetVictimMinimum | EndJobs | CreatePriorityClass
"""Edits of other jobs, and of missing objects that the waiting job names."""
NamespaceEdit = SetQuota | SetConsumerLimit | AllowDisruptions
NodeEdit = (
    Uncordon
    | RemoveTaint
    | LabelNodes
    | SetNodeAmount
    | AddNodes
    | AddPoolNodes
    | AddDevices
    | AddVolumes
    | CreateVolumeClaims
    | SetStorage
)
PolicyEdit = SetThreshold | SetOvercommit | SetArgument | UseAction
ClusterEdit = JobEdit | OtherEdit | QueueEdit | NamespaceEdit | NodeEdit | LetIn
Edit = JobEdit | OtherEdit | QueueEdit | NamespaceEdit | NodeEdit | PolicyEdit
