"""What the volume claims of a task amount to: names become content, and equal content is one object."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from typing import NamedTuple

import msgspec

from vsched.framework.claims.handler import ClaimRules
from vsched.framework.claims.volumes import words
from vsched.framework.claims.volumes.attached import AttachedVolumes
from vsched.framework.claims.volumes.names import Attachable, AttachNames
from vsched.framework.claims.volumes.static import VolumeNeed, is_for
from vsched.framework.claims.volumes.storage import ClassStorage
from vsched.framework.claims.volumes.words import volume_gone
from vsched.framework.codes import Code
from vsched.framework.refusal import Refusal
from vsched.kernels.volumes import ZONE_LABELS, Terms
from vsched.model.claims.catalogue import VolumeCatalogue
from vsched.model.claims.volumes import ONCE_POD, Volume, VolumeClaim
from vsched.model.pods.claims import PodVolume
from vsched.model.pods.task import Task

Zones = tuple[tuple[str, str], ...]
_NO_ZONES: Zones = ()


class VolumePlace(msgspec.Struct, frozen=True, cache_hash=True):
    """Where the volume of a bound claim can be used."""

    affinity: Terms
    zones: Zones
    """The labels of the volume that name zones and regions."""


class ClaimContent(msgspec.Struct, frozen=True, cache_hash=True):
    """What is asked for one claim; equal contents are one object. Tasks with equal contents find the same nodes."""

    place: VolumePlace | None = None
    """Where the volume can be used; None where the claim is not bound, or its volume is the same for all nodes."""
    need: VolumeNeed | None = None
    """Where the claim waits for its first pod."""
    driver: str = ""
    """The CSI driver, that which makes the volume if there is none yet; empty where nothing limits its volumes."""
    attached: Attachable | None = None
    """The volume, where it counts on some node already."""
    once: str = ""
    """The claim, if one pod may use it at a time and some pod does."""
    for_one_pod: bool = False
    """Whether one pod may use the claim at a time."""
    given: bool = False
    """Whether the claim was given its volume before, and the binding is not complete."""


class WantedClaim(NamedTuple):
    """One claim of a task."""

    claim: VolumeClaim
    content: ClaimContent
    name: Attachable | None
    """The volume as nodes attach it, for a claim that waits a new one; None where nothing limits it."""


class WantsKind(NamedTuple):
    """What tasks with equal contents have in common."""

    number: int
    """No other contents have the same."""
    waits: bool
    """Whether claims wait for their first pod."""
    for_one_pod: bool
    """Whether one pod may use a claim at a time."""
    given: bool
    """Whether a claim was given its volume before, and the binding is not complete."""


class Wants(NamedTuple):
    """The claims of a task, in the order of its spec."""

    claims: tuple[WantedClaim, ...]
    kind: WantsKind

    @property
    def for_one_pod(self) -> list[str]:
        """The claims that one pod may use at a time."""
        if not self.kind.for_one_pod:
            return []
        return [one.claim.key for one in self.claims if one.content.for_one_pod]


class Resolver:
    """Looks up the claims of tasks in the catalogue of one session."""

    def __init__(
        self,
        catalogue: VolumeCatalogue,
        rules: ClaimRules,
        storage_of: Callable[[str], ClassStorage],
        attached: AttachedVolumes,
    ) -> None:
        self._catalogue = catalogue
        self._rules = rules
        self._storage_of = storage_of
        self._attached = attached
        self.names = AttachNames(catalogue, attached.limited if rules.volume_limits else frozenset())
        self._found: dict[str, Wants | Refusal] = {}
        self._places: dict[tuple[Terms, Zones], VolumePlace] = {}
        self._contents: dict[ClaimContent, ClaimContent] = {}
        self._kinds: dict[tuple[ClaimContent, ...], WantsKind] = {}

    def of(self, task: Task) -> Wants | Refusal:
        """What the claims of a task amount to, or why no node can serve them. The same throughout the session."""
        found = self._found.get(task.uid)
        if found is None:
            found = self._found[task.uid] = self._resolve(task)
        return found

    def once_of(self, task: Task) -> Iterator[str]:
        """The claims of a task that one pod may use at a time."""
        for claim in self.names.claims_of(self.names.mentioned(task)):
            if ONCE_POD in claim.modes:
                yield claim.key

    def _resolve(self, task: Task) -> Wants | Refusal:
        known, rules = self._catalogue.claims, self._rules
        claims: dict[str, VolumeClaim] = {}
        for volume in task.claims.volumes if task.claims is not None else ():
            key = f"{task.namespace}/{volume.claim}"
            claim = known.get(key)
            if claim is None:
                return not_there(task, volume, known)
            refusal = unusable(task, volume, claim) if rules.volume_binding else None
            if refusal is not None:
                return refusal
            claims[key] = claim
        wanted: list[WantedClaim] = []
        for claim in claims.values():
            one = self._wanted(claim)
            if isinstance(one, Refusal):
                return one
            wanted.append(one)
        contents = tuple([one.content for one in wanted])
        kind = self._kinds.get(contents)
        if kind is None:
            kind = self._kinds[contents] = WantsKind(
                len(self._kinds),
                any(one.need is not None for one in contents),
                any(one.for_one_pod for one in contents),
                any(one.given for one in contents),
            )
        return Wants(tuple(wanted), kind)

    def _wanted(self, claim: VolumeClaim) -> WantedClaim | Refusal:
        catalogue = self._catalogue
        volume = catalogue.volumes.get(claim.volume) if claim.volume else None
        place: VolumePlace | None = None
        need: VolumeNeed | None = None
        if not self._rules.volume_binding or claim.bound:
            if volume is None and self._rules.volume_binding:
                return refused(volume_gone(claim.key.partition("/")[2]), claim.key)
            place = self._place(volume)
        else:
            storage_class = catalogue.classes.get(claim.storage_class)
            if storage_class is None or not storage_class.waits:
                return unbound(claim, has_class=storage_class is not None)
            if claim.volume and not (volume is not None and is_for(volume, claim)):
                return unbound(claim, has_class=True)
            if volume is not None and volume.claim_uid:
                place = self._place(volume)
            else:
                need = self._storage_of(storage_class.name).need(claim)
        name = self.names.of_claim(claim) if need is None else self.names.of_need(claim, need)
        for_one_pod = ONCE_POD in claim.modes
        content = ClaimContent(
            place,
            need,
            "" if name is None else name.driver,
            name if name is not None and self._attached.is_placed(name) else None,
            claim.key if for_one_pod and catalogue.users.get(claim.key) else "",
            for_one_pod,
            given=need is None and self._rules.volume_binding and not claim.bound and bool(claim.volume),
        )
        return WantedClaim(claim, self._contents.setdefault(content, content), name)

    def _place(self, volume: Volume | None) -> VolumePlace | None:
        if volume is None:
            return None
        labels, zones = volume.labels, _NO_ZONES
        if labels and self._rules.volume_zones:
            zones = tuple([(key, labels[key]) for key in ZONE_LABELS if key in labels])
        affinity = volume.affinity if self._rules.volume_binding else None
        if affinity is None and not zones:
            return None
        place = self._places.get((affinity, zones))
        if place is None:
            place = self._places[affinity, zones] = VolumePlace(affinity, zones)
        return place


CLAIM_REFUSED = "VolumeClaim"
"""The reason of a task whose claim cannot be used on any node."""


def refused(message: str, claim: str) -> Refusal:
    """The refusal of a task for one of its claims (``namespace/name``)."""
    return Refusal(CLAIM_REFUSED, message, code=Code.CLAIM, subject=claim)


def not_there(task: Task, volume: PodVolume, known: Container[str]) -> Refusal:
    """The refusal of a task one of whose claims is not among the ``known``."""
    key = f"{task.namespace}/{volume.claim}"
    if volume.ephemeral:
        return refused(words.not_made(volume.claim), key)
    own = task.claims.volumes if task.claims is not None else ()
    gone = [one.claim for one in own if not one.ephemeral and f"{task.namespace}/{one.claim}" not in known]
    return refused(words.not_found(gone), key)


def unbound(claim: VolumeClaim, *, has_class: bool) -> Refusal:
    """The refusal of a task whose claim is not bound, and will not be for the task."""
    name = claim.key.partition("/")[2]
    if not claim.storage_class and not claim.volume:
        return refused(words.names_no_class(name), claim.key)
    if has_class or not claim.storage_class:
        return refused(words.not_bound(name), claim.key)
    return refused(words.no_class(name, claim.storage_class), claim.key)


def unusable(task: Task, volume: PodVolume, claim: VolumeClaim) -> Refusal | None:
    """Why a claim that exists cannot be used by the task, whatever its volume; None where it can."""
    if claim.lost:
        return refused(words.lost(volume.claim, claim.volume), claim.key)
    if claim.deleting:
        return refused(words.deleting(volume.claim), claim.key)
    if volume.ephemeral and claim.owner != task.uid:
        return refused(words.not_owner(claim.key, task.key), claim.key)
    return None
