"""A running daemon explains: what it says is the latest, the same as on the objects, and right where others err."""

from __future__ import annotations

from typing import Any

from tests.support.explanations import Asking
from tests.support.fault_proxy import faulty
from tests.support.running import condition_of, gang, node, nodes_of, pod, podgroup, scheduling, status_of
from tests.support.waiting import until
from vsched.sim.cluster import Cluster

SECONDS = 60.0
QUEUES = "scheduling.volcano.sh/queues"
PORTS = {"listen_address": "127.0.0.1:0"}


async def test_an_explanation_follows_what_happens() -> None:
    """A gang waits for room, then for nothing; another for its queue's capability, until that is raised."""
    bounded = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": "q"},
        "spec": {"weight": 1, "capability": {"cpu": "1"}},
    }
    capped = [podgroup("capped", 2, queue="q"), *(pod(f"capped-{number}", "capped") for number in range(2))]
    async with (
        Cluster([node("n1", cpu="4")], manifests=[bounded, *gang("fills", 3)]) as cluster,
        scheduling(cluster.url, **PORTS) as daemon,
    ):
        asking = Asking(daemon)
        await until(lambda: len(nodes_of(cluster, "fills-")) == 3, SECONDS)
        cluster.apply([*gang("wants", 3), *capped])
        waits = await asking.until("explain/default/wants", state="waits")
        assert waits["message"].startswith("the gang needs 3, 1 fits: 1 node has too little cpu")
        assert (waits["constraints"][0]["code"], waits["place"]["position"]) == ("GangSize", 1)
        assert waits["changes"], "what would help was looked for"
        bound = await asking.until("explain/default/capped", state="never")
        assert "QueueCapability" in {one["code"] for one in bound["constraints"]}
        cluster.client.patch(QUEUES, "", "q", lambda obj: {**obj, "spec": {**obj["spec"], "capability": {"cpu": "9"}}})
        freed = await asking.until("explain/default/capped", state="waits")
        assert freed["constraints"][0]["code"] in ("GangSize", "Resources")
        cluster.apply([node("n2", cpu="8")])
        await asking.until("explain/default/wants", state="runs")
        await asking.until("explain/default/capped", state="runs", message="runs")


async def test_the_page_the_object_and_its_pods_say_the_same() -> None:
    async with (
        Cluster([node("n1", cpu="2")], manifests=gang("g", 4)) as cluster,
        scheduling(cluster.url, advise=False, **PORTS) as daemon,
    ):
        await until(lambda: _condition(cluster), SECONDS)
        found = await Asking(daemon).until("explain/default/g", state="never")
        condition = _condition(cluster)
        assert (found["message"], condition["reason"]) == (condition["message"], "NotEnoughResources")
        assert (
            found["message"]
            == "the gang needs 4, 2 fit, and no more would if all nodes were empty: 1 node has too little cpu"
        )
        told = await Asking(daemon).why("explain/default/g-3")
        await until(lambda: _said(cluster, "g-3") == told["message"], SECONDS)


async def test_bindings_that_are_refused_are_told_until_they_are_not() -> None:
    told = "no node fits: 1 node is refused by admission; on n1: a webhook denies it"
    async with (
        Cluster([node("n1")]) as cluster,
        faulty(cluster.url) as proxy,
        scheduling(proxy.url, **PORTS) as daemon,
    ):
        proxy.spoil("POST", r"/api/v1/namespaces/default/pods/[^/]+/binding", 422, 1000, "a webhook denies it")
        cluster.apply(gang("g", 1))
        asking = Asking(daemon)
        found = await asking.until("explain/default/g?kind=PodGroup", state="waits", message=told)
        assert [one["code"] for one in found["constraints"]] == ["Binding"]
        pod_found = await asking.until("explain/default/g-0", state="waits")
        assert pod_found["message"].endswith("on n1: a webhook denies it")
        proxy.mend()
        await asking.until("explain/default/g?kind=PodGroup", state="runs")


async def test_a_gang_that_lost_pods_says_so_everywhere() -> None:
    async with (
        Cluster([node("n1")], manifests=gang("g", 3)) as cluster,
        scheduling(cluster.url, advise=False, **PORTS) as daemon,
    ):
        asking = Asking(daemon)
        await asking.until("explain/default/g", state="runs")
        cluster.client.delete("pods", "default", "g-1")
        found = await asking.until("explain/default/g", state="waits", phase="Unknown")
        assert found["message"] == "2 of the gang's 3 pods exist"
        await until(lambda: _condition(cluster).get("reason") == "NotEnoughTasks", SECONDS)
        assert _condition(cluster)["message"] == found["message"]
        job = (await asking.why("jobs"))["default/g"]
        assert (job["code"], job["message"]) == ("GangIncomplete", found["message"])


async def test_what_is_left_out_is_told_apart_from_what_is_not_there() -> None:
    foreign = pod("foreign")
    foreign["spec"]["schedulerName"] = "another"
    group = podgroup("missing", 1)
    async with (
        Cluster([node("n1")], manifests=[foreign, pod("stray", "missing"), pod("free")]) as cluster,
        scheduling(cluster.url, **PORTS) as daemon,
    ):
        asking = Asking(daemon)
        await asking.until("explain/default/stray", state="never")
        assert "spec.schedulerName is another" in (await asking.why("explain/default/foreign"))["error"]
        assert "did you mean default/free?" in (await asking.why("explain/default/fre"))["error"]
        await until(lambda: "PodGroup default/missing does not exist" in _said(cluster, "stray"), SECONDS)
        cluster.apply([group])
        await asking.until("explain/default/stray", state="runs")


def _said(cluster: Cluster, name: str) -> str:
    found = cluster.client.get("pods", "default", name)
    return str(condition_of(found, "PodScheduled").get("message", ""))


def _condition(cluster: Cluster) -> dict[str, Any]:
    return condition_of({"status": status_of(cluster, "g")}, "Unschedulable")
