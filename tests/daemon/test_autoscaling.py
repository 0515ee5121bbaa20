"""Gangs at a cluster with an autoscaler: what is bought for them, end to end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.daemon.preempting import of_class, priority_class
from tests.support.killing import killed_after
from tests.support.running import WRITTEN_SOON, condition_of, gang, node, nodes_of, podgroup, scheduling
from tests.support.waiting import until
from vsched.clock import utc_now
from vsched.controllers import words as controllers_words
from vsched.model import words as model_words
from vsched.model.jobs.provisioning import CONSUMES
from vsched.settings.load import default_text
from vsched.sim.api.fault_plan import FaultInjector, FaultKind, plan_of
from vsched.sim.cluster import Cluster
from vsched.sim.controllers.autoscaling.requests import REQUESTS

Obj = dict[str, Any]
GPU = "example.com/gpu"
POLICY = """
actions: "enqueue, allocate, preempt"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}]
- plugins: [{name: predicates}, {name: proportion}]
autoscaling: {provisioningRequest: true, retries: 1, backOff: 300ms, holdEvictions: 5m}
"""


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    found = tmp_path / "policy.yaml"
    found.write_text(POLICY)
    return found


def pools(path: Path, **more: Any) -> Path:
    """A file with one pool of nodes with eight devices each."""
    shape = {"cpu": 64, GPU: 8}
    return written(path, [{"name": "h100", "max": 10, "delay": "200ms", "capacity": shape, **more}])


def written(path: Path, found: list[Obj]) -> Path:
    path.write_text(yaml.safe_dump(found))
    return path


def of_gpus(name: str, size: int, queue: str = "default") -> list[Obj]:
    """A gang of pods with a device each."""
    members = gang(name, size)[1:]
    for member in members:
        member["spec"]["containers"][0]["resources"]["requests"][GPU] = "1"
        member["spec"]["containers"][0]["resources"]["limits"] = {GPU: "1"}
    return [podgroup(name, size, queue=queue), *members]


def queue(name: str, gpus: int) -> Obj:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"weight": 1, "capability": {GPU: str(gpus)}},
    }


def bought(cluster: Cluster) -> list[str]:
    """The nodes of the pool; none of them is ever removed."""
    return sorted(
        found["metadata"]["name"] for found in cluster.client.list("nodes") if "h100" in found["metadata"]["name"]
    )


def reasons(cluster: Cluster, prefix: str) -> set[str]:
    found = [one for one in cluster.client.list("pods", "default") if one["metadata"]["name"].startswith(prefix)]
    return {condition_of(one, "PodScheduled").get("reason", "") for one in found}


@pytest.mark.parametrize("idle", [[], [("own", 4)]], ids=["nothing is there", "some room is there"])
async def test_a_gang_of_16_buys_exactly_two_nodes(tmp_path: Path, idle: list[tuple[str, int]]) -> None:
    nodes = [node("n1")]
    for name, gpus in idle:
        nodes.append(node(name, cpu="64"))
        for amounts in nodes[-1]["status"].values():
            amounts[GPU] = str(gpus)
    async with Cluster(nodes, pools=pools(tmp_path / "pools.yaml")) as cluster, scheduling(cluster.url):
        cluster.apply(of_gpus("a", 16))
        await until(lambda: len(nodes_of(cluster, "a-")) == 16)
        assert bought(cluster) == ["h100-0", "h100-1"]


async def test_a_gang_over_the_capability_of_its_queue_buys_none_and_the_next_one_does(tmp_path: Path) -> None:
    async with (
        Cluster([node("n1")], pools=pools(tmp_path / "pools.yaml")) as cluster,
        scheduling(cluster.url),
    ):
        cluster.apply([queue("q", 15), *of_gpus("a", 16, "q")])
        await until(lambda: reasons(cluster, "a-") == {"QueueCapability"})
        cluster.apply(of_gpus("b", 8, "q"))
        await until(lambda: len(nodes_of(cluster, "b-")) == 8)
        assert bought(cluster) == ["h100-0"]
        assert reasons(cluster, "a-") == {"QueueCapability"}


def requests(cluster: Cluster) -> list[Obj]:
    return cluster.client.list(REQUESTS, "default")


def message(cluster: Cluster, name: str) -> str:
    return str(condition_of(cluster.client.get("pods", "default", name), "PodScheduled").get("message", ""))


async def test_a_gang_asks_by_one_request_which_goes_once_it_runs(tmp_path: Path, policy: Path) -> None:
    async with (
        Cluster([node("n1")], pools=pools(tmp_path / "pools.yaml", delay="1s")) as cluster,
        scheduling(cluster.url, policy_file=policy, writeback=WRITTEN_SOON),
    ):
        cluster.apply(of_gpus("a", 16))
        await until(lambda: len(requests(cluster)) == 1)
        (found,) = requests(cluster)
        assert [one["count"] for one in found["spec"]["podSets"]] == [16]
        (template,) = cluster.client.list("podtemplates", "default")
        assert template["template"]["spec"]["containers"][0]["resources"]["requests"][GPU] == "1"
        await until(lambda: reasons(cluster, "a-") == {"Provisioning"})
        await until(lambda: model_words.nodes_are_asked_for("ProvisioningRequest a-", "") in message(cluster, "a-0"))
        await until(lambda: len(nodes_of(cluster, "a-")) == 16)
        assert bought(cluster) == ["h100-0", "h100-1"]
        bound = cluster.client.get("pods", "default", "a-0")
        assert bound is not None
        assert bound["metadata"]["annotations"][CONSUMES] == found["metadata"]["name"]
        await until(lambda: not requests(cluster) and not cluster.client.list("podtemplates", "default"))


async def test_a_request_that_fails_is_made_again_and_then_left_with_words(tmp_path: Path, policy: Path) -> None:
    async with (
        Cluster([node("n1")], pools=pools(tmp_path / "pools.yaml", max=1)) as cluster,
        scheduling(cluster.url, policy_file=policy, writeback=WRITTEN_SOON),
    ):
        cluster.apply(of_gpus("a", 16))
        await until(lambda: [one["metadata"]["name"][-2:] for one in requests(cluster)] == ["-2"])
        await until(lambda: "2 ProvisioningRequests failed, the last was a-" in message(cluster, "a-0"))
        assert "no pool has nodes for all of its pods" in message(cluster, "a-0")
        assert bought(cluster) == []
        name = requests(cluster)[0]["metadata"]["name"]
        cluster.client.delete(REQUESTS, "default", name)
        await until(lambda: [one["metadata"]["name"][-2:] for one in requests(cluster)] == ["-1"])


async def test_a_request_is_withdrawn_with_its_gang(tmp_path: Path, policy: Path) -> None:
    async with (
        Cluster([node("n1")], pools=pools(tmp_path / "pools.yaml", delay="1h")) as cluster,
        scheduling(cluster.url, policy_file=policy),
    ):
        cluster.apply(of_gpus("a", 4))
        await until(lambda: len(requests(cluster)) == 1)
        for number in range(4):
            cluster.client.delete("pods", "default", f"a-{number}", grace_seconds=0)
        await until(lambda: not requests(cluster))


async def test_a_gang_over_the_capability_of_its_queue_asks_for_nothing(tmp_path: Path, policy: Path) -> None:
    async with (
        Cluster([node("n1")], pools=pools(tmp_path / "pools.yaml")) as cluster,
        scheduling(cluster.url, policy_file=policy, writeback=WRITTEN_SOON),
    ):
        cluster.apply([queue("q", 15), *of_gpus("a", 16, "q"), *of_gpus("b", 4)])
        await until(lambda: len(nodes_of(cluster, "b-")) == 4)
        assert reasons(cluster, "a-") == {"QueueCapability"}
        assert bought(cluster) == ["h100-0"]


async def test_nobody_is_evicted_for_a_gang_while_nodes_for_it_are_on_their_way(tmp_path: Path, policy: Path) -> None:
    own = node("own", cpu="64")
    for amounts in own["status"].values():
        amounts[GPU] = "8"
    async with (
        Cluster([own], pools=pools(tmp_path / "pools.yaml", delay="1s")) as cluster,
        scheduling(cluster.url, policy_file=policy, writeback=WRITTEN_SOON),
    ):
        cluster.apply([priority_class("high", 9), podgroup("low", 1), *of_gpus("low", 8)[1:]])
        await until(lambda: len(nodes_of(cluster, "low-")) == 8)
        cluster.apply(of_class("high", of_gpus("new", 8)))
        await until(lambda: len(nodes_of(cluster, "new-")) == 8)
        assert set(nodes_of(cluster, "new-").values()) == {"h100-0"}
        assert len(nodes_of(cluster, "low-")) == 8


SLOWLY = [
    {"name": "h100-a", "max": 1, "delay": "200ms", "price": 1, "capacity": {"cpu": 64, GPU: 8}},
    {"name": "h100-b", "max": 9, "delay": "1500ms", "price": 2, "capacity": {"cpu": 64, GPU: 8}},
]
"""Of two nodes that are bought together, one comes much later."""


async def test_nodes_that_come_for_a_gang_are_kept_for_it(tmp_path: Path, policy: Path) -> None:
    async with (
        Cluster([node("n1")], pools=written(tmp_path / "pools.yaml", SLOWLY)) as cluster,
        scheduling(cluster.url, policy_file=policy, writeback=WRITTEN_SOON),
    ):
        cluster.apply(of_gpus("first", 16))
        await until(lambda: len(requests(cluster)) == 1)
        cluster.apply([podgroup("second", 8), *of_gpus("second", 8)[1:]])
        await until(lambda: bought(cluster) == ["h100-a-0"])
        await until(
            lambda: "reserved for gang default/first until all its nodes are there" in message(cluster, "second-0")
        )
        await until(lambda: len(nodes_of(cluster, "first-")) == 16)
        assert set(nodes_of(cluster, "first-").values()) == {"h100-a-0", "h100-b-0"}
        await until(lambda: len(nodes_of(cluster, "second-")) == 8)
        assert set(nodes_of(cluster, "second-").values()) == {"h100-b-1"}
        assert bought(cluster) == ["h100-a-0", "h100-b-0", "h100-b-1"]


@pytest.fixture
def impatient(tmp_path: Path) -> Path:
    found = tmp_path / "impatient.yaml"
    found.write_text(POLICY.replace("retries: 1", "retries: 1, keepNodes: 1s"))
    return found


async def test_nodes_that_are_provisioned_and_never_come_are_asked_for_again(impatient: Path) -> None:
    async with (
        Cluster([node("n1")]) as cluster,
        scheduling(cluster.url, policy_file=impatient, writeback=WRITTEN_SOON),
    ):
        cluster.apply(of_gpus("a", 4))
        for attempt in ("-1", "-2"):
            await until(lambda end=attempt: [one["metadata"]["name"][-2:] for one in requests(cluster)] == [end])
            provision(cluster, requests(cluster)[0])
        await until(lambda: "2 ProvisioningRequests failed" in message(cluster, "a-0"))
        why = controllers_words.nodes_not_ready("1s")
        assert why in message(cluster, "a-0")
        told = [one for one in cluster.client.list("events", "default") if one.get("reason") == "ProvisioningFailed"]
        assert any(why in str(one.get("message") or one.get("note")) for one in told)


def provision(cluster: Cluster, request: Obj) -> None:
    """Say that its nodes are there, as an autoscaler would."""
    said = {"type": "Provisioned", "status": "True", "reason": "CapacityIsProvisioned", "message": "there"}
    said["lastTransitionTime"] = utc_now().strftime("%Y-%m-%dT%H:%M:%SZ")
    name = request["metadata"]["name"]
    cluster.client.patch_status(REQUESTS, "default", name, lambda found: {**found, "status": {"conditions": [said]}})


@pytest.mark.parametrize("count", [1, 2], ids=["after the PodTemplate", "after the request"])
async def test_a_daemon_that_is_killed_does_not_buy_twice(tmp_path: Path, policy: Path, count: int) -> None:
    made = r"POST (/api/v1/namespaces/[^/]+/podtemplates|/apis/autoscaling\.x-k8s\.io/.*)"
    async with Cluster([node("n1")], pools=pools(tmp_path / "pools.yaml", delay="3s")) as cluster:
        cluster.apply(of_gpus("a", 16))
        assert await killed_after(cluster, made, count, policy_file=policy)
        assert len(cluster.client.list("podtemplates", "default")) == 1
        assert len(requests(cluster)) == count - 1
        async with scheduling(cluster.url, policy_file=policy):
            await until(lambda: len(nodes_of(cluster, "a-")) == 16)
            await until(lambda: not requests(cluster))
        assert bought(cluster) == ["h100-0", "h100-1"]


VCJOB = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train, namespace: default}
spec:
  schedulerName: vsched
  minAvailable: 16
  tasks:
  - name: worker
    replicas: 16
    template:
      spec:
        restartPolicy: Never
        containers:
        - name: main
          image: busybox
          resources: {requests: {cpu: "1", example.com/gpu: "1"}, limits: {example.com/gpu: "1"}}
"""


