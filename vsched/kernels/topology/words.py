"""What is wrong with HyperNodes: a fault each, of trees that are left out, and what a tree still lacks."""

from __future__ import annotations

from collections.abc import Sequence


def unread(name: str, why: str) -> str:
    """Its object cannot be read."""
    return f"HyperNode {name} cannot be read: {why}"


def bad_pattern(name: str, problem: str) -> str:
    """A regular expression that selects its members."""
    return f"HyperNode {name} has a pattern that cannot be used: {problem}"


def two_parents(name: str, first: str, second: str) -> str:
    """It is listed twice."""
    return f"HyperNode {name} is a member of {first} and of {second}, and may be a member of one only"


def not_below(name: str, tier: int, parent: str, above: int) -> str:
    """Its tier is not lower than that of its parent."""
    return f"HyperNode {name} has tier {tier}, and its parent {parent} tier {above}, which has to be higher"


def circle(names: Sequence[str]) -> str:
    """Each is in the next one, the last in the first."""
    return f"HyperNodes contain each other: {' in '.join(names)}"


def node_in_two(node: str, one: str, other: str) -> str:
    """Two that are not below one another have the same node."""
    return f"node {node} is in HyperNode {one} and in HyperNode {other}, and neither contains the other"


def missing(shown: Sequence[str], more: int) -> str:
    """Members that do not exist, and how many more there are."""
    return f"not there yet: {', '.join(shown)}{f' and {more} more' if more else ''}"
