"""fragmentation: which node keeps the free GPUs usable; a mix learnt from the pods; values kept as nodes change."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.plans import NOW, plan, policy_from
from tests.support.worlds import World
from vsched.errors import BadPolicy
from vsched.framework.policy import Policy
from vsched.plugins.devices.given_mix import MixEntry
from vsched.plugins.devices.mix import DeviceAskers, DeviceWant, mix_of, weights
from vsched.plugins.fragmentation import Fragmentation, FragmentationArgs

MEASURES = ["gradient", "filling"]


def policy(measure: str, **arguments: Any) -> Policy:
    plugin = {"name": "fragmentation", "arguments": {"measure": measure, **arguments}}
    tiers = [[{"name": "gang"}], [{"name": "predicates"}, {"name": "proportion"}, plugin]]
    return policy_from(json.dumps({"actions": "enqueue, allocate", "tiers": [{"plugins": tier} for tier in tiers]}))


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(
    ("text", "node"),
    [
        pytest.param(
            "node a nvidia=8\nnode b nvidia=1\njob ns/big pods=9 nvidia=8 min=9\njob ns/new pods=1 nvidia=1",
            "b",
            id="a pod of one GPU leaves the node that pods of eight need",
        ),
        pytest.param(
            "node a nvidia=2 cpu=9\nnode b nvidia=2 cpu=3\njob ns/big pods=9 nvidia=1 cpu=4 min=9\n"
            "job ns/new pods=1 nvidia=1 cpu=1",
            "b",
            id="and takes GPUs that others cannot use for lack of cpu",
        ),
        pytest.param(
            "node a nvidia=1 card=new\nnode b nvidia=1 card=old\n"
            "job ns/big pods=9 nvidia=1 cpu=1 min=9 selector=card:new\njob ns/new pods=1 nvidia=1 cpu=1",
            "b",
            id="and nodes that others do not accept",
        ),
        pytest.param(
            "node a nvidia=1\nnode b\njob ns/big pods=9 nvidia=1 cpu=3 min=9\njob ns/new pods=1 cpu=2",
            "b",
            id="a pod without GPUs leaves the cpus beside GPUs",
        ),
    ],
)
def test_the_node_that_others_need_least(measure: str, text: str, node: str) -> None:
    assert plan(text, policy(measure)).nodes == {"new.0": node}


@pytest.mark.parametrize("measure", MEASURES)
def test_a_cluster_without_gpus_is_as_without_the_plugin(measure: str) -> None:
    found = plan("node a\nnode b\njob ns/new pods=1 nvidia=1 cpu=1\njob ns/plain pods=1 cpu=1", policy(measure))
    assert found.nodes == {"plain.0": "a"}


def test_other_resources_are_devices_where_the_policy_says_so() -> None:
    text = "node a gpu=8\nnode b gpu=1\njob ns/big pods=9 gpu=8 cpu=1 min=9\njob ns/new pods=1 gpu=1 cpu=1"
    assert plan(text, policy("gradient")).nodes == {"new.0": "a"}
    assert plan(text, policy("gradient", resources="x, example.com/gpu")).nodes == {"new.0": "b"}


def test_recent_pods_count_more() -> None:
    text = """
        node a nvidia=8
        node b nvidia=1
        job ns/one pods=1 nvidia=1 cpu=1
        job ns/ones pods=99 nvidia=1 cpu=1 min=99 age={age}
        job ns/eights pods=2 nvidia=8 cpu=1 min=2
    """
    plugin = Fragmentation(FragmentationArgs(half_life=3600.0))
    for age in (0, 36_000):
        world = World(text.format(age=age))
        opened = world.opened(plugin)
        score = opened.score(world.task("one.0").shape, world.nodes, slice(None))
        assert score is not None
        # Among many pods of one GPU, the last seven of the node of eight are no loss.
        assert (score[1] - score[0] > 30.0) == (age > 0)


@pytest.mark.parametrize(
    ("text", "node"),
    [
        pytest.param("node a nvidia=4 cpu=8\nnode b nvidia=2 cpu=8", "b", id="less is left of the devices"),
        pytest.param("node a nvidia=4 cpu=8\nnode b nvidia=4 cpu=4", "b", id="less is left of the cpus"),
        pytest.param("node a nvidia=8 cpu=4\nnode b nvidia=2 cpu=64", "a", id="as parts of the largest node"),
        pytest.param("node a nvidia=8 cpu=64\nnode b nvidia=8 cpu=63500m", "a", id="less than a hundredth is nothing"),
        pytest.param("node a nvidia=8 cpu=64\nnode b nvidia=8 cpu=60", "b", id="a few hundredths are something"),
    ],
)
def test_best_fit_takes_the_node_with_the_least_left(text: str, node: str) -> None:
    found = plan(f"{text}\njob ns/new pods=1 nvidia=1 cpu=1", policy("best-fit"))
    assert found.nodes == {"new.0": node}


@pytest.mark.parametrize(
    ("mix", "scores"),
    [
        pytest.param([{"weight": 1, "devices": 8}], [0, 73], id="a pod makes fragments of seven, or uses one"),
        pytest.param([{"weight": 1}], [50, 50], id="no fragments before and after"),
        pytest.param([{"weight": 9}, {"weight": 1, "devices": 8}], [33, 52], id="the mean over the mix, rounded down"),
    ],
)
def test_scores_of_the_gradient_are_whole_numbers(mix: Any, scores: list[int]) -> None:
    world = World(BIG_AND_SMALL)
    entries = msgspec.convert(mix, tuple[MixEntry, ...])
    opened = world.opened(Fragmentation(FragmentationArgs(mix=entries)))
    found = opened.score(world.task("one.0").shape, world.nodes, slice(None))
    assert found is not None
    assert found.tolist() == scores


BIG_AND_SMALL = "node a nvidia=8 card=new\nnode b nvidia=1 card=old\njob ns/one pods=9 nvidia=1 cpu=1 min=1"


@pytest.mark.parametrize(
    ("mix", "node"),
    [
        pytest.param([{"weight": 1, "devices": 8}], "b", id="pods of eight devices"),
        pytest.param([{"weight": 1, "nodeSelector": {"card": "old"}}], "a", id="pods for the nodes of a label"),
        pytest.param([{"weight": 1, "nodeSelector": {"card": "new"}}], "b", id="pods for other nodes"),
        pytest.param(
            [{"weight": 9, "percent": 50, "cpu": "900m"}, {"weight": 3, "nodeSelector": {"card": "old"}}],
            "a",
            id="pods that take part of any device, and some for the nodes of a label",
        ),
    ],
)
@pytest.mark.parametrize("measure", MEASURES)
def test_a_given_mix_counts_in_place_of_the_pods_that_there_are(mix: Any, node: str, measure: str) -> None:
    assert plan(BIG_AND_SMALL, policy(measure, mix=mix)).nodes["one.0"] == node


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        pytest.param("{weight: 0}", "policy:3: .*mix.*weight: expected a number > 0, got '?0", id="no weight"),
        pytest.param("{devices: 1}", "policy:3: .*mix.*weight", id="weight not given"),
        pytest.param("{weight: 1, percent: 101}", "policy:3: .*percent: expected a whole number", id="per cent"),
        pytest.param("{weight: 1, gpus: 1}", "policy:3: .*gpus", id="no such field"),
        pytest.param("{weight: 1, cpu: 4x}", "policy:2: .*mix: entry 0: cpu: '4x' is not a quantity", id="cpu"),
        pytest.param(
            "{weight: 1, memory: -1Gi}", "policy:2: .*mix: entry 0: memory: '-1Gi' is below zero", id="memory"
        ),
    ],
)
def test_a_mix_that_makes_no_sense_is_refused_with_its_line(entry: str, message: str) -> None:
    text = f"""tiers: [{{plugins: [{{name: fragmentation, arguments: {{
        mix: [
        {entry}]}}}}]}}]
    """
    with pytest.raises(BadPolicy) as error:
        policy_from(text)
    assert re.search(message, str(error.value)), str(error.value)


ACTIONS = st.lists(st.tuples(st.sampled_from(["one", "two", "plain"]), st.integers(0, 3)), max_size=8)


@settings(max_examples=examples(40))
@given(ACTIONS, st.sampled_from(MEASURES))
def test_what_is_kept_equals_what_is_worked_out_anew(actions: list[tuple[str, int]], measure: Any) -> None:
    text = """
        node a nvidia=4 cpu=16
        node b nvidia=4 cpu=16
        node c nvidia=2 cpu=8
        node d cpu=16
        job ns/one pods=8 nvidia=1 cpu=1
        job ns/two pods=4 nvidia=2 cpu=2
        job ns/plain pods=4 cpu=3
    """
    world, args = World(text), FragmentationArgs(measure=measure)
    kept = world.opened(Fragmentation(args))
    everywhere = np.ones(4, np.bool_)
    for name, row in [*actions, ("one", 0)]:
        job = world.jobs[f"ns/{name}"]
        task = next(iter(job.job.tasks.values()))
        for one in ("one", "two", "plain"):
            shape, labels = world.task(f"{one}.0").shape, world.task(f"{one}.0").labels
            anew = world.opened(Fragmentation(args))
            found, expected = (each.score(shape, world.nodes, slice(None)) for each in (kept, anew))
            assert (None if found is None else found.tolist()) == (None if expected is None else expected.tolist())
            if found is not None:
                rows = [kept.score_row(shape, world.nodes, at) for at in range(4)]
                assert rows == found.tolist()
            relative = [each.relative_score(shape, labels, world.nodes, everywhere) for each in (kept, anew)]
            assert (relative[0] is None) == (found is not None)
            if relative[0] is not None and relative[1] is not None:
                assert relative[0].tolist() == relative[1].tolist()
        for column, amount in task.shape.request:
            world.nodes.idle[column, row] -= amount
        kept.on_allocate(job, task, row)
    kept.end_cycle()
    later, anew = (world.opened(Fragmentation(args)) for _ in range(2))
    for one in ("one", "two", "plain"):
        # The first to ask gets what the last cycle has left.
        scores = [both_scores(each, world, one) for each in (later, anew)]
        assert scores[0] == scores[1]


def both_scores(plugin: Fragmentation, world: World, name: str) -> list[list[float]]:
    """What a pod of a job scores on all nodes, by itself and beside other nodes."""
    shape, labels = world.task(f"{name}.0").shape, world.task(f"{name}.0").labels
    found = [
        plugin.score(shape, world.nodes, slice(None)),
        plugin.relative_score(shape, labels, world.nodes, np.ones(len(world.nodes), np.bool_)),
    ]
    return [scores.tolist() for scores in found if scores is not None]


HOUR = 3600


@pytest.mark.parametrize(
    ("made", "half_life", "expected"),
    [
        pytest.param({("one", 0): 3}, 0.0, {"one": 3.0}, id="pods of one step"),
        pytest.param({("one", 0): 8, ("one", 1): 1}, 0.0, {"one": 8.0}, id="few new ones do not count yet"),
        pytest.param({("one", 0): 7, ("two", 1): 1}, 0.0, {"one": 7.0, "two": 1.0}, id="one in eight counts"),
        pytest.param({("one", 0): 20, ("one", 9): 20, ("two", 10): 1}, 0.0, {"one": 40.0}, id="all old ones alike"),
        pytest.param({("one", 0): 16, ("one", 8): 8, ("two", 9): 1}, 8.0 * HOUR, {"one": 14.67}, id="half a half-life"),
        pytest.param({("one", 0): 16, ("two", 8): 8}, 8.0 * HOUR, {"one": 8.0, "two": 8.0}, id="a half-life"),
        pytest.param({("one", 0): 16, ("two", 512): 1}, 8.0 * HOUR, {"two": 1.0}, id="too old to count"),
    ],
)
def test_how_much_pods_count(made: dict[tuple[str, int], int], half_life: float, expected: dict[str, float]) -> None:
    world = World("node a nvidia=8\njob ns/one pods=1 nvidia=1\njob ns/two pods=1 nvidia=2")
    shapes = {name: world.task(f"{name}.0").shape for name in ("one", "two")}
    found = weights({(shapes[name], step): count for (name, step), count in made.items()}, half_life)
    assert found == {shapes[name]: pytest.approx(weight, abs=0.01) for name, weight in expected.items()}


def test_the_mix_is_the_same_whether_counted_step_by_step_or_at_once() -> None:
    text = "node a nvidia=8\njob ns/one pods=3 nvidia=1 cpu=1 age=99999\njob ns/two pods=2 nvidia=2 cpu=1\n"
    first = "node a nvidia=8\njob ns/one pods=1 nvidia=1 cpu=1"
    plugin = Fragmentation(FragmentationArgs())
    grown, whole = World(first), World(text)
    grown.opened(plugin).score(grown.task("one.0").shape, grown.nodes, slice(None))
    grown.add(text)
    grown.turn(NOW + 1)
    scores = [
        world.opened(plugin).score(world.task("two.0").shape, world.nodes, slice(None)) for world in (grown, whole)
    ]
    assert scores[0] is not None
    assert scores[1] is not None
    assert scores[0].tolist() == scores[1].tolist()


def test_nodes_of_equal_acceptance_are_one_model() -> None:
    devices = np.array([8, 8, 4, 0])
    every, some = np.array([True, True, True, True]), np.array([True, False, True, False])
    found = mix_of(
        [DeviceAskers(DeviceWant(1, 1000, 1, 1), every, 3.0), DeviceAskers(DeviceWant(2, 1000, 1, 1), some, 1.0)],
        devices,
    )
    assert found is not None
    model = found.model.tolist()
    assert model[0] == model[2] != model[1]
    assert found.mix.accepts[model[0]].tolist() == [True, True]
    assert found.mix.accepts[model[1]].tolist() == [True, False]
    assert found.devices[[model[0], model[1]]].tolist() == [12, 8]
    assert found.mix.share.tolist() == [0.75, 0.25]


def test_too_many_patterns_of_nodes_are_told_apart_by_the_kinds_that_come_most() -> None:
    nodes = 200
    kinds = [
        DeviceAskers(DeviceWant(1, 1000, one, 1), np.arange(nodes) == one, float(nodes - one)) for one in range(nodes)
    ]
    found = mix_of(kinds, np.ones(nodes, np.int64))
    assert found is not None
    assert len(found.devices) <= 64
    assert len({*found.model[:20].tolist()}) == 20
