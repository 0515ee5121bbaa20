"""The interface by which plugins call external services during a cycle.

The caller of ``run_cycle`` passes a ``Callout``: one that sends HTTP requests, or one that replays recorded answers.
The core itself uses no sockets and no clock.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol


class CalloutEndpoint(NamedTuple):
    """The address of a service, and how long a cycle waits for it."""

    url: str
    """``http(s)://host[:port][/path]``, without a slash at the end; verbs are appended."""
    timeout_seconds: float
    """For one call, from its start to the last byte of its answer."""
    cycle_seconds: float
    """For all calls of one cycle together; later calls fail."""


class Callout(Protocol):
    """Calls for one cycle, one at a time."""

    def call(self, endpoint: CalloutEndpoint, verb: str, body: bytes) -> bytes:
        """POST JSON and return the body of the answer; raises Unavailable where it fails or takes too long."""
