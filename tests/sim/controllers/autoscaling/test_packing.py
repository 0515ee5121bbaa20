"""Pods on nodes on paper: each gets the first room that takes it, and pods that are alike are not tried in vain."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.apimachinery.manifests.node_pools import PoolDescription
from vsched.sim.controllers.autoscaling.packing import Requests, Room, Rooms, Stock, buy_all, requests_of

Obj = dict[str, Any]


def node(name: str, cpu: int, zone: str = "a", *, tainted: bool = False) -> Obj:
    taints = [{"key": "k", "effect": "NoSchedule"}] if tainted else []
    allocatable = {"cpu": str(cpu), "pods": "3"}
    metadata = {"name": name, "labels": {"zone": zone}}
    return {"metadata": metadata, "spec": {"taints": taints}, "status": {"allocatable": allocatable}}


def spec(cpu: str = "1", zone: str = "", *, tolerates: bool = False) -> Obj:
    found: Obj = {"containers": [{"resources": {"requests": {"cpu": cpu}}}]}
    if zone:
        found["nodeSelector"] = {"zone": zone}
    if tolerates:
        found["tolerations"] = [{"operator": "Exists"}]
    return found


specs = st.builds(spec, st.sampled_from(["500m", "1", "2"]), st.sampled_from(["", "a", "b"]), tolerates=st.booleans())
rooms = st.tuples(st.integers(1, 4), st.sampled_from("ab"), st.booleans())


@given(st.lists(rooms, max_size=6), st.lists(specs, max_size=12), st.lists(rooms, max_size=3), st.lists(specs))
def test_each_pod_gets_the_first_room_that_takes_it(
    first: list[tuple[int, str, bool]], pods: list[Obj], later: list[tuple[int, str, bool]], more: list[Obj]
) -> None:
    def made() -> list[Room]:
        every = enumerate([*first, *later])
        return [Room(node(f"n{number}", cpu, zone, tainted=tainted)) for number, (cpu, zone, tainted) in every]

    plain, kept = made(), made()
    found = Rooms(kept[: len(first)])
    names: list[list[str | None]] = [[], []]
    for part, there in ((pods, plain[: len(first)]), (more, plain)):
        for one in part:
            wanted = requests_of(one)
            expected = next((room for room in there if room.takes(one, wanted)), None)
            placed = found.place(one)
            names[0].append(expected and expected.name)
            names[1].append(placed and placed.name)
        if part is pods:
            found.add(kept[len(first) :])
    assert names[0] == names[1]


@pytest.mark.parametrize("size", [20, 200])
def test_pods_that_are_alike_try_each_room_once(size: int) -> None:
    tried = 0

    class Counted(Room):
        def takes(self, spec: Obj, wanted: Requests) -> bool:
            nonlocal tried
            tried += 1
            return super().takes(spec, wanted)

    found = Rooms(Counted(node(f"n{number}", 2)) for number in range(size))
    placed = [found.place(spec()) for _ in range(4 * size)]
    assert sum(room is not None for room in placed) == 2 * size
    assert tried <= 3 * size


def test_what_cannot_be_had_for_all_takes_nothing() -> None:
    pool = Stock(PoolDescription("p", (node("like", 2),), most=1), set())
    idle = [Room(node("n", 1))]
    left = dict(idle[0].left)
    assert buy_all([spec()] * 4, idle, [pool]) is None
    assert (idle[0].left, pool.numbers) == (left, set())
    (bought,) = buy_all([spec()] * 3, idle, [pool]) or ()
    assert (bought.name, pool.numbers, idle[0].left["cpu"]) == ("p-0", {0}, 0)
