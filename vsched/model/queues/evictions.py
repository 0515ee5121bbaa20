"""What PodGroups and queues say about evictions: how long work may run undisturbed, and when a job may evict others."""

from __future__ import annotations

from enum import StrEnum

import msgspec

PREEMPT_MIN_RUNTIME = "vsched.io/preempt-min-runtime"
RECLAIM_MIN_RUNTIME = "vsched.io/reclaim-min-runtime"
"""Annotations of PodGroups and queues: how long pods run before jobs of their queue, or of others, may evict them."""


PREEMPTION_DELAY = "vsched.io/preemption-delay"
"""Annotation of PodGroups and queues: how long a job waits before others may be evicted for it."""
PREEMPTIBILITY = "vsched.io/preemptibility"
"""Annotation of PodGroups: which of their pods may be evicted for others."""
LAST_CHECKPOINT = "vsched.io/last-checkpoint"
"""Annotation of pods and PodGroups: when they last saved their work, as RFC 3339 writes it."""
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"


class Preemptibility(StrEnum):
    """Which pods of a job may be evicted for others, as far as the policy allows it."""

    PREEMPTIBLE = "preemptible"
    """All of them."""
    SEMI = "semi-preemptible"
    """Those that it has beyond its minimum, the minima of its roles, and the sub-groups that it needs."""
    NONE = "non-preemptible"
    """None of them."""


class EvictionTerms(msgspec.Struct, frozen=True):
    """What an object states about evictions, in seconds; None where it states nothing, so that others decide."""

    preempt_min_runtime: float | None = None
    """How long a pod runs before jobs of the same queue may evict it."""
    reclaim_min_runtime: float | None = None
    """How long a pod runs before jobs of other queues, or the arbitrator, may evict it."""
    preemption_delay: float | None = None
    """How long a job waits before others may be evicted for it."""

    cooperative: float | None = None
    """How long its pods are asked to end by themselves before they are evicted; queues do not state it."""

    def or_else(self, other: EvictionTerms) -> EvictionTerms:
        """These terms, completed by others where these state nothing."""
        if other is NO_TERMS or self == other:
            return self
        stated = {name: value for name in self.__struct_fields__ if (value := getattr(self, name)) is not None}
        return msgspec.structs.replace(other, **stated)


NO_TERMS = EvictionTerms()
