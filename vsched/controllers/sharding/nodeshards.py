"""Volcano's NodeShards as a mask of nodes, and what is written back about them.

Every scheduler has a NodeShard by name. ``spec.nodesDesired`` is what it is to use, ``status.nodesInUse`` what it uses.
A node that moves from one shard to another is used by the new one only after the former has said that it has let go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

import msgspec
import orjson

from vsched import api
from vsched.api.resources import NODE_SHARDS
from vsched.clock import Clock
from vsched.controllers import words
from vsched.controllers.queue_records import ObjectFeed
from vsched.kube.backoff import BackOff, BackOffSettings
from vsched.kube.client import MERGE_PATCH
from vsched.kube.times import time_stamp
from vsched.kube.watch.deltas import PartsSink
from vsched.model.nodes.masks import NodeMask
from vsched.model.snapshot import Snapshot
from vsched.writes.limits import Attempts
from vsched.writes.workqueue import Workqueue, WorkqueueSettings
from vsched.writes.writer import NOT_PERMITTED, Write, Writer

ShardingMode = Literal["none", "soft", "hard"]
"""Whether the nodes of the own NodeShard do not matter, come first, or are the only ones."""
Worry = Callable[..., None]
FINAL = frozenset({NOT_PERMITTED, 404})
"""Codes of answers after which a status is not tried again: writes are not permitted, or the object is gone."""


class ShardRecord(NamedTuple):
    """What is read of a NodeShard."""

    desired: frozenset[str]
    in_use: frozenset[str]
    to_add: frozenset[str]
    to_remove: frozenset[str]


class ShardStatus(NamedTuple):
    """What the status of our NodeShard is to say."""

    in_use: frozenset[str]
    to_add: frozenset[str]
    to_remove: frozenset[str]


class NodeShardSettings(msgspec.Struct, frozen=True):
    """Limits of the writes about the own NodeShard."""

    workqueue: WorkqueueSettings = WorkqueueSettings(workers=1, per_second=5.0, burst=10.0)
    attempts: Attempts = Attempts(3, first_seconds=0.1, ceiling_seconds=2.0)
    retry: BackOffSettings = BackOffSettings(first_seconds=1.0, ceiling_seconds=60.0)


def shard_of(item: api.Object) -> ShardRecord | None:
    """The record of a NodeShard; None for any other object, or one that cannot be read."""
    if not isinstance(item, api.NodeShard):
        return None
    status = item.status
    return ShardRecord(
        frozenset(item.spec.nodes_desired or ()),
        frozenset(status.nodes_in_use or ()),
        frozenset(status.nodes_to_add or ()),
        frozenset(status.nodes_to_remove or ()),
    )


def nodes_of(name: str, shards: Mapping[str, ShardRecord]) -> frozenset[str]:
    """The nodes that the shard of this name may use: those it is to use, without those that others still use."""
    own = shards.get(name)
    if own is None:
        return frozenset()
    return own.desired.difference(*(one.in_use for other, one in shards.items() if other != name))


def status_of(own: ShardRecord, in_use: frozenset[str]) -> ShardStatus:
    """What the status is to say while these nodes are used."""
    return ShardStatus(in_use, own.desired - in_use, in_use - own.desired)


class NodeShards:
    """Follows NodeShards, tells the mirror which nodes are ours, and says on the own NodeShard which are in use."""

    def __init__(
        self,
        mode: ShardingMode,
        name: str,
        writer: Writer,
        mask: Callable[[tuple[NodeMask, ...]], None],
        worry: Worry,
        clock: Clock,
    ) -> None:
        self.mode = mode
        self.name = name
        self._writer = writer
        self._mask = mask
        self._worry = worry
        self._clock = clock
        self._settings = NodeShardSettings()
        self._feed: ObjectFeed[ShardRecord] = ObjectFeed(
            shard_of, lambda key, before, after: self._changed(), self._changed
        )
        self._problem = ""
        self._used: frozenset[str] | None = None
        """The nodes of the mask that the last session had; None before the first one."""
        self.workqueue: Workqueue[str, BackOff] = Workqueue(self._settings.workqueue, self._write)

    @property
    def sinks(self) -> Mapping[str, PartsSink[api.Object]]:
        """The sinks of the kinds that have to be watched."""
        return {"NodeShard": self._feed}

    async def run(self) -> None:
        """Write statuses until cancelled."""
        await self.workqueue.run()

    def settled(self) -> None:
        """The mirror is complete: where NodeShards cannot be listed by now, every node is ours."""
        if not self._feed.listed:
            self._say(words.NODESHARDS_CANNOT_BE_LISTED)

    def submit(self, snapshot: Snapshot) -> None:
        """A session has ended: the nodes of its mask are those in use."""
        mask = next((mask for mask in snapshot.masks if mask.name == self.name), None)
        own = self._feed.found.get(self.name)
        if mask is None or own is None:
            return
        self._used = frozenset(mask.nodes)
        if status_of(own, self._used) != ShardStatus(*own[1:]):
            if self.workqueue.get(self.name) is None and not self.workqueue.in_flight:
                self.workqueue.put(self.name, BackOff(self._settings.retry))
        else:
            self.workqueue.discard(self.name)

    def to_dict(self) -> Mapping[str, object]:
        """For ``/readyz``."""
        told: dict[str, object] = {"mode": self.mode, "name": self.name}
        if self._feed.listed:
            told["nodes"] = len(nodes_of(self.name, self._feed.found))
        return told | ({"problem": self._problem} if self._problem else {})

    def _changed(self) -> None:
        if not self._feed.listed:
            return
        if self.name in self._feed.found:
            self._say("")
        elif self.mode == "hard":
            self._say(words.no_nodeshard_no_node(self.name))
        else:
            self._say(words.no_nodeshard_none_preferred(self.name))
        nodes = tuple(sorted(nodes_of(self.name, self._feed.found)))
        self._mask((NodeMask(nodes, self.mode == "hard", self.name),))

    def _say(self, problem: str) -> None:
        if problem and problem != self._problem:
            self._worry("node shard", problem=problem)
        self._problem = problem

    async def _write(self, name: str, back_off: BackOff) -> None:
        own = self._feed.found.get(name)
        if own is None or self._used is None:
            return
        write = status_write(name, status_of(own, self._used), self._clock.now())
        answer = await self._writer.send(write, self._settings.attempts)
        if not answer.done and answer.code not in FINAL:
            self.workqueue.put(name, back_off, back_off.next_seconds(answer.asked_seconds))


def status_write(name: str, status: ShardStatus, now: float) -> Write:
    """Set the status of a NodeShard; lists are replaced as a whole."""
    body = {
        "status": {
            "nodesInUse": sorted(status.in_use),
            "nodesToAdd": sorted(status.to_add),
            "nodesToRemove": sorted(status.to_remove),
            "lastUpdateTime": time_stamp(now),
        }
    }
    return Write(
        "nodeshard", "PATCH", NODE_SHARDS.path(name=name, subresource="status"), orjson.dumps(body), MERGE_PATCH
    )
