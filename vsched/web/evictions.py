"""Who was evicted lately, for whom and why: what the page tells of each. Written by the event loop alone."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from vsched.arbitrator.placing import ACTION as ARBITRATE
from vsched.model.job import Job
from vsched.model.plan import Evict

MOST_EVICTIONS = 1000
"""That are remembered."""
MOST_TOLD = 100
"""In one answer."""
MOST_CHARACTERS = 300
"""Of what the API server said to one."""
ASKED = "asked"
"""What came of one that is not answered yet."""


class EvictionRow(msgspec.Struct, frozen=True):
    """One pod that was to leave its node."""

    at: float
    """When that was decided, seconds since the epoch."""
    uid: str
    pod: str
    """``namespace/name``."""
    job: str
    node: str
    action: str
    beneficiary: str
    """The job it is for, as a rule; the pod where arbitration decided; empty where nobody takes its room."""
    why: str
    result: str = ASKED
    """``evicted``, ``gone``, or why it stays, in one word."""
    message: str = ""
    """What the API server said, where the pod stays."""


class Evictions:
    """The latest eviction of each pod, the latest of all last; as many as are remembered."""

    def __init__(self) -> None:
        self._rows: OrderedDict[str, EvictionRow] = OrderedDict()

    def decided(self, at: float, evictions: Sequence[Evict], jobs: Mapping[str, Job]) -> None:
        """A session has decided on these."""
        for eviction in evictions[-MOST_EVICTIONS:]:
            self._put(_row(at, eviction, why(eviction, jobs.get(eviction.job), jobs.get(eviction.beneficiary))))

    def answered(self, at: float, eviction: Evict, result: str, message: str) -> None:
        """What came of one, whoever decided on it."""
        row = self._rows.get(eviction.uid)
        if row is None or row.result != ASKED:
            row = _row(at, eviction, why(eviction, None, None))
            self._put(row)
        self._rows[eviction.uid] = replace(row, result=result, message=message[:MOST_CHARACTERS])

    def rows(self) -> list[EvictionRow]:
        """All that are remembered, the latest first."""
        return list(reversed(self._rows.values()))

    def _put(self, row: EvictionRow) -> None:
        self._rows[row.uid] = row
        self._rows.move_to_end(row.uid)
        if len(self._rows) > MOST_EVICTIONS:
            self._rows.popitem(last=False)


def _row(at: float, eviction: Evict, why: str) -> EvictionRow:
    return EvictionRow(
        at=round(at, 3),
        uid=eviction.uid,
        pod=f"{eviction.namespace}/{eviction.name}",
        job=eviction.job,
        node=eviction.node,
        action=eviction.action,
        beneficiary=eviction.beneficiary,
        why=why,
    )


def of_job(rows: Iterable[EvictionRow], key: str, pods: frozenset[str] = frozenset()) -> list[EvictionRow]:
    """Those of a job's pods, and those for its sake; arbitration evicts for the sake of one of its pods."""
    return [row for row in rows if key in (row.job, row.beneficiary) or row.beneficiary in pods]


def on_node(rows: Iterable[EvictionRow], node: str) -> list[EvictionRow]:
    """Those of pods on a node."""
    return [row for row in rows if row.node == node]


def why(eviction: Evict, job: Job | None, beneficiary: Job | None) -> str:
    """Why a pod was to leave, in a sentence; from what both jobs were when that was decided."""
    if eviction.action == ARBITRATE:
        waits = eviction.beneficiary.partition("/")[0]
        return f"the division among namespaces takes room from {eviction.namespace} for {waits}"
    if not eviction.beneficiary:
        return f"{eviction.action} has it leave this node: nobody is to take its room"
    if job is None or beneficiary is None:
        return f"{eviction.action} makes room"
    if job.key == beneficiary.key:
        return "another pod of its own job goes before it"
    theirs, own = beneficiary.spec.queue, job.spec.queue
    if theirs != own:
        return f"queue {theirs} takes room back from queue {own}"
    if beneficiary.priority != job.priority:
        return f"in queue {own} priority {beneficiary.priority} goes before priority {job.priority}"
    return f"in queue {own} that job goes before it, at the same priority {job.priority}"
