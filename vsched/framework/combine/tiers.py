"""The plugin objects of one session, by tier, and which of them take part in an extension point."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar, cast

from vsched.framework.combine.measuring import measure
from vsched.framework.points.extension import Plugin, Point
from vsched.framework.policy import Policy, Switches
from vsched.framework.registry import Registry
from vsched.framework.trace import Trace

PointT = TypeVar("PointT", bound=Point)


class PluginTiers:
    """The plugins of one session, tier by tier, in the order of the policy."""

    def __init__(self, policy: Policy, registry: Registry, trace: Trace) -> None:
        self._trace = trace
        self._tiers: list[list[tuple[Plugin[Any], Switches]]] = [
            [(registry.plugins[conf.name](conf.args), conf.switches) for conf in tier.plugins] for tier in policy.tiers
        ]
        self._measured: list[tuple[Plugin[Any], str]] = []
        if trace.measures_plugins:
            for tier in self._tiers:
                for plugin, _ in tier:
                    self._measured += [(plugin, name) for name in measure(plugin, trace)]

    def taking_part(self, point: type[PointT]) -> list[PointT]:
        """The plugins that take part in a point, in tier order."""
        return [plugin for tier in self._in_tiers(point) for plugin in tier]

    def release(self) -> None:
        """Remove the timers. A plugin refers to itself through a timer, which would delay freeing its memory."""
        for plugin, name in self._measured:
            delattr(plugin, name)
        self._measured.clear()

    def _in_tiers(self, point: type[PointT]) -> list[list[PointT]]:
        """Plugins that take part in a point, by tier; tiers without one are empty lists."""
        return [list(_parts(tier, point)) for tier in self._tiers]


def _parts(tier: Iterable[tuple[Plugin[Any], Switches]], point: type[PointT]) -> Iterator[PointT]:
    for plugin, switches in tier:
        if point in plugin.kinds and switches.enabled(point.point):
            yield cast("PointT", plugin)
