"""Jobs that cannot start, at an embedded cluster: what binds is named, and what is said to help is made and does.

Where a change comes with commands, they are run as they are told, with the real kubectl.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import msgspec
import pytest
import pytest_asyncio

from tests.daemon.making import GROUP, WISH, Making
from tests.daemon.situations import PLAIN, SITUATIONS, Stuck
from tests.daemon.situations_more import MORE
from tests.support.contents import KINDS, contents, kept_but_for
from tests.support.kubectl import KUBECTL
from tests.support.lessening import a_notch_less
from tests.support.plans import manifests, reading
from tests.support.running import PODGROUPS, digested, queue_status, scheduling, status_of
from tests.support.sharing import RULES, consumer, rounds
from tests.support.shell import shell
from tests.support.waiting import PATIENCE_SECONDS, until
from vsched.daemon.app import Daemon
from vsched.explain.records import Change, Explanation, Whereabouts
from vsched.framework.codes import Code
from vsched.model.jobs.job import Job
from vsched.model.jobs.spec import JobSpec
from vsched.model.nodes.usage import Reading
from vsched.model.pods.status import Phase
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.sim.controllers import ControllerSettings, PodTimes
from vsched.web.snapshots import FrozenSnapshot

pytestmark = pytest.mark.asyncio(loop_scope="session")

ALL = {**SITUATIONS, **MORE}
KEY = "default/b"
QUICK = ClusterSettings(ControllerSettings(PodTimes(termination=0.05)))
OPTIONS = {"period_seconds": 0.5, "advise": False, "listen_address": "127.0.0.1:0"}
DIVIDING = {"arbitrate": True, "rules": RULES}
MADE = ("pods", "scheduling.volcano.sh/podgroups", "policy/poddisruptionbudgets", *KINDS)
"""Kinds of objects that a situation and its changes are made of, in the order in which they are deleted."""
ADMITTED = (Phase.INQUEUE, Phase.RUNNING)
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
            container = found["spec"]["containers"][0]
            container["image"] = "busybox"
            requests = container["resources"]["requests"]
            container["resources"]["limits"] = {name: amount for name, amount in requests.items() if "/" in name}
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


class AtWork(NamedTuple):
    """A cluster, and the daemon that follows it."""

    cluster: Cluster
    daemon: Daemon
    policy_file: Path


def _plain(folder: Path) -> Path:
    """A file with a policy to start with."""
    found = folder / "policy.yaml"
    found.write_text(PLAIN, encoding="utf-8")
    return found


@asynccontextmanager
async def started_up(policy_file: Path, **options: Any) -> AsyncIterator[AtWork]:
    """An empty cluster and a daemon, with the policy of this file."""
    async with (
        Cluster(settings=QUICK) as cluster,
        scheduling(cluster.url, policy_file=policy_file, **OPTIONS, **options) as daemon,
    ):
        yield AtWork(cluster, daemon, policy_file)


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def one_for_all(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[AtWork]:
    """The cluster that one situation after the other is in: to start a daemon takes longer than a situation."""
    async with started_up(_plain(tmp_path_factory.mktemp("stuck"))) as found:
        yield found


@asynccontextmanager
async def emptied(cluster: Cluster, daemon: Daemon) -> AsyncIterator[None]:
    """What is made meanwhile is deleted at the end."""
    before = {kind: cluster.client.list(kind) for kind in MADE}
    try:
        yield
    finally:
        for kind in MADE:
            there = [_name(found) for found in before[kind]]
            for name in map(_name, cluster.client.list(kind)):
                if name not in there:
                    cluster.client.delete(kind, *name, grace_seconds=0)
        daemon.mirror.inputs.use(None)
        await digested(cluster, daemon)
        for kind in MADE:
            await until(lambda kind=kind: len(cluster.client.list(kind)) == len(before[kind]))


def _name(found: Obj) -> tuple[str, str]:
    return found["metadata"].get("namespace", ""), found["metadata"]["name"]


@asynccontextmanager
async def in_situation(stuck: Stuck, shared: AtWork, folder: Path) -> AsyncIterator[AtWork]:
    """The situation, with everybody running who was there before the job came."""
    if stuck.limit:  # the cluster is divided, which a daemon is told when it starts
        async with started_up(_plain(folder), **DIVIDING) as own:
            await _settled(stuck, own)
            yield own
        return
    async with emptied(shared.cluster, shared.daemon):
        await _settled(stuck, shared)
        yield shared


async def _settled(stuck: Stuck, found: AtWork) -> None:
    cluster, daemon, policy_file = found
    policy_file.write_text(stuck.policy, encoding="utf-8")
    await noticed(cluster, daemon)
    there = objects(stuck.there)
    if stuck.limit:
        cluster.apply([consumer("default", hard={"cpu": stuck.limit})])
    cluster.apply(there)
    pods = [found["metadata"]["name"] for found in there if found["kind"] == "Pod"]
    closed = [found["metadata"]["name"] for found in there if WISH in (found["metadata"].get("annotations") or {})]
    closed += [found["metadata"]["name"] for found in there if found.get("spec", {}).get("parent") in closed]
    await until(lambda: all(_runs(cluster, name) for name in pods))
    await until(lambda: all(queue_status(cluster, name).get("state") == "Closed" for name in closed))
    waiting = [found["metadata"]["name"] for found in there if found["kind"] == "PodGroup"]
    await until(lambda: all(status_of(cluster, name).get("phase") in ADMITTED for name in waiting))
    for quota in cluster.client.list("resourcequotas", "default"):
        _count(cluster, quota, pods)
    used = reading(stuck.there)
    if used is not None:
        now = time.time()
        nodes = {name: type(one)(now, one.cpu, one.memory) for name, one in used.nodes.items()}
        daemon.mirror.inputs.use(Reading(now, nodes))


def _count(cluster: Cluster, quota: Obj, pods: list[str]) -> None:
    """What the quota controller of a cluster counts: here each pod asks for one cpu."""
    status = {"used": {"requests.cpu": str(len(pods))}}
    cluster.client.patch_status(
        "resourcequotas", "default", quota["metadata"]["name"], lambda found: {**found, "status": status}
    )


def _runs(cluster: Cluster, name: str) -> bool:
    pod = cluster.client.get("pods", "default", name)
    return pod is not None and pod["status"].get("phase") == "Running"


async def seen(daemon: Daemon, stuck: Stuck) -> FrozenSnapshot:
    """A session that saw the job wait for what it is to wait for."""
    frozen = await daemon.inspection.snapshots.look()
    end = time.monotonic() + PATIENCE_SECONDS
    while not _waits_for_it(frozen, stuck):
        outcome = frozen.report.jobs.get(KEY)
        assert time.monotonic() < end, "nothing is said" if outcome is None else f"{outcome.code}: {outcome.message}"
        await asyncio.sleep(0.05)
        frozen = await daemon.inspection.snapshots.look()
    return frozen


def _waits_for_it(frozen: FrozenSnapshot, stuck: Stuck) -> bool:
    if stuck.code is Code.NO_POD_GROUP:
        return len(frozen.snapshot.strays.get(KEY, Job("", JobSpec("", ""))).pending) > 1
    outcome = frozen.report.jobs.get(KEY)
    return outcome is not None and outcome.code == stuck.code and stuck.says in outcome.message


async def explained(daemon: Daemon) -> Explanation:
    """What anybody is told who asks."""
    url = f"http://127.0.0.1:{daemon.ports['--listen-address']}/explain/{KEY}?kind=PodGroup&seconds=20"
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        assert answer.status == 200, await answer.text()
        return msgspec.json.decode(await answer.read(), type=Explanation)


async def noticed(cluster: Cluster, daemon: Daemon) -> None:
    """Sessions have seen what was changed."""
    before = daemon.policy.last
    daemon.policy.nudge()
    await until(lambda: daemon.policy.last is not before)
    await digested(cluster, daemon)
    if daemon.arbitration is not None:
        await rounds(daemon, 2)
        await digested(cluster, daemon)


async def made_as_told(cluster: Cluster, making: Making, change: Change, folder: Path) -> None:
    """The change made by the commands that are told with it; where there are none, as a person would."""
    if not change.command or not KUBECTL:
        for edit in change.edits:
            making.make(edit)
        return
    before = contents(cluster)
    await shell(cluster, folder, change.command)
    kept_but_for(change, before, contents(cluster))


@pytest.mark.real_time
@pytest.mark.parametrize("stuck", [pytest.param(stuck, id=name) for name, stuck in ALL.items()])
async def test_what_binds_is_named_and_what_helps_does(stuck: Stuck, one_for_all: AtWork, tmp_path: Path) -> None:
    async with in_situation(stuck, one_for_all, tmp_path) as (cluster, daemon, policy_file):
        comes = objects(stuck.job)
        for found in comes:
            if found["kind"] == "Pod":
                found["spec"].update(stuck.spec)
        cluster.apply(comes)
        frozen = await seen(daemon, stuck)
        told = await explained(daemon)
        assert told.state is (Whereabouts.NEVER if stuck.never else Whereabouts.WAITS), told.message
        assert told.constraints[0].code == stuck.code, told.constraints
        assert stuck.says in told.message
        messages = [change.message for change in told.changes]
        assert len(messages) >= len(stuck.helps), messages
        assert all(one.startswith(start) for one, start in zip(messages, stuck.helps, strict=False)), messages

        change = told.changes[len(stuck.helps) - 1]
        assert stuck.command in change.command
        making = Making(cluster, policy_file, frozen.snapshot, frozen.policy)
        for less in filter(None, map(a_notch_less, change.edits)):
            making.make(less)
        await noticed(cluster, daemon)
        assert not started(cluster, stuck), "less would have done"
        await made_as_told(cluster, making, change, tmp_path)
        await noticed(cluster, daemon)
        await until(lambda: started(cluster, stuck))
