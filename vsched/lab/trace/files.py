"""Traces of clusters: what is in one, and how it is read from two CSV files in the format of OpenB.

OpenB is the production cluster of Alibaba's cluster-trace-gpu-v2023 (https://github.com/alibaba/clusterdata). Times are
seconds since the beginning of the trace. ``gpu_milli`` is what a pod requests of each of its GPUs, 1000 for a whole
one. Some of its lists of pods say neither when pods came nor how long they ran: what they ask for can be placed, but
they cannot be replayed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from vsched.errors import BadInput
from vsched.lab.trace import words
from vsched.lab.trace.rows import TraceRow, columns_of, read_rows
from vsched.record.lines import QueueThere

WHOLE_GPU = 1000
"""Thousandths in a whole GPU."""
NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu")
POD_COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
TIMES = ("creation_time", "deletion_time")
"""Columns of pods that a list has both of, or neither."""
NODE_LETTERS, POD_LETTERS = 63, 240
"""The longest names: a node's is also a label, and restarted pods get a suffix."""


NodeLabels = tuple[tuple[str, str], ...]
"""Labels with their values, in their order."""


@dataclass(frozen=True, slots=True)
class TraceNode:
    """A machine of the trace."""

    name: str
    cpu_milli: int
    memory_mib: int
    gpus: int = 0
    model: str = ""
    """The model of its GPUs, one for all of them."""
    labels: NodeLabels = ()
    """More of its labels, where the trace says them."""


@dataclass(frozen=True, slots=True)
class TraceGang:
    """A job of several pods that start together."""

    name: str
    pods: int
    gpus: int
    """Of all its pods together, as the amounts below."""
    gpu_milli: int = WHOLE_GPU
    """Thousandths of each GPU."""
    cpu_milli: int = 0
    memory_mib: int = 0


@dataclass(frozen=True, slots=True)
class TracePod:
    """A pod of the trace."""

    name: str
    cpu_milli: int
    memory_mib: int
    gpus: int
    gpu_milli: int
    """Thousandths of each of its GPUs."""
    models: tuple[str, ...]
    """Accepted models of GPUs; empty for all."""
    qos: str
    created: int
    """Seconds since the beginning of the trace."""
    run_seconds: int
    """How long it runs once it is bound; a gang's pods, once all of them are."""
    queue: str = ""
    """Its queue, where the trace names one."""
    gang: TraceGang | None = None
    """Its job, where that has several pods."""
    member: int = 0
    """Its number in the gang."""
    declared_seconds: int = 0
    """How long it says that it will run; 0 where it does not say."""
    user: str = ""
    """Its user, where the trace names one, in whose namespace it is."""
    priority: int = 0
    selector: NodeLabels = ()
    """The labels that its node has to have."""

    @property
    def gpu_amount(self) -> int:
        """Thousandths of all its GPUs together."""
        return self.gpus * self.gpu_milli

    @property
    def takes_whole_gpus(self) -> bool:
        """Whether it shares its GPUs with no other pod."""
        return self.gpus > 0 and self.gpu_milli == WHOLE_GPU

    @property
    def is_first_of_job(self) -> bool:
        """Whether its job is counted by it: a pod of its own, or the first one of a gang."""
        return self.member == 0


@dataclass(frozen=True, slots=True)
class RealRun:
    """One run of a pod in the cluster that the trace is of; times are seconds since the trace began."""

    start: float
    """When it had its node."""
    end: float | None
    """None where it had not ended when the trace did."""
    node: str = ""


@dataclass(frozen=True, slots=True)
class ClusterTrace:
    """A cluster and its pods, in the order of their creation; without times, in that of the file."""

    nodes: tuple[TraceNode, ...]
    pods: tuple[TracePod, ...]
    epoch: int | None = None
    """Second 0 in seconds since the epoch, where the trace has dates."""
    timed: bool = True
    """Whether the trace says when pods come and how long they run; otherwise both are 0."""
    really: Mapping[str, Sequence[RealRun]] = field(default_factory=dict)
    """The runs of pods, by name, where the trace says them: all but the last were cut short. Pods that never had a node
    are not in it."""
    queues: Mapping[str, QueueThere] = field(default_factory=dict)
    """Its queues by name, where the trace says what they are."""
    notes: tuple[str, ...] = ()
    """What a replay of it has to take as nobody knows it, and what it leaves out."""

    @property
    def jobs(self) -> int:
        """Pods of their own, and gangs."""
        return sum(pod.is_first_of_job for pod in self.pods)

    @property
    def shares_gpus(self) -> bool:
        """Whether pods ask for parts of GPUs."""
        return any(pod.gpus and not pod.takes_whole_gpus for pod in self.pods)


