"""Histories of use, as a test writes them: core-hours of each holder, all in the last hour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from vsched.model.history.holding import held_by
from vsched.model.history.records import CLUSTER, HOUR_SECONDS, Decay, Holder, UsageHistory
from vsched.model.snapshot import Snapshot


def with_history(snapshot: Snapshot, decay: Decay, cluster: float, used: Mapping[Holder, float]) -> Snapshot:
    """The snapshot with decayed core-hours of the cluster and of holders; other resources were not used."""
    holders = (CLUSTER, *used)
    amounts = np.array([[cluster], *([one] for one in used.values())]) * HOUR_SECONDS * 1000
    history = UsageHistory(
        at=snapshot.now,
        since=snapshot.now - HOUR_SECONDS,
        resources=("cpu",),
        holders=holders,
        held=held_by(snapshot.jobs.values()),
        decayed={decay: amounts},
        present=amounts,
        present_seconds=HOUR_SECONDS,
        ends=np.zeros(0),
        lengths=np.zeros(0),
        hours=np.zeros((0, len(holders), 1), np.float32),
    )
    return replace(snapshot, history=history)
