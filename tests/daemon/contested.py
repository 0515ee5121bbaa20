"""A node whose only place a pod holds that another one, of a higher priority, needs: the one is asked to end for it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.daemon.preempting import POLICY, QUICK_TO_GO, of_class, priority_class
from tests.support.fault_proxy import faulty
from tests.support.running import PODGROUPS, WRITTEN_SOON, Obj, condition_of, gang, node, scheduling
from tests.support.waiting import until
from vsched.clock import utc_now
from vsched.sim.cluster import Cluster

NEW = of_class("high", gang("new", 1))
"""The job ``new`` of one pod, which needs the place."""


def preempting_policy(folder: Path) -> Path:
    """The file of a policy that preempts."""
    found = folder / "policy.yaml"
    found.write_text(POLICY)
    return found


def one_place() -> Cluster:
    """A cluster with room for one pod; pods that are deleted end at once."""
    return Cluster([node("n1", cpu="1")], settings=QUICK_TO_GO)


async def run_old(cluster: Cluster, old: list[Obj]) -> None:
    """Wait until the job ``old`` runs: a pod that does not run yet is evicted without being asked."""
    cluster.apply([priority_class("high", 9), *old])
    await until(lambda: runs(cluster, "old-0"))


def runs(cluster: Cluster, name: str) -> bool:
    """Whether a pod has been started."""
    found = cluster.client.get("pods", "default", name)
    return found is not None and found["status"].get("phase") == "Running"


@asynccontextmanager
async def contested(policy: Path, old: list[Obj], **options: Any) -> AsyncIterator[Cluster]:
    """A cluster where ``old`` runs and ``new`` has just been created, under a daemon with these options."""
    async with one_place() as cluster, scheduling(cluster.url, policy_file=policy, writeback=WRITTEN_SOON, **options):
        await run_old(cluster, old)
        cluster.apply(NEW)
        yield cluster


@asynccontextmanager
async def contested_after_a_kill(policy: Path, old: list[Obj], write: str, count: int) -> AsyncIterator[Cluster]:
    """The same under a second daemon: the API server cut the first one off after so many writes that match."""
    async with one_place() as cluster:
        async with scheduling(cluster.url, policy_file=policy):
            await run_old(cluster, old)
        cluster.apply(NEW)
        async with faulty(cluster.url) as proxy:
            proxy.cut_after(write, count)
            async with scheduling(proxy.url, policy_file=policy, drain_seconds=0.0):
                await until(proxy.cut.is_set)
        async with scheduling(cluster.url, policy_file=policy):
            yield cluster


def why_new_waits(cluster: Cluster) -> str:
    """The message of the condition that ``new`` is unschedulable; empty where there is none."""
    return str(condition_of(cluster.client.get(PODGROUPS, "default", "new"), "Unschedulable").get("message", ""))


def in_seconds(seconds: float) -> str:
    """The time that is so many seconds from now, as the API spells it."""
    return (utc_now() + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
