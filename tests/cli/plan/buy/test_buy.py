"""``vsched plan --buy``: menus for people and as data, of manifests, of dumps and of a running daemon."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from tests.support.held import holding
from tests.support.plans import manifests
from tests.support.questions import Asker, recording_of
from tests.support.running import gang, node, nodes_of, podgroup
from tests.support.waiting import until
from vsched.cli import cli
from vsched.cli.plan.buy import words
from vsched.explain.words import edits as edits_words
from vsched.sim.cluster import Cluster

GPU = "example.com/gpu"
CLUSTER = """
    node n1 cpu=16 gpu=8
    queue research weight=1 capability=gpu:8
    queue prod weight=1
    job ml/lacking min=32 pods=32 cpu=1 gpu=2 queue=prod age=60
    job ml/over min=16 pods=16 cpu=1 gpu=1 queue=research age=30
"""
# The gang of 64 devices needs 72 in all: by the share of the other queue, its own deserves 8 less than there are.
H100 = {"name": "h100", "max": 20, "delay": "2m", "price": 2.5, "capacity": {"cpu": 96, GPU: 8}}
OTHER = {"name": "l4", "max": 1, "capacity": {"cpu": 96, GPU: 4}}
NODE_POOL = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodePool",
    "metadata": {"name": "any"},
    "spec": {"template": {"spec": {"requirements": []}}},
}


@pytest.fixture
def asker(tmp_path: Path) -> Asker:
    return Asker(tmp_path, recording_of(CLUSTER))


@pytest.fixture
def pools(asker: Asker) -> str:
    return asker.file("pools.yaml", yaml.safe_dump_all([[H100, OTHER], NODE_POOL]))


def menus(document: dict[str, Any]) -> dict[str, Any]:
    return {menu["job"]: menu for menu in document["menus"]}


def test_a_menu_as_data_has_nodes_quota_time_and_whose_work(asker: Asker, pools: str) -> None:
    document = asker.answer("--buy", "--pools", pools)
    assert (document["session"], document["waiting"]) == (7, 2)
    assert [(pool["name"], pool["source"], pool["room"]) for pool in document["pools"]] == [
        ("h100", "file", 20),
        ("l4", "file", 1),
        ("any", "NodePool", None),
    ]
    lacking, over = menus(document)["ml/lacking"], menus(document)["ml/over"]
    assert lacking["nodes"]["offers"] == [
        {
            "message": f"{edits_words.more_of_pool(8, 'h100')} would start it",
            "pool": "h100",
            "source": "file",
            "count": 8,
            "alone": 8,
            "price": 20.0,
            "price_of_one": 2.5,
            "delay_seconds": 120.0,
            "quota": None,
            "besides": [],
        }
    ]
    assert set(lacking["nodes"]["refused"]) == {"l4", "any"}
    assert lacking["quota"]["answer"] == "no"
    assert lacking["waiting"]["answer"] == "unknown"
    assert lacking["work"]["answer"] == "no"
    (offer,) = (one for one in over["nodes"]["offers"] if one["pool"] == "h100")
    assert offer["quota"]["message"] == f"8 more {GPU} in queue research (capability 16)"


def test_a_menu_for_people_names_prices_and_delays(asker: Asker, pools: str) -> None:
    said = asker.ask("--buy", "--pools", pools).stdout
    assert said.startswith("2 gangs lack their minimum  (session 7 of ")
    assert "ml/lacking  queue prod, priority 0, has 0 of 32 pods" in said
    assert "nodes       yes  8 more of pool h100 would start it; price 20 (8 x 2.5), there in 2m" in said
    assert "quota       no   raising no limit of its queue or namespace would start it" in said


def test_without_pools_nodes_like_those_there_are(asker: Asker) -> None:
    (offer,) = menus(asker.answer("--buy"))["ml/lacking"]["nodes"]["offers"]
    assert (offer["message"], offer["source"]) == ("8 more like node n1 would start it", "node")


def test_nodes_of_a_pool_that_are_there_count_against_its_maximum(tmp_path: Path) -> None:
    text = CLUSTER.replace("node n1 cpu=16 gpu=8", "node n1 cpu=16 gpu=8 vsched.io/node-pool=h100")
    asker = Asker(tmp_path, recording_of(text))
    path = asker.file("pools.yaml", yaml.safe_dump([H100 | {"max": 7}]))
    document = asker.answer("--buy", "--pools", path)
    assert document["pools"][0]["room"] == 6
    assert menus(document)["ml/lacking"]["nodes"]["answer"] == "no"


def test_edits_come_first(asker: Asker, pools: str) -> None:
    flags = ("--set", "queue/research.capability." + GPU + "=16", "--add-nodes", "1", "--like", "n1")
    document = asker.answer(*flags, "--buy", "--pools", pools)
    assert document["edits"] == ["--set queue/research.capability.example.com/gpu=16", "--add-nodes 1 --like n1"]
    offers = menus(document)["ml/over"]["nodes"]["offers"]
    assert offers
    assert all(offer["quota"] is None for offer in offers)


def test_what_is_submitted_gets_a_menu(asker: Asker, pools: str) -> None:
    objects = manifests("job ml/new min=2 pods=2 cpu=32 queue=prod")
    for found in objects:
        found.setdefault("apiVersion", "v1")
        for container in found["spec"].get("containers", ()):
            container["image"] = "busybox"
    submitted = asker.file("job.yaml", yaml.safe_dump_all(objects))
    document = asker.answer("--submit", submitted, "--buy", "--pools", pools)
    assert (
        menus(document)["ml/new"]["nodes"]["offers"][0]["message"]
        == f"{edits_words.more_of_pool(1, 'h100')} would start it"
    )


def test_at_most_so_many_gangs_get_a_menu_and_the_others_are_counted(asker: Asker) -> None:
    document = asker.answer("--buy", "--most", "1")
    assert (len(document["menus"]), document["waiting"]) == (1, 2)
    assert words.more_gangs("1 gang").strip() in asker.ask("--buy", "--most", "1").stdout


def test_manifests_have_menus_as_well(tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": _with_versions(manifests(CLUSTER))}))
    found = CliRunner().invoke(cli, ["plan", "-f", str(path), "--buy", "-o", "json"])
    assert found.exit_code == 0, (found.output, found.exception)
    document = json.loads(found.stdout)
    assert document["session"] is None
    assert menus(document)["ml/lacking"]["nodes"]["offers"][0]["count"] == 8


def _with_versions(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"apiVersion": "v1"} | found for found in objects]


def test_where_no_gang_waits_it_is_said(tmp_path: Path) -> None:
    asker = Asker(tmp_path, recording_of("node n1 cpu=4\njob ml/a min=2 pods=2 cpu=1"))
    assert asker.ask("--buy").stdout.startswith(words.gangs_lack(0))
    assert asker.answer("--buy")["menus"] == []


REFUSED = [
    pytest.param(["--most", "3"], words.with_buy_only("--most"), id="a flag of menus without --buy"),
    pytest.param(
        ["--buy", "--context", "c"], "--kubeconfig, --context: for NodePools of a running cluster", id="not with a dump"
    ),
]


@pytest.mark.parametrize(("flags", "says"), REFUSED)
def test_flags_that_do_not_go_together_are_refused(asker: Asker, flags: list[str], says: str) -> None:
    found = asker.ask(*flags)
    assert found.exit_code == 2
    assert says in found.output


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("", "nothing in it (expected a list of node pools, or NodePools)", id="empty"),
        pytest.param("- {name: a, max: many}", "max is 'many'", id="a bad number"),
        pytest.param("- {name: a}\n- {name: a}", "two pools are called 'a'", id="two of a name"),
        pytest.param("- {name: a, capacity: {cpu: many}}", "many", id="a bad amount"),
    ],
)
def test_mistakes_in_a_file_of_pools_are_told(asker: Asker, text: str, says: str) -> None:
    found = asker.ask("--buy", "--pools", asker.file("bad.yaml", text))
    assert found.exit_code == 1
    assert says in str(found.exception)


KARPENTER = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "nodepools.karpenter.sh"},
    "spec": {
        "group": "karpenter.sh",
        "scope": "Cluster",
        "names": {"kind": "NodePool", "listKind": "NodePoolList", "plural": "nodepools", "singular": "nodepool"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}
SIZES = [
    {"key": f"karpenter.k8s.aws/instance-{key}", "operator": "In", "values": [value]}
    for key, value in {"cpu": "8", "memory": "32768"}.items()
]


async def test_a_running_daemon_and_its_cluster_are_asked(tmp_path: Path) -> None:
    policy = (Path(__file__).parents[4] / "config" / "scheduler.yaml").read_text(encoding="utf-8")
    kubeconfig = tmp_path / "kubeconfig"
    async with Cluster([node("n1", cpu="2")]) as cluster, holding(cluster, policy) as held:
        cluster.write_kubeconfig(kubeconfig)
        cluster.apply([podgroup("a", 6), *gang("a", 6)[1:]])
        await until(lambda: "Unschedulable" in json.dumps(cluster.client.list("pods")), 60.0)
        await held.quiet()
        url = f"http://127.0.0.1:{held.daemon.ports['--listen-address']}"

        async def ask(*flags: str) -> Result:
            asked = ["plan", "--live", "--daemon", url, "--buy", "--kubeconfig", str(kubeconfig), *flags]
            return await asyncio.to_thread(CliRunner().invoke, cli, asked)

        found = await ask()
        assert found.exit_code == 0, (found.output, found.exception)
        assert words.NO_NODEPOOLS_SERVED in found.stdout
        assert "more like node n1 would start it" in found.stdout

        spec = {"template": {"spec": {"requirements": SIZES}}, "limits": {"cpu": "64"}}
        cluster.apply([KARPENTER])
        await until(lambda: cluster.client.list("karpenter.sh/nodepools") == [])
        cluster.apply([{**NODE_POOL, "metadata": {"name": "spot"}, "spec": spec}])
        found = await ask("-o", "json")
        assert found.exit_code == 0, (found.output, found.exception)
        document = json.loads(found.stdout)
        (menu,) = document["menus"]
        assert menu["job"] == "default/a"
        assert [offer["message"] for offer in menu["nodes"]["offers"]] == [
            f"{edits_words.more_of_pool(1, 'spot')} would start it"
        ]
        assert len(cluster.client.list("nodes")) == 1


async def test_the_node_pools_that_a_daemon_sees_are_offered_live_and_with_its_dump(tmp_path: Path) -> None:
    policy = (Path(__file__).parents[4] / "config" / "scheduler.yaml").read_text(encoding="utf-8")
    async with Cluster([node("n1", cpu="2")]) as cluster:
        cluster.apply([KARPENTER])
        await until(lambda: cluster.client.list("karpenter.sh/nodepools") == [])
        spec = {"template": {"spec": {"requirements": SIZES}}, "limits": {"cpu": 64}}
        cluster.apply([{**NODE_POOL, "metadata": {"name": "spot"}, "spec": spec}])
        async with holding(cluster, policy) as held:
            cluster.apply([podgroup("a", 6), *gang("a", 6)[1:]])
            await until(lambda: "Unschedulable" in json.dumps(cluster.client.list("pods")), 60.0)
            await held.quiet()
            url = f"http://127.0.0.1:{held.daemon.ports['--listen-address']}"
            dump = str(tmp_path / "dump.json.gz")

            async def told(*flags: str) -> str:
                found = await asyncio.to_thread(CliRunner().invoke, cli, flags)
                assert found.exit_code == 0, (found.output, found.exception)
                return found.stdout

            live = json.loads(await told("plan", "--live", "--daemon", url, "--buy", "-o", "json"))
            await told("dump", "--daemon", url, "-O", dump)
            dumped = json.loads(await told("plan", "--from", dump, "--buy", "-o", "json"))
    assert [(pool["name"], pool["source"], pool["room"]) for pool in live["pools"]] == [("spot", "NodePool", 8)]
    assert dumped["pools"] == live["pools"]
    offers = [offer["message"] for menu in live["menus"] for offer in menu["nodes"]["offers"]]
    assert offers == [f"{edits_words.more_of_pool(1, 'spot')} would start it"]
    assert [menu["nodes"] for menu in dumped["menus"]] == [menu["nodes"] for menu in live["menus"]]


async def test_as_many_nodes_are_offered_as_an_autoscaler_then_adds(tmp_path: Path) -> None:
    policy = (Path(__file__).parents[4] / "config" / "scheduler.yaml").read_text(encoding="utf-8")
    file = tmp_path / "pools.yaml"
    file.write_text(yaml.safe_dump([{"name": "large", "capacity": {"cpu": 4}}]))
    objects = [podgroup("a", 10), *gang("a", 10)[1:]]
    async with Cluster([node("n1", cpu="2")]) as cluster, holding(cluster, policy) as held:
        cluster.apply(objects)
        await until(lambda: "Unschedulable" in json.dumps(cluster.client.list("pods")), 60.0)
        await held.quiet()
        url = f"http://127.0.0.1:{held.daemon.ports['--listen-address']}"
        asked = ["plan", "--live", "--daemon", url, "--buy", "--pools", str(file), "-o", "json"]
        found = await asyncio.to_thread(CliRunner().invoke, cli, asked)
        assert found.exit_code == 0, (found.output, found.exception)
        (offer,) = json.loads(found.stdout)["menus"][0]["nodes"]["offers"]
    async with Cluster([node("n1", cpu="2")], pools=file) as cluster, holding(cluster, policy):
        cluster.apply(objects)
        await until(lambda: len(nodes_of(cluster, "a-")) == 10)
        assert len(cluster.client.list("nodes")) == 1 + offer["count"]
