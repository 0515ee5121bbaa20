"""All tiers of a cluster, from HyperNodes and from node labels."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from vsched.kernels.topology.forest import NONE
from vsched.kernels.topology.kept import kept
from vsched.kernels.topology.membership import HyperNodeMembers, forest_in, membership
from vsched.kernels.topology.patterns import Rows
from vsched.model.nodes.table import NO_DOMAIN, Ids, Mask, NodeStatics
from vsched.model.topology.hypernodes import TopologyCatalogue
from vsched.model.topology.tiers import WHOLE_CLUSTER, LabelTier, Tier, Tiers


def tiers_of(catalogue: TopologyCatalogue, label_tiers: Sequence[LabelTier], statics: NodeStatics) -> Tiers:
    """All tiers, closest first; the same object while the catalogue, the label tiers, and the names of nodes and their
    labels that matter here are the same.

    A node that is in a HyperNode has the domains of its HyperNodes; any other node has those of its labels.
    """
    labels = tuple(label_tiers)

    def compute() -> Tiers:
        keys = [*forest_in(catalogue, statics).keys, *(tier.key for tier in labels)]
        return kept(statics, "tiers", (catalogue, labels), keys, lambda: _tiers(catalogue, labels, statics))

    return statics.remember(("tiers", catalogue, labels), compute)


def _tiers(catalogue: TopologyCatalogue, labels: tuple[LabelTier, ...], statics: NodeStatics) -> Tiers:
    found = membership(catalogue, statics)
    taken = {one.name for one in catalogue.hypernodes}
    by_label = label_domains(labels, statics, found.lowest == NONE, taken) if labels else {}
    by_hypernode = _hypernode_domains(found)
    names = _tier_names(found, labels)
    tiers = [
        _tier(level, names.get(level, ""), by_hypernode.get(level), by_label.get(level), len(statics))
        for level in sorted({*by_hypernode, *by_label})
    ]
    top = tiers[-1].level + 1 if tiers else 1
    tiers.append(Tier(top, "", _fixed(np.zeros(len(statics), dtype=np.int32)), (WHOLE_CLUSTER,)))
    return Tiers(tuple(tiers), _levels(found, labels), found.problems, catalogue.problem)


def _hypernode_domains(found: HyperNodeMembers) -> dict[int, Domains]:
    """By level: for each node the position of its HyperNode among those of the level, and their names."""
    forest = found.forest
    sound = [at for at, one in enumerate(forest.hypernodes) if one.name not in found.problems]
    count = len(forest.hypernodes)
    tiers = np.array([one.tier for one in forest.hypernodes], dtype=np.int64)
    # Row ``count`` stands for "none": no parent, and no node's HyperNode.
    parents = np.array([*(count if each == NONE else each for each in forest.parents), count], dtype=np.intp)
    lowest = np.where(found.lowest == NONE, count, found.lowest)
    reached = np.arange(count + 1, dtype=np.intp)
    """For each HyperNode, the one of its chain that the levels so far have come to."""
    domains: dict[int, Domains] = {}
    for level in sorted({forest.hypernodes[at].tier for at in sound}):
        lower = reached < count
        lower[lower] = tiers[reached[lower]] < level
        reached = np.where(lower, parents[reached], reached)
        here = [at for at in sound if forest.hypernodes[at].tier == level]
        position = np.full(count + 1, NO_DOMAIN, dtype=np.intp)
        position[here] = np.arange(len(here))
        domains[level] = Domains(position[reached][lowest], [forest.hypernodes[at].name for at in here])
    return domains


def _tier(level: int, name: str, tree: Domains | None, label: Domains | None, count: int) -> Tier:
    """One tier of the domains of trees and of labels."""
    nowhere = np.full(count, NO_DOMAIN, dtype=np.intp)
    tree, label = tree or Domains(nowhere, []), label or Domains(nowhere, [])
    names = [*tree.names, *label.names]
    order = sorted(range(len(names)), key=names.__getitem__)
    position = np.full(len(names) + 1, NO_DOMAIN, dtype=np.int32)
    position[order] = np.arange(len(order), dtype=np.int32)
    ids = np.where(label.ids == NO_DOMAIN, tree.ids, label.ids + len(tree.names))
    return Tier(level, name, _fixed(position[ids]), tuple(names[at] for at in order))


def _names(found: HyperNodeMembers, labels: Sequence[LabelTier]) -> list[tuple[int, str]]:
    """Level and name of each tier that has a name, those of HyperNodes first."""
    sound = [one for one in found.forest.hypernodes if one.name not in found.problems]
    named = [(one.tier, one.tier_name) for one in sound] + [(tier.level, tier.name or tier.key) for tier in labels]
    return [(level, name) for level, name in named if name]


def _tier_names(found: HyperNodeMembers, labels: Sequence[LabelTier]) -> dict[int, str]:
    """By level the first name that it has."""
    return dict(reversed(_names(found, labels)))


def _levels(found: HyperNodeMembers, labels: Sequence[LabelTier]) -> dict[str, int]:
    """By name the closest level that has it."""
    return {name: level for level, name in sorted(_names(found, labels), reverse=True)}


def _fixed(ids: Ids) -> Ids:
    ids.flags.writeable = False
    return ids


class Domains(NamedTuple):
    """The domains of one level."""

    ids: Rows
    """intp[nodes]: position in ``names``, or ``NO_DOMAIN``."""
    names: list[str]


class _Values(NamedTuple):
    """What the labels of one level say."""

    ids: Rows
    """intp[nodes]: position in ``values``, or ``NO_DOMAIN`` where the node has no such label."""
    values: list[str]


def label_domains(
    label_tiers: Sequence[LabelTier], statics: NodeStatics, outside: Mask, taken: Collection[str]
) -> dict[int, Domains]:
    """By level, the domains of the nodes that are ``outside`` of all HyperNodes.

    Where several labels have one level, the first one that a node has counts. A domain whose name is ``taken``, by a
    HyperNode, is called ``key=value``.
    """
    found: dict[int, Domains] = {}
    chain, prefixes = np.zeros(len(statics), dtype=np.intp), [""]
    for level in sorted({tier.level for tier in label_tiers}, reverse=True):
        keys = [tier.key for tier in label_tiers if tier.level == level]
        values = _values(keys, statics, outside, () if found else taken)  # further names have a "/"
        both = chain * (len(values.values) + 1) + values.ids + 1
        distinct, inverse = np.unique(both, return_inverse=True)
        prefix, value = np.divmod(distinct, len(values.values) + 1)
        names = [
            prefixes[above] + (values.values[at - 1] if at else "")
            for above, at in zip(prefix.tolist(), value.tolist(), strict=True)
        ]
        chain, prefixes = inverse.astype(np.intp), [f"{name}/" for name in names]
        found[level] = _sorted_domains(chain, names, values.ids)
    return found


def _values(keys: Sequence[str], statics: NodeStatics, outside: Mask, taken: Collection[str]) -> _Values:
    ids = np.full(len(statics), NO_DOMAIN, dtype=np.intp)
    values: list[str] = []
    for key in keys:
        column = statics.label(key)
        given = np.array([*(value != "" for value in column.values), False])  # the last one: without the label
        take = outside & (ids == NO_DOMAIN) & given[column.ids]
        ids[take] = column.ids[take] + len(values)
        again = {*values, *taken} & {*column.values}
        values.extend(f"{key}={value}" if value in again else value for value in column.values)
    return _Values(ids, values)


def _sorted_domains(chain: Rows, names: Sequence[str], given: Rows) -> Domains:
    """The domains that have a value at this level, by name."""
    used = np.unique(chain[given != NO_DOMAIN]).tolist()
    order = sorted(used, key=lambda at: names[at])
    position = np.full(len(names) + 1, NO_DOMAIN, dtype=np.intp)
    position[order] = np.arange(len(order))
    ids = np.where(given == NO_DOMAIN, NO_DOMAIN, position[chain])
    return Domains(ids, [names[at] for at in order])
