"""The spine and what wakes it: order, supervision, stopping. With a real engine it is tested end to end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import pytest

from tests.daemon.looping import looping
from tests.support.native import native_world
from tests.support.waiting import until
from vsched.daemon.loop.loop import PREPARATIONS, in_slices, prepare
from vsched.daemon.triggers import Reason, Trigger
from vsched.framework.policy import Policy
from vsched.framework.trace import Trace
from vsched.model.jobs.native import native_key
from vsched.model.plan import Bind, CycleReport, Evict
from vsched.model.snapshot import Snapshot
from vsched.writes import words


def nothing(snapshot: Snapshot, policy: Policy, trace: Trace) -> CycleReport:
    return CycleReport()


async def test_what_a_session_decides_is_assumed_then_carried_out_and_told() -> None:
    report = CycleReport(binds=(Bind("u", "ns", "p", "n1", "ns/g"),))
    async with looping(lambda *_: report) as running:
        running.trigger.pull()
        await until(lambda: running.metric("vsched_pods_bound_total") == 1)
        assert running.mirror.assumed == [report]
        assert running.telemetry.findings.cycles == 1


async def test_evictions_are_carried_out_as_bindings_are() -> None:
    victim = Evict("v", "ns", "v", "n1", "ns/old", "reclaim", "ns/g")
    report = CycleReport(evictions=(victim,), binds=(Bind("u", "ns", "p", "n1", "ns/g"),))
    evicted = {"action": "reclaim", "verdict": "evicted"}
    async with looping(lambda *_: report) as running:
        running.trigger.pull()
        await until(lambda: running.metric("vsched_pods_bound_total") == 1)
        await until(lambda: running.metric("vsched_evictions_total", evicted) == 1)
        assert running.mirror.assumed == [report]
        assert running.metric("volcano_eviction_transactions_total", {"action": "reclaim"}) == 1


async def test_changes_that_come_together_are_one_session() -> None:
    async with looping(nothing) as running:
        for _ in range(100):
            running.trigger.pull()
        await until(lambda: running.telemetry.findings.cycles == 1)
        running.trigger.pull()
        await until(lambda: running.telemetry.findings.cycles == 2)
        assert running.mirror.snapshots == 2


async def test_a_session_that_fails_is_told_and_the_next_one_runs() -> None:
    attempts = 0

    def decide(snapshot: Snapshot, policy: Policy, trace: Trace) -> CycleReport:
        nonlocal attempts
        attempts += 1
        if attempts <= 2:
            raise ZeroDivisionError("a bug")
        return CycleReport()

    async with looping(decide, period_seconds=0.01, first_pause_seconds=0.005) as running:
        await until(lambda: running.telemetry.findings.cycles >= 1)
        assert running.metric("vsched_cycle_exceptions_total") == 2


async def test_native_groups_are_told_of_a_session_that_failed() -> None:
    def decide(snapshot: Snapshot, policy: Policy, trace: Trace) -> CycleReport:
        raise ZeroDivisionError("a bug")

    shown = native_world()
    async with looping(decide, shown=shown) as running:
        running.trigger.pull()
        await until(lambda: running.writeback.native.workqueue.busy)
        due = running.writeback.native.workqueue.get((native_key("ns", "g"), "PodGroupInitiallyScheduled"))
        assert due is not None
        assert (due.met, due.reason) == (False, "SchedulerError")
        assert due.message == words.failed_and_retries("ZeroDivisionError: a bug")


async def test_a_session_under_way_is_finished_before_the_loop_ends() -> None:
    def slowly(snapshot: Snapshot, policy: Policy, trace: Trace) -> CycleReport:
        time.sleep(0.05)  # in the session's own thread, as a long decision would be
        return CycleReport()

    async with looping(slowly) as running:
        running.trigger.pull()
        await until(lambda: running.mirror.snapshots == 1)
    assert len(running.mirror.assumed) == 1


async def test_the_timer_starts_a_session_where_nothing_changes() -> None:
    assert await Trigger(0.01, 0.0).next() is Reason.TIMER


async def test_a_change_does_not_wait_for_the_timer() -> None:
    trigger = Trigger(60.0, 0.0)
    trigger.pull()
    assert await asyncio.wait_for(trigger.next(), 60.0) is Reason.CHANGE


async def test_a_change_during_the_window_belongs_to_the_session_that_follows() -> None:
    trigger = Trigger(0.02, 0.005)
    trigger.pull()
    waiting = asyncio.create_task(trigger.next())
    await asyncio.sleep(0)
    trigger.pull()
    assert await waiting is Reason.CHANGE
    assert await trigger.next() is Reason.TIMER


@pytest.mark.real_time
async def test_a_long_session_widens_the_window() -> None:
    trigger = Trigger(60.0, 0.0)
    trigger.pull()
    began = time.monotonic()
    await trigger.next(busy_seconds=0.2)
    assert time.monotonic() - began >= 0.045


async def test_after_work_in_several_slices_others_run_before_what_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vsched.daemon.loop.loop.SLICE_SECONDS", -1.0)  # each step takes a slice
    seen: list[str] = []

    def steps() -> Iterator[None]:
        yield
        seen.append("last step")

    async def another() -> None:
        while True:
            seen.append("another")
            await asyncio.sleep(0)

    task = asyncio.create_task(another())
    await in_slices(steps())
    task.cancel()
    assert seen[seen.index("last step") :] == ["last step", "another"]
    seen.clear()
    await in_slices(iter(()))
    assert seen == []


@pytest.mark.parametrize(
    ("happens", "times"),
    [
        pytest.param(0, 1, id="nothing"),
        pytest.param(1, 2, id="something once: as nothing happens while that is looked at"),
        pytest.param(99, PREPARATIONS, id="something always: then the snapshot has to do with what there is"),
    ],
)
async def test_a_snapshot_is_prepared_again_for_what_happens_meanwhile(
    happens: int, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vsched.daemon.loop.loop.SLICE_SECONDS", -1.0)  # each step takes a slice
    passes: list[int] = []

    def steps() -> Iterator[None]:
        passes.append(len(passes))
        if passes[-1] < happens:
            yield

    await prepare(steps)
    assert len(passes) == times
