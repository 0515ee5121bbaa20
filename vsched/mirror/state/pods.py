"""All pods: as last watched, and over that what is assumed. Changes are passed to the stores of nodes and jobs.

Methods that take in objects return whether that can matter to scheduling.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from math import ceil

import msgspec
from cachetools import LRUCache

from vsched.errors import UNUSABLE, NoColumn
from vsched.mirror import wire
from vsched.mirror.accounts.namespaces import NamespaceAccounts
from vsched.mirror.ingest.pods import ASKS_SECONDS, PodReader
from vsched.mirror.ingest.workload_kinds import NO_WORKLOADS
from vsched.mirror.state.assumed import AssumedTasks
from vsched.mirror.state.claims.store import ClaimStore
from vsched.mirror.state.deviceshare import DeviceShareStore
from vsched.mirror.state.durations import DurationStore
from vsched.mirror.state.gangs import GangStore
from vsched.mirror.state.jobs import JobStore
from vsched.mirror.state.nodes import NodeStore
from vsched.mirror.state.pod_changes import matters, says_the_same
from vsched.mirror.state.refused_bindings import RefusedBindings
from vsched.mirror.state.resource_versions import SeenVersions, as_number
from vsched.mirror.state.zones import ZoneStore
from vsched.model.jobs.durations import Learnt
from vsched.model.jobs.job import JobSpec
from vsched.model.plan import CycleReport, Evict
from vsched.model.pods.cooperation import EvictionRequest
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

ENDED = (Status.SUCCEEDED, Status.FAILED)
TRIED_MAX = 10_000
"""How many pods with failed bindings are remembered."""
UNLEARNT_MAX = 4096
"""How many finished pods are remembered until the next snapshot."""


class PodStore:
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
        on_arrival: Callable[[str], None] = lambda uid: None,
        on_foreign: Callable[[Task], None] = lambda task: None,
        joined: Callable[[Task], Task] = lambda task: task,
        answered: Callable[[Task], Task] = lambda task: task,
        gangs: GangStore | None = None,
        on_start: Callable[[], None] = lambda: None,
    ) -> None:
        self._reader = reader
        self._seen = seen
        self._nodes = nodes
        self._jobs = jobs
        self._judge_class = judge_class
        self.claims = claims
        self._zones = zones
        self._device_shares = device_shares
        self.accounts = accounts
        """None where nobody arbitrates."""
        self._durations = DurationStore()
        self._unlearnt: deque[Task] = deque(maxlen=UNLEARNT_MAX)
        """Pods that finished since the last snapshot; their PodGroup may not have been seen yet."""
        self._on_arrival = on_arrival
        self._on_foreign = on_foreign
        self._on_start = on_start
        """Called when a pod runs that was on its way: that changes no decision, and is to be told."""
        self._joined = joined
        """Gives a pod of a native PodGroup the job that the group belongs to."""
        self._gangs = GangStore(NO_WORKLOADS, (), lambda key, gang: None) if gangs is None else gangs
        """Gives a pod the gang that its owners say."""
        self._answered = answered
        """Gives a pod that was asked to end by itself what its responders say."""
        self._tried: LRUCache[str, str] = LRUCache(TRIED_MAX)
        """Nodes that pods were to be bound to where that failed, or seemed to: an answer that was lost may have been
        a yes."""
        self.refused = RefusedBindings()
        self._tasks: dict[str, Task] = {}
        self._classless: dict[str, tuple[bool, str]] = {}
        """Pods with the priority of their class: whether each is gated, and its unsupported features."""
        self._assumed = AssumedTasks()

    def get(self, uid: str) -> Task | None:
        """The pod of this uid as snapshots show it, None where there is none."""
        return self._tasks.get(uid)

    def known_uid(self, uid: str) -> str:
        """The string that the pod of this uid has, the given one where there is no such pod."""
        task = self._tasks.get(uid)
        return uid if task is None else task.uid

    # What the watch says

    def put(self, uid: str, pod: wire.Pod, remarks: list[str]) -> bool:
        """Take in a pod. Raises BadObject; then only its usage of its node is kept.

        Raises NoColumn where it is to be read again once there is a column for each resource that it requests.
        """
        try:
            facts = self._reader.read(pod)
        except UNUSABLE as error:
            self.drop(uid)
            occupant = self._reader.occupant(pod)
            if occupant is not None:
                self._store(occupant.task)
                if occupant.lacks_column:
                    raise NoColumn(wire.complaint("Pod", pod.metadata, error)) from error
            raise
        if facts is None:
            return self.drop(uid)
        remarks.extend(facts.remarks)
        task, implicit = facts.task, facts.implicit
        if self._gangs.has(uid):
            task, implicit = self._gangs.placed(task, implicit)
        task = self._joined(task) if task.group else task
        task = self._answered(task) if task.asked is not None else task
        task = self._kept_away(task)
        if facts.needs_class:
            self._classless[uid] = task.gated, task.unsupported
            task = self._with_class(task)
        else:
            self._classless.pop(uid, None)
        before = self._tasks.get(uid)
        if before is not None and before.shape.rules.refused and _has_changed(before, task):
            self.refused.drop(uid)
            task = self._kept_away(task)
        task = self._assumed.overlay(task, self._seen.version(uid))
        if before is not None and says_the_same(before, task) and self._jobs.implicit_of(before) == implicit:
            return False
        if before is not None and before.status is Status.BINDING and task.status is not Status.BINDING:
            self._on_arrival(uid)
        if task.status in ENDED:
            self.claims.forget(uid)
        if before is not None and self._reader.is_ours(pod) and self._is_foreign(before, task):
            self._on_foreign(task)
        self._store(task)
        self._jobs.imply(task, implicit)
        if task.finished and task.job and (before is None or not before.finished):
            self._unlearnt.append(task)
        if before is None or matters(before, task):
            return True
        if before.status is not task.status and task.status is Status.RUNNING:
            self._on_start()
        return False

    def found_bound(self, uid: str, node: str) -> bool:
        """The API server says that the pod is on this node already. Unless we tried before, it is foreign.

        Until the watch shows it, it is assumed there; True where it was assumed on another node.
        """
        task = self._tasks.get(uid)
        if task is None:
            return False
        moves = task.status is Status.BINDING and task.node != node
        if moves:
            task = self._assumed.begin(task, Status.BINDING, node)
            self._store(task)
            self.claims.forget(uid)
        if self._tried.get(uid) != node:
            self._on_foreign(task)
        return moves

    def _is_foreign(self, before: Task, after: Task) -> bool:
        """Whether a pod that waited has a node which we did not choose."""
        waited = before.status in (Status.PENDING, Status.BINDING) and bool(after.node)
        return waited and after.node not in (before.node, self._tried.get(after.uid))

    def learn(self) -> Mapping[str, Learnt]:
        """Learnt durations, with pods that finished since the last call; valid until the next call."""
        for task in self._unlearnt:
            spec = self._jobs.spec(task.job)
            if spec is not None:
                self._durations.learn(spec, task)
        self._unlearnt.clear()
        return self._durations.publish()

    def adopt(self, tasks: dict[str, Task]) -> None:
        """Take over the pods that another mirror knows; the books of jobs and nodes have them already."""
        self._tasks = tasks
        self._reader.shaper.table.adopt(dict.fromkeys(task.shape for task in tasks.values()))

    def restore(self, task: Task, implicit: JobSpec | None) -> None:
        """A pod as it is on paper, and the job it stands for where it names none."""
        self._store(task)
        self._jobs.imply(task, implicit)

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

    # What is decided

    def awaits(self, uid: str) -> bool:
        """Whether something is assumed of the pod that the watch does not show yet."""
        return uid in self._assumed

    def has_left(self, uid: str) -> bool:
        """Whether the watch shows that a pod is leaving or gone."""
        task = self._assumed.before(uid) or self._tasks.get(uid)
        return task is None or task.status is Status.RELEASING

    def assume(self, report: CycleReport, leaving: list[Task]) -> Iterator[None]:
        """Assume what a cycle decided about pods, one a step; ``leaving`` gets the one that is to leave, if it runs."""
        for bind in report.binds:
            task = self._tasks.get(bind.uid)
            if task is not None and task.status is Status.PENDING and bind.uid not in self._assumed:
                if bind.annotations:
                    self._zones.decide(bind)
                    self._device_shares.decide(bind)
                task = self._assumed.begin(task, Status.BINDING, bind.node)
                self._store(task)
                if bind.claims is not None:
                    self.claims.assume(task, bind.claims)
            yield
        for eviction in report.evictions:
            task = self._tasks.get(eviction.uid)
            if task is not None and task.status in (Status.BOUND, Status.RUNNING) and task.uid not in self._assumed:
                self._store(self._assumed.begin(task, Status.RELEASING, task.node))
                if task.status is Status.RUNNING:
                    leaving.append(task)
            elif task is not None and task.asked is not None:
                self._store(self._assumed.answer(task))
            yield
        for withdrawal in report.withdrawals:
            task = self._tasks.get(withdrawal.uid)
            if task is not None and task.asked is not None:
                self._store(self._assumed.answer(task))
            yield
        for nomination in report.lasting_nominations:
            task = self._tasks.get(nomination.uid)
            if task is not None and task.status is Status.PENDING:
                self._store(self._assumed.nominate(task, nomination.node))
            yield
        for opened in report.ungated:
            task = self._tasks.get(opened.uid)
            if task is not None and task.awaits_queue:
                self._store(self._assumed.ungate(task))
            yield

    def settle(self, report: CycleReport, now: float) -> tuple[list[Task], list[Task]]:
        """Make the decisions of a cycle about pods true, for what-if simulations: bound pods run from ``now`` on.

        Pods that are asked to end by themselves stay until a later cycle evicts them, or the caller drops them.
        Returns the pods that now run, and the ready pods that ran and are gone.
        """
        came, went = list[Task](), list[Task]()
        for bind in report.binds:
            task = self._tasks.get(bind.uid)
            if task is not None and task.status is Status.PENDING:
                self._zones.decide(bind, on_paper=task.shape.zones is not None)
                self._device_shares.decide(bind)
                self._store(msgspec.structs.replace(task.moved(Status.RUNNING, bind.node), started=now))
                came.append(task)
        for eviction in report.evictions:
            if self._ask(eviction, now):
                continue
            leaving = self._assumed.before(eviction.uid) or self._tasks.get(eviction.uid)
            if leaving is not None and leaving.status is Status.RUNNING and not leaving.unready:
                went.append(leaving)
            self.drop(eviction.uid)
        for withdrawal in report.withdrawals:
            task = self._tasks.get(withdrawal.uid)
            if task is not None and task.asked is not None:
                self._store(msgspec.structs.replace(task.moved(Status.RUNNING, task.node), asked=None))
        for nomination in report.lasting_nominations:
            task = self._tasks.get(nomination.uid)
            if task is not None:
                self._store(msgspec.structs.replace(task, nominated=nomination.node))
        for opened in report.ungated:
            task = self._tasks.get(opened.uid)
            if task is not None:
                self._store(msgspec.structs.replace(task, gated=False, awaits_queue=False, reserves=True))
        return came, went

    def _ask(self, eviction: Evict, now: float) -> bool:
        """Ask a pod to end by itself, if that is what was decided."""
        task = self._tasks.get(eviction.uid)
        if task is None or task.asked is not None or not eviction.asks:
            return False
        wait = min(eviction.wait or ASKS_SECONDS, ASKS_SECONDS)
        request = EvictionRequest(now, ceil(now + wait), eviction.action, eviction.beneficiary)
        self._store(msgspec.structs.replace(task.moved(Status.RELEASING, task.node), asked=request))
        return True

    def accept(self, uid: str) -> None:
        """The API server accepted the binding."""
        self._assumed.accept(uid)

    def list_begins(self) -> None:
        """A list of all pods begins."""
        self._assumed.list_begins()

    def listed_unbound(self, uid: str) -> bool:
        """The list shows the pod without a node; True where that ends an assumed binding."""
        shown = self._show(self._assumed.listed_unbound(uid))
        if shown:
            self.claims.forget(uid)
        return shown

    def forget(self, uid: str) -> bool:
        """A binding or an eviction failed; False where none was assumed."""
        task = self._tasks.get(uid)
        if task is not None and task.status is Status.BINDING:
            self._tried[uid] = task.node
        shown = self._show(self._assumed.end(uid))
        shown |= self._show(self._assumed.unanswer(uid))
        return self.claims.forget(uid) or shown

    def binding_refused(self, uid: str, message: str, node: str, at: float) -> None:
        """The API server refused a binding; ``node`` is where admission will not have the pod, empty for no node."""
        self.keep_away((uid, *self.refused.note(uid, message, node, at)))
        if uid in self._tasks:
            self._jobs.report_again(self._tasks[uid].job)

    def binding_settled(self, uid: str) -> None:
        """What was refused to a pod does not count any more."""
        if self.refused.drop(uid):
            self.keep_away((uid,))

    def forget_node(self, name: str) -> None:
        """A node is not what it was: the pods that it refused may be tried there again."""
        self.keep_away(self.refused.forget_node(name))

    def forget_refusals(self, now: float) -> None:
        """Pods may be tried again on nodes that refused them long ago."""
        self.keep_away(self.refused.expire(now))

    def keep_away(self, uids: Iterable[str]) -> None:
        """Keep these pods from the nodes that are known to refuse them, and from no others."""
        for uid in uids:
            self._assumed.reprice((uid,), self._kept_away)
            task = self._tasks.get(uid)
            if task is not None:
                kept_away = self._kept_away(task)
                if kept_away is not task:
                    self._store(kept_away)

    def spare(self, uid: str) -> None:
        """The pod is no victim until ``unspare``, or until it is gone."""
        task = self._tasks.get(uid)
        if task is not None:
            self._store(self._assumed.spare(task))

    def unspare(self, uid: str) -> bool:
        """The pod may be a victim again; False where it always was."""
        return self._show(self._assumed.unspare(uid))

    def nomination_written(self, uid: str, node: str, resource_version: str) -> None:
        """A nomination was written, in this version where the API server said which."""
        version = self._seen.version(uid)
        self._show(self._assumed.nomination_written(uid, node, as_number(resource_version) or version + 1, version))

    def nomination_failed(self, uid: str, node: str) -> None:
        """A nomination cannot be written: the pod is nominated as the watch last said."""
        self._show(self._assumed.nomination_failed(uid, node))

    def ungate_failed(self, uid: str) -> bool:
        """A scheduling gate could not be removed; False where its removal was not assumed."""
        return self._show(self._assumed.ungate_failed(uid))

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

    def _kept_away(self, task: Task) -> Task:
        """The pod with the nodes that it is kept from, while it has none."""
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


def _has_changed(before: Task, after: Task) -> bool:
    """Whether a pod that waits asks for something else than before, or has other labels."""
    return after.status is Status.PENDING and (before.shape is not after.shape or before.labels is not after.labels)
