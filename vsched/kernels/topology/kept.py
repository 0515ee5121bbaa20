"""Keeps what follows from names and labels of nodes, while these do not change, whatever else of nodes does.

Nodes change often in what does not matter here: the images that they have, for one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from vsched.model.nodes.table import LabelColumn, NodeStatics

T = TypeVar("T")


class _Kept(NamedTuple):
    sources: tuple[object, ...]
    names: tuple[str, ...]
    columns: tuple[LabelColumn, ...]
    value: Any
    """Of the type that the computation returns: what it is called names it."""

    def holds(self, sources: tuple[object, ...], names: tuple[str, ...], columns: tuple[LabelColumn, ...]) -> bool:
        same = self.sources == sources and self.names == names
        return same and all(map(_equal, columns, self.columns))


def kept(
    statics: NodeStatics, what: str, sources: tuple[object, ...], keys: Sequence[str], compute: Callable[[], T]
) -> T:
    """``compute()``, worked out again only if the sources, the names of nodes or the values of these labels change.

    There is one value, for the nodes that were asked about last. Callers also remember it with the nodes: simulations
    ask about other nodes in between.
    """
    columns = tuple(statics.label(key) for key in keys)

    def renewed(last: _Kept | None) -> _Kept:
        if last is not None and last.holds(sources, statics.names, columns):
            return last
        return _Kept(sources, statics.names, columns, compute())

    value: T = statics.memo.renewed("topology", what, _Kept, renewed).value
    return value


def _equal(one: LabelColumn, other: LabelColumn) -> bool:
    return one.values == other.values and np.array_equal(one.ids, other.ids)
