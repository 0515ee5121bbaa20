"""Checks by the attributes of nodes: only those that some node fails are worth keeping."""

from __future__ import annotations

from collections.abc import Iterable

from vsched.framework.codes import Code
from vsched.framework.points.nodes import Check
from vsched.model.nodes.table import Mask


def effective(found: Iterable[tuple[str, Code, Mask]]) -> tuple[Check, ...]:
    """Checks from reasons, their sorts and ``bool[nodes]`` of who passes, without those that all pass.

    Masks become read only.
    """
    checks = []
    for reason, code, passes in found:
        if not passes.all():
            passes.flags.writeable = False
            checks.append(Check(reason, passes, code=code))
    return tuple(checks)
