"""predicates, by the pods on nodes: ports, pod affinity, spread; as tables and against a plain reading of the rules."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.plugins.pod_world import HOST, JOB, ZONE, Pod, World, app, term
from tests.support.examples import examples
from vsched.framework.words.nodes import ANTI_AFFINITY as ANTI
from vsched.framework.words.nodes import NO_AFFINITY as AFFINITY
from vsched.framework.words.nodes import NO_PORTS as PORTS
from vsched.framework.words.nodes import REPELLED
from vsched.framework.words.nodes import SKEWED as SPREAD
from vsched.model.nodes.table import Taint
from vsched.model.pods.shape import HostPort, PodAffinity, PodLabels, Requirement, Rules, Selector, Shape, Spread
from vsched.plugins.predicates import Predicates, PredicatesArgs


def three_nodes() -> World:
    """n1 and n2 in zone a, n3 in zone b, n4 without a zone."""
    world = World()
    return world.node("n1", {ZONE: "a"}).node("n2", {ZONE: "a"}).node("n3", {ZONE: "b"}).node("n4")


def opened(world: World, args: PredicatesArgs | None = None) -> Predicates:
    plugin = Predicates(args or PredicatesArgs())
    plugin.open(world.opening())
    return plugin


def failing(world: World, plugin: Predicates, labels: PodLabels, shape: Shape) -> dict[str, set[str]]:
    """Nodes by the reason that keeps the pod off them."""
    table = world.table()
    task_class = plugin.task_class(world.task(labels, shape))
    checks = plugin.dynamic_checks(shape, task_class, table)
    assert not checks or plugin.is_dynamic(shape, task_class)
    found = {check.reason: {table.statics.names[row] for row in np.flatnonzero(~check.passes)} for check in checks}
    return {reason: names for reason, names in found.items() if names}


# -- host ports ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("held", "wanted", "busy"),
    [
        pytest.param(HostPort(80), HostPort(80), True, id="the same port on every address"),
        pytest.param(HostPort(80), HostPort(81), False, id="another port"),
        pytest.param(HostPort(80), HostPort(80, "UDP"), False, id="another protocol"),
        pytest.param(HostPort(80, ip="10.0.0.1"), HostPort(80), True, id="every address covers one address"),
        pytest.param(HostPort(80), HostPort(80, ip="10.0.0.1"), True, id="one address is covered by every address"),
        pytest.param(HostPort(80, ip="10.0.0.2"), HostPort(80, ip="10.0.0.1"), False, id="two different addresses"),
    ],
)
def test_a_host_port_is_held_once_a_node(held: HostPort, wanted: HostPort, busy: bool) -> None:
    world = three_nodes()
    world.pod("n2", world.labels(), world.shape(ports=(held,)))
    shape = world.shape(ports=(wanted,))
    assert failing(world, opened(world), world.labels(), shape) == ({PORTS: {"n2"}} if busy else {})


def test_a_port_taken_in_this_cycle_is_busy_until_it_is_given_back() -> None:
    world = three_nodes()
    plugin, labels, shape = opened(world), world.labels(), world.shape(ports=(HostPort(80),))
    task = world.task(labels, shape)
    plugin.on_allocate(JOB, task, 0)
    assert failing(world, plugin, labels, shape) == {PORTS: {"n1"}}
    plugin.on_release(JOB, task, 0)
    assert failing(world, plugin, labels, shape) == {}


# -- pod affinity -------------------------------------------------------------------------------------------------


def test_affinity_wants_a_pod_in_the_domain() -> None:
    world = three_nodes()
    world.pod("n1", world.labels(app="web"))
    shape = world.shape(affinity=PodAffinity(required=(term(ZONE, app("web")),)))
    assert failing(world, opened(world), world.labels(app="x"), shape) == {AFFINITY: {"n3", "n4"}}


def test_the_first_pod_of_a_group_that_wants_itself_may_go_wherever_the_key_is() -> None:
    world = three_nodes()
    shape = world.shape(affinity=PodAffinity(required=(term(ZONE, app("web")),)))
    assert failing(world, opened(world), world.labels(app="web"), shape) == {AFFINITY: {"n4"}}


def test_the_second_pod_of_a_group_follows_the_first() -> None:
    world = three_nodes()
    plugin = opened(world)
    labels, shape = world.labels(app="web"), world.shape(affinity=PodAffinity(required=(term(ZONE, app("web")),)))
    plugin.on_allocate(JOB, world.task(labels, shape), 2)
    assert failing(world, plugin, labels, shape) == {AFFINITY: {"n1", "n2", "n4"}}


def test_a_pod_that_wants_others_and_finds_none_goes_nowhere() -> None:
    world = three_nodes()
    shape = world.shape(affinity=PodAffinity(required=(term(ZONE, app("web")),)))
    assert failing(world, opened(world), world.labels(app="x"), shape) == {AFFINITY: {"n1", "n2", "n3", "n4"}}


def test_of_several_terms_one_pod_has_to_meet_all() -> None:
    world = three_nodes()
    world.pod("n1", world.labels(app="web")).pod("n1", world.labels(tier="front"))
    world.pod("n3", world.labels(app="web", tier="front"))
    front = Selector((Requirement("tier", "In", ("front",)),))
    shape = world.shape(affinity=PodAffinity(required=(term(ZONE, app("web")), term(ZONE, front))))
    assert failing(world, opened(world), world.labels(), shape) == {AFFINITY: {"n1", "n2", "n4"}}


@pytest.mark.parametrize(
    ("one", "nodes"),
    [
        pytest.param(term(HOST, app("web")), {"n1"}, id="one a node"),
        pytest.param(term(ZONE, app("web")), {"n1", "n2"}, id="one a zone; nodes without a zone do not mind"),
        pytest.param(term(ZONE, app("web"), "other"), {"n3"}, id="in another namespace"),
        pytest.param(
            term(ZONE, app("web"), wider=Selector((Requirement("team", "In", ("blue",)),))),
            {"n3"},
            id="in namespaces by their labels",
        ),
        pytest.param(term(ZONE, app("web"), wider=Selector()), {"n1", "n2", "n3"}, id="in all namespaces"),
        pytest.param(term(HOST, None), set(), id="a term without selector means nobody"),
        pytest.param(term(HOST, Selector()), {"n1"}, id="an empty selector means everybody"),
    ],
)
def test_anti_affinity_keeps_away_from_the_pods_it_means(one: object, nodes: set[str]) -> None:
    world = three_nodes()
    world.pod("n1", world.labels(app="web")).pod("n3", world.labels("other", app="web"))
    shape = world.shape(affinity=PodAffinity(anti_required=(one,)))  # type: ignore[arg-type]
    assert failing(world, opened(world), world.labels(app="x"), shape) == ({ANTI: nodes} if nodes else {})


def test_pods_on_nodes_keep_others_away() -> None:
    world = three_nodes()
    guarded = world.shape(affinity=PodAffinity(anti_required=(term(ZONE, app("web")),)))
    world.pod("n1", world.labels(app="db"), guarded)
    plugin = opened(world)
    assert failing(world, plugin, world.labels(app="web"), world.shape()) == {REPELLED: {"n1", "n2"}}
    assert plugin.task_class(world.task(world.labels(app="x"), world.shape())) is None


def test_a_gang_that_repels_itself_spreads_one_a_node_though_each_pod_has_its_own_label() -> None:
    world = three_nodes()
    plugin = opened(world)
    shape = world.shape(affinity=PodAffinity(anti_required=(term(HOST, app("web")),)))
    classes = set()
    for row in range(4):
        labels = world.labels(app="web", index=str(row))
        assert failing(world, plugin, labels, shape).get(ANTI, set()) == {f"n{one + 1}" for one in range(row)}
        classes.add(plugin.task_class(world.task(labels, shape)))
        plugin.on_allocate(JOB, world.task(labels, shape), row)
    assert len(classes) == 2, "before and after the first placement"


def test_switched_off_pod_affinity_lets_everybody_pass() -> None:
    world = three_nodes()
    guarded = world.shape(affinity=PodAffinity(anti_required=(term(HOST, app("web")),)))
    world.pod("n1", world.labels(app="web"), guarded)
    plugin = opened(world, PredicatesArgs(pod_affinity=False))
    assert failing(world, plugin, world.labels(app="web"), guarded) == {}


# -- spread -------------------------------------------------------------------------------------------------------


def spread_world(*counts: int) -> World:
    """One node a zone (a, b, c ...) with so many web pods each."""
    world = World()
    for position, count in enumerate(counts):
        world.node(f"n{position}", {ZONE: chr(ord("a") + position)})
        for _ in range(count):
            world.pod(f"n{position}", world.labels(app="web"))
    return world


@pytest.mark.parametrize(
    ("counts", "rule", "full"),
    [
        pytest.param((2, 1, 1), Spread(ZONE, 1, True, app("web")), {"n0"}, id="the fullest zone is one too many"),
        pytest.param((2, 1, 1), Spread(ZONE, 2, True, app("web")), set(), id="a skew of two is allowed"),
        pytest.param((2, 2), Spread(ZONE, 1, True, app("web")), set(), id="equal zones all pass"),
        pytest.param((1, 1), Spread(ZONE, 1, True, app("web"), min_domains=3), {"n0", "n1"}, id="too few zones"),
        pytest.param((1, 0), Spread(ZONE, 1, True, None), set(), id="no selector counts nothing"),
        pytest.param((5, 0), Spread(ZONE, 1, True, Selector()), set(), id="an empty selector counts nothing either"),
        pytest.param((2, 0), Spread(ZONE, 1, True, app("db")), set(), id="other pods do not count"),
    ],
)
def test_spread_bounds_the_skew(counts: tuple[int, ...], rule: Spread, full: set[str]) -> None:
    world = spread_world(*counts)
    shape = world.shape(spread=(rule,))
    assert failing(world, opened(world), world.labels(app="web"), shape) == ({SPREAD: full} if full else {})


def test_a_pod_that_its_constraint_does_not_mean_does_not_count_itself() -> None:
    world = spread_world(1, 0)
    shape = world.shape(spread=(Spread(ZONE, 1, True, app("web")),))
    assert failing(world, opened(world), world.labels(app="web"), shape) == {SPREAD: {"n0"}}
    assert failing(world, opened(world), world.labels(app="db"), shape) == {}


def test_a_zone_the_pod_may_not_use_is_no_zone_to_compare_with() -> None:
    world = spread_world(2, 2, 0)
    selector = Rules(node_selector=((ZONE, "a"),))
    rule = Spread(ZONE, 1, True, app("web"))
    shape = world.shape(spread=(rule,), rules=selector)
    assert failing(world, opened(world), world.labels(app="web"), shape) == {}
    ignoring = Spread(ZONE, 1, True, app("web"), honours_node_affinity=False)
    shape = world.shape(spread=(ignoring,), rules=selector)
    assert failing(world, opened(world), world.labels(app="web"), shape) == {SPREAD: {"n0", "n1"}}


def test_a_tainted_zone_counts_unless_the_constraint_honours_taints() -> None:
    world = spread_world(1, 1)
    world.node("n9", {ZONE: "z"}, Taint("gpu"))
    counting = world.shape(spread=(Spread(ZONE, 1, True, app("web")),))
    assert failing(world, opened(world), world.labels(app="web"), counting) == {SPREAD: {"n0", "n1"}}
    honouring = world.shape(spread=(Spread(ZONE, 1, True, app("web"), honours_node_taints=True),))
    assert failing(world, opened(world), world.labels(app="web"), honouring) == {}


def test_nodes_without_the_label_fail_for_good() -> None:
    world = spread_world(0, 0)
    world.node("n9")
    shape = world.shape(spread=(Spread(ZONE, 1, True, app("web")),))
    table = world.table()
    (check,) = opened(world).static_checks(shape, table)
    assert (check.reason, check.passes.tolist(), check.resolvable) == (
        f"{SPREAD} (missing required label)",
        [True, True, False],
        False,
    )


def test_spread_counts_the_namespace_of_the_pod() -> None:
    world = spread_world(1, 0)
    shape = world.shape(spread=(Spread(ZONE, 1, True, app("web")),))
    plugin = opened(world)
    assert failing(world, plugin, world.labels("other", app="web"), shape) == {}
    assert failing(world, plugin, world.labels(app="web"), shape) == {SPREAD: {"n0"}}


# -- against the plain reading ------------------------------------------------------------------------------------

SELECTORS = st.sampled_from(
    [
        app("web"),
        app("web", "db"),
        Selector(),
        None,
        Selector((Requirement("app", "NotIn", ("db",)),)),
        Selector((Requirement("app", "Exists"),)),
    ]
)
KEYS = st.sampled_from([HOST, ZONE, "rack"])
SPACES = st.sampled_from([("ns",), ("other",), ("ns", "other")])
WIDER = st.sampled_from([None, None, Selector(), Selector((Requirement("team", "In", ("blue",)),))])
TERMS = st.builds(
    lambda key, selector, spaces, wider: term(key, selector, *spaces, wider=wider), KEYS, SELECTORS, SPACES, WIDER
)
FEW_TERMS = st.lists(TERMS, max_size=2).map(tuple)
AFFINITIES = st.none() | st.builds(PodAffinity, required=FEW_TERMS, anti_required=FEW_TERMS)
SPREADS = st.lists(
    st.builds(
        Spread, KEYS, st.integers(1, 2), st.booleans(), SELECTORS, st.integers(1, 3), st.booleans(), st.booleans()
    ),
    max_size=2,
).map(tuple)
PORT_LISTS = st.lists(
    st.builds(HostPort, st.sampled_from([80, 443]), st.just("TCP"), st.sampled_from(["0.0.0.0", "10.0.0.1"])),
    max_size=1,
).map(tuple)
RULES = st.sampled_from([Rules(), Rules(), Rules(node_selector=((ZONE, "a"),))])
NODES = st.lists(
    st.tuples(
        st.sampled_from([{}, {ZONE: "a"}, {ZONE: "b"}, {ZONE: "a", "rack": "1"}, {ZONE: "b", "rack": "2"}]),
        st.booleans(),
    ),
    min_size=1,
    max_size=5,
)
LABELS = st.tuples(st.sampled_from(["ns", "other"]), st.sampled_from([{}, {"app": "web"}, {"app": "db"}]))
SHAPES = st.tuples(AFFINITIES, SPREADS, PORT_LISTS, RULES)
PODS = st.lists(st.tuples(st.integers(0, 4), LABELS, SHAPES), max_size=5)
STEPS = st.lists(st.tuples(st.sampled_from(["place", "undo"]), st.integers(0, 4), st.integers(0, 2)), max_size=6)


def shape_of(world: World, parts: tuple[object, ...]) -> Shape:
    affinity, spread, ports, rules = parts
    return world.shape(affinity=affinity, spread=spread, ports=ports, rules=rules)


@settings(max_examples=examples(60), deadline=None)
@given(nodes=NODES, pods=PODS, asking=st.lists(st.tuples(LABELS, SHAPES), min_size=1, max_size=3), steps=STEPS)
def test_nodes_pass_as_a_plain_reading_of_the_rules_says_while_pods_come_and_go(
    nodes: list[tuple[dict[str, str], bool]],
    pods: list[tuple[int, tuple[str, dict[str, str]], tuple[object, ...]]],
    asking: list[tuple[tuple[str, dict[str, str]], tuple[object, ...]]],
    steps: list[tuple[str, int, int]],
) -> None:
    world = World()
    for number, (labels, tainted) in enumerate(nodes):
        world.node(f"n{number}", labels, *([Taint("t", "", "NoSchedule")] if tainted else []))
    for number, (namespace, labels), shape in pods:
        world.pod(f"n{number % len(nodes)}", world.labels(namespace, **labels), shape_of(world, shape))
    plugin = opened(world)
    candidates = [(world.labels(space, **labels), shape_of(world, shape)) for (space, labels), shape in asking]
    placed: list[tuple[int, int, Pod]] = []
    compare(world, plugin, candidates)
    for step, node, which in steps:
        labels_and_shape = candidates[which % len(candidates)]
        if step == "place":
            row = node % len(nodes)
            pod = Pod(*labels_and_shape, f"n{row}")
            plugin.on_allocate(JOB, world.task(*labels_and_shape), row)
            placed.append((row, which, pod))
            world.pods.append(pod)
        elif placed:
            row, _, pod = placed.pop()
            plugin.on_release(JOB, world.task(pod.labels, pod.shape), row)
            world.pods.pop()
        compare(world, plugin, candidates[: 1 + node % len(candidates)])


def compare(world: World, plugin: Predicates, candidates: list[tuple[PodLabels, Shape]]) -> None:
    table = world.table()
    for labels, shape in candidates:
        task_class = plugin.task_class(world.task(labels, shape))
        allowed = np.ones(len(table), dtype=np.bool_)
        if plugin.is_dynamic(shape, task_class):
            for check in plugin.dynamic_checks(shape, task_class, table):
                allowed &= check.passes
        for check in plugin.static_checks(shape, table):
            if check.reason.startswith(SPREAD):
                allowed &= check.passes
        expected = [
            world.ports_allow(name, shape)
            and world.affinity_allows(name, labels, shape)
            and world.spread_allows(name, labels, shape)
            for name in table.statics.names
        ]
        assert allowed.tolist() == expected
