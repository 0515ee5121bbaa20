"""Volumes and the claims for them: as watched, and over that what was decided and the watch does not show yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

import msgspec

from vsched.mirror.state.claims.available import AvailableVolumes
from vsched.mirror.state.claims.changes import ChangeLog
from vsched.mirror.state.claims.shown import ShownClaims
from vsched.mirror.state.claims.staged import SmallMap, StagedMap, Staging
from vsched.model.claims.plan import VolumeChoice
from vsched.model.claims.volumes import Attachment, CSIDriver, StorageCapacity, StorageClass, Volume, VolumeClaim

T = TypeVar("T")


class _Chosen(msgspec.Struct):
    """What was decided about a claim for a pod."""

    pod: str
    """Its uid."""
    uid: str
    """That of the claim."""
    volume: str
    node: str
    """For which a volume is made; empty where ``volume`` is chosen."""


class VolumeStore(ShownClaims[VolumeClaim]):
    """Claims and volumes by name, and what limits them."""

    def __init__(self, stage: Staging) -> None:
        super().__init__(stage)
        self._stage = stage
        self.volumes: StagedMap[Volume] = StagedMap(stage)
        self.available: dict[str, tuple[Volume, ...]] = {}
        """As published."""
        self.classes: SmallMap[StorageClass] = SmallMap(stage)
        self.drivers: SmallMap[CSIDriver] = SmallMap(stage)
        self.limits: SmallMap[Mapping[str, int | None]] = SmallMap(stage)
        self.capacities: dict[str, tuple[StorageCapacity, ...]] = {}
        """As published."""
        self.attachments: StagedMap[tuple[Attachment, ...]] = StagedMap(stage)
        self.changes = ChangeLog()
        """The nodes where something changed."""
        self._available: dict[str, AvailableVolumes] = {}
        self._available_changed: set[str] = set()
        self._capacities: dict[str, StorageCapacity] = {}
        self._capacities_of: dict[str, dict[str, StorageCapacity]] = {}
        """By storage class, then by key."""
        self._capacities_changed: set[str] = set()
        self._attachments: dict[str, Attachment] = {}
        self._attached: dict[str, dict[str, Attachment]] = {}
        """By node, then by name."""
        self._attached_changed: set[str] = set()
        self._watched_volumes: dict[str, Volume] = {}
        """Volumes as watched, where snapshots show them differently."""
        self._reserving: dict[str, set[str]] = {}
        """By claim: the volumes whose ``claimRef`` names it, without the one that it is bound to."""
        self._chosen: dict[str, _Chosen] = {}
        self._chosen_by: dict[str, set[str]] = {}
        """Claims by the pod that something was decided for."""
        self._claimed: dict[str, str] = {}
        """The claim that each static volume was chosen for."""

    @property
    def assumed(self) -> int:
        """The number of claims of which more was decided than the watch shows."""
        return len(self._chosen) + len(self._released)

    # What the watch says

    def watched_volume(self, name: str) -> Volume | None:
        """A volume as watched, None where there is none."""
        return self._watched_volumes.get(name) or self.volumes.get(name)

    def capacity(self, key: str) -> StorageCapacity | None:
        """Free capacity as watched, None where it is unknown."""
        return self._capacities.get(key)

    def capacities_of(self, storage_class: str) -> Mapping[str, StorageCapacity]:
        """The free capacities of a class as watched, by key; not in order."""
        return self._capacities_of.get(storage_class, {})

    def put_claim(self, key: str, claim: VolumeClaim | None) -> bool:
        """Set a claim as watched, None where it is gone; True where snapshots show it differently from now on."""
        before = self.watched(key)
        if before == claim:
            return False
        self._released.discard(key)
        if before is not None and before.bound:
            self._put_reserving(key, before.volume)
        if claim is not None and claim.bound:
            self._drop_reserving(key, claim.volume)
        return self._show(key, claim)

    def put_volume(self, name: str, volume: Volume | None) -> bool:
        """The same for a volume."""
        before = self.watched_volume(name)
        if before == volume:
            return False
        touched = self._reserve(before, volume)
        changed = self._show_volume(name, volume)
        for key in touched:
            self._released.discard(key)
            changed |= self._show(key, self.watched(key))
        return changed

    def put_capacity(self, key: str, capacity: StorageCapacity | None) -> bool:
        """Set free capacity, None where it is unknown; True where it has changed."""
        before = self._capacities.get(key)
        if before == capacity:
            return False
        self._stage.changed = True
        if before is not None:
            del self._capacities[key], self._capacities_of[before.storage_class][key]
            self._capacities_changed.add(before.storage_class)
        if capacity is not None:
            self._capacities[key] = capacity
            self._capacities_of.setdefault(capacity.storage_class, {})[key] = capacity
            self._capacities_changed.add(capacity.storage_class)
        return True

    def put_attachment(self, name: str, attachment: Attachment | None) -> bool:
        """Set an attachment, None where it is gone; True where it has changed."""
        before = self._attachments.get(name)
        if before == attachment:
            return False
        self._stage.changed = True
        if before is not None:
            del self._attachments[name], self._attached[before.node][name]
            self._attached_changed.add(before.node)
        if attachment is not None:
            self._attachments[name] = attachment
            self._attached.setdefault(attachment.node, {})[name] = attachment
            self._attached_changed.add(attachment.node)
        return True

    # What is decided

    def assume(self, pod: str, node: str, choice: VolumeChoice) -> None:
        """A claim gets a static volume, or a volume is made for it on the pod's node."""
        watched = self.watched(choice.claim)
        if watched is None or watched.uid != choice.uid:
            return
        if choice.claim in self._chosen:
            self._unchoose(choice.claim)  # decided again, with all that was known
        self._chosen[choice.claim] = _Chosen(pod, choice.uid, choice.volume, "" if choice.volume else node)
        self._chosen_by.setdefault(pod, set()).add(choice.claim)
        self._released.discard(choice.claim)
        self._show(choice.claim, watched)
        if choice.volume and choice.claim in self._chosen:  # unless the claim is bound by now
            self._claimed[choice.volume] = choice.claim
            self._show_volume(choice.volume, self.watched_volume(choice.volume))

    def forget(self, pod: str) -> bool:
        """What was decided for a pod failed, or the pod is gone; True where snapshots show something differently."""
        changed = False
        for key in list(self._chosen_by.get(pod, ())):
            watched = self.watched(key)
            self._unchoose(key)
            changed |= self._show(key, watched)
        return changed

    def publish(self, nodes_of: Callable[[str], Iterable[str]]) -> bool:
        """Show all changes; True where there were any. ``nodes_of`` says where pods use a claim."""
        self._put_attached()
        claims, attached = self.claims.publish(), self.attachments.publish()
        for key in claims:
            self.changes.add(nodes_of(key))
        self.changes.add(attached)
        changed = [each.publish() for each in (self.volumes, self.classes, self.drivers, self.limits)]
        if self._available_changed:
            self.available = self.available.copy()
            for name in sorted(self._available_changed):
                _set(self.available, name, self._available[name].shown() if name in self._available else ())
        if self._capacities_changed:
            self.capacities = self.capacities.copy()
            for name in sorted(self._capacities_changed):
                found = self._capacities_of[name]
                _set(self.capacities, name, tuple(found[key] for key in sorted(found)))
                if not found:
                    del self._capacities_of[name]
        more = bool(claims or attached or self._available_changed or self._capacities_changed)
        self._available_changed.clear()
        self._capacities_changed.clear()
        return more or any(changed)

    def _put_attached(self) -> None:
        """Put the attachments of each node that changed together."""
        for node in sorted(self._attached_changed):  # equal clusters give equal snapshots, the order of maps included
            found = self._attached[node]
            self.attachments.put(node, tuple(found[name] for name in sorted(found)) or None)
            if not found:
                del self._attached[node]
        self._attached_changed.clear()

    # One claim, one volume

    def _show(self, key: str, watched: VolumeClaim | None) -> bool:
        before, shown = self.claims.get(key), None if watched is None else self._overlaid(watched)
        chosen = self._chosen.get(key)
        if watched is None and chosen is not None:
            self._unchoose(key)
        if watched is None or shown is watched:
            self._watched.pop(key, None)
        else:
            self._watched[key] = watched
        if before == shown:
            return False
        self.claims.put(key, shown)
        return True

    def _overlaid(self, watched: VolumeClaim) -> VolumeClaim:
        key = watched.key
        chosen = self._chosen.get(key)
        if chosen is not None and _is_settled(watched, chosen):
            self._unchoose(key)
            chosen = None
        if chosen is not None:
            return msgspec.structs.replace(
                watched, volume=chosen.volume or watched.volume, selected_node=chosen.node or watched.selected_node
            )
        if key in self._released:
            return msgspec.structs.replace(watched, selected_node="")
        if not watched.volume and key in self._reserving:
            names = [name for name in self._reserving[key] if self._is_for(name, watched)]
            if names:
                return msgspec.structs.replace(watched, volume=min(names))
        return watched

    def _is_for(self, name: str, claim: VolumeClaim) -> bool:
        volume = self.watched_volume(name)
        return volume is not None and not volume.spent and volume.claim_uid in ("", claim.uid)

    def _show_volume(self, name: str, watched: Volume | None) -> bool:
        before, shown = self.volumes.get(name), watched
        key = self._claimed.get(name)
        if watched is not None and key is not None:
            if watched.claim:
                del self._claimed[name]
            else:
                shown = msgspec.structs.replace(watched, claim=key, claim_uid=self._chosen[key].uid)
        if watched is None or shown is watched:
            self._watched_volumes.pop(name, None)
        else:
            self._watched_volumes[name] = watched
        if before == shown:
            return False
        self.volumes.put(name, shown)
        self._offer(before, shown)
        return True

    def _offer(self, before: Volume | None, after: Volume | None) -> None:
        """Keep the order of the volumes that claims may get."""
        before = before if before is not None and before.available else None
        after = after if after is not None and after.available else None
        if before is not None and after is not None and before.storage_class != after.storage_class:
            self._offer(before, None)
            before = None
        volume = after or before
        if volume is None:
            return
        name = volume.storage_class
        offered = self._available.setdefault(name, AvailableVolumes())
        offered.put(volume.name, after)
        self._available_changed.add(name)
        if not offered:
            del self._available[name]

    def _unchoose(self, key: str) -> None:
        """End what was assumed about a claim."""
        chosen = self._chosen.pop(key)
        claims = self._chosen_by[chosen.pod]
        claims.discard(key)
        if not claims:
            del self._chosen_by[chosen.pod]
        if self._claimed.get(chosen.volume) == key:
            del self._claimed[chosen.volume]
            self._show_volume(chosen.volume, self.watched_volume(chosen.volume))

    def _reserve(self, before: Volume | None, after: Volume | None) -> set[str]:
        """Note which claim a volume is reserved for; returns the claims for which that may have changed."""
        touched = set()
        if before is not None and before.claim:
            self._drop_reserving(before.claim, before.name)
            touched.add(before.claim)
        if after is not None and after.claim and not after.spent:
            claim = self.watched(after.claim)
            if claim is None or not claim.bound or claim.volume != after.name:
                self._reserving.setdefault(after.claim, set()).add(after.name)
                touched.add(after.claim)
        return {key for key in touched if (found := self.watched(key)) is not None and not found.bound}

    def _put_reserving(self, key: str, name: str) -> None:
        """Count the volume of a claim among those that are reserved for it, if it says so."""
        volume = self.watched_volume(name)
        if volume is not None and volume.claim == key and not volume.spent:
            self._reserving.setdefault(key, set()).add(name)

    def _drop_reserving(self, key: str, name: str) -> None:
        names = self._reserving.get(key)
        if names is not None:
            names.discard(name)
            if not names:
                del self._reserving[key]


def _is_settled(watched: VolumeClaim, chosen: _Chosen) -> bool:
    """Whether the watch shows what was decided, or that it cannot come true."""
    if watched.uid != chosen.uid or watched.bound or watched.volume:
        return True
    return bool(chosen.node and watched.selected_node)


def _set(into: dict[str, tuple[T, ...]], name: str, items: tuple[T, ...]) -> None:
    if items:
        into[name] = items
    else:
        into.pop(name, None)
