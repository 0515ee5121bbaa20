"""A rollout in one shard of several: judged there, through kills, while the others keep the policy."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from random import Random
from typing import Any

import pytest

from tests.daemon.preempting import QUICK_TO_GO
from tests.daemon.rollouts import (
    BETTER,
    IN_SHARD,
    LONG_SECONDS,
    WITHOUT_STARTS,
    ended,
    is_in,
    opened,
    order,
    state,
    the_map,
)
from tests.support.builders import merged
from tests.support.examples import seeds
from tests.support.replicas import LEASES, WATCHFUL, Replica, replica
from tests.support.running import gang, node, nodes_of
from tests.support.sharded import held, of_queue, queue
from tests.support.waiting import until
from vsched.daemon.policy.rollout.machine import RolloutPhase
from vsched.sim.cluster import Cluster

Obj = dict[str, Any]


def in_force(found: Replica) -> bool:
    return found.daemon.policy.settings is not found.daemon.policy.own


@pytest.mark.parametrize("candidate", [BETTER, WITHOUT_STARTS], ids=["good", "bad"])
async def test_in_one_shard_a_candidate_is_judged_through_kills_while_the_others_keep_the_policy(
    candidate: str,
) -> None:
    draw, clock, runs = Random(*seeds(1, f"rollout of a shard {candidate}")), 0.0, 0
    options: dict[str, Any] = {"shards": 2, "lease": WATCHFUL, "period_seconds": 30.0, "policy": opened}
    nodes = [node(f"n{number}", cpu="200") for number in range(4)]
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(Cluster(nodes, settings=QUICK_TO_GO))
        cluster.apply([the_map(candidate, IN_SHARD), queue("a", 0), queue("b", 1)])
        first = await stack.enter_async_context(replica(cluster.url, **options))

        def waits() -> bool:
            """Whether one daemon has both shards, and knows it."""
            written = state(cluster)
            return held(first) == [0, 1] and written is not None and not written.alone and not in_force(first)

        while not ended(cluster):
            await until(waits, LONG_SECONDS)
            written = state(cluster)
            assert written is not None
            assert written.clock >= clock
            clock, runs = written.clock, runs + 1
            async with replica(cluster.url, **options) as second:
                await until(lambda: held(second) == [1], LONG_SECONDS)
                await until(lambda: in_force(second) or ended(cluster), LONG_SECONDS)
                await asyncio.sleep(2.0)  # creation times are in whole seconds, and earlier pods are not measured
                for name in "ab":
                    cluster.apply(of_queue(name, gang(f"{name}{runs}", 1)))
                await until(lambda: f"a{runs}-0" in nodes_of(cluster))  # noqa: B023
                assert not in_force(first) or is_in(cluster, RolloutPhase.COMPLETE)
                await asyncio.sleep(draw.uniform(1.0, 150.0))
            cluster.client.patch(LEASES, "kube-system", "vsched-1", as_free)
        assert is_in(cluster, RolloutPhase.COMPLETE if candidate is BETTER else RolloutPhase.TAKEN_BACK)
        await until(lambda: in_force(first) is (candidate is BETTER))
        await until(lambda: len(nodes_of(cluster, "b")) == runs)
        order(cluster, "take-back")
        await until(lambda: not in_force(first))


def as_free(lease: Obj) -> Obj:
    """A Lease that has run out, as that of a daemon that is dead does."""
    return merged(lease, {"spec": {"holderIdentity": ""}})
