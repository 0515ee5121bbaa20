"""Actions that evict before ``allocate``: what is evicted is still there as others are bound."""

from __future__ import annotations

import pytest

from tests.support.taking import Busy, evicted, kept, taking

FIRST = taking("preempt, allocate", "priority gang-P", "predicates")

SCENE = """
    class high 10
    node n1 cpu=6
    job ns/low phase=Running
    pods ns/low 1 cpu=4 on=n1 {low}
    job ns/urgent min=1 phase=Inqueue class=high
    pods ns/urgent 1 cpu=3
    job ns/next min=1 phase=Inqueue
    pods ns/next 1 cpu=1 {next}
"""


@pytest.mark.parametrize(
    ("low", "next_"),
    [
        pytest.param("port=80", "port=80", id="it holds its port"),
        pytest.param("", "apart=low", id="it is where another pod may not be beside it"),
        pytest.param("apart=next", "", id="it repels another pod"),
    ],
)
def test_what_rules_a_pod_out_does_so_until_it_is_gone(low: str, next_: str) -> None:
    world = Busy(SCENE.format(low=low, next=next_), FIRST)
    first = world.cycle()
    assert (evicted(first), [bind.name for bind in first.binds]) == (["low.0"], [])
    assert kept(first) == {"urgent.0": "n1"}
    second = world.cycle()
    assert {bind.name: bind.node for bind in second.binds} == {"urgent.0": "n1", "next.0": "n1"}


def test_what_rules_nobody_out_keeps_nobody_waiting() -> None:
    first = Busy(SCENE.format(low="port=80", next="port=81"), FIRST).cycle()
    assert (evicted(first), [bind.name for bind in first.binds]) == (["low.0"], ["next.0"])
