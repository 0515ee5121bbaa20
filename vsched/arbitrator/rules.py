"""How the arbitrator goes about its work, as one value."""

from __future__ import annotations

import msgspec


class ArbitrationRules(msgspec.Struct, frozen=True, kw_only=True):
    """What a person may choose about arbitration."""

    interval_seconds: float = 1.0
    """What is deserved is worked out at least this often (seed 001: 1 s)."""
    pause_seconds: float = 0.1
    """Between two divisions, however much changes."""
    grace_seconds: float = 10.0
    """How long a namespace may be overused before pods are evicted: its own controllers choose their victims first."""
    evictions_per_round: int = 1
    """Pods evicted in one round, at most."""
    promise_seconds: float = 60.0
    """How long a pod may take to have the place that others were made to leave for it; until then nothing is lent."""
    allocated_seconds: float = 2.0
    """Between two writes of an Allocation in which nothing but what the namespace holds has changed."""
