"""The plugin objects of one session, by tier, and which of them take part in an extension point."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any, TypeVar

import msgspec

from vsched.framework.combine.agreeing import Voter
from vsched.framework.points.extension import Plugin, Point
from vsched.framework.points.victims import Purpose, VictimVotes, Votes
from vsched.framework.policy import Policy, Switches
from vsched.framework.registry import Registry
from vsched.framework.trace import Trace
from vsched.model.pods.task import Task


def measure(plugin: Plugin[Any], trace: Trace) -> list[str]:
    """Wrap every extension point function of the plugin object in a timer; returns the names of these functions."""
    points = [base for base in type(plugin).__mro__ if issubclass(base, Point) and base is not Point]
    names = {name for base in points for name in vars(base) if not name.startswith("_") and name != "point"}
    questions = [name for name in sorted(names) if callable(getattr(plugin, name, None))]
    for name in questions:
        setattr(plugin, name, trace.wrap(plugin.name, getattr(plugin, name)))
    if isinstance(plugin, VictimVotes):
        setattr(plugin, "victim_votes", _measured_votes(plugin.name, plugin.victim_votes, trace))  # noqa: B010
    return questions


def _measured_votes(name: str, ask: Voter, trace: Trace) -> Voter:
    """The same victim votes, with a timer around the functions that they carry."""

    def measured(evictor: Task, purpose: Purpose) -> Votes | None:
        votes = ask(evictor, purpose)
        if votes is None:
            return None
        regains = None if votes.regains is None else trace.wrap(name, votes.regains)
        keeping = None if votes.agreed_keeping is None else trace.wrap(name, votes.agreed_keeping)
        agreed, rules_out = trace.wrap(name, votes.agreed), trace.wrap(name, votes.rules_out)
        return votes._replace(agreed=agreed, rules_out=rules_out, regains=regains, agreed_keeping=keeping)

    return measured


PointT = TypeVar("PointT", bound=Point)
_PROMISES = ("by_job_alone", "by_request_alone")
"""Of points: whether a plugin looks at nothing else."""


@dataclass(frozen=True, slots=True)
class PolicyLayout:
    """Which plugins of a policy take part in which extension points; all are numbered in tier order."""

    switches: list[Switches]
    """Those that plugins of the policy have: mostly all plugins have the same."""
    plugins: list[tuple[type[Plugin[Any]], msgspec.Struct]]
    """The class of each plugin, and its arguments."""
    switches_of: list[int]
    """By plugin: the position of its switches."""
    points: dict[type[Point], list[int]]
    tiers: list[dict[type[Point], list[int]]]
    """The same by tier."""
    admits: bool
    """Whether jobs wait to be admitted."""
    looking_around: set[type[Point]]
    """The points in which some plugin looks at more than the job, or than what it asks for."""


def layout_of(policy: Policy, registry: Registry) -> PolicyLayout:
    """What every session under a policy finds."""
    switches = [*dict.fromkeys(conf.switches for conf in policy.plugins())]
    found = PolicyLayout(switches, [], [], {}, [], "enqueue" in policy.actions, set())
    for tier in policy.tiers:
        found.tiers.append({})
        for conf in tier.plugins:
            number = len(found.switches_of)
            found.switches_of.append(found.switches.index(conf.switches))
            kind = registry.plugins[conf.name]
            found.plugins.append((kind, conf.args))
            for point in kind.points:
                if conf.switches.enabled(point.point):
                    found.points.setdefault(point, []).append(number)
                    found.tiers[-1].setdefault(point, []).append(number)
                    if not all(getattr(kind, name) for name in _PROMISES if hasattr(point, name)):
                        found.looking_around.add(point)
    return found


class PluginTiers:
    """The plugins of one session, tier by tier, in the order of the policy."""

    def __init__(self, policy: Policy, registry: Registry, trace: Trace, layout: PolicyLayout | None = None) -> None:
        self.trace = trace
        self._layout = layout_of(policy, registry) if layout is None else layout
        self._plugins: list[Plugin[Any]] = [kind(args) for kind, args in self._layout.plugins]
        """All of them, in tier order."""
        self._measured: list[tuple[Plugin[Any], str]] = []
        if trace.measures_plugins:
            for plugin in self._plugins:
                self._measured += [(plugin, name) for name in measure(plugin, trace)]

    def taking_part(self, point: type[PointT]) -> list[PointT]:
        """The plugins that take part in a point, in tier order."""
        numbers = self._layout.points.get(point)
        found: list[Any] = [] if numbers is None else [*map(self._plugins.__getitem__, numbers)]
        return found

    def lasts_until(self) -> float:
        """Until when all that they answered in this session holds, if nothing else changes; infinite for ever."""
        return min([plugin.lasts_until() for plugin in self._plugins], default=inf)

    def release(self) -> None:
        """Remove the timers. A plugin refers to itself through a timer, which would delay freeing its memory."""
        for plugin, name in self._measured:
            delattr(plugin, name)
        self._measured.clear()

    def _in_tiers(self, point: type[PointT]) -> list[list[PointT]]:
        """Plugins that take part in a point, by tier; tiers without one are empty lists."""
        found: list[Any] = [[*map(self._plugins.__getitem__, tier.get(point, ()))] for tier in self._layout.tiers]
        return found
