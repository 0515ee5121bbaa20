"""Residents: pods that an embedded cluster has from its start, and what is wrong with bad descriptions of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import aiohttp
import pytest

from vsched.errors import BadInput
from vsched.sim.cluster import Cluster
from vsched.sim.fleet.residents import Residents, read_residents

RESIDENTS = """
- count: 7
  prefix: train-
  gang: 3
  namespace: training
  namespaces: 2
  queue: q
  request: {cpu: 1, memory: 1Gi}
- {count: 2, prefix: web-, scheduler: other}
---
{count: 2, prefix: wait-, gang: 2, running: false}
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "residents.yaml"
    path.write_text(text)
    return path


async def test_residents_are_there_from_the_start(tmp_path: Path) -> None:
    async with Cluster(2, residents=write(tmp_path, RESIDENTS)) as cluster:
        await cluster.settle()
        pods = {pod["metadata"]["name"]: pod for pod in cluster.client.list("pods")}
        groups = {group["metadata"]["name"]: group for group in cluster.client.list("scheduling.volcano.sh/podgroups")}
    gangs = ["train-0-0", "train-0-1", "train-0-2", "train-1-0", "train-1-1", "train-1-2", "train-2-0"]
    assert sorted(pods) == sorted([*gangs, "wait-0-0", "wait-0-1", "web-0", "web-1"])
    assert len({pod["metadata"]["uid"] for pod in pods.values()}) == 11
    namespaces = {name: pod["metadata"]["namespace"] for name, pod in pods.items()}
    assert [namespaces[name] for name in gangs] == ["training-0"] * 3 + ["training-1"] * 3 + ["training-0"]
    assert {name: group["spec"]["minMember"] for name, group in groups.items()} == {
        "train-0": 3,
        "train-1": 3,
        "train-2": 1,
        "wait-0": 2,
    }
    assert groups["train-0"]["spec"]["queue"] == "q"
    running = [pod for pod in pods.values() if pod["status"]["phase"] == "Running"]
    assert Counter(pod["spec"]["nodeName"] for pod in running) == {"node-0": 4, "node-1": 5}
    assert len({pod["status"]["podIP"] for pod in running}) == 9
    waiting = pods["wait-0-0"]
    assert waiting["status"]["phase"] == "Pending"
    assert "nodeName" not in waiting["spec"]
    assert waiting["metadata"]["annotations"]["scheduling.k8s.io/group-name"] == "wait-0"
    assert pods["web-0"]["spec"]["schedulerName"] == "other"
    assert pods["train-0-0"]["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1", "memory": "1Gi"}


async def test_residents_are_pods_like_any_other() -> None:
    """What a client writes of one is admitted: likenesses are valid objects of their own."""
    async with Cluster(1, residents=[Residents(count=2)]) as cluster, aiohttp.ClientSession() as client:
        url = f"{cluster.url}/api/v1/namespaces/default/pods/resident-1"
        patch = {"metadata": {"labels": {"more": "yes"}}}
        headers = {"Content-Type": "application/merge-patch+json"}
        async with client.patch(f"{url}?fieldManager=me", json=patch, headers=headers) as answer:
            assert answer.status == 200, await answer.text()
        async with client.get(url) as answer:
            found = await answer.json()
    assert found["metadata"]["labels"]["more"] == "yes"
    assert {entry["manager"] for entry in found["metadata"]["managedFields"]} == {
        "kube-controller-manager",
        "kubelet",
        "me",
    }
    assert found["status"]["containerStatuses"][0]["containerID"] == f"sim://{found['metadata']['uid']}/main"


BAD = {
    "an unknown key": ("- {count: 1, size: 3}", "document 1[0]: Object contains unknown field `size`"),
    "no count": ("- {prefix: a}", "document 1[0]: Object missing required field `count`"),
    "a count that is none": (
        "- {count: 1}\n- {count: many}",
        "document 1[1]: must be an integer, is a string - at `$.count`",
    ),
    "a gang of none": ("- {count: 1, gang: 0}", "document 1[0]: must be an integer >= 1 - at `$.gang`"),
    "no mapping": ("- 7", "document 1[0]: must be an object, is an integer"),
}


@pytest.mark.parametrize(("text", "problem"), BAD.values(), ids=BAD)
def test_bad_descriptions_are_told_in_one_line(tmp_path: Path, text: str, problem: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(BadInput) as refused:
        read_residents(path)
    assert str(refused.value) == f"{path}: {problem}"


REFUSED = {
    "nowhere to run": (0, Residents(count=1), "residents resident-*: they run, and there is no node (expected some)"),
    "a request that is none": (
        1,
        Residents(count=1, request={"cpu": "much"}),
        "residents resident-*: ",
    ),
}


@pytest.mark.parametrize(("nodes", "residents", "problem"), REFUSED.values(), ids=REFUSED)
async def test_residents_that_cannot_be_are_refused(nodes: int, residents: Residents, problem: str) -> None:
    with pytest.raises(BadInput) as refused:
        async with Cluster(nodes, residents=[residents]):
            pass
    assert str(refused.value).startswith(problem)
    assert "\n" not in str(refused.value)


async def test_an_expired_watch_is_that_of_one_resource_alone() -> None:
    async with Cluster(1, residents=[Residents(count=1)]) as cluster, aiohttp.ClientSession() as client:
        await cluster.settle()
        seen = str(cluster.store.revision)
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "later"}}
        cluster.client.create("namespaces", namespace)
        cluster.expire_watches("pods")
        answers = {}
        for resource in ("pods", "namespaces"):
            query = {"watch": "1", "resourceVersion": seen, "timeoutSeconds": "1"}
            async with client.get(f"{cluster.url}/api/v1/{resource}", params=query) as answer:
                answers[resource] = (await answer.content.readline()).decode()
    assert '"type":"ERROR"' in answers["pods"]
    assert '"code":410' in answers["pods"]
    assert '"name":"later"' in answers["namespaces"]
