"""The records of an explanation: constraints, the place in the order, changes that help, an estimate of the start.

The records are frozen.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from vsched.explain.edits.every import AnyEdit


class Whereabouts(StrEnum):
    """The state of a pod, a PodGroup or a queue."""

    WAITS = "waits"
    NEVER = "never"
    """Waiting cannot help: it starts only after a change of the cluster, the policy or its own spec."""
    STARTING = "starting"
    """It has its places, or will have them once other pods have left."""
    RUNS = "runs"
    FINISHED = "finished"


class Constraint(msgspec.Struct, frozen=True):
    """One constraint that keeps a pod, a PodGroup or a queue's jobs from starting."""

    code: str
    """A stable identifier for programs: see ``framework.codes``."""
    message: str
    """A sentence for people, without a full stop."""
    lasting: bool = False
    """Whether waiting alone cannot help."""
    resource: str = ""
    """The resource that the constraint is about; empty for none."""
    subject: str = ""
    """The queue, namespace, budget, quota or node that the constraint is about; empty for none."""
    repeats: bool = False
    """Whether the headline already says this: pages then leave it out, JSON keeps it."""


class WaitingPlace(msgspec.Struct, frozen=True):
    """The position of a job in the order in which a session tries waiting jobs, counted from 1."""

    position: int
    """The position among the waiting jobs of its queue."""
    of: int
    overall: int
    """The position among all waiting jobs, with the shares of queues and namespaces as they are now."""
    overall_of: int
    ahead: tuple[str, ...] = ()
    """The few jobs directly before it in its queue, as sentences name them, the nearest first."""
    decided_by: str = ""
    """What put the previous job first: the name of a plugin, ``priority``, ``age``, ``name`` or ``lost pods``."""
    message: str = ""


class Change(msgspec.Struct, frozen=True):
    """A change, found by simulation, that would let it start."""

    message: str
    """A noun phrase: ``2 more nvidia.com/gpu in queue research``."""
    edits: tuple[AnyEdit, ...]
    """The change as edits, for programs."""
    command: str = ""
    """Shell commands that make the change; empty if commands alone cannot make it."""
    domain: str = ""
    """Where a job that asks for closeness would then be: the closest domain; empty where no tiers are known."""
    tier: int | None = None
    """The tier of ``domain``."""


class Estimate(msgspec.Struct, frozen=True):
    """When a job or a pod may start."""

    earliest: float | None
    """Seconds since the epoch; None if the start cannot be foreseen."""
    latest: float | None
    """Seconds since the epoch; None if there is no upper bound."""
    message: str
    """For people: the range and its assumptions, or why there is none."""


class ClaimState(msgspec.Struct, frozen=True):
    """Claims of pods that wait, which ask for the same and are in the same state."""

    kind: str
    """``PersistentVolumeClaim`` or ``ResourceClaim``."""
    names: tuple[str, ...]
    """Some of them, in the namespace of the pods."""
    count: int
    """How many there are."""
    asks: str
    """What each asks for; empty where the claim does not exist."""
    state: str
    """What has become of them: the rest of a sentence that begins with the name."""
    usable: bool
    """Whether the pods can use them, or get something for them, on some node at some time."""
    missing: str = ""
    """Of which devices too few are free, where that is so."""


class DomainRoom(msgspec.Struct, frozen=True):
    """A domain (a rack, a block) and what it has for a job that asks for closeness."""

    name: str
    tier: int
    depth: int
    """How many of the listed domains contain it; 0 for the whole cluster."""
    nodes: int
    holds: int
    """How many of the job's pods are on its nodes, or go there."""
    room: int | None = None
    """How many of the pods that the job needs next the domain would hold; None where it needs none."""
    usable: bool = False
    """Whether the job may be there: its tier is allowed, and the domain contains all nodes of the job's pods."""


class TierCounts(msgspec.Struct, frozen=True):
    """The domains of a tier in numbers."""

    tier: int
    name: str
    """Its ``tierName``, or the label key that it follows from; empty where it has none."""
    allowed: bool
    """Whether the job may have its pods in one domain of this tier."""
    domains: int
    enough: int
    """How many of them have room for all pods that the job needs next."""
    listed: int


class SubGroupPlace(msgspec.Struct, frozen=True):
    """Where a sub-group of a job is."""

    name: str
    asks: str
    """What it asks for itself, in words; empty for nothing."""
    minimum: int
    holds: int
    """How many of its pods are on nodes, or go there."""
    domain: str = ""
    """The closest domain that contains all nodes of its pods; empty without such pods."""
    tier: int | None = None


class JobPlaces(msgspec.Struct, frozen=True):
    """Where a job that asks for closeness is, and where it could be."""

    asks: str
    """What it asks for, in words."""
    wanted: int
    """How many pods it needs next: those that its minimum lacks, else one; 0 where no pod of it waits."""
    domain: str = ""
    """The closest domain that contains all nodes of its pods; empty without such pods."""
    tier: int | None = None
    """The tier of ``domain``."""
    tiers: tuple[TierCounts, ...] = ()
    """Closest first."""
    domains: tuple[DomainRoom, ...] = ()
    """The domains with most of its pods, then those with most room, as a tree: each after the one that contains it."""
    sub_groups: tuple[SubGroupPlace, ...] = ()
    """Some of its sub-groups, those that lack pods first."""
    sub_group_count: int = 0
    """How many it has."""


class Explanation(msgspec.Struct, frozen=True):
    """Why a pod, a PodGroup or a queue is in its state."""

    kind: str
    """``Pod``, ``PodGroup`` or ``Queue``."""
    key: str
    state: Whereabouts
    message: str
    """The headline: the binding constraint, in the words of the condition of the PodGroup or the pod."""
    queue: str = ""
    """The queue of the job; of a queue: its parent."""
    job: str = ""
    """Of a pod: the key of its job."""
    called: str = ""
    """How sentences name the job; the key of its PodGroup where that was not made for something else."""
    node: str = ""
    """Of a pod: the node that it is on or goes to."""
    phase: str = ""
    """The phase of the PodGroup, or the state of the queue."""
    at: float = 0.0
    """The time of the session that this explains, seconds since the epoch."""
    constraints: tuple[Constraint, ...] = ()
    """All constraints, the binding one first."""
    reasons: dict[str, int] = {}
    """The number of nodes by the reason why they do not take the pod."""
    groups: dict[str, dict[str, int]] = {}
    """The same by node group, then reason."""
    place: WaitingPlace | None = None
    changes: tuple[Change, ...] = ()
    """Changes that would let it start, the smallest first; empty if the search found none."""
    start: Estimate | None = None
    counts: dict[str, int] = {}
    """Of a PodGroup: minMember and its pods by state; of a queue: its jobs and pods by state."""
    notes: tuple[str, ...] = ()
    """Parts of the job's spec that the scheduler does not follow as stated."""
    pods: dict[str, int] = {}
    """Of a PodGroup: the number of its pending pods by message."""
    claims: tuple[ClaimState, ...] = ()
    """The claims of the pod, or of the job's pods that do not run yet."""
    places: JobPlaces | None = None
    """Of a PodGroup that asks for closeness: the domains and their room for it; None where no tiers are known."""
