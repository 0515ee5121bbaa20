"""The samples for frameworks: each starts together as many pods as the table of the guide says."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from tests.support.operators import Seen, made_of
from tests.support.pages import page, rows
from tests.support.running import node, scheduling
from tests.support.waiting import until
from vsched.sim.cluster import Cluster

Obj = dict[str, Any]
GUIDE = page("config/samples/README.md")
POLICY = GUIDE.folder.parent / "policies/taking-back.yaml"
PODGROUPS = "scheduling.volcano.sh/podgroups"
DEFAULT_CLASS: Obj = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "standard", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
    "provisioner": "csi.example.com",
}
TABLE = [row for row in rows(GUIDE.section("Frameworks, notebooks, services")) if len(row) == 5]


def samples(*, alone: bool) -> list[Any]:
    """Path and size of the gang of the samples that need vsched alone, or of the others."""
    found = [
        (re.findall(r"\]\(([^)]+)\)", cell)[0], int(size))
        for _, cell, needs, size, _ in TABLE
        if (needs == "vsched") is alone
    ]
    return [pytest.param(path, size, id=path) for path, size in found]


def objects(path: str) -> list[Obj]:
    """The objects of a sample, which says in its first lines how it is applied."""
    text = (GUIDE.folder / path).read_text(encoding="utf-8")
    assert re.search(rf"^# kubectl apply .*-f config/samples/{path}$", text, re.MULTILINE)
    return list(yaml.safe_load_all(text))


@pytest.mark.parametrize(("path", "size"), samples(alone=False))
def test_what_operators_make_of_a_sample_starts_together(path: str, size: int) -> None:
    (obj,) = objects(path)
    seen = Seen()
    seen.tell(obj, *made_of(obj))
    assert max(least for least, _, _ in seen.gangs().values()) == size


@pytest.mark.parametrize(("path", "size"), samples(alone=True))
async def test_a_sample_that_needs_vsched_alone_starts_together(path: str, size: int) -> None:
    async with Cluster(4) as cluster, scheduling(cluster.url):
        cluster.apply([DEFAULT_CLASS, *objects(path)])
        await until(lambda: (found := running(cluster)) and all(found))
        minima = {each["spec"]["minMember"] for each in cluster.client.list(PODGROUPS, "default")}
    assert minima == {size}


def running(cluster: Cluster) -> list[bool]:
    """Of each PodGroup, whether its minimum runs."""
    groups = cluster.client.list(PODGROUPS, "default")
    return [(each.get("status") or {}).get("running", 0) >= each["spec"]["minMember"] for each in groups]


def placed(cluster: Cluster, app: str) -> int:
    """How many pods of the service, or of the Job, have nodes."""
    pods = cluster.client.list("pods", "default")
    mine = [each for each in pods if each["metadata"]["name"].startswith(f"{app}-")]
    return sum("nodeName" in each["spec"] and "deletionTimestamp" not in each["metadata"] for each in mine)


async def test_batch_work_gives_room_back_to_a_service_that_grows() -> None:
    *before, service = objects("workloads/service.yaml")
    nodes = [node(name) for name in ("n1", "n2")]
    async with Cluster(nodes) as cluster, scheduling(cluster.url, policy_file=POLICY):
        cluster.apply(before)
        await until(lambda: placed(cluster, "crunch") == 8)
        cluster.apply([service])
        await until(lambda: (placed(cluster, "web"), placed(cluster, "crunch")) == (2, 6))
        service["spec"]["replicas"] = 4
        cluster.apply([service])
        await until(lambda: (placed(cluster, "web"), placed(cluster, "crunch")) == (4, 4))
