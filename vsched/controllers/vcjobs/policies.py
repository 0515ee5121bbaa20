"""What has happened to a vcjob, and which action its policies want.

Events are read from the state of the pods, not from their changes: a pod that has failed is an event until an action
has dealt with it. So an event is not lost with the process that has seen it. Every action that does something outdates
the pods of its event, and so it is taken once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from vsched.controllers.vcjobs import words
from vsched.controllers.vcjobs.counts import FAILED, PENDING, RUNNING, SUCCEEDED
from vsched.controllers.vcjobs.spec import JobAction, JobEvent, TaskSpec, VcJob, VcjobPolicy
from vsched.controllers.vcjobs.states import RESTARTS
from vsched.controllers.vcjobs.targets import outdated
from vsched.controllers.vcjobs.view import ActionRequest, VcjobPod, VcjobView
from vsched.model.pods.status import Phase

_NO_LIMIT = -1
"""``maxRetry`` of a task whose containers may restart for ever."""
_ACTING = RESTARTS | {JobAction.ABORT_JOB, JobAction.COMPLETE_JOB, JobAction.TERMINATE_JOB}
"""The actions that do something while a job is under way."""


class Happened(NamedTuple):
    """Something that has happened."""

    event: JobEvent
    since: float
    why: str
    pod: VcjobPod | None = None
    exit_code: int | None = None


class Due(NamedTuple):
    """What the policies want now, and when they may want more."""

    requests: tuple[ActionRequest, ...] = ()
    """The first that is due, with those of the same action that are due as well."""
    wake_at: float | None = None
    waiting: frozenset[str] = frozenset()
    """The uids of evicted pods that no action has dealt with yet: the time of their policy is not over, or another
    action is due first."""


def due(view: VcjobView, now: float) -> Due:
    """The actions that policies want for what has happened by now."""
    if not view.job.policies and not any(task.policies for task in view.job.tasks):
        return Due()
    found: list[tuple[float, ActionRequest, str]] = []
    later: list[float] = []
    waiting: set[str] = set()
    gone = {pod.uid for pod in view.evicted}
    tasks = {task.name: task for task in view.job.tasks}
    for happened in _happened(view, tasks, now):
        policy = _policy_for(view.job, tasks, happened)
        if policy is None:
            continue
        when = happened.since + policy.timeout_seconds
        uid = happened.pod.uid if happened.pod is not None else ""
        if policy.timeout_seconds > 0 and when > now:
            later.append(when)
            waiting.add(uid)
        else:
            found.append((when, _request(policy, happened), uid))
    found.sort(key=lambda each: each[0])
    first = found[0][1].action if found else None
    waiting.update(uid for _, request, uid in found if request.action is not first)
    requests = tuple(request for _, request, _ in found if request.action is first)
    return Due(requests, min(later, default=None), frozenset(waiting & gone))


def _request(policy: VcjobPolicy, happened: Happened) -> ActionRequest:
    pod = happened.pod
    if pod is None:
        return ActionRequest(policy.action, event=happened.event, why=happened.why)
    return ActionRequest(policy.action, pod.task, pod.name, pod.partition, happened.event, happened.why)


def _policy_for(job: VcJob, tasks: dict[str, TaskSpec], happened: Happened) -> VcjobPolicy | None:
    """The first policy that speaks of it: those of the task come before those of the job."""
    task = tasks.get(happened.pod.task) if happened.pod is not None else None
    for policy in (*(task.policies if task is not None else ()), *job.policies):
        if _speaks_of(policy, happened):
            return policy if policy.action in _ACTING else None
    return None


def _speaks_of(policy: VcjobPolicy, happened: Happened) -> bool:
    if happened.event in policy.events or JobEvent.ANY in policy.events:
        # Every pod is Pending at first: only its lasting is an event.
        return happened.event is not JobEvent.POD_PENDING or policy.timeout_seconds > 0
    return policy.exit_code is not None and policy.exit_code == happened.exit_code


def _happened(view: VcjobView, tasks: dict[str, TaskSpec], now: float) -> Iterator[Happened]:
    old = outdated(view.job, view.job.status)
    by_task: dict[str, list[VcjobPod]] = {name: [] for name in tasks}
    for pod in view.pods.values():
        if old.killed(pod) or old.surplus(pod):
            continue
        if pod.deleting and not pod.ended:
            # Its end is not known before it is gone: the time of a policy does not begin earlier.
            yield _evicted(pod, now)
        else:
            by_task[pod.task].append(pod)
            yield from _of_pod(pod)
    for pod in view.evicted:
        if not (old.killed(pod) or old.surplus(pod)) and not _is_back(view, pod):
            yield _evicted(pod, pod.since)
    for name, pods in by_task.items():
        yield from _of_task(tasks[name], pods)
    if view.group is not None and view.group.phase == Phase.UNKNOWN:
        yield Happened(JobEvent.UNKNOWN, view.group.since, words.PODGROUP_LOST_PODS)


def _evicted(pod: VcjobPod, since: float) -> Happened:
    return Happened(JobEvent.POD_EVICTED, since, words.pod_was_deleted(JobEvent.POD_EVICTED, pod.name), pod)


def _is_back(view: VcjobView, pod: VcjobPod) -> bool:
    """Whether another pod runs in the place of one that is gone."""
    other = view.pods.get(pod.name)
    return other is not None and other.uid != pod.uid and not other.deleting and other.phase in (RUNNING, SUCCEEDED)


def _of_pod(pod: VcjobPod) -> Iterator[Happened]:
    if pod.phase == FAILED:
        code = "" if pod.exit_code is None else words.with_exit_code(pod.exit_code)
        why = f"{JobEvent.POD_FAILED}: pod {pod.name} failed{code}"
        yield Happened(JobEvent.POD_FAILED, pod.since, why, pod, pod.exit_code)
    elif pod.phase == PENDING:
        yield Happened(JobEvent.POD_PENDING, pod.since, words.pod_is_pending(JobEvent.POD_PENDING, pod.name), pod)


def _of_task(task: TaskSpec, pods: Iterable[VcjobPod]) -> Iterator[Happened]:
    ended = [pod for pod in pods if pod.phase == SUCCEEDED]
    if task.replicas and len(ended) >= task.replicas:
        last = max(ended, key=lambda pod: (pod.since, pod.index))
        why = words.task_has_succeeded(JobEvent.TASK_COMPLETED, task.name)
        yield Happened(JobEvent.TASK_COMPLETED, last.since, why, last)
    alive = [pod for pod in pods if pod.phase in (PENDING, RUNNING)]
    restarts = sum(pod.restarts for pod in alive)
    if task.replicas and task.max_retry != _NO_LIMIT and restarts > task.max_retry:
        worst = max(alive, key=lambda pod: (pod.restarts, pod.since, pod.index))
        why = words.containers_have_restarted(JobEvent.TASK_FAILED, task.name, restarts)
        yield Happened(JobEvent.TASK_FAILED, worst.since, words.more_than_max_retry(why, task.max_retry), worst)
