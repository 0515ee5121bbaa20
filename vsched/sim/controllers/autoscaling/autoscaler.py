"""The autoscaler: looks at everything at once, as cluster-autoscaler does, and adds or removes nodes.

It knows nothing of gangs and queues. Pods that say ``Unschedulable`` are put on idle nodes on paper first, then on the
nodes that are on their way, and for the others it adds nodes. A ProvisioningRequest gets nodes for all of its pods, or
fails; they are kept for it for a while.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from typing import ClassVar, NamedTuple

from vsched.apimachinery.manifests.node_pools import POOL, PoolDescription
from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.objects import by_age, condition, is_deleting, is_finished, is_ready
from vsched.apimachinery.meta.times import utc_now
from vsched.apimachinery.workloads.actions import Action, After, Create, Tell, delete, set_status
from vsched.clock import monotonic
from vsched.sim.client import LocalClient
from vsched.sim.controllers.autoscaling import requests as asked
from vsched.sim.controllers.autoscaling.packing import Room, Rooms, Stock, buy, buy_all
from vsched.sim.controllers.controller import Controller
from vsched.sim.controllers.pod_index import PodIndex

EVERYTHING = "everything"
SCAN_SECONDS = 0.2
"""How long changes are collected; cluster-autoscaler looks every ten seconds."""


class Coming(NamedTuple):
    """A node on its way."""

    room: Room
    due: float


class Scan(NamedTuple):
    """What one look at everything goes by."""

    rooms: Rooms
    """Of the nodes that are there or just come."""
    on_order: Rooms
    """Of the nodes that are on their way."""
    bought: list[Room]
    """The nodes that are added now; they are on order, too."""
    stocks: Sequence[Stock]

    def order(self, rooms: Sequence[Room]) -> None:
        """Add nodes."""
        self.bought.extend(rooms)
        self.on_order.add(rooms)


class NodeAutoscaler(Controller):
    """Adds nodes of its pools for pods and for ProvisioningRequests, and removes idle ones."""

    name: ClassVar[str] = "node autoscaler"
    primary: ClassVar[str] = "nodes"
    component: ClassVar[str] = "cluster-autoscaler"
    watches: ClassVar[tuple[str, ...]] = ("nodes", "pods", asked.REQUESTS, "podtemplates")
    settle_seconds: ClassVar[float] = SCAN_SECONDS

    def __init__(self, client: LocalClient, pod_index: PodIndex, pools: Sequence[PoolDescription]) -> None:
        super().__init__(client, pod_index)
        self._pools = sorted(pools, key=lambda pool: pool.price)
        self._coming: dict[str, Coming] = {}
        """Nodes on their way, by name."""
        self._booked: set[str] = set()
        """Uids of requests that nodes are kept for."""
        self._empty: dict[str, float] = {}
        """Since when nodes of pools have had no pods, by name."""

    def keys(self) -> Iterable[str]:
        return (EVERYTHING,)

    def affected(self, resource: str, obj: Obj, old: Obj | None, *, gone: bool) -> Iterable[str]:
        return self.keys()

    def reconcile(self, key: str) -> Sequence[Action]:
        now = monotonic()
        actions = self._arrivals(now)
        rooms = self._rooms(actions)
        stocks = self._stocks(rooms)
        idle = [room for room in rooms if room.empty]
        scan = Scan(Rooms(rooms), Rooms(each.room for each in self._coming.values()), [], stocks)
        scan.order(self._least(stocks))
        actions += self._requests(scan)
        actions += self._pods(scan)
        used = {room.name for room in idle if room.left != Room(room.node).left}
        for room in scan.bought:
            self._coming[room.name] = Coming(room, now + self._pool_of(room).delay)
        actions += self._removals([room for room in idle if room.name not in used], stocks, now)
        if wakes := self._wakes(now):
            actions.append(After(min(wakes)))
        return actions

    # -- nodes

    def _arrivals(self, now: float) -> list[Action]:
        """The nodes whose time has come."""
        due = [name for name, each in self._coming.items() if each.due <= now]
        return [Create("nodes", self._coming.pop(name).room.node) for name in due]

    def _rooms(self, arriving: Sequence[Action]) -> list[Room]:
        """What is left of the nodes that are there or just come."""
        nodes = [node for node in self.client.list("nodes") if not node["spec"].get("unschedulable")]
        rooms = [Room(node, self.pod_index.on(node["metadata"]["name"])) for node in nodes if is_ready(node)]
        rooms += [Room(action.obj) for action in arriving if isinstance(action, Create)]
        known = {room.name for room in rooms}
        return rooms + [Room(node) for node in nodes if _is_new(node) and node["metadata"]["name"] not in known]

    def _stocks(self, rooms: Sequence[Room]) -> list[Stock]:
        """The pools with the numbers of their nodes, the cheapest first."""
        numbers: dict[str, set[int]] = {pool.name: set() for pool in self._pools}
        names = [(node["metadata"].get("labels") or {}, node["metadata"]["name"]) for node in self.client.list("nodes")]
        names += [(room.node["metadata"]["labels"], room.name) for room in rooms if POOL in _labels(room.node)]
        names += [(each.room.node["metadata"]["labels"], name) for name, each in self._coming.items()]
        for labels, name in names:
            number = name.rpartition("-")[2]
            if labels.get(POOL) in numbers and number.isdecimal():
                numbers[labels[POOL]].add(int(number))
        return [Stock(pool, numbers[pool.name]) for pool in self._pools]

    def _least(self, stocks: Sequence[Stock]) -> list[Room]:
        """The nodes that pools lack of what they always have."""
        return [stock.add() for stock in stocks for _ in range(stock.pool.least - len(stock.numbers))]

    def _pool_of(self, room: Room) -> PoolDescription:
        return next(pool for pool in self._pools if pool.name == _labels(room.node)[POOL])

    def _removals(self, idle: Sequence[Room], stocks: Sequence[Stock], now: float) -> list[Action]:
        """The nodes of pools that had no pods for so long that they go."""
        ours = {room.name: room for room in idle if _labels(room.node).get(POOL) in {pool.name for pool in self._pools}}
        self._empty = {name: self._empty.get(name, now) for name in ours}
        actions: list[Action] = []
        for stock in stocks:
            left = len(stock.numbers) - stock.pool.least
            for name, room in ours.items():
                pool = stock.pool
                old = pool.idle is not None and now - self._empty[name] >= pool.idle
                if left > 0 and old and _labels(room.node)[POOL] == pool.name and "uid" in room.node["metadata"]:
                    actions.append(delete("nodes", room.node))
                    left -= 1
        return actions

    def _wakes(self, now: float) -> list[float]:
        """In how many seconds something is due."""
        found = [each.due - now for each in self._coming.values()]
        idle = {pool.name: pool.idle for pool in self._pools}
        for name, since in self._empty.items():
            limit = idle.get(name.rpartition("-")[0])
            if limit is not None and since + limit > now:
                found.append(since + limit - now)
        waiting = [each for each in self._open_requests() if each["metadata"]["uid"] not in self._booked]
        return [max(0.01, each) for each in [*found, *([5.0] if waiting or self._booked else [])]]

    # -- pods

    def _pods(self, scan: Scan) -> list[Action]:
        """Nodes for the pods that say Unschedulable, the oldest first."""
        actions: list[Action] = []
        for pod in by_age(each for each in self.client.list("pods") if _wants_node(each)):
            spec = pod["spec"]
            if scan.rooms.place(spec) is not None or scan.on_order.place(spec) is not None:
                continue
            room = buy(spec, scan.stocks)
            if room is None:
                continue
            scan.order([room])
            message = f"pod triggered scale-up: node {room.name} of pool {self._pool_of(room).name}"
            actions.append(Tell("pods", pod, "TriggeredScaleUp", message))
        return actions

    # -- requests

    def _open_requests(self) -> list[Obj]:
        try:
            found = self.client.list(asked.REQUESTS)
        except KeyError:
            return []
        return by_age(
            each for each in found if asked.is_ours(each) and not asked.is_over(each) and not is_deleting(each)
        )

    def _requests(self, scan: Scan) -> list[Action]:
        """What becomes of each request; what is kept for them is taken from the rooms."""
        open_requests = self._open_requests()
        self._booked &= {each["metadata"]["uid"] for each in open_requests}
        ordered = sorted(open_requests, key=lambda each: each["metadata"]["uid"] not in self._booked)
        started = self._started() if ordered else Counter()
        actions: list[Action] = []
        for request in ordered:
            metadata = request["metadata"]
            specs = asked.pods_of(request, partial(self._template, metadata["namespace"]))
            conditions = (
                asked.failed(specs, "PodTemplateNotFound")
                if isinstance(specs, str)
                else self._provide(request, specs, started[metadata["namespace"], metadata["name"]], scan)
            )
            if conditions:
                status = asked.status_with(request, conditions, utc_now())
                actions += set_status(asked.REQUESTS, request, status)
        return actions

    def _provide(self, request: Obj, specs: Sequence[Obj], started: int, scan: Scan) -> asked.Conditions:
        """Room for the pods of a request, some of which have started, and the conditions that it gets."""
        now, uid = utc_now(), request["metadata"]["uid"]
        if asked.is_provisioned(request) and asked.booked_for(request, now) <= 0:
            return (asked.EXPIRED,)
        if asked.is_provisioned(request) or uid in self._booked:
            self._booked.add(uid)
            missing = [spec for spec in specs[started:] if scan.rooms.place(spec) is None]
            for spec in missing:
                scan.on_order.place(spec)
            return () if missing or asked.is_provisioned(request) else (asked.PROVISIONED,)
        atomic = request["spec"]["provisioningClassName"] == asked.ATOMIC_SCALE_UP
        more = buy_all(specs, [*scan.rooms, *scan.on_order], scan.stocks if atomic else ())
        if more is None and (atomic or asked.is_late(request, now)):
            why = "; ".join(filter(None, (stock.pool.out_of_stock for stock in scan.stocks)))
            return (asked.ACCEPTED, *asked.failed(why or "no pool has nodes for all of its pods"))
        if more is None:
            return (asked.ACCEPTED, asked.NOT_FOUND)
        self._booked.add(uid)
        scan.order(more)
        return (asked.ACCEPTED, asked.WAITING if more or self._coming else asked.PROVISIONED)

    def _template(self, namespace: str, name: str) -> Obj | None:
        return self.client.get("podtemplates", namespace, name)

    def _started(self) -> Counter[tuple[str, str]]:
        """How many pods that use what a request provisioned have a node, by namespace and name of the request."""
        pods = (pod for pod in self.client.list("pods") if pod["spec"].get("nodeName"))
        uses = ((pod["metadata"]["namespace"], _annotations(pod).get(asked.CONSUMES)) for pod in pods)
        return Counter((namespace, name) for namespace, name in uses if name)


def _labels(node: Obj) -> Obj:
    return node["metadata"].get("labels") or {}


def _annotations(pod: Obj) -> Obj:
    return pod["metadata"].get("annotations") or {}


def _is_new(node: Obj) -> bool:
    """Whether it was added and its kubelet has not reported yet."""
    return POOL in _labels(node) and condition(node, "Ready") is None


def _wants_node(pod: Obj) -> bool:
    """Whether it says Unschedulable, and no ProvisioningRequest is there for it."""
    if pod["spec"].get("nodeName") or is_deleting(pod) or is_finished(pod) or asked.CONSUMES in _annotations(pod):
        return False
    found = condition(pod, "PodScheduled") or {}
    return found.get("status") == "False" and found.get("reason") == "Unschedulable"
