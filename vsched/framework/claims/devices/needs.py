"""What the device claims of a task ask for, with classes and selectors put together: equal claims share it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from vsched.framework.claims.devices import words
from vsched.kernels.devices.inventory import Inventory
from vsched.kernels.devices.matching import STEPS_MAX, DeviceMatch, UnansweredSelector, match, steps
from vsched.kernels.devices.search import ALL_DEVICES, MOST_RESULTS, Ask, ClaimAsk
from vsched.model.claims.devices import ALL, ClaimSpec, DeviceClass, DeviceRequest
from vsched.model.nodes.table import Mask


class Implicit(NamedTuple):
    """What a pod asks for of an extended resource that devices serve."""

    column: int
    resource: str
    device_class: str
    number: int


class Total(NamedTuple):
    """How many devices the requests with equal conditions ask for together."""

    want: DeviceMatch
    number: int
    columns: tuple[tuple[int, int], ...] = ()
    """What comes to it on nodes where devices serve an extended resource: (column, number)."""


class SelectorFailure(NamedTuple):
    """A selector that has no answer for some devices: it stops pods that could run on one of their nodes."""

    message: str
    nodes: Mask
    """bool[nodes]: the nodes that reach these devices."""


class DeviceNeeds:
    """What tasks of one kind ask of the devices that are free."""

    def __init__(
        self,
        number: int,
        asks: tuple[ClaimAsk, ...],
        implicit: tuple[tuple[int, Ask | None], ...],
        problem: str,
        inventory: Inventory,
    ) -> None:
        self.number = number
        """Identifies it in its session."""
        self.asks = asks
        """What each claim asks for."""
        self.implicit = implicit
        """Extended resources: (column, what it stands for on nodes where devices serve it); None where nobody can get
        that: then only nodes with a device plugin are left."""
        self.problem = problem
        """Why nobody can get this: a class that does not exist, a broken selector; empty where somebody might."""
        self.failures: tuple[SelectorFailure, ...] = ()
        """Selectors that have no answer for some devices."""
        self.totals: tuple[Total, ...] = ()
        """Plain requests with equal conditions, put together."""
        self.whole: tuple[DeviceMatch, ...] = ()
        """Plain requests for all devices."""
        self.choices: tuple[tuple[Ask, ...], ...] = ()
        """Requests with alternatives."""
        self.is_counted = False
        """Whether counts of free devices are enough, so that no search is needed."""
        self.single: Ask | None = None
        """The only request, if it is plain and counts are enough for it."""
        if not problem:
            self._sum_up()
            self.is_counted = self._counts_suffice(inventory)
            self.single = self._only()

    def _only(self) -> Ask | None:
        if not self.is_counted or self.whole or self.choices or self.implicit or len(self.asks) != 1:
            return None
        requests = self.asks[0].requests
        return requests[0][0] if len(requests) == 1 and not requests[0][0].want.admin else None

    def _sum_up(self) -> None:
        # Administrative requests of several claims may get the same devices, so they are not put together.
        plain: dict[tuple[DeviceMatch, int], int] = {}
        whole, choices = [], []
        for at, claim in enumerate(self.asks):
            for alternatives in claim.requests:
                ask = alternatives[0]
                if len(alternatives) > 1:
                    choices.append(alternatives)
                elif ask.number == ALL_DEVICES:
                    whole.append(ask.want)
                else:
                    key = ask.want, at if ask.want.admin else -1
                    plain[key] = plain.get(key, 0) + ask.number
        columns: dict[DeviceMatch, tuple[tuple[int, int], ...]] = {}
        for column, extended in self.implicit:
            if extended is not None:
                columns[extended.want] = (*columns.get(extended.want, ()), (column, extended.number))
                plain.setdefault((extended.want, -1), 0)
        self.totals = tuple(Total(want, number, columns.get(want, ())) for (want, _), number in plain.items())
        self.whole = tuple(whole)
        self.choices = tuple(choices)

    def _counts_suffice(self, inventory: Inventory) -> bool:
        if any(claim.constraints for claim in self.asks):
            return False
        if self.choices:
            requests = len(self.totals) + len(self.whole) + len(self.choices)
            return requests == 1 and all(_is_countable(ask, inventory) for ask in self.choices[0])
        wants = [*(total.want for total in self.totals), *self.whole]
        asks = [ask for claim in self.asks for alternatives in claim.requests for ask in alternatives]
        asks.extend(ask for _, ask in self.implicit if ask is not None)
        if len(asks) > 1 and any(_has_counters(ask.want, inventory) for ask in asks):
            return False
        return all(_is_countable(ask, inventory) for ask in asks) and _are_apart(wants, inventory)


class NeedsTable:
    """The needs of a session's tasks, by what they ask for."""

    def __init__(self, classes: Mapping[str, DeviceClass], inventory: Inventory) -> None:
        self._classes = classes
        self._inventory = inventory
        self._found: dict[tuple[tuple[ClaimSpec, ...], tuple[Implicit, ...]], DeviceNeeds] = {}

    def of(self, specs: tuple[ClaimSpec, ...], implicit: tuple[Implicit, ...] = ()) -> DeviceNeeds:
        """The needs of claims with these specs, and of extended resources."""
        found = self._found.get((specs, implicit))
        if found is None:
            found = self._found[specs, implicit] = self._made(specs, implicit)
        return found

    def _made(self, specs: tuple[ClaimSpec, ...], implicit: tuple[Implicit, ...]) -> DeviceNeeds:
        number = len(self._found)
        for spec in specs:
            problem = self._problem(spec)
            if problem:
                return DeviceNeeds(number, (), (), problem, self._inventory)
        asks = tuple(
            ClaimAsk(
                tuple(tuple(self._ask(one) for one in alternatives) for alternatives in spec.requests), spec.constraints
            )
            for spec in specs
        )
        needs = DeviceNeeds(
            number, asks, tuple((one.column, self._ask_of(one)) for one in implicit), "", self._inventory
        )
        needs.failures = tuple(self._failures(specs))
        return needs

    def _ask_of(self, one: Implicit) -> Ask | None:
        request = DeviceRequest(one.resource, one.device_class, count=one.number)
        return None if self._problem(ClaimSpec(((request,),))) else self._ask(request)

    def _ask(self, request: DeviceRequest) -> Ask:
        return Ask(request.name, self.want(request), ALL_DEVICES if request.mode == ALL else request.count)

    def want(self, request: DeviceRequest) -> DeviceMatch:
        """What the request asks of each device; its class exists."""
        selectors = (*self._classes[request.device_class].selectors, *request.selectors)
        return DeviceMatch(selectors, request.tolerations, request.capacity, request.admin)

    def _problem(self, spec: ClaimSpec) -> str:
        every = [request for alternatives in spec.requests for request in alternatives]
        for request in every:
            if request.device_class not in self._classes:
                return words.class_missing(request.device_class)
        if sum(steps(self.want(request), self._inventory) for request in every) > STEPS_MAX:
            return words.too_costly(STEPS_MAX)
        for request in every:
            failure = match(self.want(request), self._inventory).failure
            if failure is not None and not failure.compiles:
                return self._failed(request, failure)
        least = sum(
            min((request.count if request.mode != ALL else 1 for request in alternatives), default=0)
            for alternatives in spec.requests
        )
        return words.too_many(least, MOST_RESULTS) if least > MOST_RESULTS else ""

    def _failures(self, specs: tuple[ClaimSpec, ...]) -> Iterator[SelectorFailure]:
        for spec in specs:
            for request in (one for alternatives in spec.requests for one in alternatives):
                found = match(self.want(request), self._inventory)
                if found.failure is not None and found.failed is not None:
                    nodes = self._inventory.per_node(found.failed.astype(np.int64)) > 0
                    yield SelectorFailure(self._failed(request, found.failure), nodes)

    def _failed(self, request: DeviceRequest, failure: UnansweredSelector) -> str:
        number, of_class = failure.selector, len(self._classes[request.device_class].selectors)
        where = words.of_class(request.device_class) if number < of_class else words.of_request(request.name)
        number -= 0 if number < of_class else of_class  # those of the class come first
        return words.selector_failed(where, number, failure.message, compiles=failure.compiles)


def _is_countable(ask: Ask, inventory: Inventory) -> bool:
    found = match(ask.want, inventory)
    if ask.number == ALL_DEVICES:
        # A device that several claims may use counts as often as it can be allocated, not once.
        return not (found.taken or ask.want.admin or _has_counters(ask.want, inventory))
    return ask.number == 1 or not _has_counters(ask.want, inventory)


def _has_counters(want: DeviceMatch, inventory: Inventory) -> bool:
    def compute() -> tuple[bool]:
        units = match(want, inventory).units
        return (any(units[device] for members in inventory.counting.values() for device in members),)

    return inventory.keep(("has counters", want), compute)[0]


def _are_apart(wants: Sequence[DeviceMatch], inventory: Inventory) -> bool:
    """Whether no device serves two of the wants."""
    return all(_apart(one, other, inventory) for at, one in enumerate(wants) for other in wants[at + 1 :])


def _apart(one: DeviceMatch, other: DeviceMatch, inventory: Inventory) -> bool:
    def compute() -> tuple[bool]:
        left, right = match(one, inventory), match(other, inventory)
        return (not bool((left.selected & right.selected).any()),)

    return inventory.keep(("apart", one, other), compute)[0]
