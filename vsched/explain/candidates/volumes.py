"""Levers of volumes: claims that nobody made, more of the volumes that people make, more free storage."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from vsched.explain.candidates.levers import Lever, MissingMinimum, Rank
from vsched.explain.edits.claims import AddVolumes, CreateVolumeClaims, SetStorage
from vsched.model.claims.volumes import VolumeClaim
from vsched.model.names import is_subdomain

ADDED_MAX = 64
"""The most volumes that a lever adds."""
CAPACITIES_MAX = 8
"""Storage is added at most in so many places of a class."""
_GRAIN = 1 << 30
"""Storage is added in steps of 1Gi."""


def volume_levers(wants: MissingMinimum) -> Iterator[Lever]:
    """All levers of volumes that could help the job."""
    missing = tuple(key for key, claim, ephemeral in _claims(wants) if claim is None and not ephemeral)
    if missing and all(is_subdomain(key.partition("/")[2]) for key in missing):
        yield Lever(Rank.LEFT_UNDONE, lambda _: CreateVolumeClaims(missing))
    yield from _made_by_people(wants)
    yield from _storage(wants)


def _claims(wants: MissingMinimum) -> Iterator[tuple[str, VolumeClaim | None, bool]]:
    """The volume claims of the pods that the job lacks, each once: its key, and whether it is made for its pod."""
    found = wants.situation.snapshot.claims.volumes.claims
    named = (
        (f"{task.namespace}/{volume.claim}", volume.ephemeral)
        for task in wants.waiting[: max(1, wants.missing)]
        for volume in (task.claims.volumes if task.claims is not None else ())
    )
    for key, ephemeral in dict(named).items():
        yield key, found.get(key), ephemeral


def _storage(wants: MissingMinimum) -> Iterator[Lever]:
    """For each class whose driver says how much storage is free: more of it, where most is free first."""
    found = wants.situation.snapshot.claims.volumes
    asked: dict[str, list[int]] = {}
    for _, claim, _ in _claims(wants):
        if claim is not None and not (claim.bound or claim.volume or claim.selected_node or claim.lost):
            asked.setdefault(claim.storage_class, []).append(claim.request)
    for name, requests in asked.items():
        kind = found.classes.get(name)
        driver = None if kind is None else found.drivers.get(kind.provisioner)
        if kind is None or not kind.waits or driver is None or not driver.tracks_capacity:
            continue
        capacities = sorted(found.capacities.get(name, ()), key=lambda one: (-(one.capacity or 0), one.key))
        for one in capacities[:CAPACITIES_MAX]:
            has = one.capacity or 0
            yield Lever(
                Rank.MACHINES,
                partial(_more_storage, one.key, has),
                most=max(1, -(-sum(requests) // _GRAIN)),
                first=max(1, -(-(max(requests) - has) // _GRAIN)),
                whole=max(1, has // _GRAIN),
                kind="machines",
            )


def _more_storage(key: str, has: int, step: int) -> SetStorage:
    return SetStorage(key, has + step * _GRAIN)


def _made_by_people(wants: MissingMinimum) -> Iterator[Lever]:
    """For each class of which no volumes are made on demand, more volumes of the largest size that is asked for."""
    found = wants.situation.snapshot.claims.volumes
    asked: dict[str, dict[str, VolumeClaim]] = {}
    for _, claim, _ in _claims(wants):
        if claim is None or claim.bound or claim.volume or claim.selected_node or claim.lost:
            continue
        kind = found.classes.get(claim.storage_class)
        if kind is not None and kind.waits and not kind.provisions:
            asked.setdefault(claim.storage_class, {})[claim.key] = claim
    for name, claims in asked.items():
        largest = max(claims.values(), key=lambda claim: (claim.request, claim.key))
        there = len(found.available.get(name, ()))
        most = min(ADDED_MAX, len(claims))
        yield Lever(Rank.MACHINES, partial(AddVolumes, largest.key), most, whole=max(1, there), kind="machines")
