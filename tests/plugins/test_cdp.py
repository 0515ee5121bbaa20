"""cdp: how long a pod is left alone once it was scheduled."""

from __future__ import annotations

import pytest

from tests.support.plans import plan, policy_of
from tests.support.voting import agreed, class_of
from tests.support.worlds import World
from vsched.framework.points.extension import NoArgs
from vsched.framework.points.victims import Purpose
from vsched.plugins.cdp import Cdp

COOLDOWN = "volcano.sh/cooldown-time"


@pytest.mark.parametrize(
    ("pod", "is_victim"),
    [
        pytest.param("on=n1 scheduled=1", True, id="a pod that says nothing"),
        pytest.param(f"on=n1 scheduled=599 {COOLDOWN}=10m", False, id="a moment before its cool-down is over"),
        pytest.param(f"on=n1 scheduled=600 {COOLDOWN}=10m", True, id="when its cool-down is over"),
        pytest.param(f"on=n1 scheduled=1 labels={COOLDOWN}:10m", False, id="a label will do"),
        pytest.param(
            f"on=n1 scheduled=99 labels={COOLDOWN}:1m {COOLDOWN}=10m", True, id="a label before an annotation"
        ),
        pytest.param(f"on=n1 bound scheduled=1 {COOLDOWN}=10m", True, id="a pod that does not run yet"),
        pytest.param(f"on=n1 scheduled=1 {COOLDOWN}=long", True, id="what is no length of time protects nobody"),
        pytest.param(f"on=n1 scheduled=1 {COOLDOWN}=-5m", True, id="nor does a negative one"),
    ],
)
def test_who_can_be_a_victim(pod: str, is_victim: bool) -> None:
    world = World(f"node n1 cpu=4\njob ns/a\npods ns/a 1 cpu=1 {pod}\njob ns/b pods=1 cpu=1")
    plugin, victim, evictor = world.opened(Cdp(NoArgs())), world.task("a.0"), world.task("b.0")

    for purpose in Purpose:
        assert agreed(plugin, evictor, [victim], purpose) == [victim] * is_victim
        assert class_of(plugin, evictor, purpose) == class_of(plugin, victim, purpose)


def test_a_whole_cycle_takes_the_pod_whose_cool_down_is_over() -> None:
    text = f"""
class high 10
node n1 cpu=2
job ns/a
pods ns/a 1 cpu=1 on=n1 scheduled=30 {COOLDOWN}=1m
pods ns/a 1 cpu=1 on=n1 scheduled=90 {COOLDOWN}=1m
job ns/new min=1 pods=2 cpu=1 class=high
"""
    policy = policy_of("cdp priority", "predicates", actions="enqueue, allocate, preempt")

    assert plan(text, policy).evicted == [["a.1"]]
