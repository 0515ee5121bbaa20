"""Ports of the host: two pods cannot hold the same one on a node."""

from __future__ import annotations

from collections.abc import Sequence

from vsched.model.shape import HostPort

EVERY_ADDRESS = "0.0.0.0"


def conflict(one: HostPort, other: HostPort) -> bool:
    """Whether two ports cannot be held on one node: same number and protocol, on addresses that overlap."""
    if one.port != other.port or one.protocol != other.protocol:
        return False
    return one.ip == other.ip or EVERY_ADDRESS in (one.ip, other.ip)


def conflicts(wanted: Sequence[HostPort], held: Sequence[HostPort]) -> int:
    """How many of the held ports are in the way of the wanted ones."""
    return sum(any(conflict(one, other) for one in wanted) for other in held)
