"""How much is read of one object of the kinds that controllers look after; one that says more is left out, and told.

Pods, nodes and what else the mirror keeps have their bounds where they are read (``vsched.mirror.ingest.bounds``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from vsched.api import words
from vsched.api.base import Raw
from vsched.api.resources import VCJOB, VOLCANO_CRON_JOB
from vsched.errors import Beyond

TEMPLATE_BYTES_MAX = 256 << 10
"""Bytes of the template of a pod: each pod is a copy of it."""

JOB_BYTES_MAX = 512 << 10
"""Bytes of the spec of a vcjob within another object."""


class FieldLimit(NamedTuple):
    """A field, and how much of it is read."""

    path: str
    """As in messages; ``[*]`` for the items of a list, which count together."""
    most: int
    """Entries of a list or a map; letters of each text; bytes of each part that is read later."""


LIMITS: Mapping[str, tuple[FieldLimit, ...]] = {
    VCJOB: (
        FieldLimit("spec.tasks", 256),
        FieldLimit("spec.tasks[*].template", TEMPLATE_BYTES_MAX),
        FieldLimit("spec.tasks[*].policies", 1024),
        FieldLimit("spec.tasks[*].policies[*].events", 4096),
        FieldLimit("spec.tasks[*].dependsOn.name", 4096),
        FieldLimit("spec.policies", 128),
        FieldLimit("spec.policies[*].events", 512),
        FieldLimit("spec.volumes", 128),
        FieldLimit("spec.volumes[*].mountPath", 4096),
        FieldLimit("spec.plugins", 32),
        FieldLimit("metadata.labels", 512),
        FieldLimit("status.controlledResources", 1024),
        FieldLimit("status.taskStatusCount", 1024),
        FieldLimit("status.conditions", 128),
    ),
    VOLCANO_CRON_JOB: (
        FieldLimit("spec.schedule", 256),
        FieldLimit("spec.timeZone", 64),
        FieldLimit("spec.jobTemplate.spec", JOB_BYTES_MAX),
        FieldLimit("status", 64),
    ),
    "JobFlow": (
        FieldLimit("spec.flows", 1024),
        FieldLimit("spec.flows[*].name", 317),
        FieldLimit("spec.flows[*].dependsOn.targets", 4096),
        FieldLimit("spec.flows[*].dependsOn.probe.taskStatusList", 256),
        FieldLimit("spec.flows[*].dependsOn.probe.httpGetList", 256),
        FieldLimit("spec.flows[*].dependsOn.probe.tcpSocketList", 256),
        FieldLimit("spec.flows[*].patch.jobSpec", TEMPLATE_BYTES_MAX),
    ),
    "JobTemplate": (FieldLimit("spec", JOB_BYTES_MAX),),
    "ProvisioningRequest": (FieldLimit("spec.podSets", 32), FieldLimit("status.conditions", 64)),
    "CapacityBuffer": (FieldLimit("status.conditions", 64),),
}
"""By kind."""
_ITEMS, _CAPITAL = "[*]", re.compile(r"(?<!^)(?=[A-Z])")


def check_limits(kind: str, found: Any) -> None:
    """Raise Beyond where an object says more than is read of it."""
    for limit, steps in _STEPS.get(kind, ()):
        listed = 0
        for value in _values(found, steps):
            if isinstance(value, Raw | str | bytes):
                size, what = (len(value), "letters") if isinstance(value, str) else (len(bytes(value)), "bytes")
                if size > limit.most:
                    raise Beyond(words.too_large(limit.path, size, what, limit.most))
            else:
                listed += len(value)
        if listed > limit.most:
            raise Beyond(words.too_many_entries(limit.path, listed, limit.most))


def _steps(path: str) -> tuple[str, ...]:
    """The names of fields, and ``[*]``, one after the other."""
    parts = path.replace(_ITEMS, f".{_ITEMS}").split(".")
    return tuple(part if part == _ITEMS else _CAPITAL.sub("_", part).lower() for part in parts)


def _values(found: Any, steps: Sequence[str]) -> Iterator[Any]:
    """What stands at a path, without what is absent."""
    for at, step in enumerate(steps):
        if found is None:
            return
        if step == _ITEMS:
            for item in found:
                yield from _values(item, steps[at + 1 :])
            return
        found = getattr(found, step)
    if found is not None:
        yield found


_STEPS = {kind: tuple((limit, _steps(limit.path)) for limit in limits) for kind, limits in LIMITS.items()}
