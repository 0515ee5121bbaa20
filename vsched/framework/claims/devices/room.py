"""Which nodes have enough free devices, by counts: masks, bounds for the number of tasks, and scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from vsched.framework.claims.devices.needs import DeviceNeeds, Total
from vsched.framework.claims.handler import ClaimRoom
from vsched.framework.codes import Code
from vsched.framework.points.nodes import Check
from vsched.framework.words.nodes import TOO_FEW_DEVICES
from vsched.kernels.devices.books import DeviceBooks
from vsched.kernels.devices.counts import FreeCounts
from vsched.kernels.devices.inventory import Inventory
from vsched.kernels.devices.matching import DeviceMatch, held_back, kept_off, match
from vsched.kernels.devices.search import ALL_DEVICES, MOST_RESULTS, Ask, ClaimAsk, DeviceSearchResult, Pick
from vsched.model.claims.devices import DevicePool
from vsched.model.nodes.table import Floats, Ints, Mask, Taint

BEST_SCORE = 100.0
MOST_ALTERNATIVES = 8
"""The most alternatives of a request."""
BOUNDLESS = 1 << 30


class DeviceNodeMask:
    """The nodes with enough free devices for some needs; it is kept up to date."""

    __slots__ = ("mask", "passes_all", "position", "totals", "version")

    def __init__(self, mask: Mask, totals: Sequence[tuple[Ints, Ints]]) -> None:
        self.mask = mask
        """bool[nodes]"""
        self.passes_all = bool(mask.all())
        """Whether all nodes have enough."""
        self.totals = totals
        """By plain request: the free devices, which are kept up to date, and how many it needs: int64[nodes]."""
        self.version = 0
        self.position = 0
        """The version of the counts, and the position in their journal, that the mask is of."""

    def follow(self, rows: Iterable[int]) -> None:
        """Update the rows where devices of the node itself changed."""
        mask = self.mask
        for row in rows:
            enough = True
            for free, needed in self.totals:
                if free[row] < needed[row]:
                    enough = False
            if enough != mask[row]:
                mask[row] = enough
                self.passes_all = enough and bool(mask.all())


class DeviceRoom:
    """The room for claims on all nodes, now and later, by the uses of a session."""

    def __init__(self, inventory: Inventory, books: DeviceBooks, served: dict[int, Mask]) -> None:
        self._inventory = inventory
        self.counts = FreeCounts(inventory, books)
        self._served = served
        """By column of an extended resource: bool[nodes], where devices serve it."""
        self._masks: dict[tuple[int, bool], DeviceNodeMask] = {}
        """By needs, and whether later."""
        self._evers: dict[int, list[Check]] = {}
        """By needs: the nodes that would have enough devices if nothing were in use; empty where all would."""
        self._neededs: dict[tuple[int, int], Ints] = {}

    def asks_on(self, needs: DeviceNeeds, row: int) -> tuple[ClaimAsk, ...]:
        """What is asked for on a row; the last one is for extended resources, if devices serve some there."""
        if not needs.implicit:
            return needs.asks
        mine = tuple((ask,) for column, ask in needs.implicit if ask is not None and self._served[column][row])
        return (*needs.asks, ClaimAsk(mine)) if mine else needs.asks

    def first(self, needs: DeviceNeeds, row: int, *, later: bool) -> DeviceSearchResult | None:
        """The first free devices for a single plain request; None where the search has to find them."""
        ask = needs.single
        if ask is None:
            return None
        free = self.counts.of(ask.want, later=later)
        if free.match.taken:
            return None
        units, picks = free.units, []
        for device in self._inventory.reaching(row):
            if units[device]:
                picks.append(Pick(ask.name, device, shared=bool(self._inventory.shareable[device])))
                if len(picks) == ask.number:
                    return DeviceSearchResult((tuple(picks),), True)
        return DeviceSearchResult(None, True)

    def checks(self, needs: DeviceNeeds) -> list[Check]:
        """The nodes that have enough devices at all, and those that have enough free ones."""
        ever, now = self._ever(needs), self._mask(needs, later=False)
        if now.passes_all:
            return ever
        later = self._mask(needs, later=True).mask if self.counts.differ else None
        return [*ever, Check(TOO_FEW_DEVICES, now.mask, True, Code.DEVICES, later)]

    def limits(self, needs: DeviceNeeds) -> list[ClaimRoom]:
        """How many tasks with such needs the nodes could serve on top of what is placed."""
        most = np.where(self._mask(needs, later=True).mask, BOUNDLESS, 0)
        together = BOUNDLESS
        for at, total in enumerate(needs.totals):
            if total.want.admin:
                continue
            free = self.counts.of(total.want, later=True)
            needed = self._needed(needs, at)
            most = np.minimum(most, np.where(needed > 0, free.nodes // np.maximum(needed, 1), BOUNDLESS))
            if int(needed.min(initial=BOUNDLESS)) > 0:
                together = min(together, free.together // int(needed.min()))
        for want in needs.whole:
            if not want.admin and not match(want, self._inventory).taken:
                most = np.minimum(most, 1)
        for asks in needs.choices:
            if any(ask.want.admin or ask.number == ALL_DEVICES for ask in asks):
                continue
            counts = [self.counts.of(ask.want, later=True) for ask in asks]
            most = np.minimum(most, sum(free.nodes // ask.number for free, ask in zip(counts, asks, strict=True)))
            together = min(together, sum(free.together // ask.number for free, ask in zip(counts, asks, strict=True)))
        return [ClaimRoom(TOO_FEW_DEVICES, Code.DEVICES, most, None if together == BOUNDLESS else together)]

    def score(self, needs: DeviceNeeds) -> Floats | None:
        """Nodes by how early the first alternative comes that they have devices for."""
        if not needs.choices:
            return None
        points = np.zeros(len(self._inventory.statics), dtype=np.float64)
        for asks in needs.choices:
            mine = np.zeros(len(points), dtype=np.float64)
            for place, ask in reversed(list(enumerate(asks))):
                mine[self._has(ask, later=False)] = MOST_ALTERNATIVES - place
            points += mine
        return points * (BEST_SCORE / (MOST_ALTERNATIVES * len(needs.choices)))

    def free(self, want: DeviceMatch, *, later: bool) -> Ints:
        """int64[nodes]: the free devices of a request."""
        return self.counts.of(want, later=later).nodes

    def at_most(self, want: DeviceMatch) -> Ints:
        """int64[nodes]: what would be free if nothing were in use."""
        return self._inventory.keep(
            ("at most", want), lambda: self._inventory.per_node(match(want, self._inventory).units)
        )

    def unusable(self, want: DeviceMatch) -> list[DevicePool]:
        """Pools that may not be used, with devices that match."""
        return held_back(want, self._inventory)

    def untolerated(self, want: DeviceMatch) -> list[Taint]:
        """The first untolerated taint of each device that matches but for its taints."""
        return kept_off(want, self._inventory)

    def _mask(self, needs: DeviceNeeds, *, later: bool) -> DeviceNodeMask:
        """Where enough devices are free. Valid until the next step."""
        counts = self.counts
        counts.follow()
        later = later and counts.differ
        key = needs.number, later
        found = self._masks.get(key)
        if found is None or found.version != counts.version:
            if found is None or found.version < counts.far or needs.whole or needs.choices or needs.implicit:
                totals = [
                    (self.free(one.want, later=later), self._needed(needs, at)) for at, one in enumerate(needs.totals)
                ]
                found = self._masks[key] = DeviceNodeMask(self._all(self._masks_for(needs, later=later)), totals)
            else:
                found.follow(set(counts.journal[found.position :]))
            found.version, found.position = counts.version, len(counts.journal)
        return found

    def _masks_for(self, needs: DeviceNeeds, *, later: bool) -> Iterator[Mask]:
        for column, ask in needs.implicit:
            if ask is None:
                yield ~self._served[column]
        for at, total in enumerate(needs.totals):
            yield self.free(total.want, later=later) >= self._needed(needs, at)
        for want in needs.whole:
            yield self._has_whole(want, later=later)
        for asks in needs.choices:
            yield self._any([self._has(ask, later=later) for ask in asks])

    def _has(self, ask: Ask, *, later: bool) -> Mask:
        if ask.number == ALL_DEVICES:
            return self._has_whole(ask.want, later=later)
        return self.free(ask.want, later=later) >= ask.number

    def _has_whole(self, want: DeviceMatch, *, later: bool) -> Mask:
        whole = self._whole(want)
        mask = (whole > 0) & (whole <= MOST_RESULTS) & ~self._inventory.incomplete
        return mask & (self.free(want, later=later) >= whole)

    def _whole(self, want: DeviceMatch) -> Ints:
        """int64[nodes]: all devices that match, tainted ones and those in use included."""

        def compute() -> Ints:
            return self._inventory.per_node(match(want, self._inventory).selected.astype(np.int64))

        return self._inventory.keep(("whole", want), compute)

    def _ever(self, needs: DeviceNeeds) -> list[Check]:
        """Where the devices would be enough if nothing were in use; no step changes that."""
        found = self._evers.get(needs.number)
        if found is None:
            mask = self._worked_out(needs)
            found = self._evers[needs.number] = [] if mask.all() else [Check(TOO_FEW_DEVICES, mask, code=Code.DEVICES)]
        return found

    def _worked_out(self, needs: DeviceNeeds) -> Mask:
        def could(ask: Ask) -> Mask:
            whole = self._whole(ask.want)
            needed = whole if ask.number == ALL_DEVICES else ask.number
            return (whole > 0) & (self.at_most(ask.want) >= needed)

        masks = [~self._served[column] for column, ask in needs.implicit if ask is None]
        masks.extend(self.at_most(total.want) >= self._needed(needs, at) for at, total in enumerate(needs.totals))
        masks.extend(could(Ask("", want, ALL_DEVICES)) & ~self._inventory.incomplete for want in needs.whole)
        masks.extend(self._any([could(ask) for ask in asks]) for asks in needs.choices)
        return self._all(iter(masks))

    def _needed(self, needs: DeviceNeeds, at: int) -> Ints:
        """int64[nodes]: how many devices a total asks for there."""
        found = self._neededs.get((needs.number, at))
        if found is None:
            found = self._neededs[needs.number, at] = self._asked(needs.totals[at])
        return found

    def _asked(self, total: Total) -> Ints:
        needed = np.full(len(self._inventory.statics), total.number, dtype=np.int64)
        for column, number in total.columns:
            needed[self._served[column]] += number
        return needed

    def _all(self, masks: Iterator[Mask]) -> Mask:
        found = np.ones(len(self._inventory.statics), dtype=np.bool_)
        for mask in masks:
            found &= mask
        return found

    def _any(self, masks: Sequence[Mask]) -> Mask:
        found = np.zeros(len(self._inventory.statics), dtype=np.bool_)
        for mask in masks:
            found |= mask
        return found
