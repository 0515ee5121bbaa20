"""Puts pods on nodes on paper, first fit: what is idle, and what has to be added. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from vsched.cel.quantities import amount
from vsched.sim.controllers.autoscaling.pools import NodePool
from vsched.sim.controllers.node_fit import is_open_to
from vsched.sim.controllers.objects import is_finished
from vsched.sim.store.kinds import Obj

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

    def takes(self, spec: Obj) -> bool:
        """Places a pod with this spec if there is room for it."""
        wanted = requests_of(spec)
        if any(value > self.left.get(name, 0) for name, value in wanted.items()):
            return False
        if not is_open_to(spec, spec.get("tolerations") or (), self.node):
            return False
        self._take(wanted)
        return True

    def _take(self, wanted: Requests) -> None:
        for name, value in wanted.items():
            self.left[name] = self.left.get(name, Decimal(0)) - value


@dataclass(slots=True)
class Stock:
    """A pool, with the nodes that it has or that are on their way."""

    pool: NodePool
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


def place(spec: Obj, rooms: Sequence[Room]) -> Room | None:
    """The first room with space for the pod, which it takes; None if there is none."""
    return next((room for room in rooms if room.takes(spec)), None)


def buy(spec: Obj, stocks: Sequence[Stock]) -> Room | None:
    """A new node that takes the pod, of the first pool that can have one; None where none can."""
    for stock in stocks:
        if Room(stock.pool.node(0)).takes(spec) and stock.can_add():
            room = stock.add()
            room.takes(spec)
            return room
    return None


def buy_all(specs: Sequence[Obj], rooms: Sequence[Room], stocks: Sequence[Stock]) -> list[Room] | None:
    """The new nodes with which all these pods have room beside what is idle; None, and nothing is taken, if some have
    none."""
    bought: list[Room] = []
    before = [(room, dict(room.left)) for room in rooms]
    for spec in specs:
        if place(spec, [*rooms, *bought]) is not None:
            continue
        room = buy(spec, stocks)
        if room is None:
            for one, left in before:
                one.left = left
            for one in bought:
                next(stock for stock in stocks if one.name.rpartition("-")[0] == stock.pool.name).take_back(one)
            return None
        bought.append(room)
    return bought
