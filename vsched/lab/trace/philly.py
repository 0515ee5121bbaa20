"""Traces of jobs: one CSV file in the format of Philly, a GPU cluster of Microsoft.

Philly is described by M. Jeon et al., "Analysis of Large-Scale Multi-Tenant GPU Clusters for DNN Training Workloads"
(USENIX ATC 2019). A line is a job: when it was submitted, how long it ran, how many GPUs it had and in which virtual
cluster, which is a queue here. The file names no machines, so the reader chooses them.

A job with more GPUs than a machine has is a gang: pods that each fill a machine, and one for the rest. Jobs ask for
GPUs alone, as the file says nothing else of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vsched.errors import BadInput
from vsched.lab.trace import words
from vsched.lab.trace.files import WHOLE_GPU, ClusterTrace, TraceGang, TraceNode, TracePod
from vsched.lab.trace.fleet import GPUS_OF_A_MACHINE, MachineKind, nodes_of
from vsched.lab.trace.measures import peak
from vsched.lab.trace.rows import TraceRow, read_rows

JOB_COLUMNS = ("timestamp", "duration", "num_gpus", "cluster")
MOST_GPUS = 100_000


@dataclass(frozen=True, slots=True)
class _TraceJob:
    name: str
    submitted: int
    """Seconds since the epoch."""
    run_seconds: int
    gpus: int
    queue: str


def read_jobs(path: Path, nodes: Sequence[TraceNode] = ()) -> ClusterTrace:
    """The trace in a file, ``.csv`` or ``.csv.gz``, on these nodes; raises BadInput with file and line of errors.

    Where none are given there are machines of 8 GPUs for all jobs of the file, had each started when it was submitted.
    """
    jobs = read_rows(path, JOB_COLUMNS, _job, lambda job: job.name)
    nodes = nodes or nodes_of([MachineKind(-(-peak_of(jobs) // GPUS_OF_A_MACHINE), GPUS_OF_A_MACHINE)])
    epoch = min(job.submitted for job in jobs)
    largest = max(node.gpus for node in nodes)
    if not largest:
        raise BadInput(words.no_gpus(path))
    pods = [pod for job in jobs for pod in _pods(job, largest, epoch)]
    return ClusterTrace(tuple(nodes), tuple(sorted(pods, key=lambda pod: (pod.created, pod.name))), epoch)


def peak_of(jobs: Sequence[_TraceJob]) -> int:
    """The most GPUs held at a time, had each job started when it was submitted."""
    began = np.array([job.submitted for job in jobs], float)
    ended = began + np.array([job.run_seconds for job in jobs], float)
    return int(peak(began, ended, np.array([job.gpus for job in jobs], float)))


def _job(row: TraceRow) -> _TraceJob:
    return _TraceJob(
        name=f"job-{row.line - 1:06}",
        submitted=row.moment("timestamp"),
        run_seconds=row.number("duration"),
        gpus=row.number("num_gpus", MOST_GPUS, least=1),
        queue=row.queue("cluster"),
    )


def _pods(job: _TraceJob, largest: int, epoch: int) -> list[TracePod]:
    """The pods of a job: one, or a gang of pods that fill the largest machines."""
    created = job.submitted - epoch

    def pod(name: str, gpus: int, gang: TraceGang | None = None, member: int = 0) -> TracePod:
        return TracePod(
            name, 0, 0, gpus, WHOLE_GPU, (), "", created, job.run_seconds, queue=job.queue, gang=gang, member=member
        )

    if job.gpus <= largest:
        return [pod(job.name, job.gpus)]
    whole, rest = divmod(job.gpus, largest)
    sizes = [largest] * whole + [rest] * (rest > 0)
    gang = TraceGang(job.name, len(sizes), job.gpus)
    return [pod(f"{job.name}-{member}", gpus, gang, member) for member, gpus in enumerate(sizes)]
