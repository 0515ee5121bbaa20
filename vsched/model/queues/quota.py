"""ResourceQuotas as the scheduler sees them: what a namespace may ask for, and what it has asked for already."""

from __future__ import annotations

import msgspec


class QuotaLine(msgspec.Struct, frozen=True):
    """One resource that a quota limits; base units of the resource."""

    name: str
    """As the quota writes it: ``requests.cpu``."""
    resource: str
    """What is counted: the plain resource for requests (``cpu``), else the name itself (``limits.cpu``)."""
    hard: int
    used: int


class Quota(msgspec.Struct, frozen=True):
    """One ResourceQuota without scopes."""

    name: str
    lines: tuple[QuotaLine, ...]
