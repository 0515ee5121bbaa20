"""predicates, by attributes of nodes: reasons, their order, switches, and what costs nothing."""

from __future__ import annotations

import pytest

from tests.plugins.pod_world import World
from vsched.framework.points.extension import PlacementListener
from vsched.framework.words import nodes as words
from vsched.model.nodes.table import NodeStatics, Taint
from vsched.model.pods.shape import NodeTerm, Requirement, Rules, Toleration
from vsched.plugins.predicates import Predicates, PredicatesArgs
from vsched.plugins.words.nodes import OTHER_NODE

CORDONED = words.CORDONED
NAME = OTHER_NODE
TAINT = words.tainted("gpu", "yes")
OTHER_TAINT = words.tainted("drain", "")
SELECTOR = words.NOT_SELECTED


def four_nodes() -> World:
    """n1 plain in zone a, n2 with a taint, n3 cordoned with another taint, n4 in no zone."""
    world = World().node("n1", {"zone": "a"}).node("n2", {"zone": "b"}, Taint("gpu", "yes"))
    return world.node("n3", {"zone": "a"}, Taint("drain", "", "NoExecute"), cordoned=True).node("n4")


def failing(world: World, rules: Rules, args: PredicatesArgs | None = None) -> list[tuple[str, list[str]]]:
    plugin = Predicates(args or PredicatesArgs())
    opening = world.opening()
    plugin.open(opening)
    names = opening.nodes.statics.names
    checks = plugin.static_checks(world.shape(rules=rules), opening.nodes)
    assert not any(check.resolvable for check in checks), "evicting pods changes no attribute of a node"
    return [
        (check.reason, [name for name, passes in zip(names, check.passes, strict=True) if not passes])
        for check in checks
    ]


TOLERANT = (Toleration(operator="Exists"),)
NO_AFFINITY = PredicatesArgs(node_affinity=False)
NO_TAINTS = PredicatesArgs(taint_toleration=False)


@pytest.mark.parametrize(
    ("rules", "args", "expected"),
    [
        pytest.param(
            Rules(),
            None,
            [(CORDONED, ["n3"]), (TAINT, ["n2"]), (OTHER_TAINT, ["n3"])],
            id="a pod without rules minds cordons and each first taint",
        ),
        pytest.param(Rules(tolerations=TOLERANT), None, [], id="who tolerates everything goes anywhere"),
        pytest.param(
            Rules(tolerations=(Toleration("node.kubernetes.io/unschedulable", "Exists"),)),
            None,
            [(TAINT, ["n2"]), (OTHER_TAINT, ["n3"])],
            id="who tolerates the cordon's taint may go to cordoned nodes",
        ),
        pytest.param(Rules(), NO_TAINTS, [(CORDONED, ["n3"])], id="cordons count with taints switched off"),
        pytest.param(
            Rules(node_name="n1", node_selector=(("zone", "a"),)),
            None,
            [
                (CORDONED, ["n3"]),
                (NAME, ["n2", "n3", "n4"]),
                (TAINT, ["n2"]),
                (OTHER_TAINT, ["n3"]),
                (SELECTOR, ["n2", "n4"]),
            ],
            id="all reasons, in kube-scheduler's order",
        ),
        pytest.param(
            Rules(required=(NodeTerm((Requirement("zone", "In", ("b",)),)),), tolerations=TOLERANT),
            None,
            [(SELECTOR, ["n1", "n3", "n4"])],
            id="required node affinity",
        ),
        pytest.param(
            Rules(node_name="n1", node_selector=(("zone", "a"),), tolerations=TOLERANT),
            NO_AFFINITY,
            [],
            id="node affinity switched off",
        ),
        pytest.param(
            Rules(node_name="gone", tolerations=TOLERANT), None, [(NAME, ["n1", "n2", "n3", "n4"])], id="gone"
        ),
    ],
)
def test_reasons(rules: Rules, args: PredicatesArgs | None, expected: list[tuple[str, list[str]]]) -> None:
    assert failing(four_nodes(), rules, args) == expected


def test_a_pod_without_rules_on_welcoming_nodes_is_not_even_looked_up() -> None:
    world = World().node("n1").node("n2", {}, Taint("slow", "", "PreferNoSchedule"))
    plugin, opening = Predicates(PredicatesArgs()), world.opening()
    plugin.open(opening)
    shape, labels = world.shape(), world.labels(app="web")
    assert plugin.static_checks(shape, opening.nodes) == ()
    assert plugin.task_class(world.task(labels, shape)) is None
    assert not plugin.is_dynamic(shape, None)
    assert plugin.dynamic_checks(shape, None, opening.nodes) == []


def test_checks_outlive_the_cycle_while_the_nodes_stay_as_they_are() -> None:
    world = four_nodes()
    opening, rules = world.opening(), Rules(node_selector=(("zone", "a"),))
    found = []
    for _ in range(2):
        plugin = Predicates(PredicatesArgs())
        plugin.open(opening)
        found.append(plugin.static_checks(world.shape(rules=rules), opening.nodes))
    assert found[0] is found[1]
    other = Predicates(NO_TAINTS)
    other.open(opening)
    assert other.static_checks(world.shape(rules=rules), opening.nodes) is not found[0]
    assert isinstance(opening.nodes.statics, NodeStatics)


def test_predicates_follows_placements() -> None:
    assert isinstance(Predicates(PredicatesArgs()), PlacementListener)