@pytest.mark.parametrize("asks", [True, False], ids=["by a request", "by the conditions of its pods"])
async def test_a_vcjob_buys_nodes_though_its_pods_are_made_after_admission(tmp_path: Path, asks: bool) -> None:
    policy = tmp_path / "policy.yaml"
    autoscaling = {"provisioningRequest": asks, "admit": True}
    policy.write_text(yaml.safe_dump({**yaml.safe_load(default_text()), "autoscaling": autoscaling}))
    async with (
        Cluster([node("n1")], pools=pools(tmp_path / "pools.yaml")) as cluster,
        scheduling(cluster.url, policy_file=policy, job_controller=True),
    ):
        cluster.apply([yaml.safe_load(VCJOB)])
        await until(lambda: len(nodes_of(cluster, "train-")) == 16)
        assert bought(cluster) == ["h100-0", "h100-1"]


async def test_requests_are_made_once_though_every_call_may_fail(tmp_path: Path, policy: Path) -> None:
    slow = ("watch", "slow", "timeout", "webhook-timeout")
    kinds = (kind for kind in FaultKind if not kind.value.startswith(slow) and kind is not FaultKind.DENIED)
    spoiling: list[dict[str, object]] = [{"fault": kind.value, "percent": 5} for kind in kinds]
    # A pod whose binding is denied goes to another node, for which one more is bought.
    spoiling.append({"fault": "denied", "percent": 20, "resources": ["provisioningrequests", "podtemplates"]})
    faults = FaultInjector(plan_of({"seed": 5, "rules": spoiling}, "test"))
    async with Cluster([node("n1")], pools=pools(tmp_path / "pools.yaml", delay="1s"), faults=faults) as cluster:
        changes = cluster.store.subscribe(cluster.client.kind(REQUESTS))
        async with scheduling(cluster.url, policy_file=policy):
            for name in "abcd":
                cluster.apply(of_gpus(name, 16))
            await until(lambda: len(nodes_of(cluster)) == 64)
            await until(lambda: not requests(cluster) and not cluster.client.list("podtemplates", "default"))
        assert len(bought(cluster)) == 8
        assert len([event for event in changes.take() if event.type == "ADDED"]) == 4
