"""Faults on a seed: which request fails in which way. Read from a file, drawn for each request, counted.

The n-th request of a kind (verb and resource) has the same fate whenever the seed is the same, whatever other kinds
of requests come between. Requests that are not about resources (discovery, health) are left alone. What a fault does
to a request and its answer is ``spoiling``'s.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from vsched.errors import BadInput
from vsched.sim.manifests import read_documents
from vsched.sim.requests.attributes import Attributes, attributes_of
from vsched.sim.requests.request import ApiRequest

WRITES = ("create", "update", "patch", "delete", "deletecollection")
ONCE = ("get", "list", *WRITES)
"""Verbs with one answer that is complete."""
MOST_KINDS = 1000
"""Kinds of requests that are counted apart; all further ones are one kind."""
RULES = 100
Verb = Literal["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"]


class FaultKind(StrEnum):
    """What goes wrong."""

    ERROR = "error"
    """500, nothing is done."""
    UNAVAILABLE = "unavailable"
    """503, nothing is done."""
    THROTTLED = "throttled"
    """429 with a time to come back, nothing is done."""
    CONFLICT = "conflict"
    """409 as if somebody else had been faster, nothing is done."""
    SLOW = "slow"
    """All is well, but late."""
    TIMEOUT = "timeout"
    """Done, but after a while the answer is 504."""
    DROP_BEFORE = "drop-before"
    """The connection breaks, nothing is done."""
    DROP_AFTER = "drop-after"
    """Done, but the connection breaks before the answer."""
    TRUNCATED = "truncated"
    """Done, but the connection breaks in the middle of the answer."""
    WATCH_CUT = "watch-cut"
    """A watch breaks, in the middle of an event where one comes soon."""
    WATCH_EXPIRED = "watch-expired"
    """A watch says that its version is too old."""
    WATCH_SILENT = "watch-silent"
    """A watch stays open and says nothing more, as when the other side is gone without a word."""


VERBS: dict[FaultKind, tuple[str, ...]] = {
    FaultKind.CONFLICT: WRITES,
    FaultKind.TIMEOUT: ONCE,
    FaultKind.DROP_AFTER: ONCE,
    FaultKind.TRUNCATED: ONCE,
    FaultKind.WATCH_CUT: ("watch",),
    FaultKind.WATCH_EXPIRED: ("watch",),
    FaultKind.WATCH_SILENT: ("watch",),
}
"""The verbs a fault can happen to, where those are not all."""
DELAYS_MS = {
    FaultKind.SLOW: 500.0,
    FaultKind.TIMEOUT: 2_000.0,
    FaultKind.WATCH_CUT: 10_000.0,
    FaultKind.WATCH_EXPIRED: 10_000.0,
    FaultKind.WATCH_SILENT: 10_000.0,
}
"""What ``delay_ms`` is where a rule does not say; no other fault has one."""


class FaultRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One way to fail, and how often."""

    fault: FaultKind
    percent: Annotated[float, msgspec.Meta(ge=0, le=100)]
    """Of the requests it is about."""
    verbs: tuple[Verb, ...] = ()
    """None for all that it can happen to."""
    resources: tuple[str, ...] = ()
    """As in roles: ``pods``, ``pods/binding``, ``*/status``; none for all."""
    delay_ms: Annotated[float, msgspec.Meta(ge=0, le=3_600_000)] | None = None
    """How long a slow request waits or a time-out takes; how long a watch may run well before, at most."""
    retry_after_seconds: Annotated[int, msgspec.Meta(ge=1, le=3600)] = 1
    """When to come back, for those that are throttled."""
    limit: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """It happens no more often than this."""

    @property
    def can_hit(self) -> tuple[str, ...]:
        """The verbs it can happen to."""
        return self.verbs or VERBS.get(self.fault, (*ONCE, "watch"))

    @property
    def longest_ms(self) -> float:
        return DELAYS_MS.get(self.fault, 0.0) if self.delay_ms is None else self.delay_ms

    def concerns(self, wanted: Attributes) -> bool:
        if wanted.verb not in self.can_hit:
            return False
        return not self.resources or any(_is_resource(pattern, wanted) for pattern in self.resources)


class FaultPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A file of faults."""

    seed: int = 1
    user_agents: tuple[str, ...] = ()
    """Only clients whose User-Agent begins like one of these have faults; none for all."""
    rules: Annotated[tuple[FaultRule, ...], msgspec.Meta(max_length=RULES)] = ()
    """Each is drawn for by itself, in this order; the first that hits is what happens."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to one request."""

    kind: FaultKind
    delay_seconds: float = 0.0
    retry_after_seconds: int = 1


