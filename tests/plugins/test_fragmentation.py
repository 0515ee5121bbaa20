"""fragmentation: which node keeps the free GPUs usable; a mix learnt from the pods; values kept as nodes change."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.plans import NOW, plan, policy_from
from tests.support.worlds import World
from vsched.framework.policy import Policy
from vsched.plugins.fragmentation import Fragmentation, FragmentationArgs
from vsched.plugins.pods.device_mix import DeviceWant, Kind, mix_of

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


ACTIONS = st.lists(st.tuples(st.sampled_from(["one", "two", "plain"]), st.integers(0, 3)), max_size=8)


@settings(max_examples=40)
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
    found = mix_of([Kind(DeviceWant(1, 1000, 1, 1), every, 3.0), Kind(DeviceWant(2, 1000, 1, 1), some, 1.0)], devices)
    assert found is not None
    model = found.model.tolist()
    assert model[0] == model[2] != model[1]
    assert found.mix.accepts[model[0]].tolist() == [True, True]
    assert found.mix.accepts[model[1]].tolist() == [True, False]
    assert found.devices[[model[0], model[1]]].tolist() == [12, 8]
    assert found.mix.share.tolist() == [0.75, 0.25]


def test_too_many_patterns_of_nodes_are_told_apart_by_the_kinds_that_come_most() -> None:
    nodes = 200
    kinds = [Kind(DeviceWant(1, 1000, one, 1), np.arange(nodes) == one, float(nodes - one)) for one in range(nodes)]
    found = mix_of(kinds, np.ones(nodes, np.int64))
    assert found is not None
    assert len(found.devices) <= 64
    assert len({*found.model[:20].tolist()}) == 20
