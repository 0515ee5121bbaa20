"""Pools of devices, put together from the slices that drivers publish."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from vsched.mirror.ingest.device_taints import TaintRule
from vsched.mirror.ingest.devices import Slice
from vsched.mirror.state import words
from vsched.mirror.state.claims.staged import Staging
from vsched.model.claims.devices import Device, DevicePool, Quantities
from vsched.model.groups import NameGroups

Name = tuple[str, str]
"""Driver and pool."""


class PoolStore:
    """Slices by name, and the pools that they make. Only pools whose slices changed are put together again."""

    def __init__(self, stage: Staging) -> None:
        self._stage = stage
        self.published: tuple[DevicePool, ...] = ()
        """Sorted by driver, then by name."""
        self._slices: dict[str, Slice] = {}
        self._members: NameGroups[Name] = NameGroups()
        """The slices of each pool."""
        self._pools: dict[Name, DevicePool] = {}
        self._order: list[Name] = []
        self._rules: dict[str, TaintRule] = {}
        self._rules_of: dict[Name | None, dict[str, TaintRule]] = {}
        """DeviceTaintRules by the only pool that each is about; None for those that can be about several."""
        self._changed: set[Name] = set()
        self._placed: set[Name] = set()
        """Pools without slices that changed."""

    def __len__(self) -> int:
        return len(self._slices)

    def put(self, name: str, found: Slice | None) -> bool:
        """Set a slice, None where it is gone; True where it has changed."""
        before = self._slices.get(name)
        if before == found:
            return False
        self._stage.changed = True
        if before is not None:
            pool = (before.driver, before.pool)
            self._members.discard(pool, name)
            self._changed.add(pool)
            del self._slices[name]
        if found is not None:
            pool = (found.driver, found.pool)
            self._slices[name] = found
            self._members.add(pool, name)
            self._changed.add(pool)
        return True

    def put_rule(self, name: str, rule: TaintRule | None) -> bool:
        """Set a DeviceTaintRule, None where it is gone; True where devices may have other taints."""
        before = self._rules.get(name)
        if before == rule:
            return False
        self._stage.changed = True
        concerned: set[Name] = set()
        if before is not None:
            concerned |= self._concerned(before)
            rules = self._rules_of[before.only_pool]
            del self._rules[name], rules[name]
            if not rules:
                del self._rules_of[before.only_pool]
        if rule is not None:
            concerned |= self._concerned(rule)
            self._rules[name] = rule
            self._rules_of.setdefault(rule.only_pool, {})[name] = rule
        self._changed |= concerned
        return bool(concerned)

    def _concerned(self, rule: TaintRule) -> set[Name]:
        pools = self._members.groups() if rule.only_pool is None else (rule.only_pool,)
        return {pool for pool in pools if self._members.of(pool) and rule.concerns(*pool)}

    def adopt(self, pools: Iterable[DevicePool]) -> None:
        """Take over what another mirror has published."""
        for pool in pools:
            self.put_pool((pool.driver, pool.name), pool)

    def all(self) -> list[DevicePool]:
        """All pools, those without slices as last set, others as last put together."""
        return [self._pools[name] for name in self._order]

    def put_pool(self, name: Name, pool: DevicePool | None) -> None:
        """Set a pool that has no slices, None to take it away; for clusters on paper."""
        self._stage.changed = True
        self._placed.add(name)
        self._set(name, pool)

    def _set(self, name: Name, pool: DevicePool | None) -> None:
        known = name in self._pools
        if pool is not None:
            self._pools[name] = pool
            if not known:
                insort(self._order, name)
        elif known:
            del self._pools[name], self._order[bisect_left(self._order, name)]

    def publish(self) -> set[Name]:
        """Put the pools together that changed; returns their names."""
        changed, self._changed = self._changed, set()
        for name in changed:
            members = self._members.of(name)
            self._set(name, self._together(name, members) if members else None)
        changed |= self._placed
        self._placed.clear()
        if changed:
            self._show()
        return changed

    def pool(self, name: Name) -> DevicePool | None:
        """A pool as last put together, None where there is none."""
        return self._pools.get(name)

    def _show(self) -> None:
        self.published = tuple(self._pools[name] for name in self._order)

    def _together(self, name: Name, members: Iterable[str]) -> DevicePool:
        slices = [self._slices[member] for member in sorted(members)]
        generation = max(each.generation for each in slices)
        newest = [each for each in slices if each.generation == generation]
        listed = newest[0].devices if len(newest) == 1 else tuple(device for each in newest for device in each.devices)
        devices = self._tainted(name, listed)
        counters = tuple(counters for each in newest for counters in each.counters)
        complete = all(each.parts == len(newest) for each in newest)
        return DevicePool(*name, generation, devices, counters, complete, _problem(devices, counters))

    def _tainted(self, name: Name, devices: tuple[Device, ...]) -> tuple[Device, ...]:
        """The devices of a pool, with the taints of rules after those of the driver."""
        found = {**self._rules_of.get(name, {}), **self._rules_of.get(None, {})}
        rules = [rule for _, rule in sorted(found.items()) if rule.concerns(*name)]
        return tuple(_with_taints(device, rules) for device in devices) if rules else devices


def _with_taints(device: Device, rules: Sequence[TaintRule]) -> Device:
    more = tuple(rule.taint for rule in rules if rule.taints(device.id))
    if not more:
        return device
    traits = msgspec.structs.replace(device.traits, taints=(*device.traits.taints, *more))
    return msgspec.structs.replace(device, traits=traits)


def _problem(devices: tuple[Device, ...], counters: tuple[tuple[str, Quantities], ...]) -> str:
    """Why a pool cannot be used; empty where it can."""
    for what, names in (
        ("device", [each.id.device for each in devices]),
        ("counter set", [name for name, _ in counters]),
    ):
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            return words.there_more_than_once(what, twice[0])
    return ""
