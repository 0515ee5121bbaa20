"""Which statuses in a bottle are not true: of PodGroups and queues, by the pods as the API server has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping

from vsched.apimachinery.meta.objects import is_deleting, is_finished
from vsched.lab.sender import Obj
from vsched.lab.soak import words as soak_words
from vsched.lab.soak.bottle import words
from vsched.lab.soak.claims import key_of
from vsched.mirror.ingest.metadata import QUEUE_NAME
from vsched.model.amounts.resources import parse_amount
from vsched.sim.fleet.sample_gangs import GROUP_NAME

RUNNING, COMPLETED = "Running", "Completed"


def stays(pod: Obj) -> bool:
    """Whether a pod has a node, and keeps it."""
    return bool(pod["spec"].get("nodeName")) and not is_deleting(pod) and not is_finished(pod)


def cpus_of(pod: Obj) -> int:
    """The whole cpus that a pod requests."""
    return sum(int(each["resources"]["requests"]["cpu"]) for each in pod["spec"]["containers"])


def untrue_groups(pods: Iterable[Obj], groups: Iterable[Obj]) -> Iterator[str]:
    """Gangs of which some pods, and fewer than their minimum, have nodes; and phases that are not true."""
    members: dict[str, list[Obj]] = {}
    for pod in pods:
        members.setdefault(_group_of(pod), []).append(pod)
    for group in groups:
        key, minimum, phase = key_of(group), group["spec"].get("minMember", 1), _status(group).get("phase")
        mine = members.get(key, ())
        placed = sum(map(stays, mine))
        ended = sum(_status(pod).get("phase") == "Succeeded" for pod in mine)
        if placed > 0 and placed + ended < minimum:
            yield soak_words.partly_bound(key)
        runs = placed > 0 and placed + ended >= minimum
        if mine and (phase == RUNNING) != runs and not (phase in (RUNNING, COMPLETED) and ended >= minimum):
            yield words.says(key, phase, placed + ended, minimum)


def unexplained(pods: Iterable[Obj]) -> Iterator[str]:
    """Pods that wait for a node and do not say why."""
    for pod in pods:
        if pod["spec"].get("nodeName") or is_deleting(pod) or is_finished(pod):
            continue
        conditions = _status(pod).get("conditions") or ()
        if not any(one["type"] == "PodScheduled" and one["status"] == "False" and one["message"] for one in conditions):
            yield words.says_nothing(key_of(pod))


def untrue_queues(
    pods: Iterable[Obj], groups: Iterable[Obj], queues: Iterable[Obj], ours: Container[str]
) -> Iterator[str]:
    """Queues among ``ours`` that are said to hold other cpus than their pods request."""
    queue_of = {key_of(group): group["spec"].get("queue", "") for group in groups}
    held: Counter[str] = Counter()
    for pod in pods:
        if pod["spec"].get("nodeName") and not is_finished(pod):
            queue = queue_of.get(_group_of(pod)) or _annotations(pod).get(QUEUE_NAME, "")
            if queue in ours:
                held[queue] += cpus_of(pod)
    for queue in queues:
        name, allocated = queue["metadata"]["name"], _status(queue).get("allocated") or {}
        said = parse_amount("cpu", allocated.get("cpu", "0")) // parse_amount("cpu", "1")
        if name in ours and said != held[name]:
            yield words.queue_says(name, said, held[name])


def _status(obj: Obj) -> Obj:
    status: Obj = obj.get("status") or {}
    return status


def _annotations(pod: Obj) -> Mapping[str, str]:
    found: Mapping[str, str] = pod["metadata"].get("annotations") or {}
    return found


def _group_of(pod: Obj) -> str:
    """``namespace/name`` of its PodGroup; empty where it has none."""
    name = _annotations(pod).get(GROUP_NAME, "")
    return f"{pod['metadata']['namespace']}/{name}" if name else ""
