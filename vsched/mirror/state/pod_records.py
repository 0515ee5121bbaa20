"""Every pod as snapshots show it: each change goes to the stores of nodes, jobs, claims and devices as well."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping

import msgspec
from cachetools import LRUCache

from vsched.mirror.accounts.namespaces import NamespaceAccounts
from vsched.mirror.ingest.pods import PodReader
from vsched.mirror.ingest.workload_kinds import NO_WORKLOADS
from vsched.mirror.state.assumed import AssumedTasks
from vsched.mirror.state.claims.store import ClaimStore
from vsched.mirror.state.deviceshare import DeviceShareStore
from vsched.mirror.state.durations import DurationStore
from vsched.mirror.state.gangs import GangStore
from vsched.mirror.state.jobs import JobStore
from vsched.mirror.state.nodes import NodeStore
from vsched.mirror.state.refused_bindings import RefusedBindings
from vsched.mirror.state.resource_versions import SeenVersions
from vsched.mirror.state.zones import ZoneStore
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

UNLEARNT_MAX = 4096
"""How many finished pods are remembered until the next snapshot."""
TRIED_MAX = 10_000
"""How many pods with failed bindings are remembered."""


class PodRecords:
    """Every pod that uses a node or waits for one, by uid."""

    def __init__(
        self,
        reader: PodReader,
        seen: SeenVersions,
        nodes: NodeStore,
        jobs: JobStore,
        judge_class: Callable[[str], tuple[int, str]],
        claims: ClaimStore,
        zones: ZoneStore,
        device_shares: DeviceShareStore,
        accounts: NamespaceAccounts | None = None,
        joined: Callable[[Task], Task] = lambda task: task,
        answered: Callable[[Task], Task] = lambda task: task,
        gangs: GangStore | None = None,
    ) -> None:
        """``joined`` gives a pod of a native PodGroup the job that the group belongs to, ``answered`` a pod that was
        asked to end by itself what its responders say, ``gangs`` a pod the gang that its owners say. Without
        ``accounts`` nobody arbitrates.
        """
        self._reader = reader
        self._seen = seen
        self._nodes = nodes
        self._jobs = jobs
        self._judge_class = judge_class
        self.claims = claims
        self._zones = zones
        self._device_shares = device_shares
        self.accounts = accounts
        self._joined = joined
        self._gangs = GangStore(NO_WORKLOADS, (), lambda key, gang: None) if gangs is None else gangs
        self._answered = answered
        self.refused = RefusedBindings()
        self._tasks: dict[str, Task] = {}
        self._classless: dict[str, tuple[bool, str]] = {}
        """Pods with the priority of their class: whether each is gated, and its unsupported features."""
        self._assumed = AssumedTasks()
        self._tried: LRUCache[str, str] = LRUCache(TRIED_MAX)
        """Nodes that pods were to be bound to where that failed, or seemed to: an answer that was lost may have been
        a yes."""
        self._durations = DurationStore()
        self._unlearnt: deque[Task] = deque(maxlen=UNLEARNT_MAX)
        """Pods that finished since the last snapshot; their PodGroup may not have been seen yet."""
        self.on_arrival: Callable[[str], None] = lambda uid: None
        """Called when a pod with an assumed binding has its outcome."""
        self.on_foreign: Callable[[Task], None] = lambda task: None
        """Called with a pod that another scheduler has bound."""
        self.on_start: Callable[[], None] = lambda: None
        """Called when a pod runs that was on its way: that changes no decision, and is to be reported."""

    def get(self, uid: str) -> Task | None:
        """The pod of this uid as snapshots show it, None where there is none."""
        return self._tasks.get(uid)

    def known_uid(self, uid: str) -> str:
        """The string that the pod of this uid has, the given one where there is no such pod."""
        task = self._tasks.get(uid)
        return uid if task is None else task.uid

    def drop(self, uid: str) -> bool:
        """A pod is gone, with all assumptions about it; True where it was known."""
        task = self._tasks.pop(uid, None)
        self._assumed.drop(uid)
        self._classless.pop(uid, None)
        if task is None:
            return False
        self._nodes.move(task, None)
        self.claims.move(task, None)
        self.claims.forget(uid)
        self._zones.move(task, None)
        self._device_shares.move(task, None)
        self._jobs.drop(task)
        if self.accounts is not None:
            self.accounts.move(task, None)
        return True

    def repricing(self) -> Iterator[None]:
        """Priority classes changed: compute the priorities of pods again that have their class's, a pod a step."""
        for uid in list(self._classless):
            yield
            task = self._tasks.get(uid)
            if task is not None and uid in self._classless:
                repriced = self._with_class(task)
                if repriced is not task:
                    self._store(repriced)
                self._assumed.reprice((uid,), self._with_class)

    def rejoin(self, uids: Collection[str]) -> None:
        """The native PodGroups of these pods belong to other jobs now."""
        for uid in uids:
            task = self._tasks.get(uid)
            joined = task if task is None else self._joined(task)
            if joined is not None and joined is not task:
                self._store(joined)
        self._assumed.reprice(uids, self._joined)

    def regather(self, uids: Collection[str]) -> None:
        """The owners of these pods say something else about their gangs."""
        for uid in uids:
            task = self._tasks.get(uid)
            if task is None:
                continue
            moved, implicit = self._gangs.again(task)
            if uid in self._classless:
                self._classless[uid] = moved.gated, moved.unsupported
                moved = self._with_class(moved)
            if moved is not task:
                self._store(moved)
            self._jobs.imply(moved, implicit)
        self._assumed.reprice(uids, lambda task: self._gangs.again(task)[0])

    def answer(self, uid: str) -> bool:
        """The responders of this pod say something new; True where that can matter."""
        task = self._tasks.get(uid)
        answered = task if task is None else self._answered(task)
        if answered is None or answered is task:
            return False
        self._store(answered)
        self._assumed.reprice((uid,), self._answered)
        return True

    # Sizes

    def sweep_overgrown(self) -> None:
        """Forget shapes that no pod has any more, once there are many."""
        if self._reader.shaper.overgrown:
            self.sweep()

    def sweep(self) -> None:
        """Forget shapes that no pod has any more."""
        tasks = self._tasks.values()
        self._reader.sweep({task.shape for task in tasks}, {task.labels for task in tasks})

    def columns(self) -> set[int]:
        """Columns of resources that pods ask for."""
        shapes = {task.shape for task in (*self._tasks.values(), *self._assumed.watched())}
        return {column for shape in shapes for column, _ in shape.request}

    def describe(self) -> Mapping[str, int]:
        """Sizes, for metrics."""
        return {
            "tasks": len(self._tasks),
            "assumed_tasks": len(self._assumed),
            "assumed_nominations": self._assumed.nominations,
            "spared_tasks": self._assumed.spared,
            "assumed_ungated": self._assumed.ungated,
            "shapes": len(self._reader.shaper),
            "learnt_durations": len(self._durations),
        }

    # One pod

    def _show(self, task: Task | None) -> bool:
        """Store the pod as it is to be seen, if there is anything new to see."""
        if task is None:
            return False
        self._store(task)
        return True

    def _store(self, task: Task) -> None:
        before = self._tasks.get(task.uid)
        if before is not None and before.job != task.job:
            self._jobs.drop(before)
        self._tasks[task.uid] = task
        self._nodes.move(before, task)
        if task.claims is not None or (before is not None and before.claims is not None):
            self.claims.move(before, task)
        if task.shape.zones is not None or (before is not None and before.shape.zones is not None):
            self._zones.move(before, task)
        if task.shape.devices is not None or (before is not None and before.shape.devices is not None):
            self._device_shares.move(before, task)
        self._jobs.put(task)
        if self.accounts is not None:
            self.accounts.move(before, task)

    def _with_exclusions(self, task: Task) -> Task:
        """The pod with the nodes that it is excluded from, while it has none."""
        nodes = self.refused.nodes(task.uid) if task.status in (Status.PENDING, Status.BINDING) else ()
        rules = task.shape.rules
        if rules.refused == nodes:
            return task
        shape = self._reader.shaper.table.with_rules(task.shape, msgspec.structs.replace(rules, refused=nodes))
        return msgspec.structs.replace(task, shape=shape)

    def _with_class(self, task: Task) -> Task:
        """The pod with the priority of its class; if there is no such class, it waits for it."""
        priority, missing = self._judge_class(task.priority_class)
        gated, asked = self._classless[task.uid]
        waits = task.status is Status.PENDING
        unsupported = asked or (missing if waits else "")
        if unsupported != task.unsupported:
            task = msgspec.structs.replace(task, gated=gated or (waits and bool(unsupported)), unsupported=unsupported)
        return task if priority == task.priority else msgspec.structs.replace(task, priority=priority)
