"""The state of a daemon in one line, for ``systemctl status``."""

from __future__ import annotations

from collections.abc import Mapping

from vsched.daemon.policy.reload import PolicyReading
from vsched.daemon.words import states as words
from vsched.model.snapshot import Snapshot
from vsched.web.pages.health import HealthCheck

MOST_NAMED = 4
"""How many of the kinds that are waited for are named."""


def status_line(ready: HealthCheck, sizes: Mapping[str, int], snapshot: Snapshot | None, reading: PolicyReading) -> str:
    """The line, from readiness, the sizes of the mirror, the last snapshot, and the last reading of the policy."""
    if not ready.ok:
        return words.waiting_for_lists(_named(ready))
    parts = [f"{sizes['nodes']:,} nodes", f"{sizes['tasks']:,} pods"]
    if snapshot is not None:
        parts.append(f"{_waiting(snapshot):,} waiting")
    line = f"{ready.details['role']}: {', '.join(parts)}"
    if not reading.ok:
        line += words.policy_rejected(reading.problems[0])
    return line


def _named(ready: HealthCheck) -> str:
    missing = [kind for kind, listed in ready.details["synced"].items() if not listed]
    missing = [kind for kind in missing if kind not in ready.details["absent"]]
    more = len(missing) - MOST_NAMED
    return ", ".join(missing[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _waiting(snapshot: Snapshot) -> int:
    """Pods of ours that have no node, as the last session began."""
    jobs = (snapshot.jobs.get(key) for key in snapshot.active)
    return sum(len(job.pending) for job in jobs if job is not None)
