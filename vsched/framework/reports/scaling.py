"""Which pods wait for nodes to be added: a node autoscaler adds nodes for these, and for no others.

cluster-autoscaler and Karpenter look at the condition ``PodScheduled`` of a pod: where its reason is ``Unschedulable``,
they add nodes for it; any other reason they pass over. So a pod gets this reason only where added nodes let it start:
its gang lacks nodes and nothing else, and its queue lets the gang run beside all the others that nodes are added for.
All pods of such a gang get it at once, those with room on a node, too: an autoscaler gives that room to whichever pods
it sees, and with a part of the gang it would add too few nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.nodes.why import NodeReasons
from vsched.framework.points.extension import StatedLimit
from vsched.framework.refusal import Bound, Refusal, Shortage
from vsched.framework.reports.plain import PlainJobs, Sizes
from vsched.framework.reports.unschedulable import UnschedulableReasons, has_place, in_sight, refusal_of, set_apart
from vsched.framework.session import Session
from vsched.framework.wording import at_limit
from vsched.model.amounts.resources import Vector, add, times
from vsched.model.jobs.provisioning import POD_SETS_MAX
from vsched.model.plan import JobOutcome
from vsched.model.pods.shape import Shape
from vsched.model.pods.task import Task

QUEUE_CODES = frozenset((Code.QUEUE_CAPABILITY, Code.QUEUE_SHARE, Code.QUEUE_ADMISSION))
"""Codes of limits that may follow from the size of the cluster: with more nodes they leave more."""
NODES_HELP = QUEUE_CODES | {
    Code.NO_NODES,
    Code.RESOURCES,
    Code.TAINTS,
    Code.CORDONED,
    Code.SELECTOR,
    Code.PORTS,
    Code.POD_AFFINITY,
    Code.SPREAD,
    Code.USAGE,
    Code.NODE_GROUP,
    Code.SHARD,
    Code.TIME_WINDOW,
    Code.VOLUMES,
    Code.DEVICES,
    Code.TOPOLOGY,
    Code.RESERVED,
    Code.KEPT,
    Code.GANG_SIZE,
    Code.ROLE_MINIMUM,
    Code.BUDGET,
    Code.PROTECTED,
    Code.ORDER,
}
"""Codes of reasons that added nodes may lift."""


class ScaleUp(NamedTuple):
    """For which pods of a waiting job nodes are to be added, and why not for the others."""

    pods: Set[str] = frozenset()
    """Uids."""
    code: str = ""
    """Why not for all; empty where the reason of the job says it."""
    why_not: str = ""
    """The same in words."""
    asked: Set[str] = frozenset()
    """Uids of those that nodes are asked for by a ProvisioningRequest: what the gang needs. None where pods say it."""


NO_NODES_WANTED = ScaleUp()


def sizes(view: JobView, scale_up: ScaleUp | None) -> Sizes | None:
    """What verdicts about all pods of a job read of a scale-up; None where it is for some of them only."""
    count = len(view.job.pending)
    if scale_up is None or 0 < len(scale_up.pods) < count or 0 < len(scale_up.asked) < count:
        return None
    return bool(scale_up.pods), bool(scale_up.asked), scale_up.code, scale_up.why_not


class _Asking(NamedTuple):
    """A job that nodes may be added for, if the limits of its queue allow."""

    view: JobView
    tasks: Sequence[Task]
    least: int
    """How many of the tasks it needs at once."""


class ScaleUps:
    """Decides for which pods nodes are to be added, for a session whose actions have run."""

    def __init__(self, reasons: UnschedulableReasons, bound: Set[str], plain: PlainJobs) -> None:
        self._session = reasons.session
        self._plain = plain
        plugins = reasons.session.plugins
        self._shares = not plugins.limits_starts
        """Whether plain jobs that are told the same get the same answer: they have no claims, and one namespace."""
        self._known: dict[tuple[int, str], ScaleUp | int] = {}
        """The answer for plain jobs by the identity of their words and their code; how many tasks they need where nodes
        may be added for all of their tasks."""
        self._bound = bound
        self._limits: dict[str, list[StatedLimit]] = {}
        self._promised: dict[str, Vector] = {}
        """By queue: what the pods ask for that nodes are to be added for."""

    def of(self, waiting: Iterable[tuple[JobView, JobOutcome]]) -> dict[str, ScaleUp]:
        """The pods to add nodes for, by job; jobs that no nodes are wanted for are left out.

        Where a queue states limits, jobs count against them in their order.
        """
        found: dict[str, ScaleUp] = {}
        limited: list[_Asking] = []
        for view, outcome in waiting:
            if not outcome.pending:
                continue
            asking = self._answer(view, outcome)
            if isinstance(asking, ScaleUp):
                if asking is not NO_NODES_WANTED:
                    found[view.key] = asking
            elif self._all_may_grow(view):
                found[view.key] = self._with_needed(asking, ScaleUp(_uids(asking)))
            else:
                limited.append(asking)
        for asking in sorted(limited, key=self._rank):
            found[asking.view.key] = self._with_needed(asking, self._within_limits(asking))
        return found

    def of_crowd(self, view: JobView, outcome: JobOutcome) -> ScaleUp | None:
        """The answer for a plain job where all jobs of its crowd that are told the same get the same; else None."""
        asking = self._answer(view, outcome) if self._shares else None
        if asking is None or isinstance(asking, ScaleUp):
            return asking
        return self._with_needed(asking, ScaleUp(_uids(asking))) if self._all_may_grow(view) else None

    def _with_needed(self, asking: _Asking, found: ScaleUp) -> ScaleUp:
        """The same, with the pods that a ProvisioningRequest is made for."""
        view = asking.view
        if not found.pods or not is_asked_for(self._session, view):
            return found
        tasks: Sequence[Task] = [task for task in asking.tasks if task.uid in found.pods]
        if view.sub_groups is None and asking.least < len(tasks):
            tasks = self._needed(asking, tasks)
        if len({task.shape for task in tasks}) > POD_SETS_MAX:
            return found  # one request cannot ask for so many kinds of pods
        return found._replace(asked=frozenset(task.uid for task in tasks))

    def _needed(self, asking: _Asking, tasks: Sequence[Task]) -> Sequence[Task]:
        """The first of the tasks that are enough for the minima of the gang and of its roles."""
        tasks = self._session.plugins.ordered_tasks(tasks)
        lacking = asking.view.roles_missing()
        needed: list[Task] = []
        for task in tasks:
            if lacking.get(task.role, 0) > 0:
                lacking[task.role] -= 1
                needed.append(task)
        chosen = {task.uid for task in needed}
        most = max(0, asking.least - len(needed))
        return [*needed, *islice((task for task in tasks if task.uid not in chosen), most)]

    def _rank(self, asking: _Asking) -> tuple[object, ...]:
        """Jobs whose gates were opened go first, because their queues keep room for them."""
        return not asking.view.job.reserving, self._session.plugins.job_key(asking.view), asking.view.key

    # -- what nodes would help ---------------------------------------------------------------------------------------

    def _answer(self, view: JobView, outcome: JobOutcome) -> _Asking | ScaleUp:
        """The same as ``_asking``, found once for plain jobs that are told the same."""
        plain = self._plain.get(view.key) if self._shares else None
        if plain is None:
            return self._asking(view, outcome)
        case = id(plain.words), outcome.code
        known = self._known.get(case)
        if isinstance(known, int):
            return _Asking(view, tuple(view.job.pending.values()), known)
        if known is not None:
            return known
        found = self._asking(view, outcome)
        if isinstance(found, ScaleUp):
            self._known[case] = found
        elif len(found.tasks) == len(view.job.pending):
            self._known[case] = found.least
        return found

    def _asking(self, view: JobView, outcome: JobOutcome) -> _Asking | ScaleUp:
        """The tasks that lack nodes alone; or why no nodes are wanted."""
        session = self._session
        if not view.pending_count and not view.waiting:
            return NO_NODES_WANTED
        refusal = session.job_refusals.get(view.key)
        if outcome.code not in NODES_HELP and (outcome.code != Code.OTHER or refusal is not None):
            return NO_NODES_WANTED
        if refusal is not None and not may_be_lifted(session, refusal):
            return ScaleUp(code=refusal.code)
        tasks, first = self._lacking(view)
        least = session.plugins.tasks_missing(view)
        if not tasks or len(tasks) < least:
            withheld = Code.UNSUPPORTED if view.job.unplaceable else Code.GATED
            return ScaleUp(code=withheld if first is None else first.code)
        over = self._beyond_others(view, tasks, least)
        return _Asking(view, tasks, least) if over is None else ScaleUp(code=over.code, why_not=over.message)

    def _lacking(self, view: JobView) -> tuple[Sequence[Task], Refusal | None]:
        """The tasks of a job that added nodes may help, and the first refusal of another that they do not help."""
        session, pending = self._session, view.job.pending
        apart = set_apart(session, view)
        if apart is not None and all(self._may_help(refusal_of(session, view, uid)) for uid in apart):
            return tuple(pending.values()), None
        placed = in_sight(view)
        tasks: list[Task] = []
        first: Refusal | None = None
        refusals, moved = session.task_refusals, view.moved
        for uid, task in pending.items():
            if uid in self._bound or task.gated or task.unsupported or (placed and has_place(view, uid)):
                continue
            # Most tasks have no refusal of their own, so the lookup is skipped for them.
            why = refusal_of(session, view, uid) if uid in refusals or uid in moved else None
            if has_place(view, uid) or self._may_help(why):
                tasks.append(task)
            elif first is None and isinstance(why, Refusal):
                first = why
        return tasks, first

    def _may_help(self, why: NodeReasons | Refusal | None) -> bool:
        """Whether added nodes may help a task that waits for this."""
        return not isinstance(why, Refusal) or may_be_lifted(self._session, why)

    def _beyond_others(self, view: JobView, tasks: Sequence[Task], least: int) -> Refusal | None:
        """The refusal of the job by limits on running jobs, on namespaces and on claims, which nodes do not change."""
        plugins, queue = self._session.plugins, self._session.snapshot.queues[view.queue]
        refusal = None if view.is_ready else plugins.start_limit(view)
        if refusal is not None or not plugins.limits_amounts_elsewhere:
            return refusal
        needed = tasks[: max(1, least)]
        for shape, count in _counts(needed):
            refusal = refusal or plugins.namespace_limit(view.namespace, shape, count)
        return refusal or plugins.claim_limit(queue, needed)

    # -- what queues state -------------------------------------------------------------------------------------------

    def _stated(self, name: str) -> list[StatedLimit]:
        """What a queue and those above it may hold by their own statement."""
        found = self._limits.get(name)
        if found is None:
            found = self._limits[name] = self._session.plugins.stated_limits(self._session.snapshot.queues[name])
        return found

    def _all_may_grow(self, view: JobView) -> bool:
        """Whether the job's queue and those above it may hold all that waits in them, as far as they say."""
        stated = self._stated(view.queue)
        return not stated or self._tight.isdisjoint(limit.queue for limit in stated)

    @cached_property
    def _tight(self) -> Set[str]:
        """The queues that may not hold all that waits in them and below them, by their own statement."""
        snapshot, asked = self._session.snapshot, dict[str, Vector]()
        stated = [(self._stated(name), books) for name, books in snapshot.books.items() if name in snapshot.queues]
        for limits, books in stated:
            for name in {limit.queue for limit in limits}:
                add(asked.setdefault(name, {}), books.pending.items())
        return {limit.queue for limits, _ in stated for limit in limits if _is_short(limit, asked[limit.queue])}

    def _within_limits(self, asking: _Asking) -> ScaleUp:
        """The tasks that stay within the limits: all, or what the gang needs and as many more as there are."""
        view, tasks = asking.view, asking.tasks
        over = self._take(view, tasks)
        if over is None:
            return ScaleUp(_uids(asking))
        least = max(1, asking.least)
        if least >= len(tasks):
            return ScaleUp(code=Code.QUEUE_CAPABILITY, why_not=over)
        ordered = self._session.plugins.ordered_tasks(tasks)
        over = self._take(view, ordered[:least])
        if over is not None:
            return ScaleUp(code=Code.QUEUE_CAPABILITY, why_not=over)
        pods = {task.uid for task in ordered[:least]}
        for task in ordered[least:]:
            over = self._take(view, (task,))
            if over is not None:
                break
            pods.add(task.uid)
        return ScaleUp(pods, Code.QUEUE_CAPABILITY, over or "")

    def _take(self, view: JobView, tasks: Sequence[Task]) -> str | None:
        """Count the tasks against the limits; where they are too many, nothing is counted and it says why."""
        asked: Vector = {}
        for shape, count in _counts(tasks):
            add(asked, times(shape.request, count))
        for limit in self._stated(view.queue):
            short = next(self._short(limit, asked), None)
            if short is not None:
                return at_limit(view.queue, limit.queue, short, Bound(short.limit, short.limit, limit.queue))
        for limit in self._stated(view.queue):
            add(self._promised.setdefault(limit.queue, {}), asked.items())
        return None

    def _short(self, limit: StatedLimit, asked: Vector) -> Iterator[Shortage]:
        names, promised = self._session.snapshot.axis.names, self._promised.get(limit.queue, {})
        for column, most in limit.amounts:
            wanted = asked.get(column, 0)
            before = promised.get(column, 0)
            held = limit.held.get(column, 0) + before
            if wanted and held + wanted > most:
                yield Shortage(names[column], held, wanted, most, before)


