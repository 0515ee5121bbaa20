"""Random steps of a session: no device twice, counts agree with the exact search, and undoing leaves no trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.devicesets import DeviceSession, DeviceWorld, amounts, device, gpus, has, pool, request, spec
from vsched.kernels.devices.search import search
from vsched.model.claims.devices import ALL, DeviceConstraint
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

MODEL = "device.attributes['gpu'].model == "
SPECS = (
    spec(request("r", 1)),
    spec(request("r", 2)),
    spec(request("r", 1, MODEL + "'h'"), request("s", 1, MODEL + "'a'")),
    spec(request("r", 1, MODEL + "'h'"), request("s", 1)),
    spec(request("r", mode=ALL)),
    spec([request("r/h", 2, MODEL + "'h'"), request("r/any", 1)]),
    spec(request("r", 2), constraints=[DeviceConstraint("gpu/model")]),
    spec(request("r", 1, capacity=amounts(memory=2))),
    spec(request("r", 1, admin=True)),
    spec(request("r", 1, MODEL + "'part'")),
)
OWN = 6
"""How many pods have claims of their own."""


def world_of(specs: Sequence[int], shared: int, status: Status) -> tuple[DeviceWorld, list[Task], list[Task]]:
    """Three nodes with devices of all kinds; pods that wait, and pods that run with devices."""
    world = DeviceWorld(
        gpus("n1", 2, attributes={"model": "h"}, capacity=amounts(memory=4)),
        pool(
            device("a", "n2", attributes={"model": "a"}, capacity=amounts(memory=4), shareable=True),
            device("b", "n2", attributes={"model": "h"}, capacity=amounts(memory=1)),
        ),
        pool(
            *(device(f"p{at}", "n3", attributes={"model": "part"}, consumes={"c": {"x": at + 1}}) for at in range(3)),
            counters=(("c", (("x", 3),)),),
        ),
        pool(device("far", "", pool="zone", attributes={"model": "a"}, nodes=None)),
        nodes=("n1", "n2", "n3"),
    )
    running = [
        world.pod("run", "held", status=status, node="n1"),
        world.pod("far", "net", status=Status.RUNNING, node="n2"),
    ]
    world.claim("held", SPECS[0], allocation=has("gpu-1"), users=running[:1], owner="uid-run")
    world.claim("net", SPECS[0], allocation=has("far", node="zone"), users=running[1:])
    world.claim("shared", SPECS[shared])
    waiting = [world.own(f"p{at}", SPECS[which]) for at, which in enumerate(specs)]
    waiting += [world.pod(f"s{at}", "shared") for at in range(2)]
    return world, waiting, running


def state(handler: DeviceSession, tasks: Sequence[Task]) -> list[Any]:
    found: list[Any] = [handler.got(task) for task in tasks]
    found.extend([handler.passing(task, later=later) for task in tasks] for later in (False, True))
    found.append([[room.most.tolist() for room in handler.limits(task)] for task in tasks])
    return found


def check_counts(handler: DeviceSession, tasks: Sequence[Task]) -> None:
    """Masks agree with the search: exactly where they say all, and never too strict elsewhere."""
    for task in tasks:
        needs = handler._resolver.of(task).needs
        if needs is None:
            continue
        for later in (False, True):
            passing = handler.passing(task, later=later)
            for row, name in enumerate(handler.names):
                asks = handler._room.asks_on(needs, row)
                books = handler._uses.books
                picks = search(asks, row, handler._inventory, books, later=later, steps=0).picks
                assert handler._search(needs, row, later=later).picks == picks, "by counts, or kept from before"
                solved = picks is not None
                reachable = all(check.passes[row] for check in handler.checks(task) if not check.resolvable)
                if reachable and needs.is_counted:
                    assert solved == (name in passing), (task.name, name, later)
                assert not solved or not reachable or name in passing, (task.name, name, later)


def check_devices(world: DeviceWorld, handler: DeviceSession, placed: Sequence[Task], gone: Sequence[str]) -> None:
    """No device is used twice, no counter and no capacity is overdrawn; what is leaving does not count."""
    seen: Counter[tuple[str, str]] = Counter()
    memory: Counter[tuple[str, str]] = Counter()
    claims: dict[str, Any] = {}
    for key, claim in world.claims.items():
        if claim.allocation is not None and key not in gone:
            claims[key] = claim.allocation
    for task in placed:
        plan = handler.plan(task)
        assert plan is not None
        for choice in plan.devices:
            assert claims.setdefault(choice.claim or task.uid, choice.allocation) == choice.allocation
    for allocation in claims.values():
        for one in allocation.devices:
            if not one.admin:
                seen[one.device.pool, one.device.device] += 1
                memory[one.device.pool, one.device.device] += dict(one.consumed).get("gpu/memory", 0)
    slots = sum(at + 1 for at in range(3) if seen["n3", f"p{at}"])
    assert slots <= 3
    for (where, name), number in seen.items():
        assert number == 1 or (where, name) == ("n2", "a"), f"{name} of {where} is used {number} times"
    assert memory["n2", "a"] <= 4000


@given(
    st.lists(st.integers(0, len(SPECS) - 1), min_size=OWN, max_size=OWN),
    st.integers(0, len(SPECS) - 1),
    st.sampled_from([Status.RUNNING, Status.RELEASING]),
    st.lists(
        st.tuples(st.sampled_from(["take", "later", "withdraw", "evict", "undo"]), st.integers(0, 20)), max_size=14
    ),
)
def test_random_steps(specs: Sequence[int], shared: int, status: Status, steps: Sequence[tuple[str, int]]) -> None:
    world, waiting, running = world_of(specs, shared, status)
    handler = world.handler()
    begin = state(handler, waiting)
    placed: dict[str, Task] = {}
    evicted: dict[str, Task] = {}
    undo: list[Callable[[], None]] = []
    states = [begin]
    for kind, number in steps:
        if kind == "undo":
            if undo:
                undo.pop()()
                states.pop()
                assert state(handler, waiting) == states[-1]
            continue
        if kind in ("take", "later"):
            step = _take(handler, waiting[number % len(waiting)], number, placed, later=kind == "later")
        elif kind == "withdraw":
            step = _withdraw(handler, list(placed.values()), number, placed)
        else:
            step = _evict(handler, running[number % len(running)], evicted)
        if step is None:
            continue
        undo.append(step)
        states.append(state(handler, waiting))
        gone = {"uid-run": "ns/held", "uid-far": "ns/net"}
        leaving = [gone[uid] for uid in evicted] + (["ns/held"] if status is Status.RELEASING else [])
        check_devices(world, handler, list(placed.values()), leaving)
        check_counts(handler, waiting)
    while undo:
        undo.pop()()
    assert state(handler, waiting) == begin
    assert not placed


def _take(
    handler: DeviceSession, task: Task, number: int, placed: dict[str, Task], *, later: bool
) -> Callable[[], None] | None:
    rows = [handler.names.index(name) for name in handler.serving(task, later=later)]
    if task.uid in placed or not rows:
        return None
    row = rows[number % len(rows)]
    handler.take(task, row, later=later)
    placed[task.uid] = task

    def undo() -> None:
        handler.give_back(task, row)
        del placed[task.uid]

    return undo


def _withdraw(
    handler: DeviceSession, tasks: Sequence[Task], number: int, placed: dict[str, Task]
) -> Callable[[], None] | None:
    if not tasks:
        return None
    task = tasks[number % len(tasks)]
    had = handler.withdraw(task, 0)
    del placed[task.uid]

    def undo() -> None:
        handler.reinstate(task, 0, had)
        placed[task.uid] = task

    return undo


def _evict(handler: DeviceSession, task: Task, evicted: dict[str, Task]) -> Callable[[], None] | None:
    if task.uid in evicted:
        return None
    handler.evict(task, 0)
    evicted[task.uid] = task

    def undo() -> None:
        handler.restore(task, 0)
        del evicted[task.uid]

    return undo
