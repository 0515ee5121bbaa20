"""The claims of tasks in one session: which nodes can serve them, by volumes and devices together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import islice, product
from math import prod
from typing import NamedTuple

from vsched.framework.claims.devices.shortages import DeviceShortage, MeasuresShortages
from vsched.framework.claims.handler import ONE_WAY, ClaimHandler, ClaimWays
from vsched.framework.claims.task_claims import TaskClaims
from vsched.framework.codes import Code
from vsched.framework.refusal import Refusal
from vsched.framework.words import jobs as words
from vsched.model.claims.catalogue import NO_CLAIMS, DeviceCatalogue
from vsched.model.claims.plan import ClaimPlan
from vsched.model.pods.task import Task

NOTHING = ClaimPlan()
NO_HANDLERS: Sequence[ClaimHandler] = ()
_NOTHING_UNREAD: Mapping[str, str] = {}


class Preference(NamedTuple):
    """What a task gets on a row, if it can; None: whatever comes first."""

    task: Task
    row: int
    way: object


class Claims:
    """The claims of all tasks in one session. The ledger reports each step, and each undo, last first."""

    def __init__(
        self,
        make_handlers: Callable[[], Sequence[ClaimHandler]],
        nodes: int,
        devices: DeviceCatalogue = NO_CLAIMS.devices,
        *,
        scores: bool,
        unread: Mapping[str, str] = _NOTHING_UNREAD,
    ) -> None:
        self._make_handlers = make_handlers
        self._nodes = nodes
        self._extended = devices.extended
        """Columns of resources that devices serve: tasks that ask for them may need devices without naming claims."""
        self._made = devices.made
        """Claims that were made for such tasks, by uid."""
        self.implicit = bool(devices.extended or devices.made)
        """Whether tasks may have claims that they do not name. Otherwise ``Task.claims`` is enough."""
        self._scores = scores
        self._unread = unread
        """By kind of object that cannot be read: why."""
        self._withdrawn: list[list[object]] = []
        """What the tasks had that gave up their places, last step last."""
        self._concerns: dict[str, tuple[ClaimHandler, ...]] = {}
        """By uid: the kinds of claims that a task has."""
        self._interned: dict[tuple[ClaimHandler, ...], tuple[ClaimHandler, ...]] = {}
        """Equal values of ``_concerns`` are one object."""
        self._obstacles: dict[str, Refusal | None] = {}
        """By uid: what ``obstacle`` found; only evictions can change it."""
        self._preferences: dict[str, Preference] = {}
        """By uid."""
        self._last: TaskClaims | None = None
        """What ``of`` found last, if there was no step since."""

    @cached_property
    def _handlers(self) -> Sequence[ClaimHandler]:
        # They are made for the first task with claims, so that a cycle without any does not pay for them.
        return self._make_handlers()

    def of(self, task: Task) -> TaskClaims | None:
        """Which nodes can serve the claims of a task now; None where it has no claims."""
        last = self._last
        if last is not None and last.task is task:
            return last
        handlers = self._concerned(task)
        if not handlers:
            return None
        found = self._last = TaskClaims(task, handlers, self._nodes, self.obstacle(task), scores=self._scores)
        return found

    def concerns(self, task: Task) -> bool:
        """Whether the task has claims."""
        return bool(self._concerned(task))

    def has_devices(self, task: Task) -> bool:
        """Whether the task has claims of devices."""
        return any(isinstance(handler, MeasuresShortages) for handler in self._concerned(task))

    def obstacle(self, task: Task) -> Refusal | None:
        """Why no node can serve the task's claims, whoever leaves; None where one might, or where it has none."""
        if task.uid in self._obstacles:
            return self._obstacles[task.uid]
        handlers = self._concerned(task)
        if not handlers:
            return None
        found = self._obstacles[task.uid] = _obstacle(task, handlers, self._unread)
        return found

    def shortages(self, task: Task) -> Sequence[DeviceShortage]:
        """The requests for devices of a task that no node can serve now."""
        handlers = self._concerned(task)
        return [
            one for handler in handlers if isinstance(handler, MeasuresShortages) for one in handler.shortages(task)
        ]

    def shortages_together(self, tasks: Sequence[Task]) -> Sequence[DeviceShortage]:
        """What the tasks ask for of devices together, and all nodes together do not have free."""
        claiming = [task for task in tasks if self.concerns(task)]
        handlers = self._handlers if claiming else NO_HANDLERS
        return [
            one
            for handler in handlers
            if isinstance(handler, MeasuresShortages)
            for one in handler.shortages_together(claiming)
        ]

    def plan(self, task: Task) -> ClaimPlan | None:
        """What has to be written for a task that was placed, before it is bound; None where there is nothing."""
        plans = [plan for handler in self._concerned(task) if (plan := handler.plan(task)) is not None]
        if len(plans) < 2:
            return plans[0] if plans and plans[0] != NOTHING else None
        found = ClaimPlan(
            volumes=tuple(one for plan in plans for one in plan.volumes),
            devices=tuple(one for plan in plans for one in plan.devices),
            reserve=tuple(one for plan in plans for one in plan.reserve),
            wait=tuple(one for plan in plans for one in plan.wait),
            group=next((plan.group for plan in plans if plan.group is not None), None),
            for_group=tuple(one for plan in plans for one in plan.for_group),
        )
        return None if found == NOTHING else found

    # -- choices ----------------------------------------------------------------------------------------------------

    def ways(self, task: Task, row: int, *, later: bool, beside: Sequence[Task], most: int) -> ClaimWays:
        """What the claims of a task may get on a row that can serve them, at most so many ways; for ``prefer``.

        Of ways that leave the same to tasks like those ``beside``, one is enough.
        """
        handlers = self._concerned(task)
        if not handlers:
            return ONE_WAY
        found = []
        for handler in handlers:
            others = [one for one in beside if handler in self._concerned(one)]
            found.append(handler.ways(task, row, later=later, beside=others, most=most))
        every = tuple(islice(product(*(one.found for one in found)), most))
        complete = len(every) == prod(len(one.found) for one in found) and all(one.complete for one in found)
        return ClaimWays(every, complete)

    def prefer(self, task: Task, row: int, way: object) -> None:
        """The task gets this on the row from now on, as long as it can be had; None: whatever comes first."""
        self._preferences[task.uid] = Preference(task, row, way)

    def preferences(self, tasks: Iterable[Task]) -> list[Preference]:
        """What tasks with claims are to get at present."""
        known = self._preferences
        return [known.get(task.uid) or Preference(task, 0, None) for task in tasks if self.concerns(task)]

    # -- steps of the ledger ----------------------------------------------------------------------------------------

    def take(self, task: Task, row: int, *, later: bool) -> None:
        """The task was placed on the row; ``later`` where pods are still to leave it."""
        handlers = self._changed(task)
        if not handlers:
            return
        preferred = self._preferences.get(task.uid)
        way = preferred.way if preferred is not None and preferred.row == row else None
        ways = way if isinstance(way, tuple) else (None,) * len(handlers)
        for handler, one in zip(handlers, ways, strict=True):
            handler.take(task, row, one, later=later)

    def give_back(self, task: Task, row: int) -> None:
        """The placement of the task is undone."""
        for handler in reversed(self._changed(task)):
            handler.give_back(task, row)

    def withdraw(self, task: Task, row: int) -> None:
        """The task gives up its place; this is a step of its own."""
        handlers = self._changed(task)
        if handlers:
            self._withdrawn.append([handler.withdraw(task, row) for handler in handlers])

    def reinstate(self, task: Task, row: int) -> None:
        """The last step of this kind is undone."""
        handlers = self._changed(task)
        if handlers:
            for handler, had in zip(handlers, self._withdrawn.pop(), strict=True):
                handler.reinstate(task, row, had)

    def evict(self, task: Task, row: int) -> None:
        """The task is evicted from the row."""
        for handler in self._changed(task, is_eviction=True):
            handler.evict(task, row)

    def restore(self, task: Task, row: int) -> None:
        """The eviction of the task is undone."""
        for handler in reversed(self._changed(task, is_eviction=True)):
            handler.restore(task, row)

    def _changed(self, task: Task, *, is_eviction: bool = False) -> Sequence[ClaimHandler]:
        """The kinds of claims of a task that a step is about: what was found before the step is not valid any more."""
        handlers = self._concerned(task)
        if handlers:
            self._last = None
            if is_eviction:
                self._obstacles.clear()
        return handlers

    def _concerned(self, task: Task) -> Sequence[ClaimHandler]:
        if task.claims is None:
            if not self.implicit:
                return NO_HANDLERS
            extended = self._extended
            if task.uid not in self._made and not any(column in extended for column, _ in task.shape.request):
                return NO_HANDLERS
        found = self._concerns.get(task.uid)
        if found is None:
            handlers = tuple([handler for handler in self._handlers if handler.concerns(task)])
            found = self._concerns[task.uid] = self._interned.setdefault(handlers, handlers)
        return found


def _obstacle(task: Task, handlers: Sequence[ClaimHandler], unread: Mapping[str, str]) -> Refusal | None:
    found = why_unread(task, unread)
    return found or next((found for handler in handlers if (found := handler.obstacle(task)) is not None), None)


OF_VOLUMES = ("PersistentVolumeClaim", "PersistentVolume", "StorageClass")
"""Kinds without which nothing is known of volume claims. Without the others only limits are not known."""
OF_DEVICES = ("ResourceClaim", "ResourceSlice", "DeviceClass")
"""The same for ResourceClaims."""
UNREAD = "ClaimsUnread"
"""The reason of such a refusal, for programs."""


def why_unread(task: Task, kinds: Mapping[str, str]) -> Refusal | None:
    """The refusal of a task whose claims need one of these kinds, which cannot be read; None where it needs none."""
    if not kinds or task.claims is None:
        return None
    needed = (*(OF_VOLUMES if task.claims.volumes else ()), *(OF_DEVICES if task.claims.devices else ()))
    for kind in needed:
        if kind in kinds:
            return Refusal(UNREAD, words.claims_unread(kind, kinds[kind]), code=Code.CLAIM)
    return None
