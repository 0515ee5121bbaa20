"""Pods that certainly have no node: only their reservations are taken back."""

from __future__ import annotations

from collections.abc import Mapping

from vsched.together import together
from vsched.writes.claims.objects import PodRead
from vsched.writes.claims.settling import Settling
from vsched.writes.claims.steps import Failed


async def without_node(settling: Settling, pods: Mapping[str, str]) -> frozenset[str]:
    """The uids of those of these pods that have no node, or are gone; ``pods`` has ``namespace/name`` by uid."""
    found = await together(*(has_no_node(settling, key, uid) for uid, key in pods.items()))
    return frozenset(uid for uid, without in zip(pods, found, strict=True) if without)


async def has_no_node(settling: Settling, key: str, uid: str) -> bool:
    """Whether the pod has no node, or is gone; a pod that cannot be read may have one."""
    pod = await settling.fetch(PodRead, key)
    return not isinstance(pod, Failed) and (pod is None or pod.metadata.uid != uid or not pod.spec.node_name)
