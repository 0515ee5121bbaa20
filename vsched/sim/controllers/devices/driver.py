"""The pretended DRA driver: publishes the devices of nodes as slices, and has binding conditions come true."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import ClassVar

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.objects import is_deleting, with_condition
from vsched.apimachinery.meta.times import format_time, utc_now
from vsched.apimachinery.workloads.actions import Action, After, Create, Update, delete, set_status
from vsched.clock import monotonic
from vsched.sim.client import LocalClient
from vsched.sim.controllers.controller import Controller
from vsched.sim.controllers.devices.fleet import DeviceFleet
from vsched.sim.controllers.devices.objects import CLAIMS, SLICES, allocation_of, device_of, results_of
from vsched.sim.controllers.devices.pools import (
    PUBLISHED_FOR,
    PoolSlices,
    is_current,
    slice_object,
    slices_on,
    with_old_times,
)
from vsched.sim.controllers.pod_index import PodIndex
from vsched.sim.store.store import key_of

SHARED = "*"
"""The key for the devices that all nodes share."""


class DeviceDriver(Controller):
    """Keeps the slices of every node as the fleet says; its keys are nodes."""

    name: ClassVar[str] = "device driver"
    primary: ClassVar[str] = "nodes"
    watches: ClassVar[tuple[str, ...]] = ("nodes", SLICES)

    def __init__(self, client: LocalClient, pod_index: PodIndex, fleet: DeviceFleet) -> None:
        super().__init__(client, pod_index)
        self._fleet = fleet
        self._slices: dict[str, dict[str, None]] = defaultdict(dict)
        """The slices of a node that this driver has published."""
        fleet.changed.append(self.resync)
        self.queue.add(SHARED)

    def keys(self) -> Iterable[str]:
        return [*super().keys(), *self._slices, SHARED]

    def affected(self, resource: str, obj: Obj, old: Obj | None, *, gone: bool) -> Iterable[str]:
        name = obj["metadata"]["name"]
        if resource == "nodes":
            return (name,) if old is None or gone else ()
        node = (obj["metadata"].get("annotations") or {}).get(PUBLISHED_FOR)
        if node is None:
            return ()
        if not gone:
            self._slices[node or SHARED][name] = None
            return ()
        self._slices[node or SHARED].pop(name, None)
        return (node or SHARED,)

    def reconcile(self, key: str) -> Sequence[Action]:
        node = None if key == SHARED else self.find(key)
        if key != SHARED and (node is None or is_deleting(node)):
            # The slices of a node that is gone go with it.
            return ()
        actions: list[Action] = []
        kept: set[str] = set()
        for pool in slices_on(self._fleet.pools, "" if node is None else key):
            actions += self._publish(pool, node, kept)
        gone = [self.client.get(SLICES, "", name) for name in self._slices.get(key, ()) if name not in kept]
        return [*actions, *(delete(SLICES, each) for each in gone if each is not None)]

    def _publish(self, pool: PoolSlices, node: Obj | None, kept: set[str]) -> list[Action]:
        """All slices of a pool anew under the next generation, unless they are as they should be."""
        now = format_time(utc_now())
        wanted = [slice_object(pool, number, node, 1, now) for number in range(len(pool.specs))]
        kept.update(each["metadata"]["name"] for each in wanted)
        found = [self.client.get(SLICES, "", each["metadata"]["name"]) for each in wanted]
        if all(old is not None and is_current(old, new) for old, new in zip(found, wanted, strict=True)):
            return []
        generation = 1 + max((old["spec"]["pool"]["generation"] for old in found if old is not None), default=0)
        actions: list[Action] = []
        for number, old in enumerate(found):
            new = slice_object(pool, number, node, generation, now)
            actions.append(Create(SLICES, new) if old is None else Update(SLICES, with_old_times(new, old)))
        return actions


class BindingConditions(Controller):
    """Has the binding conditions of allocated devices come true, or fail, after the time that their driver takes."""

    name: ClassVar[str] = "binding conditions"
    primary: ClassVar[str] = CLAIMS
    watches: ClassVar[tuple[str, ...]] = (CLAIMS,)

    def __init__(self, client: LocalClient, pod_index: PodIndex, fleet: DeviceFleet) -> None:
        super().__init__(client, pod_index)
        self._fleet = fleet
        self._began: dict[str, float] = {}

    def affected(self, resource: str, obj: Obj, old: Obj | None, *, gone: bool) -> Iterable[str]:
        if gone or allocation_of(obj) is None:
            self._began.pop(obj["metadata"]["uid"], None)
            return ()
        return (key_of(obj),) if any(each.get("bindingConditions") for each in results_of(obj)) else ()

    def reconcile(self, key: str) -> Sequence[Action]:
        claim = self.find(key)
        if claim is None or allocation_of(claim) is None:
            return ()
        passed = monotonic() - self._began.setdefault(claim["metadata"]["uid"], monotonic())
        status, waits = claim["status"], list[float]()
        devices = list(status.get("devices") or ())
        for result in results_of(claim):
            if not result.get("bindingConditions"):
                continue
            pool = self._fleet.of(result["driver"])
            left = (pool.binding_seconds if pool is not None else 0.0) - passed
            if left > 0:
                waits.append(left)
            else:
                devices = _with_conditions(devices, result, pool.binding_failure if pool is not None else "")
        written = set_status(CLAIMS, claim, {**status, "devices": devices} if devices else status)
        return [*written, *([After(min(waits))] if waits else [])]


def _with_conditions(devices: Sequence[Obj], result: Obj, failure: str) -> list[Obj]:
    """The devices of a status, with the conditions that a device was to get."""
    driver, pool, device = device_of(result)
    place: Obj = {"driver": driver, "pool": pool, "device": device}
    old: Obj = next((each for each in devices if device_of(each) == (driver, pool, device)), place)
    types = result["bindingConditions"]
    if failure:
        types = (result.get("bindingFailureConditions") or ())[:1]
    conditions: list[Obj] = old.get("conditions") or []
    for type_ in types:
        why = failure or "the device is ready"
        found = {"type": type_, "status": "True", "reason": "Failed" if failure else "Ready", "message": why}
        conditions = with_condition(conditions, found, utc_now())
    others = [each for each in devices if each is not old]
    return [*others, {**old, "conditions": conditions}]