def read_trace(nodes: Path, pods: Path) -> ClusterTrace:
    """The trace in two files, ``.csv`` or ``.csv.gz``; raises BadInput with file and line of all errors."""
    found, timed = read_pods(pods)
    return ClusterTrace(read_nodes(nodes), found, timed=timed)


def read_nodes(path: Path) -> tuple[TraceNode, ...]:
    """The nodes in a file; raises BadInput."""
    return tuple(read_rows(path, NODE_COLUMNS, _node, lambda node: node.name))


def read_pods(path: Path) -> tuple[tuple[TracePod, ...], bool]:
    """The pods in a file, and whether it says when they come and how long they run; raises BadInput."""
    timed = any(column in TIMES for column in columns_of(path))
    found = read_rows(path, POD_COLUMNS + TIMES if timed else POD_COLUMNS, _pod, lambda pod: pod.name)
    if timed:
        found.sort(key=lambda pod: (pod.created, pod.name))
    return tuple(found), timed


def read_asking(nodes: Path, pods: Path) -> ClusterTrace:
    """The same without times, in the order of the file; models of GPUs that pods name have to be those of nodes."""
    found = read_nodes(nodes)
    models = {node.model for node in found if node.model}

    def pod_of(row: TraceRow) -> TracePod:
        pod = _asking(row)
        unknown = [model for model in pod.models if model not in models]
        if unknown:
            known = ", ".join(sorted(models)) or "none"
            raise BadInput(words.no_node_has(unknown[0], known))
        return pod

    asking = read_rows(pods, POD_COLUMNS, pod_of, lambda pod: pod.name)
    return ClusterTrace(found, tuple(asking), timed=False)


def _node(row: TraceRow) -> TraceNode:
    gpus = row.number("gpu", 128)
    model = row.text("model")
    return TraceNode(
        name=row.name("sn", NODE_LETTERS),
        cpu_milli=row.number("cpu_milli", least=1),
        memory_mib=row.number("memory_mib", least=1),
        gpus=gpus,
        model=row.label("model", model) if model and gpus else "",
    )


def _pod(row: TraceRow) -> TracePod:
    pod = _asking(row)
    if not row.has(TIMES[0]):
        return pod
    created, runs = _times(row)
    return replace(pod, created=created, run_seconds=runs)


def _asking(row: TraceRow) -> TracePod:
    """A pod without times."""
    gpus = row.number("num_gpu", 128)
    milli = row.number("gpu_milli", WHOLE_GPU) if gpus else 0
    if gpus and not milli:
        raise BadInput(f"gpu_milli: 0 of {gpus} GPUs (expected 1 to {WHOLE_GPU})")
    qos = row.text("qos")
    return TracePod(
        name=row.name("name", POD_LETTERS),
        cpu_milli=row.number("cpu_milli"),
        memory_mib=row.number("memory_mib"),
        gpus=gpus,
        gpu_milli=milli,
        models=tuple(row.label("gpu_spec", model) for model in row.text("gpu_spec").split("|") if model),
        qos=row.service("qos", qos) if qos else "",
        created=0,
        run_seconds=0,
    )


def _times(row: TraceRow) -> tuple[int, int]:
    """When a pod came, and how long it ran."""
    created, deleted = row.number("creation_time"), row.number("deletion_time")
    began = row.number("scheduled_time") if row.text("scheduled_time") else created
    if began < created:
        raise BadInput(words.scheduled_before(began, created))
    if deleted < began:
        raise BadInput(words.deleted_before(deleted, began))
    return created, deleted - began
