"""Reports that share with the last one what they say again are written back as those that were made anew."""

from __future__ import annotations

import asyncio
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.support.backlogged import Backlogged, backlog, change
from tests.support.clusters import seeded
from tests.support.examples import examples
from tests.support.plans import policy_of
from tests.support.recording_server import writer_to
from vsched.clock import SystemClock
from vsched.framework.policy import Policy
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.mirror.mirror import Mirror
from vsched.mirror.stores import MirrorSettings
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot
from vsched.writes.status.queues import PhaseCounts
from vsched.writes.writeback import Writeback, WritebackSettings

POLICIES = {
    "shares": policy_of("priority gang conformance", "overcommit drf predicates proportion nodeorder binpack"),
    "capacity": policy_of("priority gang", "predicates capacity resourcequota nodeorder"),
}


class Reported:
    """A writeback of which nothing is carried out, and what it should have in its queues."""

    def __init__(self, writeback: Writeback) -> None:
        self._writeback = writeback
        self._counts = PhaseCounts()

    def take(self, snapshot: Snapshot, report: CycleReport) -> None:
        for _ in self._writeback.submitting(report, snapshot):
            pass
        for key, outcome in report.jobs.items():
            if not outcome.implicit:
                self._counts.put(key, outcome.queue, outcome.phase)
        for key in snapshot.changed:
            if key not in snapshot.jobs:
                self._counts.drop(key)

    def check(self, snapshot: Snapshot, report: CycleReport) -> None:
        pods, jobs, queues = self._writeback.pods, self._writeback.jobs, self._writeback.queues
        for verdict in report.unschedulable.values():
            due = pods.workqueue.get(verdict.uid)
            assert due is not None, verdict
            assert (due.verdict.reason, due.verdict.message) == (verdict.reason, verdict.message)
        assert len(pods.workqueue) == len(report.unschedulable)
        for key, outcome in report.jobs.items():
            status = jobs.workqueue.get(key)
            if not outcome.changed:
                assert status is None
            elif key not in jobs.unsettled:
                assert status is not None
                if snapshot.jobs[key].confirmed < outcome.min_member <= outcome.ready:
                    outcome = replace(outcome, conditions=status.outcome.conditions)  # not told before it is bound
                assert status.outcome == outcome
        assert jobs.unsettled.keys() <= report.jobs.keys()
        for name in snapshot.queues:
            content = queues.workqueue.get(name)
            assert content is None or content.counts == self._counts.of(name)


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
@settings(max_examples=examples(24), deadline=None)
@given(random=seeded, steps=st.integers(1, 8))
def test_what_is_to_be_written_is_what_the_last_report_says(policy: Policy, random: Random, steps: int) -> None:
    asyncio.run(_written_back(policy, random, steps))


async def _written_back(policy: Policy, random: Random, steps: int) -> None:
    cluster = Backlogged(*backlog(random))
    async with ApiClient(Connection("http://127.0.0.1:1")) as client:
        clock, nothing = SystemClock(), lambda *news: None
        mirror = Mirror(MirrorSettings(frozenset()))
        reported = Reported(Writeback(client, writer_to(client), WritebackSettings(), clock, nothing, mirror, nothing))
        for _ in range(steps):
            for _ in range(random.randint(0, 2)):
                change(random, cluster)
            snapshot, report = cluster.decided(policy)
            reported.take(snapshot, report)
            reported.check(snapshot, report)
