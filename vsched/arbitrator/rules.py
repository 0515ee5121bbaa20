"""The settings of the arbitrator."""

from __future__ import annotations

import msgspec


class ArbitrationRules(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of arbitration that people may choose (flags ``--arbitrate-…``), with their defaults."""

    interval_seconds: float = 1.0
    """The cluster is divided at least this often (1 s)."""
    pause_seconds: float = 0.1
    """The shortest time between two divisions, however much changes."""
    grace_seconds: float = 10.0
    """How long a namespace may be overused before its pods are evicted; until then its own controllers may choose."""
    evictions_per_round: int = 1
    """The largest number of pods evicted in one round."""
    promise_seconds: float = 60.0
    """How long room made by evictions is kept for its pod; in this time nothing is lent."""
    allocated_seconds: float = 2.0
    """Time between two writes of an Allocation if only what the namespace holds has changed."""
