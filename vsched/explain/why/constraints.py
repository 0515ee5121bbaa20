"""What stands in a job's way, all of it: the queue, the namespace, the job itself, the nodes, and others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec
import numpy as np

from vsched.actions.held import QUEUE_OVERUSED
from vsched.explain.records import Constraint
from vsched.explain.why.forever import (
    SHAPES_MAX,
    is_to_hold,
    never_complete,
    never_placed,
    shape_never_placed,
)
from vsched.explain.why.groups import reasons_by_group
from vsched.explain.why.protectors import protected
from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.nodes.why import NO_NODES_KNOWN, Failing
from vsched.framework.obstacles import no_such_queue, told_of_pods
from vsched.framework.points.extension import Allocatable, JobEnqueueable, NamespaceLimit, Overused, QueueDivider
from vsched.framework.refusal import Refusal, Shortage
from vsched.framework.reports.holders import HELD, named
from vsched.framework.reports.lasting import LASTING
from vsched.framework.reports.unschedulable import UnschedulableReasons
from vsched.framework.session import Session, is_whole
from vsched.framework.wording import at_limit, counted, resource_in, said_of_nodes
from vsched.model.amounts.resources import NOTHING, Amounts, plus
from vsched.model.nodes.table import Mask
from vsched.model.pods.shape import Shape
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

GATED = "a scheduling gate holds it back"
Groups = dict[str, dict[str, int]]
AT_FAULT = frozenset((Code.QUEUE_LEFT_OUT, Code.QUEUE_NOT_LEAF))
"""Queues in which nothing starts until somebody changes them, or the job's."""
LASTING_LIMITS = frozenset((Code.QUEUE_CAPABILITY, Code.QUOTA, Code.RESOURCES))
"""Limits that stand whatever others hold; of resources all that the cluster has."""


