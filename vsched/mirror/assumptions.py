"""What was decided and done, until the watches show it or a write fails."""

from __future__ import annotations

from collections.abc import Iterator

from vsched.mirror.events import MirrorEvents
from vsched.mirror.stores import Stores
from vsched.model.plan import CycleReport
from vsched.model.pods.task import Task


class Assumptions:
    """Takes the decisions of cycles and the outcomes of writes."""

    def __init__(self, stores: Stores, events: MirrorEvents) -> None:
        self._pods = stores.decided
        self._stores = stores
        self._events = events
        self.now = 0.0
        """The time of the last snapshot."""

    def advance(self, now: float) -> float:
        """A snapshot is taken at this time: drop what has lasted long enough. Returns the time of the one before."""
        before, self.now = self.now, now
        self._stores.groups.shown()
        self._stores.budgets.expire(now)
        self._pods.forget_refusals(now)
        return before

    # -- decisions

    def assume(self, report: CycleReport) -> None:
        """Assume the decisions of a cycle until the watch shows them or a failure is reported."""
        for _ in self.assuming(report):
            pass

    def assuming(self, report: CycleReport) -> Iterator[None]:
        """The same in steps, one for each pod and each job; events may be taken in between."""
        leaving: list[Task] = []
        for _ in self._pods.assume(report, leaving):
            for task in leaving:
                self._stores.budgets.promise(task, self.now)
            leaving.clear()
            yield
        yield from self._stores.groups.assuming(report.jobs)
        for release in report.released:
            self._stores.claims.release(release)

    def settle(self, report: CycleReport, at: float) -> None:
        """Make the decisions of a cycle true, for what-if simulations, which have no watch."""
        stores = self._stores
        stores.budgets.settle(*self._pods.settle(report, at))
        for eviction in report.evictions:
            stores.problems.drop("Pod", eviction.uid)
        stores.groups.settle(report.jobs)

    def awaits(self, uid: str) -> bool:
        """Whether a binding or an eviction of the pod is assumed and not shown by the watch yet."""
        return self._pods.awaits(uid)

    def review(self) -> None:
        """Show every job as changed once, some in each session: the leader before may not have written its status."""
        self._stores.jobs.review()

    # -- bindings and claims

    def forget(self, uid: str) -> bool:
        """Drop an assumed binding or eviction that failed: the pod and its claims are as last watched.

        False if nothing was assumed.
        """
        self._stores.budgets.withdraw(uid)
        forgotten = self._pods.forget(uid)
        if forgotten:
            self._events.on_change()
        return forgotten

    def binding_refused(self, uid: str, message: str, node: str = "") -> None:
        """The API server refused a binding; ``node`` is where admission will not have the pod, empty for no node."""
        self._pods.binding_refused(uid, message, node, self.now)
        self._events.on_calm_change()

    def binding_settled(self, uid: str) -> None:
        """The pod is bound, or is gone: what was refused to it does not count any more."""
        self._pods.binding_settled(uid)

    def found_bound(self, uid: str, node: str) -> None:
        """The API server says that a pod which was to be bound was bound already, to this node."""
        if self._stores.pods.found_bound(uid, node):
            self._events.on_change()

    def accepted(self, uid: str) -> None:
        """The API server accepted the binding: lists that begin from now on must show it."""
        self._pods.accept(uid)

    def claim_release_failed(self, key: str) -> None:
        """A claim (``namespace/name``) could not be given back: it is again as last watched."""
        if self._stores.claims.release_failed(key):
            self._events.on_change()

    # -- evictions

    def spare(self, uid: str) -> None:
        """An eviction was refused: the pod is no victim until ``unspare``, or until it is gone."""
        self._pods.spare(uid)

    def unspare(self, uid: str) -> None:
        """The pod may be a victim again."""
        if self._pods.unspare(uid):
            self._events.on_change()

    def took(self, taker: str, victim: str, now: float) -> float:
        """A pod of the job ``victim`` was evicted for another one. How long they leave each other alone from now on
        because they take from each other in turn; 0 where they do not."""
        return self._stores.loops.took(taker, victim, now)

    # -- what is written to pods and PodGroups

    def nomination_written(self, uid: str, node: str, resource_version: str = "") -> None:
        """A nomination was written; ``resource_version`` is that of the pod, empty if unknown."""
        self._pods.nomination_written(uid, node, resource_version)

    def nomination_failed(self, uid: str, node: str) -> None:
        """A nomination cannot be written: the pod's nomination is again as last watched."""
        self._pods.nomination_failed(uid, node)

    def ungate_failed(self, uid: str) -> None:
        """A scheduling gate could not be removed: the pod still waits at it."""
        if self._pods.ungate_failed(uid):
            self._events.on_change()

    def status_written(self, key: str, resource_version: str = "") -> None:
        """A PodGroup's status was written; ``resource_version`` is that of the object, empty if unknown."""
        self._stores.groups.status_written(key, resource_version)

    def status_failed(self, key: str) -> None:
        """A PodGroup's status could not be written: its phase is again as last watched."""
        if self._stores.groups.status_failed(key):
            self._events.on_change()
