"""The latest evictions, with beneficiary and reason, for the page. Only the event loop writes them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from vsched.arbitrator.taking.placing import ACTION as ARBITRATE
from vsched.model.jobs.job import Job
from vsched.model.plan import Evict
from vsched.web.words import evictions as words

MOST_EVICTIONS = 1000
"""How many are remembered."""
MOST_TOLD = 100
"""How many there are in one answer."""
MOST_CHARACTERS = 300
"""The longest message of the API server."""
ASKED = "asked"
"""The result of an eviction without an answer."""


class EvictionRow(msgspec.Struct, frozen=True):
    """One pod that was to leave its node."""

    at: float
    """When it was decided, seconds since the epoch."""
    uid: str
    pod: str
    """``namespace/name``."""
    job: str
    node: str
    action: str
    beneficiary: str
    """The job that it is for; for arbitration the pod; empty without a beneficiary."""
    why: str
    result: str = ASKED
    """``evicted``, ``gone``, or in one word why the pod stays."""
    message: str = ""
    """The API server's message, if the pod stays."""
    called: str = ""
    """How people know ``job``."""
    whom: str = ""
    """How people know ``beneficiary``."""


class Evictions:
    """The latest eviction of each pod, the most recent last."""

    def __init__(self) -> None:
        self._rows: OrderedDict[str, EvictionRow] = OrderedDict()

    def decided(self, at: float, evictions: Sequence[Evict], jobs: Mapping[str, Job]) -> None:
        """Add evictions that a session has decided."""
        for eviction in evictions[-MOST_EVICTIONS:]:
            job = jobs.get(eviction.job)
            self._put(_row(at, eviction, why(eviction, job, jobs.get(eviction.beneficiary)), job))

    def answered(self, at: float, eviction: Evict, result: str, message: str) -> None:
        """Set the result of an eviction, by whichever part it was decided."""
        row = self._rows.get(eviction.uid)
        if row is None or row.result != ASKED:
            row = _row(at, eviction, why(eviction, None, None), None)
            self._put(row)
        self._rows[eviction.uid] = replace(row, result=result, message=message[:MOST_CHARACTERS])

    def rows(self) -> list[EvictionRow]:
        """All remembered evictions, the most recent first."""
        return list(reversed(self._rows.values()))

    def _put(self, row: EvictionRow) -> None:
        self._rows[row.uid] = row
        self._rows.move_to_end(row.uid)
        if len(self._rows) > MOST_EVICTIONS:
            self._rows.popitem(last=False)


def _row(at: float, eviction: Evict, why: str, job: Job | None) -> EvictionRow:
    return EvictionRow(
        at=round(at, 3),
        uid=eviction.uid,
        pod=f"{eviction.namespace}/{eviction.name}",
        job=eviction.job,
        node=eviction.node,
        action=eviction.action,
        beneficiary=eviction.beneficiary,
        why=why,
        called=eviction.job if job is None else job.called,
        whom=eviction.whom or eviction.beneficiary,
    )


def of_job(rows: Iterable[EvictionRow], key: str, pods: frozenset[str] = frozenset()) -> list[EvictionRow]:
    """Evictions of a job's pods, and evictions for the job or (by arbitration) for one of its pods."""
    return [row for row in rows if key in (row.job, row.beneficiary) or row.beneficiary in pods]


def on_node(rows: Iterable[EvictionRow], node: str) -> list[EvictionRow]:
    """Evictions of pods on a node."""
    return [row for row in rows if row.node == node]


def why(eviction: Evict, job: Job | None, beneficiary: Job | None) -> str:
    """Why a pod was evicted, as a sentence, from both jobs as they were then."""
    if eviction.action == ARBITRATE:
        waits = eviction.beneficiary.partition("/")[0]
        return words.by_arbitration(eviction.namespace, waits)
    if eviction.to:
        return words.moved_to(eviction.to) if eviction.beneficiary else words.defragments(eviction.to)
    if not eviction.beneficiary:
        return words.moved_off(eviction.action)
    if job is None or beneficiary is None:
        return words.makes_room(eviction.action)
    if job.key == beneficiary.key:
        return words.OF_ITS_JOB
    theirs, own = beneficiary.spec.queue, job.spec.queue
    if theirs != own:
        return words.reclaims(theirs, own)
    if beneficiary.priority != job.priority:
        return words.by_priority(own, beneficiary.priority, job.priority)
    return words.by_order(own, job.priority)
