"""Notes about pods that were asked to end by themselves, for their jobs and for the jobs that wait for them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from vsched.explain.words import reasons
from vsched.framework.times import clock, length
from vsched.framework.words.victims import said_by_responder
from vsched.model.pods.cooperation import EvictionRequest
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot, asked_jobs

NAMED_MAX = 5
"""How many pods the notes about one job name."""


def notes_of_requests(snapshot: Snapshot, key: str) -> Iterator[str]:
    """The first few requests that concern a job."""
    found = (
        (task, task.asked)
        for job, tasks in asked_jobs(snapshot)
        for task in tasks
        if task.asked is not None and key in (job.key, task.asked.beneficiary)
    )
    return (_told(snapshot, task, request) for task, request in islice(found, NAMED_MAX))


def _told(snapshot: Snapshot, task: Task, request: EvictionRequest) -> str:
    beneficiary = snapshot.called(request.beneficiary) if request.beneficiary else ""
    now = snapshot.now
    expected = f"done at {_moment(request.expects, now)}" if request.expects else reasons.NO_ANSWER_YET
    expected += said_by_responder(request)
    deadline = _moment(request.deadline, now)
    return reasons.asked_to_end(task.key, beneficiary, expected, deadline)


def _moment(moment: float, now: float) -> str:
    """``14:05:30 UTC (in 40s)``."""
    left = f"in {length(moment - now)}" if moment - now >= 1.0 else "due"
    return f"{clock(moment, now, seconds=True)} UTC ({left})"
