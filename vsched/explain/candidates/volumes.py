"""Levers of volumes: more of those that people make."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from vsched.explain.candidates.levers import Lever, MissingMinimum, Rank
from vsched.mirror.whatif.edits import AddVolumes
from vsched.model.claims.volumes import VolumeClaim

ADDED_MAX = 64
"""The most volumes that a lever adds."""


def volume_levers(wants: MissingMinimum) -> Iterator[Lever]:
    """For each class of which no volumes are made on demand, more volumes of the largest size that is asked for."""
    found = wants.situation.snapshot.claims.volumes
    asked: dict[str, dict[str, VolumeClaim]] = {}
    for task in wants.waiting[: max(1, wants.missing)]:
        for volume in task.claims.volumes if task.claims is not None else ():
            claim = found.claims.get(f"{task.namespace}/{volume.claim}")
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
