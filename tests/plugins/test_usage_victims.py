"""usage: from whom a pod may take, and who could take back."""

from __future__ import annotations

from typing import Any

import pytest

from tests.plugins.usage_world import usage_args, usage_policy
from tests.support.plans import plan
from tests.support.worlds import World
from vsched.framework.combine.agreeing import Agreement
from vsched.framework.points.victims import Purpose
from vsched.plugins.usage import Usage

THREE = "node n1 cpu=4\nnode n2 cpu=4\nnode n3 cpu=4 zone=b\n"
JOBS = "job ns/x\n" + "".join(f"pods ns/x 1 cpu=1 on=n{number}\n" for number in (1, 2, 3))
LOADS = "usage n1 cpu=20 memory=20\nusage n2 cpu=50 memory=50\nusage n3 cpu=80 memory=80\n"


def victims(text: str, pod: str, arguments: dict[str, Any] | None = None) -> list[str] | None:
    """Nodes with a victim for one more pod, asked node by node; None where the plugin abstains, then for all."""
    world = World(f"{THREE}{JOBS}{text}job ns/new pods=1 cpu=1 {pod}")
    plugin, preemptor = world.opened(Usage(usage_args(arguments))), world.task("new.0")
    votes = plugin.victim_votes(preemptor, Purpose.PREEMPT)
    if votes is None:
        return None
    assert not votes.rules_out(world.jobs["ns/x"])
    return [victim.node for task in world.tasks("x.0 x.1 x.2") for victim in votes.agreed([task]) or ()]


@pytest.mark.parametrize(
    ("text", "pod", "nodes"),
    [
        pytest.param(LOADS, "", ["n2", "n3"], id="where there is more load than on the least loaded node"),
        pytest.param(f"{LOADS}node n4 cpu=4\nusage n4 cpu=1 memory=1\n", "", ["n1", "n2", "n3"], id="an idle node"),
        pytest.param(
            f"{LOADS}node n4 cpu=4 cordoned\nusage n4 cpu=1 memory=1\n", "", ["n2", "n3"], id="a cordoned one is none"
        ),
        pytest.param(
            f"{LOADS}node n4 cpu=4 taint=gpu:yes\nusage n4 cpu=1 memory=1\n",
            "",
            ["n2", "n3"],
            id="nor one with a taint",
        ),
        pytest.param(
            f"{LOADS}node n4 cpu=4 taint=gpu:yes\nusage n4 cpu=1 memory=1\n",
            "tolerates=gpu",
            ["n1", "n2", "n3"],
            id="but one whose taint is tolerated",
        ),
        pytest.param(LOADS, "selector=zone:b", None, id="the only node it may use is no hotter than itself"),
        pytest.param("", "", None, id="nothing is known"),
        pytest.param(LOADS.replace("\n", " age=301\n"), "", None, id="nothing new is known"),
        pytest.param("usage n2 cpu=80 memory=80\n", "", None, id="a node of which nothing is known is no cooler"),
        pytest.param(
            "usage n2 cpu=80 memory=80\nusage n3 cpu=20 memory=20\n", "", ["n1", "n2"], id="it is as hot as the mean"
        ),
        pytest.param(
            "usage n1 cpu=30 memory=30\nusage n2 cpu=30 memory=30\nusage n3 cpu=30 memory=30\n",
            "",
            None,
            id="all alike",
        ),
        pytest.param(
            "usage n1 cpu=30 memory=30 spread=20\nusage n2 cpu=40 memory=40\nusage n3 cpu=40 memory=40\n",
            "",
            ["n1"],
            id="a wide curve counts",
        ),
    ],
)
def test_victims_are_on_nodes_with_more_load_than_the_own_candidate(
    text: str, pod: str, nodes: list[str] | None
) -> None:
    assert victims(text, pod) == nodes


def test_a_closed_node_is_nobodys_candidate() -> None:
    arguments = {"thresholds": {"cpu": 70}, "cpu.weight": 0}
    loads = "usage n1 cpu=75 memory=1\nusage n2 cpu=10 memory=50\nusage n3 cpu=10 memory=80\n"

    assert victims(loads, "", arguments) == ["n3"]


def test_what_is_placed_in_the_cycle_changes_nobodys_candidate() -> None:
    world = World(f"{THREE}{JOBS}{LOADS}job ns/new pods=2 cpu=4")
    plugin, (first, second) = world.opened(Usage(usage_args())), world.tasks("new.0 new.1")
    plugin.on_allocate(world.jobs["ns/new"], first, 0)

    votes = [plugin.victim_votes(task, Purpose.PREEMPT) for task in (first, second)]
    assert votes[0] is not None
    assert votes[1] is not None
    assert votes[1].agreed(world.tasks("x.0")) == []
    assert votes[0].depends_on == votes[1].depends_on


def test_pods_with_an_opinion_and_pods_without_are_of_different_classes() -> None:
    world = World(f"{THREE}{LOADS}job ns/a pods=1 cpu=1\njob ns/b pods=1 cpu=2\njob ns/c pods=1 cpu=1 selector=zone:b")
    agreement = Agreement([[world.opened(Usage(usage_args()))]], Purpose.PREEMPT)
    anywhere, larger, pinned = (agreement.class_of(world.task(name)) for name in ("a.0", "b.0", "c.0"))

    assert anywhere == larger != pinned


@pytest.mark.parametrize(
    ("text", "place", "could"),
    [
        pytest.param(LOADS, "x.0", False, id="from its own candidate it could take nothing"),
        pytest.param(LOADS, "x.2", True, id="from a hot node it could"),
        pytest.param("", "x.2", None, id="where nothing is known it has no say"),
    ],
)
def test_who_could_take_back(text: str, place: str, could: bool | None) -> None:
    world = World(f"{THREE}{JOBS}{text}job ns/new pods=1 cpu=1")

    votes = world.opened(Usage(usage_args())).victim_votes(world.task(place), Purpose.PREEMPT)

    assert (None if votes is None else votes.could_regain(world.task("new.0"))) is could


FULL = """
class high 10
node n1 cpu=1
node n2 cpu=1
job ns/low
pods ns/low 1 cpu=1 on=n1
pods ns/low 1 cpu=1 on=n2
job ns/new min=1 pods=1 cpu=1 class=high
"""


@pytest.mark.parametrize(
    ("usage", "switches", "victim"),
    [
        pytest.param("usage n1 cpu=20 memory=20\nusage n2 cpu=60 memory=60", {}, "low.1", id="the hotter node's pod"),
        pytest.param("usage n1 cpu=60 memory=60\nusage n2 cpu=20 memory=20", {}, "low.0", id="whichever that is"),
        pytest.param("", {}, "low.0", id="anyone where nothing is known: priority decides"),
        pytest.param(
            "usage n1 cpu=20 memory=20\nusage n2 cpu=60 memory=60",
            {"enablePreemptable": False},
            "low.0",
            id="the cooler node's, where usage has no say in it",
        ),
    ],
)
def test_a_whole_cycle_takes_from_the_node_with_more_load(usage: str, switches: dict[str, bool], victim: str) -> None:
    policy = usage_policy({}, "priority", actions="enqueue, allocate, preempt", **switches)
    assert plan(f"{FULL}{usage}", policy).evicted == [[victim]]
