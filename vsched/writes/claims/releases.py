"""Gives back claims that waiting pods hold in vain, as cycles say.

Each claim is read first: nothing is taken from a pod that has a node, or that is being bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from vsched.api.devices import ConsumerFields
from vsched.mirror.ingest.device_claims import EXTENDED_CLAIM
from vsched.mirror.mirror import Mirror
from vsched.model.claims.devices import POD_GROUPS
from vsched.model.claims.plan import ClaimRelease
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot
from vsched.together import together
from vsched.writes.bind_backoff import BindBackoff
from vsched.writes.claims import devices, volumes, words
from vsched.writes.claims.extended import remove_extended, unmention
from vsched.writes.claims.holds import HeldObjects
from vsched.writes.claims.objects import (
    DeviceClaimRead,
    PodRead,
    VolumeClaimRead,
    VolumeRead,
)
from vsched.writes.claims.pods import has_no_node, leaves, sharing, without_node
from vsched.writes.claims.settling import Deposed, R, Settling
from vsched.writes.claims.steps import DONE, Done, Failed, Send, Step
from vsched.writes.claims.wishes import VolumeWish
from vsched.writes.workqueue import Workqueue, WorkqueueSettings

WORKERS = 4
PER_SECOND = 100.0
RELEASED, KEPT, FAILED = "released", "kept", "failed"
"""What became of a release, in metrics; kept: a pod with a node uses it, or nothing was held."""


class _Wanted(NamedTuple):
    release: ClaimRelease
    volume: str
    """The static volume that was chosen for a PersistentVolumeClaim."""


class Releases:
    """A queue of claims that are to be given back."""

    def __init__(self, settling: Settling, holds: HeldObjects, mirror: Mirror) -> None:
        self._settling = settling
        self._holds = holds
        self._mirror = mirror
        self.backoff = BindBackoff(mirror.assumptions.claim_release_failed)
        self.workqueue: Workqueue[tuple[str, str], _Wanted] = Workqueue(
            WorkqueueSettings(WORKERS, PER_SECOND, PER_SECOND), self._write
        )
        self.results: Counter[str] = Counter()
        self._open: dict[tuple[str, str], _Wanted] = {}
        """What was submitted and has not ended."""

    def submit(self, releases: Iterable[ClaimRelease], snapshot: Snapshot) -> None:
        """Give these back; the snapshot is the one of the cycle that says so."""
        for release in releases:
            known = None if release.device else snapshot.claims.volumes.claims.get(release.claim)
            kind = devices.KIND if release.device else volumes.KIND
            volume = "" if known is None or known.bound else known.volume
            wanted = _Wanted(release, volume)
            if self.workqueue.put((kind, release.claim), wanted):
                self._open[kind, release.claim] = wanted
            else:
                self._mirror.assumptions.claim_release_failed(release.claim)

    async def run(self) -> None:
        """Give back what is submitted, until cancelled."""
        await together(self.workqueue.run(), self.backoff.run())

    @property
    def under_way(self) -> Iterable[str]:
        """The jobs for which something is to be given back, or is being so."""
        return (wanted.release.job for wanted in self._open.values())

    async def _write(self, hold: tuple[str, str], wanted: _Wanted) -> None:
        try:
            await self._give_back(hold, wanted)
        except Deposed:  # whoever leads from now on decides
            self._keep(wanted.release.claim)
        finally:
            if self._open.get(hold) is wanted:
                del self._open[hold]

    async def _give_back(self, hold: tuple[str, str], wanted: _Wanted) -> None:
        key = wanted.release.claim
        if not self._holds.try_begin(hold):
            self._keep(key)  # a gang is being bound with it
            return
        try:
            seen = _Seen()
            step = await (self._devices(wanted.release, seen) if wanted.release.device else self._volume(wanted, seen))
        finally:
            self._holds.written((hold,))
            self._holds.end((hold,))
        if isinstance(step, Failed):
            self.results[FAILED] += 1
            self.backoff.failed(key)
        elif not seen.wrote:
            self._keep(key)
        else:
            self.results[RELEASED] += 1
            self.backoff.clear(key)

    def _keep(self, key: str) -> None:
        """Nothing was written, so no watch will show it."""
        self.results[KEPT] += 1
        self.backoff.failed(key)

    async def _volume(self, wanted: _Wanted, seen: _Seen) -> Step:
        release, settle = wanted.release, self._settling.settle
        step = await settle(
            VolumeClaimRead, release.claim, seen.by(lambda found: volumes.unselect_node(found, release.uid, ""))
        )
        if not wanted.volume or isinstance(step, Failed):
            return step
        wish = VolumeWish(release.claim, release.uid, "", wanted.volume)
        return await settle(VolumeRead, wanted.volume, seen.by(lambda found: volumes.release_volume(found, wish)))

    async def _devices(self, release: ClaimRelease, seen: _Seen) -> Step:
        claim = await self._settling.fetch(DeviceClaimRead, release.claim)
        if isinstance(claim, Failed):
            return claim
        if claim is None or claim.metadata.uid != release.uid:
            return DONE
        namespace = release.claim.partition("/")[0]
        tasks = self._mirror.tasks_of(release.job) or ()
        leaving = await self._leaving(release.claim, claim.consumers, tasks)

        def leave(consumer: ConsumerFields) -> bool:
            return leaves(consumer, release.claim, tasks, leaving)

        if claim.metadata.annotation(EXTENDED_CLAIM) and all(map(leave, claim.consumers)):
            return await self._extended(namespace, claim, seen)
        return await self._settling.settle(
            DeviceClaimRead,
            release.claim,
            seen.by(lambda found: devices.give_back(found, release.uid, leave)),
        )

    async def _leaving(self, claim: str, consumers: Iterable[ConsumerFields], tasks: Sequence[Task]) -> frozenset[str]:
        """The pods that certainly have no node and get none now: consumers, and pods of consumers that are groups."""
        namespace, pods = claim.partition("/")[0], dict[str, str]()
        for each in consumers:
            if each.resource == POD_GROUPS:
                pods |= {task.uid: task.key for task in sharing(tasks, claim, each.uid)}
            elif each.resource == "pods":
                pods[each.uid] = f"{namespace}/{each.name}"
        return await without_node(self._settling, {uid: key for uid, key in pods.items() if not self._is_placed(uid)})

    def _is_placed(self, uid: str) -> bool:
        task = self._mirror.task(uid)
        return task is not None and bool(task.node)

    async def _extended(self, namespace: str, claim: DeviceClaimRead, seen: _Seen) -> Step:
        """A claim that was made for extended resources is deleted: the pod gets another one with its next place."""
        owner = next((each for each in claim.metadata.owner_references or () if each.kind == "Pod"), None)
        if owner is None:
            return Failed(words.made_for_no_pod(devices.KIND, namespace, claim.metadata.name))
        settle, name = self._settling.settle, claim.metadata.name
        if not await has_no_node(self._settling, f"{namespace}/{owner.name}", owner.uid):
            return DONE
        step = await settle(PodRead, f"{namespace}/{owner.name}", seen.by(lambda found: unmention(found, name)))
        if not isinstance(step, Done):
            return step
        return await settle(
            DeviceClaimRead, f"{namespace}/{name}", seen.by(lambda found: remove_extended(found, owner.uid))
        )


class _Seen:
    """Whether anything was to be written."""

    def __init__(self) -> None:
        self.wrote = False

    def by(self, decide: Callable[[R | None], Step]) -> Callable[[R | None], Step]:
        """The same decision, which is noted."""

        def noting(found: R | None) -> Step:
            step = decide(found)
            self.wrote = self.wrote or isinstance(step, Send)
            return step

        return noting