def _is_short(limit: StatedLimit, asked: Vector) -> bool:
    """Whether a limit leaves too little for these amounts."""
    wanted = ((asked.get(column, 0), limit.held.get(column, 0), most) for column, most in limit.amounts)
    return any(amount and held + amount > most for amount, held, most in wanted)


def _uids(asking: _Asking) -> Set[str]:
    """The uids of all its tasks."""
    pending = asking.view.job.pending
    return pending.keys() if len(asking.tasks) == len(pending) else {task.uid for task in asking.tasks}


def may_be_lifted(session: Session, refusal: Refusal) -> bool:
    """Whether added nodes may lift a refusal: a limit that the queue itself states stays as it is."""
    if refusal.code not in NODES_HELP:
        return False
    queue = session.snapshot.queues.get(refusal.subject)
    if refusal.code not in QUEUE_CODES or queue is None or not queue.capability:
        return True
    stated, find = dict(queue.capability), session.snapshot.axis.find
    for short in refusal.shortages:
        column = find(short.resource)
        if column is not None and column in stated and short.held + short.asked > stated[column]:
            return False
    return True


def is_asked_for(session: Session, view: JobView) -> bool:
    """Whether nodes for a job are asked for by ProvisioningRequests: it is a gang with an object, and does not run."""
    spec = view.spec
    made = session.snapshot.provisioning is not None
    return made and bool(spec.uid) and not spec.implicit and view.min_member > 1 and not view.is_ready


def _counts(tasks: Sequence[Task]) -> Iterable[tuple[Shape, int]]:
    """How many of the tasks have each shape; mostly all have one."""
    first = tasks[0].shape
    if all(task.shape is first for task in tasks):
        return ((first, len(tasks)),)
    return Counter(task.shape for task in tasks).items()
