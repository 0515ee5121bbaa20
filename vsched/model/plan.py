"""The decisions of a cycle: effects (bind, evict, nominate, ungate) and outcomes to report. All records are frozen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import msgspec

from vsched.model.claims.plan import ClaimPlan, ClaimRelease
from vsched.model.jobs.spec import Condition
from vsched.model.maps import GroupedMap
from vsched.model.marks import BindingAnnotations, NodeName, Reasons, Resource, Sentence, TextMark, Uid, Value, Word
from vsched.model.queues.queue import ROOT

TOPOLOGY_DECISION = "volcano.sh/topology-decision"
"""Annotation of pods: what they were given of each NUMA zone."""


class Bind(msgspec.Struct, frozen=True, gc=False):
    """Bind a pod to a node."""

    uid: Uid
    namespace: str
    name: str
    node: NodeName
    job: str
    claims: ClaimPlan | None = None
    """What has to be written before; None where the pod claims nothing."""
    annotations: BindingAnnotations = ()
    """Annotations that the pod gets with the binding."""
    lock: Word = ""
    """The annotation by which the node is locked while the pod gets its devices; empty where that is not done."""


WALL_TIME = "wall-time"
"""The ``action`` of evictions of jobs whose wall time is over."""


CONSOLIDATE = "consolidate"
"""The ``action`` of evictions of pods that are moved: each is to have another place when it leaves."""


class Evict(msgspec.Struct, frozen=True):
    """Evict a pod in favour of another job, the beneficiary."""

    uid: Uid
    namespace: str
    name: str
    node: NodeName
    job: str
    action: Word
    beneficiary: str
    wait: float = 0.0
    """How long the pod is asked to end by itself before it is evicted, seconds; 0: it is evicted at once, unless it
    has responders."""
    responds: bool = False
    """Whether its responders are asked, by an EvictionRequest."""
    whom: Sentence = ""
    """How sentences name the beneficiary; empty where by its key."""
    to: NodeName = ""
    """The node that has room for the pod's successor now, where the pod is moved; else empty."""

    @property
    def asks(self) -> bool:
        """Whether the pod is asked to end by itself before."""
        return bool(self.wait or self.responds)

    @property
    def asks_budgets(self) -> bool:
        """Whether disruption budgets may forbid it; not where the wall time of the job is over."""
        return self.action != WALL_TIME


class Withdraw(msgspec.Struct, frozen=True):
    """Withdraw the request that a pod ends by itself: its resources are no longer needed, or it cannot be evicted."""

    uid: Uid
    namespace: str
    name: str
    node: NodeName
    job: str
    action: Word
    beneficiary: str
    why: Word
    """In a few words."""
    responds: bool = False
    """Whether its responders may have been asked, by an EvictionRequest."""


class AskAgain(msgspec.Struct, frozen=True):
    """Tell a pod that was asked to end by itself, and its responders: an earlier daemon may not have got to it."""

    uid: Uid
    namespace: str
    name: str
    at: float
    """When it was asked, seconds since the epoch."""
    deadline: float
    action: Word
    beneficiary: str
    responds: bool
    """Whether its responders are asked, by an EvictionRequest."""
    told: bool
    """Whether its annotations say it already."""
    whom: Sentence = ""
    """How sentences name the beneficiary; empty where by its key."""


class Nominate(msgspec.Struct, frozen=True):
    """Reserve a node for a pod that waits until other pods have left; an empty ``node`` removes the reservation."""

    uid: Uid
    namespace: str
    name: str
    node: Value
    job: str
    lasting: bool = True
    """True if pods were evicted for it: then the reservation lasts over cycles. False: it is for this cycle only."""


class Ungate(msgspec.Struct, frozen=True):
    """Remove the queue's scheduling gate from a pod, because the queue has room for it."""

    uid: Uid
    namespace: str
    name: str
    job: str


UNSCHEDULABLE = "Unschedulable"
"""The reason of pods that nodes are to be added for: node autoscalers look for it."""
SCHEDULABLE = "Schedulable"
"""The reason of pods that would fit, in gangs that no nodes are to be added for."""
PROVISIONING = "Provisioning"
"""The reason of the pods that a gang needs, where nodes for it are asked for by ProvisioningRequests."""
UNDETERMINED = "Undetermined"
"""The reason of pods that were not tried."""


class Unschedulable(msgspec.Struct, frozen=True, gc=False):
    """Why one pod was not placed in this cycle."""

    uid: Uid
    namespace: str
    name: str
    job: str
    reason: Word
    """``UNSCHEDULABLE`` where nodes are to be added for it; else ``SCHEDULABLE``, ``UNDETERMINED``, or the code of what
    it waits for (``framework.codes.Code``)."""
    message: Sentence
    reasons: Reasons = {}
    """Number of nodes by reason."""
    fits: bool = False
    """Whether the pod itself would fit, and only the rest of its gang does not."""


SUB_GROUPS_MAX = 16
"""How many sub-groups of a job an outcome names."""


class SubGroupOutcome(msgspec.Struct, frozen=True):
    """The place of a sub-group that asks for closeness itself."""

    name: str
    domain: str
    """The closest domain that holds its pods with a node."""
    tier: int
    """The tier of ``domain``."""


PLANNED_NODES_MAX = 16
"""How many nodes of a planned start an outcome names."""


