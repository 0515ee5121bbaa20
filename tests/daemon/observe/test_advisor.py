"""Advice comes by itself, is said with why a job waits, goes when it is no longer true, and takes little time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import msgspec
import pytest
from structlog.testing import capture_logs

from tests.support.owners import queue
from tests.support.plans import DEFAULT_POLICY, NOW, manifests, mirror
from tests.support.running import PODGROUPS, condition_of, gang, node, nodes_of, pod, podgroup, scheduling
from tests.support.waiting import until
from vsched.clock import FakeClock
from vsched.daemon.app import Daemon
from vsched.daemon.observe.advisor import Advisor, Looked, sentence_of, waiting_jobs
from vsched.daemon.observe.settings import AdvisorSettings, ObserveSettings
from vsched.daemon.observe.snapshots import SnapshotService
from vsched.daemon.observe.telemetry import Telemetry
from vsched.explain.edits.jobs import SetMinMember
from vsched.explain.edits.nodes import AddNodes
from vsched.explain.edits.pods import SetRequest
from vsched.explain.records import Change
from vsched.framework.cycle import run_cycle
from vsched.model.frozen import freeze
from vsched.model.jobs.advice import Advice, advised
from vsched.settings.built_in import REGISTRY
from vsched.sim.cluster import Cluster
from vsched.web.snapshots import FrozenSnapshot

QUICK = AdvisorSettings(round_seconds=0.02, part=1.0, patience_seconds=0.0, incomplete_seconds=0.0)
OFTEN = ObserveSettings(advice=QUICK)


def said(daemon: Daemon, key: str) -> str:
    outcome = daemon.telemetry.findings.jobs.get(key)
    return "" if outcome is None else outcome.message


def condition(cluster: Cluster, name: str) -> str:
    found = condition_of(cluster.client.get(PODGROUPS, "default", name), "Unschedulable")
    return str(found.get("message", ""))


async def test_advice_reaches_the_condition_of_the_podgroup() -> None:
    async with Cluster([node("n1", cpu="6")]) as cluster, scheduling(cluster.url, observing=OFTEN) as daemon:
        cluster.apply(
            [
                queue("research", capability={"cpu": "1"}),
                podgroup("capped", 2, queue="research"),
                *(pod(f"capped-{number}", "capped") for number in range(2)),
            ]
        )
        await until(lambda: "would start with minMember 1" in condition(cluster, "capped"))
        told = condition(cluster, "capped")
        assert told.startswith("queue research may hold 1 cpu at most: 2 asked; would start with ")
        assert told.endswith(", or 1 more cpu in queue research (capability 2)")
        assert told == said(daemon, "default/capped")


async def test_advice_goes_with_the_reason_it_was_for() -> None:
    async with Cluster([node("n1", cpu="6")]) as cluster, scheduling(cluster.url, observing=OFTEN) as daemon:
        cluster.apply(gang("train", 8))
        await until(lambda: "would start with" in said(daemon, "default/train"))
        cluster.apply([node("n2", cpu="4")])
        await until(lambda: len(nodes_of(cluster, "train")) == 8)
        assert "would start" not in said(daemon, "default/train")
        await until(lambda: not daemon.mirror.snapshot(NOW).advice)


async def test_no_advice_is_looked_for_where_nobody_wants_any() -> None:
    async with Cluster([node("n1", cpu="6")]) as cluster, scheduling(cluster.url, advise=False) as daemon:
        cluster.apply(gang("train", 8))
        await until(lambda: said(daemon, "default/train"))
        assert not any(task.name == "advice" for task in daemon.tasks)


# -- rounds -----------------------------------------------------------------------------------------------------------


class Desk:
    """An advisor over a mirror, whose sessions are run by hand."""

    def __init__(self, text: str, settings: AdvisorSettings = QUICK) -> None:
        self._cache = mirror(manifests(text))
        self.telemetry = Telemetry(FakeClock())
        self.snapshots = SnapshotService(lambda: None)
        self.given: list[Mapping[str, Advice]] = []
        self.advisor = Advisor(self.snapshots, REGISTRY, self._take, self.telemetry, settings)

    def _take(self, advice: Mapping[str, Advice]) -> None:
        self.given.append(advice)
        self._cache.inputs.advise(advice)

    async def session(self) -> dict[str, str]:
        """One session; what it says of jobs."""
        snapshot = self._cache.snapshot(NOW)
        asked = self.snapshots.begin()
        report = run_cycle(snapshot, DEFAULT_POLICY, REGISTRY)
        list(self.telemetry.findings.taking(snapshot, report, []))
        await self.snapshots.end(asked, snapshot, DEFAULT_POLICY, report)
        return {key: outcome.message for key, outcome in report.jobs.items()}

    async def sessions(self, number: int) -> dict[str, str]:
        """Sessions while the advisor works; what the last one says."""
        task = asyncio.create_task(self.advisor.run())
        try:
            told: dict[str, str] = {}
            for _ in range(number):
                told = await self.session()
                await asyncio.sleep(0.05)
            return told
        finally:
            task.cancel()

    async def sessions_until(self, seen: Callable[[dict[str, str]], bool], more: int = 3) -> dict[str, str]:
        """Sessions while the advisor works, until what they say or what came of it is seen, and a few more."""
        task = asyncio.create_task(self.advisor.run())
        try:
            async with asyncio.timeout(60.0):
                told = await self.session()
                while not seen(told):
                    await asyncio.sleep(0.02)
                    told = await self.session()
            for _ in range(more):
                await asyncio.sleep(0.05)
                told = await self.session()
            return told
        finally:
            task.cancel()

    def searches(self) -> float:
        """How many jobs were looked at."""
        return sum(
            self.telemetry.registry.get_sample_value("vsched_advice_searches_total", {"result": result}) or 0.0
            for result in ("found", "nothing", "cut short")
        )


LONG_QUEUE = "node n1 cpu=1\n" + "\n".join(
    f"job x/j{number} min=2 pods=2 cpu=1 age={99 - number}" for number in range(9)
)


async def test_those_at_the_front_are_looked_at_first() -> None:
    desk = Desk(LONG_QUEUE, msgspec.structs.replace(QUICK, round_seconds=60.0, jobs_per_round=2))
    await desk.sessions_until(lambda told: bool(desk.given))
    assert [sorted(advice) for advice in desk.given] == [["x/j0", "x/j1"]]


async def test_everybody_gets_a_turn_and_then_nobody_is_looked_at_again_for_a_while() -> None:
    desk = Desk(LONG_QUEUE, msgspec.structs.replace(QUICK, jobs_per_round=3))
    await desk.sessions_until(
        lambda told: all("would start with minMember 1" in message for message in told.values()), more=5
    )
    assert desk.searches() == 9
    assert len(desk.given) == 3, "what stays as it is is not handed on again"


async def test_where_too_many_wait_nobody_is_looked_at() -> None:
    desk = Desk(LONG_QUEUE, msgspec.structs.replace(QUICK, waiting_max=8))
    await desk.sessions(6)
    assert desk.searches() == 0


@pytest.mark.real_time
async def test_work_is_a_small_part_of_the_time() -> None:
    desk = Desk(LONG_QUEUE, msgspec.structs.replace(QUICK, part=0.000_1, jobs_per_round=1))
    await desk.sessions_until(lambda told: desk.searches() > 0)
    assert desk.searches() == 1, "the pause after a search is ten thousand times as long as it took"


@pytest.mark.real_time
async def test_a_search_stands_aside_while_a_session_is_under_way() -> None:
    desk = Desk(LONG_QUEUE)
    task = asyncio.create_task(desk.advisor.run())
    try:
        await desk.session()
        await asyncio.sleep(0.1)
        await desk.session()
        desk.snapshots.begin()
        await asyncio.sleep(0.3)
        before = desk.searches()
        await asyncio.sleep(0.3)
        assert desk.searches() == before
        desk.snapshots.fail([])
        async with asyncio.timeout(20.0):
            while desk.searches() <= before:
                await asyncio.sleep(0.02)
                await desk.session()
    finally:
        task.cancel()


async def test_an_error_in_a_round_is_told_and_slept_over() -> None:
    desk = Desk(LONG_QUEUE)
    settings = msgspec.structs.replace(QUICK, pause_seconds=0.01, jobs_per_round=1)

    def refuse(advice: Mapping[str, Advice]) -> None:
        raise ValueError("no more of it")

    desk.advisor = Advisor(desk.snapshots, REGISTRY, refuse, desk.telemetry, settings)
    with capture_logs() as told:
        problem = "ValueError: no more of it"
        await desk.sessions_until(lambda _: [line.get("problem") for line in told].count(problem) > 1, more=0)


@pytest.mark.parametrize(
    ("headline", "seconds", "changed", "due"),
    [
        pytest.param("the gang needs 8, 6 fit", 1.0, False, False, id="nothing has changed"),
        pytest.param("the gang needs 8, 6 fit", 61.0, False, False, id="nothing has, for a minute"),
        pytest.param("the gang needs 8, 6 fit", 61.0, True, True, id="queues have, a minute ago"),
        pytest.param("the gang needs 8, 6 fit", 3601.0, False, True, id="nothing has, for an hour"),
        pytest.param("the gang needs 8, 5 fit", 1.0, False, False, id="a number, a moment ago"),
        pytest.param("the gang needs 8, 5 fit", 6.0, False, True, id="a number, a while ago"),
        pytest.param("queue q is Closed", 0.0, False, True, id="the reason"),
    ],
)
def test_a_job_is_looked_at_again_when_what_helps_may_have_changed(
    headline: str, seconds: float, changed: bool, due: bool
) -> None:
    looked = Looked("the gang needs 8, 6 fit", 100.0)
    assert looked.is_due(headline, 100.0 + seconds, 101.0 if changed else 99.0, AdvisorSettings()) is due


# -- words ------------------------------------------------------------------------------------------------------------


def test_only_those_count_as_waiting_who_do_not_start_by_themselves() -> None:
    text = """
