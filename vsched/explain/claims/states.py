"""The claims of pods that wait, and the state of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from vsched.explain.claims import devices, volumes
from vsched.explain.records import ClaimState
from vsched.framework.claims.devices.shortages import DeviceShortage
from vsched.model.claims.catalogue import ClaimCatalogue
from vsched.model.pods.task import Task

VOLUME_CLAIM, RESOURCE_CLAIM = "PersistentVolumeClaim", "ResourceClaim"
STATES_MAX = 20
"""An explanation has at most this many different states of claims."""
NAMES_MAX = 3
"""A state names at most this many claims."""


class _Said(NamedTuple):
    kind: str
    asks: str
    state: str
    usable: bool
    missing: str = ""


Shortages = Callable[[Task], Sequence[DeviceShortage]]
"""What is missing of the devices that a pod asks for."""


def nothing_missing(task: Task) -> Sequence[DeviceShortage]:
    """For tasks that need no answer."""
    return ()


def claims_of(
    tasks: Iterable[Task], found: ClaimCatalogue, shortages: Shortages = nothing_missing
) -> tuple[ClaimState, ...]:
    """The claims of these pods; claims that ask for the same and are in the same state are counted together.

    Those that no pod can use come first.
    """
    names: dict[_Said, dict[str, None]] = {}
    for task in tasks:
        if task.claims is not None:
            for said, name in (*_volumes(task, found), *_devices(task, found, shortages)):
                names.setdefault(said, {})[name] = None
    ordered = sorted(names.items(), key=lambda pair: pair[0].usable)
    return tuple(
        ClaimState(said.kind, tuple(named)[:NAMES_MAX], len(named), said.asks, said.state, said.usable, said.missing)
        for said, named in ordered[:STATES_MAX]
    )


def _volumes(task: Task, found: ClaimCatalogue) -> Iterator[tuple[_Said, str]]:
    for volume in task.claims.volumes if task.claims is not None else ():
        claim = volumes.claim_of(task, volume, found.volumes)
        state, usable = volumes.state(task, volume, claim, found.volumes)
        yield _Said(VOLUME_CLAIM, volumes.asks(claim), state, usable), volume.claim


def _devices(task: Task, found: ClaimCatalogue, shortages: Shortages) -> Iterator[tuple[_Said, str]]:
    short: dict[str, str] = {}
    for one in shortages(task) if task.claims is not None and task.claims.devices else ():
        short.setdefault(one.claim, devices.missing(one))
    for entry in task.claims.devices if task.claims is not None else ():
        if entry.none:
            continue
        claim = devices.claim_of(task, entry, found.devices)
        state, usable = devices.state(task, entry, claim, found.devices)
        asks = "" if claim is None else devices.asks(claim.spec)
        missing = "" if claim is None else short.get(claim.key, "")
        yield _Said(RESOURCE_CLAIM, asks, state, usable, missing), entry.claim_name or f"{task.name}-{entry.name}"
