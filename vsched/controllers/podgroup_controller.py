"""The PodGroup controller: creates PodGroups for pods of ours that name none, and writes their names to the pods.

A pod that has no controller, and says no minimum, gets none unless that is asked for: what it says decides already.

It is level-triggered: a PodGroup is compared with its pods and their workload when anything about these has changed,
and again while a write fails. All state is in the API server, so a daemon that was killed between two writes continues
after a restart. Sessions do not wait for these writes. PodGroups are deleted with their owners. Only those of workloads
that were scaled to zero are deleted here, so that they do not keep a queue open.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

import msgspec
import orjson
from cachetools import LRUCache

from vsched.api.resources import PODGROUPS, PODS
from vsched.clock import monotonic
from vsched.controllers import words
from vsched.controllers.podgroup_records import PodGroupMember, PodGroupRecords
from vsched.controllers.podgroups import PodGroupOwner, PodGroupState, content_of, correction, creation
from vsched.controllers.queue_records import ObjectFeed
from vsched.kube.backoff import BackOffs, BackOffSettings
from vsched.kube.client import MERGE_PATCH
from vsched.kube.watch.bounds import LoopTurns
from vsched.mirror.ingest.alike import TASK_SPEC
from vsched.mirror.ingest.implicit import GROUP_MIN_MEMBER, GROUP_NAME, ImplicitPodGroup
from vsched.mirror.ingest.metadata import QUEUE_NAME
from vsched.mirror.mirror import Mirror
from vsched.model.plan import Bind
from vsched.writes.bodies import ObjectReference, deletion_options, pod_reference
from vsched.writes.events import WARNING, EventRecorder
from vsched.writes.limits import Attempts
from vsched.writes.workqueue import Workqueue, WorkqueueSettings
from vsched.writes.writer import NOT_PERMITTED, Write, Writer, WriteResult

BATCH = 256
"""How many keys are taken at a time to be checked."""
SLICE_SECONDS = 0.005
"""How long keys are checked before others have their turn."""

Worry = Callable[..., None]
"""Logs a warning: a sentence, and fields."""


class PodGroupSettings(msgspec.Struct, frozen=True):
    """Limits and backoff of writes about PodGroups and the pods they are made for."""

    groups: WorkqueueSettings = WorkqueueSettings(workers=8, per_second=200.0, burst=400.0, limit=500_000)
    pods: WorkqueueSettings = WorkqueueSettings(workers=8, per_second=400.0, burst=800.0, limit=500_000)
    attempts: Attempts = Attempts(4, first_seconds=0.1, ceiling_seconds=2.0)
    retry: BackOffSettings = BackOffSettings(first_seconds=0.2, ceiling_seconds=60.0)
    """Backoff after failed writes, those refused for an outdated version included."""
    naming_seconds: float = 2.0
    """A pod has so long to be bound, which gives it the name of its PodGroup; after that, the name is written to it."""
    unseen_seconds: float = 3.0
    """How long the watch may take to show a new PodGroup before it is created again, which is harmless."""
    remembered: int = 50_000


class PodGroupController:
    """Creates, updates and deletes the PodGroups of pods that name none."""

    def __init__(
        self,
        writer: Writer,
        events: EventRecorder,
        mirror: Mirror,
        scheduler_names: frozenset[str],
        worry: Worry,
        *,
        single_pods: bool,
        ends_runs: Callable[[], bool],
    ) -> None:
        """``single_pods``: a PodGroup is made for a pod without a controller and for a Job of one pod, too, although
        nobody asked for it. ``ends_runs``: whether the policy ends jobs, which is noted on PodGroups."""
        self._writer = writer
        self._events = events
        self._mirror = mirror
        self._worry = worry
        self._single_pods = single_pods
        self._ends_runs = ends_runs
        self._settings = PodGroupSettings()
        self._records = PodGroupRecords(
            scheduler_names, self._touched, lambda: mirror.intake.workloads, mirror.gang_pod
        )
        self._records.on_named.add(self._named)
        mirror.events.on_gang.add(self._touched)
        mirror.events.on_regathered.add(self._records.regather)
        self._dirty: dict[str, None] = {}
        """Keys of PodGroups to be checked, each once."""
        self._wake = asyncio.Event()
        self._made: LRUCache[str, float] = LRUCache(self._settings.remembered)
        """Creation times, by the monotonic clock, of PodGroups that the watch does not show yet."""
        self._back_offs = BackOffs(self._settings.retry)
        """Backoff of existing PodGroups and pods with failed writes, by key."""
        self._blamed: LRUCache[str, tuple[str, ...]] = LRUCache(self._settings.remembered)
        """Problems of annotations already reported, by key of the PodGroup."""
        self._worried: set[tuple[str, int]] = set()
        """Failures already logged, as (method and kind, code), until such a write succeeds."""
        self.groups: Workqueue[str, None] = Workqueue(self._settings.groups, self._look)
        self.pods: Workqueue[str, PodGroupMember] = Workqueue(self._settings.pods, self._name)

    @property
    def sinks(self) -> Mapping[str, ObjectFeed[Any]]:
        """The sink for each kind that has to be watched."""
        return self._records.feeds

    async def run(self) -> None:
        """Run the controller until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.groups.run(), name="podgroups-made")
            group.create_task(self.pods.run(), name="podgroups-named")
            group.create_task(self._sweep(), name="podgroups-compared")

    # -- what is to be looked at

    def _touched(self, key: str) -> None:
        if self._records.is_known(key):
            self._dirty[key] = None
            self._wake.set()
        else:
            self._dirty.pop(key, None)  # a standby looks at nothing for a long time, and must not gather what is gone
            self._forget(key)

    def _named(self, pod: str) -> None:
        """A pod has the name of its PodGroup, or is gone."""
        self.pods.discard(pod)

    def _forget(self, key: str) -> None:
        self._made.pop(key, None)
        self._back_offs.forget(key)
        self.groups.discard(key)

    async def _sweep(self) -> None:
        """Check the touched keys; queue those that need a write, and forget those that are up to date."""
        await self._records.complete.wait()
        while True:
            await self._wake.wait()
            turns = LoopTurns(SLICE_SECONDS)
            for key in [*islice(self._dirty, BATCH)]:
                if key in self._dirty:
                    del self._dirty[key]
                    self._sort(key)
                if turns.over:
                    await turns.turn()
            if not self._dirty:
                self._wake.clear()
            await asyncio.sleep(0)

    def _sort(self, key: str) -> None:
        if self._change(key) is not None:
            self.groups.put(key, None)
        if self._records.group(key) is not None or self._made.get(key) is not None:
            for pod, member in self._records.nameless.pop(key, {}).items():
                self.pods.put(pod, member, self._settings.naming_seconds)

    # -- one PodGroup

    def _change(self, key: str) -> Write | None:
        """The write that a PodGroup needs now; None if it is up to date."""
        group = self._records.group(key)
        if group is not None:
            self._made.pop(key, None)
            if group.made and group.owned and self._records.is_stale(key):
                return _deletion(key, group)
        live = next((member for member in self._records.members(key).values() if member.live), None)
        implicit_group = self._mirror.implicit_group(key)
        if live is None or implicit_group is None:
            return None  # of pods that cannot be read it is said elsewhere what is wrong with them
        remarks = [*implicit_group.remarks]
        content = content_of(implicit_group, self._mirror.axis.names, remarks)
        self._complain(key, live.owner, tuple(remarks))
        if group is None:
            if not self._is_wanted(live, implicit_group):
                return None
            made = self._made.get(key)
            if made is not None and monotonic() < made + self._settings.unseen_seconds:
                return None
            namespace, _, name = key.partition("/")
            body = creation(namespace, name, content, live.owner)
            return Write("podgroup", "POST", PODGROUPS.path(namespace), orjson.dumps(body))
        patch = correction(group, content, live.owner)
        return None if patch is None else Write("podgroup", "PATCH", _path(key), orjson.dumps(patch), MERGE_PATCH)

    def _is_wanted(self, live: PodGroupMember, implicit_group: ImplicitPodGroup) -> bool:
        """Whether a PodGroup is made: nobody needs one for a single pod, unless it has a minimum, or waits to be
        admitted, of which nothing is told on the pod. Whatever else a Job says may have to be told there, too."""
        if not self._goes_without(live) or implicit_group.speaker.gated:
            return True
        said = dict(implicit_group.spec.annotations)
        return GROUP_MIN_MEMBER in said if live.single else not said.keys() <= {QUEUE_NAME}

    def _goes_without(self, member: PodGroupMember) -> bool:
        """Whether it is a single pod; where the policy ends jobs, a Job's pod needs the note that it was ended."""
        if self._single_pods:
            return False
        return member.single or (member.group in self._records.lone and not self._ends_runs())

    def policy_changed(self) -> None:
        """Another policy may be in force: it may end Jobs of one pod."""
        for key in self._records.lone:
            self._touched(key)

    async def _look(self, key: str, _: None) -> None:
        write = self._change(key)
        if write is None:
            self._back_offs.forget(key)
            await asyncio.sleep(0)  # there may be hundreds of which nothing is to be written
            return
        answer = await self._writer.send(write, self._settings.attempts)
        there = write.method == "POST" and answer.code == 409
        if answer.done or there or (write.method == "DELETE" and answer.code == 404):
            self._succeeded(key, write)
            if write.method == "POST" and self._records.group(key) is None and self._records.is_known(key):
                self._made[key] = monotonic()
                self._touched(key)
        elif answer.code != NOT_PERMITTED:
            self._failed(key, write, answer)
            live = next((member for member in self._records.members(key).values() if member.live), None)
            if live is not None:
                what = f"PodGroup {key.partition('/')[2]}"
                self._events.refused(_reference(key, live.owner), what, answer, write.method)
            if self._records.is_known(key):
                self.groups.put(key, None, self._back_off_seconds(key, answer))

    async def _name(self, pod: str, member: PodGroupMember) -> None:
        """Write the name of its PodGroup to a pod; the uid in the patch excludes another pod of the same name."""
        if self._records.member(pod) != member:
            self._back_offs.forget(pod)
            await asyncio.sleep(0)
            return  # it has gone, has its name, or will be put here anew
        namespace, _, name = pod.partition("/")
        body = orjson.dumps({"metadata": {"uid": member.uid, "annotations": dict(_notes_of(member))}})
        write = Write("pod", "PATCH", PODS.path(namespace, name), body, MERGE_PATCH)
        answer = await self._writer.send(write, self._settings.attempts)
        if answer.done or answer.code in (404, 409):
            self._succeeded(pod, write)
        elif answer.code != NOT_PERMITTED:
            self._failed(pod, write, answer)
            self._events.refused(pod_reference(namespace, name, member.uid), words.PODGROUP_BY_NAME, answer)
            if self._records.member(pod) == member:
                self.pods.put(pod, member, self._back_off_seconds(pod, answer))

    def notes(self, bind: Bind) -> tuple[tuple[str, str], ...]:
        """What a pod is to be given with its binding: the name of its PodGroup, where it names none yet."""
        member = self._records.member(f"{bind.namespace}/{bind.name}")
        if member is None or member.uid != bind.uid or member.named or not member.live or not member.group:
            return ()
        has_group = self._records.group(member.group) is not None or member.group in self._made
        if not has_group and self._goes_without(member):
            implicit_group = self._mirror.implicit_group(member.group)
            if implicit_group is None or not self._is_wanted(member, implicit_group):
                return ()
        return _notes_of(member)

    def _complain(self, key: str, owner: PodGroupOwner, remarks: tuple[str, ...]) -> None:
        """Report invalid annotations once, by an Event on the workload, or on the pod if it has none."""
        if remarks == self._blamed.get(key, ()):
            return
        self._blamed[key] = remarks
        if remarks:
            self._events.record(_reference(key, owner), WARNING, "BadAnnotation", "; ".join(remarks))

    # -- results of writes

    def _succeeded(self, key: str, write: Write) -> None:
        self._back_offs.forget(key)
        self._worried = {failure for failure in self._worried if failure[0] != f"{write.method} {write.kind}"}

    def _failed(self, key: str, write: Write, answer: WriteResult) -> None:
        failure = (f"{write.method} {write.kind}", answer.code)
        if answer.code == 409 or answer.namespace_ends or failure in self._worried:
            return
        self._worried.add(failure)
        problem = {"code": answer.code, "problem": answer.message}
        self._worry(words.PODGROUPS_CANNOT_BE_WRITTEN, kind=write.kind, name=key, **problem)

    def _back_off_seconds(self, key: str, answer: WriteResult) -> float:
        return self._back_offs.next_seconds(key, answer.asked_seconds)


def _reference(key: str, owner: PodGroupOwner) -> ObjectReference:
    """The workload, or the pod, that a PodGroup stands for."""
    return ObjectReference(owner.api_version, owner.kind, key.partition("/")[0], owner.name, owner.uid)


def _notes_of(member: PodGroupMember) -> tuple[tuple[str, str], ...]:
    """The annotations of a pod that say which PodGroup it belongs to, and in which role."""
    name = (GROUP_NAME, member.group.partition("/")[2])
    return (name, (TASK_SPEC, member.role)) if member.role else (name,)


def _path(key: str) -> str:
    namespace, _, name = key.partition("/")
    return PODGROUPS.path(namespace, name)


def _deletion(key: str, group: PodGroupState) -> Write:
    return Write("podgroup", "DELETE", _path(key), deletion_options(group.uid, group.version))
