"""Sample workloads: the manifests of a gang. Equal arguments give equal objects."""

from __future__ import annotations

from vsched.apimachinery.meta.kinds import Obj
from vsched.sim.controllers.pod_lifecycle import DURATION

GROUP_NAME = "scheduling.k8s.io/group-name"
SCHEDULER_NAME = "vsched"

SHAPES: tuple[dict[str, str], ...] = (
    {"cpu": "1", "memory": "2Gi"},
    {"cpu": "2", "memory": "4Gi"},
    {"cpu": "4", "memory": "8Gi"},
    {"cpu": "8", "memory": "32Gi"},
)
"""Requests for the pods of a gang."""


DEFAULT_GANG_SIZES = (1, 2, 4, 8, 16)


def gang(
    name: str,
    namespace: str,
    queue: str,
    size: int,
    request: dict[str, str],
    seconds: float,
    *,
    minimum: int | None = None,
) -> list[Obj]:
    """A PodGroup that needs all its pods, or so many of them, and the pods."""
    needed = size if minimum is None else minimum
    group: Obj = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"minMember": needed, "queue": queue, "minResources": _times(request, needed)},
    }
    return [group, *(_pod(f"{name}-{index}", namespace, name, request, seconds) for index in range(size))]


def _times(request: dict[str, str], count: int) -> dict[str, str]:
    """The request of all pods together; quantities are whole numbers with an optional unit, as in SHAPES."""
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
