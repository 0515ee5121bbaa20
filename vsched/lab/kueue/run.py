"""A generator of Kueue in virtual time: workloads are created, decided on, run and end, and time jumps between.

Decided is by whole cycles of the deciding core, on a mirror that gets the objects as a watch would bring them. After
all that happens at a moment, cycles follow until one evicts nobody. They take no virtual time.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter, process_time

import orjson

from vsched import api
from vsched.daemon.system.tuning import listed
from vsched.errors import Unavailable
from vsched.framework.cycle import run_actions
from vsched.framework.policy import Policy
from vsched.framework.registry import Registry
from vsched.framework.reports.effects import decided
from vsched.framework.trace import Trace
from vsched.lab.kueue import words
from vsched.lab.kueue.generator import Arrival, ClusterQueue, Generator
from vsched.lab.kueue.objects import (
    Made,
    Obj,
    node_objects,
    priority_objects,
    queue_objects,
    tiers_of,
    workload_objects,
)
from vsched.mirror.mirror import Mirror
from vsched.mirror.stores import MirrorSettings
from vsched.model.plan import CycleReport

ROUNDS = 50
"""Cycles at one moment, at most; each but the last has evicted pods."""
REPORT_SECONDS = 5.0


@dataclass(slots=True)
class WorkloadState:
    """A workload that has been created and has not ended."""

    arrival: Arrival
    number: int
    attempt: int = 0
    pods: dict[str, Obj] = field(default_factory=dict)
    """Its pods, by uid."""
    group: Obj | None = None
    bound: set[str] = field(default_factory=set)
    """Uids of its pods on nodes."""

    @property
    def admitted(self) -> bool:
        """Whether all its pods are on nodes."""
        return len(self.bound) == len(self.pods)


@dataclass(frozen=True, slots=True)
class KueueProgress:
    """The progress of a run."""

    at_ms: int
    created: int
    admitted: int
    ended: int
    workloads: int
    cycles: int
    took_seconds: float


Tell = Callable[[KueueProgress], None]


class KueueReplay:
    """One generator under one policy, from its first workload to the end of its last."""

    def __init__(self, generator: Generator, policy: Policy, registry: Registry, tell: Tell, *, apart_ms: int) -> None:
        """``apart_ms`` is the least time between cycles while workloads wait."""
        self._policy = policy
        self._registry = registry
        self._tell = tell
        self._apart_ms = apart_ms
        self._not_before = 0
        """No cycle before this moment, because workloads still waited after the last one."""
        self._owed = False
        """Whether a cycle waits for that moment."""
        self._mirror = Mirror(MirrorSettings(frozenset({"vsched"}), open_without_state=True))
        self._tiers = tiers_of(generator)
        queues = [*generator.queues()]
        for made in (queue_objects(queues), priority_objects(generator), node_objects(generator)):
            self._feed_all(made)
        self._arrivals: Sequence[Arrival] = generator.arrivals()
        self._next = 0
        self._ends: list[tuple[int, int, int]] = []
        """When workloads end, by number and attempt; those of evicted ones are passed over."""
        self._states: dict[int, WorkloadState] = {}
        self._of_pod: dict[str, WorkloadState] = {}
        self._now = 0
        self._cycles = 0
        self._began = self._told_at = perf_counter()
        self._began_cpu = process_time()
        self.accounts = KueueAccounts(queues, self._arrivals)
        listed()

    def run(self) -> None:
        """Run until all workloads have ended, or nothing more can happen."""
        while (moment := self._next_moment()) is not None:
            self._now = moment
            self._end()
            self._arrive()
            self._owed = self._waiting > 0
            if self._owed and self._now >= self._not_before:
                self._decide()
                self._owed = False
                self._not_before = self._now + (self._apart_ms if self._waiting else 0)
            self._report()
        self._tell(self._progress())

    @property
    def _waiting(self) -> int:
        return len(self._states) - self.accounts.running

    @property
    def cpu_seconds(self) -> float:
        """Processor time since the beginning."""
        return process_time() - self._began_cpu

    @property
    def cycles(self) -> int:
        """Cycles so far."""
        return self._cycles

    def _next_moment(self) -> int | None:
        while self._ends and not self._is_current(*self._ends[0][1:]):
            heapq.heappop(self._ends)
        moments = [self._ends[0][0]] if self._ends else []
        if self._next < len(self._arrivals):
            moments.append(self._arrivals[self._next].at_ms)
        if self._owed:
            moments.append(self._not_before)
        return min(moments, default=None)

    def _is_current(self, number: int, attempt: int) -> bool:
        state = self._states.get(number)
        return state is not None and state.attempt == attempt

    # -- what happens

    def _end(self) -> None:
        while self._ends and self._ends[0][0] <= self._now:
            _, number, attempt = heapq.heappop(self._ends)
            if self._is_current(number, attempt):
                state = self._states.pop(number)
                self._take_away(state)
                self.accounts.end(state.arrival, number, self._now)

    def _arrive(self) -> None:
        while self._next < len(self._arrivals) and self._arrivals[self._next].at_ms <= self._now:
            state = WorkloadState(self._arrivals[self._next], self._next)
            self._states[self._next] = state
            self._next += 1
            self.accounts.arrive()
            self._create(state)

    def _create(self, state: WorkloadState) -> None:
        for kind, made in workload_objects(state.arrival, state.number, state.attempt, self._tiers):
            self._feed(kind, made)
            if kind == "Pod":
                uid = made["metadata"]["uid"]
                state.pods[uid] = made
                self._of_pod[uid] = state
            else:
                state.group = made

    def _take_away(self, state: WorkloadState) -> None:
        for uid, pod in state.pods.items():
            self._feed("Pod", pod, "DELETED")
            del self._of_pod[uid]
        if state.group is not None:
            self._feed("PodGroup", state.group, "DELETED")
        state.pods, state.bound, state.group = {}, set(), None

    def _decide(self) -> None:
        for _ in range(ROUNDS):
            report = self._cycle()
            self._cycles += 1
            self._mirror.assumptions.assume(report)
            if not self._carry_out(report):
                return
            self._report()
        raise Unavailable(words.comes_to_no_rest(ROUNDS))

    def _cycle(self) -> CycleReport:
        """What a cycle decides, without what it would say of those that wait, which nobody reads here."""
        session = run_actions(self._mirror.snapshot(self._now / 1000), self._policy, self._registry, Trace())
        report = decided(session)
        session.plugins.release()
        return report

    def _carry_out(self, report: CycleReport) -> bool:
        """Bind and evict as decided; returns whether anybody was evicted."""
        evicted = {self._of_pod[one.uid].number: self._of_pod[one.uid] for one in report.evictions}
        started = [self._bind(bind.uid, bind.node) for bind in report.binds]
        for state in evicted.values():
            self._evict(state)
        for state in {state.number: state for state in started if state.admitted and state.pods}.values():
            if state.number not in evicted:
                self._start(state)
        return bool(evicted)

    def _bind(self, uid: str, node: str) -> WorkloadState:
        state = self._of_pod[uid]
        pod = state.pods[uid]
        state.pods[uid] = bound = {**pod, "spec": {**pod["spec"], "nodeName": node}, "status": {"phase": "Running"}}
        state.bound.add(uid)
        self._feed("Pod", bound, "MODIFIED")
        return state

    def _start(self, state: WorkloadState) -> None:
        if state.group is not None:
            state.group = {**state.group, "status": {"phase": "Running"}}
            self._feed("PodGroup", state.group, "MODIFIED")
        self.accounts.start(state.arrival, state.number, self._now)
        heapq.heappush(self._ends, (self._now + state.arrival.template.runtime_ms, state.number, state.attempt))

    def _evict(self, state: WorkloadState) -> None:
        """Have a workload wait again, as a whole; what it has done is lost."""
        if state.admitted:
            self.accounts.evict(state.arrival, state.number, self._now)
        self._take_away(state)
        state.attempt += 1
        self._create(state)

    # -- the mirror

    def _feed_all(self, objects: Made) -> None:
        for kind, found in objects:
            self._feed(kind, found)

    def _feed(self, kind: str, found: Obj, change: str = "ADDED") -> None:
        self._mirror.intake.apply(kind, change, api.decode(kind, orjson.dumps(found)))

    # -- how far it is

    def _progress(self) -> KueueProgress:
        accounts = self.accounts
        took = perf_counter() - self._began
        return KueueProgress(
            self._now, self._next, accounts.running, accounts.ended, len(self._arrivals), self._cycles, took
        )

    def _report(self) -> None:
        if perf_counter() - self._told_at >= REPORT_SECONDS:
            self._told_at = perf_counter()
            self._tell(self._progress())


BUILT_IN = "cohorts"
"""The name of the policy."""
COHORTS = """
actions: "allocate, reclaim, preempt"
tiers:
- plugins:
  - name: priority
  - {name: gang, enablePreemptable: false, enableReclaimable: false}
  - {name: capacity, enableHierarchy: true}
