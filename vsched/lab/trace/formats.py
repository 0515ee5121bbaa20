"""Which format the files of a trace are in, and reading them: one file of jobs, or one of nodes and one of jobs.

The header decides. Nodes and jobs may be in different formats.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

from vsched.errors import BadInput
from vsched.lab.trace import words
from vsched.lab.trace.files import TIMES, ClusterTrace, TraceNode, TracePod, read_nodes, read_pods
from vsched.lab.trace.fleet import MachineKind, nodes_for, nodes_of
from vsched.lab.trace.philly import read_jobs
from vsched.lab.trace.plain import read_plain_jobs, read_plain_nodes
from vsched.lab.trace.recorded import is_work, read_work
from vsched.lab.trace.rows import columns_of


class TraceFormat(StrEnum):
    """The format of a file of jobs or pods."""

    PLAIN = "plain"
    OPENB = "openb"
    PHILLY = "philly"
    WORK = "work"
    """What ``vsched record`` writes."""


OF_ONE = {TraceFormat.PLAIN: "arrival", TraceFormat.OPENB: "num_gpu", TraceFormat.PHILLY: "timestamp"}
"""A column that only this format has."""
OF_OPENB_NODES = frozenset({"sn", "cpu_milli", "memory_mib"})


def format_of(path: Path, given: TraceFormat | None = None) -> TraceFormat:
    """The format of a file of jobs, unless it is given; raises BadInput where the header does not decide."""
    if given is not None:
        return given
    if is_work(path):
        return TraceFormat.WORK
    columns = columns_of(path)
    found = [format for format, column in OF_ONE.items() if column in columns]
    match found:
        case [one]:
            return one
        case []:
            signs = ", ".join(f"{column} for {format}" for format, column in OF_ONE.items())
            raise BadInput(words.no_known_format(path, signs))
        case _:
            names = " and ".join(OF_ONE[one] for one in found)
            raise BadInput(words.different_formats(path, names))


def read_files(
    nodes: Path | None, jobs: Path, machines: Sequence[MachineKind] = (), given: TraceFormat | None = None
) -> ClusterTrace:
    """The trace in these files; without a file of nodes, on these machines or on as many as it needs.

    Raises BadInput with file and line of all errors.
    """
    if nodes is not None and machines:
        raise BadInput(words.not_with_nodes(nodes))
    format = format_of(jobs, given)
    if machines and format is TraceFormat.WORK:
        raise BadInput(words.no_machines_with_work(jobs))
    there = nodes_of(machines) if nodes is None else _nodes(nodes)
    match format:
        case TraceFormat.WORK:
            return read_work(jobs, there)
        case TraceFormat.PHILLY:
            return read_jobs(jobs, there)
        case TraceFormat.OPENB:
            pods, timed = read_pods(jobs)
            if not timed:
                raise BadInput(words.no_times(jobs, ", ".join(TIMES)))
            epoch = None
        case TraceFormat.PLAIN:
            pods, epoch = read_plain_jobs(jobs)
    if nodes is None:
        _check_models(jobs, pods)
    return ClusterTrace(there or nodes_for(pods), pods, epoch)


def _nodes(path: Path) -> tuple[TraceNode, ...]:
    return read_nodes(path) if OF_OPENB_NODES & {*columns_of(path)} else read_plain_nodes(path)


def _check_models(path: Path, pods: Sequence[TracePod]) -> None:
    """Refuse pods that ask for models of GPUs where no machine has one."""
    asking = next((pod for pod in pods if pod.models), None)
    if asking is not None:
        raise BadInput(words.no_models(path, asking.name, asking.models[0]))
