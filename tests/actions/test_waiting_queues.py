"""Standings: the queue that goes first by its key as of now, found without working out every key after each turn."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.clusters import contended
from tests.support.examples import examples
from tests.support.plans import NOW, manifests, mirror, policy_of
from vsched.actions.ordering import OrderingArgs, QueueOrdering
from vsched.actions.waiting_queues import WaitingQueues, waiting_queues
from vsched.framework.combine.pluginset import PluginSet
from vsched.framework.policy import Policy
from vsched.framework.registry import Registry
from vsched.framework.session import Session
from vsched.framework.trace import Trace
from vsched.model.queues.queue import Queue
from vsched.settings import load_text
from vsched.settings.built_in import REGISTRY


class Branches(PluginSet):
    """Queues named ``a/b/c`` stand where the branches above them stand, level by level."""

    def __init__(self) -> None:
        super().__init__(Policy((), ()), Registry.of((), ()), Trace())
        self.queues_move_together = True
        self.had: dict[str, int] = {}
        self.era = 0
        self.asked = 0

    def queue_key(self, queue: Queue, *, admitting: bool = False) -> Any:
        self.asked += 1
        return tuple(value for _, value in self._levels(queue)), queue.name

    def queue_parts(self, queue: Queue, *, admitting: bool = False) -> list[tuple[Hashable, tuple[Any, ...]]]:
        self.asked += 1
        return [*self._levels(queue), (None, ()), (queue.name, (queue.name,))]

    def queue_epoch(self, *, admitting: bool = False) -> tuple[int, ...]:
        return (self.era,)

    def _levels(self, queue: Queue) -> list[tuple[Hashable, tuple[Any, ...]]]:
        names = queue.name.split("/")
        ways = ["/".join(names[: depth + 1]) for depth in range(len(names))]
        return [(way, (self.had.get(way, 0),)) for way in ways]

    def give(self, queue: Queue, amount: int) -> None:
        names = queue.name.split("/")
        for depth in range(len(names)):
            way = "/".join(names[: depth + 1])
            self.had[way] = self.had.get(way, 0) + amount


names = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map("/".join)


@settings(max_examples=examples(80), deadline=None)
@given(st.lists(names, min_size=1, max_size=12, unique=True), st.data())
def test_the_queue_that_goes_first_is_the_one_with_the_least_key_as_of_now(
    made: list[str], data: st.DataObject
) -> None:
    branches, waiting = Branches(), {name: Queue(name) for name in made}
    order = waiting_queues(QueueOrdering(branches, OrderingArgs()), waiting.values())
    for _ in range(20):
        taken = order.take()
        if taken is None:
            break
        assert taken.name == min(waiting, key=lambda name: branches.queue_key(waiting[name]))
        del waiting[taken.name]
        branches.give(taken, data.draw(st.integers(-2, 3)))
        if data.draw(st.booleans()):
            waiting[taken.name] = taken
            order.put(taken)
        else:
            order.moved((taken,))
        if data.draw(st.booleans()):
            other = Queue(data.draw(names))
            branches.give(other, data.draw(st.integers(-2, 3)))
            order.moved((other,))
        if data.draw(st.integers(0, 4)) == 0:
            branches.had = {way: -value for way, value in branches.had.items()}
            branches.era += 1
    else:
        return
    assert not waiting


def turns_of(order: WaitingQueues, again: Callable[[Queue], bool]) -> list[str]:
    """The names of the queues in turn."""
    found = []
    while (queue := order.take()) is not None:
        found.append(queue.name)
        if again(queue):
            order.put(queue)
        else:
            order.moved((queue,))
    return found


@pytest.mark.parametrize("size", [5, 10])
def test_a_turn_asks_for_the_key_of_one_queue_however_many_there_are(size: int) -> None:
    branches = Branches()
    queues = [Queue(f"{one}/{two}/{three}") for one in range(size) for two in range(size) for three in range(size)]
    order = waiting_queues(QueueOrdering(branches, OrderingArgs()), queues)

    assert len(turns_of(order, lambda queue: False)) == len(queues)
    assert branches.asked == 2 * len(queues), "once to put it in, once when its turn is over"


TREE = policy_of("priority gang", "drf predicates capacity", enableHierarchy=True)
CAPACITY = policy_of("priority gang", "predicates capacity")
PARENTS = """
actions: allocate
tiers: [{plugins: [{name: drf}, {name: capacity, enableHierarchy: true}]}]
"""
PROPORTION = policy_of("priority gang", "drf predicates proportion")
ORDERS = [
    pytest.param(TREE, id="annotations"),
    pytest.param(load_text(PARENTS, "p", REGISTRY).policy, id="parents"),
    pytest.param(CAPACITY, id="capacity"),
    pytest.param(PROPORTION, id="proportion"),
]


def compared(parts: list[tuple[Hashable, tuple[Any, ...]]]) -> list[tuple[Any, ...]]:
    return [value for _, value in parts]


@pytest.mark.parametrize("policy", ORDERS)
@settings(max_examples=examples(36), deadline=None)
@given(text=contended(), admitting=st.booleans())
def test_parts_compare_as_keys_do(policy: Policy, text: str, admitting: bool) -> None:
    session = Session(mirror(manifests(text)).snapshot(NOW), policy, REGISTRY, Trace())
    plugins, queues = session.plugins, session.snapshot.queues.values()

    by_key = sorted(queues, key=lambda queue: plugins.queue_key(queue, admitting=admitting))
    by_parts = sorted(queues, key=lambda queue: compared(plugins.queue_parts(queue, admitting=admitting)))

    assert [queue.name for queue in by_parts] == [queue.name for queue in by_key]
