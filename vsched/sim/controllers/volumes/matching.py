"""Which volume a claim is bound to: the smallest that fits. Pure, with an index of the volumes that are free."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator
from decimal import Decimal

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.label_selectors import matches_label_selector
from vsched.apimachinery.meta.objects import is_deleting
from vsched.sim.controllers.volumes.objects import (
    asked_size,
    class_name,
    is_meant_for,
    size_of,
)


def mismatch(volume: Obj, claim: Obj) -> str:
    """Why a volume that the user chose for a claim does not do; empty if it does."""
    if size_of(volume) < asked_size(claim):
        return "requested PV is too small"
    if class_name(volume) != class_name(claim):
        return "storageClassName does not match"
    if _mode(volume) != _mode(claim):
        return "incompatible volumeMode"
    if not _has_modes(volume, claim):
        return "incompatible accessMode"
    return ""


def fits(volume: Obj, claim: Obj) -> bool:
    """Whether the claim may be bound to a volume that nobody has chosen for it."""
    if is_deleting(volume) or volume["spec"].get("claimRef") or mismatch(volume, claim):
        return False
    if (volume.get("status") or {}).get("phase") != "Available":
        return False
    selector = claim["spec"].get("selector")
    return selector is None or matches_label_selector(selector, volume["metadata"].get("labels"))


def chosen_for(claim: Obj, volumes: Iterable[Obj]) -> Obj | None:
    """The volume that names the claim, if it is large enough."""
    return next((volume for volume in volumes if is_meant_for(volume, claim) and _does(volume, claim)), None)


def _does(volume: Obj, claim: Obj) -> bool:
    return not is_deleting(volume) and _mode(volume) == _mode(claim) and size_of(volume) >= asked_size(claim)


def _mode(obj: Obj) -> str:
    return str(obj["spec"].get("volumeMode") or "Filesystem")


def _has_modes(volume: Obj, claim: Obj) -> bool:
    return set(claim["spec"].get("accessModes") or ()) <= set(volume["spec"].get("accessModes") or ())


class FreeVolumes:
    """The names of volumes that no claim is bound to: by class, smallest first, and by the claim they are meant for."""

    def __init__(self) -> None:
        self._sizes: dict[str, list[tuple[Decimal, str]]] = defaultdict(list)
        self._meant: dict[str, dict[str, None]] = defaultdict(dict)
        self._noted: dict[str, tuple[str, Decimal, str]] = {}

    def note(self, volume: Obj, claim: str, *, gone: bool) -> None:
        """Takes note of a volume; ``claim`` is the key of the claim that it names."""
        name = volume["metadata"]["name"]
        now = None if gone else (class_name(volume), size_of(volume), claim)
        before = self._noted.get(name)
        if before == now:
            return
        if before is not None:
            del self._noted[name]
            self._drop(name, *before)
        if now is not None:
            self._noted[name] = now
            if claim:
                self._meant[claim][name] = None
            else:
                insort(self._sizes[now[0]], (now[1], name))

    def _drop(self, name: str, class_: str, size: Decimal, claim: str) -> None:
        if claim:
            self._meant[claim].pop(name)
            if not self._meant[claim]:
                del self._meant[claim]
            return
        sizes = self._sizes[class_]
        del sizes[bisect_left(sizes, (size, name))]
        if not sizes:
            del self._sizes[class_]

    def meant_for(self, claim: str) -> list[str]:
        return list(self._meant.get(claim, ()))

    def at_least(self, class_: str, size: Decimal) -> Iterator[str]:
        """The free volumes of a class that are large enough, smallest first, then by name."""
        sizes = self._sizes.get(class_, [])
        for index in range(bisect_left(sizes, (size, "")), len(sizes)):
            yield sizes[index][1]
