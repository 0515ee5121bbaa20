"""The ``tiers`` of a policy file: which plugins decide, in which order, with which switches and arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from vsched.framework.points.extension import Plugin
from vsched.framework.policy import PluginConf, PluginTier, Switches
from vsched.framework.registry import Registry, points_of
from vsched.settings.names import PLUGINS_IN_THE_FIELD, SWITCH_BY_KEY, point_label
from vsched.settings.reading.arguments import read_arguments
from vsched.settings.reading.problems import Problems, did_you_mean
from vsched.settings.reading.scalars import INVALID, boolean
from vsched.settings.reading.tree import Keyed, Listed, MappingEntry, Node, Scalar, got, is_null
from vsched.settings.words import policy as words

_PLUGIN_KEYS = ("name", "arguments", *SWITCH_BY_KEY)


class Placed(NamedTuple):
    """A plugin that the file names, known or not, and where."""

    name: str
    tier: int
    hierarchy: bool
    path: str
    line: int


def read_tiers(policy: Keyed, registry: Registry, problems: Problems) -> tuple[PluginTier, ...]:
    """The tiers; what cannot be used is left out and among the problems."""
    entry = policy.get("tiers")
    if entry is None:
        problems.add(policy.line, "tiers", words.TIERS_MISSING)
        return ()
    if not isinstance(entry.value, Listed) or not entry.value.items:
        empty = words.EMPTY_LIST if isinstance(entry.value, Listed) else got(entry.value)
        problems.add(entry.line, "tiers", words.tiers_expected(empty))
        return ()
    reading = _Tiers(registry, problems)
    tiers = [PluginTier(tuple(reading.tier(node, at))) for at, node in enumerate(entry.value.items)]
    reading.check_together()
    return tuple(tiers)


class _Tiers:
    """The tiers of one file, with what is known once all are read."""

    def __init__(self, registry: Registry, problems: Problems) -> None:
        self.registry = registry
        self.problems = problems
        self.placed: list[Placed] = []

    def tier(self, node: Node, at: int) -> Iterator[PluginConf]:
        path = f"tiers[{at}]"
        if not isinstance(node, Keyed):
            self.problems.add(node.line, path, words.tier_expected(got(node)))
            return
        for entry in node.entries:
            if entry.key != "plugins":
                hint = did_you_mean(entry.key, ["plugins"])
                self.problems.add(entry.line, f"{path}.{entry.key}", f"unknown key{hint}")
        plugins = node.get("plugins")
        if plugins is None or not isinstance(plugins.value, Listed) or not plugins.value.items:
            line = plugins.line if plugins else node.line
            self.problems.add(line, f"{path}.plugins", words.PLUGINS_EXPECTED)
            return
        for place, plugin in enumerate(plugins.value.items):
            conf = self.plugin(plugin, at, f"{path}.plugins[{place}]")
            if conf is not None:
                yield conf

    def plugin(self, node: Node, tier: int, path: str) -> PluginConf | None:
        if not isinstance(node, Keyed):
            self.problems.add(node.line, path, words.plugin_expected(got(node)))
            return None
        switches, lines = self._switches(node, path)
        entry = node.get("name")
        if entry is None or not isinstance(entry.value, Scalar) or entry.value.is_null:
            line = entry.line if entry else node.line
            self.problems.add(line, f"{path}.name", words.PLUGIN_NAME_MISSING)
            return None
        name = entry.value.text
        self.placed.append(Placed(name, tier, switches.hierarchy, f"{path}.name", entry.line))
        plugin = self.registry.plugins.get(name)
        if plugin is None:
            self.problems.add(entry.line, f"{path}.name", self._absent(name))
            return None
        self._note_idle(plugin, lines, path)
        given = node.get("arguments")
        line = given.line if given else node.line
        args = read_arguments(
            given.value if given else None, plugin.args_type, f"{path}.arguments", line, self.problems
        )
        return None if args is None else PluginConf(name, args, switches)

    def _absent(self, name: str) -> str:
        if name in PLUGINS_IN_THE_FIELD:
            return words.plugin_not_yet(name)
        return words.unknown_plugin(name, did_you_mean(name, PLUGINS_IN_THE_FIELD | set(self.registry.plugins)))

    def _note_idle(self, plugin: type[Plugin[Any]], lines: Mapping[str, MappingEntry], path: str) -> None:
        """Note the switches of what a plugin has no part in."""
        points = {point.point for point in points_of(plugin)} | ({"hierarchy"} if plugin.hierarchical else set())
        points |= plugin.heeds
        for switch, entry in lines.items():
            if switch not in points:
                name = plugin.name
                why = words.no_hierarchy(name) if switch == "hierarchy" else words.no_part_in(name, point_label(switch))
                self.problems.idle(entry.line, f"{path}.{entry.key}", why)

    def _switches(self, node: Keyed, path: str) -> tuple[Switches, Mapping[str, MappingEntry]]:
        """The switches, and where each was given."""
        given: dict[str, bool] = {}
        lines: dict[str, MappingEntry] = {}
        for entry in node.entries:
            if entry.key in ("name", "arguments"):
                continue
            below = f"{path}.{entry.key}"
            switch = SWITCH_BY_KEY.get(entry.key)
            if switch is None:
                self.problems.add(entry.line, below, f"unknown key{did_you_mean(entry.key, _PLUGIN_KEYS)}")
            elif switch in lines:
                self.problems.add(entry.line, below, words.switch_twice(lines[switch].line))
            else:
                lines[switch] = entry
                value = boolean(entry.value) if isinstance(entry.value, Scalar) else INVALID
                if value is not INVALID:
                    given[switch] = value
                elif not is_null(entry.value):
                    self.problems.add(entry.line, below, words.flag_expected(got(entry.value)))
        return msgspec.structs.replace(Switches(), **given), lines

    def check_together(self) -> None:
        """What only shows when all plugins are known."""
        first: dict[str, Placed] = {}
        for placed in self.placed:
            if placed.name in first:
                text = words.plugin_twice(placed.name, first[placed.name].line)
                self.problems.add(placed.line, placed.path, text)
            first.setdefault(placed.name, placed)
        for rule in _TOGETHER:
            one, other = (first.get(name) for name in rule.names)
            if one and other and rule.refuses(one, other):
                later = max(one, other, key=lambda placed: placed.line)
                self.problems.add(later.line, later.path, rule.text)


class _Rule(NamedTuple):
    """Two plugins that cannot decide together."""

    names: tuple[str, str]
    refuses: Callable[[Placed, Placed], bool]
    text: str


_TOGETHER = (
    _Rule(
        ("proportion", "capacity"),
        lambda proportion, capacity: True,
        words.PROPORTION_AND_CAPACITY,
    ),
    _Rule(
        ("drf", "proportion"),
        lambda drf, proportion: drf.hierarchy and drf.tier == proportion.tier,
        words.DRF_AND_PROPORTION,
    ),
)
