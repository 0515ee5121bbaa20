"""Work traces of ``vsched record`` as traces to replay, and what really became of their pods.

A replay needs less than was recorded, and some things that nobody can know. Both are counted, and told with the result:
a pod that still runs at the end runs for as long as it did; one that never ran takes as long as its like usually do.
Nodes are those that were there for most of the time, less what pods that belong to nodes take of them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from pathlib import Path
from statistics import median

from vsched.errors import BadInput
from vsched.lab.trace import words
from vsched.lab.trace.files import (
    POD_LETTERS,
    WHOLE_GPU,
    ClusterTrace,
    NodeLabels,
    RealRun,
    TraceGang,
    TraceNode,
    TracePod,
)
from vsched.model.amounts.durations import short_duration
from vsched.record.folder import read_lines
from vsched.record.history import History, RecordedJob, RecordedNode, RecordedPod, read_together
from vsched.record.lines import DELETED, FAILED, SUCCEEDED, UNSEEN, Began, Requests

GPUS = ("nvidia.com/gpu", "amd.com/gpu")
"""Resources that count as GPUs in a replay."""
MODELS = ("nvidia.com/gpu.product", "cloud.google.com/gke-accelerator", "vsched.io/gpu-model")
REPLAYED = frozenset({"cpu", "memory", "pods", "ephemeral-storage", *GPUS})
"""Resources that a replay knows, and one that hardly ever decides."""
MOST_OF_THE_TIME = 0.5
USUAL_SECONDS = 600
"""How long a pod of which nothing is known runs, where no pod of the trace ended."""
MIB = 1 << 20
ID_LETTERS, NAME_LETTERS = 6, 180
TIMES_ROUNDED = 1.0
"""Times of objects are whole seconds, those of what was seen are not."""

_Replayed = tuple[TracePod, tuple[RealRun, ...]]
"""A pod for a replay, and what became of it in the cluster: all runs but the last were cut short."""


@dataclass(slots=True)
class LeftOpen:
    """What a replay of a work trace takes as it cannot know it, in pods; and what it leaves out."""

    still_ran: int = 0
    """They had not ended when the trace did."""
    never_ran: int = 0
    replaced: int = 0
    """They were deleted while they ran, and came again: their work counts once."""
    ruled: int = 0
    """Rules about their nodes, volumes or devices are left out."""
    partly: int = 0
    """Jobs of which a part may start: the rest are pods of their own."""
    nodes: int = 0
    """Nodes that were there for a part of the time, and are left out."""
    resources: set[str] = field(default_factory=set)
    """Those that no replay knows."""
    gap_seconds: float = 0.0

    def notes(self) -> tuple[str, ...]:
        """What there is to say of it, a sentence each."""
        pods = (
            (self.still_ran, words.still_ran),
            (self.never_ran, words.never_ran),
            (self.replaced, words.replaced),
            (self.ruled, words.ruled),
            (self.partly, words.partly),
            (self.nodes, words.nodes_for_a_part),
        )
        found = [says(count) for count, says in pods if count]
        if self.resources:
            found.append(words.resources_left_out(", ".join(sorted(self.resources))))
        if self.gap_seconds:
            found.append(words.not_seen_for(short_duration(self.gap_seconds)))
        return tuple(found)


def is_work(path: Path) -> bool:
    """Whether this is a file or a folder of ``vsched record``, by its first line."""
    if path.is_dir():
        return True
    try:
        return isinstance(next(read_lines(path)), Began)
    except BadInput:
        return False


def read_work(path: Path, nodes: Sequence[TraceNode] = ()) -> ClusterTrace:
    """The trace in a file or folder of ``vsched record``, on its nodes or on these; raises BadInput."""
    return work_of(path, History(read_together([path])), nodes)


def work_of(path: Path, history: History, nodes: Sequence[TraceNode] = ()) -> ClusterTrace:
    """The same of what was read from it."""
    open_ = LeftOpen(gap_seconds=sum(gap.end - gap.begin for gap in history.gaps))
    epoch = int(history.begin)
    usual = _UsualRuns(history)
    there = tuple(nodes) or _nodes_of(history, open_)
    reach = _Reach(there)
    found: list[_Replayed] = []
    for job in history.jobs.values():
        found += _pods_of(job, history, usual, open_, reach)
    if not found:
        raise BadInput(words.no_work(path))
    found.sort(key=lambda each: (each[0].created, each[0].name))
    if not there:
        raise BadInput(words.no_nodes(path))
    really = {} if nodes else {pod.name: runs for pod, runs in found if runs}
    return ClusterTrace(
        there, tuple(pod for pod, _ in found), epoch, really=really, queues=history.queues, notes=open_.notes()
    )


# -- pods


class _UsualRuns:
    """How long pods usually run: those of a queue and namespace, else all."""

    def __init__(self, history: History) -> None:
        runs: dict[tuple[str, str], list[float]] = defaultdict(list)
        for job in history.jobs.values():
            runs[_where(job)] += [
                pod.ended - pod.placed for pod in job.pods if pod.placed and pod.how in (SUCCEEDED, FAILED)
            ]
        self._of = {where: median(found) for where, found in runs.items() if found}
        together = [seconds for found in runs.values() for seconds in found]
        self._all = median(together) if together else USUAL_SECONDS

    def of(self, job: RecordedJob) -> float:
        """Of a pod of this job."""
        return self._of.get(_where(job), self._all)


def _where(job: RecordedJob) -> tuple[str, str]:
    return job.seen.queue, job.seen.namespace


class _Reach:
    """Which selectors some node of a replay matches. Few differ, so each is looked at once."""

    def __init__(self, nodes: Sequence[TraceNode]) -> None:
        self._offered = {node.labels for node in nodes}
        self._known: dict[NodeLabels, bool] = {}

    def matches(self, selector: NodeLabels) -> bool:
        """Whether a node has all of these labels."""
        if selector not in self._known:
            self._known[selector] = any({*selector} <= {*labels} for labels in self._offered)
        return self._known[selector]


def _pods_of(job: RecordedJob, history: History, usual: _UsualRuns, open_: LeftOpen, reach: _Reach) -> list[_Replayed]:
    tries = _tries([pod for pod in job.pods if not pod.seen.returns])
    if not tries:
        return []
    open_.replaced += sum(len(each) - 1 for each in tries)
    least = job.seen.min_member
    together = [each[-1] for each in tries[:least]] if 1 < least <= len(tries) else []
    open_.partly += bool(together) and len(together) < len(tries)
    gang = _gang(job, together) if together else None
    began = max(pod.placed for pod in together) if together and all(pod.placed for pod in together) else 0.0
    maker = _PodMaker(job, history, usual, open_, reach, gang, began)
    return [maker.pod(each, number, in_gang=number < len(together)) for number, each in enumerate(tries)]


def _tries(pods: Sequence[RecordedPod]) -> list[list[RecordedPod]]:
    """The pods of a job, each with those that came in place of it after it was deleted while it ran.

    In the order in which the first of each came: the last one did the work.
    """
    found: list[list[RecordedPod]] = []
    cut_short: dict[str, list[tuple[float, int]]] = defaultdict(list)
    """By role: when tries ended that were cut short, and their place in what was found."""
    for pod in sorted(pods, key=lambda pod: (pod.came, pod.seen.id)):
        ended = cut_short[pod.seen.role]
        if ended and ended[0][0] < pod.came + TIMES_ROUNDED:
            _, place = heappop(ended)
            found[place].append(pod)
        else:
            place = len(found)
            found.append([pod])
        if pod.how == DELETED and pod.placed:
            heappush(ended, (pod.ended, place))
    return found


def _gang(job: RecordedJob, pods: Sequence[RecordedPod]) -> TraceGang:
    amounts = [_amounts(pod.seen.asks) for pod in pods]
    cpu, memory, gpus = (sum(column) for column in zip(*amounts, strict=True))
    return TraceGang(_name(job.seen.name, job.seen.id), len(pods), gpus, WHOLE_GPU, cpu, memory)


@dataclass(frozen=True, slots=True)
class _PodMaker:
    """Makes the pods of one job for a replay."""

    job: RecordedJob
    history: History
    usual: _UsualRuns
    open_: LeftOpen
    reach: _Reach
    gang: TraceGang | None
    began: float
    """When all of its gang had nodes; 0 where they never had."""

    def pod(self, tries: Sequence[RecordedPod], number: int, *, in_gang: bool) -> _Replayed:
        """The pod of these tries, and what became of each of them."""
        job, first, last, epoch = self.job.seen, tries[0], tries[-1], int(self.history.begin)
        cpu, memory, gpus = _amounts(last.seen.asks)
        selector = tuple(sorted(last.seen.selector.items()))
        unmatched = not self.reach.matches(selector)
        self.open_.ruled += last.seen.ruled or unmatched
        self.open_.resources.update(last.seen.asks.keys() - REPLAYED)
        made = TracePod(
            name=_name(job.name, first.seen.id),
            cpu_milli=cpu,
            memory_mib=memory,
            gpus=gpus,
            gpu_milli=WHOLE_GPU if gpus else 0,
            models=(),
            qos="",
            created=max(0, round(first.came - epoch)),
            run_seconds=max(1, round(self._run_seconds(last, in_gang=in_gang))),
            queue=job.queue,
            gang=self.gang if in_gang else None,
            member=number if in_gang else 0,
            declared_seconds=round(last.seen.expected or job.expected),
            user=job.namespace,
            priority=max(0, job.priority),
            selector=() if unmatched else selector,
        )
        return made, tuple(
            RealRun(max(0.0, pod.placed - epoch), pod.ended - epoch if pod.ended else None, pod.node)
            for pod in tries
            if pod.placed
        )

    def _run_seconds(self, pod: RecordedPod, *, in_gang: bool) -> float:
        """How long a pod ran since it had its node, and the whole gang had; what that would be where it is open."""
        if not pod.placed:
            self.open_.never_ran += 1
            return pod.seen.expected or self.job.seen.expected or self.usual.of(self.job)
        self.open_.still_ran += not pod.how or pod.how == UNSEEN
        start = max(self.began if in_gang else 0.0, pod.placed, self.history.begin)
        return (pod.ended or self.history.end) - start


def _name(name: str, id: str) -> str:
    """A name for an object of a replay: recorded names may be long, and used again."""
    return f"{name[: min(NAME_LETTERS, POD_LETTERS)].strip('-.') or 'job'}-{id[:ID_LETTERS]}"


def _amounts(asks: Requests) -> tuple[int, int, int]:
    """Thousandths of cores, MiB, and GPUs."""
    gpus = sum(asks.get(name, 0) for name in GPUS)
    return asks.get("cpu", 0), -(-asks.get("memory", 0) // MIB), -(-gpus // WHOLE_GPU)


# -- nodes


def _nodes_of(history: History, open_: LeftOpen) -> tuple[TraceNode, ...]:
    taken = _taken_by_returning(history)
    length = history.end - history.begin
    found = []
    for node in sorted(history.nodes.values(), key=lambda node: node.name):
        there = sum((end or history.end) - begin for begin, end, line in node.spans if line.open)
        if there < MOST_OF_THE_TIME * length:
            open_.nodes += 1
            continue
        found.append(_node(node, taken.get(node.name, {})))
    return tuple(found)


def _node(node: RecordedNode, taken: Mapping[str, int]) -> TraceNode:
    line = node.spans[-1][2]
    left = {name: max(0, amount - taken.get(name, 0)) for name, amount in line.has.items()}
    cpu, memory = left.get("cpu", 0), left.get("memory", 0) // MIB
    gpus = sum(left.get(name, 0) for name in GPUS) // WHOLE_GPU
    model = next((line.labels[name] for name in MODELS if name in line.labels), "") if gpus else ""
    return TraceNode(node.name, cpu, memory, gpus, model, tuple(sorted(line.labels.items())))


def _taken_by_returning(history: History) -> dict[str, dict[str, int]]:
    """The most that pods which belong to their nodes ask for, by node: one of each role and job at a time."""
    found: dict[str, dict[tuple[str, str], Requests]] = defaultdict(dict)
    for job in history.jobs.values():
        for pod in job.pods:
            if pod.seen.returns and pod.node:
                found[pod.node][job.seen.namespace + "/" + job.seen.name, pod.seen.role] = pod.seen.asks
    return {node: _sum(asks.values()) for node, asks in found.items()}


def _sum(asks: Iterable[Requests]) -> dict[str, int]:
    total = Counter[str]()
    for each in asks:
        total.update(each)
    return dict(total)
