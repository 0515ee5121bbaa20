"""The records of an overview, which the page and ``vsched top`` show. ``assembly`` makes them.

``GET /overview`` answers an ``Overview`` as JSON. Rows are arrays on the wire, in the order of the fields here; amounts
are base units as whole numbers, by position in ``resources``. None means unknown, or no limit. The order within the
maps has no meaning. ``deltas`` describes what follows an overview on ``GET /events``.
"""

from __future__ import annotations

import msgspec

from vsched.model.amounts.resources import scale_of
from vsched.model.pods.status import Phase


class Resource(msgspec.Struct, frozen=True):
    """One resource that is shown, eight at most: cpu, memory, then the scarcest others in order, pods last."""

    name: str
    unit: str
    """The unit of its amounts: ``milli`` (thousandths), ``bytes`` or ``one``."""
    total: int
    """Of all nodes together."""
    held: int


def unit_of(name: str) -> str:
    """How a whole number of base units of a resource reads."""
    if scale_of(name) == 1000:
        return "milli"
    return "one" if name == "pods" else "bytes"


class QueueRow(msgspec.Struct, frozen=True, array_like=True):
    """One queue; amounts include those of its children."""

    name: str
    parent: str
    """Another of ``queues``; empty for one without a parent."""
    state: str
    weight: int
    priority: int
    share: float
    """The part of what it deserves that it uses; 1.0 is all of it."""
    overused: bool
    allocated: tuple[int, ...]
    deserved: tuple[int | None, ...]
    guarantee: tuple[int | None, ...]
    capability: tuple[int | None, ...]
    jobs: int
    """Jobs that wait or run, with those of its children."""
    waiting: int
    """Jobs that wait for their minimum, with those of its children."""
    problem: str
    """What is wrong with it, as a sentence; empty if nothing is."""


class NamespaceRow(msgspec.Struct, frozen=True, array_like=True):
    """What one namespace uses in one queue."""

    queue: str
    namespace: str
    weight: int
    share: float
    """Dominant share of the cluster, not divided by the weight."""
    allocated: tuple[int, ...]
    waiting: int
    """Jobs that wait for their minimum."""
    deserved: tuple[int | None, ...]
    """What the whole namespace deserves by arbitration; all None without arbitration."""


class NodeRow(msgspec.Struct, frozen=True, array_like=True):
    """One node."""

    name: str
    allocated: tuple[int | None, ...]
    """Per cent of allocatable, rounded down (100 means all); None where it has none of a resource."""
    cpu_usage: int | None
    """Measured, per cent."""
    memory_usage: int | None
    pods: int
    state: str
    """``cordoned``, ``notready``, ``tainted``, or empty if every new pod may go there."""
    group: str
    """Its pool: the nodegroup label, the instance type or the accelerator; may be empty."""
    rack: str = ""
    """Its closest domain: a HyperNode, or a value of the labels by which the policy or custom names racks; may be
    empty."""


class JobRow(msgspec.Struct, frozen=True, array_like=True):
    """One job, as its last session left it."""

    key: str
    """``namespace/name``."""
    queue: str
    phase: str
    priority: int
    min_member: int
    ready: int
    pending: int
    running: int
    created: float
    """Seconds since the epoch."""
    position: int | None
    """In the order of its queue, from 1 on; None if it does not wait."""
    reason: str
    """The code of why it waits (see ``vsched.framework.codes``); empty if it does not."""
    message: str
    """The same as a sentence."""
    request: tuple[int, ...]
    """The requests of its waiting pods together, by position in ``resources``."""
    user: str = ""
    """Its user, by the annotation or label ``vsched.io/user``; may be empty."""
    start: float | None = None
    """When its start is planned, seconds since the epoch; None where room is not kept for it."""
    start_nodes: int = 0
    """On how many nodes room is kept for it."""
    ahead_of: str = ""
    """The job with a planned start that it goes before: it began on a node that is kept for that job."""
    called: str = ""
    """How people know it, as ``ReplicaSet default/web-5d9``; empty where by its key."""

    @property
    def waits(self) -> bool:
        """Whether it waits for its minimum."""
        return self.ready < self.min_member and self.phase != Phase.COMPLETED


class SessionRow(msgspec.Struct, frozen=True, array_like=True):
    """One session that bound or evicted, or the last of several that did nothing."""

    number: int
    at: float
    reason: str
    """``change`` or ``timer``."""
    snapshot_ms: float
    decide_ms: float
    handover_ms: float
    binds: int
    evictions: int
    waiting: int
    """Pods."""
    actions: dict[str, float]
    """Milliseconds by action."""


class PolicyRow(msgspec.Struct, frozen=True):
    """The policy in force and the result of its last reading."""

    generation: int
    hash: str
    source: str
    actions: tuple[str, ...]
    tiers: tuple[tuple[str, ...], ...]
    reloaded_at: float
    ok: bool
    text: str
    """The changes of the last reading."""
    problems: tuple[str, ...]
    rollout: str = ""
    """Which of the two policies of a rollout is in force, and why; empty without one."""


class Overview(msgspec.Struct, frozen=True):
    """Everything at one moment."""

    number: int
    """Grows with every overview that differs from the one before; restarts with the daemon."""
    at: float
    """Seconds since the epoch."""
    version: str
    role: str
    """``leader``, ``shadow``, ``starting`` (the mirror is not complete), ``standby`` or ``stopping``. The first two
    have sessions; the overview of any other role is empty but for this."""
    resources: tuple[Resource, ...]
    queues: dict[str, QueueRow]
    """Two thousand at most: those with others below them, then those with jobs."""
    namespaces: dict[str, NamespaceRow]
    """By ``queue/namespace``, two thousand at most: those with jobs that wait, then those that hold most."""
    nodes: dict[str, NodeRow]
    """Ten thousand at most: those that are cordoned or not ready, and of the others a sample that stays the same."""
    jobs: dict[str, JobRow]
    """Jobs that wait or run, ten thousand at most; waiting ones come first."""
    sessions: tuple[SessionRow, ...]
    """The oldest first; 240 at most."""
    policy: PolicyRow | None
    counts: dict[str, int]
    """Always all of these: ``nodes``, ``pods_running`` (on nodes), ``pods_waiting``, ``jobs_running``,
    ``jobs_waiting``, ``bound_total``, ``evicted_total`` (by this daemon), ``bound_by_others`` (pods of ours
    that another scheduler has placed: to stay 0); ``jobs_left_out``, ``nodes_left_out``, ``queues_left_out`` and
    ``namespaces_left_out`` (of the lists; sums and counts include them)."""
