"""For a gang, pods leave wherever that makes room for all of it, and the fewest do."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.arbitrator.taking.rounds import consumer, decided, gone
from tests.support.examples import examples


@pytest.mark.parametrize(
    ("text", "reserved", "expected"),
    [
        pytest.param(
            "node n1 cpu=4 gpu=1\nnode n2 cpu=4\npods a/one 1 cpu=1 on=n1\npods a/two 1 cpu=4 on=n2\n"
            "job b/g min=2\npods b/g 1 cpu=3\npods b/g 1 cpu=3 gpu=1",
            "cpu=6 example.com/gpu=1",
            ["a/two.0 for b/g.0"],
            id="the launcher leaves the only GPU to the worker",
        ),
        pytest.param(
            "node n1 cpu=3\nnode n2 cpu=3\npods a/small 3 cpu=1 on=n1 age=1\npods a/large 1 cpu=3 on=n2 age=9\n"
            "job b/g min=2\npods b/g 1 cpu=1\npods b/g 1 cpu=2",
            "cpu=3",
            ["a/large.0 for b/g.0"],
            id="one leaves for both in place of one for each",
        ),
        pytest.param(
            "node n1 cpu=3\nnode n2 cpu=3\npods a/small 3 cpu=1 on=n1 age=1\npods a/large 3 cpu=1 on=n2 age=9\n"
            "job b/g min=2 pods=2 cpu=1",
            "cpu=2",
            ["a/small.0 for b/g.0", "a/small.1 for b/g.1"],
            id="of equally many the first in order",
        ),
        pytest.param(
            "node n1 cpu=3\nnode n2 cpu=3\npods a/one 1 cpu=3 on=n1\npods a/two 1 cpu=3 on=n2\n"
            "pdb a/guard selector=job:two allowed=0\njob b/g min=2\npods b/g 1 cpu=3\npods b/g 1 cpu=2",
            "cpu=5",
            [],
            id="nobody where one of two may not leave",
        ),
        pytest.param(
            "node n1 cpu=4\nnode n2 cpu=4\npods a/one 1 cpu=4 on=n1\npods a/two 1 cpu=4 port=80 on=n2\n"
            "job b/g min=2\npods b/g 2 cpu=3 port=80",
            "cpu=6",
            ["a/one.0 for b/g.0", "a/two.0 for b/g.1"],
            id="a port keeps the pods of the gang apart",
        ),
    ],
)
def test_who_leaves_for_a_gang(text: str, reserved: str, expected: list[str]) -> None:
    text = f"{text}\npods a/more 9 cpu=4"
    assert sorted(gone(decided(text, consumer("b", reserved), most=9))) == expected


class World(NamedTuple):
    """Pods of a namespace, and a gang of another one that has reserved what it asks for."""

    nodes: list[tuple[int, str]]
    """Cpu and zone of each."""
    running: list[tuple[int, int]]
    """Node and cpu of each."""
    gang: list[tuple[int, str]]
    """Cpu and zone of each pod."""

    @property
    def asked(self) -> int:
        return sum(cpu for cpu, _ in self.gang)

    def text(self) -> str:
        nodes = [f"node n{at} cpu={cpu} zone={zone}" for at, (cpu, zone) in enumerate(self.nodes)]
        running = [f"pods a/p{at} 1 cpu={cpu} on=n{node}" for at, (node, cpu) in enumerate(self.running)]
        pods = [f"pods b/g 1 cpu={cpu}" + (f" selector=zone:{zone}" if zone else "") for cpu, zone in self.gang]
        return "\n".join([*nodes, *running, "pods a/more 9 cpu=4", f"job b/g min={len(self.gang)}", *pods])

    def least(self) -> int:
        """How many leave at least; 0 as well where the gang can have no room."""
        excess = self.asked - sum(cpu for cpu, _ in self.nodes) + sum(cpu for _, cpu in self.running)
        for count in range(len(self.running) + 1):
            for leaving in combinations(range(len(self.running)), count):
                amounts = [self.running[pod][1] for pod in leaving]
                # The last one may take more than what the namespace holds beyond its part.
                if (not amounts or sum(amounts) - max(amounts) < excess) and self._fits(leaving):
                    return count
        return 0

    def _fits(self, leaving: tuple[int, ...]) -> bool:
        free = [cpu for cpu, _ in self.nodes]
        for pod, (node, cpu) in enumerate(self.running):
            free[node] -= 0 if pod in leaving else cpu

        def place(at: int) -> bool:
            if at == len(self.gang):
                return True
            cpu, zone = self.gang[at]
            for node, (_, there) in enumerate(self.nodes):
                if free[node] >= cpu and zone in ("", there):
                    free[node] -= cpu
                    if place(at + 1):
                        return True
                    free[node] += cpu
            return False

        return place(0)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    nodes = [(draw(st.integers(2, 6)), draw(st.sampled_from("ab"))) for _ in range(draw(st.integers(2, 4)))]
    left = [cpu for cpu, _ in nodes]
    running: list[tuple[int, int]] = []
    for _ in range(draw(st.integers(2, 9))):
        node, cpu = draw(st.integers(0, len(nodes) - 1)), draw(st.integers(1, 3))
        if left[node] >= cpu:
            left[node] -= cpu
            running.append((node, cpu))
    pod = st.tuples(st.integers(1, 4), st.sampled_from(("", "", "a")))
    return World(nodes, running, draw(st.lists(pod, min_size=2, max_size=4)))


ONE_NODE = World([(4, "a"), (2, "b")], [(0, 3), (0, 1)], [(2, "a"), (2, "a")])
"""The larger pod alone makes room for one of the gang; then the smaller one may not leave any more."""
OTHERS_FIRST = World(
    [(5, "a"), (5, "a"), (4, "b"), (3, "a")],
    [(2, 1), (0, 1), (0, 1), (2, 1), (0, 2), (1, 3), (3, 2)],
    [(1, ""), (1, ""), (3, "a"), (3, "")],
)
"""Two pods that are enough by amounts may not leave together, nor any more with them."""


@settings(deadline=None, max_examples=examples(60))
@example(ONE_NODE)
@example(OTHERS_FIRST)
@given(worlds())
def test_the_fewest_leave_wherever_some_make_room(world: World) -> None:
    if world.asked <= sum(cpu for cpu, _ in world.nodes):
        found = decided(world.text(), consumer("b", f"cpu={world.asked}"), most=99)
        assert len(gone(found)) == world.least()
