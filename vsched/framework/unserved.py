"""What objects state, and no plugin of the policy acts on.

A policy may leave plugins out, as it may in Volcano: without ``gang``, ``spec.minMember`` of a PodGroup holds nothing
together, and only the tree of ``capacity`` makes anything of ``spec.parent`` of a Queue. Nobody is to find that out by
looking at where pods went.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from vsched.framework.points.terms import JobTerm, PlacementTerm, QueueTerm, Term
from vsched.framework.policy import Policy
from vsched.framework.registry import Registry
from vsched.framework.words import engine as words
from vsched.model.jobs.job import Job
from vsched.model.jobs.spec import JobSpec
from vsched.model.pods.shape import Rules, Shape
from vsched.model.pods.task import Task
from vsched.model.queues.evictions import EvictionTerms
from vsched.model.queues.queue import ROOT, Queue

T = TypeVar("T", QueueTerm, JobTerm)
Unserved = Mapping[Term, Sequence[str]]
"""By term: the plugins of which a policy needs one to act on it."""
_KINDS: Mapping[type[Term], str] = {QueueTerm: "Queue", JobTerm: "PodGroup", PlacementTerm: "Pod"}
HIERARCHY = QueueTerm.HIERARCHY.value


def unserved(policy: Policy, registry: Registry) -> Unserved:
    """The terms that no plugin of a policy acts on, and some other plugin would, in the order of their definition.

    The weight of queues is not among them: every queue has one.
    """
    served: set[Term] = {QueueTerm.WEIGHT}
    for conf in policy.plugins():
        plugin = registry.plugins[conf.name]
        served |= plugin.acts_on(conf.args) | (plugin.tree_terms if conf.switches.hierarchy else frozenset())
    missing = {term: _actors(term, registry) for kind in _KINDS for term in kind if term not in served}
    return {term: actors for term, actors in missing.items() if actors}


def kind_of(term: Term) -> str:
    """The kind of the objects that may state it."""
    return _KINDS[type(term)]


def _actors(term: Term, registry: Registry) -> list[str]:
    """What a policy needs for this term, one of them."""
    return [
        *(name for name, plugin in sorted(registry.plugins.items()) if term in plugin.terms),
        *(words.with_hierarchy(name) for name, plugin in sorted(registry.plugins.items()) if term in plugin.tree_terms),
    ]


def of_queue(queue: Queue, missing: Unserved) -> list[str]:
    """What a queue states in vain, a sentence each."""
    return [_sentence(term, missing[term]) for term in _stated_by_queue(queue) if term in missing]


def first_of(job: Job) -> Task | None:
    """The pod of a job that is looked at: one that waits, if there is one."""
    return next(iter((job.pending or job.tasks).values()), None)


def of_job(job: Job, missing: Unserved) -> list[str]:
    """What a job's PodGroup states in vain, and one of its pods, a sentence each: pods of a job are usually alike."""
    first = first_of(job)
    stated: list[Term] = [] if job.spec.implicit else [*_stated_by_job(job.spec)]
    if first is not None:
        stated += _stated_by_pod(first)
    return [_sentence(term, missing[term]) for term in stated if term in missing]


def _sentence(term: Term, actors: Sequence[str]) -> str:
    return words.not_acted_on(term.value, actors, tree=term is QueueTerm.PARENT)


def _stated_by_queue(queue: Queue) -> Iterator[QueueTerm]:
    limits = queue.limits
    if queue.deserved:
        yield QueueTerm.DESERVED
    if queue.guarantee:
        yield QueueTerm.GUARANTEE
    if queue.capability:
        yield QueueTerm.CAPABILITY
    if queue.parent and queue.parent != ROOT:
        yield QueueTerm.PARENT
    if queue.priority:
        yield QueueTerm.PRIORITY
    if queue.affinity is not None:
        yield QueueTerm.NODE_GROUPS
    if queue.group_limits is None or queue.group_limits:
        yield QueueTerm.GROUP_LIMITS
    if any(name == HIERARCHY for name, _ in queue.annotations):
        yield QueueTerm.HIERARCHY
    if limits.running_jobs is not None or limits.running_jobs_per_user is not None:
        yield QueueTerm.RUNNING_JOBS
    if limits.wall_time is not None:
        yield QueueTerm.WALL_TIME
    yield from _stated_of_evictions(queue.terms, QueueTerm)


def _stated_by_job(spec: JobSpec) -> Iterator[JobTerm]:
    if spec.min_member > 1:
        yield JobTerm.MINIMUM
    if spec.min_task_member:
        yield JobTerm.ROLES
    if spec.waiting_seconds is not None:
        yield JobTerm.WAITING_TIME
    if spec.wall_time:
        yield JobTerm.WALL_TIME
    if spec.budget is not None:
        yield JobTerm.BUDGET
    if spec.task_topology is not None:
        yield JobTerm.TASK_TOPOLOGY
    yield from _stated_of_evictions(spec.terms, JobTerm)


def _stated_of_evictions(terms: EvictionTerms, kind: type[T]) -> Iterator[T]:
    if terms.preempt_min_runtime is not None:
        yield kind.PREEMPT_MIN_RUNTIME
    if terms.reclaim_min_runtime is not None:
        yield kind.RECLAIM_MIN_RUNTIME
    if terms.preemption_delay is not None:
        yield kind.PREEMPTION_DELAY


def _stated_by_pod(task: Task) -> Iterator[PlacementTerm]:
    shape, claims = task.shape, task.claims
    yield from _by_shape(shape, shape.rules)
    if claims is not None and claims.volumes:
        yield PlacementTerm.VOLUMES
    if claims is not None and claims.devices:
        yield PlacementTerm.DEVICES
    if task.protected_until:
        yield PlacementTerm.COOLDOWN


def _by_shape(shape: Shape, rules: Rules) -> Iterator[PlacementTerm]:
    if rules.node_selector or rules.required is not None or rules.node_name:
        yield PlacementTerm.NODES
    if shape.ports:
        yield PlacementTerm.PORTS
    if shape.affinity is not None and (shape.affinity.required or shape.affinity.anti_required):
        yield PlacementTerm.PODS
    if any(spread.hard for spread in shape.spread):
        yield PlacementTerm.SPREAD
    if shape.zones is not None and shape.zones.policy:
        yield PlacementTerm.NUMA
    if shape.strategy is not None:
        yield PlacementTerm.STRATEGY
    if rules.revocable:
        yield PlacementTerm.REVOCABLE
