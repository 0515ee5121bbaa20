"""resource-strategy-fit: what counts of a request and how, nodes with scarce resources, and room kept beside them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.plugins.pod_world import JOB, World
from tests.support.plans import plan
from vsched.errors import BadPolicy
from vsched.framework.points.extension import SessionContext
from vsched.framework.policy import Policy
from vsched.model.pods.shape import ScoringStrategy
from vsched.plugins.resourcestrategyfit import (
    Proportional,
    ResourceStrategy,
    ResourceStrategyFit,
    ResourceStrategyFitArgs,
    ScarceResources,
    closest,
)
from vsched.plugins.words.arguments import star_inside
from vsched.settings import load_text
from vsched.settings.built_in import REGISTRY
from vsched.settings.reading.arguments import flat_arguments

GPU, DISK = "nvidia.com/gpu", "ephemeral-storage"
GIB = 1 << 30
LEAST, MOST = ResourceStrategy("LeastAllocated"), ResourceStrategy("MostAllocated")
CORE_AND_4_GIB = {"cpu": 1000, "memory": 4 * GIB}
CORE_AND_GPU = {"cpu": 1000, GPU: 1000}


def args(weight: int = 1, **resources: ResourceStrategy) -> ResourceStrategyFitArgs:
    """Strategies by resource; ``gpu`` stands for the full name."""
    named = {GPU if name == "gpu" else name: one for name, one in resources.items()}
    made = ResourceStrategyFitArgs(weight=weight, resources=named) if named else ResourceStrategyFitArgs(weight=weight)
    return made.normalised()


def weighing(one: ResourceStrategy, weight: int) -> ResourceStrategy:
    return msgspec.structs.replace(one, weight=weight)


def two_nodes() -> tuple[World, SessionContext]:
    """Both 4 cores and 16 GiB; n2 has four GPUs, and half of its cpu and a quarter of its memory are used."""
    world = World().node("n1").node("n2", **{GPU: 4000})
    opening = world.opening()
    opening.nodes.idle[0, 1] -= 2000
    opening.nodes.idle[1, 1] -= 4 * GIB
    return world, opening


def scores(
    made: ResourceStrategyFitArgs, request: dict[str, int], strategy: ScoringStrategy | None = None
) -> list[float] | None:
    """By node; however nodes are asked for, one by one or some or all, they score the same."""
    world, opening = two_nodes()
    shape = world.shape(request, strategy=strategy)
    plugin = ResourceStrategyFit(made)
    plugin.open(opening)
    found = plugin.score(shape, opening.nodes, slice(None))
    rows = [plugin.score_row(shape, opening.nodes, row) for row in (0, 1)]
    if found is None:
        assert rows == [0.0, 0.0]
        return None
    some = plugin.score(shape, opening.nodes, [1])
    assert some is not None
    assert some.tolist() == rows[1:]
    assert found.tolist() == rows
    return rows


@pytest.mark.parametrize(
    ("made", "request_amounts", "expected"),
    [
        pytest.param(args(), CORE_AND_4_GIB, [75.0, (25 + 50) / 2], id="cpu and memory, emptier nodes first"),
        pytest.param(args(10), CORE_AND_4_GIB, [750.0, 375.0], id="times the weight of all"),
        pytest.param(args(cpu=MOST, memory=MOST), CORE_AND_4_GIB, [25.0, (75 + 50) / 2], id="fuller nodes first"),
        pytest.param(args(cpu=MOST, memory=LEAST), CORE_AND_4_GIB, [(25 + 75) / 2, (75 + 50) / 2], id="one of each"),
        pytest.param(
            args(cpu=weighing(MOST, 3), memory=LEAST), CORE_AND_4_GIB, [(75 + 75) / 4, (225 + 50) / 4], id="by weight"
        ),
        pytest.param(args(cpu=weighing(LEAST, -2)), {"cpu": 1000}, [75.0, 25.0], id="a weight below 1 means 1"),
        pytest.param(args(cpu=LEAST), CORE_AND_4_GIB, [75.0, 25.0], id="a resource without a strategy does not count"),
        pytest.param(args(), {"cpu": 1000}, [75.0, 25.0], id="nor does one that is not asked for"),
        pytest.param(args(), {"cpu": 3000}, [25.0, 0.0], id="more than is idle"),
        pytest.param(args(), {"cpu": 3000, "memory": GIB}, [59.375, 0.0], id="more than is idle of one is enough"),
        pytest.param(
            args(cpu=LEAST, gpu=weighing(MOST, 2)),
            CORE_AND_GPU,
            [75 / 3, (25 + 2 * 25) / 3],
            id="where a node has none of a resource its weight still divides",
        ),
        pytest.param(args(cpu=LEAST), {GPU: 1000}, None, id="nothing that counts"),
        pytest.param(args(), {}, None, id="a pod that asks for nothing"),
        pytest.param(args(0), CORE_AND_4_GIB, None, id="weight 0 turns it off"),
        pytest.param(args(-1), CORE_AND_4_GIB, [750.0, 375.0], id="a negative weight means 10"),
    ],
)
def test_scores(made: ResourceStrategyFitArgs, request_amounts: dict[str, int], expected: list[float] | None) -> None:
    assert scores(made, request_amounts) == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        pytest.param(ScoringStrategy(True, (("cpu", 1),)), [25.0, 75.0], id="its own strategy"),
        pytest.param(ScoringStrategy(False, (("cpu", 1), ("memory", 3))), [75.0, 43.75], id="its own weights"),
        pytest.param(
            ScoringStrategy(True, (("c*", 1), ("memory", 0))), [25.0, 75.0], id="beginnings, and 0 leaves one out"
        ),
        pytest.param(ScoringStrategy(True, ()), None, id="nothing counts"),
        pytest.param(ScoringStrategy(True, (("*", 1),)), None, id="a star alone is passed over"),
    ],
)
def test_a_pod_brings_its_own_strategy(strategy: ScoringStrategy, expected: list[float] | None) -> None:
    assert scores(args(cpu=LEAST), CORE_AND_4_GIB, strategy) == (None if expected is None else pytest.approx(expected))


def test_a_resource_that_no_node_table_knows_yet_counts_nowhere() -> None:
    world, opening = two_nodes()
    shape = world.shape({"cpu": 1000, "new.example/thing": 1000})
    made = ResourceStrategyFitArgs(weight=1, resources={"cpu": MOST, "new.example/*": MOST}, sra=SPARE_GPUS)
    plugin = ResourceStrategyFit(made.normalised())
    plugin.open(opening)
    found = plugin.score(shape, opening.nodes, slice(None))

    assert found is not None
    assert found.tolist() == [12.5, 37.5]


@pytest.mark.parametrize(
    ("patterns", "found"),
    [
        pytest.param("nvidia.com/gpu nvidia.com/*", "nvidia.com/gpu", id="the name itself"),
        pytest.param("nvidia* nvidia.com/* nvidia.com/mig*", "nvidia.com/*", id="the longest beginning"),
        pytest.param("nvidia.com/gpu*", "nvidia.com/gpu*", id="a beginning that is the whole name"),
        pytest.param("* amd.com/*", None, id="a star alone means nothing"),
        pytest.param("nvidia.com", None, id="a beginning without a star"),
    ],
)
def test_which_strategy_means_a_resource(patterns: str, found: str | None) -> None:
    assert closest(GPU, dict.fromkeys(patterns.split())) == found
    assert closest(GPU, dict.fromkeys(reversed(patterns.split()))) == found


# -- what is scarce -----------------------------------------------------------------------------------------------

SPARE_GPUS = ScarceResources(enable=True, resources=(GPU,))


@pytest.mark.parametrize(
    ("sra", "request_amounts", "expected"),
    [
        pytest.param(SPARE_GPUS, {"cpu": 1000}, [100.0, 0.0], id="a node with GPUs is spared"),
        pytest.param(SPARE_GPUS, CORE_AND_GPU, [0.0, 0.0], id="a node that lacks what is asked for is no better"),
        pytest.param(
            ScarceResources(True, (GPU, "memory"), 3, {GPU: 2}), {"cpu": 1}, [200.0, 0.0], id="weights of resources"
        ),
        pytest.param(
            ScarceResources(True, (GPU, "new.example/thing"), 1, {GPU: -5}),
            {"cpu": 1},
            [100.0, 50.0],
            id="a negative one means 1, and what nobody has divides",
        ),
        pytest.param(ScarceResources(True, (GPU,), 0), {"cpu": 1}, None, id="weight 0 turns it off"),
        pytest.param(ScarceResources(True, (GPU,), -1), {"cpu": 1}, None, id="as does a negative one"),
        pytest.param(ScarceResources(False, (GPU,)), {"cpu": 1}, None, id="off unless it is enabled"),
        pytest.param(ScarceResources(True), {"cpu": 1}, None, id="nothing is scarce"),
        pytest.param(ScarceResources(True, (GPU,), 1, {GPU: 0}), {"cpu": 1}, None, id="nothing has a weight"),
    ],
)
def test_nodes_with_scarce_resources_are_spared(
    sra: ScarceResources, request_amounts: dict[str, int], expected: list[float] | None
) -> None:
    found = scores(ResourceStrategyFitArgs(weight=0, sra=sra), request_amounts)

    assert found == (None if expected is None else pytest.approx(expected))


def test_both_scores_add_up() -> None:
    made = ResourceStrategyFitArgs(weight=1, sra=SPARE_GPUS).normalised()

    assert scores(made, CORE_AND_4_GIB) == [175.0, 37.5]
    assert scores(made, {"cpu": 5000}) == [100.0, 0.0], "what is asked for too much of scores by scarcity alone"


def keeping(*resources: str, **proportion: float) -> ResourceStrategyFitArgs:
    """``gpu_cpu=2``: two cores for each GPU."""
    named = {name.replace("gpu_", f"{GPU}."): rate for name, rate in proportion.items()}
    return ResourceStrategyFitArgs(proportional=Proportional(True, resources, named))


def allowed(
    made: ResourceStrategyFitArgs, request: dict[str, int], change: Callable[[SessionContext], None] | None
) -> str:
    world = World().node("n1").node("n2", **{GPU: 2000})
    opening = world.opening()
    plugin = ResourceStrategyFit(made)
    plugin.open(opening)
    shape = world.shape(request)
    plugin.dynamic_checks(shape, None, opening.nodes)
    if change is not None:
        change(opening)
        plugin.on_allocate(JOB, world.task(world.labels(), shape), 1)
    checks = plugin.dynamic_checks(shape, None, opening.nodes)
    assert plugin.is_dynamic(shape, None) or not checks
    assert all(check.resolvable for check in checks), "pods that leave give back what is kept"
    return " ".join(
        name for row, name in enumerate(opening.nodes.statics.names) if all(check.passes[row] for check in checks)
    )


def less(resource: int, amount: int) -> Callable[[SessionContext], None]:
    """That much less is idle on n2."""

    def change(opening: SessionContext) -> None:
        opening.nodes.idle[resource, 1] -= amount

    return change


@pytest.mark.parametrize(
    ("made", "request_amounts", "change", "nodes"),
    [
        pytest.param(keeping(GPU), {"cpu": 2000}, None, "n1 n2", id="a core stays for each idle GPU"),
        pytest.param(keeping(GPU), {"cpu": 2001}, None, "n1", id="and no less"),
        pytest.param(keeping(GPU), {"cpu": 1500}, less(0, 1000), "n1", id="as of now"),
        pytest.param(keeping(GPU), {"cpu": 3000}, less(3, 1000), "n1 n2", id="GPUs in use need none"),
        pytest.param(keeping(GPU), {"cpu": 4000, GPU: 1000}, None, "n1 n2", id="who asks for one may have it all"),
        pytest.param(keeping(GPU, gpu_cpu=1.5), {"cpu": 1000}, None, "n1 n2", id="cores for each GPU"),
        pytest.param(keeping(GPU, gpu_cpu=1.5), {"cpu": 1001}, None, "n1", id="in parts as well"),
        pytest.param(keeping(GPU, gpu_cpu=0), {"cpu": 4000}, None, "n1 n2", id="none at all"),
        pytest.param(keeping(GPU, gpu_cpu=-3), {"cpu": 2001}, None, "n1", id="a negative number means 1"),
        pytest.param(
            keeping(GPU, gpu_memory=8), {"memory": 16 * GIB - 16 * 10**9}, None, "n1 n2", id="GB for each GPU"
        ),
        pytest.param(
            keeping(GPU, gpu_memory=8), {"memory": 16 * GIB - 16 * 10**9 + 1}, None, "n1", id="and not a byte less"
        ),
        pytest.param(keeping(GPU, gpu_cpu=3), {}, None, "n1", id="a pod that asks for nothing finds the same"),
        pytest.param(keeping("cpu", "memory"), {"cpu": 4000}, None, "n1 n2", id="cpu and memory are not scarce"),
        pytest.param(keeping("new.example/thing"), {"cpu": 4000}, None, "n1 n2", id="what nobody has is not scarce"),
        pytest.param(keeping(), {"cpu": 4000}, None, "n1 n2", id="nothing is scarce"),
        pytest.param(
            ResourceStrategyFitArgs(proportional=Proportional(False, (GPU,))),
            {"cpu": 4000},
            None,
            "n1 n2",
            id="off unless it is enabled",
        ),
    ],
)
def test_room_is_kept_beside_idle_scarce_resources(
    made: ResourceStrategyFitArgs,
    request_amounts: dict[str, int],
    change: Callable[[SessionContext], None] | None,
    nodes: str,
) -> None:
    assert allowed(made, request_amounts, change) == nodes


# -- in a policy --------------------------------------------------------------------------------------------------


def policy(arguments: dict[str, Any]) -> Policy:
    plugins = [{"name": "predicates"}, {"name": "resource-strategy-fit", "arguments": arguments}]
    text = yaml.safe_dump({"actions": "enqueue, allocate", "tiers": [{"plugins": plugins}]})
    return load_text(text, "policy", REGISTRY).policy


def read(arguments: dict[str, Any]) -> ResourceStrategyFitArgs:
    found = next(conf.args for conf in policy(arguments).plugins() if conf.name == "resource-strategy-fit")
    assert isinstance(found, ResourceStrategyFitArgs)
    return found


NESTED = {
    "resourceStrategyFitWeight": 20,
    "resources": {
        "cpu": {"weight": 3},
        GPU: {"type": "MostAllocated", "weight": -1},
        "nvidia.com/mig-*": {"weight": 2},
    },
    "sra": {"enable": "true", "resources": f"{GPU}, {DISK}", "weight": 10, "resourceWeight": {GPU: 2}},
    "proportional": {
        "enable": True,
        "resources": GPU,
        "resourceProportion": {f"{GPU}.cpu": 4, f"{GPU}.memory": "8.5"},
    },
}
FLAT = {
    "resourceStrategyFitWeight": "20",
    "resources.cpu.weight": 3,
    f"resources.{GPU}.type": "MostAllocated",
    f"resources.{GPU}.weight": -1,
    "resources.nvidia.com/mig-*.weight": 2,
    "sra.enable": True,
    "sra.resources": [GPU, DISK],
    "sra.weight": 10,
    f"sra.resourceWeight.{GPU}": 2,
    "proportional.enable": True,
    "proportional.resources": GPU,
    f"proportional.resourceProportion.{GPU}.cpu": 4,
    f"proportional.resourceProportion.{GPU}.memory": 8.5,
}


@pytest.mark.parametrize("arguments", [pytest.param(NESTED, id="nested"), pytest.param(FLAT, id="flat")])
def test_arguments_in_either_spelling(arguments: dict[str, Any]) -> None:
    found = read(arguments)

    assert found == ResourceStrategyFitArgs(
        20,
        {"cpu": weighing(LEAST, 3), GPU: MOST, "nvidia.com/mig-*": weighing(LEAST, 2)},
        ScarceResources(True, (GPU, DISK), 10, {GPU: 2}),
        Proportional(True, (GPU,), {f"{GPU}.cpu": 4.0, f"{GPU}.memory": 8.5}),
    )
    assert read(flat_arguments(found)) == found


def test_the_defaults() -> None:
    assert read({}) == ResourceStrategyFitArgs(
        10, {"cpu": LEAST, "memory": LEAST}, ScarceResources(False, ()), Proportional(False, ())
    )


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        pytest.param(
            {"resources": {"cpu": {"type": "Most"}}},
            "arguments.resources.cpu.type: expected one of LeastAllocated, MostAllocated, got 'Most'",
            id="no strategy",
        ),
        pytest.param(
            {"resources": {"*.com/gpu": {"weight": 1}}},
            f"arguments: {star_inside('*.com/gpu')}",
            id="a star that is not at the end",
        ),
        pytest.param({"sra": {"enabled": True}}, "arguments.sra.enabled: unknown argument", id="a wrong name"),
    ],
)
def test_arguments_that_are_none(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadPolicy, match="arguments") as refused:
        policy(arguments)
    assert problem in str(refused.value)


NODES = "node n1 cpu=4 gpu=2\nnode n2 cpu=4 gpu=2\nnode n3 cpu=4"
PACKED = {"resources": {"example.com/*": {"type": "MostAllocated"}, "cpu": {"type": "LeastAllocated"}}}
RATES = {"example.com/gpu.cpu": 1, "example.com/gpu.memory": 0}
ANNOTATED = 'volcano.sh/resource-strategy-scoring-type=MostAllocated volcano.sh/resource-strategy-weight={"cpu":1}'


@pytest.mark.parametrize(
    ("arguments", "pods", "expected"),
    [
        pytest.param(PACKED, "gpu=1", {"a.0": "n1", "a.1": "n1"}, id="GPUs are filled node by node"),
        pytest.param(PACKED, "cpu=1", {"a.0": "n1", "a.1": "n2"}, id="cpu is spread"),
        pytest.param(PACKED, f"cpu=1 {ANNOTATED}", {"a.0": "n1", "a.1": "n1"}, id="unless the pods want it packed"),
        pytest.param(
            {"sra": {"enable": True, "resources": "example.com/gpu", "weight": 20}},
            "cpu=1",
            {"a.0": "n3", "a.1": "n3"},
            id="nodes with GPUs are spared",
        ),
        pytest.param(
            {"proportional": {"enable": True, "resources": "example.com/gpu", "resourceProportion": RATES}},
            "cpu=3",
            {"a.0": "n3"},
            id="room is kept beside GPUs",
        ),
    ],
)
def test_whole_cycles(arguments: dict[str, Any], pods: str, expected: dict[str, str]) -> None:
    found = plan(f"{NODES}\nqueue q\njob ns/a min=1 pods=2 queue=q {pods}", policy(arguments))

    assert found.nodes == expected


def test_pods_that_differ_in_their_strategy_alone_are_scored_apart() -> None:
    text = f"{NODES}\nqueue q\njob ns/a pods=2 queue=q cpu=1 {ANNOTATED}\njob ns/b pods=2 queue=q cpu=1 age=-60"
    found = plan(text, policy({"resources.cpu.type": "LeastAllocated"}))

    assert found.nodes == {"a.0": "n1", "a.1": "n1", "b.0": "n2", "b.1": "n3"}


# -- however it is asked ------------------------------------------------------------------------------------------

AMOUNT = st.integers(0, 1 << 40)
NODE = st.tuples(AMOUNT, AMOUNT, AMOUNT, st.integers(0, 1 << 40))


@given(
    st.lists(NODE, min_size=1, max_size=6),
    st.dictionaries(st.sampled_from(["cpu", "memory", GPU]), st.integers(1, 1 << 40), max_size=3),
    st.dictionaries(
        st.sampled_from(["cpu", "mem*", "nvidia*", GPU]),
        st.builds(ResourceStrategy, st.sampled_from(["LeastAllocated", "MostAllocated"]), st.integers(-1, 9)),
    ),
    st.booleans(),
    st.data(),
)
def test_one_node_and_many_nodes_score_the_same_bit_for_bit(
    amounts: list[tuple[int, int, int, int]],
    request_amounts: dict[str, int],
    resources: dict[str, ResourceStrategy],
    spares: bool,
    data: st.DataObject,
) -> None:
    world = World()
    for number, (cpu, memory, gpu, _) in enumerate(amounts):
        world.node(f"n{number}", cpu=cpu, memory=memory, **{GPU: gpu})
    opening = world.opening()
    shape = world.shape(request_amounts)
    plugin = ResourceStrategyFit(
        ResourceStrategyFitArgs(7, resources, msgspec.structs.replace(SPARE_GPUS, enable=spares)).normalised()
    )
    plugin.open(opening)
    plugin.score(shape, opening.nodes, slice(None))
    row = data.draw(st.integers(0, len(amounts) - 1))
    opening.nodes.idle[:, row] -= amounts[row][3]
    plugin.on_allocate(JOB, world.task(world.labels(), shape), row)

    found = plugin.score(shape, opening.nodes, slice(None))
    plain = [plugin.score_row(shape, opening.nodes, one) for one in range(len(amounts))]
    assert plain == ([0.0] * len(amounts) if found is None else found.tolist())
    assert all(0.0 <= score <= 700.0 + 100.0 * spares for score in plain)
