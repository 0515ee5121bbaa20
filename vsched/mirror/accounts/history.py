"""Counts what holders use over time: the sums of a week by the hour, and decayed sums that are always up to date.

Between two snapshots everybody holds what the first of them showed. So each snapshot multiplies the decayed sums by one
factor, and adds what was held times the time since; its cost follows the number of holders.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from vsched.model.amounts.resources import ResourceAxis, Vector
from vsched.model.history.records import (
    CLUSTER,
    HOLDERS_MAX,
    HOUR_SECONDS,
    RESOURCES_MAX,
    STEP_SECONDS,
    WEEK_HOURS,
    Decay,
    Holder,
    Sums,
    UsageHistory,
    faded_seconds,
    fading,
    hour_weight,
)
from vsched.model.nodes.table import Floats, Mask

DECAYS_MAX = 8
"""The most decays that are kept up to date; others are worked out from the hours."""
NEGLIGIBLE = 1e-9
"""A holder with a smaller part than this of what the cluster had, and with no pods, is forgotten."""
WEEK_SECONDS = WEEK_HOURS * HOUR_SECONDS
_PLAIN = ("cpu", "memory")


def is_counted(name: str) -> bool:
    """Whether use of a resource is counted: cpu, memory and devices."""
    return name in _PLAIN or "/" in name


class HistoryBook:
    """The history of one cluster, as it is counted."""

    def __init__(self) -> None:
        self._at = self._since = 0.0
        self._resources: list[str] = []
        self._columns: dict[int, int] = {}
        """By column of the axis: the column here."""
        self._axis = ResourceAxis()
        """The axis that ``_columns`` were read from."""
        self._total: Vector = {}
        self._rows: dict[Holder, int] = {CLUSTER: 0}
        """Holders that are not counted one by one have the row of their queue."""
        self._holders: list[Holder] = [CLUSTER]
        self._idle: list[int] = []
        """Rows for new holders."""
        self._held_by: dict[Holder, Vector] = {}
        self._counted_in: dict[Holder, int] = {}
        """By holder that has something: the row where it is counted."""
        self._held = np.zeros((1, 0))
        self._present = np.zeros((1, 0))
        self._present_seconds = 0.0
        self._decayed: dict[Decay, Floats] = {}
        self._hours: Sums = np.zeros((0, 1, 0), np.float32)
        self._ends = np.zeros(0)
        self._lengths = np.zeros(0)

    # -- what is held

    def advance(self, now: float) -> None:
        """Count what was held until now, seconds since the epoch; time that goes back counts nothing."""
        if not self._since:
            self._since = self._at = now
        if now - self._at > WEEK_SECONDS + HOUR_SECONDS:
            self._skip(now - self._at - WEEK_SECONDS)
        while self._at < now:
            hour_end = (self._at // HOUR_SECONDS + 1.0) * HOUR_SECONDS
            until = min(now, hour_end)
            self._charge(until - self._at)
            self._at = until
            if until == hour_end:
                self._begin_hour()

    def follow(
        self, now: float, axis: ResourceAxis, total: Mapping[int, int], changed: Mapping[Holder, Vector | None]
    ) -> None:
        """Count what was held until now, and see what is held from now on.

        As long as nothing changes it is counted in steps, so that what follows from it holds until the next one.
        """
        moved = {holder: vector for holder, vector in changed.items() if (vector or None) != self._held_by.get(holder)}
        if moved or total != self._total or now >= self._at + STEP_SECONDS:
            self.advance(now)
        self.see(axis, total, moved)

    def see(self, axis: ResourceAxis, total: Mapping[int, int], changed: Mapping[Holder, Vector | None]) -> None:
        """Set what the nodes have and what holders hold from now on; None for those that hold nothing any more."""
        if axis is not self._axis or total.keys() != self._total.keys():
            self._read(axis, total)
        if total != self._total:
            self._shift(0, self._total, -1.0)
            self._total = dict(total)
            self._shift(0, self._total, 1.0)
        for holder, vector in changed.items():
            before = self._held_by.pop(holder, None)
            if before is not None:
                self._shift(self._counted_in.pop(holder), before, -1.0)
            if vector:
                self._held_by[holder] = vector
                row = self._counted_in[holder] = self._row(holder)
                self._shift(row, vector, 1.0)

    def keep(self, decays: Iterable[Decay]) -> None:
        """Keep sums for these decays up to date, at most ``DECAYS_MAX`` of them, and no others."""
        wanted = list(dict.fromkeys(decays))[:DECAYS_MAX]
        history = self.publish()
        self._decayed = {decay: history.used(decay) for decay in wanted}

    # -- the whole

    def publish(self) -> UsageHistory:
        """The history now; its arrays and maps are valid until the next change, and agree in their shapes for ever."""
        return UsageHistory(
            at=self._at,
            since=self._since,
            resources=tuple(self._resources),
            holders=self._holders,
            held=self._held_by,
            decayed=self._decayed,
            present=self._present,
            present_seconds=self._present_seconds,
            ends=self._ends,
            lengths=self._lengths,
            hours=self._hours,
        )

    def adopt(self, history: UsageHistory, axis: ResourceAxis, total: Mapping[int, int]) -> None:
        """Go on counting from a history, and from what it says that holders have."""
        self._at, self._since = history.at, history.since
        self._resources, self._holders = list(history.resources), list(history.holders) or [CLUSTER]
        self._rows = {holder: row for row, holder in enumerate(self._holders) if not row or holder != CLUSTER}
        self._idle = [row for row, holder in enumerate(self._holders) if row and holder == CLUSTER]
        shape = len(self._holders), len(self._resources)
        self._present = history.present.copy() if len(history.holders) else np.zeros(shape)
        self._present_seconds = history.present_seconds
        self._decayed = {decay: sums.copy() for decay, sums in history.decayed.items()}
        self._hours, self._ends, self._lengths = history.hours, history.ends, history.lengths
        if not len(history.holders):
            self._hours = np.zeros((0, *shape), np.float32)
        self._held, self._total, self._held_by, self._counted_in = np.zeros(shape), {}, {}, {}
        self._read(axis, total)
        self.see(axis, total, history.held)

    def restore(self, history: UsageHistory, now: float) -> None:
        """Take over what another book has counted; what is held stays. The time in between counts for nobody.

        Of what this book has counted itself, the hours that began later are added; the rest is forgotten.
        """
        axis, total, held, own = self._axis, self._total, self._held_by, self.publish()
        self.adopt(replace(history, held={}), axis, total)
        if history.at // HOUR_SECONDS != now // HOUR_SECONDS and self._present_seconds:
            self._file_hour()
        for decay, sums in self._decayed.items():
            sums *= fading(max(0.0, now - history.at), decay.half_life)
        self._at = max(now, history.at)
        self._leave_windows(history.at)
        self.see(axis, total, held)
        self._add(own, history.at)
        self.keep(own.decayed)

    # -- steps

    def _charge(self, seconds: float) -> None:
        for decay, sums in self._decayed.items():
            sums *= fading(seconds, decay.half_life)
            sums += self._held * faded_seconds(seconds, decay.half_life)
        self._present += self._held * seconds
        self._present_seconds += seconds

    def _begin_hour(self) -> None:
        """File the sums of the present hour, and forget the oldest hour and what has left a window."""
        self._file_hour()
        ages = self._at - self._ends
        for decay, sums in self._decayed.items():
            for hour in np.flatnonzero((ages >= decay.window) & (ages < decay.window + HOUR_SECONDS)).tolist():
                weight = hour_weight(float(ages[hour]), float(self._lengths[hour]), decay.half_life)
                np.maximum(sums - self._hours[hour] * weight, 0.0, out=sums)
        if len(self._ends) >= WEEK_HOURS:
            kept = np.arange(len(self._ends) - WEEK_HOURS + 1, len(self._ends))
            self._ends, self._lengths, self._hours = self._ends[kept], self._lengths[kept], self._hours[kept]
        self._forget_idle()

    def _file_hour(self) -> None:
        self._ends = np.append(self._ends, self._at)
        self._lengths = np.append(self._lengths, self._present_seconds)
        self._hours = np.concatenate((self._hours, self._present[None].astype(np.float32)))
        self._present, self._present_seconds = np.zeros_like(self._present), 0.0

    def _leave_windows(self, before: float) -> None:
        """Forget what has left a window since ``before``, but for what the end of the present hour will see to."""
        then, ages = before // HOUR_SECONDS * HOUR_SECONDS, self._at - self._ends
        whole = self._at // HOUR_SECONDS * HOUR_SECONDS
        for decay, sums in self._decayed.items():
            left = (then - self._ends < decay.window) & (whole - self._ends >= decay.window)
            for hour in np.flatnonzero(left).tolist():
                weight = hour_weight(float(ages[hour]), float(self._lengths[hour]), decay.half_life)
                np.maximum(sums - self._hours[hour] * weight, 0.0, out=sums)

    def _add(self, own: UsageHistory, since: float) -> None:
        """Add the hours of another history that began since then; they are younger than those here."""
        later = np.flatnonzero((own.ends - own.lengths >= since) & (own.lengths > 0)).tolist()
        is_present_later = own.present_seconds > 0 and own.at - own.present_seconds >= since
        parts = [own.hours[hour] for hour in later] + ([own.present] if is_present_later else [])
        used = np.flatnonzero(sum(parts, np.zeros(own.present.shape)).any(axis=1)).tolist()
        holders = [own.holders[row] for row in used]
        for holder in holders:
            self._row(holder)
        rows = [self._rows.get(holder, 0) or self._row(Holder(holder.queue)) for holder in holders]
        places = {name: place for place, name in enumerate(self._resources)}
        columns = {place: places[name] for place, name in enumerate(own.resources) if name in places}
        for part, hour in zip(parts, [*later, None], strict=False):
            sums = np.zeros_like(self._present)
            for theirs, ours in columns.items():
                np.add.at(sums[:, ours], rows, part[used, theirs])
            age = 0.0 if hour is None else self._at - float(own.ends[hour])
            length = own.present_seconds if hour is None else float(own.lengths[hour])
            for decay, decayed in self._decayed.items():
                if age < decay.window:
                    decayed += sums * hour_weight(age, length, decay.half_life)
            self._present += sums
            self._present_seconds += length
            if hour is not None:
                self._file_hour()
                self._ends[-1] = own.ends[hour]

    def _skip(self, seconds: float) -> None:
        """Let so much time pass that every hour that is known is older than a week."""
        self._charge(seconds)
        for decay, sums in self._decayed.items():
            if decay.window <= WEEK_SECONDS:
                sums[:] = 0.0
        self._present, self._present_seconds = np.zeros_like(self._present), 0.0
        self._ends, self._lengths, self._hours = np.zeros(0), np.zeros(0), self._hours[:0]
        self._at += seconds

    # -- rows and columns

    def _read(self, axis: ResourceAxis, total: Mapping[int, int]) -> None:
        """Find the columns of the axis again; resources that nodes offer for the first time get a column here."""
        self._axis = axis
        offered = [axis.names[column] for column in sorted(total) if total[column] > 0]
        fresh = [name for name in offered if is_counted(name) and name not in self._resources]
        fresh = fresh[: max(0, RESOURCES_MAX - len(self._resources))]
        if fresh:
            self._resources += fresh
            wider = ((0, 0), (0, len(fresh)))
            self._present = np.pad(self._present, wider)
            self._decayed = {decay: np.pad(sums, wider) for decay, sums in self._decayed.items()}
            self._hours = np.pad(self._hours, ((0, 0), *wider))
        places = {name: place for place, name in enumerate(self._resources)}
        self._columns = {column: places[name] for column, name in enumerate(axis.names) if name in places}
        self._held = np.zeros((len(self._holders), len(self._resources)))
        self._shift(0, self._total, 1.0)
        for holder, vector in self._held_by.items():
            self._shift(self._counted_in[holder], vector, 1.0)

    def _shift(self, row: int, vector: Vector, sign: float) -> None:
        for column, amount in vector.items():
            place = self._columns.get(column)
            if place is not None:
                self._held[row, place] += sign * amount

    def _row(self, holder: Holder) -> int:
        row = self._rows.get(holder)
        if row is None and len(self._rows) >= HOLDERS_MAX and holder.namespace and not self._merge_one():
            return self._row(Holder(holder.queue))
        if row is None:
            if not self._idle:
                self._grow()
            row = self._rows[holder] = self._idle.pop()
            self._holders[row] = holder
        return row

    def _grow(self) -> None:
        rows = len(self._holders)
        self._idle = list(range(2 * rows - 1, rows - 1, -1))
        self._holders = [*self._holders, *[CLUSTER] * rows]  # what was published keeps as many as its arrays have rows
        longer = ((0, rows), (0, 0))
        self._held, self._present = np.pad(self._held, longer), np.pad(self._present, longer)
        self._decayed = {decay: np.pad(sums, longer) for decay, sums in self._decayed.items()}
        self._hours = np.pad(self._hours, ((0, 0), *longer))

    def _merge_one(self) -> bool:
        """Give the sums of the holder that used least, and has nothing now, to its queue; False where there is none."""
        idle = [holder for holder in self._rows if holder.namespace and holder not in self._counted_in]
        if not idle:
            return False
        used = self._present + self._hours.sum(axis=0)
        parts = (used / np.maximum(used[0], 1.0)).max(axis=1, initial=0.0)
        least = min(idle, key=lambda holder: (parts[self._rows[holder]], holder))
        row, rest = self._rows.pop(least), self._row(Holder(least.queue))
        self._hours = self._hours.copy()
        for sums in (self._present, *self._decayed.values()):
            sums[rest] += sums[row]
        self._hours[:, rest] += self._hours[:, row]
        self._free(row)
        return True

    def _free(self, row: int) -> None:
        self._holders[row] = CLUSTER
        self._idle.append(row)
        for sums in (self._held, self._present, *self._decayed.values()):
            sums[row] = 0.0
        self._hours[:, row] = 0.0

    def _forget_idle(self) -> None:
        """Free the rows of holders that have nothing, and used next to nothing of what still counts."""
        used: Mask = np.logical_or(self._hours.any(axis=(0, 2)), self._present.any(axis=1))
        for sums in self._decayed.values():
            used |= (sums > NEGLIGIBLE * np.maximum(sums[0], 1.0)).any(axis=1)
        used[[0, *self._counted_in.values()]] = True
        for holder, row in list(self._rows.items()):
            if not used[row]:
                del self._rows[holder]
                self._free(row)
