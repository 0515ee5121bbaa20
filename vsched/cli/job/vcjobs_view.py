"""Volcano's Jobs (vcjobs) as JSON and as tables for people. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from vsched.cli.job.view import Document, age
from vsched.cli.show.amounts import facts
from vsched.cli.show.columns import TableColumn, columned, entries, row_table_of
from vsched.cli.show.drawing import Look
from vsched.controllers.vcjobs.spec import JobPhase, TaskSpec, VcJob
from vsched.kube.times import time_stamp

COUNTS = ("pending", "running", "succeeded", "failed", "terminating", "unknown")
NOT_IN_TABLES = frozenset({"terminating", "unknown"})
STYLES = {
    JobPhase.RUNNING: "green",
    JobPhase.COMPLETED: "dim",
    JobPhase.FAILED: "red",
    JobPhase.ABORTED: "yellow",
    JobPhase.PENDING: "yellow",
}


def columns(now: float = 0.0) -> list[TableColumn[VcJob]]:
    """What is shown of each vcjob, in the order of tables and of documents."""
    return [
        TableColumn("job", lambda job: job.key, key="job", gives=True),
        TableColumn("queue", lambda job: job.queue, key="queue", gives=True),
        TableColumn("phase", lambda job: job.status.phase.value, lambda job, _: _phase(job), "phase"),
        TableColumn(key="reason", value=lambda job: job.status.reason),
        TableColumn(key="message", value=lambda job: job.status.message),
        TableColumn("min", lambda job: job.min_available, key="minAvailable", number=True),
        *(_pod_count(name, shown=name not in NOT_IN_TABLES) for name in COUNTS),
        TableColumn("retries", lambda job: job.status.retries, key="retries"),
        TableColumn(key="maxRetry", value=lambda job: job.max_retry),
        TableColumn("age", _created, lambda job, _: age(job.created or None, now), "created", number=True),
        TableColumn(key="podGroup", value=lambda job: job.podgroup),
        TableColumn(key="tasks", value=lambda job: [_task(job, task) for task in job.tasks]),
    ]


def as_document(job: VcJob) -> Document:
    """A vcjob for programs."""
    return entries(columns(), job)


def _pod_count(name: str, *, shown: bool) -> TableColumn[VcJob]:
    return TableColumn(name if shown else "", lambda job: _count(job, name), key=name, number=True)


def _created(job: VcJob) -> str | None:
    return time_stamp(job.created) if job.created else None


def _task(job: VcJob, task: TaskSpec) -> Document:
    return {
        "name": task.name,
        "replicas": task.replicas,
        "minAvailable": task.min_available,
        "pods": dict(_pods(job, task)),
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
    return row_table_of(columns(now), jobs, look) if jobs else Text("no vcjobs")


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
    tasks = columned(["task", "replicas", "min", "pods"], numbers={"min", "pods"})
    for task in job.tasks:
        pods = ", ".join(f"{count} {phase}" for phase, count in sorted(_pods(job, task).items()))
        tasks.add_row(Text(task.name), str(task.replicas), str(task.min_available), Text(pods or "-"))
    why = ": ".join(filter(None, (status.reason, status.message)))
    return Group(facts(rows), *((Text(), Text(why)) if why else ()), Text(), tasks)
