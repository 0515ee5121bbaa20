"""Pods that opt in are asked to end by themselves before they are evicted, end to end."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.daemon.contested import (
    NEW,
    contested,
    contested_after_a_kill,
    in_seconds,
    one_place,
    preempting_policy,
    run_old,
    why_new_waits,
)
from tests.support.fault_proxy import faulty
from tests.support.kubectl import Kubectl
from tests.support.running import WRITTEN_SOON, Obj, condition_of, gang, node, nodes_of, reasons_of, scheduling
from tests.support.waiting import until
from vsched.clock import utc_now
from vsched.model.pods.cooperation import (
    ASKED,
    COOPERATIVE_EVICTION,
    DEADLINE,
    EXPECTED,
    READY,
    REASON,
    REQUEST_ANNOTATIONS,
    REQUESTED,
    UNTIL,
)
from vsched.sim.cluster import Cluster


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    return preempting_policy(tmp_path)


def old(wait: str = "10m", *, of_group: bool = False) -> list[Obj]:
    """A job of one pod that opts in, by its PodGroup or by the pod."""
    group, *pods = gang("old", 1, minimum=0)
    for found in [group] if of_group else pods:
        found["metadata"].setdefault("annotations", {})[COOPERATIVE_EVICTION] = wait
    return [group, *pods]


def annotations(cluster: Cluster, name: str = "old-0") -> Mapping[str, str]:
    found = cluster.client.get("pods", "default", name)
    return {} if found is None else found["metadata"].get("annotations") or {}


def asked(cluster: Cluster) -> bool:
    return REQUESTED in annotations(cluster)


def answer(cluster: Cluster, **values: str | None) -> None:
    """Set annotations of the pod; None removes one."""

    def answered(found: Obj) -> Obj:
        said = (found["metadata"].get("annotations") or {}) | values
        kept = {name: value for name, value in said.items() if value is not None}
        return {**found, "metadata": {**found["metadata"], "annotations": kept}}

    cluster.client.patch("pods", "default", "old-0", answered)


@pytest.mark.parametrize("of_group", [False, True], ids=["by the pod", "by its PodGroup"])
async def test_a_pod_is_asked_tells_when_it_is_done_and_goes_once_it_is_ready(policy: Path, *, of_group: bool) -> None:
    async with contested(policy, old(of_group=of_group)) as cluster:
        await until(lambda: asked(cluster))
        said = annotations(cluster)
        assert said[REASON] == "preempt for default/new"
        waits = datetime.fromisoformat(said[DEADLINE]) - datetime.fromisoformat(said[REQUESTED])
        assert timedelta(0) <= waits - timedelta(minutes=10) <= timedelta(seconds=2), "the deadline is rounded up"
        await until(lambda: "default/old-0 is done, which was asked to end by" in why_new_waits(cluster))

        answer(cluster, **{EXPECTED: in_seconds(300)})
        await until(lambda: "default/old-0 is done, expected at" in why_new_waits(cluster))
        assert nodes_of(cluster) == {"old-0": "n1"}

        answer(cluster, **{READY: "true"})
        await until(lambda: nodes_of(cluster) == {"new-0": "n1"})
        await until(lambda: {"EvictionRequested", "Evict"} <= reasons_of(cluster, "old-0"))
        assert "FailedEviction" not in reasons_of(cluster, "old-0")


async def test_a_pod_that_ends_by_itself_is_not_evicted(policy: Path) -> None:
    async with contested(policy, old()) as cluster:
        await until(lambda: asked(cluster))
        cluster.client.delete("pods", "default", "old-0")
        await until(lambda: nodes_of(cluster) == {"new-0": "n1"})
        assert "Evict" not in reasons_of(cluster, "old-0")


async def test_a_pod_that_does_not_answer_is_evicted_at_the_deadline(policy: Path) -> None:
    async with contested(policy, old("2s"), period_seconds=600.0) as cluster:
        await until(lambda: asked(cluster))
        deadline = datetime.fromisoformat(annotations(cluster)[DEADLINE])
        await until(lambda: nodes_of(cluster) == {"new-0": "n1"})
        assert utc_now() >= deadline


async def test_a_request_is_withdrawn_once_nobody_needs_the_room_and_may_come_again(policy: Path) -> None:
    async with contested(policy, old()) as cluster:
        await until(lambda: asked(cluster))
        answer(cluster, **{EXPECTED: in_seconds(300)})
        cluster.client.delete("pods", "default", "new-0")
        await until(lambda: not set(REQUEST_ANNOTATIONS) & set(annotations(cluster)))
        await until(lambda: "EvictionWithdrawn" in reasons_of(cluster, "old-0"))

        cluster.apply(NEW)
        await until(lambda: asked(cluster))
        assert EXPECTED not in annotations(cluster), "answers to the first request are gone"


async def test_a_request_is_withdrawn_when_room_appears_elsewhere(policy: Path) -> None:
    async with contested(policy, old()) as cluster:
        await until(lambda: asked(cluster))
        cluster.apply([node("n2", cpu="1")])
        await until(lambda: not asked(cluster))
        await until(lambda: nodes_of(cluster) == {"old-0": "n1", "new-0": "n2"})


async def test_another_daemon_goes_on_with_a_request(policy: Path) -> None:
    async with one_place() as cluster:
        async with scheduling(cluster.url, policy_file=policy):
            await run_old(cluster, old())
            cluster.apply(NEW)
            await until(lambda: asked(cluster))
            await until(lambda: cluster.client.get("pods", "default", "new-0")["status"].get("nominatedNodeName"))
        before = annotations(cluster)
        async with scheduling(cluster.url, policy_file=policy, writeback=WRITTEN_SOON):
            await until(lambda: why_new_waits(cluster))
            answer(cluster, **{EXPECTED: in_seconds(200)})
            await until(lambda: "expected at" in why_new_waits(cluster))
            assert {**before, EXPECTED: annotations(cluster)[EXPECTED]} == annotations(cluster)
            answer(cluster, **{READY: "true"})
            await until(lambda: nodes_of(cluster) == {"new-0": "n1"})


async def test_another_daemon_withdraws_what_nobody_needs_any_more(policy: Path) -> None:
    async with one_place() as cluster:
        async with scheduling(cluster.url, policy_file=policy):
            await run_old(cluster, old())
            cluster.apply(NEW)
            await until(lambda: asked(cluster))
        cluster.client.delete("pods", "default", "new-0")
        async with scheduling(cluster.url, policy_file=policy):
            await until(lambda: not asked(cluster))


async def test_a_daemon_without_cooperation_evicts_at_once(policy: Path) -> None:
    async with contested(policy, old(), cooperative_eviction_seconds=0.0) as cluster:
        await until(lambda: nodes_of(cluster) == {"new-0": "n1"})
        assert "EvictionRequested" not in reasons_of(cluster, "old-0")


async def test_failed_writes_of_requests_and_withdrawals_are_made_good(policy: Path) -> None:
    path = r"/api/v1/namespaces/default/pods/old-0"
    async with (
        one_place() as cluster,
        faulty(cluster.url) as proxy,
        scheduling(proxy.url, policy_file=policy, period_seconds=0.2),
    ):
        await run_old(cluster, old())
        proxy.spoil("PATCH", path, 503, times=2)
        cluster.apply(NEW)
        await until(lambda: asked(cluster))
        proxy.spoil("PATCH", path, 503, times=6)
        cluster.client.delete("pods", "default", "new-0")
        await until(lambda: not asked(cluster))
        assert nodes_of(cluster) == {"old-0": "n1"}


@pytest.mark.parametrize(
    ("what", "count"),
    [
        pytest.param(r"PATCH /api/v1/namespaces/default/pods/old-0", 0, id="before the request"),
        pytest.param(r"PATCH /api/v1/namespaces/default/pods/old-0", 1, id="after it, before the nomination is known"),
        pytest.param(r"PATCH /api/v1/namespaces/default/pods/new-0/status", 1, id="after the nomination"),
    ],
)
async def test_a_daemon_that_is_killed_while_it_asks_is_no_loss(policy: Path, what: str, count: int) -> None:
    async with contested_after_a_kill(policy, old(), what, count) as cluster:
        await until(lambda: asked(cluster) and why_new_waits(cluster).startswith("1 pod"))
        answer(cluster, **{READY: "true"})
        await until(lambda: nodes_of(cluster) == {"new-0": "n1"})


def request(cluster: Cluster) -> Mapping[str, str]:
    """The condition that is the request; empty without one."""
    return condition_of(cluster.client.get("pods", "default", "old-0") or {}, ASKED)


@pytest.mark.parametrize("restarts", [False, True], ids=["one daemon", "a daemon that is started again"])
@pytest.mark.parametrize(
    "misuse",
    [
        pytest.param(dict.fromkeys(REQUEST_ANNOTATIONS), id="takes the request off"),
        pytest.param({REQUESTED: in_seconds(3000), DEADLINE: in_seconds(6000)}, id="renews it"),
        pytest.param({EXPECTED: in_seconds(6000)}, id="promises to be done late"),
    ],
)
async def test_a_pod_goes_at_its_deadline_even_where_its_owner(
    policy: Path, misuse: Mapping[str, str | None], *, restarts: bool
) -> None:
    async with one_place() as cluster:
        async with scheduling(cluster.url, policy_file=policy):
            await run_old(cluster, old("4s"))
            cluster.apply(NEW)
            await until(lambda: asked(cluster))
            first = request(cluster)
            answer(cluster, **misuse)
            if not restarts:
                await until(lambda: nodes_of(cluster) == {"new-0": "n1"})
        if restarts:
            async with scheduling(cluster.url, policy_file=policy):
                await until(lambda: nodes_of(cluster) == {"new-0": "n1"})
        until_when = datetime.fromisoformat(first["message"].partition(UNTIL)[2])
        assert utc_now() - until_when < timedelta(seconds=60), "by the first request, which it does not change"


async def test_a_pod_whose_owner_says_that_it_was_asked_long_ago_is_not_evicted_for_that(policy: Path) -> None:
    pods = old()
    pods[1]["metadata"]["annotations"] |= {REQUESTED: "2020-01-01T00:00:00Z", READY: "true"}
    async with contested(policy, pods) as cluster:
        await until(lambda: bool(request(cluster)))
        await until(lambda: annotations(cluster).get(REQUESTED, "") > "2021")
        assert nodes_of(cluster) == {"old-0": "n1"}
        assert READY not in annotations(cluster), "what it said before it was asked does not count"


@pytest.mark.kubectl
async def test_whoever_owns_a_pod_answers_with_kubectl(policy: Path, tmp_path: Path) -> None:
    async with contested(policy, old()) as cluster:
        cluster.write_kubeconfig(tmp_path / "config")
        kubectl = Kubectl(tmp_path)
        await until(lambda: asked(cluster))
        path = r"jsonpath={.metadata.annotations.vsched\.io/eviction-reason}"
        assert await kubectl("get", "pod", "old-0", "-o", path) == "preempt for default/new"
        await kubectl("annotate", "pod", "old-0", "--overwrite", f"{EXPECTED}={in_seconds(120)}")
        await until(lambda: "expected at" in why_new_waits(cluster))
        await kubectl("annotate", "pod", "old-0", "--overwrite", f"{READY}=true")
        await until(lambda: nodes_of(cluster) == {"new-0": "n1"})
