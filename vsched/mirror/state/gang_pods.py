"""A pod whose owners may say something about its gang: what it said of itself, and what is known of its gang."""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from vsched import api
from vsched.mirror.ingest.alike import TASK_SPEC
from vsched.mirror.ingest.gangs import GANG_NAME, GangMembership
from vsched.mirror.ingest.implicit import GROUP_NAME, GROUP_NAME_ALIAS, controller_of, group_named
from vsched.model.jobs.spec import JobSpec
from vsched.model.names import shared

ANNOTATIONS = (GROUP_NAME, GROUP_NAME_ALIAS, GANG_NAME, TASK_SPEC)
"""The annotations of pods that matter here."""


class Gathered(NamedTuple):
    """What is known of the gang of a pod."""

    membership: GangMembership | None = None
    """None where its owners say nothing, or while one of them has not been seen."""
    awaits: str = ""
    """Why it waits for an owner."""
    needs: tuple[str, ...] = ()
    """The owners that this depends on, seen or not."""

    @property
    def place(self) -> tuple[object, ...]:
        """What concerns the pod alone: another gang of the same name is no move."""
        found = self.membership
        return None if found is None else (found.name, found.role), self.awaits, self.needs


class OwnerlessPod(NamedTuple):
    """A pod as it would be without its owners."""

    job: str
    role: str
    gated: bool
    unsupported: str


class GangPod:
    """A pod whose owners may say something about its gang."""

    __slots__ = ("alone", "gathered", "implicit", "metadata", "named", "waited")

    def __init__(self, metadata: api.Metadata, gathered: Gathered) -> None:
        self.metadata = metadata
        self.named = group_named(metadata)
        self.gathered = gathered
        self.alone: OwnerlessPod | None = None
        self.implicit: JobSpec | None = None
        """What it says of its job, under whatever name."""
        self.waited = False
        """Whether it was last shown as waiting for an owner."""

    def key(self) -> str:
        """The key of the gang that it joins, empty where it joins none."""
        membership = self.gathered.membership
        if membership is None or self.named not in ("", membership.name):
            return ""
        return shared(f"{self.metadata.namespace or 'default'}/{membership.name}")


def cut_metadata(metadata: api.Metadata, labels_read: Container[str]) -> api.Metadata:
    """The part of a pod's metadata that matters here, with the labels in ``labels_read``: it is stored for each pod."""
    labels, annotations = metadata.labels or {}, metadata.annotations or {}
    controller = controller_of(metadata)
    owners = None
    if controller is not None:
        kind, name, version = map(shared, (controller.kind, controller.name, controller.api_version))
        owners = [api.OwnerReference(shared(controller.uid), True, kind, name, version)]
    return api.Metadata(
        metadata.name,
        metadata.namespace,
        metadata.uid,
        labels={key: shared(labels[key]) for key in labels if key in labels_read or key == TASK_SPEC} or None,
        annotations={key: shared(annotations[key]) for key in ANNOTATIONS if key in annotations} or None,
        owner_references=owners,
    )
