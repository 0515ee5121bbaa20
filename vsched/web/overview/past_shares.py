"""What queues held by the hour before a daemon began: shares worked out from the usage history, which survives it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from vsched.model.history.records import CLUSTER, UsageHistory
from vsched.model.nodes.table import Floats
from vsched.model.queues.queue import Queue
from vsched.model.queues.tree import lineage, tree
from vsched.web.overview.shares import WHOLE


class HourlyShares(NamedTuple):
    """Dominant shares that queues held on average in each hour that was counted, the oldest first."""

    begins: Floats
    """By hour: when counting began in it, seconds since the epoch."""
    ends: Floats
    held: Mapping[str, Floats]
    """By queue with the queues below it, then by hour; under ``WHOLE``, what all queues held together."""


def hourly_shares(history: UsageHistory, queues: Mapping[str, Queue]) -> HourlyShares:
    """The shares of every queue that used something; of one that no longer exists, too."""
    known = np.flatnonzero(history.lengths > 0)
    ends, lengths, used = history.ends[known], history.lengths[known], history.hours[known]
    if history.present_seconds > 0:
        ends, lengths = np.append(ends, history.at), np.append(lengths, history.present_seconds)
        used = np.concatenate((used, history.present[None].astype(np.float32)))
    rows: dict[str, list[int]] = {}
    for row, holder in enumerate(history.holders):
        if holder != CLUSTER:
            rows.setdefault(holder.queue, []).append(row)
    own: dict[str, Floats] = {name: used[:, mine].sum(axis=1, dtype=np.float64) for name, mine in rows.items()}
    parents = tree(queues)
    sums = {name: amounts.copy() for name, amounts in own.items()}
    for name, amounts in own.items():
        for above in lineage(name, parents) if name in parents else ():
            sums[above] = sums[above] + amounts if above in sums else amounts.copy()
    if own:
        sums[WHOLE] = np.sum(list(own.values()), axis=0)
    had = used[:, 0].astype(np.float64) if len(history.holders) else np.zeros((len(ends), 0))
    return HourlyShares(ends - lengths, ends, {name: _dominant(amounts, had) for name, amounts in sums.items()})


def _dominant(amounts: Floats, had: Floats) -> Floats:
    """By hour: the largest part of what the cluster had of any resource."""
    parts = np.divide(amounts, had, out=np.zeros_like(amounts), where=had > 0)
    return np.asarray(parts.max(axis=1, initial=0.0))
