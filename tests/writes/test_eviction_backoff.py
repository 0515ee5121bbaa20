"""How long refused victims are spared, and how long granted evictions are believed, on a real mirror."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.support import builders as make
from tests.support.waiting import until
from vsched.mirror.mirror import Mirror
from vsched.mirror.stores import MirrorSettings
from vsched.model.plan import CycleReport, Evict
from vsched.model.pods.status import Status
from vsched.writes.eviction_backoff import EvictionBackoff, EvictionBackoffSettings, spared_seconds

QUICK = EvictionBackoffSettings(first_seconds=0.04, ceiling_seconds=0.1, unconfirmed_seconds=0.04, doubt_seconds=0.04)
RUNNING = make.pod("a", node="n1")
GOING = make.merged(RUNNING, {"metadata": {"deletionTimestamp": "2026-08-01T10:00:00Z"}})
UID = "uid-a"


@asynccontextmanager
async def reprieving(settings: EvictionBackoffSettings = QUICK) -> AsyncIterator[tuple[Mirror, EvictionBackoff]]:
    """A mirror with one pod that a cycle has just evicted."""
    cache = Mirror(MirrorSettings(frozenset({"volcano"})))
    cache.intake.apply("Pod", "ADDED", make.read(RUNNING))
    evict(cache)
    reprieves = EvictionBackoff(cache.assumptions, settings)
    task = asyncio.create_task(reprieves.run())
    try:
        yield cache, reprieves
    finally:
        task.cancel()
        await asyncio.wait((task,))


def evict(cache: Mirror) -> None:
    cache.assumptions.assume(CycleReport(evictions=(Evict(UID, "ns", "a", "n1", "", "reclaim", "ns/other"),)))


def is_victim(cache: Mirror) -> bool:
    """Whether a cycle could choose the pod."""
    task = cache.task(UID)
    assert task is not None
    return task.status is Status.RUNNING and task.preemptable


def status(cache: Mirror) -> Status | None:
    task = cache.task(UID)
    return None if task is None else task.status


async def test_a_refused_victim_runs_on_and_is_spared_for_a_while() -> None:
    async with reprieving() as (cache, reprieves):
        reprieves.refused(UID, 0.0)
        assert status(cache) is Status.RUNNING
        assert not is_victim(cache)
        await until(lambda: is_victim(cache))


@pytest.mark.parametrize(
    ("refusals", "asked_seconds", "seconds"),
    [
        pytest.param(1, 0.0, 5.0, id="the first time shortly"),
        pytest.param(2, 0.0, 10.0, id="twice as long the second time"),
        pytest.param(4, 0.0, 40.0, id="and so on"),
        pytest.param(100, 0.0, 300.0, id="up to the ceiling"),
        pytest.param(1, 10.0, 10.0, id="as long as the API server asks"),
        pytest.param(3, 10.0, 20.0, id="or longer"),
        pytest.param(1, 1e9, 300.0, id="but not for ever"),
    ],
)
def test_how_long_a_victim_is_spared(refusals: int, asked_seconds: float, seconds: float) -> None:
    assert spared_seconds(EvictionBackoffSettings(), refusals, asked_seconds) == seconds


async def test_every_refusal_spares_for_longer() -> None:
    loop = asyncio.get_running_loop()
    async with reprieving() as (cache, reprieves):
        reprieves.refused(UID, 0.0)
        reprieves.refused(UID, 0.0)
        began = loop.time()
        await until(lambda: is_victim(cache))
        assert loop.time() - began >= 0.075


async def test_an_eviction_that_comes_true_ends_the_count_of_refusals() -> None:
    async with reprieving(EvictionBackoffSettings(first_seconds=0.01, ceiling_seconds=60.0)) as (cache, reprieves):
        for _ in range(10):
            reprieves.refused(UID, 0.0)
        reprieves.granted(UID)
        reprieves.refused(UID, 0.0)
        await until(lambda: is_victim(cache), seconds=0.1)


async def test_an_eviction_that_the_watch_never_shows_is_not_believed_for_ever() -> None:
    async with reprieving() as (cache, reprieves):
        reprieves.granted(UID)
        assert status(cache) is Status.RELEASING
        await until(lambda: is_victim(cache))


async def test_an_eviction_that_the_watch_shows_stays_believed_however_long_the_pod_takes() -> None:
    async with reprieving() as (cache, reprieves):
        reprieves.granted(UID)
        cache.intake.apply("Pod", "MODIFIED", make.read(GOING))
        await asyncio.sleep(3600.0)
        assert status(cache) is Status.RELEASING


async def test_an_eviction_without_an_answer_counts_until_it_must_have_been_seen_and_then_as_refused() -> None:
    async with reprieving(EvictionBackoffSettings(first_seconds=0.5, doubt_seconds=0.04)) as (cache, reprieves):
        reprieves.doubted(UID)
        assert status(cache) is Status.RELEASING
        await until(lambda: status(cache) is Status.RUNNING)
        assert not is_victim(cache)
        await until(lambda: is_victim(cache))


async def test_an_eviction_without_an_answer_that_came_true_spares_nobody() -> None:
    async with reprieving() as (cache, reprieves):
        reprieves.doubted(UID)
        cache.intake.apply("Pod", "MODIFIED", make.read(GOING))
        await asyncio.sleep(3600.0)
        assert status(cache) is Status.RELEASING
        assert cache.describe()["spared_tasks"] == 0


async def test_a_new_eviction_is_believed_for_its_own_time() -> None:
    loop = asyncio.get_running_loop()
    async with reprieving(EvictionBackoffSettings(unconfirmed_seconds=0.3)) as (cache, reprieves):
        reprieves.granted(UID)
        await asyncio.sleep(0.2)
        cache.assumptions.forget(UID)
        evict(cache)
        reprieves.granted(UID)
        began = loop.time()
        await until(lambda: is_victim(cache))
        assert loop.time() - began >= 0.25
