"""What pods of one template have in common, as a key: pods with equal keys are read once.

The key has all that ``PodReader`` reads of a pod, except for what it reads of each pod again: its identity, its group,
its labels, its node, its times and its conditions. So what a template's pods say differently for nobody to read does
not matter: the index of a completion, or the random name of the volume with the token of their account.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from vsched.api.base import NO_BYTES, Raw
from vsched.api.pods import Pod
from vsched.mirror.ingest.annotations import COOLDOWN_TIME, QUEUE_GATE
from vsched.mirror.ingest.evictions import asking_condition
from vsched.mirror.ingest.implicit import GROUP_NAME, GROUP_NAME_ALIAS
from vsched.mirror.ingest.metadata import PREEMPTABLE
from vsched.mirror.ingest.pod_status import status_of
from vsched.mirror.ingest.shape import container_key, resize_key

TASK_SPEC = "volcano.sh/task-spec"
UNREAD = frozenset(
    (
        GROUP_NAME,
        "batch.kubernetes.io/job-completion-index",
        "kubectl.kubernetes.io/last-applied-configuration",
        "kubectl.kubernetes.io/restartedAt",
    )
)
"""Annotations that nothing here follows from but the group; they differ within a template, or between like ones."""
NAMING = UNREAD | {
    GROUP_NAME_ALIAS,
    "volcano.sh/job-name",
    "volcano.sh/job-version",
    "volcano.sh/task-index",
    "volcano.sh/template-uid",
}
"""The same of pods that name a PodGroup. An implicit PodGroup has what its pods say of Volcano."""
READ_LABELS = (PREEMPTABLE, TASK_SPEC, COOLDOWN_TIME)
"""The labels of a pod that are read by their name."""
BYTES_MAX = 16 << 10
"""Keys with longer parts are not kept."""

_TOKEN = b"kube-api-access-"
_TOKEN_END = len(_TOKEN) + 5
"""Of the name of the volume that admission adds: its last five letters are random."""
_NONE: Mapping[str, str] = {}
_UNSAID = (NO_BYTES,) * 6


def key_of(pod: Pod, *, grouped: bool, implied: bool) -> Hashable | None:
    """What a pod says, without what is its own; None where it says something that is its own in other ways.

    ``grouped`` is whether it belongs to a job, ``implied`` whether that is implicit.
    """
    metadata, spec, status = pod.metadata, pod.spec, pod.status
    annotations, labels = metadata.annotations or _NONE, metadata.labels or _NONE
    if (
        spec.scheduling_gates
        or spec.resource_claims is not NO_BYTES
        or spec.workload_ref is not NO_BYTES
        or status.extended_resource_claim_status is not NO_BYTES
        or QUEUE_GATE in annotations
        or (spec.node_name and asking_condition(pod) is not None)
        or COOLDOWN_TIME in annotations
        or COOLDOWN_TIME in labels
    ):
        return None
    seldom = (
        spec.affinity,
        spec.topology_spread_constraints,
        spec.node_selector,
        spec.scheduling_group,
        spec.overhead,
        spec.resources,
    )
    said: list[bytes] = [] if seldom == _UNSAID else [bytes(raw) for raw in seldom]
    if said and (b"atchLabelKeys" in said[0] or b"atchLabelKeys" in said[1]):
        return None  # they depend on the pod's own labels
    unread = UNREAD if implied or not grouped else NAMING
    return (
        grouped,
        implied,
        metadata.namespace,
        metadata.annotations is None,
        tuple(annotations.items())
        if unread.isdisjoint(annotations)
        else tuple([each for each in annotations.items() if each[0] not in unread]),
        labels.get(PREEMPTABLE),
        labels.get(TASK_SPEC),
        tuple([(owner.controller, owner.uid == "", owner.kind) for owner in metadata.owner_references])
        if metadata.owner_references
        else None,
        spec.scheduler_name,
        spec.priority,
        spec.priority_class_name,
        spec.preemption_policy,
        spec.host_network,
        spec.restart_policy,
        spec.active_deadline_seconds,
        bool(spec.eviction_responders),
        tuple(said),
        bytes(spec.tolerations),
        _without_token(spec.volumes),
        tuple([container_key(container) for container in spec.containers or ()]),
        tuple([container_key(container) for container in spec.init_containers]) if spec.init_containers else None,
        resize_key(pod) if spec.node_name else "",
        status_of(pod),
    )


def length_of(pod: Pod) -> int:
    """About how many bytes the key has, without the parts that a ``Shaper`` counts."""
    annotations = pod.metadata.annotations or _NONE
    return len(bytes(pod.spec.volumes)) + sum(len(name) + len(text) for name, text in annotations.items())


def _without_token(volumes: Raw) -> Hashable:
    """The volumes without the random letters in the name of the token's volume."""
    data = bytes(volumes)
    at = data.find(_TOKEN)
    end = at + _TOKEN_END
    if at < 0 or not data[end - 5 : end].isalnum():
        return data
    return data[:at], data[end:]
