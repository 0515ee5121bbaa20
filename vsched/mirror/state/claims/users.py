"""Which pods with a node use which claims."""

from __future__ import annotations

from collections.abc import Iterator

from vsched.mirror.state.claims.staged import StagedGroups, StagedMap, Staging
from vsched.model.claims.devices import DeviceClaim
from vsched.model.pods.status import HOLDS
from vsched.model.pods.task import Task


class ClaimUsers:
    """Pods with a node by the claims that they name, and by their node; updated by changes of pods."""

    def __init__(self, claims: StagedMap[DeviceClaim], stage: Staging) -> None:
        self._claims = claims
        self.of_volumes: StagedGroups[Task] = StagedGroups(_uid, stage)
        """By PersistentVolumeClaim, then by uid."""
        self.of_devices: StagedGroups[Task] = StagedGroups(_uid, stage)
        """By ResourceClaim, then by uid."""
        self.by_node: StagedGroups[Task] = StagedGroups(_uid, stage)
        """By node, then by uid: pods with volume claims."""

    def move(self, before: Task | None, after: Task | None) -> None:
        """A pod has changed, has come (``before`` is None) or is gone."""
        uses = after is not None and _uses(after)
        if before is not None and _uses(before):
            stays = uses and after is not None and after.node == before.node and after.claims == before.claims
            if not stays:
                self._put(before, None)
        if after is not None and uses:
            self._put(after, after)

    def nodes_of(self, claim: str) -> Iterator[str]:
        """The nodes of the pods that use a PersistentVolumeClaim, as published."""
        return (task.node for task in self.of_volumes.published.get(claim, {}).values())

    def _put(self, task: Task, shown: Task | None) -> None:
        claims = task.claims
        if claims is None:
            return
        for volume in claims.volumes:
            self.of_volumes.put(f"{task.namespace}/{volume.claim}", task.uid, shown)
        if claims.volumes:
            self.by_node.put(task.node, task.uid, shown)
        for claim in named_resource_claims(task):
            known = self._claims.get(claim)
            self.of_devices.put(claim if known is None else known.key, task.uid, shown)  # one string for both


def _uid(task: Task) -> str:
    return task.uid


def named_resource_claims(task: Task) -> Iterator[str]:
    """The keys of the ResourceClaims that a pod names."""
    claims = task.claims
    if claims is None:
        return
    for device in claims.devices:
        if device.claim:
            yield device.claim
    if claims.extended:
        yield f"{task.namespace}/{claims.extended}"


def _uses(task: Task) -> bool:
    return task.claims is not None and bool(task.node) and HOLDS[task.status].uses
