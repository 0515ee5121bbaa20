"""Estimated starts at an embedded cluster: what is told beforehand is what comes."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import aiohttp
import msgspec

from tests.support.running import Obj, gang, node, scheduling
from tests.support.waiting import until
from vsched import clock
from vsched.daemon.app import Daemon
from vsched.explain.records import Estimate, Explanation
from vsched.mirror.ingest.annotations import EXPECTED_DURATION
from vsched.sim.cluster import Cluster
from vsched.sim.controllers.pod_lifecycle import DURATION

OPTIONS: dict[str, Any] = {"period_seconds": 0.05, "advise": False, "listen_address": "127.0.0.1:0"}
STAMP_SECONDS = 1.0
"""Starts and ends are told in whole seconds."""
LATE_SECONDS = 60.0
"""How much later things happen on a machine that is busy."""


def taking(name: str, seconds: int, *, says: bool) -> list[Obj]:
    """A gang of two that has all of a node for so long, and says so or not."""
    made = gang(name, 2)
    for pod in made[1:]:
        pod["metadata"]["annotations"][DURATION] = f"{seconds}s"
        pod["spec"]["restartPolicy"] = "Never"
    if says:
        made[0]["metadata"]["annotations"] = {EXPECTED_DURATION: f"{seconds}s"}
    return made


def phases(cluster: Cluster, name: str) -> list[str]:
    """The phases of a gang's pods."""
    return [(cluster.client.get("pods", "default", f"{name}-{at}") or {})["status"].get("phase", "") for at in range(2)]


def waits(daemon: Daemon, name: str) -> bool:
    """Whether a session has seen a gang with both of its pods waiting."""
    outcome = daemon.telemetry.findings.jobs.get(f"default/{name}")
    return outcome is not None and outcome.pending == 2


def started(cluster: Cluster, name: str) -> float:
    """When the last pod of a gang started, seconds since the epoch."""
    pods = [cluster.client.get("pods", "default", f"{name}-{at}") or {} for at in range(2)]
    return max(datetime.fromisoformat(pod["status"]["startTime"]).timestamp() for pod in pods)


async def estimated(daemon: Daemon, name: str) -> Estimate | None:
    url = f"http://127.0.0.1:{daemon.ports['--listen-address']}/explain/default/{name}?kind=PodGroup&seconds=20"
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        return msgspec.json.decode(await answer.read(), type=Explanation).start


async def test_a_job_starts_when_what_runs_ends_as_declared() -> None:
    async with Cluster() as cluster, scheduling(cluster.url, **OPTIONS) as daemon:
        cluster.apply([node("n1", cpu="2"), *taking("first", 5, says=True)])
        await until(lambda: phases(cluster, "first") == ["Running"] * 2)
        cluster.apply([*taking("second", 2, says=True), *taking("third", 1, says=True)])
        await until(lambda: waits(daemon, "second") and waits(daemon, "third"))
        second, third = await estimated(daemon, "second"), await estimated(daemon, "third")
        assert second is not None
        assert third is not None
        for name, found in (("second", second), ("third", third)):
            assert found.earliest is not None, found
            assert found.latest is not None, found
            await until(lambda name=name: phases(cluster, name)[0] in ("Running", "Succeeded"), 60.0)  # type: ignore[misc]
            came = started(cluster, name)
            assert found.earliest - STAMP_SECONDS <= came <= found.latest + STAMP_SECONDS + LATE_SECONDS, found
        assert "default/first ends after 1 to 2 times the declared 5s" in second.message
        assert "after 1 job that goes first" in third.message


async def test_how_long_work_takes_is_learnt_from_what_has_finished() -> None:
    async with Cluster() as cluster, scheduling(cluster.url, **OPTIONS) as daemon:
        names = ("run-1", "run-2", "run-5")
        cluster.apply([node("n1", cpu="6"), *(made for name in names for made in taking(name, 2, says=False))])
        await until(lambda: all(phases(cluster, name) == ["Succeeded"] * 2 for name in names), 60.0)
        # Another daemon learns it anew from what is still there.
        async with scheduling(cluster.url, **OPTIONS) as other:
            await until(lambda: other.mirror.describe()["learnt_durations"] == 4)
        cluster.apply([made for name in ("run-3", "run-4", "run-6") for made in taking(name, 3600, says=False)])
        await until(lambda: all(phases(cluster, f"run-{at}") == ["Running"] * 2 for at in (3, 4, 6)))
        cluster.apply(taking("after", 1, says=True))
        await until(lambda: waits(daemon, "after"))
        asked = clock.now()
        found = await estimated(daemon, "after")
        assert found is not None
        assert found.earliest is not None
        assert found.earliest <= asked + 2.0 + 2 * STAMP_SECONDS
