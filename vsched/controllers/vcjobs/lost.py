"""The pods of a vcjob that have gone while nobody looked: between two processes, or two leaders.

The status says how many pods of each task there were when it was written, and how many of them had ended. Those that
were to go by then are not among them. So where fewer are there now, somebody else has deleted the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from vsched.controllers.vcjobs.counts import FAILED, SUCCEEDED
from vsched.controllers.vcjobs.naming import partition_of, pod_name
from vsched.controllers.vcjobs.spec import TaskSpec
from vsched.controllers.vcjobs.states import UNDER_WAY
from vsched.controllers.vcjobs.view import VcjobPod, VcjobView


def lost_pods(view: VcjobView, now: float) -> tuple[VcjobPod, ...]:
    """The pods that have gone: those that had ended, else as ones that somebody has deleted just now.

    Which ones of a task it were cannot be known if some had not been made yet: then the first ones are named. Where
    only some of those that are missing had ended, nobody knows which, and all count as deleted.
    """
    if view.job.refusals:
        return ()
    there: dict[str, Counter[str]] = {}
    for pod in view.pods.values():
        there.setdefault(pod.task, Counter())[pod.phase] += 1
    return tuple(pod for task in view.job.tasks for pod in _of_task(view, task, there.get(task.name, Counter()), now))


def _of_task(view: VcjobView, task: TaskSpec, there: Counter[str], now: float) -> Iterator[VcjobPod]:
    status = view.job.status
    counts = status.body.get("taskStatusCount", {}).get(task.name, {}).get("phase", {})
    lacking = min(sum(counts.values()), task.replicas) - there.total()
    if lacking <= 0:
        return
    ends = [phase for phase in (SUCCEEDED, FAILED) for _ in range(counts.get(phase, 0) - there[phase])]
    had_ended = len(ends) >= lacking
    if not had_ended and status.phase not in UNDER_WAY:
        return
    names = ((index, pod_name(view.job, task.name, index)) for index in range(task.replicas))
    missing = (each for each in names if each[1] not in view.pods)
    for (index, name), phase in zip(missing, ends if had_ended else ["Unknown"] * lacking, strict=False):
        yield VcjobPod(
            name=name,
            uid=f"{view.job.uid}/{name}",
            task=task.name,
            index=index,
            phase=phase,
            version=status.version,
            retries=status.retries,
            partition=partition_of(task, index),
            since=now,
        )
