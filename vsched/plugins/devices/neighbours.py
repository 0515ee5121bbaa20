"""Devices that a pod must not share with certain other pods: which are these, and which devices do they use.

Two things keep pods apart. A pod with the annotation ``volcano.sh/vgpu-podgroup-policy: spread`` accepts no device that
another pod of its job uses. And pods that match the same rule (a map of labels) of ``GPUExclusiveRules`` share no
device with each other; they may share one with other pods. Rules do not count where GPUs are divided by MIG.

Which devices are used is kept from session to session: only nodes whose pods have changed are looked at again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import is_
from typing import NamedTuple

import numpy as np

from vsched.model.deviceshare.records import MIG, DeviceKind, DevicePod
from vsched.model.nodes.table import Ints, Mask, NodeStatics
from vsched.model.pods.task import Task
from vsched.plugins.devices.tables import DeviceTables, HeldDevices

Labels = tuple[tuple[str, str], ...]
Rule = tuple[tuple[str, str], ...]
"""Labels that a pod has to have, sorted."""
Tag = str | int
"""What pods have in common that are kept apart: the key of a job, or the number of a rule."""
Tags = tuple[Tag, ...]
Used = Mapping[int, tuple[int, ...]]
"""By place: the slots of devices that pods with some tag use; one for each pod."""


def as_rule(labels: Mapping[str, str]) -> Rule:
    """The rule of such a map of labels."""
    return tuple(sorted(labels.items()))


class DeviceMove(NamedTuple):
    """A pod has taken devices in this session, or given them back."""

    task: Task
    held: HeldDevices
    sign: int
    """-1 where it has taken them, 1 where it has given them back."""
    later: bool
    """Whether that only concerns what will be free later."""


class KnownUses(NamedTuple):
    """The devices that pods use before the session places anything. Never changes."""

    tables: DeviceTables
    by_tag: Mapping[Tag, Used]


class Neighbours:
    """Which devices pods with each tag use during a session."""

    def __init__(self, tables: DeviceTables, statics: NodeStatics, kind: str, rules: Sequence[Rule]) -> None:
        self._tables, self._kind, self._rules = tables, kind, rules
        self._matching: dict[Labels, Tags] = {}
        """The rules that labels match."""
        self._known = self._uses(statics)
        self._changes: dict[tuple[bool, Tag], dict[int, Counter[int]]] = {}
        """What this session has changed of what is used now (False) or later (True), by place and slot."""
        self._followed = 0
        for uid in sorted(tables.leaving):
            place = tables.held[uid].place
            pod = next(one for one in tables.pods[place] or () if one.uid == uid)
            self._change(self._tags(pod.job, pod.labels, place), tables.held[uid], 1, now=False)

    def follow(self, moves: Sequence[DeviceMove]) -> None:
        """Take note of what this session has done; ``moves`` only grows."""
        for task, held, sign, later in moves[self._followed :]:
            self._change(self._tags(task.job, task.labels.pairs, held.place), held, sign, now=not later)
        self._followed = len(moves)

    def avoided_by(self, task: Task) -> Tags:
        """The tags of pods with which a pod shares no device; none for most pods."""
        request = task.shape.devices
        if request is None or request.kind != DeviceKind.VGPU:
            return ()
        job = (task.job,) if request.spread and task.job else ()
        return (*job, *self._matched(task.labels.pairs)) if self._rules else job

    def used_at(self, tags: Tags, places: Ints, *, later: bool) -> Mask:
        """bool[slots, places]: devices that pods with these tags use: later, or at any time from now on."""
        found = np.zeros((self._tables.now.shape[0], len(places)), np.bool_)
        for tag in tags:
            known = self._known.by_tag.get(tag, {})
            for when in (True,) if later else (True, False):
                changes = self._changes.get((when, tag), {})
                for at, place in enumerate(places.tolist()):
                    if place in known or place in changes:
                        found[_slots(known.get(place, ()), changes.get(place)), at] = True
        return found

    # -- tags ---------------------------------------------------------------------------------------------------------

    def _tags(self, job: str, labels: Labels, place: int) -> Tags:
        """What a pod on a node has in common with others."""
        divided = self._tables.found[place].mode == MIG
        matched = () if divided or not self._rules else self._matched(labels)
        return (job, *matched) if job else matched

    def _matched(self, labels: Labels) -> Tags:
        found = self._matching.get(labels)
        if found is None:
            pairs = set(labels)
            found = tuple(number for number, rule in enumerate(self._rules) if pairs.issuperset(rule))
            self._matching[labels] = found
        return found

    # -- uses ---------------------------------------------------------------------------------------------------------

    def _change(self, tags: Tags, held: HeldDevices, sign: int, *, now: bool) -> None:
        for tag in tags:
            for when in (True, False) if now else (True,):
                places = self._changes.setdefault((when, tag), {})
                places.setdefault(held.place, Counter()).update(dict.fromkeys(_slots_of(held), -sign))

    def _uses(self, statics: NodeStatics) -> KnownUses:
        """The devices that pods use; what of the last session still holds is used again."""
        return statics.memo.renewed("device neighbours", f"{self._kind} {self._rules}", KnownUses, self._uses_since)

    def _uses_since(self, before: KnownUses | None) -> KnownUses:
        tables = self._tables
        if before is not None and before.tables is tables:
            return before
        if before is not None and before.tables.found is tables.found:
            pods = before.tables.pods
            changed = [place for place, same in enumerate(map(is_, tables.pods, pods)) if not same]
            by_tag = dict(before.by_tag)
        else:
            pods, changed, by_tag = [None] * len(tables.pods), [*range(len(tables.pods))], {}
        fresh: dict[Tag, dict[int, tuple[int, ...]]] = {}

        def copied(tag: Tag) -> dict[int, tuple[int, ...]]:
            if tag not in fresh:
                fresh[tag] = dict(by_tag.get(tag, {}))
            return fresh[tag]

        for place in changed:
            for tag in self._tags_at(pods[place], place):
                copied(tag).pop(place, None)
            for tag, slots in self._slots_at(place).items():
                copied(tag)[place] = tuple(slots)
        by_tag.update(fresh)
        return KnownUses(tables, {tag: used for tag, used in by_tag.items() if used})

    def _mine(self, pods: Iterable[DevicePod] | None) -> Iterator[DevicePod]:
        return (pod for pod in pods or () if pod.kind == self._kind)

    def _tags_at(self, pods: Iterable[DevicePod] | None, place: int) -> set[Tag]:
        return {tag for pod in self._mine(pods) for tag in self._tags(pod.job, pod.labels, place)}

    def _slots_at(self, place: int) -> dict[Tag, list[int]]:
        found: dict[Tag, list[int]] = {}
        for pod in self._mine(self._tables.pods[place]):
            for tag in self._tags(pod.job, pod.labels, place):
                found.setdefault(tag, []).extend(_slots_of(self._tables.held[pod.uid]))
        return found


def _slots_of(held: HeldDevices) -> set[int]:
    """The slots of the devices that a pod uses."""
    return {part.slot for some in held.parts for part in some}


def _slots(known: tuple[int, ...], changes: Counter[int] | None) -> list[int]:
    """The slots that are used, by what was used before and what has changed."""
    if changes is None:
        return list(known)
    counts = Counter(known)
    counts.update(changes)
    return [slot for slot, count in counts.items() if count > 0]
