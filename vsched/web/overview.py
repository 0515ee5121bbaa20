"""The whole picture in one document: what the page shows, and ``vsched top``. Records only; ``pictures`` makes them.

Rows are arrays on the wire, in the order of the fields here; amounts are base units as whole numbers, by position in
``resources``. None stands for what nobody knows.
"""

from __future__ import annotations

import msgspec


class Resource(msgspec.Struct, frozen=True):
    """One resource that is shown: cpu, memory, then those of which most is held; eight at most."""

    name: str
    unit: str
    """``milli`` (thousandths), ``bytes`` or ``one``: how a whole number reads."""
    total: int
    """Of all nodes together."""
    held: int


class QueueRow(msgspec.Struct, frozen=True, array_like=True):
    """One queue; amounts with all that the queues below it hold."""

    name: str
    parent: str
    """Empty for one that is above all others."""
    state: str
    weight: int
    priority: int
    share: float
    """Of what it deserves; 1.0 is all of it."""
    overused: bool
    allocated: tuple[int, ...]
    deserved: tuple[int | None, ...]
    guarantee: tuple[int | None, ...]
    capability: tuple[int | None, ...]
    jobs: int
    """That wait or run."""
    waiting: int
    """Jobs that wait for their minimum."""
    problem: str


class NamespaceRow(msgspec.Struct, frozen=True, array_like=True):
    """What one namespace holds in one queue."""

    queue: str
    namespace: str
    weight: int
    share: float
    """Dominant share of the cluster, not yet divided by the weight."""
    allocated: tuple[int, ...]
    waiting: int
    deserved: tuple[int | None, ...]
    """Of the whole namespace, where the cluster is divided among namespaces; else all None."""


class NodeRow(msgspec.Struct, frozen=True, array_like=True):
    """One node."""

    name: str
    allocated: tuple[int | None, ...]
    """Per cent of what it has, whole numbers; None where it has none of a resource."""
    cpu_usage: int | None
    """Measured, per cent."""
    memory_usage: int | None
    pods: int
    state: str
    """Empty, or ``cordoned``, ``tainted``, ``notready`` where nothing new goes there."""
    group: str
    """Its pool: the nodegroup label, the instance type or the accelerator; may be empty."""


class JobRow(msgspec.Struct, frozen=True, array_like=True):
    """One job."""

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
    """In the order of its queue, from 1 on; None where it does not wait."""
    reason: str
    """One short word for why it waits (see ``vsched.explain.codes``); empty where it does not."""
    message: str
    request: tuple[int, ...]
    """Of its waiting pods together, by position in ``resources``."""


class SessionRow(msgspec.Struct, frozen=True, array_like=True):
    """One session that did something, or the last of a row that did nothing."""

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
    """The policy in force and what became of the last edit."""

    generation: int
    hash: str
    source: str
    actions: tuple[str, ...]
    tiers: tuple[tuple[str, ...], ...]
    reloaded_at: float
    ok: bool
    text: str
    """What the last reload said: its changes, or why it was refused."""
    problems: tuple[str, ...]


class Overview(msgspec.Struct, frozen=True):
    """Everything at one moment."""

    number: int
    """Grows with every picture that differs from the one before."""
    at: float
    """Seconds since the epoch."""
    version: str
    role: str
    """``leader``, ``standby`` or ``starting``."""
    resources: tuple[Resource, ...]
    queues: dict[str, QueueRow]
    namespaces: dict[str, NamespaceRow]
    """By ``queue/namespace``."""
    nodes: dict[str, NodeRow]
    jobs: dict[str, JobRow]
    """Those that wait first, by queue and position, then those that run; ten thousand at most."""
    sessions: tuple[SessionRow, ...]
    """The oldest first; 240 at most."""
    policy: PolicyRow | None
    counts: dict[str, int]
    """``nodes``, ``pods_running``, ``pods_waiting``, ``jobs_running``, ``jobs_waiting``, ``bound_total``,
    ``evicted_total``, ``jobs_left_out`` (beyond those that are listed)."""
