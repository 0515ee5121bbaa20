"""What all kinds have in common: labels, annotations, times, and how errors name the object."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import TracebackType

from vsched import api
from vsched.api.base import seconds_of
from vsched.errors import BadInput, BadObject, NoColumn
from vsched.kube.paths import is_name
from vsched.mirror.ingest.annotations import EXPECTED_DURATION
from vsched.mirror.ingest.words import fields as words
from vsched.model.jobs.native import API_GROUP
from vsched.model.jobs.spec import USER
from vsched.model.names import shared
from vsched.model.queues.evictions import PREEMPT_MIN_RUNTIME, PREEMPTIBILITY, PREEMPTION_DELAY, RECLAIM_MIN_RUNTIME
from vsched.model.queues.queue import MAX_RUNNING_JOBS, MAX_RUNNING_JOBS_PER_USER, MAX_WALL_TIME, WALL_TIME
from vsched.words import TRUE_OR_FALSE

QUEUE_NAME = "scheduling.volcano.sh/queue-name"
PREEMPTABLE = "volcano.sh/preemptable"
REVOCABLE_ZONE = "volcano.sh/revocable-zone"
ANY_ZONE = "*"
NUMA_POLICY = "volcano.sh/numa-topology-policy"
NUMA_POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
IMPLIED = "podgroup-"
"""The names of PodGroups for pods that name none begin with this; a uid follows."""
MADE_BY, OURS = "app.kubernetes.io/managed-by", "vsched"
"""Label of the PodGroups among them that vsched made, and its value."""

SHARD = "vsched.io/shard"
"""The annotation of a queue that says which shard of the cluster it and those below it belong to."""
OWN_ANNOTATIONS = frozenset(
    (
        EXPECTED_DURATION,
        USER,
        PREEMPT_MIN_RUNTIME,
        RECLAIM_MIN_RUNTIME,
        PREEMPTION_DELAY,
        PREEMPTIBILITY,
        MAX_RUNNING_JOBS,
        MAX_RUNNING_JOBS_PER_USER,
        MAX_WALL_TIME,
        WALL_TIME,
        SHARD,
        "sla-waiting-time",
    )
)
"""Annotations that are read and are none of Volcano's."""

BOOLEANS = dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True) | dict.fromkeys(
    ("0", "f", "F", "false", "FALSE", "False"), False
)
INT32 = 1 << 31

_NONE: Mapping[str, str] = {}
_INTEGER = re.compile(r"[+-]?[0-9]{1,10}")


class naming:  # noqa: N801  # read as "with naming(kind, metadata)"
    """Puts the kind and name of an object before the text of a BadInput that the block raises, as BadObject."""

    __slots__ = ("_kind", "_metadata")

    def __init__(self, kind: str, metadata: api.Metadata) -> None:
        self._kind = kind
        self._metadata = metadata

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, BadInput):
            problem = NoColumn if isinstance(error, NoColumn) else BadObject
            raise problem(f"{api.named(self._kind, self._metadata)}: {error}") from None


def is_made(metadata: api.Metadata) -> bool:
    """Whether vsched made this PodGroup, for pods that name none."""
    return metadata.name.startswith(IMPLIED) and (metadata.labels or _NONE).get(MADE_BY) == OURS


def created_of(metadata: api.Metadata) -> float:
    """Seconds since the epoch, 0 where the object does not say."""
    return seconds_of(metadata.creation_timestamp)


def pod_owner_of(metadata: api.Metadata) -> str:
    """The uid of the pod that an object was made for (its controller); empty where there is none."""
    for owner in metadata.owner_references or ():
        if owner.controller and owner.kind == "Pod":
            return owner.uid
    return ""


