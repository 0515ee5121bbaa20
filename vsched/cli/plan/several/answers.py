"""What each cluster would make of a job, and which of them is best. What is asked is asked of all at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from math import inf
from typing import NamedTuple

from vsched.cli.plan.changes import EvictionChange
from vsched.cli.plan.live import WhatIf, fetched, starts_of, what_if
from vsched.cli.plan.several.targets import AskedCluster
from vsched.cli.plan.trial import PlanEdit
from vsched.errors import VschedError
from vsched.mirror.ingest.workload_kinds import WorkloadTable
from vsched.model.dump.cycle import Recording
from vsched.together import together

SEARCH_SECONDS = 4.0
"""How long is looked for when each gang that waits may start."""


class ClusterAnswer(NamedTuple):
    """What one cluster would make of what was submitted."""

    cluster: str
    pods: int = 0
    placed: int = 0
    """Pods that would have a node in the next session."""
    starts: bool = False
    """Whether all of it would start in the next session."""
    seconds: float = inf
    """How long until it may start at the earliest; infinite where that cannot be foreseen."""
    message: str = ""
    """Why it waits, and when it may start; empty where it starts."""
    displaced: Sequence[EvictionChange] = ()
    """Pods that would be evicted for it."""
    problem: str = ""
    """Why the cluster could not be asked; all else is empty then."""

    @property
    def soonest(self) -> tuple[bool, float, int, str]:
        """Sorts answers: where it starts first, then where it displaces least, then by name."""
        return bool(self.problem), self.seconds, len(self.displaced), self.cluster

    @property
    def cheapest(self) -> tuple[int, float, str]:
        """Sorts answers of clusters that start it: where it displaces least, then where it starts first."""
        return len(self.displaced), self.seconds, self.cluster


def best(answers: Sequence[ClusterAnswer]) -> ClusterAnswer | None:
    """The cluster where it starts first, and displaces least of those; None where none is known to start it."""
    return min(filter(_is_known_to_start, answers), key=lambda answer: answer.soonest, default=None)


def cheapest(answers: Sequence[ClusterAnswer]) -> ClusterAnswer | None:
    """The cluster where it displaces least, and starts first of those; None where none is known to start it."""
    return min(filter(_is_known_to_start, answers), key=lambda answer: answer.cheapest, default=None)


def _is_known_to_start(answer: ClusterAnswer) -> bool:
    return not answer.problem and answer.seconds < inf


def ask_all(
    clusters: Sequence[AskedCluster], edits: Sequence[PlanEdit], workloads: WorkloadTable, tell: Callable[[str], None]
) -> list[ClusterAnswer]:
    """The answers, in the order of the clusters; raises BadInput where what is submitted cannot be used anywhere."""
    recordings = asyncio.run(_recordings(clusters))
    found = []
    for cluster, recording in zip(clusters, recordings, strict=True):
        if isinstance(recording, VschedError):
            found.append(ClusterAnswer(cluster.name, problem=str(recording)))
        else:
            tell(cluster.name)
            found.append(answered(cluster.name, recording, edits, workloads))
    return found


async def _recordings(clusters: Sequence[AskedCluster]) -> list[Recording | VschedError]:
    async def one(cluster: AskedCluster) -> Recording | VschedError:
        try:
            return await fetched(cluster.target)
        except VschedError as error:
            return error

    return await together(*map(one, clusters))


def answered(cluster: str, recording: Recording, edits: Sequence[PlanEdit], workloads: WorkloadTable) -> ClusterAnswer:
    """The answer by what the daemon of one cluster sees; one that refuses an object says so."""
    try:
        what = what_if(recording, edits, workloads=workloads)
    except VschedError as error:
        return ClusterAnswer(cluster, problem=str(error))
    fates = [fate for fate in what.changes.submitted if fate.pods]
    waiting = [fate for fate in fates if fate.message]
    displaced = tuple(change for change in what.changes.evictions if change.then)
    pods, placed = sum(fate.pods for fate in fates), sum(fate.placed for fate in fates)
    if fates and not waiting:
        return ClusterAnswer(cluster, pods, placed, True, 0.0, "", displaced)
    if not fates:
        return ClusterAnswer(cluster, message=" ".join(what.notes), displaced=displaced)
    seconds, says = _when(what)
    message = " ".join(part for part in (waiting[0].message, says) if part)
    return ClusterAnswer(cluster, pods, placed, False, seconds, message, displaced)


def _when(what: WhatIf) -> tuple[float, str]:
    """How long until the last of the gangs that wait may start, and what is said of that."""
    starts = starts_of(what, SEARCH_SECONDS)
    if not starts:
        return inf, ""
    latest = max(starts, key=lambda start: inf if start.earliest is None else start.earliest)
    return (inf if latest.earliest is None else max(0.0, latest.earliest - what.then.now)), latest.message
