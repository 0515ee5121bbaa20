"""ResourceQuotas: how much a namespace may request, and how much it has requested."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from vsched.model.amounts.resources import CPU, MEMORY
from vsched.model.marks import Resource
from vsched.model.pods.shape import Shape
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

_ENDED = (Status.SUCCEEDED, Status.FAILED)


class QuotaLine(msgspec.Struct, frozen=True):
    """One resource that a quota limits; base units of the resource."""

    name: Resource
    """The name in the quota, such as ``requests.cpu``."""
    resource: Resource
    """The counted resource: the plain name for requests (``cpu``), else the name itself (``limits.cpu``)."""
    hard: int
    used: int


class Quota(msgspec.Struct, frozen=True):
    """One ResourceQuota without scopes."""

    name: str
    lines: tuple[QuotaLine, ...]


def asked_by(shape: Shape, names: Sequence[str], count: int) -> dict[str, int]:
    """What so many pods of a shape ask for, by the names of ``QuotaLine.resource``; ``names`` are those of columns."""
    asked = {names[column]: amount for column, amount in shape.request} | dict(shape.limits) | {"count/pods": 1}
    return {name: amount * count for name, amount in asked.items()}


def used_by(tasks: Iterable[Task], names: Sequence[str]) -> dict[str, int]:
    """What quotas count of pods that exist, by the same names: all but those that have ended, waiting ones included.

    Where shapes do not have the limits, these are taken from requests and bursts: with a quota for limits, every
    container has one.
    """
    used = Counter[str]()
    for shape, count in Counter(task.shape for task in tasks if task.status not in _ENDED).items():
        asked = dict(shape.request)
        for column, beyond in zip((CPU, MEMORY), () if shape.limits else shape.burst, strict=False):
            used[f"limits.{names[column]}"] += (asked.get(column, 0) + beyond) * count
        used.update(asked_by(shape, names, count))
    return used


def counting(quota: Quota, gone: Mapping[str, int], come: Mapping[str, int]) -> Quota:
    """The quota once some pods are gone and others have come."""

    def changed(line: QuotaLine) -> QuotaLine:
        more = come.get(line.resource, 0) - gone.get(line.resource, 0)
        return msgspec.structs.replace(line, used=max(0, line.used + more)) if more else line

    return msgspec.structs.replace(quota, lines=tuple(map(changed, quota.lines)))


def exceeded(quotas: Iterable[Quota], asked: Mapping[str, int]) -> Iterator[tuple[Quota, QuotaLine]]:
    """The lines of quotas that new pods would exceed; the API server refuses to make such pods."""
    for quota in quotas:
        for line in quota.lines:
            if (amount := asked.get(line.resource, 0)) and line.used + amount > line.hard:
                yield quota, line
