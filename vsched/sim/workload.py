"""Sample workloads: gangs in queues and namespaces, drawn from a seed.

A pure generator of manifests: equal arguments give equal objects. Nothing here is random beyond the seed, and nothing
talks to a server.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from vsched.sim.controllers.pods import DURATION
from vsched.sim.kinds import Obj

GROUP_NAME = "scheduling.k8s.io/group-name"
SCHEDULER_NAME = "vsched"

SHAPES: tuple[dict[str, str], ...] = (
    {"cpu": "1", "memory": "2Gi"},
    {"cpu": "2", "memory": "4Gi"},
    {"cpu": "4", "memory": "8Gi"},
    {"cpu": "8", "memory": "32Gi"},
)
"""What the pods of a gang may ask for."""


@dataclass(frozen=True, slots=True)
class QueueShape:
    """A queue of the sample and its weight."""

    name: str
    weight: int = 1


DEFAULT_QUEUES = (QueueShape("research", 3), QueueShape("production", 2), QueueShape("batch", 1))
DEFAULT_NAMESPACES = ("team-a", "team-b", "team-c")
DEFAULT_GANG_SIZES = (1, 2, 4, 8, 16)


def sample_workload(
    seed: int,
    gangs: int,
    *,
    queues: Sequence[QueueShape] = DEFAULT_QUEUES,
    namespaces: Sequence[str] = DEFAULT_NAMESPACES,
    gang_sizes: Sequence[int] = DEFAULT_GANG_SIZES,
    duration_seconds: tuple[float, float] = (5.0, 20.0),
) -> list[Obj]:
    """Queues and namespaces first, then each gang: its PodGroup and its pods."""
    objects = [_queue(queue) for queue in queues]
    objects += [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in namespaces]
    for gang in sample_gangs(
        seed,
        gangs,
        queues=[queue.name for queue in queues],
        namespaces=namespaces,
        gang_sizes=gang_sizes,
        duration_seconds=duration_seconds,
    ):
        objects += gang
    return objects


def sample_gangs(
    seed: int,
    gangs: int,
    *,
    queues: Sequence[str],
    namespaces: Sequence[str],
    gang_sizes: Sequence[int] = DEFAULT_GANG_SIZES,
    duration_seconds: tuple[float, float] = (5.0, 20.0),
    first: int = 0,
) -> list[list[Obj]]:
    """Each gang as its PodGroup followed by its pods; ``first`` numbers the first one, to go on where a draw ended."""
    draw = random.Random(f"{seed}/{first}")
    made = []
    for number in range(first, first + gangs):
        size = draw.choice(gang_sizes)
        namespace, queue = draw.choice(namespaces), draw.choice(queues)
        request, seconds = draw.choice(SHAPES), round(draw.uniform(*duration_seconds), 1)
        made.append(gang(f"gang-{number}", namespace, queue, size, request, seconds))
    return made


def gang(name: str, namespace: str, queue: str, size: int, request: dict[str, str], seconds: float) -> list[Obj]:
    """A PodGroup that needs all its pods at once, and the pods."""
    group: Obj = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"minMember": size, "queue": queue, "minResources": _times(request, size)},
    }
    return [group, *(_pod(f"{name}-{index}", namespace, name, request, seconds) for index in range(size))]


def _times(request: dict[str, str], count: int) -> dict[str, str]:
    """The request of all pods together; the quantities of SHAPES are whole numbers with an optional unit."""
    total = {}
    for resource, quantity in request.items():
        digits = quantity.rstrip("KMGTi")
        total[resource] = f"{int(digits) * count}{quantity[len(digits) :]}"
    return total


def _pod(name: str, namespace: str, group: str, request: dict[str, str], seconds: float) -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {"app": group},
            "annotations": {GROUP_NAME: group, DURATION: f"{seconds}s"},
        },
        "spec": {
            "schedulerName": SCHEDULER_NAME,
            "restartPolicy": "Never",
            "containers": [{"name": "main", "image": "sim/worker", "resources": {"requests": request}}],
        },
    }


def _queue(queue: QueueShape) -> Obj:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": queue.name},
        "spec": {"weight": queue.weight, "reclaimable": True},
    }
