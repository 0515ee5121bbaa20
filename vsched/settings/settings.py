"""Settings: one policy file, read and found good. A value; where it came from travels with it."""

from __future__ import annotations

from typing import Any

import msgspec

from vsched.framework.policy import Policy
from vsched.settings.document import policy_document
from vsched.settings.metrics import MetricsSource


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What the daemon runs by."""

    policy: Policy
    metrics: MetricsSource | None = None
    period_seconds: float | None = None
    """A session starts at least this often (``schedulePeriod``); None where the flag ``--schedule-period`` decides."""
    source: str
    """The file, or ``built-in``."""
    sha256: str
    """Of the text as read, in hex."""
    generation: int = 1
    """Counts the files that came into force since the start."""
    warnings: tuple[str, ...] = ()
    """One line each: what is not wrong but may surprise."""
    no_effect: tuple[str, ...] = ()
    """One line each: what is accepted and has no effect."""

    def to_dict(self) -> dict[str, Any]:
        """For people and ``/configz``: the policy in force with all its defaults, nothing secret."""
        return {
            "source": self.source,
            "sha256": self.sha256,
            "generation": self.generation,
            "warnings": list(self.warnings),
            "noEffect": list(self.no_effect),
            "policy": policy_document(self.policy, self.metrics, self.period_seconds, show_secrets=False),
        }
