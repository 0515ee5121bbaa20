"""What a cycle decided: effects for the world, outcomes for people. Frozen records on one page."""

from __future__ import annotations

import msgspec

from vsched.model.jobs.job import Condition


class Bind(msgspec.Struct, frozen=True):
    """Put a pod on a node."""

    uid: str
    namespace: str
    name: str
    node: str
    job: str


class Evict(msgspec.Struct, frozen=True):
    """Ask a pod to leave its node for the sake of another job."""

    uid: str
    namespace: str
    name: str
    node: str
    job: str
    action: str
    beneficiary: str


class Nominate(msgspec.Struct, frozen=True):
    """Reserve a node for a pod that waits for others to leave; an empty node takes the reservation back."""

    uid: str
    namespace: str
    name: str
    node: str
    job: str
    lasting: bool = True
    """Whether others were made to leave for it, so that the node is kept from cycle to cycle; else for this one."""


class Ungate(msgspec.Struct, frozen=True):
    """Open the gate of a pod's queue for it: there is room."""

    uid: str
    namespace: str
    name: str
    job: str


class Unschedulable(msgspec.Struct, frozen=True):
    """Why one pod was not placed in this cycle."""

    uid: str
    namespace: str
    name: str
    job: str
    reason: str
    """``Unschedulable``, or ``Schedulable`` where only the rest of its gang is missing."""
    message: str
    reasons: dict[str, int] = {}
    """Nodes by reason."""


class JobOutcome(msgspec.Struct, frozen=True):
    """A job after the cycle: what its PodGroup's status should say."""

    key: str
    queue: str
    phase: str
    min_member: int
    ready: int
    pending: int
    running: int
    succeeded: int
    failed: int
    conditions: tuple[Condition, ...] = ()
    message: str = ""
    reasons: dict[str, int] = {}
    implicit: bool = False
    changed: bool = False
    """Phase, counts or conditions differ from what the object says."""
    code: str = ""
    """What binds, in one word (``framework.codes.Code``); empty where nothing does. ``message`` says it in words."""


class QueueOutcome(msgspec.Struct, frozen=True):
    """A queue after the cycle; amounts in base units by resource name."""

    name: str
    weight: int
    share: float = 0.0
    allocated: dict[str, int] = {}
    deserved: dict[str, int] = {}
    capability: dict[str, int] = {}
    guarantee: dict[str, int] = {}
    overused: bool = False
    problem_reason: str = ""
    """What is wrong with the queue, in one word; empty while nothing is."""
    problem: str = ""
    """The same in a sentence."""
    subtree: dict[str, int] = {}
    """What it and all queues below it hold; empty where no plugin keeps a tree of queues."""


class NamespaceOutcome(msgspec.Struct, frozen=True):
    """What a namespace holds in a queue after the cycle."""

    queue: str
    namespace: str
    weight: int
    share: float
    """Dominant share over the cluster's total, not yet divided by the weight."""
    allocated: dict[str, int] = {}


class CycleReport(msgspec.Struct, frozen=True):
    """Everything one cycle decided, in decision order where order means something."""

    binds: tuple[Bind, ...] = ()
    evictions: tuple[Evict, ...] = ()
    nominations: tuple[Nominate, ...] = ()
    ungated: tuple[Ungate, ...] = ()
    jobs: dict[str, JobOutcome] = {}
    """Jobs that were looked at or changed since the last cycle."""
    unschedulable: dict[str, Unschedulable] = {}
    """By ``namespace/name`` of the pod."""
    queues: dict[str, QueueOutcome] = {}
    namespaces: dict[str, NamespaceOutcome] = {}
    """By ``queue/namespace``."""
    spans: tuple[tuple[str, str, float], ...] = ()
    """Time by (kind, name, seconds), where the caller asked for it; never part of a decision."""
