"""Results of sessions are kept in steps, as if at once: those before are shown until the new ones are."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.small import SmallCluster
from vsched.framework.codes import Code
from vsched.model.jobs.job import Job
from vsched.model.jobs.spec import JobSpec
from vsched.model.plan import Bind, CycleReport, JobOutcome, Unschedulable
from vsched.model.pods.status import Phase
from vsched.model.snapshot import Snapshot
from vsched.web import findings as module
from vsched.web.findings import Findings

EMPTY = SmallCluster().node("n1").snapshot()
KEYS = st.sampled_from([f"ns/j{number}" for number in range(6)])
PHASES = st.sampled_from([Phase.PENDING, Phase.INQUEUE, Phase.RUNNING])
OUTCOMES = st.dictionaries(KEYS, st.tuples(PHASES, st.integers(0, 2), st.integers(0, 2)))
SESSIONS = st.lists(
    st.fixed_dictionaries(
        {"outcomes": OUTCOMES, "again": st.booleans(), "gone": st.sets(KEYS), "elsewhere": st.sets(KEYS)}
    ),
    max_size=8,
)
Shown = dict[str, Any]


class Plain:
    """The same results, kept at once."""

    def __init__(self) -> None:
        self.jobs: dict[str, JobOutcome] = {}
        self.placed_at: dict[str, float] = {}
        self.retries: Counter[str] = Counter()
        self._last: dict[str, JobOutcome] | None = None

    def take(self, snapshot: Snapshot, report: CycleReport) -> list[str]:
        placed: list[str] = []
        again, self._last = report.jobs is self._last, report.jobs
        for key, outcome in report.jobs.items():
            before = self.jobs.get(key)
            if outcome.pending and outcome.ready < outcome.min_member and (key in self.retries or not again):
                self.retries[key] += 1
            waited = before is not None and before.phase in (Phase.PENDING, Phase.INQUEUE)
            if not again and waited and outcome.phase == Phase.RUNNING and key not in self.placed_at:
                self.placed_at[key] = snapshot.now
                placed.append(key)
        self.jobs |= {} if again else report.jobs
        for key in snapshot.changed:
            if key not in snapshot.jobs:
                for known in (self.jobs, self.placed_at, self.retries):
                    known.pop(key, None)
        for key in snapshot.elsewhere:
            self.jobs.pop(key, None)
        return placed

    def shown(self) -> Shown:
        particular = {key: one for key, one in self.jobs.items() if one.code or one.tier}
        return {
            "jobs": dict(self.jobs),
            "particular": particular,
            "placed": dict(self.placed_at),
            "retries": +self.retries,
        }


def shown(findings: Findings) -> Shown:
    return {
        "jobs": dict(findings.jobs),
        "particular": dict(findings.particular),
        "placed": dict(findings.placed_at),
        "retries": +findings.retries,
    }


def session_of(drawn: dict[str, Any], number: int, last: dict[str, JobOutcome]) -> tuple[Snapshot, CycleReport]:
    """A session; where it says the same again, the outcomes are those of the last one, as cycles have it."""
    outcomes = last
    if not drawn["again"]:
        outcomes = {
            key: JobOutcome(
                key,
                "q",
                phase,
                min_member=1,
                ready=ready,
                pending=pending,
                running=0,
                succeeded=0,
                failed=0,
                code=Code.TOPOLOGY if ready < pending else "",
                tier=1 if ready == 2 else None,
            )
            for key, (phase, ready, pending) in drawn["outcomes"].items()
        }
    there = {key: Job(key, JobSpec("ns", key)) for key in outcomes.keys() - drawn["gone"]}
    changed = tuple(sorted(outcomes.keys() | drawn["gone"]))
    snapshot = replace(EMPTY, now=float(number), jobs=there, changed=changed, elsewhere=sorted(drawn["elsewhere"]))
    return snapshot, CycleReport(jobs=outcomes)


@settings(max_examples=examples(200), deadline=None)
@given(SESSIONS, st.integers(1, 3))
def test_results_are_those_of_keeping_them_at_once(sessions: list[dict[str, Any]], some: int) -> None:
    findings, plain = Findings(), Plain()
    last: dict[str, JobOutcome] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_SOME", some)
        for number, drawn in enumerate(sessions):
            snapshot, report = session_of(drawn, number, last)
            last = report.jobs
            before, placed = shown(findings), list[str]()
            for _ in findings.taking(snapshot, report, placed):
                if findings.snapshot is not snapshot:
                    assert shown(findings) == before, "nothing of a session is shown before all of it is"
            assert placed == plain.take(snapshot, report)
            assert shown(findings) == plain.shown()
            assert findings.snapshot is snapshot


def test_verdicts_on_pods_that_do_not_wait_are_forgotten_in_steps_once_they_are_many() -> None:
    cluster = SmallCluster().node("n1")
    job, shape = cluster.job("g", 0), cluster.shape()
    cluster.task(job, "waits", shape)
    told = {
        f"ns/{name}": Unschedulable(f"ns-{name}", "ns", name, "ns/g", "Unschedulable", "")
        for name in ("waits", "bound", *(f"gone-{number}" for number in range(12_000)))
    }
    findings, snapshot = Findings(), cluster.snapshot()
    list(findings.taking(snapshot, CycleReport(unschedulable=told), []))
    assert len(findings.pods) == len(told), "they are looked up, and not listed"
    steps = list(findings.taking(snapshot, CycleReport(binds=(Bind("ns-bound", "ns", "bound", "n1", "ns/g"),)), []))
    assert set(findings.pods) == {"ns/waits"}
    assert len(steps) > 12_000 // module._SOME
