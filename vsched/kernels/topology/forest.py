"""HyperNodes as trees, and why some trees are left out. Nodes play no part here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from vsched.kernels.topology import words
from vsched.kernels.topology.patterns import problem_of
from vsched.model.topology.hypernodes import HyperNode, TopologyCatalogue

NONE = -1
"""The position of a parent that there is not."""
_MOST = 3
"""How many faults of one tree are told."""
_CIRCLE_MAX = 8
"""How many HyperNodes of a circle are named."""


@dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """The HyperNodes of all trees without faults, children before their parents: by tier, then by name."""

    hypernodes: tuple[HyperNode, ...] = ()
    parents: tuple[int, ...] = ()
    """The position of the HyperNode that each one is a member of, or ``NONE``."""
    roots: tuple[int, ...] = ()
    """The position of the HyperNode at the top of each one's tree."""
    problems: Mapping[str, str] = field(default_factory=dict)
    """By name of a HyperNode: why its tree is left out."""
    keys: tuple[str, ...] = ()
    """The labels of nodes that members are selected by."""

    def ancestors(self, position: int) -> Iterable[int]:
        """The HyperNodes that contain this one, the closest first."""
        while (position := self.parents[position]) != NONE:
            yield position


def forest_of(catalogue: TopologyCatalogue) -> Forest:
    """The trees of a catalogue. A HyperNode that does not exist is no fault: it has no nodes."""
    by_name = {one.name: one for one in catalogue.hypernodes}
    parents = _parents(by_name, catalogue.unread)
    trees = _trees(sorted({*by_name, *catalogue.unread}), parents)
    problems = _problems(catalogue, by_name, parents, trees)
    sound = sorted(
        (one for one in catalogue.hypernodes if one.name not in problems), key=lambda one: (one.tier, one.name)
    )
    position = {one.name: at for at, one in enumerate(sound)}
    above = [position[parents[one.name][0]] if parents.get(one.name) else NONE for one in sound]
    roots = list(range(len(sound)))
    for at in reversed(range(len(sound))):  # parents come after their children
        if above[at] != NONE:
            roots[at] = roots[above[at]]
    selectors = (member.labels for one in sound for member in one.members if member.labels is not None)
    keys = sorted({requirement.key for selector in selectors for requirement in selector.requirements})
    return Forest(tuple(sound), tuple(above), tuple(roots), problems, tuple(keys))


def children_of(hypernode: HyperNode) -> tuple[str, ...]:
    """The names of the HyperNodes that it lists, each once."""
    return tuple(dict.fromkeys(member.name for member in hypernode.members if not member.is_node))


def told(faults: Iterable[str]) -> str:
    """Faults of one tree as one sentence."""
    distinct = list(dict.fromkeys(faults))
    more = f"; and {len(distinct) - _MOST} more" if len(distinct) > _MOST else ""
    return "; ".join(distinct[:_MOST]) + more


def _parents(by_name: Mapping[str, HyperNode], unread: Mapping[str, str]) -> dict[str, list[str]]:
    """By name of a HyperNode that exists: those that list it, sorted."""
    parents: dict[str, list[str]] = {}
    for name in sorted(by_name):
        for child in children_of(by_name[name]):
            if child in by_name or child in unread:
                parents.setdefault(child, []).append(name)
    return parents


def _trees(names: list[str], parents: Mapping[str, list[str]]) -> dict[str, str]:
    """By name: the first name of the tree (all that hang together) that it is in."""
    above: dict[str, str] = {name: name for name in names}

    def top(name: str) -> str:
        while above[name] != name:
            above[name] = name = above[above[name]]
        return name

    for child, listed in parents.items():
        for parent in listed:
            one, other = sorted((top(child), top(parent)))
            above[other] = one
    return {name: top(name) for name in names}


def _problems(
    catalogue: TopologyCatalogue,
    by_name: Mapping[str, HyperNode],
    parents: Mapping[str, list[str]],
    trees: Mapping[str, str],
) -> dict[str, str]:
    circles = list(_circles(parents))
    circling = {trees[name] for name, _ in circles}  # tiers cannot be right there
    faults: dict[str, list[str]] = {}
    for name, fault in (
        *_unread(catalogue),
        *_patterns(catalogue.hypernodes),
        *circles,
        *_second_parents(parents),
        *(found for found in _levels(by_name, parents) if trees[found[0]] not in circling),
    ):
        faults.setdefault(trees[name], []).append(fault)
    if not faults:
        return {}
    whole = {tree: told(found) for tree, found in faults.items()}
    return {name: whole[tree] for name, tree in trees.items() if tree in whole}


def _unread(catalogue: TopologyCatalogue) -> Iterable[tuple[str, str]]:
    return ((name, words.unread(name, why)) for name, why in sorted(catalogue.unread.items()))


def _patterns(hypernodes: Iterable[HyperNode]) -> Iterable[tuple[str, str]]:
    for one in hypernodes:
        for member in one.members:
            if member.pattern and (problem := problem_of(member.pattern)):
                yield one.name, words.bad_pattern(one.name, problem)


def _second_parents(parents: Mapping[str, list[str]]) -> Iterable[tuple[str, str]]:
    for child, listed in sorted(parents.items()):
        if len(listed) > 1:
            yield child, words.two_parents(child, listed[0], listed[1])


def _levels(by_name: Mapping[str, HyperNode], parents: Mapping[str, list[str]]) -> Iterable[tuple[str, str]]:
    for child, listed in sorted(parents.items()):
        for parent in listed:
            if child not in by_name:
                continue
            below, above = by_name[child].tier, by_name[parent].tier
            if below >= above:
                yield child, words.not_below(child, below, parent, above)


def _circles(parents: Mapping[str, list[str]]) -> Iterable[tuple[str, str]]:
    """Circles among the first parents; a HyperNode with several parents is a fault of its own."""
    settled: set[str] = set()
    for name in sorted(parents):
        path: dict[str, None] = {}
        at: str | None = name
        while at is not None and at not in settled and at not in path:
            path[at] = None
            at = parents[at][0] if at in parents else None
        settled.update(path)
        if at is not None and at in path:
            names = list(path)
            circle = names[names.index(at) :]
            if len(circle) > _CIRCLE_MAX:
                circle[_CIRCLE_MAX:] = [f"{len(circle) - _CIRCLE_MAX} more"]
            yield at, words.circle([*circle, at])
