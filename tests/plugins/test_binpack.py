"""binpack: weights as a configuration gives them, and what of a request counts."""

from __future__ import annotations

import msgspec
import pytest

from tests.plugins.pod_world import World
from vsched.framework.points.extension import SessionContext
from vsched.plugins.binpack import Binpack, BinpackArgs

GPU = "nvidia.com/gpu"


def two_nodes() -> World:
    """Both 4 cores and 16 GiB; n2 has four GPUs, and half of its cpu and a quarter of its memory are used."""
    return World().node("n1").node("n2", **{GPU: 4000})


def used(world: World) -> SessionContext:
    opening = world.opening()
    opening.nodes.idle[0, 1] -= 2000
    opening.nodes.idle[1, 1] -= 4 << 30
    return opening


def scores(args: BinpackArgs, request: dict[str, int]) -> list[float] | None:
    world = two_nodes()
    shape = world.shape(request)
    opening = used(world)
    plugin = Binpack(args)
    plugin.open(opening)
    found = plugin.score(shape, opening.nodes, slice(None))
    rows = [plugin.score_row(shape, opening.nodes, row) for row in (0, 1)]
    if found is None:
        assert rows == [0.0, 0.0]
        return None
    some = plugin.score(shape, opening.nodes, [1])
    assert some is not None
    assert some.tolist() == rows[1:] == found.tolist()[1:]
    assert found.tolist() == rows
    return rows


CORE_AND_4_GIB = {"cpu": 1000, "memory": 4 << 30}


@pytest.mark.parametrize(
    ("args", "request_amounts", "expected"),
    [
        pytest.param(BinpackArgs(), CORE_AND_4_GIB, [25.0, (75 + 50) / 2], id="the mean of cpu and memory"),
        pytest.param(BinpackArgs(weight=10), CORE_AND_4_GIB, [250.0, 625.0], id="times the weight of all"),
        pytest.param(BinpackArgs(cpu=3), CORE_AND_4_GIB, [25.0, (3 * 75 + 50) / 4], id="cpu three times"),
        pytest.param(BinpackArgs(memory=0), CORE_AND_4_GIB, [25.0, 75.0], id="memory left out"),
        pytest.param(BinpackArgs(), {"cpu": 1000}, [25.0, 75.0], id="only what is asked for counts"),
        pytest.param(BinpackArgs(), {"cpu": 3000}, [75.0, 0.0], id="more than is idle"),
        pytest.param(BinpackArgs(), {GPU: 2000}, None, id="a resource that is not listed"),
        pytest.param(BinpackArgs(resources=GPU), {GPU: 2000}, [0.0, 50.0], id="a listed resource"),
        pytest.param(
            BinpackArgs(resources=f"x, {GPU}", resource_weights={GPU: 3}),
            {"cpu": 1000, GPU: 2000},
            [25 / 4, (75 + 3 * 50) / 4],
            id="a listed resource by its weight, which divides where the node has none",
        ),
        pytest.param(BinpackArgs(cpu=0, memory=0), CORE_AND_4_GIB, None, id="nothing left that counts"),
        pytest.param(BinpackArgs(weight=0), CORE_AND_4_GIB, None, id="weight 0 turns it off"),
        pytest.param(BinpackArgs(), {}, None, id="a pod that asks for nothing"),
    ],
)
def test_scores(args: BinpackArgs, request_amounts: dict[str, int], expected: list[float] | None) -> None:
    assert scores(args, request_amounts) == (None if expected is None else pytest.approx(expected))


def test_arguments_by_their_names_in_the_file() -> None:
    written = {"binpack.weight": 2, "binpack.cpu": -5, "binpack.resources": "a/b", "binpack.resources.*": {"a/b": -1}}
    args = msgspec.convert(written, BinpackArgs).normalised()
    assert args.by_resource() == {"cpu": 1, "memory": 1, "a/b": 1}
    assert args.weight == 2


def test_a_resource_that_no_node_table_knows_yet_counts_nowhere() -> None:
    world = two_nodes()
    opening = used(world)
    shape = world.shape({"cpu": 1000, "new.example/thing": 1000})
    plugin = Binpack(BinpackArgs(resources="new.example/thing"))
    plugin.open(opening)
    found = plugin.score(shape, opening.nodes, slice(None))
    assert found is not None
    assert found.tolist() == [12.5, 37.5]
