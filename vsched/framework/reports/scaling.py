"""Which pods wait for nodes to be added: a node autoscaler adds nodes for these, and for no others.

cluster-autoscaler and Karpenter look at the condition ``PodScheduled`` of a pod: where its reason is ``Unschedulable``,
they add nodes for it; any other reason they pass over. So a pod gets this reason only where added nodes let it start:
its gang lacks nodes and nothing else, and its queue lets the gang run beside all the others that nodes are added for.
All pods of such a gang get it at once, those with room on a node, too: an autoscaler gives that room to whichever pods
it sees, and with a part of the gang it would add too few nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from heapq import heapify, heappop, heappush
from operator import itemgetter
from typing import NamedTuple

from vsched.framework.classes import Rank, Segment, Span
from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.lifting import NODES_HELP, may_be_lifted
from vsched.framework.nodes.why import NodeReasons
from vsched.framework.refusal import Refusal
from vsched.framework.reports.pending_pods import has_place, refusal_of, set_apart
from vsched.framework.reports.plain import PlainJobs, Sizes
from vsched.framework.reports.queue_room import QueueRoom, counts
from vsched.framework.reports.unschedulable import UnschedulableReasons
from vsched.framework.session import Session
from vsched.model.jobs.provisioning import POD_SETS_MAX
from vsched.model.plan import JobOutcome
from vsched.model.pods.task import Task


class ScaleUp(NamedTuple):
    """For which pods of a waiting job nodes are to be added, and why not for the others."""

    pods: Set[str] = frozenset()
    """Uids."""
    code: str = ""
    """Why not for all; empty where the reason of the job is enough."""
    why_not: str = ""
    """The same in words."""
    asked: Set[str] = frozenset()
    """Uids of those that nodes are asked for by a ProvisioningRequest: what the gang needs."""


NO_NODES_WANTED = ScaleUp()


def sizes(view: JobView, scale_up: ScaleUp | None) -> Sizes | None:
    """What verdicts about all pods of a job read of a scale-up; None where it is for some of them only."""
    count = len(view.job.pending)
    if scale_up is None or 0 < len(scale_up.pods) < count or 0 < len(scale_up.asked) < count:
        return None
    return bool(scale_up.pods), bool(scale_up.asked), scale_up.code, scale_up.why_not


class Asking(NamedTuple):
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
        """Whether plain jobs with the same reason get the same answer: they have no claims, and one namespace."""
        self._known: dict[tuple[int, str], ScaleUp | int] = {}
        """The answer for plain jobs by the identity of their reason and their code; where nodes may be added for all of
        their tasks, how many of these they need."""
        self._bound = bound
        self._room = QueueRoom(self._session)

    def of(self, waiting: Iterable[tuple[JobView, JobOutcome]], segments: Iterable[Segment] = ()) -> dict[str, ScaleUp]:
        """The pods to add nodes for, by job; jobs that want no nodes are left out. Segments get their answers.

        Where a queue states limits, jobs count against them in their order.
        """
        found: dict[str, ScaleUp] = {}
        limited: list[Asking] = []
        for view, outcome in waiting:
            if not outcome.pending:
                continue
            asking = self._answer(view, outcome)
            if isinstance(asking, ScaleUp):
                if asking is not NO_NODES_WANTED:
                    found[view.key] = asking
            elif self._room.all_may_grow(view.queue):
                found[view.key] = self._whole(asking)
            else:
                limited.append(asking)
        self._share_out(limited, segments, found)
        return found

    def of_span(self, view: JobView, outcome: JobOutcome) -> ScaleUp | Asking | None:
        """The answer for a plain job where all jobs of its span get the same.

        The job itself where its queue limits how many of these get it. None where they are asked for one by one.
        """
        asking = self._answer(view, outcome) if self._shares else None
        if asking is None or isinstance(asking, ScaleUp):
            return asking
        if self._room.all_may_grow(view.queue):
            return self._whole(asking)
        return asking if len(asking.tasks) == len(view.job.pending) else None

    def like(self, span: Span[ScaleUp], least: int, view: JobView) -> ScaleUp:
        """What a job of a span gets that has this answer; it needs so many tasks at once."""
        if not span.value.pods or span.end == span.start + 1:
            return span.value
        return self._whole(Asking(view, tuple(view.job.pending.values()), least))

    def _whole(self, asking: Asking) -> ScaleUp:
        """Nodes for all of the tasks."""
        return self._with_needed(asking, ScaleUp(_uids(asking)))

    def _share_out(self, limited: Iterable[Asking], segments: Iterable[Segment], found: dict[str, ScaleUp]) -> None:
        """Share what the queues may hold out among the jobs, in their order."""
        alone = sorted([(self._rank(one), one) for one in limited], key=itemgetter(0), reverse=True)
        ahead = [(segment.rank, segment) for segment in segments]
        heapify(ahead)
        while alone or ahead:
            if not ahead or (alone and alone[-1][0] < ahead[0][0]):
                _, one = alone.pop()
                found[one.view.key] = self._with_needed(one, self._within_limits(one))
                continue
            _, segment = heappop(ahead)
            bound = min([next_one[0] for next_one in (*alone[-1:], *ahead[:1])], default=None)
            self._share_in_segment(segment, segment.until(bound))
            if segment:
                heappush(ahead, (segment.rank, segment))

    def _share_in_segment(self, segment: Segment, end: int) -> None:
        """The answers for the jobs of a segment up to a position."""
        least: int = segment.waiting.value
        while segment.at < end:
            view = self._session.jobs[segment.first]
            asking = Asking(view, tuple(view.job.pending.values()), least)
            count = self._room.take_often(view.queue, asking.tasks, end - segment.at)
            if count:
                answer = self._whole(asking)
            else:
                answer = self._with_needed(asking, self._within_limits(asking))
                count = 1 if answer.pods else end - segment.at  # what is too much for one of them is too much for all
            segment.pass_over(answer, segment.at + count)

    def _with_needed(self, asking: Asking, found: ScaleUp) -> ScaleUp:
        """The same, with the pods that a ProvisioningRequest is made for."""
        view = asking.view
        if not found.pods or not is_asked_for(self._session, view):
            return found
        tasks: Sequence[Task] = [task for task in asking.tasks if task.uid in found.pods]
        if view.sub_groups is None and asking.least < len(tasks):
            tasks = view.needed(self._session.plugins.ordered_tasks(tasks), asking.least)
        if len({task.shape for task in tasks}) > POD_SETS_MAX:
            return found  # one request cannot ask for so many kinds of pods
        return found._replace(asked=frozenset(task.uid for task in tasks))

    def _rank(self, asking: Asking) -> Rank:
        """Jobs whose gates were opened go first, because room in their queues is reserved for them."""
        return not asking.view.job.reserving, self._session.plugins.job_key(asking.view)

    # -- what nodes would help ---------------------------------------------------------------------------------------

    def _answer(self, view: JobView, outcome: JobOutcome) -> Asking | ScaleUp:
        """The same as ``_asking``, worked out once for plain jobs with the same reason."""
        plain = self._plain.get(view.key) if self._shares else None
        if plain is None:
            return self._asking(view, outcome)
        case = id(plain.reason), outcome.code
        known = self._known.get(case)
        if isinstance(known, int):
            return Asking(view, tuple(view.job.pending.values()), known)
        if known is not None:
            return known
        found = self._asking(view, outcome)
        if isinstance(found, ScaleUp):
            self._known[case] = found
        elif len(found.tasks) == len(view.job.pending):
            self._known[case] = found.least
        return found

    def _asking(self, view: JobView, outcome: JobOutcome) -> Asking | ScaleUp:
        """The tasks that lack nodes alone; or why no nodes are wanted."""
        session = self._session
        if not view.pending_count and not view.waiting:
            return NO_NODES_WANTED
        refusal = session.refused.jobs.get(view.key)
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
        return Asking(view, tasks, least) if over is None else ScaleUp(code=over.code, why_not=over.message)

    def _lacking(self, view: JobView) -> tuple[Sequence[Task], Refusal | None]:
        """The tasks of a job that added nodes may help, and the refusal of the oldest other one."""
        session, pending = self._session, view.job.pending
        apart = set_apart(session, view)
        if apart is not None and all(self._may_help(refusal_of(session, view, uid)) for uid in apart):
            return tuple(pending.values()), None
        placed = view.has_minima
        tasks: list[Task] = []
        others: list[tuple[float, str, Refusal]] = []
        refusals, moved = session.refused.tasks, view.moved
        for uid, task in pending.items():
            if uid in self._bound or task.gated or task.unsupported or (placed and has_place(view, uid)):
                continue
            # Most tasks have no refusal of their own, so the lookup is skipped for them.
            why = refusal_of(session, view, uid) if uid in refusals or uid in moved else None
            if has_place(view, uid) or self._may_help(why):
                tasks.append(task)
            elif isinstance(why, Refusal):
                others.append((task.created, task.name, why))
        return tasks, min(others)[2] if others else None

    def _may_help(self, why: NodeReasons | Refusal | None) -> bool:
        """Whether added nodes may help a task that waits for this."""
        return not isinstance(why, Refusal) or may_be_lifted(self._session, why)

    def _beyond_others(self, view: JobView, tasks: Sequence[Task], least: int) -> Refusal | None:
        """The refusal of the job by limits on running jobs, on namespaces and on claims, which nodes do not change."""
        plugins, queue = self._session.plugins, self._session.snapshot.queues[view.queue]
        refusal = None if view.is_ready else plugins.start_limit(view)
        if refusal is not None or not plugins.limits_amounts_elsewhere:
            return refusal
        needed = tasks if least >= len(tasks) else plugins.ordered_tasks(tasks)[: max(1, least)]
        for shape, count in counts(needed):
            refusal = refusal or plugins.namespace_limit(view.namespace, shape, count)
        return refusal or plugins.claim_limit(queue, needed)

    # -- what queues state -------------------------------------------------------------------------------------------

    def _within_limits(self, asking: Asking) -> ScaleUp:
        """The tasks that stay within the limits: all, or what the gang needs and as many more as there are."""
        view, tasks = asking.view, asking.tasks
        over = self._room.take(view.queue, tasks)
        if over is None:
            return ScaleUp(_uids(asking))
        least = max(1, asking.least)
        if least >= len(tasks):
            return ScaleUp(code=Code.QUEUE_CAPABILITY, why_not=over)
        ordered = self._session.plugins.ordered_tasks(tasks)
        over = self._room.take(view.queue, ordered[:least])
        if over is not None:
            return ScaleUp(code=Code.QUEUE_CAPABILITY, why_not=over)
        pods = {task.uid for task in ordered[:least]}
        for task in ordered[least:]:
            over = self._room.take(view.queue, (task,))
            if over is not None:
                break
            pods.add(task.uid)
        return ScaleUp(pods, Code.QUEUE_CAPABILITY, over or "")


def _uids(asking: Asking) -> Set[str]:
    """The uids of all its tasks."""
    pending = asking.view.job.pending
    return pending.keys() if len(asking.tasks) == len(pending) else {task.uid for task in asking.tasks}


def is_asked_for(session: Session, view: JobView) -> bool:
    """Whether nodes for a job are asked for by ProvisioningRequests: it is a gang with an object, and does not run."""
    spec = view.spec
    made = session.snapshot.provisioning is not None
    return made and bool(spec.uid) and not spec.implicit and view.min_member > 1 and not view.is_ready
