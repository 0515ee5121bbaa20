"""Decisions that the mirror assumes before the watch shows them: bindings, evictions, nominations, phases.

An assumption ends when the watch shows it or shows that it cannot come true, or when its write is reported as failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from vsched.model.jobs.spec import JobSpec
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

_PLACED = (Status.BOUND, Status.RUNNING)


class _Nomination(msgspec.Struct):
    node: str
    confirmed_from: int | None = None
    """The resource version from which on the watch shows what was written; None until it was."""


class AssumedTasks:
    """Pods of which more is known than the watch shows: being bound or evicted, nominated, spared or ungated."""

    def __init__(self) -> None:
        self._watched: dict[str, Task] = {}
        """Each pod below as last watched."""
        self._moved: dict[str, tuple[Status, str]] = {}
        self._nominated: dict[str, _Nomination] = {}
        self._spared: set[str] = set()
        self._accepted: dict[str, bool] = {}
        """Pods whose binding was accepted; True if that was before the list under way began."""
        self._ungated: set[str] = set()
        """Pods whose scheduling gate is being removed."""
        self._answered: set[str] = set()
        """Pods whose request to end by themselves is over: they are being evicted, or the request withdrawn."""

        self._tables = (self._moved, self._nominated, self._spared, self._ungated, self._answered)

    def __len__(self) -> int:
        return len(self._moved)

    def __contains__(self, uid: str) -> bool:
        return uid in self._moved

    def watched(self) -> Iterable[Task]:
        """All pods with an assumption, as last watched."""
        return self._watched.values()

    @property
    def nominations(self) -> int:
        """Pods whose nomination the watch does not show yet."""
        return len(self._nominated)

    @property
    def spared(self) -> int:
        """Pods that are not offered as victims for now."""
        return len(self._spared)

    @property
    def ungated(self) -> int:
        """Pods whose gate is being opened, and which the watch shows with it."""
        return len(self._ungated)

    def before(self, uid: str) -> Task | None:
        """A pod with an assumption, as last watched; None for others."""
        return self._watched.get(uid)

    def begin(self, seen: Task, status: Status, node: str) -> Task:
        """Assume a status and node; returns the task as snapshots show it, like the methods below."""
        if status is Status.BINDING:
            self._nominated.pop(seen.uid, None)  # a binding takes the nomination back
        self._moved[seen.uid] = (status, node)
        return self._shown(self._watched.setdefault(seen.uid, seen))

    def accept(self, uid: str) -> None:
        """The API server accepted the binding: a list that begins from now on shows it."""
        if uid in self._moved:
            self._accepted[uid] = False

    def list_begins(self) -> None:
        """A list of all pods begins: it shows what was accepted before."""
        self._accepted = dict.fromkeys(self._accepted, True)
        for nomination in self._nominated.values():
            if nomination.confirmed_from is not None:
                nomination.confirmed_from = 0  # whatever its versions are: a server that was restored goes back

    def listed_unbound(self, uid: str) -> Task | None:
        """The list shows the pod without a node; None where that proves nothing, because the list is older."""
        return self.end(uid) if self._accepted.get(uid) else None

    def end(self, uid: str) -> Task | None:
        """Drop the assumed change; None where there was none."""
        self._accepted.pop(uid, None)
        return None if self._moved.pop(uid, None) is None else self._settled(uid)

    def nominate(self, seen: Task, node: str) -> Task:
        """Assume a nomination, in place of an earlier one; an empty node removes it."""
        self._nominated[seen.uid] = _Nomination(node)
        return self._shown(self._watched.setdefault(seen.uid, seen))

    def nomination_written(self, uid: str, node: str, confirmed_from: int, version: int) -> Task | None:
        """The pod's object shows the nomination from a version on, and was last seen in ``version``."""
        nomination = self._nominated.get(uid)
        if nomination is None or nomination.node != node:
            return None
        nomination.confirmed_from = confirmed_from
        return self.overlay(self._watched[uid], version)

    def nomination_failed(self, uid: str, node: str) -> Task | None:
        """Drop the assumed nomination; None where there was none."""
        nomination = self._nominated.get(uid)
        if nomination is None or nomination.node != node:
            return None
        del self._nominated[uid]
        return self._settled(uid)

    def spare(self, seen: Task) -> Task:
        """Do not offer the pod as a victim until further notice."""
        self._spared.add(seen.uid)
        return self._shown(self._watched.setdefault(seen.uid, seen))

    def unspare(self, uid: str) -> Task | None:
        """The pod may be a victim again; None where it was not spared."""
        if uid not in self._spared:
            return None
        self._spared.remove(uid)
        return self._settled(uid)

    def ungate(self, seen: Task) -> Task:
        """Assume that the scheduling gate is removed: the queue reserves room for the pod from now on."""
        self._ungated.add(seen.uid)
        return self._shown(self._watched.setdefault(seen.uid, seen))

    def ungate_failed(self, uid: str) -> Task | None:
        """The gate stays; None where its removal was not assumed."""
        if uid not in self._ungated:
            return None
        self._ungated.remove(uid)
        return self._settled(uid)

    def answer(self, seen: Task) -> Task:
        """Assume that the request to end by itself is over; the pod counts as leaving until the watch shows more."""
        self._answered.add(seen.uid)
        return self._shown(self._watched.setdefault(seen.uid, seen))

    def unanswer(self, uid: str) -> Task | None:
        """The request is as last watched; None where it was not assumed to be over."""
        if uid not in self._answered:
            return None
        self._answered.remove(uid)
        return self._settled(uid)

    def drop(self, uid: str) -> None:
        """The pod is gone, with all assumptions about it."""
        self._watched.pop(uid, None)
        self._moved.pop(uid, None)
        self._accepted.pop(uid, None)
        self._nominated.pop(uid, None)
        self._spared.discard(uid)
        self._ungated.discard(uid)
        self._answered.discard(uid)

    def reprice(self, uids: Iterable[str], priced: Callable[[Task], Task]) -> None:
        """Priority classes changed: update the watched state of these pods."""
        for uid in uids:
            if uid in self._watched:
                self._watched[uid] = priced(self._watched[uid])

    def overlay(self, watched: Task, version: int) -> Task:
        """The task as snapshots show it, now that the watch shows ``watched`` in this resource version."""
        uid = watched.uid
        if uid not in self._watched:
            return watched
        self._watched[uid] = watched
        moved = self._moved.pop(uid, None)
        expected = None if moved is None else _still_expected(watched, *moved)
        if expected is not None:
            self._moved[uid] = expected
        else:
            self._accepted.pop(uid, None)
        nomination = self._nominated.get(uid)
        if nomination is not None and _nomination_settled(watched, nomination, version):
            del self._nominated[uid]
        if not watched.awaits_queue:
            self._ungated.discard(uid)
        if watched.asked is None:
            self._answered.discard(uid)
        return self._settled(uid)

    def _settled(self, uid: str) -> Task:
        """The task as snapshots show it after an assumption ended; without assumptions it is as watched."""
        watched = self._watched[uid]
        for known in self._tables:
            if uid in known:
                return self._shown(watched)
        del self._watched[uid]
        return watched

    def _shown(self, watched: Task) -> Task:
        uid = watched.uid
        moved, nomination = self._moved.get(uid), self._nominated.get(uid)
        task = watched if moved is None else watched.moved(*moved)
        nominated = task.nominated if nomination is None else nomination.node
        spared = uid in self._spared
        if uid in self._ungated:  # still gated: it cannot be bound before the API server has removed the gate
            task = msgspec.structs.replace(task, awaits_queue=False, reserves=True)
        if task.asked is not None and uid in self._answered:
            task = msgspec.structs.replace(task, asked=None)
        if not spared and nominated == task.nominated:
            return task
        preemptable = task.preemptable and not spared
        return msgspec.structs.replace(task, nominated=nominated, preemptable=preemptable, spared=spared)


