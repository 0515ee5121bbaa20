"""How often a daemon observes itself, and what looks wrong to it."""

from __future__ import annotations

from dataclasses import dataclass

from vsched.daemon.observe.stalling import TRIES
from vsched.daemon.observe.wasted_evictions import BOUND_SECONDS, LOOK_SECONDS


@dataclass(frozen=True, slots=True)
class PictureSettings:
    """How often pictures of the cluster are made."""

    period_seconds: float = 1.0
    """Between the beginnings of two pictures."""
    part: float = 0.2
    """Of a processor, at most: pictures that take long are made less often."""
    pause_seconds: float = 10.0
    """After a picture that could not be made."""


@dataclass(frozen=True, slots=True)
class ObserveSettings:
    """What can be set about the observers of a daemon."""

    pictures: PictureSettings = PictureSettings()
    binding_tries: int = TRIES
    """After so many decisions to bind one pod, something looks wrong."""
    wasted_seconds: float = BOUND_SECONDS
    """An eviction was in vain if nobody was placed within this time after the last victim has left."""
    wasted_look_seconds: float = LOOK_SECONDS
    """Time between two looks for evictions in vain."""
