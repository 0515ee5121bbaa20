"""The fields that vsched reads of NodeShards."""

from __future__ import annotations

import msgspec

from vsched.mirror.wire.base import ApiObject, Wire


class NodeShardSpec(Wire):
    """The spec of a NodeShard."""

    nodes_desired: list[str] | None = None


class NodeShardStatus(Wire):
    """The status of a NodeShard."""

    nodes_in_use: list[str] | None = None
    nodes_to_add: list[str] | None = None
    nodes_to_remove: list[str] | None = None


class NodeShard(ApiObject):
    """shard.volcano.sh/v1alpha1 NodeShard."""

    spec: NodeShardSpec = msgspec.field(default_factory=NodeShardSpec)
    status: NodeShardStatus = msgspec.field(default_factory=NodeShardStatus)
