"""Changes to a cluster that may let something start, as records, and what a snapshot is with one of them made. Pure."""

from __future__ import annotations

import msgspec


class SetMinMember(msgspec.Struct, frozen=True, tag_field="edit", tag="minMember"):
    """Let a gang start with fewer."""

    job: str
    minimum: int


class SetQueueAmount(msgspec.Struct, frozen=True, tag_field="edit", tag="queueAmount"):
    """Let a queue hold more of one resource, deserve more of it, or guarantee more of it."""

    queue: str
    field: str
    """``capability``, ``deserved`` or ``guarantee``."""
    resource: str
    amount: int
    """Base units, in all."""


class AddNodes(msgspec.Struct, frozen=True, tag_field="edit", tag="nodes"):
    """Add empty nodes like one there is."""

    like: str
    count: int


Edit = SetMinMember | SetQueueAmount | AddNodes
