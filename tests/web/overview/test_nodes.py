"""Nodes in pictures: how full they are, what they use, and whether they take anything."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.hypernodes import hypernode_object
from tests.support.plans import DEFAULT_POLICY, NOW, Manifest, manifests, mirror, policy_from
from tests.support.sights import AROUND, frozen, look, of
from vsched.model.nodes.table import NodeAttributes
from vsched.model.nodes.usage import Figures, NodeUsage, Reading
from vsched.web.overview.assembly import Most, assemble
from vsched.web.overview.nodes import per_cent, shown_rows

NODES = {
    "nothing is held": ("node n1", (0, 0, 0), ""),
    "a little is more than nothing": ("node n1 cpu=1000\npods ns/a 1 cpu=1 on=n1", (1, 0, 1), ""),
    "nearly all is not all": ("node n1 cpu=1000\npods ns/a 1 cpu=999 on=n1", (99, 0, 1), ""),
    "more than all": ("node n1 cpu=2\npods ns/a 1 cpu=3 on=n1", (150, 0, 1), ""),
    "a device that another node has": ("node n1\nnode n2 gpu=1", (0, 0, None, 0), ""),
    "cordoned": ("node n1 cordoned", (0, 0, 0), "cordoned"),
    "tainted": ("node n1 taint=dedicated:yes", (0, 0, 0), "tainted"),
    "not ready": ("node n1 cordoned taint=node.kubernetes.io/not-ready:", (0, 0, 0), "notready"),
}


@pytest.mark.parametrize(("text", "allocated", "state"), NODES.values(), ids=NODES)
def test_nodes(text: str, allocated: tuple[int | None, ...], state: str) -> None:
    row = of(text).nodes["n1"]
    assert (row.allocated, row.state) == (allocated, state)


def test_what_the_session_binds_is_on_its_node_at_once() -> None:
    found = of("node n1 cpu=4\njob ns/a min=2 pods=2 cpu=1")
    assert (found.nodes["n1"].allocated[0], found.nodes["n1"].pods) == (50, 2)
    assert found.resources[0].held == 2000
    assert found.counts["pods_running"] == 2


POOLS = {
    "its node group": ("volcano.sh/nodegroup-name=fast node.kubernetes.io/instance-type=m5", "fast"),
    "its instance type": ("node.kubernetes.io/instance-type=m5 nvidia.com/gpu.product=H100", "m5"),
    "its accelerator": ("nvidia.com/gpu.product=H100", "H100"),
    "none": ("zone=a", ""),
}


@pytest.mark.parametrize(("labels", "pool"), POOLS.values(), ids=POOLS)
def test_a_node_belongs_to(labels: str, pool: str) -> None:
    assert of(f"node n1 {labels}").nodes["n1"].group == pool


TIERS = policy_from(
    """{"actions": "allocate", "tiers": [{"plugins": [
        {"name": "network-topology-aware", "arguments": {"hypernode.labels": ["r", "b"]}}]}]}"""
)
RACKS = {
    "a HyperNode": (["rack=a"], [hypernode_object("h1", 1, "n1"), hypernode_object("h2", 2, "^h1")], ["h1"]),
    "what its label says where nothing else does": (["rack=a", "zone=b"], [], ["a", ""]),
    "the closest tier of the policy": (["r=1 b=2"], [], ["2/1"]),
    "none, where a HyperNode has others": (["rack=a", ""], [hypernode_object("h1", 1, "n2")], ["", "h1"]),
}


@pytest.mark.parametrize(("labels", "objects", "racks"), RACKS.values(), ids=RACKS)
def test_a_node_is_in_the_rack_of(labels: list[str], objects: list[Manifest], racks: list[str]) -> None:
    nodes = manifests("\n".join(f"node n{at} {each}" for at, each in enumerate(labels, 1)))
    found = look(mirror([*nodes, *objects]), policy=TIERS if "r=1" in labels[0] else DEFAULT_POLICY)
    assert [row.rack for row in assemble(found, AROUND).nodes.values()] == racks


USED: dict[str, tuple[NodeUsage | None, tuple[int | None, int | None]]] = {
    "nobody collects anything": (None, (None, None)),
    "of the usual period": (
        NodeUsage(NOW, {"1m": Figures(9.0), "5m": Figures(63.4)}, {"5m": Figures(40.6)}),
        (63, 41),
    ),
    "of another one": (NodeUsage(NOW, {"1h": Figures(12.0)}), (12, None)),
    "long past": (NodeUsage(NOW - 3600.0, {"5m": Figures(63.0)}), (None, None)),
}


@pytest.mark.parametrize(("usage", "shown"), USED.values(), ids=USED)
def test_measured_usage(usage: NodeUsage | None, shown: tuple[int | None, int | None]) -> None:
    cache = mirror(manifests("node n1\nnode n2"))
    if usage is not None:
        cache.inputs.use(Reading(NOW, {"n1": usage}))
    rows = assemble(look(cache), AROUND).nodes
    assert (rows["n1"].cpu_usage, rows["n1"].memory_usage) == shown
    assert (rows["n2"].cpu_usage, rows["n2"].memory_usage) == (None, None)


@given(st.lists(st.tuples(st.integers(0, 1 << 45), st.integers(0, 1 << 45)), max_size=20))
def test_per_cents_tell_something_from_nothing_and_all_from_nearly_all(amounts: list[tuple[int, int]]) -> None:
    held, total = (np.array([pair[which] for pair in amounts], dtype=np.int64) for which in (0, 1))
    for part, (has, of_all) in zip(per_cent(held, total), amounts, strict=True):
        if not of_all:
            assert part is None
            continue
        assert part is not None
        assert (part == 0) is (has == 0)
        assert (part >= 100) is (has >= of_all)


def test_of_many_nodes_those_out_of_order_and_a_sample_are_shown() -> None:
    text = "\n".join(f"node n{number:03d}{' cordoned' if number in (7, 70) else ''} cpu=1" for number in range(100))
    found = assemble(frozen(text), AROUND, most=Most(nodes=10))
    assert len(found.nodes) == 10
    assert {"n007", "n070"} <= found.nodes.keys()
    assert [*found.nodes] == sorted(found.nodes)
    assert (found.counts["nodes"], found.counts["nodes_left_out"]) == (100, 90)
    assert found.resources[0].total == 100_000


def test_a_row_of_a_sample_is_that_of_its_node() -> None:
    text = "\n".join(f"node n{number} cpu=2\npods ns/p{number} {number % 3} cpu=1 on=n{number}" for number in range(30))
    whole, sample = assemble(frozen(text), AROUND), assemble(frozen(text), AROUND, most=Most(nodes=7))
    assert len(sample.nodes) == 7
    assert all(row == whole.nodes[name] for name, row in sample.nodes.items())


@given(st.lists(st.integers(0, 500), min_size=40, max_size=80, unique=True), st.integers(1, 20))
def test_a_sample_stays_nearly_the_same_when_a_node_comes(numbers: list[int], most: int) -> None:
    nodes = [NodeAttributes(f"n{number}", {}) for number in sorted(numbers)]
    before = {nodes[row].name for row in shown_rows(nodes, most).tolist()}
    more = [*nodes, NodeAttributes("new", {})]
    after = {more[row].name for row in shown_rows(more, most).tolist()}
    assert len(before) == len(after) == most
    assert len(after - before) <= 1
