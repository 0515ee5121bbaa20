"""Karpenter's NodePools as pools: what is known of their nodes, and how many there may be."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.plans import NOW, manifests, mirror
from vsched.cli.plan.buy import words
from vsched.cli.plan.buy.karpenter import node_pools
from vsched.errors import BadInput
from vsched.explain.edits.nodes import PoolNode
from vsched.explain.menu.records import OfferedPool
from vsched.model.frozen import freeze
from vsched.model.nodes.table import Taint
from vsched.model.snapshot import Snapshot

OWNER, TYPE, ZONE = "karpenter.sh/nodepool", "node.kubernetes.io/instance-type", "topology.kubernetes.io/zone"
AWS = "karpenter.k8s.aws/instance-"
GIB = 1 << 30


def snapshot_of(text: str = "node n1 cpu=1") -> Snapshot:
    return freeze(mirror(manifests(text)).snapshot(NOW))


def node_pool(*requirements: tuple[str, list[str]], **more: Any) -> dict[str, Any]:
    asked = [{"key": key, "operator": "In", "values": values} for key, values in requirements]
    template = {"metadata": {"labels": {"team": "ml"}}, "spec": {"requirements": asked, "taints": more.get("taints")}}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "p"},
        "spec": {"template": template, "limits": more.get("limits")},
    }


SIZES = ((AWS + "cpu", ["32"]), (AWS + "memory", ["131072"]))
GPUS = ((AWS + "gpu-count", ["4"]), (AWS + "gpu-manufacturer", ["nvidia"]))


def read(found: dict[str, Any], text: str = "node n1 cpu=1") -> list[OfferedPool]:
    return node_pools("pools.yaml", found, snapshot_of(text))


def test_requirements_that_leave_one_size_tell_what_a_node_has() -> None:
    (pool,) = read(node_pool(*SIZES, *GPUS, taints=[{"key": "gpu", "effect": "NoSchedule"}]))
    (node,) = pool.nodes
    assert (pool.name, pool.source, pool.room, pool.price, pool.problem) == ("p", "NodePool", None, None, "")
    assert node.allocatable == {"cpu": 32_000, "memory": 128 * GIB, "pods": 110, "nvidia.com/gpu": 4000}
    assert node.labels.items() >= {"team": "ml", OWNER: "p", AWS + "cpu": "32"}.items()
    assert node.taints == (Taint("gpu"),)


def test_a_node_of_an_allowed_instance_type_tells_what_its_like_has() -> None:
    text = f"node n1 cpu=8 memory=8Gi {TYPE}=small color=red\nnode n2 cpu=64 {TYPE}=large\nnode n3 cpu=2 {TYPE}=tiny"
    pools = read(node_pool((TYPE, ["small", "large", "absent"])), text)
    assert [pool.name for pool in pools] == ["p/large", "p/small"]
    assert [pool.nodes[0].allocatable["cpu"] for pool in pools] == [64_000, 8000]
    assert pools[1].nodes[0].labels == {TYPE: "small", "team": "ml", OWNER: "p"}


def test_its_own_nodes_tell_what_it_makes_where_it_names_no_types() -> None:
    (pool,) = read(node_pool(), f"node n1 cpu=8 {TYPE}=small {OWNER}=p\nnode n2 cpu=4 {TYPE}=other")
    assert (pool.name, pool.nodes[0].allocatable["cpu"]) == ("p", 8000)


def test_new_nodes_are_in_the_allowed_zones_in_turn() -> None:
    (pool,) = read(node_pool(*SIZES, (ZONE, ["a", "b"])))
    assert [node.labels[ZONE] for node in pool.nodes] == ["a", "b"]


@pytest.mark.parametrize(
    "requirements",
    [
        pytest.param((), id="nothing is required"),
        pytest.param(((AWS + "cpu", ["16", "32"]), SIZES[1]), id="several sizes are allowed"),
        pytest.param((SIZES[0],), id="the memory is open"),
        pytest.param(((TYPE, ["absent"]),), id="there is no node of the type"),
    ],
)
def test_a_shape_that_is_not_known_is_said(requirements: tuple[tuple[str, list[str]], ...]) -> None:
    (pool,) = read(node_pool(*requirements))
    assert pool.problem == words.REQUIREMENTS_SAY_NOT
    assert not pool.nodes


@pytest.mark.parametrize(
    ("limits", "room"),
    [
        pytest.param(None, None, id="no limits"),
        pytest.param({"cpu": "100"}, 2, id="what its nodes have counts: 36 of 100, so two of 32 more"),
        pytest.param({"cpu": 1000, "nodes": 3}, 2, id="the tightest of several; nodes count as such"),
        pytest.param({"cpu": "10"}, 0, id="over the limit already"),
        pytest.param({"nvidia.com/gpu": "8"}, None, id="a limit of what its nodes do not have"),
    ],
)
def test_limits(limits: dict[str, Any] | None, room: int | None) -> None:
    (pool,) = read(node_pool(*SIZES, limits=limits), f"node n1 cpu=36 {OWNER}=p\nnode n2 cpu=64")
    assert pool.room == room


@pytest.mark.parametrize(
    ("found", "says"),
    [
        pytest.param({"kind": "NodePool"}, words.no_name("pools.yaml"), id="no name"),
        pytest.param(
            {"kind": "NodePool", "apiVersion": "karpenter.sh/v1beta1", "metadata": {"name": "p"}},
            r"NodePool p: apiVersion 'karpenter.sh/v1beta1' \(expected karpenter.sh/v1\)",
            id="another version",
        ),
        pytest.param(
            node_pool(*SIZES, limits={"cpu": "many"}), "pools.yaml: NodePool p: spec.limits: .*many", id="a bad limit"
        ),
        pytest.param(node_pool(*SIZES, taints=["gpu"]), "pools.yaml: NodePool p: .*taints", id="a taint that is none"),
        pytest.param(
            {**node_pool(*SIZES), "spec": {"template": 3}},
            "pools.yaml: NodePool p: spec: .*template",
            id="a bad template",
        ),
    ],
)
def test_mistakes_are_refused_with_their_place(found: dict[str, Any], says: str) -> None:
    with pytest.raises(BadInput, match=says):
        read(found)


def test_equal_nodes_are_equal_pools() -> None:
    assert read(node_pool(*SIZES)) == read(node_pool(*SIZES))
    assert isinstance(read(node_pool(*SIZES))[0].nodes[0], PoolNode)
