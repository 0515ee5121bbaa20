"""Finds all constraints of a waiting job: of its queue and namespace, of the job itself, of nodes and other jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec
import numpy as np

from vsched.actions.blocked import QUEUE_OVERUSED
from vsched.actions.words import queue_overused
from vsched.explain.records import Constraint
from vsched.explain.why import words
from vsched.explain.why.forever import (
    SHAPES_MAX,
    is_to_hold,
    never_complete,
    never_placed,
    shape_never_placed,
)
from vsched.explain.why.groups import reasons_by_group
from vsched.explain.why.holding import in_domain, of_limit, on_nodes
from vsched.explain.why.protectors import protected
from vsched.explain.why.rules import of_rules
from vsched.explain.words.reasons import GATED
from vsched.framework.codes import Code
from vsched.framework.empty_nodes import LASTING
from vsched.framework.jobs import JobView
from vsched.framework.nodes.why import Failing
from vsched.framework.obstacles import no_such_queue, unsupported_pods
from vsched.framework.points.extension import Allocatable, JobEnqueueable, NamespaceLimit, Overused, QueueDivider
from vsched.framework.refusal import Refusal, Shortage
from vsched.framework.reports.limits import quotas_refusing
from vsched.framework.reports.unschedulable import UnschedulableReasons
from vsched.framework.session import Session
from vsched.framework.starting import is_whole
from vsched.framework.words.limits import at_limit
from vsched.framework.words.lists import counted
from vsched.framework.words.nodes import NO_NODES_KNOWN, RESERVED_FOR_OTHERS, resource_in, said_of_nodes, with_others
from vsched.model.amounts.resources import NOTHING, Amounts, plus
from vsched.model.nodes.table import Mask
from vsched.model.pods.shape import Shape
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

Groups = dict[str, dict[str, int]]
AT_FAULT = frozenset((Code.QUEUE_LEFT_OUT, Code.QUEUE_NOT_LEAF))
"""Codes for queues in which nothing can start until the queue changes, or the queue of the job."""
LASTING_LIMITS = frozenset((Code.QUEUE_CAPABILITY, Code.QUOTA, Code.RESOURCES))
"""Codes of limits that do not depend on what others hold; RESOURCES stands for the total of the cluster."""


class Examiner:
    """Examines one session after its actions have run."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._headlines = UnschedulableReasons(session)

    def of_job(self, view: JobView) -> tuple[Constraint, ...]:
        """The constraints on a job's minimum, or on one more pod if it has that; the binding one comes first."""
        tasks = self.wanted(view)
        headline = self._headlines.of(view)
        if view.key in self._session.stranded and headline.code == Code.UNSUPPORTED:
            return (Constraint(Code.UNSUPPORTED, headline.message, lasting=True, repeats=True),)
        stays = headline.limit is not None and headline.limit.lasting
        first = Constraint(headline.code, headline.message, stays) if headline.message else None
        lasting = list(never_placed(self._session, view)) if not view.is_ready or not view.ready else []
        found = [*self._of_rules(view, tasks, headline.limit), *lasting]
        found += self._of_nodes(view, tasks, headline.reasons)
        if headline.code == Code.TOPOLOGY:
            found += in_domain(self._session, view, tasks)
        if headline.limit is not None:
            found += of_limit(self._session, view, headline.limit)
        constraints = ordered(first, found)
        message = headline.message or next((one.message for one in constraints), "")
        return noted(constraints, message, headline.reasons)

    def of_pod(self, view: JobView, task: Task, message: str, reasons: Mapping[str, int]) -> tuple[Constraint, ...]:
        """The constraints on one pod of a job; ``message`` is its headline, ``reasons`` the nodes by reason in that."""
        headline = self._headlines.of(view)
        if task.unsupported or (view.key in self._session.stranded and headline.code == Code.UNSUPPORTED):
            asked = task.unsupported or headline.message
            return (Constraint(Code.UNSUPPORTED, asked, lasting=True, repeats=asked == message),)
        found = [*self._of_rules(view, [task], headline.limit, of_pod=True), *shape_never_placed(self._session, task)]
        found += self._of_nodes(view, [task], reasons)
        found += never_placed(self._session, view) if not view.is_ready else ()
        if headline.limit is not None:
            found += of_limit(self._session, view, headline.limit)
        if task.at_gate:
            found.insert(0, Constraint(Code.GATED, GATED))
        alike = message == headline.message or view.key in self._session.refused.protected
        code = headline.code if alike or not found else found[0].code
        stays = alike and headline.limit is not None and headline.limit.lasting
        constraints = ordered(Constraint(code, message, stays) if message else None, found)
        if headline.message and headline.message not in message and view.min_member > 1:
            constraints = (*constraints, Constraint(headline.code, headline.message, subject=view.key))
        return noted(constraints, message, reasons)

    def groups(self, tasks: Sequence[Task]) -> Groups:
        """The number of nodes by group, then reason, for the first of these tasks that lacks feasible nodes."""
        for task in _kinds(tasks):
            failing = self._failing(task, sum(other.shape is task.shape for other in tasks))
            if failing:
                return reasons_by_group(self._session.nodes.statics, failing)
        return {}

    def wanted(self, view: JobView) -> list[Task]:
        """The pending tasks that a job needs next: those that its minimum lacks, else one."""
        pending = (task for uid, task in view.job.pending.items() if not task.gated and uid not in view.moved)
        tasks = self._session.plugins.ordered_tasks(pending)
        return tasks[: max(1, self._session.plugins.tasks_missing(view))]

    def _to_making(self, view: JobView) -> Iterator[Constraint]:
        """The quotas that keep the pods that a job lacks from being made, by what those are like that it has."""
        for refusal in quotas_refusing(self._session.snapshot, view):
            yield Constraint(refusal.code, refusal.message, subject=refusal.subject)

    # -- queue, namespace, job ------------------------------------------------------------------------------------

    def _of_rules(
        self, view: JobView, tasks: Sequence[Task], said: Refusal | None, *, of_pod: bool = False
    ) -> Iterator[Constraint]:
        """The constraints of queue, namespace and job on placing these tasks; with ``of_pod``, on one given pod.

        ``said`` is the refusal in the headline; its constraints repeat the numbers of the headline.
        """
        session = self._session
        known = view.queue in session.snapshot.queues
        if not known:
            message = no_such_queue(view.queue).message
            yield Constraint(Code.QUEUE_NOT_FOUND, message, lasting=True, subject=view.queue)
        refusal = session.plugins.job_valid(view)
        if refusal is not None:
            yield from self._to_making(view)
            yield Constraint(refusal.code, refusal.message, subject=refusal.subject)
            yield Constraint(refusal.code, never_complete(session, view), lasting=True, subject=refusal.subject)
            yield from _of_unknown_roles(view)
        if not known:
            return
        limit = session.plugins.start_limit(view)
        if limit is not None:
            yield Constraint(limit.code, limit.message, limit.lasting, subject=limit.subject)
        if view.job.unplaceable and not of_pod:
            yield Constraint(Code.UNSUPPORTED, unsupported_pods(view.job))
        gated = sum(task.at_gate for task in view.job.pending.values())
        if gated and not view.is_ready and not of_pod:
            yield Constraint(Code.GATED, words.gates_hold_back(gated))
        if not session.snapshot.queues[view.queue].open:
            yield from self._once_open(view, tasks)
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
        """All refusals of plugins to admit the job."""
        if not view.waiting_to_enter or view.spec.min_resources is None:
            return []
        if "enqueue" not in self._session.policy.actions:
            return []
        asked = (one.job_enqueueable(view) for one in self._session.plugins.taking_part(JobEnqueueable))
        return [one for one in asked if isinstance(one, Refusal) and self._is_worth_telling(one)]

    def _to_placing(self, view: JobView, tasks: Sequence[Task]) -> list[Refusal]:
        """All refusals of plugins to allocate these tasks to the job."""
        plugins, queue = self._session.plugins, self._session.queue(view)
        request = amounts_of(tasks)
        asked = [one.allocatable(queue, request) for one in plugins.taking_part(Allocatable)]
        dividers = (one for one in plugins.taking_part(Overused) if isinstance(one, QueueDivider))
        asked.append(plugins.claim_limit(queue, tasks))
        said = not len(self._session.nodes) or any(isinstance(one, Refusal) for one in asked)
        if not said and tasks and not tasks[0].best_effort and any(one.overused(queue) for one in dividers):
            message = queue_overused(queue.name)
            asked.append(Refusal(QUEUE_OVERUSED, message, code=Code.QUEUE_SHARE, subject=queue.name))
        counts = Counter(task.shape for task in tasks)
        for task in _kinds(tasks):
            limits = plugins.taking_part(NamespaceLimit)
            asked += [one.namespace_limit(view.namespace, task.shape, counts[task.shape]) for one in limits]
        return [one for one in asked if isinstance(one, Refusal) and self._is_worth_telling(one)]

    def _is_worth_telling(self, refusal: Refusal) -> bool:
        """Whether a refusal goes into the explanation; not those of callouts, which are in the headline already."""
        if refusal.code is Code.REFUSED:
            return False
        return refusal.code is not Code.QUEUE_SHARE or not is_whole(self._session.snapshot, refusal)

    def _told(
        self, view: JobView, refusal: Refusal, said: Refusal | None, least_of: Callable[[Shortage], int]
    ) -> Iterator[Constraint]:
        """One constraint for each resource in a refusal; ``least_of`` gives the least amount that the job needs."""
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
        """Whether a shortage is lasting: not if nodes, or devices of nodes, may still register."""
        if code == Code.NO_NODES:
            return False
        return code == Code.QUEUE_CAPABILITY or not self._headlines.limits.unregistered(resource)

    def _at_least(self, view: JobView, among: Iterable[Task], short: Shortage) -> int:
        """The least amount of a resource that a job holds once it starts: its minimum, or one more of these pods.

        The minimum may consist of the pods with the smallest requests.
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
        """A constraint if the queue can never deserve ``least``: for its capability, guarantees, or the cluster."""
        bound = self._headlines.limits.bound(name, one.resource)
        if bound is not None and least > bound.limit:
            message = at_limit(name, name, one._replace(asked=least, limit=bound.limit), bound)
            code = Code.QUEUE_SHARE if bound.guaranteed else Code.QUEUE_CAPABILITY if bound.holder else Code.RESOURCES
            yield Constraint(code, message, self._stays(code, one.resource), one.resource, name)

    def _once_open(self, view: JobView, tasks: Sequence[Task]) -> Iterator[Constraint]:
        """What would still keep these tasks of a closed queue waiting for ever: plugins say first that it is closed."""
        for column, _ in amounts_of(tasks):
            short = Shortage(self._session.snapshot.axis.names[column], 0, 0, 0)
            yield from self._beyond_share(view.queue, short, self._at_least(view, tasks, short))

    # -- nodes and victims ----------------------------------------------------------------------------------------

    def _of_nodes(self, view: JobView, tasks: Sequence[Task], counts: Mapping[str, int]) -> Iterator[Constraint]:
        """What protects victims, then the nodes by reason; ``counts`` are the nodes by reason in the headline."""
        total = len(self._session.nodes)
        if not total:
            yield Constraint(Code.NO_NODES, NO_NODES_KNOWN)
            return
        protectors_told = False
        for task in _kinds(tasks):
            wanted = sum(other.shape is task.shape for other in tasks)
            failing = self._failing(task, wanted)
            if not failing:
                if counts:  # by itself it fits somewhere; beside the others of its gang, nodes or domains are too few
                    alone = [one for one in self._session.node_selection.failing(task) if one.rows.any()]
                    yield from on_nodes(self._session, task, wanted, alone)
                    yield from of_rules(self._session, task, {Code.SPREAD})
                continue
            if not protectors_told:  # this walks over all running pods, so do it once
                protectors_told = True
                yield from protected(self._session, view, task)
            held = next((one.rows for one in failing if one.reason == RESERVED_FOR_OTHERS), None)
            others = "" if held is None else self._headlines.holders.names(view.key, held)
            for one in _said(failing, total, counts):
                yield one if not others else msgspec.structs.replace(one, message=with_others(one.message, others))
            yield from self._held(task, failing)
            yield from on_nodes(self._session, task, wanted, failing)
            yield from of_rules(self._session, task, {one.code for one in failing})

    def _held(self, task: Task, failing: Sequence[Failing]) -> Iterator[Constraint]:
        """Which pods hold what the task lacks, on the node that comes closest to having it, as far as plugins know."""
        rows: Mask = np.zeros(len(self._session.nodes), dtype=np.bool_)
        for one in failing:
            if one.code in (Code.DEVICES, Code.RESOURCES):  # sums of devices may be short as well
                rows |= one.rows
        if rows.any():
            for node_filter in self._session.plugins.node_plugins.filters:
                held = node_filter.holders(task.shape, rows)
                if held is not None:
                    yield Constraint(Code.DEVICES, held.message, subject=held.node)

    def _failing(self, task: Task, wanted: int) -> list[Failing]:
        """The infeasible nodes by reason, if the nodes cannot take ``wanted`` such tasks; else an empty list."""
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


def _of_unknown_roles(view: JobView) -> Iterator[Constraint]:
    """Pods that wait with roles which the gang does not name, where it names some: the role may be misspelt."""
    known = dict(view.spec.min_task_member)
    strange = Counter(task.role for task in view.job.tasks.values() if known and task.role and task.role not in known)
    for role, count in strange.most_common(1):
        message = words.role_not_named(count, role)
        yield Constraint(Code.GANG_INCOMPLETE, message, subject=view.key)


def ordered(first: Constraint | None, found: Sequence[Constraint]) -> tuple[Constraint, ...]:
    """The constraints without duplicates, ``first`` at the front with the details of those that have the same code.

    Constraints about the same subject and resource as ``first`` are left out, unless they are lasting.
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
    lasting = first.lasting or any(one.lasting for one in alike)
    detailed = next((one for one in alike if one.resource), alike[0])
    first = msgspec.structs.replace(first, lasting=lasting, resource=detailed.resource, subject=detailed.subject)
    rest = (one for one in kept.values() if one.lasting or _about(one) != _about(first))
    return (first, *rest)


