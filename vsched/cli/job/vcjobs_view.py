"""Volcano's Jobs (vcjobs) as JSON and as tables for people. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from vsched.cli.job.view import Document, age
from vsched.cli.show.amounts import facts
from vsched.cli.show.columns import RowTable, columned, named
from vsched.cli.show.drawing import Look
from vsched.controllers.vcjobs.spec import JobPhase, TaskSpec, VcJob
from vsched.kube.times import time_stamp

HEADINGS = ("job", "queue", "phase", "min", "pending", "running", "succeeded", "failed", "retries", "age")
COUNTS = ("pending", "running", "succeeded", "failed", "terminating", "unknown")
STYLES = {
    JobPhase.RUNNING: "green",
    JobPhase.COMPLETED: "dim",
    JobPhase.FAILED: "red",
    JobPhase.ABORTED: "yellow",
    JobPhase.PENDING: "yellow",
}


def as_document(job: VcJob) -> Document:
    """A vcjob for programs."""
    status = job.status
    return {
        "job": job.key,
        "queue": job.queue,
        "phase": status.phase.value,
        "reason": status.reason,
        "message": status.message,
        "minAvailable": job.min_available,
        **{name: _count(job, name) for name in COUNTS},
        "retries": status.retries,
        "maxRetry": job.max_retry,
        "created": time_stamp(job.created) if job.created else None,
        "podGroup": job.podgroup,
        "tasks": [
            {
                "name": task.name,
                "replicas": task.replicas,
                "minAvailable": task.min_available,
                "pods": dict(_pods(job, task)),
            }
            for task in job.tasks
        ],
    }


def _count(job: VcJob, name: str) -> int:
    found = job.status.body.get(name, 0)
    return found if isinstance(found, int) else 0


def _pods(job: VcJob, task: TaskSpec) -> Mapping[str, Any]:
    """The pods of a task, counted by phase."""
    counted = (job.status.body.get("taskStatusCount") or {}).get(task.name)
    phases = counted.get("phase") if isinstance(counted, dict) else None
    return phases if isinstance(phases, dict) else {}


def as_table(jobs: Sequence[VcJob], look: Look, now: float) -> RenderableType:
    """A line a vcjob."""
    if not jobs:
        return Text("no vcjobs")
    rows: list[list[str | Text]] = [
        [
            named(job.key, unicode=look.unicode),
            named(job.queue, unicode=look.unicode),
            _phase(job),
            str(job.min_available),
            *(str(_count(job, name)) for name in ("pending", "running", "succeeded", "failed")),
            str(job.status.retries),
            age(job.created or None, now),
        ]
        for job in jobs
    ]
    return RowTable(HEADINGS, rows, look.unicode)


def _phase(job: VcJob) -> Text:
    return Text(job.status.phase or "-", style=STYLES.get(job.status.phase, ""))


def as_page(job: VcJob, now: float) -> RenderableType:
    """Everything about one vcjob."""
    status = job.status
    counts = ", ".join(f"{count} {name}" for name in COUNTS if (count := _count(job, name)))
    rows: list[tuple[str, RenderableType]] = [
        ("vcjob", Text(job.key, style="bold")),
        ("queue", Text(job.queue)),
        ("phase", _phase(job)),
        ("min", str(job.min_available)),
        ("pods", counts or "-"),
        ("retries", f"{status.retries} of {job.max_retry}"),
        ("age", age(job.created or None, now)),
    ]
    tasks = columned(["task", "replicas", "min", "pods"])
    for task in job.tasks:
        pods = ", ".join(f"{count} {phase}" for phase, count in sorted(_pods(job, task).items()))
        tasks.add_row(Text(task.name), str(task.replicas), str(task.min_available), Text(pods or "-"))
    why = ": ".join(filter(None, (status.reason, status.message)))
    return Group(facts(rows), *((Text(), Text(why)) if why else ()), Text(), tasks)
