"""Karpenter's NodePools: what the nodes are like that Karpenter may add. They decide nothing; menus offer them."""

from __future__ import annotations

import msgspec

from vsched.model.nodes.table import Taint


class PoolRequirement(msgspec.Struct, frozen=True):
    """A requirement of the labels of nodes."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class NodePool(msgspec.Struct, frozen=True):
    """A NodePool (``karpenter.sh/v1``), as far as it says what its nodes are, and how many there may be."""

    name: str
    requirements: tuple[PoolRequirement, ...] = ()
    labels: dict[str, str] = {}
    taints: tuple[Taint, ...] = ()
    limits: dict[str, str] = {}
    """By resource; ``nodes`` counts nodes."""
