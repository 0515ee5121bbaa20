"""The devices that are published: those of the newest generation of each pool. Pure."""

from __future__ import annotations

from collections import defaultdict

from vsched.apimachinery.meta.kinds import Obj
from vsched.sim.controllers.devices.objects import DeviceKey


class PublishedDevices:
    """Follows the slices."""

    def __init__(self) -> None:
        self._slices: dict[tuple[str, str], dict[str, tuple[int, frozenset[str]]]] = defaultdict(dict)
        """The generation and the devices of each slice, by driver and pool."""
        self._pool_of: dict[str, tuple[str, str]] = {}

    def note(self, slice_: Obj, *, gone: bool) -> None:
        name, spec = slice_["metadata"]["name"], slice_["spec"]
        pool = spec["driver"], spec["pool"]["name"]
        before = self._pool_of.pop(name, pool)
        self._slices[before].pop(name, None)
        if not gone:
            devices = frozenset(each["name"] for each in spec.get("devices") or ())
            self._slices[pool][name] = int(spec["pool"].get("generation", 0)), devices
            self._pool_of[name] = pool
        if not self._slices[before]:
            del self._slices[before]

    def __contains__(self, device: DeviceKey) -> bool:
        slices = self._slices.get((device.driver, device.pool), {}).values()
        newest = max((generation for generation, _ in slices), default=0)
        return any(generation == newest and device.device in devices for generation, devices in slices)