class Examiner:
    """Looks at one session once its actions have run."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._headlines = UnschedulableReasons(session)

    def of_job(self, view: JobView) -> tuple[Constraint, ...]:
        """What keeps a job from its minimum, or from one more pod where it has that; what binds first comes first."""
        tasks = self.wanted(view)
        headline = self._headlines.of(view)
        if view.key in self._session.stranded and headline.code == Code.UNSUPPORTED:
            return (Constraint(Code.UNSUPPORTED, headline.message, lasting=True, repeats=True),)
        first = Constraint(headline.code, headline.message) if headline.message else None
        lasting = list(never_placed(self._session, view)) if not view.is_ready or not view.ready else []
        found = [*self._of_rules(view, tasks, headline.limit), *lasting]
        found += self._of_nodes(view, tasks, headline.reasons)
        told = ordered(first, found)
        return noted(told, headline.message or next((one.message for one in told), ""), headline.reasons)

    def of_pod(self, view: JobView, task: Task, message: str, reasons: Mapping[str, int]) -> tuple[Constraint, ...]:
        """What keeps one pod of a job off the nodes; ``message`` is what it is told, with nodes by reason."""
        headline = self._headlines.of(view)
        if task.unsupported or (view.key in self._session.stranded and headline.code == Code.UNSUPPORTED):
            asked = task.unsupported or headline.message
            return (Constraint(Code.UNSUPPORTED, asked, lasting=True, repeats=asked == message),)
        found = [*self._of_rules(view, [task], headline.limit, of_pod=True), *shape_never_placed(self._session, task)]
        found += self._of_nodes(view, [task], reasons)
        found += never_placed(self._session, view) if not view.is_ready else ()
        if task.at_gate:
            found.insert(0, Constraint(Code.GATED, GATED))
        alike = message == headline.message or view.key in self._session.protected
        code = headline.code if alike or not found else found[0].code
        told = ordered(Constraint(code, message) if message else None, found)
        if headline.message and headline.message not in message and view.min_member > 1:
            told = (*told, Constraint(headline.code, headline.message, subject=view.key))
        return noted(told, message, reasons)

    def groups(self, tasks: Sequence[Task]) -> Groups:
        """Nodes by group, then reason, of the first of these tasks that not enough nodes take."""
        for task in _kinds(tasks):
            failing = self._failing(task, sum(other.shape is task.shape for other in tasks))
            if failing:
                return reasons_by_group(self._session.nodes.statics, failing)
        return {}

    def wanted(self, view: JobView) -> list[Task]:
        """The tasks that a job is to be given next: what is missing of its minimum, else one more."""
        pending = (task for uid, task in view.job.pending.items() if not task.gated and uid not in view.moved)
        tasks = self._session.plugins.ordered_tasks(pending)
        return tasks[: max(1, self._session.plugins.tasks_missing(view))]

    # -- queue, namespace, job ------------------------------------------------------------------------------------

    def _of_rules(
        self, view: JobView, tasks: Sequence[Task], said: Refusal | None, *, of_pod: bool = False
    ) -> Iterator[Constraint]:
        """Every rule that objects to giving a job these tasks: some of those that would do, or the one ``of_pod``.

        Of the rule that the headline tells of (``said``) with the headline's numbers.
        """
        session = self._session
        known = view.queue in session.snapshot.queues
        if not known:
            told = no_such_queue(view.queue).message
            yield Constraint(Code.QUEUE_NOT_FOUND, told, lasting=True, subject=view.queue)
        refusal = session.plugins.job_valid(view)
        if refusal is not None:
            yield Constraint(refusal.code, refusal.message, subject=refusal.subject)
            yield Constraint(refusal.code, never_complete(session, view), lasting=True, subject=refusal.subject)
        if not known:
            return
        if view.job.unplaceable and not of_pod:
            yield Constraint(Code.UNSUPPORTED, told_of_pods(view.job))
        gated = sum(task.at_gate for task in view.job.pending.values())
        if gated and not view.is_ready and not of_pod:
            yield Constraint(Code.GATED, f"scheduling gates hold back {counted(gated, 'pod', 'pods')}")
        entering: set[tuple[str, str]] = set()
        for refusal in self._to_entering(view):
            for one in self._told(view, refusal, said, lambda short: short.asked):
                entering.add((one.resource, one.subject))
                yield one
        among = tasks if of_pod else list(view.job.pending.values())
        for refusal in self._to_placing(view, tasks):
            for one in self._told(view, refusal, said, lambda short: self._at_least(view, among, short)):
                if one.lasting or (one.resource, one.subject) not in entering:
                    yield one

    def _to_entering(self, view: JobView) -> list[Refusal]:
        """Every objection to the job's admission."""
        if not view.waiting_to_enter or view.spec.min_resources is None:
            return []
        if "enqueue" not in self._session.policy.actions:
            return []
        asked = (one.job_enqueueable(view) for one in self._session.plugins.taking_part(JobEnqueueable))
        return [one for one in asked if isinstance(one, Refusal) and self._is_worth_telling(one)]

    def _to_placing(self, view: JobView, tasks: Sequence[Task]) -> list[Refusal]:
        """Every objection to what the job is to be given."""
        plugins, queue = self._session.plugins, self._session.queue(view)
        request = amounts_of(tasks)
        asked = [one.allocatable(queue, request) for one in plugins.taking_part(Allocatable)]
        dividers = (one for one in plugins.taking_part(Overused) if isinstance(one, QueueDivider))
        said = not len(self._session.nodes) or any(isinstance(one, Refusal) for one in asked)
        if not said and tasks and not tasks[0].shape.best_effort and any(one.overused(queue) for one in dividers):
            message = f"queue {queue.name} holds all that it deserves"
            asked.append(Refusal(QUEUE_OVERUSED, message, code=Code.QUEUE_SHARE, subject=queue.name))
        counts = Counter(task.shape for task in tasks)
        for task in _kinds(tasks):
            limits = plugins.taking_part(NamespaceLimit)
            asked += [one.namespace_limit(view.namespace, task.shape, counts[task.shape]) for one in limits]
        return [one for one in asked if isinstance(one, Refusal) and self._is_worth_telling(one)]

    def _is_worth_telling(self, refusal: Refusal) -> bool:
        """Not what services outside say: that was asked in the session, and is in the headline."""
        if refusal.code is Code.REFUSED:
            return False
        return refusal.code is not Code.QUEUE_SHARE or not is_whole(self._session.snapshot, refusal)

    def _told(
        self, view: JobView, refusal: Refusal, said: Refusal | None, least_of: Callable[[Shortage], int]
    ) -> Iterator[Constraint]:
        """One constraint a resource where the refusal rests on amounts; ``least_of`` is what is asked at the least."""
        if not refusal.shortages or refusal.code is Code.QUOTA:
            beyond = refusal.code in LASTING_LIMITS and any(one.is_lasting for one in refusal.shortages)
            lasting = beyond or refusal.code in AT_FAULT
            resource = refusal.shortages[0].resource if refusal.shortages else ""
            yield Constraint(refusal.code, refusal.message, lasting, resource, refusal.subject)
            return
        known: dict[str, Shortage] = {}
        if said is not None and (said.reason, said.subject) == (refusal.reason, refusal.subject):
            known = {one.resource: one for one in said.shortages}
        for one in refusal.shortages:
            rule = refusal._replace(shortages=(one,))
            if said is not None and one.resource in known:
                rule = said._replace(shortages=(known[one.resource],))
            headline = self._headlines.refused(view, rule)
            least, repeats = least_of(one), one.resource in known
            lasting = rule.code in LASTING_LIMITS and least > one.limit and self._stays(headline.code, one.resource)
            yield Constraint(headline.code, headline.message, lasting, one.resource, rule.subject, repeats)
            if rule.code is Code.QUEUE_SHARE and rule.subject == view.queue:
                yield from self._beyond_share(view.queue, one, least)

    def _stays(self, code: str, resource: str) -> bool:
        """Whether what is said of a resource stays so: nodes come by themselves, and so do their devices."""
        if code == Code.NO_NODES:
            return False
        return code == Code.QUEUE_CAPABILITY or not self._headlines.limits.unregistered(resource)

    def _at_least(self, view: JobView, among: Iterable[Task], short: Shortage) -> int:
        """What a job holds of a resource at the least once it starts: with all of its minimum, or one more of these.

        Any of its pods may make up the minimum, the smallest as well.
        """
        column = self._session.snapshot.axis.find(short.resource)
        if column is None:
            return short.asked
        alone = min((_asked(task, column) for task in among), default=short.asked)
        if view.is_ready:
            return alone
        own = view.job.tasks.values()
        missing = view.min_member - sum(task.status is Status.SUCCEEDED for task in own)
        counting = sorted(_asked(task, column) for task in own if is_to_hold(task))
        return max(alone, sum(counting[: max(0, missing)]))

    def _beyond_share(self, name: str, one: Shortage, least: int) -> Iterator[Constraint]:
        """That a queue can never deserve what is asked at the least: it may not, or others are guaranteed the rest."""
        bound = self._headlines.limits.bound(name, one.resource)
        if bound is not None and least > bound.limit:
            told = at_limit(name, name, one._replace(asked=least, limit=bound.limit), bound)
            code = Code.QUEUE_SHARE if bound.guaranteed else Code.QUEUE_CAPABILITY if bound.holder else Code.RESOURCES
            yield Constraint(code, told, self._stays(code, one.resource), one.resource, name)

    # -- nodes and those on them ----------------------------------------------------------------------------------

    def _of_nodes(self, view: JobView, tasks: Sequence[Task], told: Mapping[str, int]) -> Iterator[Constraint]:
        """The nodes by reason, and those on them; ``told`` is what the headline counts."""
        total = len(self._session.nodes)
        if not total:
            yield Constraint(Code.NO_NODES, NO_NODES_KNOWN)
            return
        protectors_told = False
        for task in _kinds(tasks):
            failing = self._failing(task, sum(other.shape is task.shape for other in tasks))
            if not failing:
                continue
            held = next((one.rows for one in failing if one.reason == HELD), None)
            others = "" if held is None else self._headlines.holders.names(view.key, held)
            for one in _said(failing, total, told):
                yield one if not others else msgspec.structs.replace(one, message=named(one.message, others))
            if not protectors_told:  # looks at every running pod: once is enough
                protectors_told = True
                yield from protected(self._session, view, task)

    def _failing(self, task: Task, wanted: int) -> list[Failing]:
        """The nodes by reason where they do not take so many tasks like one; else nothing."""
        selection = self._session.node_selection
        found = [one for one in selection.failing(task) if one.rows.any()]
        off: Mask = np.zeros(len(self._session.nodes), dtype=np.bool_)
        for one in found:
            off |= one.rows
        holders = self._headlines.holders
        if off.all():
            return holders.split(task.job, task, found, filled=False)
        if wanted < 2 or selection.room(task).tasks >= wanted:
            return []
        found = [one for one in selection.failing(task, filled=True) if one.rows.any()]
        return holders.split(task.job, task, found, filled=True)