class PlannedStart(msgspec.Struct, frozen=True):
    """When and where a waiting job will start, as far as it is known when running work ends."""

    at: float
    """Seconds since the epoch."""
    nodes: tuple[NodeName, ...] = ()
    """The first ``PLANNED_NODES_MAX`` of the nodes on which room is kept for it, by name."""
    node_count: int = 0
    ahead: tuple[str, ...] = ()
    """Keys of the first ``PLANNED_NODES_MAX`` jobs that have begun on these nodes since it waits, and end before."""


class JobOutcome(msgspec.Struct, frozen=True, gc=False):
    """A job after the cycle: the status that its PodGroup should have."""

    key: str
    queue: str
    phase: Word
    min_member: int
    ready: int
    pending: int
    running: int
    succeeded: int
    failed: int
    conditions: tuple[Condition, ...] = ()
    message: Sentence = ""
    reasons: Reasons = {}
    implicit: bool = False
    changed: bool = False
    """Whether phase, counts or conditions differ from those in the object."""
    code: Word = ""
    """Why the job waits, as a code (``framework.codes.Code``); empty where it does not. ``message`` is the sentence."""
    domain: str = ""
    """The closest domain that holds its pods with a node, where it asks for closeness; empty otherwise, and where no
    tiers are known."""
    tier: int | None = None
    """The tier of ``domain``."""
    sub_groups: tuple[SubGroupOutcome, ...] = ()
    """Of its sub-groups that ask for closeness and have such pods, the first ``SUB_GROUPS_MAX``."""
    planned: PlannedStart | None = None
    """Its planned start; None where room is not kept for it."""
    unplanned: Word = ""
    """Why no start is planned for it though it has no room, as a code (``framework.codes.NoStart``); empty where one is
    planned, and where the policy plans no starts."""
    ahead_of: str = ""
    """Key of the job with a planned start that it went ahead of: this cycle placed it on a node that is kept for that
    job."""


class QueueOutcome(msgspec.Struct, frozen=True):
    """A queue after the cycle; amounts in base units by resource name."""

    name: str
    weight: int
    share: float = 0.0
    allocated: dict[Resource, int] = {}
    deserved: dict[Resource, int] = {}
    capability: dict[Resource, int] = {}
    guarantee: dict[Resource, int] = {}
    overused: bool = False
    problem_reason: Word = ""
    """The problem with the queue, in one word; empty where it has none."""
    problem: Sentence = ""
    """The problem as a sentence."""
    subtree: dict[Resource, int] = {}
    """Amounts that the queue and all queues below it hold; empty where no plugin has a tree of queues."""
    used_times: float | None = None
    """How many times what its weight stands for it used over time; None where no plugin remembers it."""
    used_seconds: float = 0.0
    """Over how long."""

    @property
    def shown(self) -> QueueOutcome:
        """What people are shown: the root has no share of what it deserves, as all of the cluster is its own."""
        return msgspec.structs.replace(self, deserved={}, share=0.0, overused=False) if self.name == ROOT else self


class NamespaceOutcome(msgspec.Struct, frozen=True):
    """What a namespace holds in a queue after the cycle."""

    queue: str
    namespace: str
    weight: int
    share: float
    """Dominant share of the cluster's total, not divided by the weight."""
    allocated: dict[Resource, int] = {}


class CycleReport(msgspec.Struct, frozen=True):
    """All decisions of one cycle; binds, evictions and nominations are in the order of decision."""

    binds: tuple[Bind, ...] = ()
    evictions: tuple[Evict, ...] = ()
    nominations: tuple[Nominate, ...] = ()
    ungated: tuple[Ungate, ...] = ()
    withdrawals: tuple[Withdraw, ...] = ()
    asks_responders: tuple[AskAgain, ...] = ()
    jobs: Mapping[str, JobOutcome] = {}
    """By job key: jobs that the cycle considered, or that changed since the last cycle."""
    unschedulable: Mapping[str, Unschedulable] = {}
    """By ``namespace/name`` of the pod."""
    queues: dict[str, QueueOutcome] = {}
    namespaces: dict[str, NamespaceOutcome] = {}
    """By ``queue/namespace``."""
    released: tuple[ClaimRelease, ...] = ()
    """Claims that waiting pods hold in vain."""
    due: float = 0.0
    """When another cycle may decide more without any change, seconds since the epoch: a minimum run time ends, for
    example; 0 where no such time is known."""
    spans: Annotated[tuple[tuple[str, str, float], ...], TextMark.DROPPED] = ()
    """Times as (kind, name, seconds), if the caller asked for them; never part of a decision."""

    @property
    def lasting_nominations(self) -> list[Nominate]:
        """The nominations that are written to pods, and hold in later cycles."""
        return [one for one in self.nominations if one.lasting]


def by_job(unschedulable: Mapping[str, Unschedulable]) -> Mapping[str, Mapping[str, Unschedulable]]:
    """The verdicts of a report by job, and by ``namespace/name`` of the pod."""
    if isinstance(unschedulable, GroupedMap):
        return unschedulable.groups
    found: dict[str, dict[str, Unschedulable]] = {}
    for key, verdict in unschedulable.items():
        found.setdefault(verdict.job, {})[key] = verdict
    return found
