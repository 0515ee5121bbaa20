"""The plugin objects of one session, by tier, and which of them take part in an extension point."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
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
        self.trace = trace
        self._tiers: list[list[tuple[Plugin[Any], Switches]]] = [
            [(registry.plugins[conf.name](conf.args), conf.switches) for conf in tier.plugins] for tier in policy.tiers
        ]
        plugins = [one for tier in self._tiers for one in tier]
        self._switches = [*dict.fromkeys(switches for _, switches in plugins)]
        """Those that plugins of the policy have: mostly all plugins have the same."""
        self._plugins = [(plugin, self._switches.index(switches)) for plugin, switches in plugins]
        """All of them, in tier order, with the positions of their switches."""
        self._taking_part: dict[type[Point], list[Plugin[Any]]] = {}
        """The plugins that take part in each extension point, in tier order."""
        self._by_point = [self._sorted_in(tier) for tier in self._tiers]
        self._measured: list[tuple[Plugin[Any], str]] = []
        if trace.measures_plugins:
            for plugin, _ in plugins:
                self._measured += [(plugin, name) for name in measure(plugin, trace)]

    def taking_part(self, point: type[PointT]) -> list[PointT]:
        """The plugins that take part in a point, in tier order."""
        return [*self._taking_part.get(point, ())]

    def release(self) -> None:
        """Remove the timers. A plugin refers to itself through a timer, which would delay freeing its memory."""
        for plugin, name in self._measured:
            delattr(plugin, name)
        self._measured.clear()

    def _in_tiers(self, point: type[PointT]) -> list[list[PointT]]:
        """Plugins that take part in a point, by tier; tiers without one are empty lists."""
        return [[cast("PointT", plugin) for plugin in tier.get(point, ())] for tier in self._by_point]

    def _sorted_in(self, tier: Iterable[tuple[Plugin[Any], Switches]]) -> dict[type[Point], list[Plugin[Any]]]:
        """The plugins of a tier that take part in each extension point; they are noted for all tiers as well."""
        found: dict[type[Point], list[Plugin[Any]]] = {}
        everywhere = self._taking_part
        for plugin, switches in tier:
            for point in _points_on(plugin.points, switches):
                found.setdefault(point, []).append(plugin)
                everywhere.setdefault(point, []).append(plugin)
        return found


@lru_cache(maxsize=1024)
def _points_on(points: tuple[type[Point], ...], switches: Switches) -> tuple[type[Point], ...]:
    """Those of a plugin's extension points that are on; every session asks for the same ones."""
    return tuple(point for point in points if switches.enabled(point.point))
