"""The PodGroup that stands for pods which name none, and what is to be done to have it.

Pure: the job that pods stand for, and the object as it is, in; bodies of writes out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from vsched.api.resources import PODGROUPS
from vsched.controllers import words
from vsched.errors import UNREADABLE, BadQuantity
from vsched.mirror.ingest.annotations import JOB_BUDGET, WAITING_TIME
from vsched.mirror.ingest.closeness import TOPOLOGY_MODE, TOPOLOGY_TIER, annotated_topology
from vsched.mirror.ingest.implicit import ImplicitPodGroup
from vsched.mirror.ingest.metadata import MADE_BY, OURS, PREEMPTABLE, REVOCABLE_ZONE
from vsched.model.amounts.resources import format_amount, parse_amount

GROUP_MIN_RESOURCES = "scheduling.volcano.sh/group-min-resources"
"""Annotation: ``minResources`` of a group as JSON, instead of the computed ones."""

PASSED_ON = "volcano.sh/"
"""Prefixes of annotations that a PodGroup takes over from its pods and their workload."""
OF_PODS = frozenset(
    f"{PASSED_ON}{name}"
    for name in (
        "task-spec",
        "task-index",
        "task-priority",
        "job-name",
        "job-version",
        "queue-name",
        "template-uid",
        "topology-decision",
    )
)
"""Annotations with such a prefix that concern a single pod only."""
TAKEN_BACK = frozenset((PREEMPTABLE, REVOCABLE_ZONE, TOPOLOGY_MODE, TOPOLOGY_TIER, *WAITING_TIME, *JOB_BUDGET))
"""Those that are taken from a PodGroup again when pods and workload no longer say so."""

Named = tuple[tuple[str, int], ...]
"""Amounts in base units by resource name, sorted."""


class TopologyWish(NamedTuple):
    """The network topology that a group asks for: how near to each other its pods have to be."""

    mode: str
    tier: int | None = None


class PodGroupContent(NamedTuple):
    """The part of a PodGroup that follows from its pods and their workload."""

    queue: str
    min_member: int
    priority_class: str = ""
    min_resources: Named = ()
    topology: TopologyWish | None = None
    annotations: tuple[tuple[str, str], ...] = ()
    """Those that are passed on, sorted."""
    roles: tuple[tuple[str, int], ...] = ()
    """Minima by role, sorted."""


class PodGroupOwner(NamedTuple):
    """The owner of a PodGroup, with which it is deleted: the controller of its pods, or the pod itself."""

    api_version: str
    kind: str
    name: str
    uid: str

    def as_object(self) -> dict[str, Any]:
        """As an owner reference; without ``blockOwnerDeletion``, which takes permissions on every kind of owner."""
        return {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "name": self.name,
            "uid": self.uid,
            "controller": True,
        }


class PodGroupState(NamedTuple):
    """The fields of a PodGroup object that are compared."""

    uid: str
    version: str
    made: bool
    owned: bool
    """Whether it has an owner reference."""
    content: PodGroupContent
    of_gang: bool = False
    """Whether its owner makes pods in groups that come and go: without pods, it is not needed."""


def content_of(implicit_group: ImplicitPodGroup, names: Sequence[str], remarks: list[str]) -> PodGroupContent:
    """The wanted PodGroup of some pods; ``names`` are the resources by column. Problems are passed to the remark."""
    spec = implicit_group.spec
    annotations = dict(spec.annotations)
    if spec.preemptable is not None:
        annotations[PREEMPTABLE] = "true" if spec.preemptable else "false"  # pods may say it by a label
    worked_out = (
        (names[column], amount) for column, amount in _least(implicit_group).items() if names[column] != "pods"
    )
    asked_for = _stated_resources(annotations, remarks)
    return PodGroupContent(
        spec.queue,
        spec.min_member,
        spec.priority_class,
        tuple(sorted(worked_out if asked_for is None else asked_for)),
        _topology(annotations, remarks),
        passed_on(annotations),
        spec.min_task_member,
    )


def _least(implicit_group: ImplicitPodGroup) -> Mapping[int, int]:
    """What the minimum of pods requests, by column: of each role its own, the rest like the oldest pod."""
    spec, found = implicit_group.spec, Counter[int]()
    counts = [
        (implicit_group.roles.get(role, implicit_group.speaker), minimum) for role, minimum in spec.min_task_member
    ]
    rest = spec.min_member - sum(minimum for _, minimum in counts)
    for task, count in (*counts, (implicit_group.speaker, rest)):
        for column, amount in task.shape.request:
            found[column] += amount * count
    return found


def passed_on(annotations: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The annotations that a PodGroup has from its pods, sorted."""
    return tuple(
        sorted(
            (key, value)
            for key, value in annotations.items()
            if key not in OF_PODS and (key.startswith(PASSED_ON) or key in TAKEN_BACK)
        )
    )


