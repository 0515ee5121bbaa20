"""Settings of overviews, recordings and the search for wasted evictions."""

from __future__ import annotations

from dataclasses import dataclass

from vsched.daemon.observe.stalling import TRIES
from vsched.daemon.observe.wasted_evictions import BOUND_SECONDS, LOOK_SECONDS


@dataclass(frozen=True, slots=True)
class OverviewSettings:
    """How often overviews are made."""

    period_seconds: float = 1.0
    """Between the beginnings of two overviews."""
    part: float = 0.2
    """The largest part of a processor: overviews that take long are made less often."""
    pause_seconds: float = 10.0
    """After an error."""


@dataclass(frozen=True, slots=True)
class ObserveSettings:
    """Settings of the modules that observe a daemon."""

    pictures: OverviewSettings = OverviewSettings()
    binding_tries: int = TRIES
    """After so many decisions to bind one pod, something looks wrong."""
    wasted_seconds: float = BOUND_SECONDS
    """Evictions are wasted if no beneficiary is placed within this time after the last victim has left."""
    wasted_look_seconds: float = LOOK_SECONDS
    """Between two searches for wasted evictions."""
