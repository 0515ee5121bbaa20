"""A task: one pod as the scheduler sees it. Immutable; a change of status is a new record."""

from __future__ import annotations

import msgspec

from vsched.model.pods.shape import PodLabels, Shape
from vsched.model.pods.status import Status


class Task(msgspec.Struct, frozen=True, eq=False):
    """One pod. ``uid`` is its identity; everything else may change with the next record."""

    uid: str
    namespace: str
    name: str
    job: str
    """Key of the job it belongs to (``namespace/podgroup``), empty where it only occupies its node."""
    shape: Shape
    labels: PodLabels
    status: Status
    node: str = ""
    priority: int = 1
    created: float = 0.0
    """Seconds since the epoch, the API server's creation time stamp."""
    role: str = ""
    gated: bool = False
    """Has a scheduling gate, or waits and asks for what is not supported, so it is not placed."""
    nominated: str = ""
    preemptable: bool = True
    preempts: bool = True
    """False for ``preemptionPolicy: Never``."""
    priority_class: str = ""
    condition: str = ""
    """Reason and message of its ``PodScheduled=False`` condition, to write it only when it changes."""
    started: float = 0.0
    """When its node took it up (``status.startTime``), seconds since the epoch; 0 where that is not known."""
    protected_until: float = 0.0
    """When the cool-down after it was scheduled is over (``volcano.sh/cooldown-time``); 0 where it has none."""
    preferred_victim: bool = False
    """Its owner would have it evicted before its other pods (annotation ``PREFERRED_VICTIM``)."""
    returns: bool = False
    """Owned by a DaemonSet, or a mirror pod: it comes back to its node, so evicting it gains nothing."""
    spared: bool = False
    """Its eviction was refused and must not be retried for now. As long as this lasts it is not preemptable either."""

    awaits_queue: bool = False
    """Gated, by the gate alone that is opened once its queue has room for it (reference 1.12)."""
    reserves: bool = False
    """Its gate was opened and it has no node yet: its queue keeps room for it."""
    owned: bool = False
    """A controller owns it, and makes another one in its place."""
    expected: float = 0.0
    """How long it is to run by what it says (annotation ``EXPECTED_DURATION``), seconds; 0 where it does not say."""
    limit: float = 0.0
    """The longest it may run (``activeDeadlineSeconds``), seconds; 0 where it has no limit."""
    endless: bool = False
    """Started again whenever it ends (``restartPolicy: Always``): how long others ran says nothing of it."""
    unready: bool = False
    """Runs, and says that it is not ready."""
    finished: float = 0.0
    """When the last of its containers ended, seconds since the epoch; 0 until all have, or where that is not known."""

    unsupported: str = ""
    """What it asks for that is not built, and how people have that ignored; empty where nothing is."""

    @property
    def at_gate(self) -> bool:
        """Whether a scheduling gate is all that keeps it from being tried."""
        return self.gated and not self.unsupported

    @property
    def key(self) -> str:
        """``namespace/name``, as people and reports write it."""
        return f"{self.namespace}/{self.name}"

    def moved(self, status: Status, node: str) -> Task:
        """The same pod in another status, on another node."""
        return Task(
            self.uid,
            self.namespace,
            self.name,
            self.job,
            self.shape,
            self.labels,
            status,
            node,
            self.priority,
            self.created,
            self.role,
            self.gated,
            self.nominated,
            self.preemptable,
            self.preempts,
            self.priority_class,
            self.condition,
            self.started,
            self.protected_until,
            self.preferred_victim,
            self.returns,
            self.spared,
            self.awaits_queue,
            self.reserves,
            self.owned,
            self.expected,
            self.limit,
            self.endless,
            self.unready,
            self.finished,
            self.unsupported,
        )
