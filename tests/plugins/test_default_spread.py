"""nodeorder's spread for pods that say nothing of it: by example, and against a plain reading."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.plugins.pod_world import HOST, JOB, SYSTEM_ZONE, World, app
from tests.support.examples import examples
from vsched.framework.points.extension import SessionContext
from vsched.model.nodes.table import NodeAttributes
from vsched.model.pods.shape import PodLabels, Requirement, Rules, Selector, Shape, Spread
from vsched.plugins.nodeorder import NodeOrder, NodeOrderArgs

ONLY_SPREAD = NodeOrderArgs(0, 0, 0, 0, 0, 0, 0, 1)


def opened(opening: SessionContext, args: NodeOrderArgs = ONLY_SPREAD) -> NodeOrder:
    plugin = NodeOrder(args)
    plugin.open(opening)
    return plugin


def zones(*counts: int, zones: str = "abc") -> World:
    """A node a zone with so many pods of ``app=web``, which a Service selects."""
    world = World()
    world.selectors["ns"] = [app("web")]
    for number, (count, zone) in enumerate(zip(counts, zones, strict=True)):
        world.node(f"n{number}", {} if zone == "-" else {SYSTEM_ZONE: f"zone-{zone}"})
        for _ in range(count):
            world.pod(f"n{number}", world.labels(app="web"))
    return world


def scores(world: World, shape: Shape | None = None, labels: PodLabels | None = None) -> list[float] | None:
    opening = world.opening()
    plugin, shape = opened(opening), shape or world.shape()
    everywhere = np.ones(len(opening.nodes), dtype=np.bool_)
    labels = labels or world.labels(app="web")
    found = plugin.relative_score(shape, labels, opening.nodes, everywhere)
    assert plugin.is_relative(shape, labels) is (found is not None)
    return None if found is None else found.tolist()


@pytest.mark.parametrize(
    ("world", "expected"),
    [
        # Without pods a node has 2 of its host and 4 of its zone; each pod adds log 5 for both.
        pytest.param(zones(0, 0, 0), [100, 100, 100], id="nothing there yet"),
        pytest.param(zones(1, 0, 0), [66, 100, 100], id="the empty ones first"),
        pytest.param(zones(2, 1, 0), [50, 75, 100], id="the emptier the better"),
        # Raw: n0 1.61+2 and 2*1.39+4; n1 1.61+2 and 2*1.39+4; n2 6.
        pytest.param(zones(1, 1, 0, zones="aab"), [60, 60, 100], id="a zone counts as a whole"),
        # A node without a zone has only its host: 2. It is a domain more for those that have one.
        pytest.param(zones(0, 0, 0, zones="ab-"), [33, 33, 100], id="a node without a zone takes part"),
    ],
)
def test_scores(world: World, expected: list[float]) -> None:
    assert scores(world) == expected
    names = sorted(world.attributes)
    assert list(world.soft_spread_score(world.labels(app="web"), world.shape(), names).values()) == expected


def test_whom_defaults_are_not_for() -> None:
    world = zones(2, 1, 0)
    assert scores(world, world.shape(spread=(Spread(HOST, 1, True, app("web")),))) is None, (
        "hard constraints of its own"
    )
    assert scores(world, labels=world.labels(app="db")) is None, "nothing selects it"
    assert scores(world, labels=world.labels("other", app="web")) is None, "another namespace"


def test_own_constraints_take_the_place_of_defaults() -> None:
    world = zones(0, 2, 1)
    own = world.shape(spread=(Spread(HOST, 1, False, app("db")),))
    assert scores(world, own) == [100, 100, 100]


@pytest.mark.parametrize(
    ("selectors", "args", "expected"),
    [
        pytest.param({}, NodeOrderArgs(), False, id="nothing selects pods anywhere"),
        pytest.param({"other": [app("web")]}, NodeOrderArgs(), False, id="something selects pods elsewhere"),
        pytest.param({"ns": [app("db")]}, NodeOrderArgs(), False, id="something selects other pods"),
        pytest.param({"ns": [app("web")]}, NodeOrderArgs(), True, id="something selects the pod"),
        pytest.param({"ns": [app("web")]}, NodeOrderArgs(pod_topology_spread=0), False, id="no weight"),
    ],
)
def test_whether_candidates_matter(selectors: dict[str, list[Selector]], args: NodeOrderArgs, expected: bool) -> None:
    world = zones(1, 0, 0)
    world.selectors = selectors
    assert opened(world.opening(), args).is_relative(world.shape(), world.labels(app="web")) is expected


NODES = st.lists(
    st.tuples(st.sampled_from("ab-"), st.booleans(), st.sampled_from([{}, {"disk": "ssd"}]), st.booleans()),
    min_size=1,
    max_size=6,
)
LABELS = st.tuples(
    st.sampled_from(["ns", "other"]), st.dictionaries(st.sampled_from(["app", "tier"]), st.sampled_from(["web", "db"]))
)
SELECTORS = st.lists(
    st.tuples(
        st.sampled_from(["ns", "other"]),
        st.sampled_from([app("web"), app("db", "web"), Selector((Requirement("tier", "NotIn", ("db",)),))]),
    ),
    max_size=3,
)
RULES = st.sampled_from([Rules(), Rules(node_selector=(("disk", "ssd"),))])


@settings(max_examples=examples(60), deadline=None)
@given(
    nodes=NODES,
    selectors=SELECTORS,
    pods=st.lists(st.tuples(st.integers(0, 5), LABELS), max_size=8),
    asking=st.tuples(LABELS, RULES),
    moves=st.lists(st.tuples(st.integers(0, 5), LABELS), max_size=4),
)
def test_defaults_score_as_a_plain_reading_says_while_pods_come(
    nodes: list[tuple[str, bool, dict[str, str], bool]],
    selectors: list[tuple[str, Selector]],
    pods: list[tuple[int, tuple[str, dict[str, str]]]],
    asking: tuple[tuple[str, dict[str, str]], Rules],
    moves: list[tuple[int, tuple[str, dict[str, str]]]],
) -> None:
    world = World()
    for namespace, selector in selectors:
        world.selectors.setdefault(namespace, []).append(selector)
    for number, (zone, named, others, _) in enumerate(nodes):
        name = f"n{number}"
        labels = {**others, **({HOST: name} if named else {}), **({} if zone == "-" else {SYSTEM_ZONE: zone})}
        world.node(name)
        world.attributes[name] = NodeAttributes(name, labels)
    for number, (namespace, pairs) in pods:
        world.pod(f"n{number % len(nodes)}", world.labels(namespace, **pairs))
    opening = world.opening()
    plugin = opened(opening)
    candidates = np.array([candidate for *_, candidate in nodes], dtype=np.bool_)
    names = [name for name, holds in zip(opening.nodes.statics.names, candidates, strict=True) if holds]
    (namespace, pairs), rules = asking
    asked, shape = world.labels(namespace, **pairs), world.shape(rules=rules)
    for number, (space, found) in [(-1, ("", {})), *moves]:
        if number >= 0:
            row = number % len(nodes)
            world.pod(f"n{row}", world.labels(space, **found))
            plugin.on_allocate(JOB, world.task(world.labels(space, **found), world.shape()), row)
        scores = plugin.relative_score(shape, asked, opening.nodes, candidates)
        expected = world.soft_spread_score(asked, shape, names)
        assert plugin.is_relative(shape, asked) is (scores is not None)
        if scores is None:
            assert not world.default_spread(asked)
        elif names:
            assert {name: int(scores[opening.nodes.statics.row[name]]) for name in names} == expected
