"""Jobs that cannot start, at an embedded cluster: what binds is named, and what is said to help is made and does."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.making import GROUP, Making
from tests.daemon.running import PODGROUPS, scheduling, status_of, until
from tests.daemon.situations import SITUATIONS, Stuck
from tests.support.plans import manifests, reading
from vsched.daemon.app import Daemon
from vsched.explain.applying import Situation
from vsched.explain.changes import changes
from vsched.explain.records import Change
from vsched.framework.codes import Code
from vsched.model.usage import Reading
from vsched.settings.built_in import REGISTRY
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.sim.controllers import ControllerSettings, PodTimes
from vsched.web.sights import Sight

KEY = "default/b"
QUICK = ClusterSettings(ControllerSettings(PodTimes(termination=0.05)))
VERSIONS = {
    "PodDisruptionBudget": "policy/v1",
    "PriorityClass": "scheduling.k8s.io/v1",
}
Obj = dict[str, Any]


def objects(text: str) -> list[Obj]:
    """What the text describes, as a person would send it: nobody but the cluster says where pods are."""
    made = manifests(text)
    for found in made:
        found.setdefault("apiVersion", VERSIONS.get(found["kind"], "v1"))
        if found["kind"] == "Node":
            found["status"]["capacity"] = dict(found["status"]["allocatable"])
        else:
            found.pop("status", None)
        found["metadata"].pop("creationTimestamp", None)
        if found["kind"] == "PodDisruptionBudget":
            found["spec"]["minAvailable"] = 4
        if found["kind"] == "Pod":
            found["metadata"].pop("uid")
            if not found["spec"]["schedulingGates"]:
                del found["spec"]["schedulingGates"]
            found["spec"]["containers"][0]["image"] = "busybox"
    return made


def placed(cluster: Cluster, group: str) -> list[bool]:
    """Of each pod of a PodGroup, whether it has a node."""
    return [
        bool(pod["spec"].get("nodeName"))
        for pod in cluster.client.list("pods", "default")
        if (pod["metadata"].get("annotations") or {}).get(GROUP) == group
        and not pod["metadata"].get("deletionTimestamp")
    ]


def started(cluster: Cluster, stuck: Stuck) -> bool:
    """Whether the job has come to what it waited for."""
    if stuck.phase:
        return status_of(cluster, "b").get("phase") == stuck.phase
    group = cluster.client.get(PODGROUPS, "default", "b")
    return group is not None and sum(placed(cluster, "b")) >= group["spec"]["minMember"]


@asynccontextmanager
async def at_work(stuck: Stuck, tmp_path: Path) -> AsyncIterator[tuple[Cluster, Daemon, Path]]:
    """The situation, with everybody running who was there before the job came."""
    policy_file = tmp_path / "policy.yaml"
    policy_file.write_text(stuck.policy, encoding="utf-8")
    there = objects(stuck.there)
    async with (
        Cluster(settings=QUICK) as cluster,
        scheduling(cluster.url, policy_file=policy_file, period_seconds=0.05, advise=False) as daemon,
    ):
        cluster.apply(there)
        pods = [found["metadata"]["name"] for found in there if found["kind"] == "Pod"]
        await until(lambda: all(_runs(cluster, name) for name in pods), 30.0)
        found = reading(stuck.there)
        if found is not None:
            now = time.time()
            nodes = {name: type(one)(now, one.cpu, one.memory) for name, one in found.nodes.items()}
            daemon.cache.use(Reading(now, nodes))
        yield cluster, daemon, policy_file


def _runs(cluster: Cluster, name: str) -> bool:
    pod = cluster.client.get("pods", "default", name)
    return pod is not None and pod["status"].get("phase") == "Running"


async def seen(daemon: Daemon, stuck: Stuck) -> Sight:
    """A session that saw the job wait for what it is to wait for."""
    async with asyncio.timeout(20.0):
        while True:
            sight = await daemon.showing.lookout.look()
            outcome = sight.report.jobs.get(KEY)
            if stuck.code is Code.NO_POD_GROUP and KEY in sight.snapshot.strays:
                return sight
            if outcome is not None and outcome.code == stuck.code and stuck.says in outcome.message:
                return sight
            last = outcome
            await asyncio.sleep(0.05)
            assert last is None or time.time()


async def told(sight: Sight) -> tuple[Change, ...]:
    found = await asyncio.to_thread(changes, *sight[:2], REGISTRY, sight.report, KEY)
    assert found.complete
    return found.changes


@pytest.mark.parametrize("stuck", [pytest.param(stuck, id=name) for name, stuck in SITUATIONS.items()])
async def test_what_binds_is_named_and_what_helps_does(stuck: Stuck, tmp_path: Path) -> None:
    async with at_work(stuck, tmp_path) as (cluster, daemon, policy_file):
        cluster.apply(objects(stuck.job))
        sight = await seen(daemon, stuck)
        found = await told(sight)
        messages = [change.message for change in found]
        assert len(messages) >= len(stuck.helps), messages
        assert all(one.startswith(start) for one, start in zip(messages, stuck.helps, strict=False)), messages
        assert not started(cluster, stuck)
        making = Making(cluster, policy_file, sight.snapshot, sight.policy)
        for edit in found[len(stuck.helps) - 1].edits:
            making.make(edit)
        await until(lambda: started(cluster, stuck), 20.0)
