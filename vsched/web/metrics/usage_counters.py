"""Counters of what queues and namespaces have used, and gauges of what queues hold, deserve and wait for.

The usage history counts by the hour and forgets; counters grow. So each reading adds what the history has counted
since the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from vsched.model.amounts.resources import scale_of
from vsched.model.history.records import CLUSTER, Holder, UsageHistory
from vsched.model.nodes.table import Floats
from vsched.web.findings import Findings
from vsched.web.metrics.gauges import Unannounced
from vsched.web.metrics.job_gauges import MOST_NAMESPACES, OTHER

MOST_QUEUES = 500
"""How many queues have series of their own, in the order in which they came."""
SHARES = ("held", "deserved", "waiting")

Rows = np.ndarray[tuple[int, ...], np.dtype[np.intp]]
Sums = Mapping[str, Floats]
"""By name: amounts by resource."""
Shares = Mapping[str, Sequence[float | None]]
"""By queue, in the order of ``SHARES``."""


class HolderGroups(NamedTuple):
    """Which holders are counted together."""

    holders: Sequence[Holder]
    """By row of the history."""
    names: Sequence[str]
    """By group."""
    rows: Rows
    """intp[holder]: the rows of holders that count, in order."""
    group_of: Rows
    """intp[holder]: the group of each of these rows."""

    def sums(self, amounts: Floats) -> Floats:
        """float64[group, resource], from float64[row, resource]."""
        found = np.zeros((len(self.names), amounts.shape[1]))
        np.add.at(found, self.group_of, amounts[self.rows])
        return found


NOBODY = HolderGroups((), (), np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp))


class GroupedUse:
    """What holders have used since the daemon began, by one word of theirs."""

    def __init__(self, name_of: Callable[[Holder], str], most: int) -> None:
        self._name_of = name_of
        self._most = most
        self._groups = NOBODY
        self._present: Floats = np.zeros((0, 0))
        """float64[group, resource]: what the last reading found in the present hour."""
        self._sums: Floats = np.zeros((0, 0))
        """float64[group, resource]: the totals."""
        self.totals: Sums = {}
        """The totals by name; another map after each reading."""

    def read(self, history: UsageHistory, ended: Floats | None, *, anew: bool) -> None:
        """Add what was counted since the last reading; ``ended`` are the sums of hours that have ended since."""
        before, groups = self._groups, self._grouped(history.holders)
        present = groups.sums(history.present)
        sums, known = (
            _carried(amounts, before.names, groups.names, present) for amounts in (self._sums, self._present)
        )
        if not anew:
            done = 0.0 if ended is None else groups.sums(ended)
            # A holder that is no longer counted one by one takes its sums elsewhere: counters never shrink.
            sums += np.maximum(present + done - known, 0.0)
        self._groups, self._present, self._sums = groups, present, sums
        self.totals = dict(zip(groups.names, sums, strict=True))

    def _grouped(self, holders: Sequence[Holder]) -> HolderGroups:
        """The groups of these holders: names that have one keep it, others get one while there is room."""
        known = self._groups
        if known.holders == tuple(holders):
            return known
        places: dict[str, int] = {}
        rows, group_of = list[int](), list[int]()
        for row, holder in enumerate(holders):
            if holder == CLUSTER:
                continue
            name = self._name_of(holder) or OTHER
            if name not in places and name not in self.totals and len(places) >= self._most:
                name = OTHER
            rows.append(row)
            group_of.append(places.setdefault(name, len(places)))
        return HolderGroups(
            tuple(holders), tuple(places), np.array(rows, dtype=np.intp), np.array(group_of, dtype=np.intp)
        )


def _carried(amounts: Floats, before: Sequence[str], names: Sequence[str], like: Floats) -> Floats:
    """The amounts of the same names in an array of this shape, 0 for new names and resources: none of these goes."""
    found = np.zeros_like(like)
    width = min(amounts.shape[1], like.shape[1])
    if before is names:
        found[:, :width] = amounts[:, :width]
        return found
    places = {name: place for place, name in enumerate(before)}
    pairs = [(at, places[name]) for at, name in enumerate(names) if name in places]
    if pairs:
        to, source = zip(*pairs, strict=True)
        found[np.array(to, dtype=np.intp), :width] = amounts[np.array(source, dtype=np.intp), :width]
    return found


class UsageMetrics(Unannounced):
    """The families; the event loop calls ``read``, scrapes come in other threads."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._queues = GroupedUse(lambda holder: holder.queue, MOST_QUEUES)
        self._namespaces = GroupedUse(lambda holder: holder.namespace, MOST_NAMESPACES)
        self._resources: tuple[str, ...] = ()
        self._ended_at = 0.0
        self._shares: Shares = {}

    def read(self, history: UsageHistory, shares: Shares) -> None:
        """Add what was counted since the last reading, and keep the shares of queues."""
        anew = not self._ended_at or history.resources[: len(self._resources)] != self._resources
        later = history.ends > self._ended_at
        ended: Floats | None = history.hours[later].sum(axis=0, dtype=np.float64) if later.any() else None
        for found in (self._queues, self._namespaces):
            found.read(history, ended, anew=anew)
        self._ended_at = max(float(history.ends[-1]) if len(history.ends) else 0.0, self._ended_at, history.since)
        self._resources, self._shares = history.resources, shares

    def collect(self) -> Iterator[Metric]:
        """Every family, fresh; of queues that exist."""
        snapshot = self._findings.snapshot
        queues = set(snapshot.queues) if snapshot is not None else set()
        yield self._used("queue", "queue_name", {name: self._queues.totals[name] for name in self._listed(queues)})
        yield self._used("namespace", "namespace", self._namespaces.totals)
        share = GaugeMetricFamily(
            "vsched_queue_cluster_share",
            "Dominant share of the cluster that a queue and its child queues hold, deserve or request.",
            labels=("queue_name", "kind"),
        )
        for name in [name for name in self._shares if name in queues][:MOST_QUEUES]:
            for kind, value in zip(SHARES, self._shares[name], strict=True):
                if value is not None:
                    share.add_metric((name, kind), value)
        yield share
        times = GaugeMetricFamily(
            "vsched_queue_used_times",
            "Past use of a queue, as a multiple of its share by weight (plugin usage-history).",
            labels=("queue_name",),
        )
        for name, outcome in list(self._findings.queues.items())[:MOST_QUEUES]:
            if outcome.used_times is not None:
                times.add_metric((name,), outcome.used_times)
        yield times

    def _listed(self, queues: set[str]) -> list[str]:
        return [name for name in self._queues.totals if name in queues or name == OTHER]

    def _used(self, kind: str, label: str, totals: Sums) -> Metric:
        family = CounterMetricFamily(
            f"vsched_{kind}_used_resource_seconds",
            f"Resource-seconds that jobs of a {kind} have held since the daemon started (cores, bytes, devices).",
            labels=(label, "resource"),
        )
        for name, sums in totals.items():
            for resource, amount in zip(self._resources, sums.tolist(), strict=False):
                if amount:
                    family.add_metric((name, resource), amount / scale_of(resource))
        return family
