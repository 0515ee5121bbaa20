"""What is in a bottle, and for how long it runs."""

from __future__ import annotations

from pathlib import Path

import msgspec

from vsched.lab.soak.bottle.faults import BottleFaults


class BottleSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What is in a bottle, and for how long it runs."""

    seed: int = 1
    seconds: float = 600.0
    """While work comes and things go wrong."""
    until: float | None = None
    """Stop there, whatever is under way."""
    trace: bool = False
    """Keep all that is sent."""
    nodes: int = 8
    more_nodes: int = 0
    """An autoscaler adds at most so many, and removes them once they are idle."""
    daemons: int = 1
    shards: int = 1
    """Into how many the work is divided."""
    lease_seconds: float = 15.0
    """How long the Lease of several daemons lasts."""
    policy: Path | None = None
    """The file with the policy of the daemons; the built-in one without it."""
    verify: float = 1.0
    """The share of sessions that are checked against the rules."""
    pods_per_minute: float = 60.0
    claims: bool = False
    """Every pod has a volume and a device."""
    namesakes: bool = False
    """There are also gangs whose names are used again at once."""
    arbitrate: bool = False
    """The daemons arbitrate among the namespaces, too."""
    asked: bool = False
    """The daemons are asked all the time: the page, why jobs wait, dumps."""
    faults: BottleFaults = BottleFaults()
