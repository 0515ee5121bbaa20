"""What a work trace says of each job, pod and node over time: the lines put together."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from vsched.record.book import WorkBook
from vsched.record.folder import read_all
from vsched.record.lines import (
    UNSEEN,
    AnyLine,
    Began,
    Complete,
    Ended,
    JobGone,
    JobThere,
    NodeGone,
    NodeThere,
    PodBound,
    PodEnded,
    PodStarted,
    PodThere,
    QueueGone,
    QueueThere,
)


class Gap(msgspec.Struct, frozen=True):
    """A time of which nothing is known, seconds since the epoch."""

    begin: float
    end: float


class RecordedPod(msgspec.Struct):
    """A pod from when it came until it ended; times are seconds since the epoch, 0 where they are not known."""

    seen: PodThere
    node: str = ""
    by: str = ""
    bound: float = 0.0
    """When it got its node; 0 also where it had it when it was first seen."""
    started: float = 0.0
    ended: float = 0.0
    how: str = ""
    """How it ended; empty where it has not."""

    @property
    def came(self) -> float:
        """When it was created, as far as that is known."""
        return self.seen.created or self.seen.at

    @property
    def placed(self) -> float:
        """When it had its node, as far as that is known; 0 where it never had one."""
        return self.bound or self.started


class RecordedJob(msgspec.Struct):
    """A job by the last that was said of it, with all its pods."""

    seen: JobThere
    pods: list[RecordedPod] = []
    gone: float = 0.0


class RecordedNode(msgspec.Struct):
    """A node with what it had, over time."""

    name: str
    spans: list[tuple[float, float, NodeThere]] = []
    """From when to when it was there as this line says; the last one may last."""


class History:
    """A work trace as a whole. As large as the trace."""

    def __init__(self, lines: Iterable[AnyLine]) -> None:
        self.begin = self.end = 0.0
        """The first and the last time that the trace tells of."""
        self.version, self.anonymous = "", False
        self.schedulers: set[str] = set()
        self.gaps: list[Gap] = []
        self.jobs: dict[str, RecordedJob] = {}
        self.pods: dict[str, RecordedPod] = {}
        self.nodes: dict[str, RecordedNode] = {}
        self.queues: dict[str, QueueThere] = {}
        """By the last that was said of each."""
        self.segments = self.lines = 0
        self._there: set[str] | None = None
        """Nodes and jobs that were said since a segment began, until it is complete."""
        self._since = 0.0
        for line in lines:
            self._take(line)

    def _take(self, line: AnyLine) -> None:
        self.lines += 1
        match line:
            case Began():
                self._begin_segment(line)
            case Complete():
                self._complete()
            case NodeThere() | NodeGone():
                self._take_node(line)
            case QueueThere(name=name):
                self.queues[name] = line
            case JobThere(id=id):
                self._note(id)
                known = self.jobs.get(id)
                if known is None:
                    self.jobs[id] = RecordedJob(line)
                else:
                    known.seen, known.gone = line, 0.0
            case JobGone(id=id):
                if id in self.jobs:
                    self.jobs[id].gone = line.at
            case PodThere() | PodBound() | PodStarted() | PodEnded():
                self._take_pod(line)
            case QueueGone() | Ended():
                pass
        self.end = max(self.end, line.at)

    def _begin_segment(self, line: Began) -> None:
        self.segments += 1
        self.begin = min(self.begin or line.at, line.at)
        self.version, self.anonymous = line.version, line.anonymous
        self.schedulers.update(line.schedulers)
        self._there, self._since = set(), line.at
        if line.after and line.at > line.after:
            self.gaps.append(Gap(line.after, line.at))

    def _note(self, name: str) -> None:
        if self._there is not None:
            self._there.add(name)

    def _complete(self) -> None:
        """What a new segment does not say is gone, unless another recorder has said it since."""
        there, self._there = self._there, None
        if there is None:
            return
        for node in self.nodes.values():
            if node.name not in there and node.spans[-1][0] < self._since:
                _close(node, self._since)
        for id, job in self.jobs.items():
            if not job.gone and id not in there and job.seen.at < self._since:
                job.gone = self._since
        for pod in self.pods.values():
            if not pod.how and pod.seen.id not in there and pod.seen.at < self._since:
                pod.ended, pod.how = self._since, UNSEEN

    def _take_node(self, line: NodeThere | NodeGone) -> None:
        node = self.nodes.get(line.name)
        if isinstance(line, NodeGone):
            if node is not None:
                _close(node, line.at)
            return
        self._note(line.name)
        if node is None:
            node = self.nodes[line.name] = RecordedNode(line.name)
        last = node.spans[-1] if node.spans else None
        if last is None or last[1] or msgspec.structs.replace(last[2], at=line.at) != line:
            _close(node, line.at)
            node.spans.append((line.at, 0.0, line))

    def _take_pod(self, line: PodThere | PodBound | PodStarted | PodEnded) -> None:
        self._note(line.id)
        pod = self.pods.get(line.id)
        if isinstance(line, PodThere):
            if pod is None:
                pod = self.pods[line.id] = RecordedPod(line)
                if line.job in self.jobs:
                    self.jobs[line.job].pods.append(pod)
            return
        if pod is None:
            return
        if isinstance(line, PodBound):
            if not pod.node:
                pod.node, pod.by, pod.bound = line.node, line.by, 0.0 if line.unseen else line.at
        elif isinstance(line, PodStarted):
            pod.started = pod.started or line.at
        elif not pod.how or pod.how == UNSEEN:
            pod.ended, pod.how = line.at, line.how


def _close(node: RecordedNode, at: float) -> None:
    """A node is not there as it was any more."""
    if node.spans and not node.spans[-1][1]:
        begin, _, line = node.spans[-1]
        node.spans[-1] = begin, at, line


def merged(traces: Sequence[Iterable[AnyLine]]) -> Iterator[AnyLine]:
    """One trace of several of a cluster, in the order in which things were seen.

    What two of them say is said twice, and counts once.
    """
    segments: list[list[AnyLine]] = []
    for lines in traces:
        for line in lines:
            if isinstance(line, Began):
                segments.append([])
            segments[-1].append(line)
    segments.sort(key=lambda segment: segment[0].at)
    seen = [_as_seen(segment) for segment in segments]
    yield from (line for _, line in heapq.merge(*seen, key=lambda each: each[0]))


def read_together(paths: Iterable[Path]) -> Iterator[AnyLine]:
    """The lines of files and folders of one cluster, put together; raises BadInput."""
    return merged([read_all([path]) for path in paths])


def _as_seen(segment: Sequence[AnyLine]) -> Iterator[tuple[float, AnyLine]]:
    """The lines with the time at which they were seen, which may be later than what they tell of."""
    at = segment[0].at
    is_complete = not any(isinstance(line, Complete) for line in segment)
    for line in segment:
        if is_complete:
            at = max(at, line.at)
        is_complete = is_complete or isinstance(line, Complete)
        yield at, line


def cut(lines: Iterable[AnyLine], since: float, until: float) -> Iterator[AnyLine]:
    """The part of a trace from one moment to another: what is there then, and what changes until the other."""
    book, began, is_open, beginning = WorkBook(), None, False, False
    for line in lines:
        if line.at > until:
            break
        if not is_open and not beginning and line.at >= since:
            is_open = True
            if began is not None:
                yield from _all_of(book, began, since)
        if isinstance(line, Began):
            began, beginning = line, True
        elif isinstance(line, Complete):
            beginning = False
        if is_open:
            yield line
        book.take(line)
    if not is_open and began is not None:
        yield from _all_of(book, began, since)


def _all_of(book: WorkBook, began: Began, at: float) -> Iterator[AnyLine]:
    yield msgspec.structs.replace(began, at=at, after=0.0)
    yield from book.lines()
    yield Complete(at=at)
