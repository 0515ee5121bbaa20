"""What the volume claims of a task amount to: names become content, and equal content is one object."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from vsched.framework.claims.part import ClaimRules
from vsched.framework.claims.volumes.attached import AttachedVolumes
from vsched.framework.claims.volumes.names import Attachable, AttachNames
from vsched.framework.claims.volumes.static import Wish, is_for
from vsched.framework.claims.volumes.storage import ClassStorage
from vsched.framework.claims.volumes.words import UNBOUND, VOLUME_GONE, not_there, refused, unusable
from vsched.framework.refusal import Refusal
from vsched.kernels.volumes import ZONE_LABELS, Terms
from vsched.model.claims.catalogue import VolumeCatalogue
from vsched.model.claims.volumes import ONCE_POD, Volume, VolumeClaim
from vsched.model.pods.task import Task

Zones = tuple[tuple[str, str], ...]


class Place(NamedTuple):
    """Where the volume of a bound claim can be used."""

    affinity: Terms
    zones: Zones
    """The labels of the volume that name zones and regions."""


ANYWHERE = Place(None, ())


class Content(NamedTuple):
    """What is asked for one claim. Tasks with equal contents find the same nodes."""

    place: Place | None = None
    """Where the volume can be used; None where the claim is not bound, or its volume is the same for all nodes."""
    wish: Wish | None = None
    """Where the claim waits for its first pod."""
    driver: str = ""
    """The CSI driver, that which makes the volume if there is none yet; empty where nothing limits its volumes."""
    attached: Attachable | None = None
    """The volume, where it counts on some node already."""
    once: str = ""
    """The claim, if one pod may use it at a time and some pod does."""


class Wanted(NamedTuple):
    """One claim of a task."""

    claim: VolumeClaim
    content: Content
    name: Attachable | None
    """The volume as nodes attach it, for a claim that waits a new one; None where nothing limits it."""
    given: str = ""
    """The volume that was given to the claim before, and whose binding is not complete."""


class Wants(NamedTuple):
    """The claims of a task, in the order of its spec."""

    claims: tuple[Wanted, ...]
    number: int
    """Tasks with equal contents have equal numbers."""


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
        self._numbers: dict[tuple[Content, ...], int] = {}

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
                return not_there(task, volume)
            refusal = unusable(task, volume, claim) if rules.volume_binding else None
            if refusal is not None:
                return refusal
            claims[key] = claim
        wanted: list[Wanted] = []
        for claim in claims.values():
            one = self._wanted(claim)
            if isinstance(one, Refusal):
                return one
            wanted.append(one)
        contents = tuple(one.content for one in wanted)
        return Wants(tuple(wanted), self._numbers.setdefault(contents, len(self._numbers)))

    def _wanted(self, claim: VolumeClaim) -> Wanted | Refusal:
        catalogue = self._catalogue
        volume = catalogue.volumes.get(claim.volume) if claim.volume else None
        place: Place | None = None
        wish: Wish | None = None
        if not self._rules.volume_binding or claim.bound:
            if volume is None and self._rules.volume_binding:
                return refused(VOLUME_GONE, claim.key)
            place = self._place(volume)
        else:
            storage_class = catalogue.classes.get(claim.storage_class)
            if storage_class is None or not storage_class.waits:
                return refused(UNBOUND, claim.key)
            if claim.volume and not (volume is not None and is_for(volume, claim)):
                return refused(UNBOUND, claim.key)
            if volume is not None and volume.claim_uid:
                place = self._place(volume)
            else:
                wish = self._storage_of(storage_class.name).wish(claim)
        name, given = self.names.of_claim(claim), ""
        if wish is not None:
            name = self._name_to_be(claim, wish)
        elif self._rules.volume_binding and not claim.bound:
            given = claim.volume
        content = Content(
            place,
            wish,
            "" if name is None else name.driver,
            name if name is not None and self._attached.is_placed(name) else None,
            claim.key if ONCE_POD in claim.modes and catalogue.users.get(claim.key) else "",
        )
        return Wanted(claim, content, name, given)

    def _place(self, volume: Volume | None) -> Place | None:
        if volume is None:
            return None
        zones = tuple((key, volume.labels[key]) for key in ZONE_LABELS if key in volume.labels)
        affinity = volume.affinity if self._rules.volume_binding else None
        place = Place(affinity, zones if self._rules.volume_zones else ())
        return None if place == ANYWHERE else place

    def _name_to_be(self, claim: VolumeClaim, wish: Wish) -> Attachable | None:
        """The volume reserved for a claim that waits, or one that is made for it."""
        if wish.reserved:
            return self.names.of_volume(self._catalogue.volumes[wish.reserved])
        return self.names.to_be_made(self._catalogue.classes[claim.storage_class], claim)
