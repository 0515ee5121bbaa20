"""Pods that name responders: these are asked by EvictionRequests, and answer in the status of Evictions, end to end."""

from __future__ import annotations

import json
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
from tests.support.builders import merged
from tests.support.kubectl import Kubectl
from tests.support.running import Obj, gang, nodes_of, scheduling
from tests.support.waiting import until
from vsched.model.pods.cooperation import COOPERATIVE_EVICTION, REQUESTED
from vsched.sim.cluster import Cluster

SAVER = "example.com/saver"
REQUESTS, EVICTIONS = "lifecycle.k8s.io/evictionrequests", "lifecycle.k8s.io/evictions"


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    return preempting_policy(tmp_path)


def old(**annotations: str) -> list[Obj]:
    """A job of one pod that names a responder."""
    group, pod = gang("old", 1, minimum=0)
    pod["spec"]["evictionResponders"] = [{"name": SAVER, "priority": 10000}]
    pod["metadata"].setdefault("annotations", {}).update(annotations)
    return [group, pod]


def uid_of(cluster: Cluster) -> str:
    found = cluster.client.get("pods", "default", "old-0")
    return "" if found is None else str(found["metadata"]["uid"])


def intent(cluster: Cluster) -> str:
    found = cluster.client.get(REQUESTS, "default", f"vsched-{uid_of(cluster)}")
    return "" if found is None else str(found["spec"]["intent"])


def is_asked(cluster: Cluster) -> bool:
    found = cluster.client.get("pods", "default", "old-0")
    return found is not None and REQUESTED in (found["metadata"].get("annotations") or {})


def states(cluster: Cluster) -> list[str]:
    """The states of the responders, the last one is that of Kubernetes itself."""
    found = cluster.client.get(EVICTIONS, "default", uid_of(cluster)) or {}
    return [one["state"] for one in (found.get("status") or {}).get("targetResponders", ())]


def report(cluster: Cluster, **said: str) -> None:
    """What the responder reports of the eviction."""

    def reported(found: Obj) -> Obj:
        first, *others = found["status"]["responders"]
        return merged(found, {"status": {"responders": [{**first, **said}, *others]}})

    cluster.client.patch_status(EVICTIONS, "default", uid_of(cluster), reported)


async def test_responders_are_asked_and_the_pod_goes_once_they_are_done(policy: Path) -> None:
    async with contested(policy, old()) as cluster:
        await until(lambda: states(cluster) == ["Active", "Inactive"])
        found = cluster.client.get(REQUESTS, "default", f"vsched-{uid_of(cluster)}")
        assert found is not None
        assert found["spec"] == {
            "target": {"pod": {"name": "old-0", "uid": uid_of(cluster)}},
            "requester": "vsched.io/scheduler",
            "intent": "Eviction",
        }
        report(cluster, expectedCompletionTime=in_seconds(300), message="40 % saved")
        await until(lambda: "default/old-0 is done, expected at" in why_new_waits(cluster))
        assert nodes_of(cluster) == {"old-0": "n1"}
        report(cluster, completionTime=in_seconds(0))
        await until(lambda: nodes_of(cluster) == {"new-0": "n1"})
        await until(lambda: not cluster.client.list(REQUESTS) and not cluster.client.list(EVICTIONS))


async def test_the_eviction_is_canceled_once_nobody_needs_the_room_and_may_come_again(policy: Path) -> None:
    async with contested(policy, old()) as cluster:
        await until(lambda: states(cluster) == ["Active", "Inactive"])
        cluster.client.delete("pods", "default", "new-0")
        await until(lambda: states(cluster) == ["Canceled", "Inactive"])
        await until(lambda: not is_asked(cluster))
        assert intent(cluster) == "Withdrawn"
        assert nodes_of(cluster) == {"old-0": "n1"}

        cluster.apply(NEW)
        await until(lambda: states(cluster) == ["Active", "Inactive"])
        assert intent(cluster) == "Eviction"
        report(cluster, completionTime=in_seconds(0))
        await until(lambda: nodes_of(cluster) == {"new-0": "n1"})


async def test_a_pod_whose_responder_is_silent_is_evicted_at_the_deadline(policy: Path) -> None:
    async with contested(policy, old(), cooperative_eviction_seconds=2.0) as cluster:
        await until(lambda: states(cluster) == ["Active", "Inactive"])
        await until(lambda: nodes_of(cluster) == {"new-0": "n1"})


@pytest.mark.parametrize(
    ("annotations", "asked"),
    [
        pytest.param({}, False, id="is evicted at once"),
        pytest.param({COOPERATIVE_EVICTION: "10m"}, True, id="is asked itself where it opts in"),
    ],
)
async def test_where_the_kinds_are_not_served_a_pod(policy: Path, annotations: dict[str, str], *, asked: bool) -> None:
    async with one_place() as cluster:
        for kind in ("evictionrequests", "evictions"):
            cluster.client.delete("apiextensions.k8s.io/customresourcedefinitions", "", f"{kind}.lifecycle.k8s.io")
        async with scheduling(cluster.url, policy_file=policy):
            await run_old(cluster, old(**annotations))
            cluster.apply(NEW)
            if asked:
                await until(lambda: "default/old-0 is done, which was asked to end by" in why_new_waits(cluster))
                assert is_asked(cluster)
            else:
                await until(lambda: nodes_of(cluster) == {"new-0": "n1"})


@pytest.mark.parametrize(
    ("what", "count"),
    [
        pytest.param(r"PATCH /api/v1/namespaces/default/pods/old-0", 1, id="after it has asked the pod"),
        pytest.param(r"PATCH /apis/lifecycle.k8s.io/v1alpha1/.*", 1, id="after it has asked the responders"),
    ],
)
async def test_a_daemon_that_is_killed_while_it_asks_is_no_loss(policy: Path, what: str, count: int) -> None:
    async with contested_after_a_kill(policy, old(), what, count) as cluster:
        await until(lambda: states(cluster) == ["Active", "Inactive"])
        report(cluster, completionTime=in_seconds(0))
        await until(lambda: nodes_of(cluster) == {"new-0": "n1"})


@pytest.mark.kubectl
async def test_a_responder_answers_with_kubectl(policy: Path, tmp_path: Path) -> None:
    async with contested(policy, old()) as cluster:
        cluster.write_kubeconfig(tmp_path / "config")
        kubectl = Kubectl(tmp_path)
        await until(lambda: states(cluster) == ["Active", "Inactive"])
        assert SAVER in await kubectl("get", "evictions.lifecycle.k8s.io", uid_of(cluster), "-o", "yaml")

        async def patch(place: str, value: str) -> None:
            change = [{"op": "add", "path": f"/status/responders/0/{place}", "value": value}]
            flags = ("--subresource=status", "--type=json", "-p", json.dumps(change))
            await kubectl("patch", "evictions.lifecycle.k8s.io", uid_of(cluster), *flags)

        await patch("expectedCompletionTime", in_seconds(120))
        await until(lambda: "expected at" in why_new_waits(cluster))
        await patch("completionTime", in_seconds(0))
        await until(lambda: nodes_of(cluster) == {"new-0": "n1"})
