"""Vcjobs with all defaults, as the controller's pure parts read them."""

from __future__ import annotations

from typing import Any

from vsched.controllers.vcjobs.spec import Partitions, TaskSpec, VcJob


def task(
    name: str = "worker",
    replicas: int = 1,
    *,
    minimum: int | None = None,
    cpu: str = "1",
    spec: dict[str, Any] | None = None,
    metadata: dict[str, Any] | None = None,
    size: int = 0,
    **fields: Any,
) -> TaskSpec:
    """A task of so many pods with one container; ``size`` splits them into partitions."""
    container = {"name": name, "image": "busybox", "resources": {"requests": {"cpu": cpu}}}
    template = {"metadata": metadata or {}, "spec": {"containers": [container], **(spec or {})}}
    partitions = Partitions(replicas // size, size) if size else None
    fields.setdefault("partitions", partitions)
    return TaskSpec(name, replicas, replicas if minimum is None else minimum, template, **fields)


def vcjob(*tasks: TaskSpec, plugins: dict[str, tuple[str, ...]] | None = None, **fields: Any) -> VcJob:
    """The job ``train`` in namespace ``ml`` with these tasks, by default one worker."""
    tasks = tasks or (task(),)
    fields.setdefault("min_available", sum(each.min_available for each in tasks))
    return VcJob(
        namespace="ml",
        name="train",
        uid="u-1",
        resource_version="7",
        created=0.0,
        tasks=tasks,
        plugins=tuple(sorted((plugins or {}).items())),
        **fields,
    )
