"""Levers of new machines: one node becomes larger, or nodes of a kind are added."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from vsched.explain.candidates.device_parts import device_resources
from vsched.explain.candidates.devices import DeviceWish, claiming
from vsched.explain.candidates.fits import NodeFit, tolerated_by
from vsched.explain.candidates.levers import Lever, MissingMinimum, Rank, grain_of
from vsched.explain.edits.nodes import AddNodes, SetNodeAmount
from vsched.kernels.taints import passes
from vsched.model.amounts.quantity import MOST
from vsched.model.nodes.table import Mask, NodeTable
from vsched.model.pods.shape import Shape

KINDS_MAX, NODES_MAX = 4, 256

Rows = np.ndarray[tuple[int], np.dtype[np.intp]]


def machine_levers(
    wants: MissingMinimum, fits: Mapping[Shape, NodeFit], precious: Mask, wishes: Sequence[DeviceWish]
) -> Iterator[Lever]:
    """Levers that enlarge one node by the resource that it lacks, or add nodes of a kind that suits some pods."""
    nodes = wants.situation.snapshot.nodes
    of_devices, claims = device_resources(wants), claiming(wants)
    # Where a pod may go follows from other pods or from its volumes: then not only the best node is tried.
    bound = any(one.affinity is not None and one.affinity.required for one in wants.shapes)
    most_rows = KINDS_MAX if bound or any(task.claims is not None for task in wants.waiting) else 1
    for column, (amount, one) in _largest(tuple(fits)).items():
        if nodes.axis.names[column] in of_devices:
            continue  # sums of devices: a larger sum is no device
        usable = fits[one].usable
        plain = usable & ~precious
        rows = np.flatnonzero(plain if plain.any() else usable) if usable.any() else np.arange(len(nodes))
        for row in _best_but_for(one, nodes, rows, column)[:most_rows]:
            yield from _larger(wants, row, column, amount)
    for shape, fit in fits.items():
        able = _able(wants, shape)
        fit = fit if able is None else fit._replace(selected=fit.selected & able)
        asked = wishes if claims is not None and claims.shape is shape else ()
        for row in _kinds(shape, nodes, fit, precious, asked):
            like, size = nodes.statics.names[row], len(nodes)
            # A quarter more nodes counts as much as doubling an amount of one node: whole nodes cost more.
            yield Lever(
                Rank.MACHINES,
                partial(_adding, like),
                min(NODES_MAX, max(1, wants.missing)),
                whole=max(1, size // 4),
                kind="nodes",
            )


def _larger(wants: MissingMinimum, row: int, column: int, amount: int) -> Iterator[Lever]:
    """A lever that enlarges a node by what pods lack there that ask for so much of a resource.

    No node is larger than what is read of one.
    """
    nodes = wants.situation.snapshot.nodes
    node, name = nodes.statics.names[row], nodes.axis.names[column]
    has, grain = int(nodes.allocatable[column, row]), grain_of(column, name)
    short = max(grain, amount - int(nodes.idle[column, row]))
    most = min(-(-(short + amount * wants.missing) // grain), (MOST - has) // grain)
    first, whole = min(most, -(-short // grain)), max(1, has // grain)
    if most > 0:
        yield Lever(
            Rank.MACHINES, lambda step: SetNodeAmount(node, name, has + step * grain), most, first, whole, "machines"
        )


def _largest(shapes: Sequence[Shape]) -> dict[int, tuple[int, Shape]]:
    """The largest request for each resource, and the first shape that has it."""
    found: dict[int, tuple[int, Shape]] = {}
    for shape in shapes:
        for column, amount in shape.request:
            if amount > found.get(column, (0, shape))[0]:
                found[column] = amount, shape
    return found


def _adding(like: str, step: int) -> AddNodes:
    return AddNodes(like, step)


def _best_but_for(shape: Shape, nodes: NodeTable, rows: Rows, column: int) -> list[int]:
    """The rows by how little they lack of one resource, those with enough of all others first."""
    enough = np.ones(len(nodes), dtype=np.bool_)
    for other, amount in shape.request:
        if other != column:
            enough &= nodes.idle[other] >= amount
    ordered = np.lexsort((-nodes.idle[column][rows], ~enough[rows]))
    found: list[int] = rows[ordered].tolist()
    return found


def _kinds(shape: Shape, nodes: NodeTable, fit: NodeFit, precious: Mask, wishes: Sequence[DeviceWish]) -> list[int]:
    """One row of each kind of node that could take such a pod if it were empty, the smallest kind first.

    Kinds with accelerators that the pod does not ask for count only if there is no other kind.
    """
    fits = fit.selected & tolerated_by(shape, nodes, passes)  # a new node has no transient taints
    for column, amount in shape.request:
        fits &= nodes.allocatable[column] >= amount
    for wish in wishes:
        fits &= wish.has >= wish.number
    plain = fits & ~precious
    rows = np.flatnonzero(plain if plain.any() else fits)
    if not rows.size:
        return []
    amounts = np.vstack([nodes.allocatable[:, rows], *(wish.has[rows] for wish in wishes)])
    kinds = rows[np.unique(amounts, axis=1, return_index=True)[1]].tolist()
    columns = [column for column, _ in shape.request]

    def size(row: int) -> tuple[list[int], list[int], int]:
        devices = [int(wish.has[row]) for wish in wishes]
        return devices, [int(nodes.allocatable[column, row]) for column in columns], row

    return sorted(kinds, key=size)[:KINDS_MAX]


def _able(wants: MissingMinimum, shape: Shape) -> Mask | None:
    """bool[nodes]: nodes that could hold a pod of this shape if they were empty, by the plugins; None for all."""
    snapshot = wants.situation.snapshot
    masks = [mask for one in wants.plugins if (mask := one.nodes_for(shape, snapshot)) is not None]
    return np.logical_and.reduce(masks) if masks else None
