"""The fields that vsched reads of HyperNodes and NodeShards."""

from __future__ import annotations

import msgspec

from vsched.api.base import NO_BYTES, ApiObject, Raw, Wire


class ExactMatch(Wire):
    """The member of one name."""

    name: str = ""


class RegexMatch(Wire):
    """Members whose names match."""

    pattern: str = ""


class MemberSelector(Wire):
    """What a member is found by; exactly one of these."""

    exact_match: ExactMatch | None = None
    regex_match: RegexMatch | None = None
    label_match: Raw = NO_BYTES


class MemberFields(Wire):
    """An entry of the members of a HyperNode."""

    type: str | None = None
    selector: MemberSelector = msgspec.field(default_factory=MemberSelector)


class HyperNodeSpec(Wire):
    """The spec of a HyperNode."""

    tier: int | None = None
    tier_name: str | None = None
    members: list[MemberFields] | None = None


class HyperNode(ApiObject):
    """topology.volcano.sh/v1alpha1 HyperNode."""

    spec: HyperNodeSpec = msgspec.field(default_factory=HyperNodeSpec)
    status: Raw = NO_BYTES
    """Read apart, so that nothing in it keeps the spec from being used."""


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