@dataclass(frozen=True, slots=True)
class FaultTally:
    """How often a rule was drawn for, and how often it hit."""

    rule: FaultRule
    requests: int
    hits: int


class Faults:
    """Draws the faults of one plan, and counts them."""

    def __init__(self, plan: FaultPlan) -> None:
        self.plan = plan
        self.enabled = True
        """May be turned off and on at any time; requests meanwhile are not counted."""
        self._requests: Counter[int] = Counter()
        self._hits: Counter[int] = Counter()
        self._seen: Counter[tuple[str, str]] = Counter()

    def draw(self, call: ApiRequest) -> Fault | None:
        """What happens to this request; mostly nothing."""
        agents = self.plan.user_agents
        if not self.enabled or (agents and not call.user_agent.startswith(agents)):
            return None
        wanted = attributes_of(call)
        if wanted.path:
            return None
        verb, resource = kind = self._kind(wanted)
        self._seen[kind] += 1
        drawn = random.Random(f"{self.plan.seed} {verb} {resource} {self._seen[kind]}")
        found: Fault | None = None
        for index, rule in enumerate(self.plan.rules):
            percent, part = drawn.random() * 100, drawn.random()
            if not rule.concerns(wanted) or found is not None:
                continue
            self._requests[index] += 1
            if percent < rule.percent and (rule.limit is None or self._hits[index] < rule.limit):
                self._hits[index] += 1
                found = _fault(rule, part)
        return found

    def _kind(self, wanted: Attributes) -> tuple[str, str]:
        kind = wanted.verb, f"{wanted.combined}.{wanted.group}"
        return kind if kind in self._seen or len(self._seen) < MOST_KINDS else ("", "")

    def tallies(self) -> list[FaultTally]:
        """What came of each rule so far."""
        return [
            FaultTally(rule, self._requests[index], self._hits[index]) for index, rule in enumerate(self.plan.rules)
        ]

    def lines(self) -> Iterator[str]:
        """The same for people."""
        yield f"{'fault':<14} {'percent':>7} {'requests':>9} {'spoiled':>9}"
        for tally in self.tallies():
            yield f"{tally.rule.fault:<14} {tally.rule.percent:>7g} {tally.requests:>9,} {tally.hits:>9,}"


def _fault(rule: FaultRule, part: float) -> Fault:
    """The fault a rule stands for; a watch goes wrong after a part of the time it may run well."""
    seconds = rule.longest_ms / 1000
    return Fault(rule.fault, seconds * part if rule.can_hit == ("watch",) else seconds, rule.retry_after_seconds)


def _is_resource(pattern: str, wanted: Attributes) -> bool:
    if pattern in ("*", wanted.combined):
        return True
    return bool(wanted.subresource) and pattern == f"*/{wanted.subresource}"


def read_faults(path: Path) -> Faults:
    """The faults a file describes; raises BadInput with file and place for one that cannot be used."""
    documents = read_documents(path)
    if len(documents) != 1:
        raise BadInput(f"{path}: {len(documents)} documents: expected one, with seed and rules")
    return Faults(plan_of(documents[0].obj, str(path)))


def plan_of(content: Any, where: str) -> FaultPlan:
    """The plan that a file's content stands for; ``where`` is the file in messages."""
    try:
        plan = msgspec.convert(content, FaultPlan)
    except msgspec.ValidationError as error:
        why, _, place = str(error).partition(" - at `")
        place = place.rstrip("`").removeprefix("$").removeprefix(".")
        raise BadInput(f"{where}: {place}: {why}" if place else f"{where}: {why}") from None
    for index, rule in enumerate(plan.rules):
        _check(rule, f"{where}: rules[{index}]")
    return plan


def _check(rule: FaultRule, where: str) -> None:
    possible = VERBS.get(rule.fault, (*ONCE, "watch"))
    for verb in rule.verbs:
        if verb not in possible:
            raise BadInput(f"{where}.verbs: {rule.fault} cannot happen to {verb!r}: expected {', '.join(possible)}")
    if rule.delay_ms is not None and rule.fault not in DELAYS_MS:
        delayed = ", ".join(DELAYS_MS)
        raise BadInput(f"{where}.delay_ms: {rule.fault} has no delay: expected it with {delayed} only")
