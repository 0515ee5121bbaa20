"""Combines the numbers of a source into one reading. Pure.

Numbers are keyed by the source's name for a node. If several belong to one node the largest counts, so that no node
looks less used than it is. Values that are not numbers count as unknown.

Clocks: a sample up to a minute ahead of our clock counts as taken now. A sample further ahead has an unknown age, and
would look new for too long: its node is left out, and counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from vsched.collectors.source import MOST_NAMED, CollectedUsage, NodeTarget
from vsched.model.nodes.usage import Figures, NodeUsage, Reading

AHEAD_SECONDS = 60.0
"""How far another clock may be ahead of ours."""

MOST = 1e12
"""Larger values, in percent or in seconds, are not believed and count as unknown."""

CPU, MEMORY, CPU_SPREAD, MEMORY_SPREAD = "cpu", "memory", "cpuSpread", "memorySpread"
"""The figures: averages in percent, spreads in percentage points."""

Numbers = Mapping[str, float]
"""Values by the source's name for a node."""
Asked = tuple[str, str]
"""A figure and a period."""


class Names:
    """Finds the node for the name that a source uses."""

    def __init__(self, targets: Iterable[NodeTarget]) -> None:
        self._nodes: dict[str, str | None] = {target.instance or target.name: target.name for target in targets}
        self.strangers: set[str] = set()
        """Names from the source that belong to no node."""

    def node(self, instance: str) -> str | None:
        """The name of the node that the source calls so, with or without a port; None if there is no such node."""
        try:
            return self._nodes[instance]
        except KeyError:
            host, colon, port = instance.rpartition(":")
            found = self._nodes.get(host.strip("[]")) if colon and port.isdigit() else None
            self._nodes[instance] = found  # each is asked about once a figure
            if found is None:
                self.strangers.add(instance)
            return found


def collect(
    taken: float, targets: Sequence[NodeTarget], measured: Numbers, found: Mapping[Asked, Numbers]
) -> CollectedUsage:
    """One reading; nodes without a time of their newest sample, or without any average, are left out."""
    names = Names(targets)
    newest = _by_node(measured, names)
    by_node = {asked: _by_node(numbers, names) for asked, numbers in found.items()}
    cpu = _figures(by_node, CPU, CPU_SPREAD)
    memory = _figures(by_node, MEMORY, MEMORY_SPREAD)
    nodes: dict[str, NodeUsage] = {}
    ahead = 0
    for name, at in newest.items():
        if at > taken + AHEAD_SECONDS:
            ahead += 1
        elif name in cpu or name in memory:
            nodes[name] = NodeUsage(min(at, taken), cpu.get(name, _NOTHING), memory.get(name, _NOTHING))
    return CollectedUsage(Reading(taken, nodes), tuple(sorted(names.strangers)[:MOST_NAMED]), ahead)


def _by_node(numbers: Numbers, names: Names) -> dict[str, float]:
    found: dict[str, float] = {}
    for instance, number in numbers.items():
        name = names.node(instance)
        if name is not None and number < MOST:  # so is no NaN
            found[name] = max(number, found.get(name, 0.0))
    return found


def _figures(by_node: Mapping[Asked, Mapping[str, float]], average: str, spread: str) -> dict[str, dict[str, Figures]]:
    """By node, then by period."""
    found: dict[str, dict[str, Figures]] = {}
    for (figure, period), numbers in by_node.items():
        if figure == average:
            spreads = by_node.get((spread, period), {})
            for name, number in numbers.items():
                found.setdefault(name, {})[period] = Figures(number, spreads.get(name, 0.0))
    return found


_NOTHING: dict[str, Figures] = {}