def ordered(first: Constraint | None, found: Sequence[Constraint]) -> tuple[Constraint, ...]:
    """Constraints each once, that which binds first; it is told with what was found out about it besides.

    What only says again what the first one says is left out, unless it says that waiting cannot help.
    """
    kept: dict[tuple[str, str], Constraint] = {}
    for one in found:
        if one.message:
            known = kept.get((one.code, one.message))
            kept[one.code, one.message] = one if known is None or one.lasting else known
    if first is None:
        return tuple(kept.values())
    exact = kept.pop((first.code, first.message), None)
    alike = [one for one in ((exact,) if exact else ()) + tuple(kept.values()) if one.code == first.code]
    if not alike:
        return (first, *kept.values())
    lasting, told = any(one.lasting for one in alike), next((one for one in alike if one.resource), alike[0])
    first = msgspec.structs.replace(first, lasting=lasting, resource=told.resource, subject=told.subject)
    rest = (one for one in kept.values() if one.lasting or _about(one) != _about(first))
    return (first, *rest)


def noted(found: Iterable[Constraint], headline: str, reasons: Mapping[str, int]) -> tuple[Constraint, ...]:
    """The same, with a note on what a headline that counts nodes by these reasons says already."""
    alone = len(reasons) == 1
    return tuple(
        msgspec.structs.replace(one, repeats=True)
        if one.message in headline or (alone and one.lasting and one.code in LASTING)
        else one
        for one in found
    )


def _about(one: Constraint) -> tuple[str, str, str]:
    return one.code, one.resource, one.subject


def _kinds(tasks: Sequence[Task]) -> list[Task]:
    """One task of each shape, a few at most."""
    firsts: dict[Shape, Task] = {}
    for task in tasks:
        firsts.setdefault(task.shape, task)
    return list(firsts.values())[:SHAPES_MAX]


def _said(failing: Sequence[Failing], total: int, known: Mapping[str, int]) -> Iterator[Constraint]:
    """``3 of 5 nodes have too little cpu``, one a reason; what the headline counts as it counted when it was so."""
    for reason, code, rows in failing:
        count = known.get(reason) or int(np.count_nonzero(rows))
        message = f"{count} of {counted(total, 'node', 'nodes')} {said_of_nodes(reason, count)}"
        resource = resource_in(reason) if code is Code.RESOURCES else ""
        yield Constraint(code, message, resource=resource, repeats=reason in known)


def _asked(task: Task, column: int) -> int:
    return next((amount for one, amount in task.shape.request if one == column), 0)


def amounts_of(tasks: Sequence[Task]) -> Amounts:
    """What tasks ask for together."""
    request = NOTHING
    for task in tasks:
        request = plus(request, task.shape.request)
    return request
