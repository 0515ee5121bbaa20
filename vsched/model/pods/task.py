"""A task: the scheduler's record of one pod. Immutable; a change of status makes a new record.

Records that there are of each pod or job (``gc=False``) are unknown to the collector of garbage, and so are dicts of
nothing else. Otherwise it takes 64 of 660 ms in a first cycle of 5,000 pods that all differ, and 42 as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from vsched.model.marks import ListedDevices, NodeName, Sentence, Uid, Word
from vsched.model.pods.claims import PodClaims
from vsched.model.pods.cooperation import EvictionRequest
from vsched.model.pods.shape import PodLabels, Shape
from vsched.model.pods.status import Status


class Task(msgspec.Struct, frozen=True, eq=False, gc=False):
    """One pod. ``uid`` is its identity; everything else may change with the next record."""

    uid: Uid
    namespace: str
    name: str
    job: str
    """The key of its job (``namespace/podgroup``); empty for a pod that only occupies its node."""
    shape: Shape
    labels: PodLabels
    status: Status
    node: NodeName = ""
    priority: int = 1
    created: float = 0.0
    """Seconds since the epoch, the API server's creation time stamp."""
    role: str = ""
    gated: bool = False
    """Whether it has a scheduling gate, or is pending with unsupported requirements; it is not placed then."""
    nominated: NodeName = ""
    preemptable: bool = True
    preempts: bool = True
    """False for ``preemptionPolicy: Never``."""
    priority_class: str = ""
    condition: Sentence = ""
    """Reason and message of its ``PodScheduled=False`` condition, so that only changes are written."""
    started: float = 0.0
    """When its node started it (``status.startTime``), seconds since the epoch; 0 where that is not known."""
    protected_until: float = 0.0
    """When its cool-down ends (``volcano.sh/cooldown-time``), seconds since the epoch; 0 where it has none."""
    preferred_victim: bool = False
    """Whether its owner wants it evicted before the owner's other pods (annotation ``PREFERRED_VICTIM``)."""
    returns: bool = False
    """Whether it is a mirror pod or owned by a DaemonSet: then it comes back to its node after an eviction."""
    spared: bool = False
    """Its eviction was refused and must not be retried for now. As long as this lasts it is not preemptable either."""

    awaits_queue: bool = False
    """Whether its only gate is the queue's, which vsched removes once the queue has room for it."""
    reserves: bool = False
    """Whether its gate was removed and it has no node yet: then its queue reserves room for it."""
    owned: bool = False
    """Whether a controller owns it, and replaces it."""
    expected: float = 0.0
    """Its stated run time (annotation ``EXPECTED_DURATION``), seconds; 0 where it states none."""
    limit: float = 0.0
    """The longest it may run (``activeDeadlineSeconds``), seconds; 0 where it has no limit."""
    endless: bool = False
    """Whether it restarts whenever it ends (``restartPolicy: Always``), so run times of similar pods do not apply."""
    unready: bool = False
    """Whether it runs and reports that it is not ready."""
    finished: float = 0.0
    """When the last of its containers ended, seconds since the epoch; 0 until all have, or where that is not known."""

    unsupported: Sentence = ""
    """The unsupported feature that it requires; empty where there is none."""
    claims: PodClaims | None = None
    """Its volume claims and resource claims; None where it has none."""
    group: str = ""
    """The native PodGroup (``spec.schedulingGroup``) that it names; empty where it names none."""
    zones: Word = ""
    """What it was given of NUMA zones when it was bound, as its annotation ``volcano.sh/topology-decision`` says."""
    devices: ListedDevices = ""
    """The shared devices that it was given, as its annotation ``volcano.sh/vgpu-ids-new`` or ``volcano.sh/gpu-index``
    says."""
    checkpoint: float = 0.0
    """When it last saved its work (annotation ``LAST_CHECKPOINT``), seconds since the epoch; 0 where not stated."""
    deletion_cost: int = 0
    """Its ``controller.kubernetes.io/pod-deletion-cost``: of the pods of a job, those with a lower cost go first."""
    cooperates: float | None = None
    """How long it is to be asked to end by itself before it is evicted, seconds; None where it does not say."""
    responds: bool = False
    """Whether it names responders (``spec.evictionResponders``) that EvictionRequests can reach."""
    asked: EvictionRequest | None = None
    """The request that it ends by itself; None without one. As long as it lasts, the pod counts as leaving."""

    @property
    def at_gate(self) -> bool:
        """Whether a scheduling gate is the only reason not to try to place it."""
        return self.gated and not self.unsupported

    @property
    def best_effort(self) -> bool:
        """Whether it asks for nothing but a pod slot, and claims nothing either."""
        return self.shape.best_effort and self.claims is None

    @property
    def key(self) -> str:
        """``namespace/name``, as in reports."""
        return f"{self.namespace}/{self.name}"

    def moved(self, status: Status, node: str) -> Task:
        """A record of the same pod with another status and node."""
        return msgspec.structs.replace(self, status=status, node=node)


def number_of(name: str) -> int | None:
    """The index that controllers put at the end of a pod's name; None where there is none.

    The name must have three or more parts separated by dashes.
    """
    parts = name.rsplit("-", 2)
    if len(parts) < 3 or not parts[2].isdecimal():
        return None
    return int(parts[2])


def numbers_of(tasks: Sequence[Task]) -> list[int]:
    """The indices of all pods of a job; zeros where one of them has none."""
    numbers: list[int] = []
    for task in tasks:
        number = number_of(task.name)
        if number is None:
            return [0] * len(tasks)
        numbers.append(number)
    return numbers


def in_order(tasks: Iterable[Task]) -> list[Task]:
    """Tasks by index, then by age, then by name."""
    found = list(tasks)
    if len(found) < 2:
        return found
    numbers = numbers_of(found)
    ranks = [(number, task.created, task.name, task.uid) for task, number in zip(found, numbers, strict=True)]
    return [found[at] for at in sorted(range(len(found)), key=ranks.__getitem__)]