def amounts_of(resources: Mapping[str, object] | None) -> Named:
    """A ResourceList in base units, zeros left out; raises BadQuantity."""
    found = ((name, parse_amount(name, quantity)) for name, quantity in (resources or {}).items())
    return tuple(sorted((name, value) for name, value in found if value))


def _stated_resources(annotations: Mapping[str, str], remarks: list[str]) -> Iterable[tuple[str, int]] | None:
    text = annotations.get(GROUP_MIN_RESOURCES)
    if text is None:
        return None
    try:
        return amounts_of(msgspec.json.decode(text, type=dict[str, str | int | float]))
    except (*UNREADABLE, BadQuantity):
        expected = words.AMOUNTS
        remarks.append(f"metadata.annotations[{GROUP_MIN_RESOURCES}]: {text[:40]!r} (expected {expected}): ignored")
        return None


def _topology(annotations: Mapping[str, str], remarks: list[str]) -> TopologyWish | None:
    found = annotated_topology(annotations, remarks)
    return None if found is None else TopologyWish("hard" if found.hard else "soft", found.highest_tier)


# -- bodies ---------------------------------------------------------------------------------------------------------


def creation(namespace: str, name: str, content: PodGroupContent, owner: PodGroupOwner) -> dict[str, Any]:
    """A new PodGroup."""
    metadata = {
        "name": name,
        "namespace": namespace,
        "labels": {MADE_BY: OURS},
        "annotations": dict(content.annotations),
        "ownerReferences": [owner.as_object()],
    }
    spec: dict[str, Any] = {
        "minMember": content.min_member,
        "queue": content.queue,
        "minResources": _rendered(content.min_resources),
    }
    if content.roles:
        spec["minTaskMember"] = dict(content.roles)
    if content.priority_class:
        spec["priorityClassName"] = content.priority_class
    if content.topology is not None:
        fields = _topology_fields(content.topology)
        spec["networkTopology"] = {name: value for name, value in fields.items() if value is not None}
    return {"apiVersion": PODGROUPS.api_version, "kind": "PodGroup", "metadata": metadata, "spec": spec}


def correction(standing: PodGroupState, content: PodGroupContent, owner: PodGroupOwner) -> dict[str, Any] | None:
    """A merge patch that brings a PodGroup up to date, over the version it was compared with; None if it is."""
    metadata: dict[str, Any] = {}
    spec: dict[str, Any] = {}
    before = standing.content
    if not standing.made:
        metadata["labels"] = {MADE_BY: OURS}
    if not standing.owned:
        metadata["ownerReferences"] = [owner.as_object()]
    had, wanted = dict(before.annotations), dict(content.annotations)
    notes: dict[str, str | None] = {key: None for key in had if key not in wanted and key in TAKEN_BACK}
    notes |= {key: value for key, value in wanted.items() if had.get(key) != value}
    if notes:
        metadata["annotations"] = notes
    if before.min_member != content.min_member:
        spec["minMember"] = content.min_member
    if before.roles != content.roles:
        spec["minTaskMember"] = {role: None for role, _ in before.roles} | dict(content.roles)
    if before.queue != content.queue:
        spec["queue"] = content.queue
    if before.priority_class != content.priority_class:
        spec["priorityClassName"] = content.priority_class or None
    if before.min_resources != content.min_resources:
        gone = {name: None for name, _ in before.min_resources}
        spec["minResources"] = gone | _rendered(content.min_resources)
    if before.topology != content.topology:
        spec["networkTopology"] = None if content.topology is None else _topology_fields(content.topology)
    if not metadata and not spec:
        return None
    metadata["resourceVersion"] = standing.version
    return {"metadata": metadata, "spec": spec} if spec else {"metadata": metadata}


def _rendered(amounts: Named) -> dict[str, str]:
    return {name: format_amount(name, value) for name, value in amounts}


def _topology_fields(topology: TopologyWish) -> dict[str, Any]:
    """The fields of a topology; null for a missing tier, which in a patch removes an earlier one."""
    return {"mode": topology.mode, "highestTierAllowed": topology.tier}
