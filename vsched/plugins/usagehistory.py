"""usage-history: fair shares that remember what queues, namespaces and users have used.

Old use counts less: half after ``halfLife``, nothing after ``window``. Who used more than its weight stands for gets
less of what is beyond deserved amounts, until use evens out; who used less gets more. A queue that holds less than it
deserves is not affected, neither are guarantees.

With the plugin proportion, the weights of the division change (``weights_with_memory``). With any plugin, queues beyond
what they deserve, namespaces and users go in the order of what they hold, divided by what they are entitled to. So this
plugin belongs before the others that order queues and namespaces.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from typing import Annotated

import msgspec
import numpy as np

from vsched.errors import BadInput
from vsched.framework.jobs import JobView
from vsched.framework.ledger.usage import UsageByQueue, UsageWithPledges
from vsched.framework.points.extension import (
    DivisionWeight,
    NamespaceOrder,
    PastUse,
    PlacementListener,
    Plugin,
    QueueOrder,
    QueuePart,
    SessionContext,
    UsageMemory,
    UserOrder,
)
from vsched.framework.points.terms import QueueTerm
from vsched.framework.points.victims import VictimQueueOrder
from vsched.framework.policy import Seconds
from vsched.model.amounts.resources import Vector, add, subtract
from vsched.model.history.records import HOUR_SECONDS, WEEK_HOURS, Decay, Holder, UsageHistory
from vsched.model.nodes.table import Floats
from vsched.model.pods.task import Task
from vsched.model.queues.queue import ROOT, Queue
from vsched.model.snapshot import Snapshot
from vsched.plugins.history.used import NOBODY, Entitled, HeldParts, UsedParts, entitled
from vsched.plugins.queues.tree import QueueParents
from vsched.plugins.words import arguments, victims

DAY_SECONDS, WEEK_SECONDS = 86_400.0, WEEK_HOURS * HOUR_SECONDS
NOTHING = 1e-9
"""Parts of the cluster below this are rounding errors."""
Weight = Annotated[float, msgspec.Meta(ge=0)]
Key = tuple[float, ...]


class UsageHistoryArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long use is remembered, and how much it matters."""

    half_life: Seconds = msgspec.field(default=DAY_SECONDS, name="halfLife")
    """Use of so long ago counts half; 0: all use in the window counts whole."""
    window: Seconds = WEEK_SECONDS
    """Older use does not count; a week at most."""
    k_value: Weight = msgspec.field(default=1.0, name="kValue")
    """How strongly use changes shares; 0: not at all."""
    resource_weights: dict[str, Weight] = msgspec.field(default_factory=dict, name="resourceWeights")
    """Weights of resources; where any is given, no others count. Of each holder, the largest weighted part counts."""
    queues: bool = True
    """Whether queues have memory."""
    namespaces: bool = True
    """Whether the namespaces of a queue have memory."""
    users: bool = True
    """Whether the users of a namespace have memory."""

    def normalised(self) -> UsageHistoryArgs:
        """The same; raises BadInput for a window of which nothing is known."""
        if not 0 < self.window <= WEEK_SECONDS:
            raise BadInput(arguments.window_out_of_range(self.window, WEEK_HOURS))
        return self

    @property
    def decay(self) -> Decay:
        """How old use counts."""
        return Decay(self.half_life or inf, self.window)

    def decays(self) -> Iterable[Decay]:
        """The decay that the plugin reads."""
        return (self.decay,)


