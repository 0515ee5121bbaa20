"""The plugin objects of one session, by tier, and which of them take part in an extension point."""

from __future__ import annotations

from collections.abc import Iterable
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
        self._by_point = [_by_point(tier) for tier in self._tiers]
        self._measured: list[tuple[Plugin[Any], str]] = []
        if trace.measures_plugins:
            for tier in self._tiers:
                for plugin, _ in tier:
                    self._measured += [(plugin, name) for name in measure(plugin, trace)]

    def taking_part(self, point: type[PointT]) -> list[PointT]:
        """The plugins that take part in a point, in tier order."""
        return [cast("PointT", plugin) for tier in self._by_point for plugin in tier.get(point, ())]

    def release(self) -> None:
        """Remove the timers. A plugin refers to itself through a timer, which would delay freeing its memory."""
        for plugin, name in self._measured:
            delattr(plugin, name)
        self._measured.clear()

    def _in_tiers(self, point: type[PointT]) -> list[list[PointT]]:
        """Plugins that take part in a point, by tier; tiers without one are empty lists."""
        return [[cast("PointT", plugin) for plugin in tier.get(point, ())] for tier in self._by_point]


def _by_point(tier: Iterable[tuple[Plugin[Any], Switches]]) -> dict[type[Point], list[Plugin[Any]]]:
    """The plugins of a tier that take part in each extension point."""
    found: dict[type[Point], list[Plugin[Any]]] = {}
    for plugin, switches in tier:
        for point in plugin.points:
            if switches.enabled(point.point):
                found.setdefault(point, []).append(plugin)
    return found
