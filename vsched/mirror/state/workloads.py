"""The annotations of workloads that concern the implicit PodGroups of their pods."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vsched.mirror import wire
from vsched.mirror.ingest.metadata import IMPLIED, scheduling_annotations

_NONE: Mapping[str, str] = {}


class WorkloadStore:
    """Annotations by the key of the implicit PodGroup; workloads without any take no room."""

    def __init__(self, changed: Callable[[str], None]) -> None:
        self._changed = changed
        self._said: dict[str, Mapping[str, str]] = {}
        self._keys: dict[tuple[str, str], str] = {}
        """The job of each workload with annotations, by kind and identity."""

    def __len__(self) -> int:
        return len(self._said)

    def of(self, job: str) -> Mapping[str, str]:
        """The annotations of the workload that owns the pods of a job."""
        return self._said.get(job, _NONE)

    def put(self, kind: str, key: str, found: wire.Workload) -> bool:
        """Take in a workload; True where its annotations have changed."""
        metadata = found.metadata
        said = dict(scheduling_annotations(metadata))
        job = f"{metadata.namespace or 'default'}/{IMPLIED}{metadata.uid}"
        if self._keys.get((kind, key), job) != job:
            self.drop(kind, key)  # another one of the same name
        if said == self.of(job):
            return False
        if not said:
            return self.drop(kind, key)
        self._keys[kind, key] = job
        self._said[job] = said
        self._changed(job)
        return True

    def drop(self, kind: str, key: str) -> bool:
        """Forget a workload; True where it had annotations."""
        job = self._keys.pop((kind, key), None)
        if job is None:
            return False
        del self._said[job]
        self._changed(job)
        return True
