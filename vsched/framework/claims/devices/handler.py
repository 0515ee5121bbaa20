"""Devices in a session: which nodes have them for the claims of a task, and which ones it gets there.

Nearly all claims ask for a number of devices that meet some conditions. For those, counts of free devices by node are
enough. The exact search runs on the chosen node, to pick devices, and where counts do not suffice.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import chain

import numpy as np
from msgspec.structs import replace

from vsched.framework.claims.devices.allocations import allocation_of
from vsched.framework.claims.devices.needs import DeviceNeeds
from vsched.framework.claims.devices.obstacles import DeviceObstacles, refused
from vsched.framework.claims.devices.resolving import DeviceResolver, TaskDevices, extended_claim, shared_claims
from vsched.framework.claims.devices.room import DeviceRoom
from vsched.framework.claims.devices.shared import occupy_shared
from vsched.framework.claims.devices.shortages import DeviceShortage, shortages_of, shortages_together
from vsched.framework.claims.devices.uses import ClaimUses, GivenUp, is_for_group
from vsched.framework.claims.devices.words import IN_USE, TIMED_OUT
from vsched.framework.claims.handler import ONE_WAY, ClaimRoom, ClaimRules, ClaimWays, Unfit
from vsched.framework.codes import Code
from vsched.framework.points.nodes import Check
from vsched.framework.refusal import Refusal
from vsched.framework.words.nodes import DEVICES_ELSEWHERE, TOO_FEW_DEVICES
from vsched.kernels.devices.alike import search_once
from vsched.kernels.devices.inventory import inventory_of
from vsched.kernels.devices.search import ClaimAsk, DeviceSearchResult, Picks, search
from vsched.kernels.devices.ways import device_ways
from vsched.kernels.selectors import affinity_mask, terms_mask
from vsched.model.claims.devices import POD_GROUPS, ClaimConsumer
from vsched.model.claims.plan import ClaimPlan, DeviceChoice
from vsched.model.jobs.native import API_GROUP
from vsched.model.nodes.table import Floats, Mask, NodeTable
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot

STEPS_A_SECOND = 200_000
"""Devices that the exact search tries in about a second."""
SLOW_NODES = 3
"""So many nodes may use up all the steps of a search in one session; searches on further nodes get ``MIN_STEPS``."""
MIN_STEPS = 2_000
WAYS_STEPS = 1_000
"""Devices that are tried to find the ways to serve one task on one node."""


class DeviceHandler:
    """The devices of one session."""

    def __init__(self, snapshot: Snapshot, nodes: NodeTable, rules: ClaimRules) -> None:
        self._catalogue = snapshot.claims.devices
        self._statics = nodes.statics
        self._inventory = inventory_of(self._catalogue.pools, nodes.statics)
        self._uses = ClaimUses(self._catalogue, self._inventory)
        occupy_shared(self._uses.books, snapshot.device_shares, self._inventory)
        self._obstacles = DeviceObstacles(self._catalogue, self._inventory)
        self._resolver = DeviceResolver(self._catalogue, self._inventory, self._uses, snapshot.axis.names)
        self._room = DeviceRoom(self._inventory, self._uses.books, self._served())
        self._steps = int(rules.search_seconds * STEPS_A_SECOND)
        self._left = self._steps * SLOW_NODES
        self._unfinished: set[int] = set()
        """Needs with searches that ran out of steps."""
        self._searched: dict[tuple[int, int, bool], tuple[int, DeviceSearchResult]] = {}
        """Results of the search by needs, row, and whether later; with the version of the row."""

    # -- questions --------------------------------------------------------------------------------------------------

    def concerns(self, task: Task) -> bool:
        """Whether the task has device claims, or asks for an extended resource that devices serve."""
        claims = task.claims
        if claims is not None and claims.devices:
            return True
        if task.uid in self._catalogue.made:
            return True
        extended = self._catalogue.extended
        return bool(extended) and any(column in extended for column, _ in task.shape.request)

    def obstacle(self, task: Task) -> Refusal | None:
        """Why no node can serve the task's claims, whoever leaves; None where one might."""
        found = self._resolver.of(task)
        obstacle = self._obstacles.of(task, found.named)
        if obstacle is not None or found.needs is None:
            return obstacle
        needs = found.needs
        if needs.problem:
            return refused(needs.problem)
        # As in kube-scheduler, an error stops the pod, not only on the node: but nodes that it excludes do not count.
        allowed = affinity_mask(task.shape.rules, self._statics) if needs.failures else None
        for failure in needs.failures:
            if (failure.nodes if allowed is None else failure.nodes & allowed).any():
                return refused(failure.message)
        return None

    def class_of(self, task: Task) -> Hashable:
        """What of the claims affects checks and scores."""
        found = self._resolver.of(task)
        allocated = tuple((one.allocation.nodes, one.later) for one in found.allocated)
        return None if found.needs is None else found.needs.number, allocated, found.full

    def checks(self, task: Task) -> Sequence[Check]:
        """The nodes that have devices for the task now and later."""
        found = self._resolver.of(task)
        checks = [Check(IN_USE, self._nowhere(), code=Code.DEVICES)] if found.full else []
        for one in found.allocated:
            mask = terms_mask(one.allocation.nodes, self._statics)
            if mask is not None:
                checks.append(Check(DEVICES_ELSEWHERE, mask, code=Code.DEVICES))
            if one.later:
                checks.append(Check(TOO_FEW_DEVICES, self._nowhere(), True, Code.DEVICES, ~self._nowhere()))
        if found.needs is not None:
            checks.extend(self._room.checks(found.needs))
        return checks

    def is_exact(self, task: Task) -> bool:
        """Whether counts are enough."""
        needs = self._resolver.of(task).needs
        return needs is None or needs.is_counted

    def fits(self, task: Task, row: int, *, later: bool) -> bool:
        """Whether the row has devices for the task."""
        if not all(
            (check.later if later and check.later is not None else check.passes)[row] for check in self.checks(task)
        ):
            return False
        needs = self._resolver.of(task).needs
        return needs is None or needs.is_counted or self._search(needs, row, later=later).picks is not None

    def unfit(self, task: Task) -> Unfit:
        """The reason for rows without a solution."""
        needs = self._resolver.of(task).needs
        unfinished = needs is not None and needs.number in self._unfinished
        return Unfit(TIMED_OUT if unfinished else TOO_FEW_DEVICES, Code.DEVICES)

    def limits(self, task: Task) -> Sequence[ClaimRoom]:
        """How many tasks like this one could get devices; claims that people made are shared, and set no limit."""
        found = self._resolver.of(task)
        shared = any(
            self._catalogue.claims[key].owner != task.uid for key in found.fresh if key in self._catalogue.claims
        )
        return [] if found.needs is None or shared else self._room.limits(found.needs)

    def shortages(self, task: Task) -> Sequence[DeviceShortage]:
        """The requests of the task that no node can serve now, taken one by one."""
        found = self._resolver.of(task)
        if found.needs is None or found.needs.problem:
            return ()
        return shortages_of(found.fresh, found.needs, self._room, self._catalogue.claims)

    def shortages_together(self, tasks: Sequence[Task]) -> Sequence[DeviceShortage]:
        """What the tasks ask for together and all nodes together do not have free."""
        found = map(self._resolver.of, tasks)
        asked = [(one.fresh, one.needs) for one in found if one.needs is not None and not one.needs.problem]
        return shortages_together(asked, self._room, self._catalogue.claims)

    def score(self, task: Task) -> Floats | None:
        """Nodes are better that can serve alternatives which come earlier in ``firstAvailable``."""
        needs = self._resolver.of(task).needs
        return None if needs is None else self._room.score(needs)

    def plan(self, task: Task) -> ClaimPlan | None:
        """The devices that were chosen for the task's claims, and the claims to be reserved for it."""
        devices, reserve = [], []
        shared = shared_claims(task)
        for key in self._resolver.keys(task, self._resolver.named(task)):
            claim, chosen = self._catalogue.claims.get(key), self._uses.chosen(key)
            if claim is not None and (key in shared or not is_for_group(claim, task)):
                reserve.append(key)
            if chosen is not None:
                devices.append(DeviceChoice(key if claim else "", claim.uid if claim else "", chosen))
        if not devices and not reserve:
            return None
        plan = ClaimPlan(devices=tuple(devices), reserve=tuple(reserve))
        for_group = tuple(key for key in reserve if key in shared)
        if not for_group:
            return plan
        group = ClaimConsumer(shared[for_group[0]], task.group, POD_GROUPS, API_GROUP)
        return replace(plan, group=group, for_group=for_group)

    def ways(self, task: Task, row: int, *, later: bool, beside: Sequence[Task], most: int) -> ClaimWays:
        """The choices of devices that the task may get on the row, and that are not alike for tasks like these."""
        needs = self._resolver.of(task).needs
        if needs is None:
            return ONE_WAY
        asks = self._room.asks_on(needs, row)
        others = [other for one in beside if (other := self._resolver.of(one).needs) is not None]
        besides = list(chain.from_iterable(self._room.asks_on(other, row) for other in others))
        found: list[Picks] = []
        complete = True
        for late in (False, True) if later and self._room.counts.differ else (False,):
            books, steps = self._uses.books, WAYS_STEPS
            ways = device_ways(
                asks, row, self._inventory, books, later=late, steps=steps, most=most - len(found), beside=besides
            )
            found += (one for one in ways.found if one not in found)
            complete = complete and ways.complete
            if len(found) == most:
                break
        return ClaimWays(tuple(found), complete) if found else ClaimWays((None,), complete)

    # -- steps ------------------------------------------------------------------------------------------------------

    def take(self, task: Task, row: int, way: object = None, *, later: bool) -> None:
        """Choose devices for the claims that have none, and use all claims."""
        found = self._resolver.of(task)
        if found.needs is not None:
            self._choose(task, found, row, way, later=later)
        for key in found.keys:
            if key in self._catalogue.claims or self._uses.chosen(key) is not None:
                self._uses.take(key, task.uid)

    def give_back(self, task: Task, row: int) -> None:
        """Undo ``take``."""
        self.withdraw(task, row)

    def withdraw(self, task: Task, row: int) -> object:
        """The task uses its claims no more; those that nobody else uses lose what was chosen for them."""
        keys = [
            key for key in self._resolver.keys(task, self._resolver.named(task)) if self._uses.is_taken(key, task.uid)
        ]
        return tuple(self._uses.give_up(key, task.uid) for key in keys)

    def reinstate(self, task: Task, row: int, had: object) -> None:
        """Undo ``withdraw``."""
        assert isinstance(had, tuple)
        for gone in had:
            assert isinstance(gone, GivenUp)
            self._uses.take_again(gone, task.uid)

    def evict(self, task: Task, row: int) -> None:
        """Claims whose users are all leaving lose their devices later."""
        self._uses.evict(task.uid, self._resolver.named(task))

    def restore(self, task: Task, row: int) -> None:
        """Undo ``evict``."""
        self._uses.restore(task.uid, self._resolver.named(task))

    # -- inside -----------------------------------------------------------------------------------------------------

    def _choose(self, task: Task, found: TaskDevices, row: int, way: object, *, later: bool) -> None:
        needs = found.needs
        assert needs is not None
        asks = self._room.asks_on(needs, row)
        whens = (False, True) if later and self._room.counts.differ else (False,)
        tries = chain(
            ((late, self._preferred(way, asks, row, later=late)) for late in whens),
            ((late, self._search(needs, row, later=late).picks) for late in whens),
        )
        node = self._statics.names[row]
        waits, picks = next((one for one in tries if one[1] is not None), (False, None))
        assert picks is not None, f"no devices for {task.key} on {node}"
        keys = found.fresh if len(asks) == len(found.fresh) else (*found.fresh, extended_claim(task))
        for key, mine, ask in zip(keys, picks, asks, strict=True):
            claim = self._catalogue.claims.get(key)
            allocation = allocation_of(mine, ask, self._inventory, node, claim.uid if claim else task.uid)
            self._uses.choose(key, allocation, later=waits)

    def _preferred(self, way: object, asks: Sequence[ClaimAsk], row: int, *, later: bool) -> Picks | None:
        """The devices that the claims are to get on the row; None where that is open, or they are not free."""
        if way is None:
            return None
        assert isinstance(way, tuple)
        if len(way) != len(asks):
            return None
        among = [{pick.device for pick in mine} for mine in way]
        books, steps = self._uses.books, self._steps_left()
        return search(asks, row, self._inventory, books, later=later, steps=steps, among=among).picks

    def _steps_left(self) -> int:
        return min(self._steps, max(self._left, MIN_STEPS))

    def _search(self, needs: DeviceNeeds, row: int, *, later: bool) -> DeviceSearchResult:
        later = later and self._room.counts.differ
        first = self._room.first(needs, row, later=later)
        if first is not None:
            return first
        key = needs.number, row, later
        version = self._room.counts.version_of(row)
        known = self._searched.get(key)
        if known is None or known[0] != version:
            asks = self._room.asks_on(needs, row)
            steps = self._steps_left()
            found = search_once(asks, row, self._inventory, self._uses.books, later=later, steps=steps)
            self._left -= found.steps
            if not found.complete:
                self._unfinished.add(needs.number)
            known = self._searched[key] = version, found
        return known[1]

    def _served(self) -> dict[int, Mask]:
        served = {}
        for column in self._catalogue.extended:
            mask = ~self._nowhere()
            rows = (self._statics.row.get(name) for name in self._catalogue.plugins.get(column, ()))
            mask[[row for row in rows if row is not None]] = False
            served[column] = mask
        return served

    def _nowhere(self) -> Mask:
        return np.zeros(len(self._statics), dtype=np.bool_)


def device_handler(snapshot: Snapshot, nodes: NodeTable, rules: ClaimRules) -> DeviceHandler | None:
    """The devices of a session; None where the rules turn them off."""
    return DeviceHandler(snapshot, nodes, rules) if rules.devices else None
