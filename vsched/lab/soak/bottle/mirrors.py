"""What the mirror of a daemon has to be once nothing happens any more: the cluster as the API server has it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from vsched.apimachinery.meta.objects import is_deleting, is_finished
from vsched.lab.sender import Obj
from vsched.lab.soak.bottle import words
from vsched.lab.soak.claims import key_of
from vsched.mirror.mirror import Mirror
from vsched.model.jobs.native import native_name


def untrue_mirror(
    mirror: Mirror, pods: Collection[Obj], groups: Iterable[Obj], nodes: Collection[str]
) -> Iterator[str]:
    """Pods that a mirror has on another node than the API server, or does not know; what it still assumes; and pods,
    PodGroups and nodes that are gone.
    """
    there = {pod["metadata"]["uid"]: pod for pod in pods}
    for uid, pod in there.items():
        if is_finished(pod) or is_deleting(pod):
            continue
        task, node = mirror.task(uid), pod["spec"].get("nodeName", "")
        if node and (task is None or task.node != node):
            yield words.mirrored(key_of(pod), "" if task is None else task.node, node)
        if mirror.assumptions.awaits(uid):
            yield words.still_assumed(key_of(pod))
    stores = mirror.stores
    for task in stores.records.tasks.values():
        if task.uid not in there:
            yield words.still_known("Pod", task.key)
    uids = {key_of(group): group["metadata"]["uid"] for group in groups}
    for key in stores.jobs.group_keys():
        if native_name(key) is None and mirror.group_uid(key) != uids.get(key):
            yield words.still_known("PodGroup", key)
    for node_known, _ in mirror.nodes():
        if node_known.name not in nodes:
            yield words.still_known("Node", node_known.name)
