"""Sights that say what is divided among whom: by the last round, where their session had none."""

from __future__ import annotations

from dataclasses import replace

from vsched.web.findings import Findings
from vsched.web.snapshots import FrozenSnapshot


def with_division(frozen: FrozenSnapshot, findings: Findings) -> FrozenSnapshot:
    """The sight with what was known when its namespaces' ceilings were worked out; as it is where nobody arbitrates.

    What would be if a namespace's limit were another one cannot be told without it.
    """
    last, snapshot = findings.arbitrated, frozen.snapshot
    if last is None or snapshot.arbitration is not None:
        return frozen
    return frozen._replace(snapshot=replace(snapshot, arbitration=last.arbitration))
