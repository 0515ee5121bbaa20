"""The devices of an embedded cluster: of its DRA driver, and of its device plugins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from vsched.sim.controllers.devices.plugins import PluginDevices
from vsched.sim.controllers.devices.pools import DriverDevices


@dataclass(slots=True)
class DeviceFleet:
    """The devices of all nodes; may be replaced while the cluster runs."""

    pools: tuple[DriverDevices, ...] = ()
    """What the DRA driver publishes."""
    plugins: tuple[PluginDevices, ...] = ()
    """What device plugins register."""
    changed: list[Callable[[], None]] = field(default_factory=list)
    """Called after the pools were replaced."""

    def replace(self, pools: Sequence[DriverDevices], plugins: Sequence[PluginDevices] = ()) -> None:
        self.pools, self.plugins = tuple(pools), tuple(plugins)
        for tell in self.changed:
            tell()

    def of(self, driver: str) -> DriverDevices | None:
        """The first pool of a driver, which says how its binding goes."""
        return next((each for each in self.pools if each.driver == driver), None)
