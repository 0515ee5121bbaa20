"""The plan of faults: which requests fail in which way. It is read from a file, drawn for each request, and counted.

With the same seed, the n-th request of a kind (verb and resource) has the same fault, whatever other requests come
between. Requests that are not for resources (discovery, health) have none. ``fault_injection`` carries faults out.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from vsched.apimachinery.manifests.documents import read_documents
from vsched.errors import BadInput, why_unreadable
from vsched.sim.requests.attributes import Attributes, attributes_of
from vsched.sim.requests.request import ApiRequest

WRITES = ("create", "update", "patch", "delete", "deletecollection")
ONCE = ("get", "list", *WRITES)
"""Verbs with a single answer."""
MOST_KINDS = 1000
"""The most kinds of requests that are counted apart; all others count as one kind."""
RULES = 100
Verb = Literal["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"]


class FaultKind(StrEnum):
    """The kinds of faults."""

    ERROR = "error"
    """500, nothing is done."""
    UNAVAILABLE = "unavailable"
    """503, nothing is done."""
    THROTTLED = "throttled"
    """429 with a time to come back, nothing is done."""
    CONFLICT = "conflict"
    """409, as for a lost race; nothing is done."""
    SLOW = "slow"
    """The answer is right, but late."""
    TIMEOUT = "timeout"
    """Done, but after a while the answer is 504."""
    DROP_BEFORE = "drop-before"
    """The connection breaks, nothing is done."""
    DROP_AFTER = "drop-after"
    """Done, but the connection breaks before the answer."""
    TRUNCATED = "truncated"
    """Done, but the connection breaks in the middle of the answer."""
    WATCH_CUT = "watch-cut"
    """A watch breaks, in the middle of an event."""
    WATCH_EXPIRED = "watch-expired"
    """A watch ends with an error: its version is too old."""
    WATCH_SILENT = "watch-silent"
    """A watch stays open and sends nothing more, as with a lost connection."""
    WATCH_REPEATS = "watch-repeats"
    """What a watch sends comes twice."""
    WATCH_SKIPS = "watch-skips"
    """A watch sends what has changed from time to time, and of each object the latest state alone."""
    WATCH_LATE = "watch-late"
    """All that a watch sends is late, while lists are not."""
    LIST_STALE = "list-stale"
    """A list that may be out of date is (resourceVersion=0): it shows less than watches have shown."""
    DENIED = "denied"
    """403, as by an admission webhook; nothing is done."""
    WEBHOOK_TIMEOUT = "webhook-timeout"
    """500, because an admission webhook does not answer; nothing is done."""
    MUTATED = "mutated"
    """Done, but with a label and an annotation more, as by an admission webhook."""


CHANGES = ("create", "update", "patch")
VERBS: dict[FaultKind, tuple[str, ...]] = {
    FaultKind.CONFLICT: WRITES,
    FaultKind.TIMEOUT: ONCE,
    FaultKind.DROP_AFTER: ONCE,
    FaultKind.TRUNCATED: ONCE,
    FaultKind.WATCH_CUT: ("watch",),
    FaultKind.WATCH_EXPIRED: ("watch",),
    FaultKind.WATCH_SILENT: ("watch",),
    FaultKind.WATCH_REPEATS: ("watch",),
    FaultKind.WATCH_SKIPS: ("watch",),
    FaultKind.WATCH_LATE: ("watch",),
    FaultKind.LIST_STALE: ("list",),
    FaultKind.DENIED: WRITES,
    FaultKind.WEBHOOK_TIMEOUT: WRITES,
    FaultKind.MUTATED: CHANGES,
}
"""The verbs of faults that do not affect all verbs."""
DELAYS_MS = {
    FaultKind.SLOW: 500.0,
    FaultKind.TIMEOUT: 2_000.0,
    FaultKind.WATCH_CUT: 10_000.0,
    FaultKind.WATCH_EXPIRED: 10_000.0,
    FaultKind.WATCH_SILENT: 10_000.0,
    FaultKind.WATCH_SKIPS: 5_000.0,
    FaultKind.WATCH_LATE: 5_000.0,
    FaultKind.WEBHOOK_TIMEOUT: 10_000.0,
}
"""The default of ``delay_ms``; other faults have no delay."""


class FaultRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One fault, and how often it happens."""

    fault: FaultKind
    percent: Annotated[float, msgspec.Meta(ge=0, le=100)]
    """Of the requests that the rule is for."""
    verbs: tuple[Verb, ...] = ()
    """Empty for all verbs that the fault can affect."""
    resources: tuple[str, ...] = ()
    """As in roles: ``pods``, ``pods/binding``, ``*/status``; empty for all."""
    delay_ms: Annotated[float, msgspec.Meta(ge=0, le=3_600_000)] | None = None
    """How long a slow request or a timeout takes; for watches, how long they run at most before the fault, or how late
    events are at most."""
    retry_after_seconds: Annotated[int, msgspec.Meta(ge=1, le=3600)] = 1
    """The Retry-After of throttled requests."""
    versions: Annotated[int, msgspec.Meta(ge=1, le=60_000)] = 100
    """How far behind a stale list is at most: so many writes to the cluster."""
    limit: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """The most times that it happens."""

    @property
    def can_hit(self) -> tuple[str, ...]:
        """The verbs that it affects."""
        return self.verbs or VERBS.get(self.fault, (*ONCE, "watch"))

    @property
    def longest_ms(self) -> float:
        return DELAYS_MS.get(self.fault, 0.0) if self.delay_ms is None else self.delay_ms

    def concerns(self, wanted: Attributes, call: ApiRequest) -> bool:
        if wanted.verb not in self.can_hit:
            return False
        if self.fault is FaultKind.LIST_STALE and call.query.get("resourceVersion") != "0":
            return False
        return is_among(self.resources, wanted)


class FaultPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A file of faults."""

    seed: int = 1
    user_agents: tuple[str, ...] = ()
    """Only clients whose User-Agent begins with one of these have faults; empty for all."""
    rules: Annotated[tuple[FaultRule, ...], msgspec.Meta(max_length=RULES)] = ()
    """Each is drawn by itself, in this order; the first that hits is the fault."""


PlanT = TypeVar("PlanT", bound=FaultPlan)


@dataclass(frozen=True, slots=True)
class Fault:
    """The fault of one request."""

    kind: FaultKind
    delay_seconds: float = 0.0
    retry_after_seconds: int = 1
    versions_behind: int = 0


@dataclass(frozen=True, slots=True)
class FaultTally:
    """How often a rule was drawn, and how often it hit."""

    rule: FaultRule
    requests: int
    hits: int


class FaultInjector:
    """Draws the faults of one plan, and counts them."""

    def __init__(self, plan: FaultPlan) -> None:
        self.plan = plan
        self.enabled = True
        """May be changed at any time; while it is False, requests are not counted."""
        self._requests: Counter[int] = Counter()
        self._hits: Counter[int] = Counter()
        self._seen: Counter[tuple[str, str]] = Counter()

    def draw(self, call: ApiRequest) -> Fault | None:
        """The fault of this request; None for most."""
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
            if not rule.concerns(wanted, call) or found is not None:
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
        """The counts of each rule so far."""
        return [
            FaultTally(rule, self._requests[index], self._hits[index]) for index, rule in enumerate(self.plan.rules)
        ]

    def lines(self) -> Iterator[str]:
        """The counts as a table of text."""
        yield f"{'fault':<15} {'percent':>7} {'requests':>9} {'spoiled':>9}"
        for tally in self.tallies():
            yield f"{tally.rule.fault:<15} {tally.rule.percent:>7g} {tally.requests:>9,} {tally.hits:>9,}"


def _fault(rule: FaultRule, part: float) -> Fault:
    """The fault of a rule; a watch fails after a drawn part of its longest time."""
    seconds = rule.longest_ms / 1000
    return Fault(
        rule.fault,
        seconds * part if rule.can_hit == ("watch",) else seconds,
        rule.retry_after_seconds,
        round(rule.versions * part) if rule.fault is FaultKind.LIST_STALE else 0,
    )


def is_among(resources: Sequence[str], wanted: Attributes) -> bool:
    """Whether a request is for one of these resources, named as in rules; an empty list stands for all."""
    return not resources or any(_is_resource(pattern, wanted) for pattern in resources)


def _is_resource(pattern: str, wanted: Attributes) -> bool:
    if pattern in ("*", wanted.combined):
        return True
    return bool(wanted.subresource) and pattern == f"*/{wanted.subresource}"


def read_faults(path: Path) -> FaultInjector:
    """The faults of a file; raises BadInput with file and place for an invalid one."""
    return FaultInjector(read_plan(path, FaultPlan))


def read_plan(path: Path, kind: type[PlanT]) -> PlanT:
    """The plan of a file; raises BadInput with file and place for an invalid one."""
    documents = read_documents(path)
    if len(documents) != 1:
        raise BadInput(f"{path}: {len(documents)} documents: expected one, with seed and rules")
    return plan_as(kind, documents[0].obj, str(path))


def plan_of(content: Any, where: str) -> FaultPlan:
    """The plan of a file's content; ``where`` is the file in messages."""
    return plan_as(FaultPlan, content, where)


def plan_as(kind: type[PlanT], content: Any, where: str) -> PlanT:
    """The same as a plan that may have more in it."""
    try:
        plan = msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        why, _, place = why_unreadable(error).partition(" - at `")
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
