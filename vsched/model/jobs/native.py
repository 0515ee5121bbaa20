"""Jobs that stand for Kubernetes' own PodGroups (``scheduling.k8s.io``), which are called native PodGroups here.

Their keys end in the API group, so that they differ from PodGroups of Volcano with the same name: names of objects
have no colon.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from vsched.model.marks import Sentence, Uid, Word

API_GROUP = "scheduling.k8s.io"
OLDEST_VERSION = "v1alpha2"
"""In this version of the API nothing of a group changes, and its pods may have other priorities than the group."""
_GROUP, _COMPOSITE = f":{API_GROUP}", f":composite.{API_GROUP}"


class NativeName(NamedTuple):
    """What the key of a native job says."""

    namespace: str
    name: str
    composite: bool


class QueueMember(NamedTuple):
    """The queue of a job that has no PodGroup of Volcano: a native one, or pods that name none."""

    key: str
    queue: str | None
    """None where it is no job any more."""


class ChildGroup(msgspec.Struct, frozen=True):
    """A PodGroup, or a CompositePodGroup below the root, of a composite job: what its status is written by."""

    name: str
    uid: Uid = ""
    version: Word = ""
    generation: int = 0
    minimum: int = 1
    """So many of its pods, or of the groups right below it, have to be scheduled."""
    started: bool = False
    composite: bool = False
    parent: str = ""
    """The CompositePodGroup it belongs to."""
    reason: Word = ""
    """Of the condition in its object, with its message and its ``lastTransitionTime``."""
    message: Sentence = ""
    since: float = 0.0
    gang: bool = False
    topology: str = ""
    """The node label that all its pods have to agree in; empty for none."""


class NativeGroup(msgspec.Struct, frozen=True):
    """What the object of a native job says that PodGroups of Volcano cannot say."""

    version: Word = ""
    """The API version it was read in."""
    generation: int = 0
    started: bool = False
    """Whether its condition says that it was scheduled once; that is never taken back."""
    composite: bool = False
    gang: bool = False
    """False for ``basic``: each of its pods is placed on its own."""
    minimum: int = 1
    """``minCount``, or ``minGroupCount``; 1 for ``basic``."""
    whole: bool = False
    """Whether its pods are evicted together or not at all (``disruptionMode``)."""
    priority: int | None = None
    """``spec.priority``; None where the API server filled in none."""
    preempts: bool = True
    """False for ``preemptionPolicy: Never``."""
    invalid: Sentence = ""
    """Why a tree of groups cannot be used; empty where it can."""
    children: tuple[ChildGroup, ...] = ()
    """The groups below a CompositePodGroup, parents before their children."""

    @property
    def has_mutable_minimum(self) -> bool:
        """Whether ``minCount`` is all that the job's minimum follows from, and the API server lets it change."""
        return self.gang and not self.composite and self.version != OLDEST_VERSION


def native_key(namespace: str, name: str, *, composite: bool = False) -> str:
    """The key of the job of a native PodGroup."""
    return f"{namespace}/{name}{_COMPOSITE if composite else _GROUP}"


def native_name(key: str) -> NativeName | None:
    """What a key says; None for the key of any other job."""
    for ending, composite in ((_COMPOSITE, True), (_GROUP, False)):
        if key.endswith(ending):
            namespace, _, name = key.removesuffix(ending).partition("/")
            return NativeName(namespace, name, composite)
    return None


def with_minimum(minimum: int) -> dict[str, object]:
    """The part of a PodGroup's object that sets the minimum of its gang."""
    return {"spec": {"schedulingPolicy": {"gang": {"minCount": minimum}}}}


def keys_named(key: str) -> tuple[str, ...]:
    """The keys of the jobs that people may mean by ``namespace/name``: PodGroups of Volcano first."""
    return key, f"{key}{_GROUP}", f"{key}{_COMPOSITE}"


def title_of(key: str) -> str:
    """The object of a job with its kind, as sentences name it."""
    found = native_name(key)
    if found is None:
        return f"PodGroup {key}"
    return f"{'CompositePodGroup' if found.composite else f'PodGroup.{API_GROUP}'} {found.namespace}/{found.name}"
