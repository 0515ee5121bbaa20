"""Constraints of devices: too few are free for a pod on any node, or for a gang on all nodes together."""

from __future__ import annotations

from collections.abc import Sequence

from vsched.explain.claims import devices, volumes
from vsched.explain.claims.devices import missing, missing_together
from vsched.explain.claims.states import RESOURCE_CLAIM, VOLUME_CLAIM
from vsched.explain.records import Constraint
from vsched.framework.claims.claims import Claims
from vsched.framework.claims.devices.shortages import DeviceShortage
from vsched.framework.codes import Code
from vsched.model.claims.catalogue import ClaimCatalogue
from vsched.model.pods.task import Task

PODS_MAX = 50
"""How many pods are asked about one by one."""
CLAIMS_MAX = 3
"""How many claims that cannot be used are told."""


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


def short_classes(tasks: Sequence[Task], claims: Claims) -> frozenset[str]:
    """The classes of which these pods lack devices."""
    alone = (short for task in tasks[:PODS_MAX] for short in claims.shortages(task))
    together = claims.shortages_together(tasks) if len(tasks) > 1 else ()
    return frozenset(short.request.device_class for short in (*alone, *together))


def claim_constraints(tasks: Sequence[Task], found: ClaimCatalogue) -> list[Constraint]:
    """The claims of these pods that cannot be used until somebody makes or changes an object."""
    told: dict[str, None] = {}
    for task in tasks[:PODS_MAX]:
        for volume in task.claims.volumes if task.claims is not None else ():
            claim = volumes.claim_of(task, volume, found.volumes)
            if volumes.is_lasting(volume, claim, found.volumes):
                told[f"{VOLUME_CLAIM} {volume.claim} {volumes.state(task, volume, claim, found.volumes)[0]}"] = None
        for entry in task.claims.devices if task.claims is not None else ():
            wanted = devices.claim_of(task, entry, found.devices)
            if not entry.none and devices.is_lasting(entry, wanted, found.devices):
                told[f"{RESOURCE_CLAIM} {entry.claim_name} {devices.state(task, entry, wanted, found.devices)[0]}"] = (
                    None
                )
    return [Constraint(Code.CLAIM, message, lasting=True) for message in list(told)[:CLAIMS_MAX]]


def _is_all(short: DeviceShortage) -> bool:
    """Whether what there is of such devices is all there will be as things are: drivers publish devices by and by."""
    return short.matching > 0 and not short.held_back
