"""Annotations about evictions, of PodGroups, workloads and queues. An invalid one is ignored, with a remark."""

from __future__ import annotations

from vsched.mirror.ingest.annotations import Annotations, Remarks, duration_or_zero
from vsched.model.queues.evictions import NO_TERMS, PREEMPT_MIN_RUNTIME, RECLAIM_MIN_RUNTIME, EvictionTerms

DURATIONS = {
    PREEMPT_MIN_RUNTIME: "preempt_min_runtime",
    RECLAIM_MIN_RUNTIME: "reclaim_min_runtime",
}
"""The field of ``EvictionTerms`` for each annotation."""


def eviction_terms_of(annotations: Annotations, remarks: Remarks) -> EvictionTerms:
    """What an object states about evictions; a time of zero counts, because it overrules a default."""
    stated = {
        field: seconds
        for name, field in DURATIONS.items()
        if name in annotations and (seconds := duration_or_zero(annotations, name, remarks)) is not None
    }
    return EvictionTerms(**stated) if stated else NO_TERMS
