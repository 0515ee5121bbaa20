"""Traces in CSV files of our own: one of jobs, and one of nodes where the machines are known.

Jobs have a line each. Amounts are those of one pod, written as Kubernetes does: ``500m`` cores, ``16Gi`` of memory. The
page of the lab has a table of all columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from vsched.errors import BadInput
from vsched.lab.trace import words
from vsched.lab.trace.files import NODE_LETTERS, POD_LETTERS, WHOLE_GPU, TraceGang, TraceNode, TracePod
from vsched.lab.trace.rows import TraceRow, read_rows

JOB_COLUMNS = ("arrival", "duration")
"""Columns that jobs have to have."""
NODE_COLUMNS = ("name", "cpu", "memory")
"""Columns that nodes have to have."""
MOST_PODS, MOST_NODES, MOST_GPUS = 10_000, 100_000, 128
"""Pods of a job, equal nodes of a line, and GPUs of a pod or a node."""
MOST_PRIORITY = 1_000_000_000
"""The highest that Kubernetes lets users have."""
SUFFIX_LETTERS = 8
"""Of a pod's number in its job, a node's among its equals, and what restarted pods get."""


@dataclass(frozen=True, slots=True)
class _PlainJob:
    name: str
    arrival: int
    """Seconds since the epoch for dates, else since the beginning of the trace."""
    dated: bool
    line: int
    pods: tuple[TracePod, ...]


def read_plain_jobs(path: Path) -> tuple[tuple[TracePod, ...], int | None]:
    """The pods of a file, in the order in which they come, and second 0 of it where its jobs have dates.

    Raises BadInput with file and line of all errors.
    """
    jobs = read_rows(path, JOB_COLUMNS, _job, lambda job: job.name)
    odd = next((job for job in jobs if job.dated != jobs[0].dated), None)
    if odd is not None:
        kinds = ("seconds", "a date")
        raise BadInput(words.mixed_arrivals(path, odd.line, kinds[odd.dated], jobs[0].line, kinds[not odd.dated]))
    epoch = min(job.arrival for job in jobs) if jobs[0].dated else None
    pods = [pod if epoch is None else _since(epoch, pod) for job in jobs for pod in job.pods]
    _check_names(path, (pod.name for pod in pods))
    return tuple(sorted(pods, key=lambda pod: (pod.created, pod.name))), epoch


def read_plain_nodes(path: Path) -> tuple[TraceNode, ...]:
    """The nodes of a file; raises BadInput with file and line of all errors."""
    found = [node for nodes in read_rows(path, NODE_COLUMNS, _nodes, lambda nodes: nodes[0].name) for node in nodes]
    _check_names(path, (node.name for node in found))
    return tuple(found)


def _check_names(path: Path, names: Iterable[str]) -> None:
    """Refuse names that become the same with numbers behind them: job a with two pods, and a job a-0."""
    seen = set[str]()
    for name in names:
        if name in seen:
            raise BadInput(words.same_names(path, name))
        seen.add(name)


def _since(epoch: int, pod: TracePod) -> TracePod:
    return replace(pod, created=pod.created - epoch)


def _job(row: TraceRow) -> _PlainJob:
    name = row.name("name", POD_LETTERS - SUFFIX_LETTERS) if row.text("name") else f"job-{row.line - 1:06}"
    arrival, dated = _arrival(row)
    count = row.number("pods", MOST_PODS, least=1) if row.text("pods") else 1
    least = row.number("min_pods", MOST_PODS, least=1) if row.text("min_pods") else count
    if least not in (1, count):
        raise BadInput(words.not_all_together(least, count))
    pod = _pod(row, name, arrival)
    if count == 1:
        return _PlainJob(name, arrival, dated, row.line, (pod,))
    gang = None
    if least > 1:
        gang = TraceGang(name, count, count * pod.gpus, pod.gpu_milli, count * pod.cpu_milli, count * pod.memory_mib)
    pods = [replace(pod, name=f"{name}-{number}", gang=gang, member=number if gang else 0) for number in range(count)]
    return _PlainJob(name, arrival, dated, row.line, tuple(pods))


def _pod(row: TraceRow, name: str, arrival: int) -> TracePod:
    gpus = row.number("gpus", MOST_GPUS) if row.text("gpus") else 0
    models = tuple(row.label("gpu_model", model) for model in row.text("gpu_model").split("|") if model)
    part = row.thousandths("gpu_part") if row.text("gpu_part") else WHOLE_GPU
    if not gpus and (models or part != WHOLE_GPU):
        column = "gpu_model" if models else "gpu_part"
        raise BadInput(words.value_without_gpus(column, row.text(column)))
    return TracePod(
        name=name,
        cpu_milli=row.quantity("cpu", 1000),
        memory_mib=row.mebibytes("memory"),
        gpus=gpus,
        gpu_milli=part if gpus else 0,
        models=models,
        qos="",
        created=arrival,
        run_seconds=row.number("duration"),
        queue=row.queue("queue") if row.text("queue") else "",
        declared_seconds=row.number("declared", least=1) if row.text("declared") else 0,
        user=row.part("user", "a namespace's name") if row.text("user") else "",
        priority=row.number("priority", MOST_PRIORITY) if row.text("priority") else 0,
    )


def _arrival(row: TraceRow) -> tuple[int, bool]:
    """When a job comes, and whether the file says it as a date."""
    found = row.text("arrival")
    if "-" in found[1:] or ":" in found:
        return row.moment("arrival"), True
    try:
        return row.number("arrival"), False
    except BadInput:
        raise BadInput(words.no_arrival(found[:40])) from None


def _nodes(row: TraceRow) -> Sequence[TraceNode]:
    name = row.name("name", NODE_LETTERS - SUFFIX_LETTERS)
    count = row.number("count", MOST_NODES, least=1) if row.text("count") else 1
    gpus = row.number("gpus", MOST_GPUS) if row.text("gpus") else 0
    model = row.text("gpu_model")
    if model and not gpus:
        raise BadInput(words.model_without_gpus(model))
    node = TraceNode(
        name=name,
        cpu_milli=row.quantity("cpu", 1000, least=1),
        memory_mib=row.mebibytes("memory", least=1),
        gpus=gpus,
        model=row.label("gpu_model", model) if model else "",
    )
    return [node] if count == 1 else [replace(node, name=f"{name}-{number}") for number in range(count)]
