"""Every figure of a shadow is worked out a second time from the event log of the cluster.

The scheduler in charge is the test: it binds and evicts what it is told to. Time passes by a clock of the test, so the
figures have to agree to the last digit that is kept.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from tests.daemon.shadow.stage import BOUNDS, CPU, Seen, Stage, stage
from tests.support.owners import queue
from tests.support.running import node
from tests.support.shadowing import shadowing, volcanos
from tests.support.waiting import until
from vsched.clock import FakeClock
from vsched.daemon.loop.stepping import Steps
from vsched.daemon.shadow.app import ShadowSettings
from vsched.daemon.shadow.segments import logged
from vsched.framework.codes import Code
from vsched.shadow.findings import ALIKE_SECONDS
from vsched.shadow.summary import Comparing, summed
from vsched.sim.cluster import Cluster

PREEMPTING = """
actions: "enqueue, allocate, preempt, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}]
- plugins: [{name: predicates}, {name: nodeorder}]
"""


def gang_of(pod: str) -> str:
    return pod.split("-")[0]


class Figures(NamedTuple):
    """What the event log says."""

    started: int
    later: dict[str, float]
    alike: set[str]
    waiting: dict[str, float]
    idle_cpu: float
    evictions: int
    partials: dict[str, float]


def figures(seen: list[Seen], minima: dict[str, int]) -> Figures:
    """The figures from the states that sessions saw, worked out as plainly as possible."""
    decided: dict[str, float] = {}
    started: dict[str, float] = {}
    partial_since: dict[str, float] = {}
    partials: dict[str, float] = {}
    idle, evictions = 0.0, 0
    before: Seen | None = None
    for now in seen:
        counts: defaultdict[str, int] = defaultdict(int)
        for pod in now.nodes:
            counts[gang_of(pod)] += 1
        if before is not None and now.at - before.at <= BOUNDS.gap_seconds:
            for bind in before.binds:
                job = gang_of(bind.name)
                with_it = sum(gang_of(one.name) == job for one in before.binds)
                there = sum(gang_of(pod) == job for pod in before.nodes)
                if there < minima[job] <= there + with_it:
                    idle += (now.at - before.at) / CPU
        for job, minimum in minima.items():
            if counts[job] >= minimum:
                if job not in started:
                    started[job] = now.at
            elif started.pop(job, None) is not None:
                decided.pop(job, None)
            if 0 < counts[job] < minimum:
                partial_since.setdefault(job, now.at)
            elif job in partial_since:
                lasted = now.at - partial_since.pop(job)
                if lasted > BOUNDS.partial_seconds:
                    partials[job] = lasted
            binds = sum(gang_of(bind.name) == job for bind in now.binds)
            if counts[job] < minimum <= counts[job] + binds:
                decided.setdefault(job, now.at)
        if before is not None:
            evictions += len(now.evicted - before.evicted)
        before = now
    last = seen[-1].at
    delays = {job: at - decided[job] for job, at in started.items() if job in decided}
    return Figures(
        len(started),
        {f"default/{job}": delay for job, delay in delays.items() if delay > ALIKE_SECONDS},
        {job for job, delay in delays.items() if delay <= ALIKE_SECONDS},
        {f"default/{job}": last - at for job, at in decided.items() if job not in started},
        idle,
        evictions,
        {f"default/{job}": lasted for job, lasted in partials.items()},
    )


def agree(shown: Comparing, wanted: Figures) -> None:
    assert {one.job: one.later_seconds for one in shown.later} == pytest.approx(wanted.later)
    starts = shown.starts
    assert starts.later + starts.alike + starts.waits_here + starts.unseen == wanted.started
    assert sum(day.later_seconds for day in shown.days) == pytest.approx(starts.later_seconds)
    assert sum(day.partials for day in shown.days) == shown.partials
    assert shown.starts.later == len(wanted.later)
    assert shown.starts.later_seconds == pytest.approx(sum(wanted.later.values()))
    assert shown.starts.alike == len(wanted.alike)
    assert {one.job: one.seconds for one in shown.waiting} == pytest.approx(wanted.waiting)
    assert shown.idle.get("cpu", 0.0) == pytest.approx(wanted.idle_cpu)
    assert {one.job: one.at - one.since for one in shown.partial} == pytest.approx(wanted.partials)
    assert shown.partials == len(wanted.partials)
    assert shown.partial_seconds == pytest.approx(sum(wanted.partials.values()))


async def test_waits_idle_nodes_and_partial_gangs_are_those_of_the_event_log(tmp_path: Path) -> None:
    async with stage(tmp_path) as at:
        await at.session(1.0)
        at.submit("slow", 3)
        await at.session(1.0)
        await at.session(9.0)
        for number in range(2):
            await at.bind(f"slow-{number}", "n0")
        for _ in range(4):
            await at.session(8.0)  # a partial gang: two of three pods hold a node
        await at.bind("slow-2", "n1")
        await at.session(2.0)
        at.submit("quick", 2)
        await at.session(1.0)
        for number in range(2):
            await at.bind(f"quick-{number}", "n1")
        await at.session(1.0)
        at.submit("still", 1)
        await at.session(1.0)
        await at.session(11.0)
        wanted = figures(at.seen, at.minima)
        assert wanted.later.keys() == {"default/slow"}
        assert wanted.later["default/slow"] == 9.0 + 4 * 8.0 + 2.0
        assert wanted.alike == {"quick"}
        assert wanted.waiting == {"default/still": 11.0}
        assert wanted.partials == {"default/slow": 26.0}
        shown = at.shadow.lookout.shown()
        agree(shown, wanted)
        assert shown.gaps == 0
    agree(summed(logged(tmp_path)).shown(), wanted)


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_figures_of_a_random_course_are_those_of_the_event_log(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    async with stage(tmp_path, nodes=3) as at:
        await at.session(1.0)
        for number in range(30):
            chance = random.random()
            waiting = [
                pod["metadata"]["name"] for pod in at.cluster.client.list("pods") if not pod["spec"].get("nodeName")
            ]
            if chance < 0.4 or not waiting:
                at.submit(f"g{number}", random.randint(1, 3))
            elif chance < 0.8:
                for pod in random.sample(waiting, random.randint(1, len(waiting))):
                    free = [
                        name for name in ("n0", "n1", "n2") if sum(one == name for one in _nodes(at).values()) < CPU
                    ]
                    if free:
                        await at.bind(pod, random.choice(free))
            await at.session(random.choice((0.5, 1.0, 3.0, 10.0, 20.0)))
        wanted = figures(at.seen, at.minima)
        assert wanted.later
        assert wanted.idle_cpu
        agree(at.shadow.lookout.shown(), wanted)
    agree(summed(logged(tmp_path)).shown(), wanted)


def _nodes(at: Stage) -> dict[str, str]:
    return {
        pod["metadata"]["name"]: pod["spec"]["nodeName"]
        for pod in at.cluster.client.list("pods")
        if pod["spec"].get("nodeName")
    }


async def test_an_eviction_is_in_vain_where_its_victim_is_back_and_nobody_that_waited_has_started(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path) as at:
        for name, size in (("first", 4), ("second", 4)):
            at.submit(name, size)
        await at.session(1.0)
        for number in range(4):
            await at.bind(f"first-{number}", "n0")
            await at.bind(f"second-{number}", "n1")
        await at.session(1.0)
        at.submit("urgent", 1)
        await at.session(1.0)
        for victim in ("first-0", "second-0"):
            await at.evict(victim)
            await at.session(1.0)
            await until(lambda victim=victim: at.cluster.client.get("pods", "default", victim) is None)
        await at.bind("urgent-0", "n0")
        at.cluster.apply(volcanos("second", 4)[1:2])  # its controller makes the pod again
        await at.session(1.0)
        await at.bind("second-0", "n1")
        await at.session(1.0)
        assert figures(at.seen, at.minima).evictions == 2
        assert at.shadow.lookout.shown().evictions.all == 0, "their time is not over"
        await at.session(10.0)
        await at.session(10.0)
        shown = at.shadow.lookout.shown()
        assert (shown.evictions.all, shown.evictions.in_vain) == (2, 1)
        (in_vain,) = shown.in_vain
        (seen,) = {state.at for state in at.seen if "second-0" in state.evicted}
        assert (in_vain.pod, in_vain.node, in_vain.since) == ("default/second-0", "n1", seen)


async def test_a_pod_that_is_deleted_by_its_owner_is_no_eviction(tmp_path: Path) -> None:
    async with stage(tmp_path) as at:
        at.submit("gang", 1)
        await at.session(1.0)
        await at.bind("gang-0", "n0")
        await at.session(1.0)
        at.cluster.client.delete("pods", "default", "gang-0")
        for _ in range(4):
            await at.session(10.0)
        assert at.shadow.lookout.shown().evictions.all == 0


async def test_a_gang_that_starts_there_against_the_candidate_policy_waits_here_with_the_reason(tmp_path: Path) -> None:
    async with stage(tmp_path) as at:
        at.cluster.apply([queue("default", capability={"cpu": "1"})])
        at.submit("large", 2)
        at.submit("small", 1)
        await at.session(1.0)
        for number in range(2):
            await at.bind(f"large-{number}", "n0")
        await at.session(1.0)
        shown = at.shadow.lookout.shown()
        (worse,) = shown.waits_here
        assert (worse.job, worse.since, worse.at) == ("default/large", at.seen[0].at, at.seen[1].at)
        assert worse.code == Code.QUEUE_CAPABILITY.value
        assert shown.starts.waits_here == 1
        assert {one.job for one in shown.waiting} == {"default/small"}


async def test_a_gang_that_starts_before_it_was_seen_waiting_is_unseen(tmp_path: Path) -> None:
    async with stage(tmp_path) as at:
        await at.session(1.0)
        at.submit("sudden", 2)
        for number in range(2):
            await at.bind(f"sudden-{number}", "n0")
        await at.session(1.0)
        starts = at.shadow.lookout.shown().starts
        assert (starts.unseen, starts.later, starts.alike, starts.waits_here) == (1, 0, 0, 0)


async def test_pods_that_the_candidate_would_evict_are_counted_once(tmp_path: Path) -> None:
    preempting = tmp_path / "policy.yaml"
    preempting.write_text(PREEMPTING)
    async with stage(tmp_path / "log", nodes=1, policy_file=preempting) as at:
        at.cluster.apply(
            [
                {
                    "apiVersion": "scheduling.k8s.io/v1",
                    "kind": "PriorityClass",
                    "metadata": {"name": "high"},
                    "value": 1000,
                }
            ]
        )
        at.cluster.apply(volcanos("low", 4, 1))
        await at.session(1.0)
        for number in range(4):
            await at.bind(f"low-{number}", "n0")
        await at.session(1.0)
        urgent = volcanos("urgent", 1)
        urgent[0]["spec"]["priorityClassName"] = "high"
        at.cluster.apply(urgent)
        for _ in range(3):
            await at.session(1.0)
        assert not at.seen[-1].binds
        shown = at.shadow.lookout.shown()
        (victim,) = shown.would_evict
        assert (victim.job, victim.beneficiary, victim.action) == ("default/low", "default/urgent", "preempt")
        assert shown.would_evict_pods == victim.pods > 0


async def test_shares_of_queues_are_what_they_hold_of_what_they_deserve(tmp_path: Path) -> None:
    async with stage(tmp_path) as at:
        at.cluster.apply([queue("other", weight=1), queue("default", weight=1)])
        for name in ("default", "other"):
            made = volcanos(f"of{name}", 6)
            made[0]["spec"] |= {"queue": name, "minMember": 1}
            at.minima[f"of{name}"] = 1
            at.cluster.apply(made)
        await at.session(1.0)
        for number in range(6):
            await at.bind(f"ofdefault-{number}", f"n{number % 2}")
        await at.session(1.0)
        await at.session(10.0)
        default, other = at.shadow.lookout.shown().queues
        # Each deserves half of the 8 cpu: for ten of eleven seconds one holds 6 of its 4, and the other nothing.
        assert (default.queue, other.queue) == ("default", "other")
        assert default.share == pytest.approx(6 / 4 * 10 / 11)
        assert (default.seconds, default.short_seconds) == pytest.approx((11.0, 1.0))
        assert (other.share, other.short_seconds) == pytest.approx((0.0, 11.0))


async def test_a_restart_goes_on_with_the_log_and_says_what_was_not_seen(tmp_path: Path) -> None:
    clock, settings, began = FakeClock(), ShadowSettings(comparison=BOUNDS), 0.0
    async with Cluster([node("n0")]) as cluster:
        cluster.apply(volcanos("waits", 1))
        for _ in range(2):
            trigger = Steps()
            async with shadowing(
                cluster, settings=settings, clock=clock, trigger=trigger, shadow_log=tmp_path
            ) as shadow:
                await until(lambda shadow=shadow: shadow.mirror.describe()["tasks"] and shadow.health.ready().ok)
                began = began or clock.now()
                await trigger.step()
                clock.advance(10.0)
                await trigger.step()
                shown = shadow.lookout.shown()
                trigger.release()
            clock.advance(100.0)
    assert (shown.gaps, shown.gap_seconds) == (1, 100.0)
    assert [(one.job, one.decided, one.seconds) for one in shown.waiting] == [("default/waits", began, 120.0)]
