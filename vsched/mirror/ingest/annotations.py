"""Annotations with settings for scheduling. An invalid one is ignored, with a remark for the object's owner.

Nothing here raises: an object is not left out because of an annotation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableSequence
from typing import Annotated

import msgspec

from vsched.api.base import Metadata, ResourceList, located
from vsched.errors import UNREADABLE, BadObject
from vsched.mirror.ingest.amounts import quantities
from vsched.mirror.ingest.bounds import STRATEGY_MAX, read
from vsched.mirror.ingest.words import groups as words
from vsched.model.amounts.durations import parse_duration
from vsched.model.amounts.resources import Amounts, ResourceAxis
from vsched.model.jobs.budget import JobBudget
from vsched.model.pods.shape import ScoringStrategy
from vsched.model.queues.queue import WALL_TIME

WAITING_TIME = ("volcano.sh/sla-waiting-time", "sla-waiting-time")
"""The current name, and the old one."""
JOB_BUDGET = {"volcano.sh/jdb-min-available": False, "volcano.sh/jdb-max-unavailable": True}
"""Whether the number is of unavailable pods; the first annotation that is there counts."""
COOLDOWN_TIME = "volcano.sh/cooldown-time"
QUEUE_GATE = "scheduling.volcano.sh/queue-allocation-gate"
"""Scheduling gate that is removed once the pod's queue has room; the annotation of this name, "true", requests it."""
EXPECTED_DURATION = "vsched.io/expected-duration"
NODE_GROUP_LIMITS = "volcano.sh/nodegroup-resource-limits"
STRATEGY_TYPE = "volcano.sh/resource-strategy-scoring-type"
STRATEGY_WEIGHT = "volcano.sh/resource-strategy-weight"
STRATEGIES = {"LeastAllocated": False, "MostAllocated": True}
"""Whether fuller nodes are better."""


Annotations = Mapping[str, str]
Remarks = MutableSequence[str]
"""Gets one line for each annotation that cannot be used: where, what, what was expected, and what follows."""

_Weight = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
_PODS = re.compile(r"([0-9]{1,9})(%?)")


def waiting_seconds_of(annotations: Annotations, remarks: Remarks) -> float | None:
    """The longest time that a job is to wait, None without the annotation."""
    found = (duration_of(annotations, name, remarks) for name in WAITING_TIME)
    return next((seconds for seconds in found if seconds is not None), None)


def job_budget_of(annotations: Annotations, remarks: Remarks) -> JobBudget | None:
    """How many pods of a job may be unavailable, None without the annotation."""
    for name, unavailable in JOB_BUDGET.items():
        text = annotations.get(name)
        if text is not None:
            found = _PODS.fullmatch(text)
            if found is not None:
                return JobBudget(int(found[1]), bool(found[2]), unavailable)
            remark(remarks, name, text, words.PODS_OR_PERCENTAGE)
    return None


def cooldown_seconds_of(metadata: Metadata, remarks: Remarks) -> float:
    """How long a scheduled pod is no victim, by label, else by annotation; 0 without either."""
    if metadata.labels is not None and COOLDOWN_TIME in metadata.labels:
        return duration_of(metadata.labels, COOLDOWN_TIME, remarks, "labels") or 0.0
    return duration_of(metadata.annotations or {}, COOLDOWN_TIME, remarks) or 0.0


def expected_seconds_of(annotations: Annotations, remarks: Remarks) -> float:
    """The expected duration of the work, 0 without the annotation."""
    return duration_of(annotations, EXPECTED_DURATION, remarks) or 0.0


def wall_seconds_of(annotations: Annotations, remarks: Remarks) -> float:
    """For how long a job may run, 0 without the annotation."""
    return duration_of(annotations, WALL_TIME, remarks) or 0.0


def group_limits_of(
    annotations: Annotations, axis: ResourceAxis, remarks: Remarks
) -> tuple[tuple[str, Amounts], ...] | None:
    """A queue's limit on each group of nodes, with zeros; None for an invalid annotation."""
    text = annotations.get(NODE_GROUP_LIMITS)
    if text is None:
        return ()
    at = f"metadata.annotations[{NODE_GROUP_LIMITS}]"
    try:
        groups = msgspec.json.decode(text, type=dict[str, ResourceList])
        return tuple(
            (group, tuple(sorted(quantities(axis, amounts, f"{at}.{group}").items())))
            for group, amounts in sorted(groups.items())
        )
    except UNREADABLE as error:
        complaint = words.no_amounts_by_group(located(error, at))
    except BadObject as error:
        complaint = str(error)
    remarks.append(words.no_node_for_the_queue(complaint))
    return None


def strategy_of(annotations: Annotations, remarks: Remarks) -> ScoringStrategy | None:
    """How a pod wants nodes to be scored, None unless it states both the type and the weights."""
    kind, text = annotations.get(STRATEGY_TYPE), annotations.get(STRATEGY_WEIGHT)
    if kind is None and text is None:
        return None
    if kind not in STRATEGIES:
        remark(remarks, STRATEGY_TYPE, kind or "", " or ".join(STRATEGIES))
        return None
    try:
        weights = msgspec.json.decode(text or "", type=dict[str, _Weight])
        read(weights, STRATEGY_MAX, f"metadata.annotations[{STRATEGY_WEIGHT}]")
    except BadObject as error:
        remarks.append(f"{error}: ignored")
        return None
    except UNREADABLE:
        remark(remarks, STRATEGY_WEIGHT, text or "", words.WEIGHTS)
        return None
    return ScoringStrategy(STRATEGIES[kind], tuple(sorted(weights.items())))


def duration_of(
    values: Annotations, name: str, remarks: Remarks, field: str = "annotations", *, or_zero: bool = False
) -> float | None:
    """The length of time that an annotation states; None without it and, with a remark, where it states none.

    Zero is one only with ``or_zero``.
    """
    text = values.get(name)
    if text is None:
        return None
    seconds = parse_duration(text)
    if seconds is not None and (seconds > 0 or (or_zero and not seconds)):
        return seconds
    expected = words.LENGTH_OF_TIME if or_zero else words.LENGTH_ABOVE_ZERO
    remark(remarks, name, text, f"{expected} 30s or 1h30m", field)
    return None


def remark(remarks: Remarks, name: str, text: str, expected: str, field: str = "annotations") -> None:
    """Remark that the text of an annotation cannot be used."""
    remarks.append(f"metadata.{field}[{name}]: {text[:40]!r} (expected {expected}): ignored")
