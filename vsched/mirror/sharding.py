"""How the work of one cluster is divided among replicas: which jobs belong to which shard, and which nodes.

Pure, and the same in every replica: what decides is in the objects, so that all come to the same answer. Hashes are
cryptographic ones, as names differ in their last letters only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from hashlib import blake2b
from typing import Literal

import numpy as np
import numpy.typing as npt

from vsched.mirror.ingest.metadata import SHARD
from vsched.model.jobs.job import Job
from vsched.model.nodes.groups import GROUP
from vsched.model.nodes.masks import NodeMask
from vsched.model.nodes.table import NodeStatics
from vsched.model.queues.queue import ROOT, Queue
from vsched.model.queues.tree import above
from vsched.model.snapshot import Snapshot

ShardBy = Literal["queue", "node-pool"]
"""Whether the queue of a job says which shard it belongs to, or the pool of nodes that it asks for."""
Shards = npt.NDArray[np.int64]


def shard_of(text: str, count: int) -> int:
    """The shard of a name, the same in every process."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big") % count


class ShardDivision:
    """The division of one cluster into ``count`` shards."""

    def __init__(self, count: int, by: ShardBy = "queue", pool_label: str = GROUP) -> None:
        self.count = count
        self.by = by
        self._pool_label = pool_label
        self._queues: Mapping[str, Queue] | None = None
        self._by_queue: dict[str, int] = {}
        self._by_pool: dict[str, int] = {}

    def shard_of_job(self, job: Job, queues: Mapping[str, Queue]) -> int:
        """The shard that a job belongs to."""
        if self.by == "node-pool":
            return self._pool_shard(self.pool_of(job))
        return self.shard_of_queue(job.spec.queue, queues)

    def shard_of_queue(self, name: str, queues: Mapping[str, Queue]) -> int:
        """The shard of the jobs in a queue, where queues decide: that of its tree, below the root."""
        if queues is not self._queues:
            self._queues, self._by_queue = queues, {}
        found = self._by_queue.get(name)
        if found is None:
            found = self._by_queue[name] = self._queue_shard(name, queues)
        return found

    def pool_of(self, job: Job) -> str:
        """The pool that the pods of a job select by label; empty where they select none."""
        task = next(iter(job.pending.values()), None) or next(iter(job.tasks.values()), None)
        if task is None:
            return ""
        return next((value for label, value in task.shape.rules.node_selector if label == self._pool_label), "")

    def slices(self, statics: NodeStatics) -> Shards:
        """int64[nodes]: the shard that each node belongs to; worked out once while nodes do not change."""
        return statics.remember(("shards", self.count, self.by, self._pool_label), lambda: self._slices(statics))

    def slice_of(self, name: str, labels: Mapping[str, str]) -> int:
        """The shard that a node belongs to."""
        if self.by == "node-pool":
            return self._pool_shard(labels.get(self._pool_label, ""))
        return shard_of(name, self.count)

    def _slices(self, statics: NodeStatics) -> Shards:
        found = (self.slice_of(node.name, node.labels) for node in statics.attributes)
        return np.fromiter(found, dtype=np.int64, count=len(statics))

    def _pool_shard(self, pool: str) -> int:
        found = self._by_pool.get(pool)
        if found is None:
            if len(self._by_pool) >= NodeStatics.MEMO_LIMIT:
                self._by_pool.clear()
            found = self._by_pool[pool] = shard_of(pool, self.count)
        return found

    def _queue_shard(self, name: str, queues: Mapping[str, Queue]) -> int:
        queue = queues.get(name)
        if queue is None:
            return shard_of(name, self.count)
        tree = [one for one in (queue, *above(queue, queues.get)) if one.name != ROOT]
        stated = (stated_shard(one, self.count) for one in reversed(tree))
        top = tree[-1].name if tree else name
        return next((shard for shard in stated if shard is not None), shard_of(top, self.count))


def stated_shard(queue: Queue, count: int) -> int | None:
    """The shard that a queue's annotation names; None where it names none that there is."""
    said = dict(queue.annotations).get(SHARD, "")
    return int(said) if said.isdecimal() and said.isascii() and int(said) < count else None


def narrowed(snapshot: Snapshot, division: ShardDivision, held: frozenset[int], mask: NodeMask | None) -> Snapshot:
    """The snapshot for a daemon that decides for some shards: what others decide for it sees, and leaves alone.

    Sums, shares, holders and reservations stay those of the whole cluster, so every replica divides it in the same way.
    """
    jobs, queues = snapshot.jobs, snapshot.queues

    def ours(key: str) -> bool:
        return division.shard_of_job(jobs[key], queues) in held

    changed = [key for key in snapshot.changed if key not in jobs or ours(key)]
    return replace(
        snapshot,
        active=tuple(key for key in snapshot.active if ours(key)),
        changed=changed,
        elsewhere=[key for key in snapshot.changed if key in jobs and not ours(key)],
        nominated=[key for key in snapshot.nominated if ours(key)],
        masks=snapshot.masks if mask is None else (*snapshot.masks, mask),
        since=None,  # which jobs are ours changes with the shards that are held, and with queues
    )


def territory(statics: NodeStatics, division: ShardDivision, held: frozenset[int]) -> tuple[str, ...]:
    """The names of the nodes of these shards, sorted; the same object while neither nodes nor shards change."""

    def compute() -> tuple[str, ...]:
        rows = np.flatnonzero(np.isin(division.slices(statics), sorted(held))).tolist()
        return tuple(sorted(statics.names[row] for row in rows))

    return statics.remember(("territory", division.count, division.by, held), compute)
