"""Annotations about evictions, of pods, PodGroups, workloads and queues. An invalid one is ignored, with a remark."""

from __future__ import annotations

import msgspec

from vsched import api
from vsched.api.base import ObjectCondition, Timestamp, seconds_of
from vsched.errors import UNREADABLE, in_a_row
from vsched.mirror.ingest.annotations import Annotations, Remarks, duration_of, remark
from vsched.mirror.ingest.bounds import NAME_LENGTH_MAX
from vsched.mirror.ingest.metadata import int32_of
from vsched.mirror.ingest.pod_status import true_condition
from vsched.mirror.ingest.rules import decoded
from vsched.mirror.ingest.words import fields
from vsched.mirror.ingest.words import fields as words
from vsched.model.pods.cooperation import (
    ASKED,
    COOPERATIVE_EVICTION,
    EXPECTED,
    FOR,
    NO_ANSWER,
    READY,
    REQUESTED,
    UNTIL,
    EvictionRequest,
    ResponderAnswer,
)
from vsched.model.queues.evictions import (
    DELETION_COST,
    LAST_CHECKPOINT,
    NO_TERMS,
    PREEMPT_MIN_RUNTIME,
    PREEMPTIBILITY,
    PREEMPTION_DELAY,
    RECLAIM_MIN_RUNTIME,
    EvictionTerms,
    Preemptibility,
)

DURATIONS = {
    PREEMPT_MIN_RUNTIME: "preempt_min_runtime",
    RECLAIM_MIN_RUNTIME: "reclaim_min_runtime",
    PREEMPTION_DELAY: "preemption_delay",
    COOPERATIVE_EVICTION: "cooperative",
}
"""The field of ``EvictionTerms`` for each annotation."""
WORDS = tuple(word.value for word in Preemptibility)


def eviction_terms_of(annotations: Annotations, remarks: Remarks) -> EvictionTerms:
    """What an object states about evictions; a time of zero counts, because it overrules a default."""
    stated = {
        field: seconds
        for name, field in DURATIONS.items()
        if (seconds := duration_of(annotations, name, remarks, or_zero=True)) is not None
    }
    return EvictionTerms(**stated) if stated else NO_TERMS


def preemptibility_of(annotations: Annotations, remarks: Remarks) -> Preemptibility | None:
    """Which pods of a job may be evicted for others; None without the annotation."""
    text = annotations.get(PREEMPTIBILITY)
    if text is None:
        return None
    if text in WORDS:
        return Preemptibility(text)
    remark(remarks, PREEMPTIBILITY, text, in_a_row(WORDS, "or"))
    return None


def eviction_terms_of_queue(annotations: Annotations, remarks: Remarks) -> EvictionTerms:
    """The same for a queue, which cannot opt in to cooperative eviction for pods."""
    terms = eviction_terms_of(annotations, remarks)
    if terms.cooperative is None:
        return terms
    remarks.append(words.only_these_opt_in(COOPERATIVE_EVICTION))
    return msgspec.structs.replace(terms, cooperative=None)


def cooperation_of(annotations: Annotations, remarks: Remarks) -> float | None:
    """How long a pod is asked to end by itself before it is evicted; None where it does not say."""
    return duration_of(annotations, COOPERATIVE_EVICTION, remarks, or_zero=True)


def asking_condition(pod: api.Pod) -> ObjectCondition | None:
    """The condition by which vsched has asked a pod to end by itself; None without one."""
    return true_condition(pod, ASKED)


def request_of(pod: api.Pod, most_seconds: float, remarks: Remarks) -> EvictionRequest | None:
    """The request that a pod ends by itself; it ends ``most_seconds`` after it was made, if not before.

    What the pod's annotations say of when and until when is there to be read by its owner, who can change it.
    """
    condition, annotations = asking_condition(pod), pod.metadata.annotations or {}
    if condition is None:
        return None
    at = seconds_of(decoded(condition.last_transition_time, Timestamp, f"status.conditions[{ASKED}]"))
    cause, _, until = (condition.message or "").partition(UNTIL)
    action, _, beneficiary = cause.partition(FOR)
    return EvictionRequest(
        at,
        min(_seconds(until) or at + most_seconds, at + most_seconds),
        action[:NAME_LENGTH_MAX],
        beneficiary[: 2 * NAME_LENGTH_MAX],
        _moment(annotations, EXPECTED, remarks),
        annotations.get(READY) == "true",
        REQUESTED in annotations,
    )


def checkpoint_of(annotations: Annotations, remarks: Remarks) -> float:
    """When the work was last saved, seconds since the epoch; 0 without the annotation."""
    return _moment(annotations, LAST_CHECKPOINT, remarks)


def _moment(annotations: Annotations, name: str, remarks: Remarks) -> float:
    """The time that an annotation states, seconds since the epoch; 0 without it, or where it cannot be read."""
    text = annotations.get(name)
    if text is None:
        return 0.0
    seconds = _seconds(text)
    if not seconds:
        remark(remarks, name, text, words.TIME)
    return seconds


def _seconds(text: str) -> float:
    """A time as seconds since the epoch; 0 where it cannot be read."""
    try:
        return seconds_of(msgspec.convert(text, Timestamp))
    except UNREADABLE:
        return 0.0


def deletion_cost_of(annotations: Annotations, remarks: Remarks) -> int:
    """The pod deletion cost, 0 without the annotation."""
    text = annotations.get(DELETION_COST)
    if text is None:
        return 0
    cost = int32_of(text)
    if cost is None:
        remark(remarks, DELETION_COST, text, fields.INT32)
    return cost or 0


IMPERATIVE = "imperative-eviction.k8s.io/evictor"
"""The responder that Kubernetes appends to every list: it evicts the pod as everybody can, and saves nothing."""
ENDED = frozenset(("Completed", "Interrupted", "Canceled"))
"""States of responders that do nothing any more. Kubernetes interrupts one without a heartbeat for 20 minutes."""


def target_of(found: api.Eviction) -> str:
    """The uid of the pod that an Eviction is about; empty where it is about something else."""
    pod = found.spec.target.pod
    return "" if pod is None else pod.uid


def answer_of(found: api.Eviction) -> ResponderAnswer:
    """What the responders of a pod say. An Eviction that has failed, or was canceled, says nothing."""
    status = found.status
    if any(one.type == "Failed" and one.status == "True" for one in status.conditions or ()):
        return NO_ANSWER
    responders = [one for one in status.target_responders or () if one.name != IMPERATIVE]
    active = {one.name for one in responders if one.state == "Active"}
    for one in status.responders or ():
        if one.name in active and one.completion_time is None:
            message = " ".join(one.message[:NAME_LENGTH_MAX].split())
            return ResponderAnswer(seconds_of(one.expected_completion_time), message=message)
    return ResponderAnswer(done=bool(responders) and all(one.state in ENDED for one in responders))
