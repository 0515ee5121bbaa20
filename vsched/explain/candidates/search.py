"""Lists all levers for a waiting job; simulations then show which of them help.

A lever must concern this job: limits on resources that it asks for, constraints of its pods, its queue and ancestors.
The number of levers is bounded, whatever the size of the cluster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from functools import partial
from itertools import chain, islice

import msgspec

from vsched.explain.candidates.device_parts import device_part_levers, device_resources
from vsched.explain.candidates.levers import Lever, LeverLevel, MissingMinimum, Rank, grain_of, in_proportion, raising
from vsched.explain.candidates.nodes import node_levers
from vsched.explain.candidates.others import TAKING, other_levers
from vsched.explain.candidates.queues import CLOSE_MAX, NAMES_MAX, queue_levers
from vsched.explain.candidates.subgroups import sub_group_levers
from vsched.explain.edits.base import Edit
from vsched.explain.edits.every import AnyEdit
from vsched.explain.edits.jobs import SetMinMember, SetMinResources, SetPriority, SetRoleMinimum
from vsched.explain.edits.namespaces import SetConsumerLimit, SetQuota
from vsched.explain.edits.others import CreatePodGroup, CreatePriorityClass
from vsched.explain.edits.pods import AddPods, RemoveGates, SetRequest
from vsched.explain.edits.policy import UseAction
from vsched.explain.edits.rules import DropRule, Rule
from vsched.framework.points.levers import ArgumentLever
from vsched.model.amounts.counted import LIMITS, counted_scale
from vsched.model.amounts.resources import PODS, scale_of
from vsched.model.jobs.job import Job
from vsched.model.jobs.native import native_name
from vsched.model.names import is_subdomain
from vsched.model.plan import CONSOLIDATE
from vsched.model.pods.shape import Shape
from vsched.model.pods.task import Task
from vsched.model.queues.quota import Quota, QuotaLine, asked_by, exceeded
from vsched.model.snapshot import Snapshot

CLASSES_MAX = 64
RESERVED = "system-"
"""The prefix of priority classes that are reserved for the system."""
PRIORITY_MAX = 1_000_000_000
"""The highest value of a priority class that users may create."""
ADDED_MAX = 4096
"""The most pods that a lever adds to a job."""
LIKES_MAX = 8
"""The most pods of a job with sub-groups whose copies are tried as further pods."""
HALVES = 2
"""A lever divides requests, and ``minResources`` of a job without pods, by at most this number."""
DEFAULT_QUEUE = "default"


def levers(wants: MissingMinimum) -> list[Lever]:
    """All levers for the job, by rank."""
    if wants.job.awaits_class:
        return list(_missing_class(wants))
    found = chain(
        _undone(wants),
        _smaller(wants),
        sub_group_levers(wants),
        _other_rules(wants),
        _higher(wants),
        queue_levers(wants),
        _namespace(wants),
        other_levers(wants),
        _policy(wants),
        node_levers(wants),
    )
    return sorted(found, key=lambda lever: lever.rank)


def grouping(snapshot: Snapshot, key: str) -> Iterator[Lever]:
    """The lever that creates the missing PodGroup of stray pods, in the queue of their namespace."""
    namespace, _, name = key.partition("/")
    found = snapshot.namespaces.get(namespace)
    queue = DEFAULT_QUEUE if found is None or not found.queue else found.queue
    if is_subdomain(name) or native_name(key) is not None:
        yield Lever(Rank.LEFT_UNDONE, lambda _: CreatePodGroup(key, queue))


# -- the job ----------------------------------------------------------------------------------------------------------


def _undone(wants: MissingMinimum) -> Iterator[Lever]:
    """Levers for what was left undone: gates, a missing priority class, missing pods."""
    job = wants.job
    if any(task.at_gate and not task.awaits_queue for task in wants.waiting):
        yield Lever(Rank.LEFT_UNDONE, lambda _: RemoveGates(job.key))
    yield from _missing_class(wants)
    if not job.tasks:
        return
    like = min(job.tasks.values(), key=lambda task: (bool(task.node), task.name))
    missing = _missing_pods(job)
    if sum(missing.values()) > min(ADDED_MAX, 2 * _slots(wants)):
        return
    of_role = {
        task.role: task for task in sorted(job.tasks.values(), key=lambda task: (bool(task.node), task.name))[::-1]
    }
    for role, count in missing.items():
        likes = [of_role.get(role, like)]
        if job.spec.sub_groups:  # the labels of a pod say which one it is of
            likes = list({task.labels: task for task in sorted(job.tasks.values(), key=_by_name)[::-1]}.values())
        for one in likes[-LIKES_MAX:]:
            yield Lever(Rank.LEFT_UNDONE, partial(_adding, wants, role, one), count, count, len(job.tasks), "pods")


def _by_name(task: Task) -> str:
    return task.name


def _adding(wants: MissingMinimum, role: str, like: Task, step: int) -> tuple[Edit, ...]:
    return (*_allowing(wants, like.shape, step), AddPods(wants.job.key, like.name, step, role))


def _allowing(wants: MissingMinimum, shape: Shape, count: int) -> Iterator[SetQuota]:
    """The quotas of the namespace raised as far as so many more pods need it: else they cannot be made."""
    snapshot, namespace = wants.situation.snapshot, wants.job.spec.namespace
    asked = asked_by(shape, snapshot.axis.names, count)
    for quota, line in exceeded(snapshot.quotas.get(namespace, ()), asked):
        yield SetQuota(namespace, quota.name, line.name, line.used + asked[line.resource])


def _missing_class(wants: MissingMinimum) -> Iterator[Lever]:
    """Levers for a priority class that the job names and that does not exist: use one with a similar name, as the name
    may be a typing error; or create it, with the job's present priority as value, or above all jobs of its queue.
    """
    job, classes = wants.job, wants.situation.snapshot.priority_classes
    name = job.awaits_class or job.spec.priority_class
    if not name or name in classes or name.startswith(RESERVED):
        return
    for close in get_close_matches(name, islice(sorted(classes), NAMES_MAX), CLOSE_MAX):
        if not close.startswith(RESERVED):
            # The smaller share puts this before the creation of a class.
            edit = SetPriority(job.key, classes[close].value, close)
            yield Lever(Rank.LEFT_UNDONE, partial(_same, edit), whole=3)
    if not is_subdomain(name):
        return
    values = sorted({min(PRIORITY_MAX, value) for value in (job.priority, _above_rivals(wants))})
    yield Lever(Rank.LEFT_UNDONE, lambda step: CreatePriorityClass(name, values[step - 1]), len(values), whole=2)


def _same(edit: Edit, _: int) -> Edit:
    return edit


def _above_rivals(wants: MissingMinimum) -> int:
    """The lowest priority above those of all other jobs in the job's queue."""
    job, jobs = wants.job, wants.situation.snapshot.jobs.values()
    others = (other.priority for other in jobs if other.spec.queue == job.spec.queue and other.key != job.key)
    return max(others, default=job.priority) + 1


