"""Constraints of devices: too few are free for a pod on any node, or for a gang on all nodes together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

from msgspec.structs import replace

from vsched.explain.claims import devices, volumes, words
from vsched.explain.claims.devices import missing, missing_together
from vsched.explain.claims.states import RESOURCE_CLAIM, VOLUME_CLAIM
from vsched.explain.records import ClaimState, Constraint
from vsched.framework.claims.claims import Claims
from vsched.framework.claims.devices.shortages import DeviceShortage
from vsched.framework.codes import Code
from vsched.framework.words.lists import listed
from vsched.model.claims.catalogue import ClaimCatalogue, DeviceCatalogue
from vsched.model.claims.devices import DeviceClaim
from vsched.model.pods.task import Task

PODS_MAX = 50
"""How many pods are asked about one by one."""
CLAIMS_MAX = 3
"""How many claims that cannot be used are told."""


def device_constraints(tasks: Sequence[Task], claims: Claims, found_few: DeviceCatalogue | None) -> list[Constraint]:
    """What these pods lack of devices after a session; of pods that lack the same, the first is told.

    ``found_few`` has the claims of pods for which nodes have too few devices; where each request by itself could be
    met, what is asked for together is told.
    """
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
    if not found and found_few is not None:
        return list(_not_together(tasks, found_few))
    return list(found.values())


def _not_together(tasks: Sequence[Task], catalogue: DeviceCatalogue) -> Iterable[Constraint]:
    for name, claim in _without_devices(tasks, catalogue):
        message = words.not_free_together(RESOURCE_CLAIM, name, devices.asks(claim.spec))
        yield Constraint(Code.DEVICES, message)


def _without_devices(tasks: Sequence[Task], catalogue: DeviceCatalogue) -> Iterable[tuple[str, DeviceClaim]]:
    """The claims of the first of these pods that have no devices yet, with their names."""
    for task in tasks[:1]:
        for entry in task.claims.devices if task.claims is not None else ():
            claim = devices.claim_of(task, entry, catalogue)
            if claim is not None and claim.allocation is None:
                yield claim.key.partition("/")[2], claim


def short_classes(tasks: Sequence[Task], claims: Claims, found_few: DeviceCatalogue | None) -> frozenset[str]:
    """The classes of which these pods lack devices; ``found_few`` as for ``device_constraints``."""
    alone = (short for task in tasks[:PODS_MAX] for short in claims.shortages(task))
    together = claims.shortages_together(tasks) if len(tasks) > 1 else ()
    short = frozenset(one.request.device_class for one in (*alone, *together))
    if short or found_few is None:
        return short
    asked = (claim.spec.requests for _, claim in _without_devices(tasks, found_few))
    return frozenset(one.device_class for requests in asked for each in requests for one in each)


def claim_constraints(tasks: Sequence[Task], found: ClaimCatalogue) -> list[Constraint]:
    """The claims of these pods that cannot be used until somebody makes or changes an object."""
    told: dict[tuple[str, str], dict[str, None]] = {}
    for task in tasks[:PODS_MAX]:
        for volume in task.claims.volumes if task.claims is not None else ():
            claim = volumes.claim_of(task, volume, found.volumes)
            if volumes.is_lasting(volume, claim, found.volumes):
                state = volumes.state(task, volume, claim, found.volumes)[0]
                told.setdefault((VOLUME_CLAIM, state), {})[volume.claim] = None
        for entry in task.claims.devices if task.claims is not None else ():
            wanted = devices.claim_of(task, entry, found.devices)
            if not entry.none and devices.is_lasting(entry, wanted, found.devices):
                state = devices.state(task, entry, wanted, found.devices)[0]
                told.setdefault((RESOURCE_CLAIM, state), {})[entry.claim_name] = None
    messages = [message for (kind, state), names in told.items() for message in _told(kind, state, list(names))]
    made = [Constraint(Code.CLAIM, message, lasting=True) for message in messages[:CLAIMS_MAX]]
    return [*made, *(Constraint(Code.CLAIM, message) for message in _meant(tasks, found))]


def _meant(tasks: Sequence[Task], found: ClaimCatalogue) -> Iterable[str]:
    """Classes with names like those that claims name and that do not exist."""
    named: dict[tuple[str, str], Mapping[str, object]] = {}
    for task in tasks[:PODS_MAX]:
        for volume in task.claims.volumes if task.claims is not None else ():
            claim = volumes.claim_of(task, volume, found.volumes)
            if claim is not None and not claim.bound:
                named["StorageClass", claim.storage_class] = found.volumes.classes
        for _, wanted in _without_devices([task], found.devices):
            for one in (one for alternatives in wanted.spec.requests for one in alternatives):
                named["DeviceClass", one.device_class] = found.devices.classes
    for (kind, name), known in named.items():
        close = [] if not name or name in known else get_close_matches(name, known, 1)
        if close:
            yield words.did_you_mean(kind, close[0])


def _told(kind: str, state: str, names: Sequence[str]) -> Iterable[str]:
    """The claims in this state: those that do not exist together, others one by one."""
    if state == words.DOES_NOT_EXIST and len(names) > 1:
        return (words.do_not_exist(listed(kind, names)),)
    return (f"{kind} {name} {state}" for name in names)


def with_others(constraints: Sequence[Constraint], others: Iterable[Constraint]) -> tuple[Constraint, ...]:
    """The constraints and others, of which those that are said already only say that they last."""
    found = list(constraints)
    for one in others:
        said = (known.code == one.code and _says(known.message, one.message) for known in found)
        at = next((at for at, is_said in enumerate(said) if is_said), -1)
        if at < 0:
            found.append(one)
        elif one.lasting:
            found[at] = replace(found[at], lasting=True)
    return tuple(found)


def told_by_claims(constraints: Sequence[Constraint], claims: Iterable[ClaimState]) -> tuple[Constraint, ...]:
    """The constraints, with ``repeats`` set on those of devices that the claims of the pods say, too."""
    said = [one.missing for one in claims if one.missing]
    return tuple(
        replace(one, repeats=True) if one.code == Code.DEVICES and any(map(one.message.endswith, said)) else one
        for one in constraints
    )


def _says(one: str, other: str) -> bool:
    return one in other or other in one


def _is_all(short: DeviceShortage) -> bool:
    """Whether what there is of such devices is all there will be as things are: drivers publish devices by and by."""
    return (short.matching > 0 or short.of_class) and not short.unusable
