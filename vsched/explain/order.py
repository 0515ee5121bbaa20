"""The order in which a session tries waiting jobs, and what puts each job behind the one before it.

Running gangs that lost pods go first. Else the sort keys are those of the actions: queues by the plugins' comparison or
by score, then namespaces, then jobs. If the policy says so, priority goes first across queues. This is the order at the
start of a session; as the session places jobs, queues and namespaces change their places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from vsched.actions.assigning import AllocateArgs
from vsched.actions.ordering import OrderingArgs, QueueOrdering
from vsched.explain.records import WaitingPlace
from vsched.explain.words import reasons as words
from vsched.framework.combine.pluginset import PluginSet
from vsched.framework.jobs import JobView
from vsched.framework.points.extension import JobOrder, NamespaceOrder, UserOrder
from vsched.framework.policy import Policy
from vsched.framework.registry import Registry
from vsched.framework.session import Session
from vsched.framework.trace import Trace
from vsched.framework.words.jobs import HIGHER_PRIORITY
from vsched.model.snapshot import Snapshot

AHEAD_MAX = 3
"""How many of the jobs before a job are named."""
AGE, NAME, PRIORITY, LOST_PODS = "age", "name", "priority", "lost pods"
SAYS = {
    LOST_PODS: words.LOST_PODS_FIRST,
    AGE: "is older",
    NAME: words.FIRST_BY_NAME,
    PRIORITY: HIGHER_PRIORITY,
}
"""Why the previous job goes first, by the sort key that decided; for the keys that are not plugins."""


OF_NAMESPACES, OF_USERS = " (namespaces)", " (users)"
"""What follows the name of a plugin that ordered these."""
LOST_WAVE = -1
"""The wave of running gangs that lost pods, before all others."""


class RankedJob(NamedTuple):
    """One waiting job with the sort keys of its place in its queue."""

    view: JobView
    wave: int
    namespace: Sequence[Any]
    user: Sequence[Any]
    job: Sequence[Any]

    @property
    def key(self) -> tuple[Any, ...]:
        """The sort key within one queue; the smallest goes first."""
        return self.wave, self.namespace, self.user, self.job


class WaitingOrder:
    """The waiting jobs of one session, in order."""

    def __init__(self, session: Session) -> None:
        plugins = session.plugins
        self._ordering = QueueOrdering(plugins, ordering_args(session))
        orders = plugins.taking_part(JobOrder)
        self._job_names = [*(one.name for one in orders), AGE, NAME]
        self._says = SAYS | {one.name: one.goes_first for one in orders if one.goes_first}
        spaces, people = plugins.taking_part(NamespaceOrder), plugins.taking_part(UserOrder)
        self._namespace_says = {one.name: one.goes_before or words.goes_first_by(one.name) for one in spaces}
        self._user_says = {one.name: one.goes_before or words.goes_first_by(one.name) for one in people}
        self._namespace_names = [one.name for one in spaces]
        self._user_names = [one.name for one in people]
        waiting = [view for view in session.jobs.values() if waits(view)]
        namespaces = {(view.queue, view.namespace) for view in waiting}
        keys = {pair: plugins.namespace_key(*pair) if plugins.orders_namespaces else () for pair in namespaces}
        self._lanes: dict[str, list[RankedJob]] = {}
        across: list[tuple[Any, ...]] = []
        queues = {name: self._ordering.queue_key(session.snapshot.queues[name]) for name, _ in namespaces}
        for wave, views in enumerate(self._ordering.waves(waiting)):
            for view in views:
                standing = RankedJob(
                    view, wave, keys[view.queue, view.namespace], _user_key(plugins, view), plugins.job_key(view)
                )
                queue = queues[view.queue]
                if view.has_lost_pods:  # neither queues nor namespaces decide among these
                    standing, queue = standing._replace(wave=LOST_WAVE, namespace=(), user=()), ()
                self._lanes.setdefault(view.queue, []).append(standing)
                across.append((standing.wave, queue, standing.namespace, standing.user, standing.job, view.key))
        for lane in self._lanes.values():
            lane[:] = [lane[at] for _, at in sorted((standing.key, at) for at, standing in enumerate(lane))]
        self._overall = {entry[-1]: at for at, entry in enumerate(sorted(across), start=1)}
        self._positions = {
            standing.view.key: at for lane in self._lanes.values() for at, standing in enumerate(lane, start=1)
        }
        self._queue_of = {view.key: view.queue for view in waiting}

    def positions(self) -> Mapping[str, int]:
        """The position of every waiting job in its queue, by key, counted from 1."""
        return self._positions

    def overall(self) -> Mapping[str, int]:
        """The position of every waiting job among all waiting jobs, by key, counted from 1."""
        return self._overall

    def lane(self, queue: str) -> list[JobView]:
        """The waiting jobs of a queue, in order."""
        return [standing.view for standing in self._lanes.get(queue, ())]

    def place(self, key: str) -> WaitingPlace | None:
        """The place of a job and the reason for it; None if the job does not wait."""
        position = self._positions.get(key)
        if position is None:
            return None
        lane = self._lanes[self._queue_of[key]]
        own = lane[position - 1]
        before = lane[position - 2] if position > 1 else None
        decided_by = "" if before is None else self._decided_by(before, own)
        return WaitingPlace(
            position=position,
            of=len(lane),
            overall=self._overall[key],
            overall_of=len(self._overall),
            ahead=tuple(one.view.called for one in reversed(lane[max(0, position - 1 - AHEAD_MAX) : position - 1])),
            decided_by=decided_by,
            message=self._message(position, len(lane), own.view.queue, before, decided_by),
        )

    def _decided_by(self, before: RankedJob, own: RankedJob) -> str:
        """The name of the first sort key in which two neighbours differ."""
        if before.wave != own.wave:
            return LOST_PODS if before.wave == LOST_WAVE else PRIORITY
        for name, one, other in zip(self._namespace_names, before.namespace, own.namespace, strict=False):
            if one != other:
                return f"{name}{OF_NAMESPACES}"
        for name, one, other in zip(self._user_names, before.user, own.user, strict=False):
            if one != other:
                return f"{name}{OF_USERS}"
        pairs = zip(self._job_names, before.job, own.job, strict=True)
        return next((name for name, one, other in pairs if one != other), NAME)

    def _message(self, position: int, of: int, queue: str, before: RankedJob | None, decided_by: str) -> str:
        """The place as a sentence: ``2nd of 5 in queue research: default/train is older``."""
        if before is None:
            return words.position_in_queue(ordinal(position), of, queue)
        name = decided_by.removesuffix(OF_NAMESPACES).removesuffix(OF_USERS)
        if decided_by.endswith(OF_NAMESPACES):
            why = f"namespace {before.view.namespace} {self._namespace_says[name]}"
        elif decided_by.endswith(OF_USERS):
            user = before.view.job.user
            why = f"{f'user {user}' if user else words.WHO_IS_NOT_NAMED} {self._user_says[name]}"
        else:
            why = f"{before.view.called} {self._says.get(name, words.goes_first_by(name))}"
        return words.position_in_queue(ordinal(position), of, queue, why)


def waiting_order(snapshot: Snapshot, policy: Policy, registry: Registry) -> WaitingOrder:
    """The order at the start of a session; opens a session and sorts its waiting jobs."""
    session = Session(snapshot, policy, registry, Trace())
    return WaitingOrder(session)


def waits(view: JobView) -> bool:
    """Whether a job waits: for places for its pending pods, or for admission and no pod of it has a place yet."""
    return bool(view.pending_count) or (view.waiting_to_enter and not view.ready)


def _user_key(plugins: PluginSet, view: JobView) -> tuple[Any, ...]:
    if not plugins.orders_users:
        return ()
    return plugins.user_key(view.queue, view.namespace if plugins.orders_namespaces else "", view.job.user)


def ordering_args(session: Session) -> OrderingArgs:
    """The policy's arguments for the order of queues: those of allocate, else those of enqueue."""
    if "allocate" in session.policy.actions:
        return session.args("allocate", AllocateArgs)
    return session.args("enqueue", OrderingArgs)


def ordinal(number: int) -> str:
    """``1st``, ``2nd``, ``3rd``, ``4th``, … ``11th``."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