def _still_expected(watched: Task, status: Status, node: str) -> tuple[Status, str] | None:
    """The assumed status and node, None where the watch has confirmed or refuted them."""
    if watched.status is Status.PENDING:
        return status, node
    if watched.status is Status.RELEASING and not watched.node:
        # The binding may still arrive before the deletion, so the node stays taken.
        return Status.RELEASING, node
    if status is Status.RELEASING and watched.status in _PLACED:
        return Status.RELEASING, watched.node
    return None


def _nomination_settled(watched: Task, nomination: _Nomination, version: int) -> bool:
    """Whether the watch shows the nomination or a later state; a pod that has its node needs none."""
    written = nomination.confirmed_from is not None and version >= nomination.confirmed_from
    return written or watched.status is not Status.PENDING


class _AssumedPhase(msgspec.Struct):
    phase: str
    confirmed_from: int | None = None
    """The resource version from which on the watch shows what was written; None until it was."""


class AssumedPhases:
    """Phases of PodGroups that were decided and that the watch does not show yet."""

    def __init__(self) -> None:
        self._phases: dict[str, _AssumedPhase] = {}

    def __len__(self) -> int:
        return len(self._phases)

    def begin(self, key: str, phase: str) -> None:
        """Assume a phase, in place of an earlier one."""
        self._phases[key] = _AssumedPhase(phase)

    def end(self, key: str) -> bool:
        """Drop the assumption; True where there was one."""
        return self._phases.pop(key, None) is not None

    def written(self, key: str, version: int) -> None:
        """The phase was written: objects of this resource version or later show it or a later one."""
        assumed = self._phases.get(key)
        if assumed is not None:
            assumed.confirmed_from = version

    def list_begins(self) -> None:
        """A list of all PodGroups begins: it shows what was written before, whatever its versions are."""
        for assumed in self._phases.values():
            if assumed.confirmed_from is not None:
                assumed.confirmed_from = 0

    def overlay(self, key: str, watched: JobSpec, version: int) -> JobSpec:
        """The PodGroup as snapshots show it, now that the watch shows ``watched`` in this resource version."""
        assumed = self._phases.get(key)
        if assumed is None:
            return watched
        confirmed = assumed.confirmed_from is not None and version >= assumed.confirmed_from
        if confirmed or watched.phase == assumed.phase:
            del self._phases[key]
            return watched
        return msgspec.structs.replace(watched, phase=assumed.phase, written_phase=watched.phase)
