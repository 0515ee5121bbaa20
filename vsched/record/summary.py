"""What a work trace tells in a few figures. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from math import ceil
from typing import Any

import msgspec

from vsched.record.history import History, RecordedJob, RecordedPod


class Waits(msgspec.Struct, frozen=True):
    """How long jobs waited from their creation until their minimum had nodes, seconds."""

    started: int = 0
    waiting: int = 0
    """Jobs that had not started when the trace or the job ended."""
    median: float = 0.0
    p95: float = 0.0
    longest: float = 0.0


def waited(job: RecordedJob) -> float | None:
    """How long a job waited until its minimum had nodes; None where it never had, or where that is not known.

    Pods that came back later do not count: what counts is when so many had nodes for the first time.
    """
    least = max(1, job.seen.min_member)
    placed = sorted(pod.placed for pod in job.pods if pod.placed and not pod.seen.returns)
    if len(placed) < least:
        return None
    came = sorted(pod.came for pod in job.pods if not pod.seen.returns)
    return max(0.0, placed[least - 1] - max(job.seen.created, came[least - 1]))


def waits_of(jobs: Iterable[RecordedJob]) -> Waits:
    """The waits of these jobs; those without pods of their own do not count."""
    found, waiting = list[float](), 0
    for job in jobs:
        seconds = waited(job)
        if seconds is not None:
            found.append(seconds)
        elif job.pods and not all(pod.seen.returns for pod in job.pods):
            waiting += 1
    found.sort()
    if not found:
        return Waits(waiting=waiting)
    return Waits(len(found), waiting, part_of(found, 0.5), part_of(found, 0.95), found[-1])


def part_of(ascending: list[float], part: float) -> float:
    """The smallest of some numbers that so large a part of them does not exceed (nearest rank)."""
    return ascending[max(0, ceil(part * len(ascending)) - 1)]


def summary(history: History) -> dict[str, Any]:
    """The figures as one document; times in seconds, amounts in base units."""
    by_queue: defaultdict[str, list[RecordedJob]] = defaultdict(list)
    for job in history.jobs.values():
        if job.pods:
            by_queue[job.seen.queue].append(job)
    return {
        "begin": history.begin,
        "end": history.end,
        "seconds": round(history.end - history.begin, 3),
        "gaps": [{"begin": gap.begin, "seconds": round(gap.end - gap.begin, 3)} for gap in history.gaps],
        "version": history.version,
        "anonymous": history.anonymous,
        "schedulers": sorted(history.schedulers),
        "segments": history.segments,
        "lines": history.lines,
        "nodes": most_nodes(history),
        "amounts": _has(history),
        "jobs": sum(bool(job.pods) for job in history.jobs.values()),
        "gangs": sum(job.seen.min_member > 1 for job in history.jobs.values() if job.pods),
        "pods": len(history.pods),
        "ended": dict(sorted(Counter(pod.how or "there" for pod in history.pods.values()).items())),
        "bound_by": dict(sorted(Counter(_by(pod, history) for pod in history.pods.values() if pod.node).items())),
        "waits": {name: msgspec.structs.asdict(waits_of(jobs)) for name, jobs in sorted(by_queue.items())},
    }


def most_nodes(history: History) -> int:
    """The most nodes that there were at a time."""
    turns = sorted(
        (at, change)
        for node in history.nodes.values()
        for begin, end, _ in node.spans
        for at, change in ((begin, 1), (end or history.end + 1, -1))
    )
    there = most = 0
    for _, change in turns:
        there += change
        most = max(most, there)
    return most


def _has(history: History) -> Mapping[str, int]:
    """The allocatable amounts of the nodes that are there at the end."""
    found = Counter[str]()
    for node in history.nodes.values():
        _, end, line = node.spans[-1]
        if not end:
            found.update({name: amount for name, amount in line.has.items() if name != "pods"})
    return dict(sorted(found.items()))


def _by(pod: RecordedPod, history: History) -> str:
    return pod.by or next(iter(sorted(history.schedulers)), "")