class UsageHistoryPlugin(
    Plugin[UsageHistoryArgs],
    QueueOrder,
    NamespaceOrder,
    UserOrder,
    DivisionWeight,
    VictimQueueOrder,
    UsageMemory,
    PlacementListener,
):
    """Orders queues, namespaces and users by what they hold and have used; changes the weights of divisions."""

    name = "usage-history"
    goes_before = victims.USED_LESS
    terms = frozenset({QueueTerm.WEIGHT, QueueTerm.PRIORITY})
    tree_terms = frozenset({QueueTerm.PARENT})
    args_type = UsageHistoryArgs
    hierarchical = True

    def __init__(self, args: UsageHistoryArgs) -> None:
        super().__init__(args)
        self._parts_of: UsageHistory | None = None

    def open(self, context: SessionContext) -> None:
        """Keep the inputs; sums over the history are made at the first question that needs them."""
        self._context = context
        snapshot = context.snapshot
        self._admitted = UsageWithPledges(context.usage)
        self._held = HeldParts(snapshot.axis, snapshot.total, self.args.resource_weights)
        self._used_parts(snapshot.history)
        self._tree = QueueParents(snapshot.queues).parents if context.switches.hierarchy else {}
        self._branches: dict[str, list[str]] = {}
        """By queue: itself and all queues below it."""
        self._levels: dict[str, dict[str, Entitled]] = {}
        """By queue above: the queues below it that have jobs, or jobs below them."""
        self._spaces: dict[str, dict[str, Entitled]] = {}
        self._people: dict[tuple[str, str], dict[str, Entitled]] = {}
        self._holding: dict[tuple[str, str, str], Vector] = {}
        """What users hold, by queue, namespace (empty for all) and user."""
        self._counts_users = context.switches.namespace_order and self.args.users
        if self._counts_users:
            for holder, amounts in snapshot.history.held.items():
                self._count(holder, amounts.items(), 1)

    def lasts_until(self) -> float:
        """Until more use is counted."""
        return self._context.snapshot.history.lasts_until

    def _used_parts(self, history: UsageHistory) -> UsedParts:
        if self._parts_of is not history:
            self._parts_of = history
            self._used = UsedParts(history, self.args.decay, self.args.resource_weights)
        return self._used

    # -- queues -------------------------------------------------------------------------------------------------

    def queue_key(self, queue: Queue) -> Key:
        """Priority; then queues below what they deserve; then by what is held, divided by what it is entitled to."""
        return tuple(number for _, part in self._parts(queue, self._context.usage) for number in part)

    def queue_admission_key(self, queue: Queue) -> Key:
        """Like ``queue_key``, but admitted amounts count as held."""
        return tuple(number for _, part in self._parts(queue, self._admitted) for number in part)

    def queue_parts(self, queue: Queue, *, admitting: bool = False) -> Sequence[QueuePart]:
        """The parts of the key; in a tree, one for each queue on the path down."""
        return self._parts(queue, self._admitted if admitting else self._context.usage)

    def queues_move_together(self) -> bool:
        """True in a tree: what a queue gets counts for the queues above it."""
        return bool(self._tree) and self.args.queues

    def _parts(self, queue: Queue, usage: UsageByQueue) -> list[tuple[str, Key]]:
        if not self.args.queues:
            return []
        parts: list[tuple[str, Key]] = [(f"priority {queue.priority}", (-queue.priority,))]
        return parts + [(name, self._rank(name, usage)) for name in self._path(queue.name)]

    def _rank(self, name: str, usage: UsageByQueue) -> Key:
        """0 for a queue below what it deserves; for others 1, and what it holds by what it is entitled to."""
        queue = self._context.snapshot.queues.get(name)
        division = None if queue is None else self._context.division(queue)
        if division is not None and any(division.deserved.values()) and division.share < 1.0:
            return (0.0, 0.0, 0.0)
        found = self._level(self._tree.get(name, ROOT)).get(name, NOBODY)
        held = self._held_by(name, usage)
        return (1.0, *_by_entitlement(held, found))

    def _held_by(self, name: str, usage: UsageByQueue) -> float:
        if not self._tree:
            return self._held.of(usage.queue(name))
        together: Vector = {}
        for one in self._below(name):
            add(together, usage.queue(one).items())
        return self._held.of(together)

    def _path(self, name: str) -> list[str]:
        """The queue and those above it, from the top down, without the root."""
        path = [name]
        while (above := self._tree.get(path[-1], ROOT)) != ROOT:
            path.append(above)
        return path[::-1]

    def _below(self, name: str) -> Sequence[str]:
        """The queue itself and all queues below it."""
        if not self._branches:
            for one in self._context.snapshot.queues:
                for above in self._path(one):
                    self._branches.setdefault(above, []).append(one)
        return self._branches.get(name, (name,))

    def _level(self, above: str) -> dict[str, Entitled]:
        """The queues with jobs directly below a queue; flat, all queues with jobs."""
        found = self._levels.get(above)
        if found is None:
            snapshot = self._context.snapshot
            active = {self._step_below(above, name) for name in snapshot.books if name in snapshot.queues} - {""}
            names = sorted(active)
            part = 1.0 if above == ROOT else self._level(self._tree.get(above, ROOT)).get(above, NOBODY).stated
            weights = [float(snapshot.queues[name].weight) for name in names]
            used = [self._used.queue(*self._below(name)) if self._tree else self._used.queue(name) for name in names]
            found = self._levels[above] = entitled(names, weights, used, part, self.args.k_value)
        return found

    def _step_below(self, above: str, name: str) -> str:
        """The queue directly below ``above`` on the path to ``name``; empty where it is not below it."""
        path = self._path(name)
        if above == ROOT:
            return path[0]
        return path[path.index(above) + 1] if above in path[:-1] else ""

    def division_weights(self, snapshot: Snapshot, queues: Sequence[Queue], weights: Floats) -> Floats:
        """The weights with memory; guarantees, which are no matter of weights, stay."""
        if not self.args.queues or snapshot.history.is_empty or not len(queues):
            return weights
        used = self._used_parts(snapshot.history)
        found = entitled(
            [queue.name for queue in queues],
            weights.tolist(),
            [used.queue(queue.name) for queue in queues],
            1.0,
            self.args.k_value,
        )
        return np.array([found[queue.name].entitled for queue in queues], dtype=np.float64)

    def past_use(self, queue: Queue) -> PastUse | None:
        """The use of a queue with jobs, as far back as it counts and is known."""
        history = self._context.snapshot.history
        found = None if history.is_empty else self._level(self._tree.get(queue.name, ROOT)).get(queue.name)
        if found is None or not self.args.queues:
            return None
        return PastUse(found.ratio, min(self.args.window, history.at - history.since))

    def victim_queue_key(self, victim: Queue, evictor: Queue) -> Key:
        """Reclaim takes first from the queue that holds most by what it is entitled to."""
        if not self.args.queues:
            return ()
        return tuple(-number for number in self._rank(victim.name, self._context.usage))

    # -- namespaces and users -----------------------------------------------------------------------------------

    def namespace_key(self, queue: str, namespace: str) -> Key:
        """What the namespace holds in the queue, divided by what it is entitled to."""
        return self._namespace_key(queue, namespace, self._context.usage)

    def namespace_admission_key(self, queue: str, namespace: str) -> Key:
        """Like ``namespace_key``, but admitted amounts count as held."""
        return self._namespace_key(queue, namespace, self._admitted)

    def _namespace_key(self, queue: str, namespace: str, usage: UsageByQueue) -> Key:
        if not self.args.namespaces:
            return ()
        found = self._namespaces(queue).get(namespace, NOBODY)
        return _by_entitlement(self._held.of(usage.namespace(queue, namespace)), found)

    def _namespaces(self, queue: str) -> dict[str, Entitled]:
        """The namespaces with jobs in a queue."""
        if not self._spaces:
            snapshot = self._context.snapshot
            members: dict[str, list[str]] = {}
            for name, namespace in sorted(snapshot.shares):
                members.setdefault(name, []).append(namespace)
            for name, namespaces in members.items():
                known = [snapshot.namespaces.get(one) for one in namespaces]
                weights = [1.0 if one is None else float(one.weight) for one in known]
                used = [self._used.namespace(name, one) for one in namespaces]
                self._spaces[name] = entitled(namespaces, weights, used, self._stated(name), self.args.k_value)
        return self._spaces.get(queue, {})

    def user_key(self, queue: str, namespace: str, user: str) -> Key:
        """What the user holds, divided by what it is entitled to; users weigh the same."""
        if not self.args.users:
            return ()
        held = self._held.of(self._holding.get((queue, namespace, user), {}))
        return _by_entitlement(held, self._users(queue, namespace).get(user, NOBODY))

    def _users(self, queue: str, namespace: str) -> dict[str, Entitled]:
        """The users that have jobs in a namespace of a queue, or in all of them where it is empty."""
        if not self._people:
            members: dict[tuple[str, str], set[str]] = {}
            jobs = ((view.queue, view.namespace, view.job.user) for view in self._context.jobs.values())
            for name, space, one in {*jobs, *map(tuple, self._context.snapshot.history.held)}:
                members.setdefault((name, space), set()).add(one)
                members.setdefault((name, ""), set()).add(one)
            for (name, space), people in members.items():
                names = sorted(people)
                used = [self._used.user(name, space, one) for one in names]
                part = self._namespaces(name).get(space, NOBODY).stated if space else self._stated(name)
                self._people[name, space] = entitled(names, [1.0] * len(names), used, part, self.args.k_value)
        return self._people.get((queue, namespace), {})

    def _stated(self, queue: str) -> float:
        return self._level(self._tree.get(queue, ROOT)).get(queue, NOBODY).stated

    # -- placements ---------------------------------------------------------------------------------------------

    def on_allocate(self, job: JobView, task: Task, row: int) -> None:
        """Count the task for its user."""
        if self._counts_users:
            self._count(Holder(job.queue, job.namespace, job.job.user), task.shape.request, 1)

    def on_release(self, job: JobView, task: Task, row: int) -> None:
        """Count the task no longer."""
        if self._counts_users:
            self._count(Holder(job.queue, job.namespace, job.job.user), task.shape.request, -1)

    def _count(self, holder: Holder, amounts: Iterable[tuple[int, int]], sign: int) -> None:
        shift = add if sign > 0 else subtract
        for namespace in (holder.namespace, ""):
            shift(self._holding.setdefault((holder.queue, namespace, holder.user), {}), amounts)


def _by_entitlement(held: float, found: Entitled) -> Key:
    """What is held by what it is entitled to, then by use; those entitled to nothing come last, least use first."""
    if found.entitled <= NOTHING:
        return (inf if held or found.used else 0.0, found.ratio)
    return (held / found.entitled, found.ratio)
