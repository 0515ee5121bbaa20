"""Karpenter's NodePools to the model."""

from __future__ import annotations

from vsched import api
from vsched.api.autoscaling import NodePoolSpec
from vsched.model.nodes.pools import NodePool, PoolRequirement
from vsched.model.nodes.table import Taint


def node_pool_of(item: api.Object) -> NodePool | None:
    """A NodePool; None for any other object."""
    return pool_of(item.metadata.name, item.spec) if isinstance(item, api.NodePool) else None


def pool_of(name: str, spec: NodePoolSpec) -> NodePool:
    """A NodePool with this spec."""
    metadata, template = spec.template.metadata, spec.template.spec
    asked = () if template is None else template.requirements or ()
    taints = () if template is None else template.taints or ()
    return NodePool(
        name,
        tuple(PoolRequirement(one.key, one.operator, tuple(one.values or ())) for one in asked),
        {} if metadata is None else dict(metadata.labels or {}),
        tuple(Taint(one.key, one.value or "", one.effect) for one in taints),
        {resource: str(limit) for resource, limit in (spec.limits or {}).items()},
    )
