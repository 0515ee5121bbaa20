"""Nodes where several device plugins offer GPUs, which may be the same ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vsched import api
from vsched.errors import BadQuantity
from vsched.mirror.ingest.words import devices as words
from vsched.model.amounts.resources import parse_scaled
from vsched.model.deviceshare.records import DeviceKind, NodeDevices

WHOLE_GPUS = "nvidia.com/gpu"
PRESENT = "nvidia.com/gpu.count"
"""Label of nodes: how many GPUs there are, by NVIDIA's GPU feature discovery."""
_WORDS = {DeviceKind.VGPU: "vGPUs", DeviceKind.GPU: "shared GPUs"}


def overlap_of(node: api.Node, devices: Sequence[NodeDevices]) -> str:
    """A remark on a node that registers GPUs in parts and other ones; empty where it has as many as all together."""
    offered = [(_WORDS[kind], len(found.devices)) for found in devices for kind in _WORDS if kind == found.kind]
    whole = _whole_number(node.status.allocatable or {}, WHOLE_GPUS)
    if whole:
        offered.append((WHOLE_GPUS, whole))
    there = _whole_number(node.metadata.labels or {}, PRESENT)
    if len(offered) < 2 or sum(number for _, number in offered) <= there:
        return ""
    named = " and ".join(f"{number} {what}" for what, number in offered)
    return f"{named}{f' of {there} GPUs' if there else ''}; {words.EACH_KIND_BY_ITSELF}"


def _whole_number(amounts: Mapping[str, str | int | float], name: str) -> int:
    try:
        return parse_scaled(name, amounts[name], 1) if name in amounts else 0
    except BadQuantity:
        return 0  # an amount that cannot be read is told where the node is read
