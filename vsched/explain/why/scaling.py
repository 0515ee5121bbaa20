"""What is told of nodes that are asked for, or not, for a job that waits."""

from __future__ import annotations

from vsched.explain.why import words
from vsched.framework.reports.verdicts import asked_for
from vsched.framework.words.jobs import NO_HELP
from vsched.model.jobs.job import Job
from vsched.model.jobs.provisioning import GIVEN_UP
from vsched.model.plan import PROVISIONING, CycleReport
from vsched.model.snapshot import Snapshot


def note_of_nodes(snapshot: Snapshot, report: CycleReport, job: Job) -> str:
    """What became of its ProvisioningRequest, or why no nodes are asked for that it lacks; empty for neither."""
    for task in sorted(job.pending.values(), key=lambda task: (task.created, task.name)):
        verdict = report.unschedulable.get(task.key)
        if verdict is None:
            continue
        if verdict.reason == PROVISIONING:
            return asked_for(snapshot, job.key)
        if NO_HELP in verdict.message:
            return words.no_nodes_requested(verdict.message.partition(NO_HELP)[2])
    return ""


def nodes_may_come(snapshot: Snapshot, key: str) -> bool:
    """Whether nodes are on their way for a job, or will be asked for again."""
    found = None if snapshot.provisioning is None else snapshot.provisioning.get(key)
    return found is not None and found.state != GIVEN_UP