node n1 cpu=2
pods x/old 1 cpu=1 on=n1 leaving
job x/soon min=2 pods=2 cpu=1 phase=Inqueue age=9
job x/waits min=3 pods=3 cpu=1 phase=Inqueue age=9
job x/young min=4 pods=4 cpu=1 phase=Inqueue age=0
job x/making min=4 pods=1 cpu=1 phase=Inqueue age=9
job x/empty min=1 age=9 phase=Inqueue
"""
    snapshot = freeze(mirror(manifests(text)).snapshot(NOW))
    frozen = FrozenSnapshot(snapshot, DEFAULT_POLICY, run_cycle(snapshot, DEFAULT_POLICY, REGISTRY), 1)
    for incomplete_seconds, keys in ((10.0, ["x/waits"]), (8.0, ["x/making", "x/waits"])):
        settings = AdvisorSettings(patience_seconds=1.0, incomplete_seconds=incomplete_seconds)
        assert sorted(key for key, _ in waiting_jobs(frozen, settings)) == keys


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        pytest.param((), "", id="nothing helps"),
        pytest.param((("fewer", True),), "fewer", id="one change"),
        pytest.param(
            (("fewer", True), ("smaller", True), ("a node", False)), "fewer, or a node", id="one of each side"
        ),
        pytest.param((("a node", False), ("two", False)), "a node", id="of one side the smallest alone"),
    ],
)
def test_advice_is_the_smallest_change_of_each_side(changes: tuple[tuple[str, bool], ...], sentence: str) -> None:
    mine, theirs = (SetMinMember("x/b", 1), SetRequest("x/b", "cpu", 1)), (AddNodes("n1", 1),)
    assert sentence_of([Change(message, mine if own else theirs) for message, own in changes]) == sentence


@pytest.mark.parametrize(
    ("now", "shown"),
    [
        pytest.param("the gang needs 8, 6 fit", True, id="as it was"),
        pytest.param("the gang needs 8, 5 fit", False, id="other numbers, for which other changes may be needed"),
        pytest.param("queue q is Closed", False, id="another reason"),
        pytest.param("", False, id="nothing to say"),
    ],
)
def test_advice_is_said_while_its_reason_stands(now: str, shown: bool) -> None:
    advice = Advice("the gang needs 8, 6 fit", "minMember 6")
    assert advised(now, advice) == (f"{now}; would start with minMember 6" if shown else now)
