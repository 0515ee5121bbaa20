"""Settings of overviews, recordings, advice, checks and the search for wasted evictions."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

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


class AdvisorSettings(msgspec.Struct, frozen=True):
    """Bounds of the searches for what would let waiting jobs start."""

    round_seconds: float = 1.0
    """The least time between the beginnings of two rounds."""
    part: float = 0.02
    """The part of one processor that searches use on average."""
    jobs_per_round: int = 4
    job_seconds: float = 0.25
    """Processor time for one job; the simulation under way is finished."""
    longest_seconds: float = 10.0
    """Elapsed time for one job, sessions included; the simulation under way is then given up."""
    simulations: int = 300
    """For one job."""
    patience_seconds: float = 3.0
    """Jobs whose last pod came later than that are not searched: most start soon."""
    incomplete_seconds: float = 10.0
    """The same for gangs with fewer pods than their minimum: most of them are still being made."""
    again_seconds: float = 60.0
    """A job is searched again after this long, where what queues hold or are owed has changed since."""
    settled_seconds: float = 3600.0
    """The same where nothing of that has changed: hardly anything else will be found."""
    renew_seconds: float = 2.0
    """The same where numbers in its reason have changed; until then, nothing is advised."""
    waiting_max: int = 1_000
    """Where more jobs wait, nothing is searched: a simulation would take as long as a session."""
    pause_seconds: float = 10.0
    """After a round that failed."""


class VerifierSettings(msgspec.Struct, frozen=True):
    """Bounds of the checks of sessions against the rules."""

    look_seconds: float = 0.5
    """Between two looks whether enough sessions have passed."""
    part: float = 0.05
    """The part of one processor that checks use on average."""
    seconds_max: float = 30.0
    """Processor time for one session."""
    rest_seconds: float = 1.0
    """How long a check waits at once for the end of a session."""
    pause_seconds: float = 10.0
    """After a check that failed."""


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
    advice: AdvisorSettings = field(default_factory=AdvisorSettings)
    """Bounds of the searches for what would let waiting jobs start."""
    verifying: VerifierSettings = field(default_factory=VerifierSettings)
    """Bounds of the checks of sessions against the rules."""
