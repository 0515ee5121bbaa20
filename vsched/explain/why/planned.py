"""Notes on what is to come for a job: planned starts, and nodes that are asked for."""

from __future__ import annotations

from collections.abc import Iterator

from vsched.explain.why import words
from vsched.framework.codes import NoStart
from vsched.framework.reports.verdicts import asked_for
from vsched.framework.words.jobs import NO_HELP
from vsched.framework.words.lists import listed_jobs
from vsched.model.jobs.job import Job
from vsched.model.jobs.provisioning import GIVEN_UP
from vsched.model.plan import PROVISIONING, CycleReport, JobOutcome
from vsched.model.snapshot import Snapshot


def goes_before(snapshot: Snapshot, report: CycleReport, key: str) -> Iterator[str]:
    """Notes on a job: which jobs go before it on the nodes that are kept for it, or which job it goes before."""
    for other, outcome in report.jobs.items():
        planned = outcome.planned
        if planned is None:
            continue
        if other == key and planned.ahead:
            others = listed_jobs([*map(snapshot.called, planned.ahead)])
            yield words.others_until_its_start(others)
        if key in planned.ahead:
            yield words.goes_before(snapshot.called(other))


def why_no_start(outcome: JobOutcome | None) -> str:
    """A note on a job without room that says why no start is planned for it; empty where that is no question."""
    if outcome is None or not outcome.unplanned:
        return ""
    return words.not_planned(NoStart(outcome.unplanned))


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
