"""What a PodGroup states."""

from __future__ import annotations

import msgspec

from vsched.model.amounts.resources import Amounts
from vsched.model.jobs.budget import JobBudget
from vsched.model.jobs.native import NativeGroup
from vsched.model.jobs.task_topology import TaskTopology
from vsched.model.marks import Resource, Sentence, Uid, Word
from vsched.model.pods.status import Phase
from vsched.model.queues.evictions import NO_TERMS, EvictionTerms, Preemptibility
from vsched.model.topology.constraints import NetworkTopology, SubGroupPolicy


class Condition(msgspec.Struct, frozen=True):
    """A condition of a PodGroup, without the fields that change with each write."""

    kind: Word
    status: Word
    reason: Word = ""
    message: Sentence = ""
    since: float = 0.0
    """Its ``lastTransitionTime``, seconds since the epoch; 0 for a condition that begins now."""


USER = "vsched.io/user"
"""The annotation of a PodGroup, else of the workload or pod that stands for it, else the label of pods, that names the
user of the work. Daemons that are told of another key (``--user-key``) read objects as if they used this one."""
USER_CHARACTERS = 64
"""Longer names of users are cut."""
STATED = frozenset({"Scheduled", "Unschedulable"})
"""Condition types of which at most one is true at a time."""


class JobSpec(msgspec.Struct, frozen=True, gc=False):
    """The content of a PodGroup object."""

    namespace: str
    name: str
    uid: Uid = ""
    created: float = 0.0
    queue: str = "default"
    min_member: int = 0
    min_task_member: tuple[tuple[str, int], ...] = ()
    min_resources: Amounts | None = None
    priority_class: str = ""
    phase: Word = Phase.PENDING
    written_phase: Word = ""
    """The phase that the object still has while the write of ``phase`` is under way; empty if they agree."""
    conditions: tuple[Condition, ...] = ()
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    preemptable: bool | None = None
    annotations: tuple[tuple[str, str], ...] = ()
    waiting_seconds: float | None = None
    """The longest time it should wait (``volcano.sh/sla-waiting-time``), seconds; None where it states none."""
    budget: JobBudget | None = None
    """How many of its pods may be unavailable (``volcano.sh/jdb-*``); None where it states none."""
    quota_request: tuple[tuple[Resource, int], ...] = ()
    """Entries of ``minResources`` that only quotas use (``limits.cpu``; ``requests.cpu`` as ``cpu``); base units."""
    implicit: bool = False
    """Whether the job stands for pods of ours without a PodGroup; then there is no object to write to."""
    made: bool = False
    """Whether vsched made the PodGroup for pods that named none; it only records what the pods and workload state."""
    written_for: str = ""
    """The Volcano Job whose controller writes this PodGroup, so that changes belong there; empty for none."""
    expected: float = 0.0
    """Expected run time of pods that state none (annotation ``EXPECTED_DURATION``), seconds; 0 where not stated."""
    wall_time: float = 0.0
    """For how long it may run by its own statement (annotation ``WALL_TIME``), seconds; 0 where not stated."""
    unsupported: Sentence = ""
    """The unsupported feature that it requires; empty where there is none."""
    topology: NetworkTopology | None = None
    """How close its pods have to be; None where it does not say."""
    sub_groups: tuple[SubGroupPolicy, ...] = ()
    """How its pods form sub-groups; a pod belongs to the first policy that concerns it."""
    task_topology: TaskTopology | None = None
    """Which of its roles should share nodes; None where it does not say."""
    wishes: tuple[Sentence, ...] = ()
    """Notes on unsupported features that it prefers: that they have no effect."""
    class_only_named: bool = False
    """Whether its pods have priorities of their own, so that the named PriorityClass need not exist."""
    terms: EvictionTerms = NO_TERMS
    """What it states about evictions."""
    preemptibility: Preemptibility | None = None
    """Which of its pods may be evicted for others; None where it does not say."""
    checkpoint: float = 0.0
    """When all of it last saved its work (annotation ``LAST_CHECKPOINT``), seconds since the epoch; 0 without one."""
    native: NativeGroup | None = None
    """What a native PodGroup says besides; None for all other jobs."""
    barred: tuple[str, ...] = ()
    """Keys of jobs that it evicts nothing of for now, because they took from each other in turn."""
    gang: Sentence = ""
    """The owner that its pods were found by, as ``JobSet train``; empty where they were not found by owners."""
    made_for: Sentence = ""
    """What its PodGroup was made for, as ``ReplicaSet web-5d9``; empty where somebody named the PodGroup."""
    said_by_pods: tuple[Word, ...] = ()
    """Annotations that its pods have themselves, of those that say how the job is scheduled: they go before those of
    the owner. Of jobs whose PodGroup follows from pods and their owner."""

    @property
    def follows(self) -> bool:
        """Whether its PodGroup follows from pods and their owner, so that changes belong there."""
        return self.implicit or self.made

    @property
    def scheduling_condition(self) -> Condition | None:
        """The condition that says whether it was scheduled; None without one."""
        return next((one for one in self.conditions if one.kind in STATED), None)

    @property
    def leaves_whole(self) -> bool:
        """Whether its pods are evicted together or not at all (``disruptionMode`` of native PodGroups)."""
        return self.native is not None and self.native.whole
