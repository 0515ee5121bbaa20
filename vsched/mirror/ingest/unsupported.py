"""Tables of features that are not supported. To implement a feature, remove its entries here.

A required feature makes pods wait, unless a flag says to ignore it. A preferred one only gets a remark for the owner
of the object.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from vsched.api.base import NO_BYTES, Raw
from vsched.api.objects import PodGroup, Queue
from vsched.api.pods import Pod
from vsched.errors import UNREADABLE
from vsched.framework.words.jobs import no_priority_class
from vsched.mirror.ingest.annotations import Remarks
from vsched.mirror.ingest.rules import NUMERIC_TOLERATION_OPERATORS, decoded
from vsched.mirror.ingest.words import fields as words
from vsched.mirror.ingest.words import groups
from vsched.model.claims.quota import device_amount

PATHS_NAMED = 3
"""How many fields of one object are named; further ones are counted."""

NODE_BOUND = (
    "awsElasticBlockStore",
    "azureDisk",
    "cinder",
    "gcePersistentDisk",
    "iscsi",
    "portworxVolume",
    "rbd",
    "vsphereVolume",
)
"""Volumes that name a disk directly, which kube-scheduler counts or gives to one pod at a time.

Claims are served. All others (configMap, secret, emptyDir, projected, downwardAPI, hostPath, image, csi, nfs, cephfs …)
are available on every node as far as schedulers know.
"""
FORWARD_CLUSTER = "volcano.sh/forward-cluster"
"""Annotation of PodGroups: the preferred cluster."""
FIFO = "fifo"

_NONE: Mapping[str, str] = {}
_ELSEWHERE = frozenset(NODE_BOUND).isdisjoint
_VOLUMES = msgspec.json.Decoder(list[dict[str, Raw]])
Paths = Iterator[str]
"""Paths of the fields that require or prefer a feature."""


# -- whether pods may ask ---------------------------------------------------------------------------------------------


def _may_have_volumes(pod: Pod) -> bool:
    if pod.spec.volumes is NO_BYTES:
        return False
    try:
        return not all(map(_ELSEWHERE, _VOLUMES.decode(pod.spec.volumes)))
    except UNREADABLE:
        return True  # _volumes reports what is wrong


def _may_name_workload(pod: Pod) -> bool:
    return pod.spec.workload_ref is not NO_BYTES


# -- where pods ask -------------------------------------------------------------------------------------------------


def _volumes(pod: Pod) -> Paths:
    volumes = decoded(pod.spec.volumes, list[dict[str, Raw]], "spec.volumes")
    for number, volume in enumerate(volumes or ()):
        for kind in NODE_BOUND:
            if kind in volume and bytes(volume[kind]) != b"null":
                yield f"spec.volumes[{number}].{kind}"


def _workload_refs(pod: Pod) -> Paths:
    """Kubernetes 1.35 alone has this field; ``spec.schedulingGroup`` took its place."""
    if decoded(pod.spec.workload_ref, dict[str, Raw], "spec.workloadRef"):
        yield "spec.workloadRef"


def _numeric_tolerations(pod: Pod) -> Paths:
    raw = bytes(pod.spec.tolerations)
    if b'"Gt"' not in raw and b'"Lt"' not in raw:
        return
    for number, toleration in enumerate(decoded(pod.spec.tolerations, list[dict[str, Any]], "spec.tolerations") or ()):
        if toleration.get("operator") in NUMERIC_TOLERATION_OPERATORS:
            yield f"spec.tolerations[{number}]"


# -- where PodGroups and Queues ask ---------------------------------------------------------------------------------


def _annotated_wishes(group: PodGroup) -> Paths:
    if FORWARD_CLUSTER in (group.metadata.annotations or _NONE):
        yield f"metadata.annotations[{FORWARD_CLUSTER}]"


def _queue_wishes(queue: Queue) -> Paths:
    if queue.spec.dequeue_strategy == FIFO:
        yield "spec.dequeueStrategy"
    if queue.spec.extend_clusters:
        yield "spec.extendClusters"
    if queue.spec.type:
        yield "spec.type"
    spec = queue.spec
    guarantee = spec.guarantee.resource if spec.guarantee is not None else None
    for field, amounts in (("deserved", spec.deserved), ("guarantee.resource", guarantee)):
        yield from (f"spec.{field}[{name[:80]}]" for name in amounts or () if device_amount(name) is not None)


# -- the tables -----------------------------------------------------------------------------------------------------

POD_ASKS: tuple[tuple[str, Callable[[Pod], bool], Callable[[Pod], Paths]], ...] = (
    ("volumes", _may_have_volumes, _volumes),
    ("scheduling-groups", _may_name_workload, _workload_refs),
)
"""Required features of pods: the word of ``--ignore-unsupported``, a quick check, and the fields.

Every waiting pod is checked, and most use none of these.
"""
POD_WISHES: tuple[tuple[Callable[[Pod], bool], Callable[[Pod], Paths]], ...] = (
    (lambda pod: pod.spec.tolerations is not NO_BYTES, _numeric_tolerations),
)
GROUP_WISHES: tuple[Callable[[PodGroup], Paths], ...] = (_annotated_wishes,)
QUEUE_WISHES: tuple[Callable[[Queue], Paths], ...] = (_queue_wishes,)


def asked_by_pod(pod: Pod, ignored: Collection[str]) -> str:
    """Why a pod waits that requires an unsupported feature; empty if it requires none."""
    found: list[str] = []
    for word, may_ask, paths in POD_ASKS:
        if may_ask(pod) and word not in ignored:
            found += paths(pod)
    return sentence(found)


def sentence(paths: Sequence[str]) -> str:
    """The fields; empty without any."""
    if not paths:
        return ""
    more = f" and {len(paths) - PATHS_NAMED} more" if len(paths) > PATHS_NAMED else ""
    return words.not_supported_yet(", ".join(paths[:PATHS_NAMED]), more)


def no_such_class(name: str) -> str:
    """The message about a PriorityClass that does not exist."""
    return no_priority_class(name[:80])


def remark_wishes_of_pod(pod: Pod, remarks: Remarks) -> None:
    """Remark on each unsupported preference of a pod."""
    for may_wish, paths in POD_WISHES:
        if may_wish(pod):
            remark_wishes((paths,), pod, remarks)


def remark_wishes(wishes: tuple[Callable[[Any], Paths], ...], found: object, remarks: Remarks) -> tuple[str, ...]:
    """Remark on each unsupported preference of an object; returns the lines."""
    lines = tuple(f"{path}: {groups.NO_EFFECT}" for paths in wishes for path in paths(found))
    remarks += lines[:PATHS_NAMED]
    return lines[:PATHS_NAMED]
