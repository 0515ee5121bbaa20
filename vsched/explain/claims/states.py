"""The claims of pods that wait, and the state of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from vsched.explain.claims import devices, volumes
from vsched.explain.records import ClaimState
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


def claims_of(tasks: Iterable[Task], found: ClaimCatalogue) -> tuple[ClaimState, ...]:
    """The claims of these pods; claims that ask for the same and are in the same state are counted together.

    Those that no pod can use come first.
    """
    names: dict[_Said, dict[str, None]] = {}
    for task in tasks:
        if task.claims is not None:
            for said, name in (*_volumes(task, found), *_devices(task, found)):
                names.setdefault(said, {})[name] = None
    ordered = sorted(names.items(), key=lambda pair: pair[0].usable)
    return tuple(
        ClaimState(said.kind, tuple(named)[:NAMES_MAX], len(named), said.asks, said.state, said.usable)
        for said, named in ordered[:STATES_MAX]
    )


def _volumes(task: Task, found: ClaimCatalogue) -> Iterator[tuple[_Said, str]]:
    for volume in task.claims.volumes if task.claims is not None else ():
        claim = volumes.claim_of(task, volume, found.volumes)
        state, usable = volumes.state(task, volume, claim, found.volumes)
        yield _Said(VOLUME_CLAIM, volumes.asks(claim), state, usable), volume.claim


def _devices(task: Task, found: ClaimCatalogue) -> Iterator[tuple[_Said, str]]:
    for entry in task.claims.devices if task.claims is not None else ():
        if entry.none:
            continue
        claim = devices.claim_of(task, entry, found.devices)
        state, usable = devices.state(task, entry, claim, found.devices)
        asks = "" if claim is None else devices.asks(claim.spec)
        yield _Said(RESOURCE_CLAIM, asks, state, usable), entry.claim or f"{task.name}-{entry.name}"
