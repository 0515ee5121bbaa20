"""Pods that certainly have no node: only their reservations are taken back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from vsched.api.devices import ConsumerFields
from vsched.model.claims.devices import POD_GROUPS
from vsched.model.pods.task import Task
from vsched.together import together
from vsched.writes.claims.objects import PodRead
from vsched.writes.claims.settling import Settling
from vsched.writes.claims.steps import Failed


def sharing(tasks: Iterable[Task], claim: str, group: str) -> list[Task]:
    """Those of these pods for which a claim ``namespace/name`` is reserved by way of the PodGroup of this uid."""
    return [
        task
        for task in tasks
        if task.claims is not None and any(one.group == group and one.claim == claim for one in task.claims.devices)
    ]


def leaves(consumer: ConsumerFields, claim: str, tasks: Iterable[Task], leaving: Collection[str]) -> bool:
    """Whether a claim need not be reserved for a pod or a PodGroup any more.

    A pod has to be among ``leaving``; of a PodGroup all pods that share the claim, and ``tasks`` has to have one.
    """
    if consumer.resource != POD_GROUPS:
        return consumer.uid in leaving
    pods = sharing(tasks, claim, consumer.uid)
    return bool(pods) and all(pod.uid in leaving for pod in pods)


async def without_node(settling: Settling, pods: Mapping[str, str]) -> frozenset[str]:
    """The uids of those of these pods that have no node, or are gone; ``pods`` has ``namespace/name`` by uid."""
    found = await together(*(has_no_node(settling, key, uid) for uid, key in pods.items()))
    return frozenset(uid for uid, without in zip(pods, found, strict=True) if without)


async def has_no_node(settling: Settling, key: str, uid: str) -> bool:
    """Whether the pod has no node, or is gone; a pod that cannot be read may have one."""
    pod = await settling.fetch(PodRead, key)
    return not isinstance(pod, Failed) and (pod is None or pod.metadata.uid != uid or not pod.spec.node_name)
