"""Rollouts at the embedded cluster: good candidates are promoted, bad ones taken back, and a kill changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from random import Random
from typing import Any

import msgspec
import pytest

from tests.daemon.preempting import POLICY as PREEMPTING
from tests.daemon.preempting import QUICK_TO_GO, of_class, priority_class
from tests.daemon.rollouts import (
    ALL,
    AT,
    BETTER,
    IN_SHARD,
    LONG_SECONDS,
    POLICY,
    WITHOUT_STARTS,
    ended,
    is_in,
    opened,
    order,
    state,
    the_map,
    told,
)
from tests.support.examples import THOROUGH, seeds
from tests.support.running import gang, node, nodes_of, pod, scheduling
from tests.support.waiting import until
from vsched.daemon.app import Daemon
from vsched.daemon.options import Options
from vsched.daemon.policy.rollout.machine import RolloutPhase, RolloutState
from vsched.daemon.policy.rollout.reading import STATE, shown
from vsched.daemon.words import rollout as words
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.settings.built_in import REGISTRY
from vsched.settings.words.rollout import WITHOUT_SHARDS, no_shard
from vsched.sim.cluster import Cluster

Obj = dict[str, Any]
SOON_SECONDS = 50.0
"""Until the first pod comes, the limit of waits, and two looks."""


def at_first(cluster: Cluster) -> bool:
    """Whether it is in its first step."""
    written = state(cluster)
    return written is not None and written.step == 0


def edit(cluster: Cluster, **data: str | None) -> None:
    def edited(before: Obj) -> Obj:
        kept = {**before["data"], **data}
        return {**before, "data": {key: value for key, value in kept.items() if value is not None}}

    cluster.client.patch("configmaps", AT.namespace, AT.name, edited)


@asynccontextmanager
async def rolling(config_map: Obj, nodes: int = 2, **options: Any) -> AsyncIterator[tuple[Cluster, Daemon]]:
    """A daemon that carries out the rollout of a ConfigMap, and a pod every ten seconds."""
    async with Cluster([node(f"n{number}", cpu="200") for number in range(nodes)], settings=QUICK_TO_GO) as cluster:
        cluster.client.create("configmaps", config_map)
        async with ApiClient(Connection(cluster.url)) as client:
            quiet = {"period_seconds": 30.0, **options}
            async with scheduling(cluster.url, policy=await opened(client), **quiet) as daemon, arrivals(cluster):
                yield cluster, daemon


@asynccontextmanager
async def arrivals(cluster: Cluster, every_seconds: float = 10.0) -> AsyncIterator[None]:
    async def arrive() -> None:
        for number in range(10_000):
            cluster.client.create("pods", pod(f"p{number}", cpu="100m"))
            await asyncio.sleep(every_seconds)

    arriving = asyncio.create_task(arrive())
    try:
        yield
    finally:
        arriving.cancel()


async def test_a_good_candidate_is_in_force_for_all_its_steps_and_stays() -> None:
    async with rolling(the_map(BETTER)) as (cluster, daemon):
        await until(lambda: is_in(cluster, RolloutPhase.RUNNING))
        assert "binpack" in str(daemon.policy.settings.to_dict())
        await until(lambda: is_in(cluster, RolloutPhase.COMPLETE), LONG_SECONDS)
        await until(lambda: told(cluster, "RolloutComplete") == [words.COMPLETE])
        await until(lambda: len(told(cluster, "RolloutStep")) == 2)
        assert "binpack" in str(daemon.policy.to_dict()["policy"])


async def test_a_rollout_within_a_baseline_begins_with_measuring_it() -> None:
    relative = ALL.replace('"<= 30s"', '"<= 1000 % of baseline"') + "baseline: 1m\n"
    async with rolling(the_map(BETTER, relative)) as (cluster, daemon):
        await until(lambda: is_in(cluster, RolloutPhase.BASELINE))
        assert daemon.policy.settings.policy == daemon.policy.own.policy
        await until(lambda: is_in(cluster, RolloutPhase.RUNNING), LONG_SECONDS)
        written = state(cluster)
        assert written is not None
        assert 60.0 <= written.clock < 120.0
        assert "wait p95" in written.baseline


async def test_a_candidate_under_which_nothing_starts_is_taken_back_as_soon_as_pods_wait_too_long() -> None:
    async with rolling(the_map(WITHOUT_STARTS)) as (cluster, daemon):
        await until(lambda: is_in(cluster, RolloutPhase.RUNNING))
        await until(lambda: is_in(cluster, RolloutPhase.TAKEN_BACK), SOON_SECONDS)
        [message] = await until(lambda: told(cluster, "RolloutTakenBack"))
        assert message.startswith("wait p95: measured ")
        assert "promised <= 30s" in message
        assert daemon.policy.settings is daemon.policy.own
        await until(lambda: len(nodes_of(cluster)) == len(cluster.client.list("pods")))


async def test_a_candidate_that_evicts_more_than_promised_is_taken_back() -> None:
    config_map = the_map(PREEMPTING, policy=POLICY)
    async with (
        Cluster([node("n1", cpu="4")], settings=QUICK_TO_GO) as cluster,
        ApiClient(Connection(cluster.url)) as client,
    ):
        cluster.client.create("configmaps", config_map)
        cluster.client.create("scheduling.k8s.io/priorityclasses", priority_class("high", 100))
        for each in gang("low", 4, minimum=1):
            cluster.client.create("pods" if each["kind"] == "Pod" else "scheduling.volcano.sh/podgroups", each)
        async with scheduling(cluster.url, policy=await opened(client)) as daemon:
            await until(lambda: is_in(cluster, RolloutPhase.RUNNING) and len(nodes_of(cluster)) == 4)
            for each in of_class("high", gang("high", 1)):
                cluster.client.create("pods" if each["kind"] == "Pod" else "scheduling.volcano.sh/podgroups", each)
            await until(lambda: is_in(cluster, RolloutPhase.TAKEN_BACK), SOON_SECONDS)
            [message] = await until(lambda: told(cluster, "RolloutTakenBack"))
            assert message.startswith("evictions per hour: measured 1, promised <= 0")
            assert daemon.policy.settings is daemon.policy.own


async def test_where_it_is_not_to_be_taken_back_the_step_is_held() -> None:
    async with rolling(the_map(WITHOUT_STARTS, ALL + "takeBack: false\n")) as (cluster, daemon):
        await until(lambda: is_in(cluster, RolloutPhase.HELD), LONG_SECONDS)
        assert daemon.policy.settings is not daemon.policy.own
        await until(lambda: told(cluster, "RolloutHeld"))
        before = state(cluster)
        await asyncio.sleep(100.0)
        after = state(cluster)
        assert before is not None
        assert after is not None
        assert (after.phase, after.step, after.served) == (RolloutPhase.HELD, 0, before.served)


KILLS = 50 if THOROUGH else 10


@pytest.mark.parametrize("candidate", [BETTER, WITHOUT_STARTS], ids=["good", "bad"])
async def test_kills_do_not_change_how_a_rollout_ends(candidate: str) -> None:
    draw, kills = Random(*seeds(1, f"killed rollouts {candidate}")), 0
    steps = ALL.replace("1m", "5m")
    nodes = [node(f"n{number}", cpu="200") for number in range(4)]
    async with Cluster(nodes, settings=QUICK_TO_GO) as cluster, arrivals(cluster, 30.0):
        cluster.client.create("configmaps", the_map(candidate, steps))
        reached, clock = (-1, 0), 0.0
        while kills < KILLS or not ended(cluster):
            assert kills < 10 * KILLS, "it does not come to its end"
            async with ApiClient(Connection(cluster.url)) as client:
                options = Options(listen_address="", healthz_address="", period_seconds=30.0)
                daemon = Daemon(options, client, REGISTRY, policy=await opened(client))
                running = asyncio.create_task(daemon.run())
                await asyncio.sleep(draw.uniform(0.01, 150.0))
                running.cancel()
                kills += 1
                with suppress(asyncio.CancelledError):
                    await running
            written = state(cluster)
            if written is not None:
                here = (ended(cluster), written.step)
                assert here >= reached
                assert written.clock >= clock
                reached, clock = here, written.clock
        assert is_in(cluster, RolloutPhase.COMPLETE if candidate is BETTER else RolloutPhase.TAKEN_BACK)
        if candidate is BETTER:
            assert clock >= 2 * 5 * 60


async def test_an_edit_of_the_candidate_begins_anew_and_is_told() -> None:
    async with rolling(the_map(WITHOUT_STARTS)) as (cluster, daemon):
        await until(lambda: is_in(cluster, RolloutPhase.TAKEN_BACK), LONG_SECONDS)
        edit(cluster, candidate=BETTER)
        await until(lambda: is_in(cluster, RolloutPhase.RUNNING))
        await until(lambda: any("begins anew" in message for message in told(cluster, "RolloutStep")))
        assert daemon.policy.settings is not daemon.policy.own


async def test_an_edit_of_the_policy_begins_anew() -> None:
    async with rolling(the_map(BETTER)) as (cluster, daemon):
        await until(lambda: is_in(cluster, RolloutPhase.COMPLETE), LONG_SECONDS)
        edit(cluster, conf=POLICY + "schedulePeriod: 250ms\n")
        await until(lambda: is_in(cluster, RolloutPhase.RUNNING))
        assert daemon.policy.own.period_seconds == 0.25


@pytest.mark.parametrize("nonsense", ["", "[]", "steps"], ids=["nothing", "another document", "a step too far"])
async def test_a_state_that_makes_no_sense_begins_anew(nonsense: str) -> None:
    async with Cluster([node("n1")]) as cluster, ApiClient(Connection(cluster.url)) as client:
        cluster.client.create("configmaps", the_map(BETTER))
        policy = await opened(client)
        assert policy.rollout is not None
        far = msgspec.json.encode(RolloutState(policy.rollout.id, RolloutPhase.RUNNING, step=7, steps=9)).decode()
        text = far if nonsense == "steps" else nonsense

        def noted(before: Obj) -> Obj:
            return {**before, "metadata": {**before["metadata"], "annotations": {STATE: text}}}

        cluster.client.patch("configmaps", AT.namespace, AT.name, noted)
        async with scheduling(cluster.url, policy=policy):
            await until(lambda: is_in(cluster, RolloutPhase.RUNNING) and at_first(cluster))


async def test_without_its_key_the_rollout_ends_and_the_policy_is_in_force() -> None:
    async with rolling(the_map(BETTER)) as (cluster, daemon):
        await until(lambda: is_in(cluster, RolloutPhase.RUNNING))
        edit(cluster, rollout=None)
        await until(lambda: state(cluster) is None)
        assert daemon.policy.settings is daemon.policy.own
        await until(lambda: told(cluster, "RolloutEnded") == [words.ENDED])


@pytest.mark.parametrize(
    ("rollout", "candidate", "problem"),
    [
        pytest.param(ALL + "stpes: 1\n", BETTER, "rollout:11: stpes: unknown key; did you mean 'steps'?", id="a key"),
        pytest.param(ALL, "actions: nothing\n", "candidate:1: actions", id="a candidate that does not load"),
        pytest.param(ALL.replace("candidate: c", "candidate: k"), BETTER, "no key kandidate", id="no candidate"),
        pytest.param(ALL.replace("candidate: candidate", "candidate: conf"), BETTER, "conf is the key", id="itself"),
    ],
)
async def test_wrong_content_is_refused_with_its_line_and_the_policy_stays(
    rollout: str, candidate: str, problem: str
) -> None:
    async with rolling(the_map(candidate, rollout)) as (cluster, daemon):
        await until(lambda: told(cluster, "RolloutRefused"))
        assert problem in told(cluster, "RolloutRefused")[0]
        assert problem in str(daemon.policy.to_dict()["rollout"])
        assert daemon.policy.settings is daemon.policy.own
        edit(cluster, rollout=ALL, candidate=BETTER)
        await until(lambda: is_in(cluster, RolloutPhase.RUNNING))


@pytest.mark.parametrize(
    ("rollout", "options", "problem"),
    [
        pytest.param(ALL, {"shards": 2, "leader_elect": True}, "rollout:3: steps: " + no_shard(2), id="all of shards"),
        pytest.param(IN_SHARD, {}, "rollout:4: steps[0].shard: " + WITHOUT_SHARDS, id="a shard where there is none"),
    ],
)
async def test_a_rollout_for_what_this_daemon_does_not_decide_for_is_refused(
    rollout: str, options: dict[str, Any], problem: str
) -> None:
    async with rolling(the_map(BETTER, rollout), **options) as (cluster, daemon):
        await until(lambda: told(cluster, "RolloutRefused"), LONG_SECONDS)
        assert problem in told(cluster, "RolloutRefused")[0]
        assert daemon.policy.settings is daemon.policy.own


async def test_people_promote_and_take_back() -> None:
    async with rolling(the_map(BETTER)) as (cluster, daemon):
        await until(lambda: is_in(cluster, RolloutPhase.RUNNING))
        order(cluster, "promote")
        await until(lambda: is_in(cluster, RolloutPhase.COMPLETE))
        await until(lambda: told(cluster, "RolloutPromoted") == [words.PROMOTED])
        order(cluster, "take-back")
        await until(lambda: is_in(cluster, RolloutPhase.TAKEN_BACK))
        assert daemon.policy.settings is daemon.policy.own
        gauges = daemon.telemetry.registry
        assert gauges.get_sample_value("vsched_rollout_taken_back", {"name": ""}) == 1.0
        assert gauges.get_sample_value("vsched_rollout_in_force", {"name": ""}) == 0.0


async def test_what_is_shown_says_which_is_in_force_and_why() -> None:
    async with rolling(the_map(BETTER)) as (cluster, daemon):
        await until(lambda: is_in(cluster, RolloutPhase.RUNNING))
        written = state(cluster)
        assert written is not None
        document = daemon.policy.rollout_dict()
        assert document["phase"] == "Running"
        assert document.keys() == shown(written).keys()
        assert "the candidate is in force" in daemon.policy.rollout_told()


SHADOW = ALL.replace("- all: 1m\n- all: 1m", "- shadow: 1m\n- all: 1m")


async def test_in_a_shadow_step_the_candidate_decides_beside_and_is_not_in_force() -> None:
    async with rolling(the_map(BETTER, SHADOW)) as (cluster, daemon):
        await until(lambda: is_in(cluster, RolloutPhase.RUNNING))
        assert daemon.policy.settings is daemon.policy.own
        await until(lambda: told(cluster, "RolloutShadowed"), LONG_SECONDS)
        assert "had the same starts and evictions" in told(cluster, "RolloutShadowed")[0]
        await until(lambda: daemon.policy.settings is not daemon.policy.own)


async def test_a_candidate_that_would_evict_is_taken_back_before_it_does() -> None:
    async with (
        Cluster([node("n1", cpu="4")], settings=QUICK_TO_GO) as cluster,
        ApiClient(Connection(cluster.url)) as client,
    ):
        cluster.client.create("configmaps", the_map(PREEMPTING, SHADOW))
        cluster.client.create("scheduling.k8s.io/priorityclasses", priority_class("high", 100))
        low, high = gang("low", 4, minimum=1), of_class("high", gang("high", 1))
        async with scheduling(cluster.url, policy=await opened(client)):
            await until(lambda: is_in(cluster, RolloutPhase.RUNNING))
            for each in (*low, *high):
                cluster.client.create("pods" if each["kind"] == "Pod" else "scheduling.volcano.sh/podgroups", each)
                await until(lambda: len(nodes_of(cluster, "low")) == min(4, len(cluster.client.list("pods"))))
            await until(lambda: is_in(cluster, RolloutPhase.TAKEN_BACK), SOON_SECONDS)
            [message] = await until(lambda: told(cluster, "RolloutTakenBack"))
            assert message.startswith("evictions per hour: measured 1, promised <= 0")
            assert len(nodes_of(cluster, "low")) == 4