def _missing_pods(job: Job) -> dict[str, int]:
    """The missing pods of the minimum of each role; with all roles complete, those of the job, under an empty role."""
    living = job.ready + len(job.pending)
    missing: dict[str, int] = {}
    there = Counter(task.role for uid, task in job.tasks.items() if uid in job.pending or task.node)
    for role, minimum in job.spec.min_task_member:
        if there[role] < minimum:
            missing[role] = minimum - there[role]
    if not missing and living < job.spec.min_member:
        missing[""] = job.spec.min_member - living
    return missing


def _slots(wants: MissingMinimum) -> int:
    """The number of pod slots of all nodes."""
    return int(wants.situation.snapshot.total[PODS])


def _smaller(wants: MissingMinimum) -> Iterator[Lever]:
    """Levers that make the job ask for less: smaller minima, requests and ``minResources``."""
    job, spec = wants.job, wants.job.spec
    lowered = partial(in_proportion, spec, wants.situation.snapshot.axis)
    # Below the sum of the role minima, the role minima would no longer apply; a smaller gang must keep them. The
    # annotation of an owner is a minimum of all roles together.
    roles = () if spec.follows else spec.min_task_member
    fewer = spec.min_member - max(1, job.ready, sum(minimum for _, minimum in roles))
    if fewer > 0 and (spec.native is None or spec.native.has_mutable_minimum):
        yield Lever(
            Rank.LESS,
            lambda step: SetMinMember(job.key, spec.min_member - step, lowered(spec.min_member - step)),
            fewer,
            whole=spec.min_member,
        )
    for role, minimum in roles:
        if minimum > 0:

            def with_fewer(step: int, role: str = role, minimum: int = minimum) -> SetRoleMinimum:
                return SetRoleMinimum(job.key, role, minimum - step, max(1, spec.min_member - step))

            yield Lever(Rank.LESS, with_fewer, minimum, whole=minimum)
    of_devices = device_resources(wants)
    for column in wants.columns if wants.waiting else ():
        name, asked = wants.name(column), wants.request(column)
        if name in of_devices:
            continue  # these are sums: what containers ask of each device counts
        grain = grain_of(column, name)
        own = asked - max(dict(shape.overhead).get(column, 0) for shape in wants.shapes)
        most = (own - own // HALVES) // grain
        if most > 0:

            def with_less(step: int, name: str = name, asked: int = asked, grain: int = grain) -> SetRequest:
                return SetRequest(job.key, name, asked - step * grain)

            yield Lever(Rank.LESS, with_less, most, whole=asked // grain, kind="requests")
    yield from device_part_levers(wants)
    yield from _stating_less(wants)


def _stating_less(wants: MissingMinimum) -> Iterator[Lever]:
    """Levers that lower ``minResources`` to what the pods of the minimum ask for.

    If the job has no pods yet and a minimum of 1, a lever may halve ``minResources``; for a larger minimum without pods
    there is none, because ``SetMinMember`` lowers them, too.
    """
    job, spec = wants.job, wants.job.spec
    if spec.min_resources is None or spec.implicit or spec.made or spec.written_for:
        return
    if not job.tasks and spec.min_member > 1:
        return
    for column, stated in spec.min_resources:
        name, grain = wants.name(column), grain_of(column, wants.name(column))
        asked = sorted((dict(task.shape.request).get(column, 0) for task in job.tasks.values()), reverse=True)
        least = -(-stated // HALVES)
        if asked:
            counted = asked[: max(1, spec.min_member)]
            least = sum(counted) + asked[0] * (max(1, spec.min_member) - len(counted))
        if stated - least >= grain:

            def stating(step: int, name: str = name, stated: int = stated, grain: int = grain) -> SetMinResources:
                return SetMinResources(job.key, {name: stated - step * grain})

            most = (stated - least) // grain
            yield Lever(Rank.LESS, stating, most, whole=max(1, stated // grain), kind="minResources")


def _other_rules(wants: MissingMinimum) -> Iterator[Lever]:
    """Levers that remove constraints about other pods and host ports; ``node_levers`` has those about nodes."""
    for rule in _rules_of(wants.shapes):
        yield Lever(Rank.ELSEWHERE, partial(_dropping, wants.job.key, rule), kind="rules")


def _dropping(key: str, rule: Rule, _: int) -> DropRule:
    return DropRule(key, rule)


def _rules_of(shapes: Sequence[Shape]) -> Iterator[Rule]:
    """The required constraints of the pods about other pods and host ports."""
    affinities = [shape.affinity for shape in shapes if shape.affinity is not None]
    if any(shape.ports for shape in shapes):
        yield "hostPorts"
    if any(affinity.required for affinity in affinities):
        yield "podAffinity"
    if any(affinity.anti_required for affinity in affinities):
        yield "podAntiAffinity"
    if any(rule.hard for shape in shapes for rule in shape.spread):
        yield "topologySpread"


def _higher(wants: MissingMinimum) -> Iterator[Lever]:
    """A lever over the higher priority classes, the lowest first; without any, one that creates a class."""
    job, classes = wants.job, wants.situation.snapshot.priority_classes
    names = {
        one.value: name
        for name, one in classes.items()
        if one.value > job.priority and not name.startswith(RESERVED) and one.value <= PRIORITY_MAX
    }
    values = sorted(names)[:CLASSES_MAX]
    if values:
        yield Lever(
            Rank.ORDER,
            lambda step: SetPriority(job.key, values[step - 1], names[values[step - 1]]),
            len(values),
            whole=len(values),
        )
        return
    value = max(job.priority + 1, _above_rivals(wants))
    name = f"above-{value - 1}" if value > 0 else f"above-minus-{1 - value}"
    if value <= PRIORITY_MAX and name not in classes:
        yield Lever(Rank.ORDER, lambda _: _promoted(job, value, name))


def _promoted(job: Job, value: int, name: str) -> tuple[Edit, ...]:
    """Edits that create a priority class and give it to the job; without a PodGroup of its own, the priority alone."""
    if job.spec.implicit or job.spec.made or job.spec.native is not None:
        return (SetPriority(job.key, value),)
    return CreatePriorityClass(name, value), SetPriority(job.key, value, name)


# -- the namespace ----------------------------------------------------------------------------------------------------


def _namespace(wants: MissingMinimum) -> Iterator[Lever]:
    """Levers that raise resource quotas and Consumer limits of the job's namespace."""
    snapshot, namespace = wants.situation.snapshot, wants.job.spec.namespace
    asked = {wants.name(column) for column in (*wants.columns, PODS)}
    asked.update(resource for resource, _ in wants.job.spec.quota_request)
    for quota in snapshot.quotas.get(namespace, ()):
        for line in quota.lines:
            if line.resource in asked:
                yield _quota_lever(wants, quota, line)
    ceiling = snapshot.ceilings.get(namespace)
    if ceiling is None or snapshot.arbitration is None:
        return  # without arbitration data, a ceiling cannot be raised: it follows from the requests of all namespaces
    for column, most in ceiling.most.items():
        if wants.request(column):
            name = wants.name(column)
            held = snapshot.held.get(namespace, {}).get(column, 0)
            level = LeverLevel(most, held, 2 * wants.needed(column))
            yield raising(wants, column, level, partial(SetConsumerLimit, namespace, name), "consumers")
    for name in LIMITS:
        asked_for = max((dict(shape.limits).get(name, 0) for shape in wants.shapes), default=0)
        if name in ceiling.limits and asked_for:
            yield _limits_lever(wants, name, ceiling.limits[name], asked_for)


def _quota_lever(wants: MissingMinimum, quota: Quota, line: QuotaLine) -> Lever:
    """A lever that raises one hard limit of a resource quota."""
    namespace = wants.job.spec.namespace
    column = wants.situation.snapshot.axis.find(line.resource)
    asked = dict(wants.job.spec.quota_request).get(line.resource, 0)
    if column is not None:
        asked = max(asked, wants.needed(column))
    grain = _grain(line.resource)
    most = max(1, -(-(max(0, line.used - line.hard) + 2 * asked) // grain))
    return Lever(
        Rank.LIMITS,
        lambda step: SetQuota(namespace, quota.name, line.name, line.hard + step * grain),
        most,
        min(most, max(1, -(-(line.used + asked - line.hard) // grain))),
        max(1, line.hard // grain),
        "quotas",
    )


def _limits_lever(wants: MissingMinimum, name: str, most: int, asked: int) -> Lever:
    namespace, grain = wants.job.spec.namespace, _grain(name)
    held = wants.situation.snapshot.held_limits.get(namespace, {}).get(name, 0)
    top = max(1, -(-(max(0, held - most) + 2 * asked * wants.missing) // grain))
    return Lever(
        Rank.LIMITS,
        lambda step: SetConsumerLimit(namespace, name, most + step * grain),
        top,
        min(top, max(1, -(-(held + asked - most) // grain))),
        max(1, most // grain),
        "consumers",
    )


def _grain(counted: str) -> int:
    """The smallest step of a resource in quotas and Consumers."""
    if counted.removeprefix("limits.") == "cpu":
        return 10
    scale = counted_scale(counted) if counted in LIMITS else scale_of(counted)
    return scale if scale > 1 or counted == "pods" else 1 << 20


# -- the policy -------------------------------------------------------------------------------------------------------


def _policy(wants: MissingMinimum) -> Iterator[Lever]:
    for plugin in wants.plugins:
        for lever in plugin.argument_levers():
            yield Lever(Rank.POLICY, partial(_argued, lever), lever.most, whole=lever.whole)
    for action in (*TAKING, CONSOLIDATE):
        if action not in wants.situation.policy.actions:
            yield Lever(Rank.POLICY, partial(_using, action), whole=1)


def _argued(lever: ArgumentLever, step: int) -> Edit:
    return msgspec.convert(lever.edit(step), AnyEdit)


def _using(action: str, _: int) -> UseAction:
    return UseAction(action)
