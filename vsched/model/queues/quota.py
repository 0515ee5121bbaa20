"""ResourceQuotas: how much a namespace may request, and how much it has requested."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from vsched.model.pods.shape import Shape


class QuotaLine(msgspec.Struct, frozen=True):
    """One resource that a quota limits; base units of the resource."""

    name: str
    """The name in the quota, such as ``requests.cpu``."""
    resource: str
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


def exceeded(quotas: Iterable[Quota], asked: Mapping[str, int]) -> Iterator[tuple[Quota, QuotaLine]]:
    """The lines of quotas that new pods would exceed; the API server refuses to make such pods."""
    for quota in quotas:
        for line in quota.lines:
            if (amount := asked.get(line.resource, 0)) and line.used + amount > line.hard:
                yield quota, line
