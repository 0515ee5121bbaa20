"""Host ports: two pods on one node cannot use the same port."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vsched.model.pods.shape import HostPort

EVERY_ADDRESS = "0.0.0.0"


def conflict(one: HostPort, other: HostPort) -> bool:
    """Whether two host ports conflict: same number and protocol, and overlapping addresses."""
    if one.port != other.port or one.protocol != other.protocol:
        return False
    return one.ip == other.ip or EVERY_ADDRESS in (one.ip, other.ip)


def conflicting(wanted: Sequence[HostPort]) -> Callable[[Sequence[HostPort]], int]:
    """A function that counts how many of the held ports conflict with ``wanted``; its time grows with those held."""
    alike: dict[tuple[int, str], list[HostPort]] = {}
    for port in wanted:
        alike.setdefault((port.port, port.protocol), []).append(port)

    def count(held: Sequence[HostPort]) -> int:
        return sum(any(conflict(one, other) for one in alike.get((other.port, other.protocol), ())) for other in held)

    return count