def noted(found: Iterable[Constraint], headline: str, reasons: Mapping[str, int]) -> tuple[Constraint, ...]:
    """The constraints, with ``repeats`` set on those in the headline; ``reasons`` are its nodes by reason."""
    alone = len(reasons) == 1
    return tuple(
        msgspec.structs.replace(one, repeats=True)
        if one.message in headline or (alone and one.lasting and one.code in (*LASTING, Code.VOLUMES))
        else one
        for one in found
    )


def _about(one: Constraint) -> tuple[str, str, str]:
    return one.code, one.resource, one.subject


def _kinds(tasks: Sequence[Task]) -> list[Task]:
    """One task of each shape, at most ``SHAPES_MAX``."""
    firsts: dict[Shape, Task] = {}
    for task in tasks:
        firsts.setdefault(task.shape, task)
    return list(firsts.values())[:SHAPES_MAX]


def _said(failing: Sequence[Failing], total: int, known: Mapping[str, int]) -> Iterator[Constraint]:
    """One constraint for each reason: ``3 of 5 nodes have too little cpu``; ``known`` has the headline's counts."""
    for reason, code, rows in failing:
        count = known.get(reason) or int(np.count_nonzero(rows))
        message = f"{count} of {counted(total, 'node', 'nodes')} {said_of_nodes(reason, count)}"
        resource = resource_in(reason) if code is Code.RESOURCES else ""
        yield Constraint(code, message, resource=resource, repeats=reason in known)


def _asked(task: Task, column: int) -> int:
    return next((amount for one, amount in task.shape.request if one == column), 0)


def amounts_of(tasks: Sequence[Task]) -> Amounts:
    """The total request of tasks."""
    request = NOTHING
    for task in tasks:
        request = plus(request, task.shape.request)
    return request
