"""ResourceQuotas: how much a namespace may request, and how much it has requested."""

from __future__ import annotations

import msgspec


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
