"""What the mirror of a daemon has to be once nothing happens any more: the cluster as the API server has it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from vsched.apimachinery.meta.objects import is_deleting, is_finished
from vsched.lab.sender import Obj
from vsched.lab.soak.bottle import words
from vsched.lab.soak.claims import key_of
from vsched.mirror.mirror import Mirror


def untrue_mirror(mirror: Mirror, pods: Collection[Obj], nodes: Iterable[str]) -> Iterator[str]:
    """Pods that a mirror has on another node than the API server, or does not know; what it still assumes."""
    there = {pod["metadata"]["uid"]: pod for pod in pods}
    for uid, pod in there.items():
        if is_finished(pod) or is_deleting(pod):
            continue
        task, node = mirror.task(uid), pod["spec"].get("nodeName", "")
        if node and (task is None or task.node != node):
            yield words.mirrored(key_of(pod), "" if task is None else task.node, node)
        if mirror.assumptions.awaits(uid):
            yield words.still_assumed(key_of(pod))
    for name in nodes:
        for task in mirror.tasks_on(name) or ():
            if task.uid not in there:
                yield words.mirrored(task.key, name, "")
