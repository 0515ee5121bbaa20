"""The one way out of a cycle: a bounded question to a service outside, put through an object that is handed in.

Whoever runs the cycle decides what stands behind it; nothing below knows sockets or clocks.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Endpoint(NamedTuple):
    """A service, and how long it may keep a cycle waiting."""

    url: str
    """``http(s)://host[:port][/path]``, without a slash at the end; verbs are appended."""
    timeout_seconds: float
    """For one call, from its start to the last byte of its answer."""
    cycle_seconds: float
    """For all calls of one cycle together; what is asked after that counts as failed."""


class Callout(Protocol):
    """Calls for one cycle, one at a time."""

    def call(self, endpoint: Endpoint, verb: str, body: bytes) -> bytes:
        """POST JSON and return the body of the answer; raises Unavailable where no success comes within the bounds."""