def maker_of(name: str, metadata: api.Metadata) -> str:
    """What a PodGroup of this generated name stands for, by its object or by a pod: ``ReplicaSet web-5d9``.

    Of several groups of one owner, each is told with what its name adds: ``LeaderWorkerSet llm (group 0)``.
    """
    owner = next((one for one in metadata.owner_references or () if one.controller and one.uid), None)
    if owner is not None and name.startswith(IMPLIED + owner.uid):
        if not is_name(owner.name) or not is_name(owner.kind):
            return ""  # anybody may write anything there, and sentences about others would say it
        return shared(of_group(f"{owner.kind} {owner.name}", name.removeprefix(IMPLIED + owner.uid)[1:]))
    return f"Pod {metadata.name}" if name == IMPLIED + api.uid_of(metadata) else ""


def of_group(owner: str, group: str) -> str:
    """An owner, with which of its groups a PodGroup stands for where it has several."""
    return f"{owner} (group {group})" if group else owner


def claim_owner_of(metadata: api.Metadata) -> str:
    """The uid of the pod, or of the native PodGroup, that a ResourceClaim was made for; empty where there is none."""
    for owner in metadata.owner_references or ():
        is_group = owner.kind == "PodGroup" and owner.api_version.partition("/")[0] == API_GROUP
        if owner.controller and (owner.kind == "Pod" or is_group):
            return owner.uid
    return ""


def scheduling_annotations(metadata: api.Metadata) -> tuple[tuple[str, str], ...]:
    """The annotations that schedulers read, sorted."""
    return tuple(
        sorted(
            (key, value)
            for key, value in (metadata.annotations or _NONE).items()
            if "volcano.sh/" in key or key in OWN_ANNOTATIONS
        )
    )


def flag_of(metadata: api.Metadata, name: str) -> bool | None:
    """A boolean annotation, else label of that name; raises BadObject where it is not a boolean."""
    for field, values in (("annotations", metadata.annotations), ("labels", metadata.labels)):
        if values is not None and name in values:
            return choice_of(values[name], BOOLEANS, f"metadata.{field}[{name}]", TRUE_OR_FALSE)
    return None


def is_revocable(metadata: api.Metadata) -> bool:
    """Whether a pod may use nodes of revocable zones: all of them or none; preemptable by annotation means all."""
    annotations = metadata.annotations
    if annotations is None:
        return False
    zone = annotations.get(REVOCABLE_ZONE)
    return BOOLEANS.get(annotations.get(PREEMPTABLE, ""), False) if zone is None else zone == ANY_ZONE


def numa_policy_of(metadata: api.Metadata) -> str:
    """The policy that a pod requires of its node's NUMA zones, empty where it requires none that is known."""
    if metadata.annotations is None:
        return ""
    policy = metadata.annotations.get(NUMA_POLICY, "")
    return policy if policy in NUMA_POLICIES and policy != "none" else ""


def integer_of(annotations: Mapping[str, str], name: str) -> int | None:
    """An annotation that holds a 32-bit integer, None where it is absent; raises BadObject."""
    text = annotations.get(name)
    if text is None:
        return None
    value = int32_of(text)
    if value is None:
        raise BadObject(words.annotation_not_int32(name, text[:40]))
    return value


def int32_of(text: str) -> int | None:
    """The 32-bit integer that a text states, None where it states none."""
    value = int(text) if _INTEGER.fullmatch(text) else INT32
    return value if -INT32 <= value < INT32 else None


def choice_of(word: str, choices: Mapping[str, bool], at: str, expected: str = "") -> bool:
    """The meaning of a word; raises BadObject naming the field and the expected words."""
    if word not in choices:
        raise BadObject(words.unknown_word(at, word, expected or " or ".join(filter(None, choices))))
    return choices[word]


def count_of(value: int | None, at: str) -> int:
    """A number of pods or the like, 0 where it is absent; raises BadObject."""
    if value is None:
        return 0
    if not 0 <= value < INT32:
        raise BadObject(words.negative_number(at, value))
    return value


def member_of(word: str, known: tuple[str, ...], at: str) -> str:
    """The word; raises BadObject where it is not one of these."""
    if word not in known:
        raise BadObject(words.unknown_word(at, word, ", ".join(known)))
    return word
