"""The pods of a vcjob that have gone while nobody looked: between two processes, or two leaders.

The status says how many pods of each task there were when it was written. Those that were to go by then are not among
them. So where fewer are there now, somebody else has deleted the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice

from vsched.controllers.vcjobs.naming import partition_of, pod_name
from vsched.controllers.vcjobs.spec import TaskSpec
from vsched.controllers.vcjobs.states import UNDER_WAY
from vsched.controllers.vcjobs.view import JobView, PodState


def lost_pods(view: JobView, now: float) -> tuple[PodState, ...]:
    """The pods that have gone, as ones that somebody has deleted just now.

    Which ones of a task it were cannot be known if some had not been made yet: then the first ones are named.
    """
    if view.job.status.phase not in UNDER_WAY or view.job.refusals:
        return ()
    there = Counter(pod.task for pod in view.pods.values())
    return tuple(pod for task in view.job.tasks for pod in _of_task(view, task, there[task.name], now))


def _of_task(view: JobView, task: TaskSpec, there: int, now: float) -> Iterator[PodState]:
    status = view.job.status
    counts = status.body.get("taskStatusCount", {}).get(task.name, {}).get("phase", {})
    lacking = min(sum(counts.values()), task.replicas) - there
    if lacking <= 0:
        return
    names = ((index, pod_name(view.job, task.name, index)) for index in range(task.replicas))
    for index, name in islice((each for each in names if each[1] not in view.pods), lacking):
        yield PodState(
            name=name,
            uid=f"{view.job.uid}/{name}",
            task=task.name,
            index=index,
            phase="Unknown",
            version=status.version,
            retries=status.retries,
            partition=partition_of(task, index),
            since=now,
        )
