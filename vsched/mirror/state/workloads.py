"""The annotations of workloads that concern the implicit PodGroups of their pods."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vsched import api
from vsched.errors import BadObject
from vsched.mirror.ingest.metadata import IMPLIED, scheduling_annotations
from vsched.mirror.ingest.native import NO_QUEUE, QueueNames, queue_names_of

_NONE: Mapping[str, str] = {}


class WorkloadStore:
    """Annotations by the key of the implicit PodGroup; workloads without any take no room."""

    def __init__(self, changed: Callable[[str], None]) -> None:
        """``changed`` is called with the key of the implicit PodGroup that a workload's pods would form."""
        self._changed = changed
        self._said: dict[str, Mapping[str, str]] = {}
        self._queues: dict[str, QueueNames] = {}
        """The queues that workloads name; native PodGroups of theirs heed the label of Kueue, too."""
        self._keys: dict[tuple[str, str], str] = {}
        """The job of each workload with annotations, by kind and identity."""

    def __len__(self) -> int:
        return len(self._said)

    def of(self, job: str) -> Mapping[str, str]:
        """The annotations of the workload that owns the pods of a job."""
        return self._said.get(job, _NONE)

    def queue(self, job: str) -> QueueNames:
        """The queue that the workload names that owns the pods of a job."""
        return self._queues.get(job, NO_QUEUE)

    def put(self, kind: str, key: str, found: api.Workload) -> bool:
        """Take in a workload; True where its annotations, or the queue that it names, have changed."""
        metadata = found.metadata
        said, queue = dict(scheduling_annotations(metadata)), _queue_of(metadata)
        job = f"{metadata.namespace or 'default'}/{IMPLIED}{metadata.uid}"
        if self._keys.get((kind, key), job) != job:
            self.drop(kind, key)  # another one of the same name
        if said == self.of(job) and queue == self.queue(job):
            return False
        if not said and queue is NO_QUEUE:
            return self.drop(kind, key)
        self._keys[kind, key] = job
        self._said[job], self._queues[job] = said, queue
        self._changed(job)
        return True

    def drop(self, kind: str, key: str) -> bool:
        """Forget a workload; True where it had annotations."""
        job = self._keys.pop((kind, key), None)
        if job is None:
            return False
        del self._said[job], self._queues[job]
        self._changed(job)
        return True


def _queue_of(metadata: api.Metadata) -> QueueNames:
    """The queue that a workload names; one whose name is too long is passed over, as for implicit PodGroups."""
    try:
        return queue_names_of(metadata)
    except BadObject:
        return NO_QUEUE
