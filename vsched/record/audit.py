"""The audit log's lines: who gets what, for whom who has to leave, and why who waits. Pure.

A decision is a line as soon as it is made, and what the API server said of it is another one.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import msgspec
from msgspec.structs import replace

from vsched.model.plan import Bind, CycleReport, Evict, Nominate, Ungate, Withdraw
from vsched.model.snapshot import Snapshot

FORGOTTEN_MIN = 1_000
"""What jobs waited for is forgotten once so many more are remembered than there are twice."""

AuditedPod = Bind | Evict | Withdraw | Nominate | Ungate


class AuditLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """One line; what does not apply is left out."""

    at: str
    """RFC 3339, in UTC. Of decisions: the time of the session."""
    event: str
    """``bind``, ``evict``, ``withdraw``, ``nominate``, ``ungate`` and ``wait`` are decisions. ``bind-outcome`` and
    ``evict-outcome`` say what became of one; ``lost`` says that lines before it could not be written."""
    by: str = ""
    """The daemon."""
    session: int = 0
    """Its number in this process, as in recordings."""
    policy: str = ""
    """The SHA-256 of the policy, its first 16 digits."""
    pod: str = ""
    """``NAMESPACE/NAME``."""
    uid: str = ""
    node: str = ""
    job: str = ""
    queue: str = ""
    user: str = ""
    action: str = ""
    """The action that took the pod, as ``preempt``."""
    beneficiary: str = ""
    """The job that gets the room; of arbitration, the namespace."""
    beneficiary_queue: str = ""
    beneficiary_user: str = ""
    grace_seconds: int = 0
    """How long the pod is asked to end by itself before."""
    outcome: str = ""
    code: str = ""
    """Why it waits, in one word."""
    why: str = ""
    """A sentence: why the job waits; of an eviction, what its beneficiary waits for now."""
    lines: int = 0
    """How many were lost."""


def moment(at: float) -> str:
    """Seconds since the epoch as the lines have them."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class AuditTrail:
    """Makes the lines of one session after the other; of jobs that wait, what has changed since the last one."""

    def __init__(self, by: str) -> None:
        self._by = by
        self._waits: dict[str, str] = {}
        """The code of each job that waits."""

    def decisions(self, snapshot: Snapshot, report: CycleReport, session: int, policy: str) -> Iterator[AuditLine]:
        """The lines of a session's decisions."""
        base = AuditLine(at=moment(snapshot.now), event="", by=self._by, session=session, policy=policy)
        for evict in report.evictions:
            queue, user = _owners(snapshot, evict.beneficiary)
            line = _about(replace(base, event="evict", node=evict.node, action=evict.action), snapshot, evict)
            outcome = report.jobs.get(evict.beneficiary)
            why = "" if outcome is None else outcome.message
            whom = {"beneficiary": evict.beneficiary, "beneficiary_queue": queue, "beneficiary_user": user}
            yield replace(line, **whom, grace_seconds=int(evict.wait), why=why)
        for withdraw in report.withdrawals:
            line = _about(replace(base, event="withdraw", node=withdraw.node), snapshot, withdraw)
            yield replace(line, action=withdraw.action, beneficiary=withdraw.beneficiary, why=withdraw.why)
        for bind in report.binds:
            yield _about(replace(base, event="bind", node=bind.node), snapshot, bind)
        for promise in report.lasting_nominations:
            yield _about(replace(base, event="nominate", node=promise.node), snapshot, promise)
        for ungate in report.ungated:
            yield _about(replace(base, event="ungate"), snapshot, ungate)
        yield from self._waiting(base, snapshot, report)

    def _waiting(self, base: AuditLine, snapshot: Snapshot, report: CycleReport) -> Iterator[AuditLine]:
        """Of each job that waits for another reason than before."""
        for key, found in report.jobs.items():
            before = self._waits.pop(key, None)
            if not found.code:
                continue
            self._waits[key] = found.code
            if before != found.code:
                queue, user = _owners(snapshot, key)
                whose = {"job": key, "queue": queue, "user": user}
                yield replace(base, event="wait", **whose, code=found.code, why=found.message)
        if len(self._waits) > 2 * len(snapshot.jobs) + FORGOTTEN_MIN:
            self._waits = {key: code for key, code in self._waits.items() if key in snapshot.jobs}

    def outcome(self, at: float, decided: Bind | Evict, outcome: str, why: str) -> AuditLine:
        """What became of a binding or an eviction."""
        line = AuditLine(at=moment(at), event="bind-outcome", by=self._by, node=decided.node, outcome=outcome, why=why)
        line = replace(line, pod=f"{decided.namespace}/{decided.name}", uid=decided.uid, job=decided.job)
        if isinstance(decided, Evict):
            taken = {"action": decided.action, "beneficiary": decided.beneficiary}
            return replace(line, event="evict-outcome", **taken)
        return line

    def lost(self, at: float, lines: int, why: str) -> AuditLine:
        """That lines could not be written."""
        return AuditLine(at=moment(at), by=self._by, event="lost", lines=lines, why=why)


def _about(line: AuditLine, snapshot: Snapshot, decided: AuditedPod) -> AuditLine:
    """The line with the pod, its job, and whose that is."""
    queue, user = _owners(snapshot, decided.job)
    pod = f"{decided.namespace}/{decided.name}"
    return replace(line, pod=pod, uid=decided.uid, job=decided.job, queue=queue, user=user)


def _owners(snapshot: Snapshot, key: str) -> tuple[str, str]:
    """Queue and user of a job; empty where it is gone."""
    job = snapshot.jobs.get(key)
    return ("", "") if job is None else (job.spec.queue, job.user)
