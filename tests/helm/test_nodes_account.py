"""Nodes for gangs under the account that the chart gives the daemon for a policy that asks for them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import yaml

from tests.helm.accounts import LOCKED, Recorder, answers, covers, daemon_of, token_of
from tests.helm.releases import Released
from tests.support.charts import NAMESPACE, RELEASE, Obj, objects_of, options_in
from tests.support.running import gang, node, nodes_of
from tests.support.waiting import until
from vsched.daemon.permissions.needs import needed
from vsched.settings import load_text
from vsched.settings.built_in import REGISTRY
from vsched.sim.cluster import Cluster
from vsched.sim.controllers.autoscaling.requests import REQUESTS

POLICY: Obj = {
    "actions": "enqueue, allocate",
    "tiers": [{"plugins": [{"name": name} for name in ("priority", "gang", "predicates")]}],
    "autoscaling": {"provisioningRequest": True},
}
VALUES: Obj = {"policy": {"content": POLICY}}
NODES = ("provisioningrequests", "podtemplates")


async def test_a_gang_gets_its_nodes_by_a_request_with_no_more_rights_than_the_policy_needs(tmp_path: Path) -> None:
    pools = tmp_path / "pools.yaml"
    pools.write_text(yaml.safe_dump([{"name": "big", "max": 4, "delay": "200ms", "capacity": {"cpu": 8}}]))
    recorder = Recorder()
    async with Cluster([node("n1", cpu="1")], pools=pools, settings=LOCKED, gate=recorder) as cluster:
        await Released(cluster, tmp_path).install(VALUES)
        cluster.client.delete("apps/deployments", NAMESPACE, RELEASE)
        at_home = {"listen_address": "", "healthz_address": "", "webhook_address": "", "leader_pod": ""}
        options = msgspec.structs.replace(options_in(objects_of(VALUES)), **at_home)
        async with daemon_of(cluster, options, await token_of(cluster)) as daemon:
            cluster.apply(gang("train", 16, cpu="1"))
            await until(lambda: len(nodes_of(cluster, "train-")) == 16)
            assert set(nodes_of(cluster, "train-").values()) == {"big-0", "big-1"}
            await until(lambda: not cluster.client.list(REQUESTS) and not cluster.client.list("podtemplates"))
            assert not answers(daemon) & {"401", "403"}
    wanted = needed(options, load_text(yaml.safe_dump(POLICY), "policy", REGISTRY))
    assert {seen for seen in recorder.rights if not any(covers(right, seen) for right in wanted)} == set()
    for_nodes = {right for right in wanted if right.resource in NODES}
    assert {right for right in for_nodes if not any(covers(right, seen) for seen in recorder.rights)} == set()
    assert {right.verb for right in for_nodes} == {"list", "watch", "create", "delete"}
