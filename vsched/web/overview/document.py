"""The whole picture in one document: what the page shows, and ``vsched top``. Records only; ``pictures`` makes them.

``GET /overview`` answers an ``Overview`` as JSON. Rows are arrays on the wire, in the order of the fields here; amounts
are base units as whole numbers, by position in ``resources``. None stands for what nobody knows, or for no limit. The
order within the maps says nothing. ``deltas`` has what follows a picture on ``GET /events``.
"""

from __future__ import annotations

import msgspec

from vsched.model.status import Phase

# Thousands of rows come and go with each picture. None can be part of a ring, so no collector need look (gc=False).


class Resource(msgspec.Struct, frozen=True):
    """One resource that is shown: cpu, memory, then those of which most is held, pods last; eight at most.

    So the third is the scarcest of the others.
    """

    name: str
    unit: str
    """``milli`` (thousandths), ``bytes`` or ``one``: how a whole number reads."""
    total: int
    """Of all nodes together."""
    held: int


class QueueRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One queue; amounts with all that the queues below it hold."""

    name: str
    parent: str
    """Another of ``queues``, never one below it; empty for one that is above all others."""
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
    """That wait or run, with those of the queues below it."""
    waiting: int
    """Jobs that wait for their minimum, with those of the queues below it."""
    problem: str
    """What is wrong with it, in a sentence; empty while nothing is."""


class NamespaceRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What one namespace holds in one queue."""

    queue: str
    namespace: str
    weight: int
    share: float
    """Dominant share of the cluster, not yet divided by the weight."""
    allocated: tuple[int, ...]
    waiting: int
    """Jobs that wait for their minimum."""
    deserved: tuple[int | None, ...]
    """Of the whole namespace, where the cluster is divided among namespaces; else all None."""


class NodeRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One node."""

    name: str
    allocated: tuple[int | None, ...]
    """Per cent of what it has, whole numbers, 100 for nothing less than all; None where it has none of a resource."""
    cpu_usage: int | None
    """Measured, per cent."""
    memory_usage: int | None
    pods: int
    state: str
    """Empty, or ``cordoned``, ``notready``, ``tainted`` where not everything new may go there."""
    group: str
    """Its pool: the nodegroup label, the instance type or the accelerator; may be empty."""


class JobRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
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
    """In the order of its queue, from 1 on; None where it does not wait."""
    reason: str
    """One short word for why it waits (see ``vsched.framework.codes``); empty where it does not."""
    message: str
    """The same in a sentence; empty where it does not wait."""
    request: tuple[int, ...]
    """Of its waiting pods together, by position in ``resources``."""
    user: str = ""
    """Whose it is, where somebody says so (annotation or label ``vsched.io/user``)."""

    @property
    def waits(self) -> bool:
        """Whether it has not its minimum."""
        return self.ready < self.min_member and self.phase != Phase.COMPLETED


class SessionRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One session that bound or evicted, or the last of a row that did nothing."""

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
    """Grows with every picture that differs from the one before; begins anew with the daemon."""
    at: float
    """Seconds since the epoch."""
    version: str
    role: str
    """``leader``, or what it is instead: ``starting`` (the mirror is not complete), ``standby`` and ``stopping`` decide
    nothing, so there is nothing but this."""
    resources: tuple[Resource, ...]
    queues: dict[str, QueueRow]
    namespaces: dict[str, NamespaceRow]
    """By ``queue/namespace``."""
    nodes: dict[str, NodeRow]
    jobs: dict[str, JobRow]
    """Those that wait or run; ten thousand at most, those that wait before those that run."""
    sessions: tuple[SessionRow, ...]
    """The oldest first; 240 at most."""
    policy: PolicyRow | None
    counts: dict[str, int]
    """Always all of these: ``nodes``, ``pods_running`` (on nodes), ``pods_waiting``, ``jobs_running``,
    ``jobs_waiting``, ``bound_total``, ``evicted_total`` (by this daemon), ``bound_by_others`` (pods of ours
    that another scheduler has placed: to stay 0), ``jobs_left_out`` (of the list)."""
