"""nodeorder: each score by example, row equal to table, and preferences against a plain reading."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.plugins.pod_world import HOST, JOB, ZONE, Pod, World, app, term
from tests.support.examples import examples
from vsched.framework.points.extension import SessionContext
from vsched.model.nodes.table import Taint
from vsched.model.pods.shape import (
    NodeTerm,
    PodAffinity,
    PodLabels,
    Requirement,
    Rules,
    Selector,
    Shape,
    Spread,
    Toleration,
)
from vsched.plugins.nodeorder import NodeOrder, NodeOrderArgs

GIB = 1 << 30
GPU = "nvidia.com/gpu"
NOTHING = {
    "least_requested": 0,
    "most_requested": 0,
    "balanced_resource": 0,
    "node_affinity": 0,
    "pod_affinity": 0,
    "taint_toleration": 0,
    "image_locality": 0,
    "pod_topology_spread": 0,
}


def only(**weights: int) -> NodeOrderArgs:
    return NodeOrderArgs(**(NOTHING | weights))


def opened(opening: SessionContext, args: NodeOrderArgs | None = None) -> NodeOrder:
    plugin = NodeOrder(args or NodeOrderArgs())
    plugin.open(opening)
    return plugin


# -- by each node alone -------------------------------------------------------------------------------------------


def loaded() -> tuple[World, SessionContext]:
    """n1 empty; n2 with 2 of 4 cores and 4 of 16 GiB taken, and 1 of 4 GPUs; n3 has what n1 has and an image."""
    world = World().node("n1").node("n2", **{GPU: 4000}).node("n3", images={"web:1": 1 * GIB})
    opening = world.opening()
    opening.nodes.requested[:2, 1] = (2000, 4 * GIB)
    opening.nodes.requested[world.axis.column(GPU), 1] = 1000
    opening.nodes.scoring[:, 1] = (2000, 4 * GIB)
    return world, opening


POD = {"cpu": 1000, "memory": 4 * GIB}


@pytest.mark.parametrize(
    ("args", "request_amounts", "expected"),
    [
        pytest.param(only(least_requested=1), POD, [75, (25 + 50) // 2, 75], id="least allocated"),
        pytest.param(only(most_requested=1), POD, [25, (75 + 50) // 2, 25], id="most allocated"),
        pytest.param(only(balanced_resource=1), POD, [75, 75, 75], id="a pod that changes no balance"),
        pytest.param(only(balanced_resource=1), {"cpu": 1000}, [68, 69, 68], id="a pod of cpu where cpu is scarcer"),
        pytest.param(only(balanced_resource=1), {"memory": 4 * GIB}, [68, 81, 68], id="a pod that mends the balance"),
        pytest.param(only(least_requested=2, balanced_resource=3), POD, [375, 74 + 225, 375], id="weights"),
        pytest.param(only(balanced_resource=1), {}, [0, 0, 0], id="a pod that asks for nothing is not balanced"),
        pytest.param(
            only(balanced_resource=1),
            {"memory": 4 * GIB, GPU: 1000},
            [68, 81, 68],
            id="GPUs are balanced for pods that ask for them, on nodes that have some",
        ),
        pytest.param(only(image_locality=2), {}, [0, 0, 2 * 32], id="a third of the nodes has 1 GiB"),
    ],
)
def test_scores(args: NodeOrderArgs, request_amounts: dict[str, int], expected: list[int]) -> None:
    world, opening = loaded()
    shape = world.shape(
        request_amounts,
        scoring_cpu=request_amounts.get("cpu", 100),
        scoring_memory=request_amounts.get("memory", 200 << 20),
        images=("web:1",),
    )
    plugin = opened(opening, args)
    found = plugin.score(shape, opening.nodes, slice(None))
    assert found is not None
    assert found.tolist() == expected


def test_pods_that_ask_for_nothing_score_by_their_defaults() -> None:
    world, opening = loaded()
    shape = world.shape({}, scoring_cpu=400, scoring_memory=int(1.6 * GIB))
    found = opened(opening, only(least_requested=1)).score(shape, opening.nodes, slice(None))
    assert found is not None
    assert found.tolist() == [90, (40 + 65) // 2, 90]


AMOUNT = st.integers(0, 1 << 42)


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.tuples(*[st.tuples(AMOUNT, AMOUNT)] * 3), min_size=1, max_size=5),
    st.tuples(AMOUNT, AMOUNT, AMOUNT),
    st.tuples(*[st.integers(0, 3)] * 4),
)
def test_a_row_scores_as_in_the_table_bit_for_bit(
    nodes: list[tuple[tuple[int, int], ...]], asked: tuple[int, int, int], weights: tuple[int, int, int, int]
) -> None:
    world = World()
    for number, amounts in enumerate(nodes):
        has = dict(zip(("cpu", "memory", GPU), (one for one, _ in amounts), strict=True))
        world.node(f"n{number}", images={"web:1": amounts[0][1]}, **has)
    shape = world.shape(
        dict(zip(("cpu", "memory", GPU), asked, strict=True)),
        scoring_cpu=asked[0],
        scoring_memory=asked[1],
        images=("web:1",),
    )
    opening = world.opening()
    for row, amounts in enumerate(nodes):
        opening.nodes.requested[[0, 1, world.axis.column(GPU)], row] = [taken for _, taken in amounts]
        opening.nodes.scoring[:, row] = [taken for _, taken in amounts[:2]]
    least, most, balanced, images = weights
    args = only(least_requested=least, most_requested=most, balanced_resource=balanced, image_locality=images)
    plugin = opened(opening, args)
    whole = plugin.score(shape, opening.nodes, slice(None))
    assert whole is not None
    assert whole.tolist() == [plugin.score_row(shape, opening.nodes, row) for row in range(len(nodes))]
    rows = list(range(0, len(nodes), 2))
    some = plugin.score(shape, opening.nodes, rows)
    assert some is not None
    assert some.tolist() == whole[rows].tolist()
    sliced = plugin.score(shape, opening.nodes, slice(1, None))
    assert sliced is not None
    assert sliced.tolist() == whole[1:].tolist()


# -- among candidates ---------------------------------------------------------------------------------------------


def relative(world: World, args: NodeOrderArgs, shape: Shape, *candidates: int) -> list[float] | None:
    opening = world.opening()
    plugin = opened(opening, args)
    rows = candidates or range(len(opening.nodes))
    mask = np.zeros(len(opening.nodes), dtype=np.bool_)
    mask[list(rows)] = True
    scores = plugin.relative_score(shape, world.labels(app="web"), opening.nodes, mask)
    assert scores is None or plugin.is_relative(shape, world.labels(app="web"))
    return None if scores is None else [float(scores[row]) for row in rows]


def zones() -> World:
    """n1 and n2 in zone a, n3 in zone b with a taint that discourages, n4 without a zone."""
    world = World().node("n1", {ZONE: "a"}).node("n2", {ZONE: "a", "disk": "ssd"})
    return world.node("n3", {ZONE: "b"}, Taint("slow", "", "PreferNoSchedule")).node("n4")


SSD = (7, NodeTerm((Requirement("disk", "In", ("ssd",)),)))
IN_A = (3, NodeTerm((Requirement(ZONE, "In", ("a",)),)))


def test_node_affinity_by_the_most_a_candidate_has() -> None:
    world = zones()
    shape = world.shape(rules=Rules(preferred=(SSD, IN_A)))
    assert relative(world, only(node_affinity=2), shape) == [60, 200, 0, 0]
    assert relative(world, only(node_affinity=2), shape, 0, 2) == [200, 0]
    assert relative(world, only(node_affinity=2), shape, 2, 3) is None


def test_discouraging_taints_count_down() -> None:
    world = zones()
    args = only(taint_toleration=3)
    assert relative(world, args, world.shape()) == [300, 300, 0, 300]
    tolerant = world.shape(rules=Rules(tolerations=(Toleration("slow", "Exists"),)))
    assert relative(world, args, tolerant) is None


def test_pod_affinity_in_both_directions() -> None:
    world = zones()
    avoided = world.shape(affinity=PodAffinity(anti_preferred=((20, term(HOST, app("web"))),)))
    world.pod("n1", world.labels(app="cache")).pod("n3", world.labels(app="cache"), avoided)
    shape = world.shape(affinity=PodAffinity(preferred=((10, term(ZONE, app("cache"))),)))
    # n1 and n2 have +10 of their zone; n3 has +10 of its zone and -20 of the pod there; n4 has nothing.
    assert relative(world, only(pod_affinity=1), shape) == [100, 100, 0, 50]
    assert relative(world, only(pod_affinity=1), world.shape()) == [100, 100, 0, 100]


def test_required_affinity_of_pods_on_nodes_draws_nobody() -> None:
    world = zones()
    world.pod("n1", world.labels(), world.shape(affinity=PodAffinity(required=(term(HOST, app("web")),))))
    assert relative(world, only(pod_affinity=1), world.shape()) is None


def test_soft_spread_prefers_the_emptiest_host() -> None:
    world = World()
    for name, count in (("n1", 2), ("n2", 1), ("n3", 0), ("n4", 3)):
        world.node(name)
        for _ in range(count):
            world.pod(name, world.labels(app="web"))
    shape = world.shape(spread=(Spread(HOST, 1, False, app("web")),))
    assert relative(world, only(pod_topology_spread=1), shape) == [20, 60, 100, 0]


def test_soft_spread_gives_nothing_to_nodes_without_the_key() -> None:
    world = zones()
    shape = world.shape(spread=(Spread(ZONE, 1, False, app("web")),))
    assert relative(world, only(pod_topology_spread=2), shape) == [200, 200, 200, 0]


@pytest.mark.parametrize(
    ("make", "args", "expected"),
    [
        pytest.param(lambda _: {}, NodeOrderArgs(taint_toleration=0), False, id="a pod without preferences"),
        pytest.param(lambda _: {"rules": Rules(preferred=(SSD,))}, NodeOrderArgs(), True, id="preferred node affinity"),
        pytest.param(
            lambda _: {"rules": Rules(preferred=(SSD,))}, only(taint_toleration=0), False, id="all weights zero"
        ),
        pytest.param(lambda _: {}, NodeOrderArgs(), True, id="nodes that differ in discouraging taints"),
        pytest.param(
            lambda _: {"spread": (Spread(ZONE, 1, True, app("web")),)},
            only(pod_topology_spread=1),
            False,
            id="hard spread",
        ),
    ],
)
def test_whether_candidates_matter(make: object, args: NodeOrderArgs, expected: bool) -> None:
    world = zones()
    shape = world.shape(**make(world))  # type: ignore[operator]
    assert opened(world.opening(), args).is_relative(shape, world.labels(app="web")) is expected


def test_terms_placed_in_this_cycle_make_candidates_matter() -> None:
    world = zones()
    opening = world.opening()
    plugin = opened(opening, only(pod_affinity=1))
    shape, labels = world.shape(), world.labels(app="web")
    assert not plugin.is_relative(shape, labels)
    avoiding = world.shape(affinity=PodAffinity(anti_preferred=((20, term(HOST, app("web"))),)))
    task = world.task(labels, avoiding)
    everywhere = np.ones(4, dtype=np.bool_)
    plugin.on_allocate(JOB, task, 1)
    assert plugin.is_relative(shape, labels)
    scores = plugin.relative_score(shape, labels, opening.nodes, everywhere)
    assert scores is not None
    assert scores.tolist() == [100, 0, 100, 100]
    plugin.on_release(JOB, task, 1)
    assert plugin.relative_score(shape, labels, opening.nodes, everywhere) is None


SELECTORS = st.sampled_from([app("web"), Selector(), None, Selector((Requirement("app", "Exists"),))])
KEYS = st.sampled_from([HOST, ZONE, "rack"])
WISHES = st.lists(
    st.tuples(
        st.integers(1, 100),
        st.builds(
            lambda key, selector, spaces: term(key, selector, *spaces),
            KEYS,
            SELECTORS,
            st.sampled_from([("ns",), ("ns", "other")]),
        ),
    ),
    max_size=2,
).map(tuple)
AFFINITIES = st.none() | st.builds(PodAffinity, preferred=WISHES, anti_preferred=WISHES)
SPREADS = st.lists(
    st.builds(Spread, KEYS, st.integers(1, 3), st.booleans(), SELECTORS, st.just(1), st.booleans(), st.booleans()),
    max_size=2,
).map(tuple)
RULES = st.sampled_from([Rules(), Rules(node_selector=((ZONE, "a"),))])
NODES = st.lists(
    st.tuples(st.sampled_from([{}, {ZONE: "a"}, {ZONE: "b"}, {ZONE: "b", "rack": "1"}]), st.booleans(), st.booleans()),
    min_size=1,
    max_size=5,
)
LABELS = st.tuples(st.sampled_from(["ns", "other"]), st.sampled_from([{}, {"app": "web"}, {"app": "db"}]))
SHAPES = st.tuples(AFFINITIES, SPREADS, RULES)


@settings(max_examples=examples(60), deadline=None)
@given(
    nodes=NODES,
    pods=st.lists(st.tuples(st.integers(0, 4), LABELS, SHAPES), max_size=5),
    asking=st.tuples(LABELS, SHAPES),
    steps=st.lists(st.tuples(st.booleans(), st.integers(0, 4), LABELS, SHAPES), max_size=4),
)
def test_preferences_score_as_a_plain_reading_says_while_pods_come_and_go(
    nodes: list[tuple[dict[str, str], bool, bool]],
    pods: list[tuple[int, tuple[str, dict[str, str]], tuple[object, ...]]],
    asking: tuple[tuple[str, dict[str, str]], tuple[object, ...]],
    steps: list[tuple[bool, int, tuple[str, dict[str, str]], tuple[object, ...]]],
) -> None:
    world = World()
    for number, (labels, tainted, _) in enumerate(nodes):
        world.node(f"n{number}", labels, *([Taint("t")] if tainted else []))

    def pod(number: int, who: tuple[str, dict[str, str]], parts: tuple[object, ...]) -> Pod:
        affinity, spread, rules = parts
        shape = world.shape(affinity=affinity, spread=spread, rules=rules)
        return Pod(world.labels(who[0], **who[1]), shape, f"n{number % len(nodes)}")

    world.pods = [pod(*one) for one in pods]
    opening = world.opening()
    candidates = np.array([candidate for _, _, candidate in nodes], dtype=np.bool_)
    plugins = [opened(opening, only(pod_affinity=1)), opened(opening, only(pod_topology_spread=1))]
    asked = pod(0, *asking)
    compare(world, plugins, opening, asked.labels, asked.shape, candidates)
    for undo, number, who, parts in steps:
        one = pod(number, who, parts) if not undo or not world.pods else world.pods[-1]
        for plugin in plugins:
            move = plugin.on_release if one in world.pods[-1:] and undo else plugin.on_allocate
            move(JOB, world.task(one.labels, one.shape), opening.nodes.statics.row[one.node])
        if one in world.pods[-1:] and undo:
            world.pods.pop()
        else:
            world.pods.append(one)
        compare(world, plugins, opening, asked.labels, asked.shape, candidates)


def compare(
    world: World,
    plugins: list[NodeOrder],
    opening: SessionContext,
    labels: PodLabels,
    shape: Shape,
    candidates: np.ndarray,
) -> None:
    names = [name for name, holds in zip(opening.nodes.statics.names, candidates, strict=True) if holds]
    if not names:
        return
    expected = [world.pod_affinity_score(labels, shape, names), dict.fromkeys(names, 0)]
    if any(not rule.hard for rule in shape.spread):
        expected[1] = world.soft_spread_score(labels, shape, names)
    for plugin, wanted in zip(plugins, expected, strict=True):
        scores = plugin.relative_score(shape, labels, opening.nodes, candidates)
        if scores is None or not plugin.is_relative(shape, labels):
            assert len(set(wanted.values())) == 1, "what is left out must not tell candidates apart"
        else:
            found = {name: int(scores[opening.nodes.statics.row[name]]) for name in names}
            assert found == wanted
