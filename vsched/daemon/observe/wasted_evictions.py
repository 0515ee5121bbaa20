"""Finds wasted evictions: pods were evicted for a beneficiary that was then not placed, although there was room.

Evictions from a node are wasted if all pods evicted for the beneficiary have left, and ``BOUND_SECONDS`` later none
of the pods that the node was reserved for is placed anywhere, while one of them still waits. This includes evictions
that were granted while others for the same beneficiary were refused. A node that has gone, or was cordoned or tainted
since, does not count; neither does a beneficiary that has gone. Wasted evictions are a fault of the scheduler.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from vsched.arbitrator.effects import RoundResult
from vsched.model.nodes.table import NodeStatics
from vsched.model.plan import CycleReport, Evict
from vsched.model.pods.status import HOLDS, Status
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot
from vsched.writes.evictions import EvictionVerdict

BOUND_SECONDS = 60.0
"""A session starts within milliseconds after the last victim has left, and a failed binding is retried within 30 s."""
LOOK_SECONDS = 1.0
MOST = 10_000
"""How many beneficiaries are followed; beyond that the oldest is dropped."""

GRANTED = frozenset({EvictionVerdict.EVICTED, EvictionVerdict.GONE})
Kept = Mapping[tuple[str, str], Iterable[str]]
"""Uids of pods that a node is reserved for, by beneficiary and node."""


@dataclass(slots=True)
class _Place:
    """One node that pods had to leave."""

    victims: dict[str, str] = field(default_factory=dict)
    """The evicting action by uid of the victim."""
    pods: set[str] = field(default_factory=set)
    """Uids of pods that the node is reserved for."""
    closed: tuple[object, ...] | None = None
    """Cordon and taints of the node when it was first looked at."""

    def is_open(self, name: str, nodes: NodeStatics) -> bool:
        """Whether the node is still there, with the same cordon and taints as before."""
        row = nodes.row.get(name)
        if row is None:
            return False
        closed = (nodes.attributes[row].unschedulable, nodes.attributes[row].taints)
        if self.closed is None:
            self.closed = closed
        return self.closed == closed


@dataclass(slots=True)
class _Taking:
    """The nodes that pods had to leave for one beneficiary, which has not used the room yet."""

    places: dict[str, _Place] = field(default_factory=dict)
    room_since: float | None = None

    def loses(self, eviction: Evict) -> bool:
        """Drop an eviction that was not carried out; False where it is none of these."""
        place = self.places.get(eviction.node)
        if place is None or place.victims.pop(eviction.uid, None) is None:
            return False
        if not place.victims:
            del self.places[eviction.node]
        return True


class WastedEvictions:
    """Follows evictions until their beneficiary is placed."""

    def __init__(
        self,
        task_of: Callable[[str], Task | None],
        on_wasted: Callable[[str, str, dict[str, int]], None],
        *,
        bound_seconds: float = BOUND_SECONDS,
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        self._task_of = task_of
        self._on_wasted = on_wasted
        self._bound_seconds = bound_seconds
        self._look_seconds = look_seconds
        """Called with a beneficiary, a node, and the number of wasted evictions by action."""
        self._takings: dict[str, _Taking] = {}
        self._broken: dict[int, tuple[str, _Taking]] = {}
        """Those of which an eviction was refused, with their beneficiaries; new evictions do not add to them."""
        self._breaks = 0
        self._look_at = 0.0

    def __len__(self) -> int:
        return len(self._takings) + len(self._broken)

    def follows(self, beneficiary: str) -> bool:
        """Whether evictions for this beneficiary are still followed."""
        return beneficiary in self._takings or any(name == beneficiary for name, _ in self._broken.values())

    def decided(self, evictions: Iterable[Evict], kept: Kept) -> None:
        """Follow evictions that a session has decided; ``kept`` says which pods the nodes are reserved for."""
        for eviction in evictions:
            pods = kept.get((eviction.beneficiary, eviction.node), ())
            if not eviction.beneficiary or not pods:
                continue
            taking = self._takings.setdefault(eviction.beneficiary, _Taking())
            taking.room_since = None
            place = taking.places.setdefault(eviction.node, _Place())
            place.victims[eviction.uid] = eviction.action
            place.pods.update(pods)
        while len(self._takings) > MOST:
            del self._takings[next(iter(self._takings))]

    def answered(self, eviction: Evict, verdict: EvictionVerdict) -> None:
        """An eviction was carried out, or not."""
        if verdict in GRANTED:
            return
        taking = self._takings.get(eviction.beneficiary)
        if taking is not None and taking.loses(eviction):
            del self._takings[eviction.beneficiary]
            self._breaks += 1
            self._broken[self._breaks] = eviction.beneficiary, taking
            while len(self._broken) > MOST:
                del self._broken[next(iter(self._broken))]
            return
        for beneficiary, broken in self._broken.values():
            if beneficiary == eviction.beneficiary and broken.loses(eviction):
                return

    def look(self, now: float, nodes: NodeStatics) -> None:
        """Check which beneficiaries have been placed, at most once a second; ``now`` is monotonic."""
        if now < self._look_at:
            return
        self._look_at = now + self._look_seconds
        for beneficiary, taking in list(self._takings.items()):
            if self._is_over(beneficiary, taking, now, nodes):
                del self._takings[beneficiary]
        for number, (beneficiary, taking) in list(self._broken.items()):
            if self._is_over(beneficiary, taking, now, nodes):
                del self._broken[number]

    def _is_over(self, beneficiary: str, taking: _Taking, now: float, nodes: NodeStatics) -> bool:
        """Whether following can end. Reports the evictions if they were wasted."""
        self._settle(taking, nodes)
        if not taking.places:
            return True
        if any(self._is_there(uid) for place in taking.places.values() for uid in place.victims):
            taking.room_since = None
        elif taking.room_since is None:
            taking.room_since = now
        elif now - taking.room_since >= self._bound_seconds:
            self._report(beneficiary, taking)
            return True
        return False

    def _settle(self, taking: _Taking, nodes: NodeStatics) -> None:
        """Drop nodes that were used, or can no longer be."""
        for name, place in list(taking.places.items()):
            tasks = [task for uid in place.pods if (task := self._task_of(uid)) is not None]
            placed = any(task.node and task.status is not Status.BINDING for task in tasks)
            if placed or not tasks or not place.is_open(name, nodes):
                del taking.places[name]

    def _is_there(self, uid: str) -> bool:
        task = self._task_of(uid)
        return task is not None and bool(task.node) and HOLDS[task.status].uses

    def _report(self, beneficiary: str, taking: _Taking) -> None:
        for name, place in taking.places.items():
            counts: dict[str, int] = {}
            for action in place.victims.values():
                counts[action] = counts.get(action, 0) + 1
            self._on_wasted(beneficiary, name, counts)


def kept_by(snapshot: Snapshot, report: CycleReport) -> Kept:
    """Which pods the nodes are reserved for after a session, for each beneficiary of its evictions."""
    wanted = {eviction.beneficiary for eviction in report.evictions}
    kept: dict[tuple[str, str], set[str]] = {}
    for nomination in report.nominations:
        if nomination.node and nomination.job in wanted:
            kept.setdefault((nomination.job, nomination.node), set()).add(nomination.uid)
    for key in wanted.intersection(snapshot.nominated):
        for task in snapshot.jobs[key].pending.values():
            if task.nominated:
                kept.setdefault((key, task.nominated), set()).add(task.uid)
    for eviction in report.evictions:
        about = (eviction.beneficiary, eviction.node)
        job = snapshot.jobs.get(eviction.beneficiary)
        if about not in kept and job is not None:
            kept[about] = set(job.pending)  # any pod of the job may use the room
    return kept


def promised_by(verdict: RoundResult) -> Kept:
    """The same after a round of arbitration."""
    kept: dict[tuple[str, str], set[str]] = {}
    for eviction in verdict.evictions:
        about = (eviction.beneficiary.partition("/")[0], eviction.node)
        waiting = {uid for uid, each in verdict.promised.items() if (each.namespace, each.node) == about}
        whoever = {uid for uid, each in verdict.promised.items() if each.namespace == about[0]}
        kept[eviction.beneficiary, eviction.node] = waiting or whoever
    return kept
