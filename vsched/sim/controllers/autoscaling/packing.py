"""Puts pods on nodes on paper, first fit: what is idle, and what has to be added. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import orjson

from vsched.apimachinery.manifests.node_pools import PoolDescription
from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.objects import is_finished
from vsched.apimachinery.workloads.node_fit import is_open_to
from vsched.cel.quantities import amount

Requests = Mapping[str, Decimal]


class Room:
    """What is left of one node, or of one that is to come."""

    def __init__(self, node: Obj, pods: Iterable[Obj] = ()) -> None:
        self.node = node
        status = node.get("status") or {}
        allocatable = status.get("allocatable") or status.get("capacity") or {}
        self.left = {name: amount(value) for name, value in allocatable.items()}
        self.empty = True
        for pod in pods:
            if not is_finished(pod):
                self.empty = False
                self._take(requests_of(pod["spec"]))

    @property
    def name(self) -> str:
        """The name of the node."""
        return str(self.node["metadata"]["name"])

    def takes(self, spec: Obj, wanted: Requests) -> bool:
        """Places a pod with this spec, which requests this, if there is room for it."""
        if any(value > self.left.get(name, 0) for name, value in wanted.items()):
            return False
        if not is_open_to(spec, spec.get("tolerations") or (), self.node):
            return False
        self._take(wanted)
        return True

    def _take(self, wanted: Requests) -> None:
        for name, value in wanted.items():
            self.left[name] = self.left.get(name, Decimal(0)) - value


class Rooms:
    """Rooms in their order; each pod gets the first one that takes it.

    Rooms only fill up. So a room that did not take a pod takes none like it, and the search for a pod begins with the
    room that took the last one like it.
    """

    def __init__(self, rooms: Iterable[Room]) -> None:
        self._rooms = list(rooms)
        self._next: dict[Hashable, int] = {}
        """The first room that may still take a pod, by kind of pod."""

    def __iter__(self) -> Iterator[Room]:
        return iter(self._rooms)

    def add(self, rooms: Iterable[Room]) -> None:
        """More rooms, after the others."""
        self._rooms += rooms

    def place(self, spec: Obj) -> Room | None:
        """The first room with space for the pod, which it takes; None if there is none."""
        wanted = requests_of(spec)
        kind = _kind(spec, wanted)
        for at in range(self._next.get(kind, 0), len(self._rooms)):
            if self._rooms[at].takes(spec, wanted):
                self._next[kind] = at
                return self._rooms[at]
        self._next[kind] = len(self._rooms)
        return None


@dataclass(slots=True)
class Stock:
    """A pool, with the nodes that it has or that are on their way."""

    pool: PoolDescription
    numbers: set[int]

    def can_add(self) -> bool:
        """Whether one more node can be had."""
        return len(self.numbers) < self.pool.most and not self.pool.out_of_stock

    def add(self) -> Room:
        """One more node."""
        number = next(each for each in range(len(self.numbers) + 1) if each not in self.numbers)
        self.numbers.add(number)
        return Room(self.pool.node(number))

    def take_back(self, room: Room) -> None:
        """One node less, which ``add`` made."""
        self.numbers.discard(int(room.name.rpartition("-")[2]))


def requests_of(spec: Obj) -> Requests:
    """What a pod takes of a node: the sum of its containers or the largest of those that run before, and a pod slot."""
    total: dict[str, Decimal] = {"pods": Decimal(1)}
    for name, value in _requests(spec.get("containers")):
        total[name] = total.get(name, Decimal(0)) + value
    for name, value in _requests(spec.get("initContainers")):
        total[name] = max(total.get(name, Decimal(0)), value)
    for name, value in (spec.get("overhead") or {}).items():
        total[name] = total.get(name, Decimal(0)) + amount(value)
    return total


def _requests(containers: Sequence[Obj] | None) -> Iterator[tuple[str, Decimal]]:
    for container in containers or ():
        for name, value in ((container.get("resources") or {}).get("requests") or {}).items():
            yield name, amount(value)


def _kind(spec: Obj, wanted: Requests) -> Hashable:
    """All that decides which rooms take a pod."""
    rules = [spec.get(field) for field in ("nodeSelector", "affinity", "tolerations")]
    return frozenset(wanted.items()), orjson.dumps(rules, option=orjson.OPT_SORT_KEYS)


def buy(spec: Obj, stocks: Sequence[Stock]) -> Room | None:
    """A new node that takes the pod, of the first pool that can have one; None where none can."""
    wanted = requests_of(spec)
    for stock in stocks:
        if stock.can_add() and Room(stock.pool.node(0)).takes(spec, wanted):
            room = stock.add()
            room.takes(spec, wanted)
            return room
    return None


def buy_all(specs: Sequence[Obj], rooms: Iterable[Room], stocks: Sequence[Stock]) -> list[Room] | None:
    """The new nodes with which all these pods have room beside what is idle; None, and nothing is taken, if some have
    none."""
    bought: list[Room] = []
    found = Rooms(rooms)
    before = [(room, dict(room.left)) for room in found]
    for spec in specs:
        if found.place(spec) is not None:
            continue
        room = buy(spec, stocks)
        if room is None:
            for one, left in before:
                one.left = left
            for one in bought:
                next(stock for stock in stocks if one.name.rpartition("-")[0] == stock.pool.name).take_back(one)
            return None
        bought.append(room)
        found.add([room])
    return bought
