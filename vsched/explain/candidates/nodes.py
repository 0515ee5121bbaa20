"""Levers of nodes, and of the constraints by which a job's pods select nodes.

Of several suitable nodes, those with the most room for the pods go first, so that a change touches few nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from vsched.explain.candidates.devices import claiming, device_levers, device_wishes, toleration_levers
from vsched.explain.candidates.fits import NodeFit, fit_of, nodes_of_queue, precious_nodes, room_for
from vsched.explain.candidates.levers import Lever, MissingMinimum, Rank
from vsched.explain.candidates.machines import machine_levers
from vsched.explain.candidates.places import near_rows, place_levers
from vsched.explain.candidates.volumes import volume_levers
from vsched.explain.edits.base import Edit
from vsched.explain.edits.nodes import LabelNodes, RemoveTaint, Uncordon
from vsched.explain.edits.rules import DropRule, Tolerate
from vsched.kernels.domains import HOSTNAME
from vsched.kernels.selectors import affinity_mask
from vsched.kernels.taints import REPELLING, is_tolerated, passes, taint_lists
from vsched.model.nodes.table import Ints, Mask, Taint
from vsched.model.pods.shape import Rules, Shape

TAINTS_MAX, SHAPES_MAX, NODES_MAX = 8, 4, 256
LABELS_MAX = 16
"""No lever sets more labels on a node than this."""


class Ground(NamedTuple):
    """What nodes offer to the pods of one shape."""

    room: Ints
    """int64[nodes]: how many of the pods fit by amounts, without regard to constraints."""
    precious: Mask
    """bool[nodes]: nodes with accelerators that the pods do not ask for."""


def node_levers(wants: MissingMinimum) -> Iterator[Lever]:
    """All levers of nodes that could help the job."""
    nodes = wants.situation.snapshot.nodes
    if not len(nodes) or not wants.waiting:
        return
    precious, of_queue = precious_nodes(wants), nodes_of_queue(wants)
    fits = {shape: fit_of(shape, nodes, of_queue) for shape in wants.shapes[:SHAPES_MAX]}
    yield from _once(_as_they_are(wants, fits, precious))
    yield from volume_levers(wants)
    yield from toleration_levers(wants)
    wishes = device_wishes(wants)
    if (claims := claiming(wants)) is not None:
        fit = fit_of(claims.shape, nodes, of_queue)
        yield from device_levers(wants, wishes, fit.usable, room_for(claims.shape, nodes))
    shape, fit = next(iter(fits.items()))
    able = np.where(fit.usable, room_for(shape, nodes), 0)
    yield from place_levers(wants, able)
    near = near_rows(wants, able)
    if near is not None:
        fits = {one: fit.near(near) for one, fit in fits.items()}
    yield from _once(machine_levers(wants, fits, precious, wishes))


def _as_they_are(wants: MissingMinimum, fits: Mapping[Shape, NodeFit], precious: Mask) -> Iterator[Lever]:
    """Levers of the nodes there are, for the pods of each shape."""
    for shape, fit in fits.items():
        ground = Ground(room_for(shape, wants.situation.snapshot.nodes), precious)
        yield from _cordons(wants, fit, ground)
        yield from _taints(wants, shape, fit, ground)
        yield from _labels(wants, shape, fit, ground)


def _once(levers: Iterable[Lever]) -> Iterator[Lever]:
    """Each lever once: pods of several shapes may be helped by the same."""
    seen: list[tuple[Edit, ...]] = []
    for lever in levers:
        edits = lever.edits(lever.most)
        if edits not in seen:
            seen.append(edits)
            yield lever


# -- existing nodes --------------------------------------------------------------------------------------------------


def _cordons(wants: MissingMinimum, fit: NodeFit, ground: Ground) -> Iterator[Lever]:
    names = _roomiest(wants, ~fit.welcome, fit.selected & fit.tolerated, ground)
    if names:
        yield _of_nodes(names, Uncordon)


def _taints(wants: MissingMinimum, shape: Shape, fit: NodeFit, ground: Ground) -> Iterator[Lever]:
    """Levers that tolerate or remove taints, except taints that the cluster sets itself, as on unreachable nodes."""
    statics = wants.situation.snapshot.nodes.statics
    numbers, lists = taint_lists(statics, REPELLING)
    bearers: dict[Taint, list[int]] = {}
    for number, taints in enumerate(lists):
        for taint in taints:
            if not passes(taint) and not is_tolerated(taint, shape.rules.tolerations):
                bearers.setdefault(taint, []).append(number)
    for taint in list(bearers)[:TAINTS_MAX]:
        rows = np.isin(numbers, bearers[taint])
        rank = Rank.PRECIOUS if (rows & ground.precious).any() else Rank.ELSEWHERE
        yield Lever(rank, partial(_tolerate, wants.job.key, taint), kind="tolerations")
        removal = partial(RemoveTaint, key=taint.key, value=taint.value, effect=taint.effect)
        yield from _by_worth(wants, rows, fit.selected & fit.welcome, ground, removal, "taints")


def _by_worth(
    wants: MissingMinimum, rows: Mask, others: Mask, ground: Ground, edit: Callable[[tuple[str, ...]], Edit], kind: str
) -> Iterator[Lever]:
    """One lever for plain nodes, and one of the last rank for nodes with accelerators that the job does not ask for."""
    for rank, those in ((Rank.NODES_AS_THEY_ARE, ~ground.precious), (Rank.PRECIOUS, ground.precious)):
        names = _roomiest(wants, rows & those, others, ground)
        if names:
            yield _of_nodes(names, edit, rank, kind)


def _tolerate(key: str, taint: Taint, _: int) -> Tolerate:
    return Tolerate(key, taint.key, taint.value, taint.effect)


def _labels(wants: MissingMinimum, shape: Shape, fit: NodeFit, ground: Ground) -> Iterator[Lever]:
    """Levers that remove the node constraints of the pods, or set the required labels on nodes."""
    mask = affinity_mask(shape.rules, wants.situation.snapshot.nodes.statics)
    if mask is None or mask.all():
        return
    opened = ~mask & fit.tolerated & fit.welcome
    rank = Rank.PRECIOUS if (opened & ground.precious).any() else Rank.ELSEWHERE
    yield Lever(rank, lambda _: DropRule(wants.job.key, "nodeSelector"), kind="rules")
    labels = labels_asked(shape.rules)
    if labels is None:
        return
    others = fit.tolerated & fit.welcome
    yield from _by_worth(wants, ~mask, others, ground, partial(LabelNodes, labels=labels), "labels")


def labels_asked(rules: Rules) -> dict[str, str] | None:
    """Labels that make a node match the constraints; None if no labels can, or only that of the host name."""
    labels = dict(rules.node_selector)
    if rules.node_name or HOSTNAME in labels:
        return None
    if rules.required is not None:
        term = next((one for one in rules.required if not one.fields and one.expressions), None)
        if term is None:
            return None
        for one in term.expressions:
            if one.operator == "In" and labels.get(one.key, one.values[0]) in one.values:
                labels.setdefault(one.key, one.values[0])
            elif one.operator == "Exists":
                labels.setdefault(one.key, "")
            elif one.operator not in ("NotIn", "DoesNotExist"):
                return None
    return labels if labels and HOSTNAME not in labels and len(labels) <= LABELS_MAX else None


def _roomiest(wants: MissingMinimum, rows: Mask, others: Mask, ground: Ground) -> tuple[str, ...]:
    """Names of the nodes in ``rows`` that have room and no other obstacle, most room first; all ``rows`` if none."""
    useful = rows & others & (ground.room > 0)
    chosen = np.flatnonzero(useful if useful.any() else rows)
    ordered = sorted(chosen.tolist(), key=lambda row: (bool(ground.precious[row]), -int(ground.room[row]), row))
    names = wants.situation.snapshot.nodes.statics.names
    return tuple(names[row] for row in ordered[:NODES_MAX])


def _of_nodes(
    names: Sequence[str],
    edit: Callable[[tuple[str, ...]], Edit],
    rank: Rank = Rank.NODES_AS_THEY_ARE,
    kind: str = "",
) -> Lever:
    return Lever(rank, lambda step: edit(tuple(names[:step])), len(names), whole=len(names), kind=kind)
