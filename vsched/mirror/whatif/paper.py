"""A mirror of a cluster on paper: what is decided comes true, with the claims that pods need."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from vsched.mirror.cache import Cache
from vsched.mirror.whatif.claim_edits import EditableClaims
from vsched.mirror.whatif.storage import StorageByLabel
from vsched.model.plan import CycleReport


class PaperMirror(Cache):
    """A mirror that no watch tells of a cluster: ``settle`` makes decisions true."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._claims = self._pods.claims = self._paper = EditableClaims(self.on_claim)

    def settle(self, report: CycleReport) -> None:
        """Make the decisions of a cycle true, those about claims as well."""
        super().settle(report)
        storage = StorageByLabel(self._paper.volumes)
        for bind in report.binds:
            task = self.task(bind.uid)
            if bind.claims is not None and task is not None and task.node == bind.node:
                node = self._nodes.facts(bind.node)
                self._paper.settle(task, bind.claims, {} if node is None else node.attributes.labels, storage)
        for release in report.released:
            self._paper.settle_release(release)

    def bind_volumes(self, claims: Iterable[str]) -> None:
        """Bind those of the claims (``namespace/name``) that do not wait for a pod, as the volume controller would."""
        self._paper.bind_volumes(claims)

    def has_claimed(self, kind: str, key: str) -> bool:
        """Whether there is a volume, a device class or another such object of this kind and key."""
        return self._paper.has(kind, key)
