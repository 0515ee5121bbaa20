"""Roles of a job that share nodes, with kubectl at an embedded cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.kubectl import Kubectl
from tests.support.running import nodes_of, scheduling
from tests.support.waiting import until
from vsched.mirror.ingest.words.groups import role_twice
from vsched.sim.cluster import Cluster

POLICY = Path(__file__).parents[2] / "config" / "policies" / "roles.yaml"
GROUP = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata:
  name: train
  annotations: {volcano.sh/task-topology-affinity: "ps,worker", volcano.sh/task-topology-anti-affinity: "ps;worker"}
spec: {minMember: 4, minTaskMember: {ps: 2, worker: 2}}
"""
POD = """
---
apiVersion: v1
kind: Pod
metadata:
  name: train-%s
  annotations: {scheduling.k8s.io/group-name: train, volcano.sh/task-spec: %s}
spec:
  schedulerName: vsched
  containers: [{name: main, image: busybox, resources: {requests: {cpu: "1"}}}]
"""


@pytest.mark.kubectl
async def test_each_server_shares_a_node_with_one_worker(tmp_path: Path) -> None:
    async with Cluster(4) as cluster, scheduling(cluster.url, policy_file=POLICY):
        cluster.write_kubeconfig(tmp_path / "config")
        roles = (("ps-0", "ps"), ("ps-1", "ps"), ("worker-0", "worker"), ("worker-1", "worker"))
        await Kubectl(tmp_path)("apply", "-f", "-", given=GROUP + "".join(POD % role for role in roles))
        await until(lambda: len(nodes_of(cluster, "train")) == 4)

        found = nodes_of(cluster, "train")
        pairs = {tuple(sorted(name for name in found if found[name] == node)) for node in found.values()}
        assert {tuple(name[6:-2] for name in pair) for pair in pairs} == {("ps", "worker")}
        assert len(pairs) == 2


@pytest.mark.kubectl
async def test_kubectl_shows_what_is_wrong_with_the_annotations(tmp_path: Path) -> None:
    async with Cluster(1) as cluster, scheduling(cluster.url):
        cluster.write_kubeconfig(tmp_path / "config")
        kubectl = Kubectl(tmp_path)
        await kubectl("apply", "-f", "-", given=GROUP.replace("ps,worker", "ps,ps"))

        await until(lambda: any("in one group twice" in found["message"] for found in cluster.client.list("events")))
        assert role_twice("volcano.sh/task-topology-affinity]", "ps") in await kubectl("get", "events")