- plugins:
  - name: predicates
  - name: network-topology-aware
"""


class KueueAccounts:
    """Counts by class, as Kueue's own test does.

    The time to admission is from the creation of a workload to its last admission: where it was evicted, the wait
    counts that follows as well. Used is the CPU of admitted workloads, from the first moment to the last end.
    """

    def __init__(self, queues: Sequence[ClusterQueue], arrivals: Sequence[Arrival]) -> None:
        self._nominal: Counter[str] = Counter()
        for queue in queues:
            self._nominal[queue.terms.class_name] += queue.terms.nominal_milli
        self._counts = Counter(arrival.template.class_name for arrival in arrivals)
        self._used: Counter[str] = Counter()
        """Thousandths of a CPU times milliseconds, by class of queues."""
        self._waited: dict[int, int] = {}
        """Milliseconds to the last admission, by number of the workload."""
        self._waits: Counter[str] = Counter()
        self._ended: Counter[str] = Counter()
        self._since: dict[int, int] = {}
        """When running workloads started, by number."""
        self.evictions: Counter[str] = Counter()
        """By class of workloads."""
        self.created = self.running = self.ended = 0
        self.wall_ms = 0
        """When the last workload ended."""

    def arrive(self) -> None:
        """A workload was created."""
        self.created += 1

    def start(self, arrival: Arrival, number: int, now_ms: int) -> None:
        """All pods of a workload have nodes."""
        wait = now_ms - arrival.at_ms
        self._waits[arrival.template.class_name] += wait - self._waited.get(number, 0)
        self._waited[number] = wait
        self._since[number] = now_ms
        self.running += 1

    def end(self, arrival: Arrival, number: int, now_ms: int) -> None:
        """A running workload has ended."""
        self._stop(arrival, number, now_ms)
        self.ended += 1
        self._ended[arrival.template.class_name] += 1
        self.wall_ms = max(self.wall_ms, now_ms)

    def evict(self, arrival: Arrival, number: int, now_ms: int) -> None:
        """A running workload waits again."""
        self._stop(arrival, number, now_ms)
        self.evictions[arrival.template.class_name] += 1

    def _stop(self, arrival: Arrival, number: int, now_ms: int) -> None:
        template = arrival.template
        self.running -= 1
        held = template.cpu_milli * template.pods * (now_ms - self._since.pop(number))
        self._used[arrival.queue.terms.class_name] += held

    def usage_percent(self) -> dict[str, float | None]:
        """What each class of queues used of its nominal quota, by class."""
        return {
            name: 100.0 * self._used[name] / (nominal * self.wall_ms) if nominal and self.wall_ms else None
            for name, nominal in self._nominal.items()
        }

    def mean_wait_ms(self) -> dict[str, float | None]:
        """The mean time to admission of each class of workloads; None where one of them did not end."""
        return {
            name: self._waits[name] / count if self._ended[name] == count else None
            for name, count in sorted(self._counts.items())
        }
