"""Constraints of devices: too few are free for a pod on any node, or for a gang on all nodes together."""

from __future__ import annotations

from collections.abc import Sequence

from vsched.explain.claims.devices import missing, missing_together
from vsched.explain.records import Constraint
from vsched.framework.claims.claims import Claims
from vsched.framework.claims.devices.shortages import DeviceShortage
from vsched.framework.codes import Code
from vsched.model.pods.task import Task

PODS_MAX = 50
"""How many pods are asked about one by one."""


def device_constraints(tasks: Sequence[Task], claims: Claims) -> list[Constraint]:
    """What these pods lack of devices after a session; of pods that lack the same, the first is told."""
    found: dict[tuple[str, int], Constraint] = {}
    for task in tasks[:PODS_MAX]:
        for short in claims.shortages(task):
            name = short.claim.partition("/")[2]
            told = Constraint(
                Code.DEVICES, f"ResourceClaim {name}: {missing(short)}", short.needed > short.largest and _is_all(short)
            )
            found.setdefault((short.request.device_class, short.needed), told)
    together = claims.shortages_together(tasks) if len(tasks) > 1 else ()
    for short in together:
        lasting = short.needed > short.matching and _is_all(short)
        found.setdefault(("", short.needed), Constraint(Code.DEVICES, missing_together(short), lasting))
    return list(found.values())


def _is_all(short: DeviceShortage) -> bool:
    """Whether what there is of such devices is all there will be as things are: drivers publish devices by and by."""
    return short.matching > 0 and not short.held_back
