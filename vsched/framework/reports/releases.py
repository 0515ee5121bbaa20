"""Claims of waiting pods that others need: what is chosen or reserved for them is released.

A transaction reserves all claims of a gang before it binds the pods. If the daemon ends in between, the next one finds
waiting pods with claims. Its first cycle either places them with these, or names the claims here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from vsched.framework.jobs import JobView
from vsched.framework.session import Session
from vsched.framework.words.jobs import CLAIM_RELEASED
from vsched.model.claims.catalogue import DeviceCatalogue, VolumeCatalogue
from vsched.model.claims.devices import DeviceClaim
from vsched.model.claims.plan import ClaimRelease
from vsched.model.claims.volumes import VolumeClaim
from vsched.model.jobs.job import Job
from vsched.model.pods.task import Task


def releases(session: Session) -> tuple[ClaimRelease, ...]:
    """The claims that pending pods hold and that no pod with a node or a place uses; sorted by kind and key."""
    catalogue = session.snapshot.claims
    if not catalogue.volumes.claims and not catalogue.devices.claims:
        return ()
    waiting = {task.uid: task for task in _waiting(session)}
    if not waiting:
        return ()
    found: dict[tuple[bool, str], ClaimRelease] = {}
    for device, claim, task in chain(
        _waiting_devices(waiting, catalogue.devices), _waiting_volumes(waiting, catalogue.volumes)
    ):
        found.setdefault((device, claim.key), ClaimRelease(claim.key, claim.uid, device, task.job, CLAIM_RELEASED))
    if not found:
        return ()
    in_use = set(_keys_in_use(session))
    return tuple(release for key, release in sorted(found.items()) if key not in in_use)


WaitingClaim = tuple[bool, DeviceClaim | VolumeClaim, Task]
"""Whether it is a ResourceClaim, the claim, and a waiting pod that it is chosen or reserved for."""


def _waiting(session: Session) -> Iterator[Task]:
    """Pending tasks that may hold claims and that have no place in this session."""
    made = bool(session.snapshot.claims.devices.made)
    for view in chain(session.jobs.values(), session.stranded.values()):
        yield from _pending(view.job, made, view)
    for job in session.snapshot.strays.values():
        yield from _pending(job, made, None)


def _pending(job: Job, made: bool, view: JobView | None) -> Iterator[Task]:
    if not job.claiming and not made:
        return
    for uid, task in job.pending.items():
        if view is None or uid not in view.moved:
            yield task


def _waiting_devices(waiting: Mapping[str, Task], devices: DeviceCatalogue) -> Iterator[WaitingClaim]:
    """ResourceClaims that have devices and that are reserved for no pods but waiting ones, and for their group."""
    for key, task, group in _device_claims(waiting, devices):
        claim = devices.claims.get(key)  # without devices from the moment on that it is being given back
        if claim is None or claim.allocation is None or devices.users.get(key):
            continue
        if all(consumer.uid in waiting or consumer.uid == group for consumer in claim.consumers):
            yield True, claim, task


def _device_claims(waiting: Mapping[str, Task], devices: DeviceCatalogue) -> Iterator[tuple[str, Task, str]]:
    """The ResourceClaims that waiting pods name, and those that were made for their extended resources.

    Each comes with the pod, and with the uid of the native PodGroup whose pods share it.
    """
    for task in waiting.values():
        for one in task.claims.devices if task.claims is not None else ():
            yield one.claim, task, one.group
    for uid in sorted(devices.made.keys() & waiting.keys()):
        yield devices.made[uid], waiting[uid], ""


def _waiting_volumes(waiting: Mapping[str, Task], volumes: VolumeCatalogue) -> Iterator[WaitingClaim]:
    """PersistentVolumeClaims that are not bound and for which a node or a volume was chosen."""
    for task in waiting.values():
        for one in task.claims.volumes if task.claims is not None else ():
            claim = volumes.claims.get(f"{task.namespace}/{one.claim}")
            if claim is not None and _is_chosen(claim, volumes) and not volumes.users.get(claim.key):
                yield False, claim, task


def _is_chosen(claim: VolumeClaim, volumes: VolumeCatalogue) -> bool:
    storage_class = volumes.classes.get(claim.storage_class)
    if claim.bound or storage_class is None or not storage_class.waits:
        return False
    volume = volumes.volumes.get(claim.volume)
    return bool(claim.selected_node) or (volume is not None and volume.claim_uid == claim.uid)


def _keys_in_use(session: Session) -> Iterator[tuple[bool, str]]:
    """The claims of pending tasks that have a place in this session."""
    for view in session.jobs.values():
        for uid in view.moved.keys() & view.job.pending.keys() if view.job.claiming else ():
            task = view.job.pending[uid]
            if task.claims is not None:
                yield from ((False, f"{task.namespace}/{one.claim}") for one in task.claims.volumes)
                yield from ((True, one.claim) for one in task.claims.devices)
