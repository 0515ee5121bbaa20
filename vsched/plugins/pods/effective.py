"""Checks by node attributes, without those that all nodes pass."""

from __future__ import annotations

from collections.abc import Iterable

from vsched.framework.codes import Code
from vsched.framework.points.nodes import Check
from vsched.model.nodes.table import Mask


def effective(found: Iterable[tuple[str, Code, Mask]]) -> tuple[Check, ...]:
    """Checks from triples of reason, code and ``bool[nodes]`` (which nodes pass), without those that all nodes pass.

    The masks become read-only.
    """
    checks = []
    for reason, code, passes in found:
        if not passes.all():
            passes.flags.writeable = False
            checks.append(Check(reason, passes, code=code))
    return tuple(checks)
