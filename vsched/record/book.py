"""What a work trace says is there: built line by line, and said again in lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TypeVar

import msgspec

from vsched.record.lines import (
    AnyLine,
    Began,
    Complete,
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
    WorkLine,
)

S = TypeVar("S", bound=WorkLine)


class LivePod(msgspec.Struct):
    """A pod that has not ended, by the lines about it."""

    seen: PodThere
    bound: PodBound | None = None
    started: PodStarted | None = None


class WorkBook:
    """What is there. As large as the cluster; what is gone is forgotten."""

    def __init__(self) -> None:
        self.nodes: dict[str, NodeThere] = {}
        self.queues: dict[str, QueueThere] = {}
        self.jobs: dict[str, JobThere] = {}
        self.pods: dict[str, LivePod] = {}
        """By id, as jobs."""
        self.over: set[str] = set()
        """Pods that have ended and were not forgotten: their objects may be there."""
        self.pods_of: dict[str, set[str]] = {}
        """By job: the pods that were said and not forgotten, ended ones included."""
        self._said: set[str] | None = None
        """Between ``Began`` and ``Complete``: what was said since."""

    def take(self, line: AnyLine) -> bool:
        """Take in a line; False where it says nothing new."""
        match line:
            case Began():
                self._said = set()
                return True
            case Complete():
                self._drop_unsaid()
                return True
            case NodeThere(name=name):
                return self._put(self.nodes, name, line)
            case NodeGone(name=name):
                return self.nodes.pop(name, None) is not None
            case QueueThere(name=name):
                return self._put(self.queues, name, line)
            case QueueGone(name=name):
                return self.queues.pop(name, None) is not None
            case JobThere(id=id):
                return self._put(self.jobs, id, line)
            case JobGone(id=id):
                for pod in self.pods_of.pop(id, set()):
                    self.pods.pop(pod, None)
                    self.over.discard(pod)
                return self.jobs.pop(id, None) is not None
            case PodThere() | PodBound() | PodStarted() | PodEnded():
                return self._take_pod(line)
            case _:
                return False

    def _take_pod(self, line: PodThere | PodBound | PodStarted | PodEnded) -> bool:
        live = self.pods.get(line.id)
        if isinstance(line, PodThere):
            self._note(line.id)
            if live is not None or line.id in self.over:
                return False
            self.pods[line.id] = LivePod(line)
            self.pods_of.setdefault(line.job, set()).add(line.id)
            return True
        if live is None:
            return False
        if isinstance(line, PodBound):
            fresh, live.bound = live.bound is None, live.bound or line
        elif isinstance(line, PodStarted):
            fresh, live.started = live.started is None, live.started or line
        else:
            fresh = True
            del self.pods[line.id]
            self.over.add(line.id)
        return fresh

    def forget(self, job: str, pod: str) -> None:
        """An ended pod of a job will not be said again."""
        self.over.discard(pod)
        self.pods_of.get(job, set()).discard(pod)

    def _put(self, known: dict[str, S], key: str, line: S) -> bool:
        """Put a line in place of the one before; False where that said the same, whenever it was."""
        self._note(key)
        before = known.get(key)
        known[key] = line
        return before is None or msgspec.structs.replace(before, at=line.at) != line

    def _note(self, key: str) -> None:
        if self._said is not None:
            self._said.add(key)

    def _drop_unsaid(self) -> None:
        said, self._said = self._said, None
        if said is None:
            return
        for job in self.jobs.keys() - said:
            self.take(JobGone(at=0.0, id=job))
        for known in (self.nodes, self.queues, self.pods):
            for key in known.keys() - said:
                del known[key]

    def lines(self) -> Iterator[AnyLine]:
        """All that is there now, in lines that a new book would take; further lines may be taken meanwhile."""
        whole: tuple[AnyLine, ...] = (*self.nodes.values(), *self.queues.values(), *self.jobs.values())
        return chain(whole, _of_pods([*self.pods.values()]))


def _of_pods(pods: Sequence[LivePod]) -> Iterator[AnyLine]:
    for pod in pods:
        yield pod.seen
        if pod.bound is not None:
            yield pod.bound
        if pod.started is not None:
            yield pod.started
