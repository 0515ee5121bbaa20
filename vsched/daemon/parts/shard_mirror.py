"""The mirror as the sessions of a daemon see it that decides for some shards of the cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial

import msgspec

from vsched.api.resources import PODS
from vsched.clock import Clock, monotonic
from vsched.daemon.lead.lending import Lending, Sight, annotations_of, notes_of
from vsched.daemon.lead.shards import ShardElection
from vsched.daemon.observe.numbers import Numbers
from vsched.daemon.parts.shard_handover import ShardHandover
from vsched.daemon.parts.shard_turns import ShardTurns
from vsched.daemon.tasks import LongLived
from vsched.daemon.words import states as states_words
from vsched.daemon.words import tasks as words
from vsched.errors import VschedError
from vsched.framework.policy import Policy
from vsched.framework.trace import Trace
from vsched.handlers import Handlers
from vsched.kube.client import ApiClient
from vsched.mirror.mirror import Mirror
from vsched.mirror.sharding import ShardDivision, narrowed, territory
from vsched.model.nodes.masks import NodeMask
from vsched.model.nodes.table import NodeStatics
from vsched.model.plan import CycleReport
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot

LOOK_SECONDS = 0.25
"""How often to look at what other shards ask for and lend."""
TRY_SECONDS = 1.0
"""How often, while jobs wait, to find out whether nodes of other shards would help."""
ENDED = ("Succeeded", "Failed")
Decide = Callable[[Snapshot, Policy, Trace], CycleReport]


class ShardMirror:
    """Narrows snapshots to the shards that this daemon holds at the time, and to the nodes that these may use."""

    def __init__(
        self,
        mirror: Mirror,
        election: ShardElection,
        division: ShardDivision,
        client: ApiClient,
        names: Iterable[str],
        clock: Clock,
        changed: Callable[[], None],
        handover: ShardHandover | None,
    ) -> None:
        """``changed`` is called when other nodes may be used. ``handover`` is None where nothing is written. ``names``
        are those of the schedulers whose pods are ours."""
        self._mirror = mirror
        self._election = election
        self.division = division
        self._client = client
        self._names = frozenset(names)
        self._clock = clock
        self.on_moved: Handlers[[]] = Handlers()
        """Called when the shards are others than in the session before."""
        self._changed = changed
        self._handover = handover
        self._turns = ShardTurns(division, changed)
        self._held: frozenset[int] = frozenset()
        self._held_since = 0.0
        """When the latest of them became ours, by the clock of the election."""
        self._latest: Snapshot | None = None
        self._seen = asyncio.Event()
        """Set by every snapshot."""
        self._lending = Lending(self._slice_of)
        self._counts = {"borrowed": 0.0, "lent": 0.0}
        """Nodes, counted at each look: metrics are read in a thread, while loans change."""
        self._seen_version = 0
        self._wanted: frozenset[str] = frozenset()
        self._tried: tuple[float, frozenset[str]] = (0.0, frozenset())
        """When it was found out last which nodes of others would help, and which."""
        self._mask: tuple[NodeStatics, frozenset[int], int, NodeMask] | None = None
        """The mask of the latest snapshot, with what it was made from."""

    def tasks(self, catch_up: Callable[[], Awaitable[None]]) -> tuple[LongLived, ...]:
        """What runs for long; ``catch_up`` waits until the mirror has everything that the API server has by now."""
        loans = LongLived(words.LOANS_OF_NODES, self.run, words.LOANS, acts=True)
        if self._handover is None:
            return (loans,)
        take_over = partial(self._handover.run, catch_up)
        return (loans, LongLived(words.SHARDS_TAKEN_OVER, take_over, words.HANDOVER, acts=True))

    def numbers(self) -> Numbers:
        """Figures for metrics."""
        return {
            "vsched_shards": {"held": float(len(self._held)), "all": float(self.division.count)},
            "vsched_shard_loans": self._counts,
        }

    # -- what sessions call

    def snapshot(self, now: float) -> Snapshot:
        """The cluster now, with the jobs of our shards as those that are decided on."""
        held = self._election.shards if self._handover is None else self._handover.shards
        if held != self._held:
            if held - self._held:
                self._held_since = self._election.now()
            for shard in held - self._held:
                self._lending.adopt(shard, notes_of(self._election.annotations(shard)))
            for shard in self._held - held:
                self._lending.leave(shard)
            # Daemons before may not have written the statuses of jobs that are ours from now on.
            self._held = held
            self._mirror.assumptions.review()
            self.on_moved()
        whole = self._latest = self._mirror.snapshot(now)
        self._seen_version = self._lending.version
        self._seen.set()
        mask = None if len(held) == self.division.count else self._territory(whole)
        found = narrowed(whole, self.division, held, mask)
        # Where shares are worked out only after the snapshot, whoever does it also asks which jobs have their turn.
        return found if self._mirror.settings.arbitrating else self.in_turn(found)

    def in_turn(self, snapshot: Snapshot) -> Snapshot:
        """The snapshot without the jobs that wait for the turn of their shard."""
        return self._turns.narrowed(snapshot, () if self._latest is None else self._latest.active, self._held)

    def preparing(self) -> Iterator[None]:
        """Much of the work of the next snapshot, in steps."""
        return self._mirror.preparing()

    def deciding(self, decide: Decide, alone: Decide) -> Decide:
        """Cycles that also find out, now and then, which nodes of other shards would help the jobs that still wait.

        ``alone`` decides without keeping anything; what it decides is not carried out.
        """

        def both(snapshot: Snapshot, policy: Policy, trace: Trace) -> CycleReport:
            report = decide(snapshot, policy, trace)
            when, nodes = self._tried
            if not report.unschedulable or not snapshot.masks:
                nodes = frozenset()
            elif monotonic() - when >= TRY_SECONDS:
                masks = tuple(
                    msgspec.structs.replace(mask, hard=mask.hard and mask.name != SHARDS) for mask in snapshot.masks
                )
                nodes = _nodes_in(alone(replace(snapshot, masks=masks), policy, Trace()))
                when = monotonic()
            self._tried = when, nodes
            self._wanted = nodes | _nodes_in(report)
            return report

        return both

    # -- what others ask

    @property
    def held(self) -> frozenset[int]:
        """The shards that sessions decide for."""
        return self._held

    def keeps(self, shard: int) -> bool:
        """Whether a shard is ours, and is not being given back."""
        return shard in self._election.shards

    def owns(self, task: Task) -> bool:
        """Whether nobody else may have bound a pod: its job is decided on here, and its node is neither another shard's
        nor lent.

        The latest snapshot may be older than the job. Where its PodGroup is unknown, another daemon may know it. It may
        also be that another daemon has seen less. A PodGroup that is made anew in another queue changes its shard. The
        other daemon goes on for the one before until its watch shows that, on its own nodes.
        """
        jobs, latest = self._mirror.stores.jobs, self._latest
        job = None if jobs.spec(task.job) is None else jobs.job(task.job)
        if job is None or latest is None or self._slice_of(task.node) not in (*self._held, None):
            return False
        if task.node in self._lending.barred():
            return False
        return self.division.shard_of_job(job, latest.queues) in self._held

    def decided_by(self, namespace: str, name: str) -> str:
        """Which other daemon decides about a PodGroup or a pod; empty where this one does, or nobody knows it."""
        latest = self._latest
        if latest is None:
            return ""
        job = latest.jobs.get(f"{namespace}/{name}") or next(
            (
                job
                for job in latest.jobs.values()
                if job.spec.namespace == namespace and any(task.name == name for task in job.tasks.values())
            ),
            None,
        )
        shard = -1 if job is None else self.division.shard_of_job(job, latest.queues)
        if job is None or shard in self._held:
            return ""
        who = self._election.holder_of(shard) or states_words.NOBODY
        ours = ", ".join(map(str, sorted(self._held))) or "none"
        return states_words.of_another_shard(job.called, shard, who, ours)

    async def settle(self, shard: int) -> None:
        """Wait until sessions decide no more on a shard, and all that they have decided is carried out.

        That is what concerns its jobs, and what is placed on its nodes: others use them from then on.
        """
        lent = self._lending.loans_of(shard)
        while shard in self._held:
            self._seen.clear()
            await self._seen.wait()
        if self._handover is not None:
            await self._handover.ended(
                partial(self._is_of, shard), lambda node: node in lent or self._slice_of(node) in (shard, None)
            )

    # -- loans

    async def run(self) -> None:
        """Lend and borrow nodes until cancelled."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if not self._held or self._latest is None:
                continue
            version = self._lending.version
            self._look()
            for node, number in self._lending.unchecked().items():
                if await self._has_all_pods(node):
                    self._lending.check(node, number)
            if self._lending.version != version:
                self._changed()

    def _look(self) -> None:
        election = self._election
        sight = Sight(
            monotonic(),
            int(self._clock.now() * 1000),
            {shard: notes_of(found) for shard, found in election.others(self._held_since).items()},
            {shard: notes_of(election.annotations(shard)) for shard in self._held},
            self._wanted,
            self._binding,
            self._seen_version,
        )
        for shard in self._lending.look(sight):
            election.say(shard, annotations_of(self._lending.notes(shard)))
        borrowed, lent = self._lending.borrowed(), self._lending.barred()
        self._counts = {"borrowed": float(len(borrowed)), "lent": float(len(lent))}

    async def _has_all_pods(self, node: str) -> bool:
        """Whether the mirror has every pod of ours that the API server has on a node."""
        try:
            found = await self._client.get(PODS.path(), {"fieldSelector": f"spec.nodeName={node}"})
        except VschedError:
            return False
        for pod in found.get("items") or ():
            ours = pod["spec"].get("schedulerName") in self._names
            if ours and (pod.get("status") or {}).get("phase") not in ENDED:
                task = self._mirror.task(pod["metadata"]["uid"])
                if task is None or task.node != node:
                    return False
        return True

    def _territory(self, whole: Snapshot) -> NodeMask:
        statics = whole.nodes.statics
        held, version = self._held, self._lending.version
        if self._mask is None or self._mask[0] is not statics or self._mask[1:3] != (held, version):
            own = territory(statics, self.division, held)
            nodes = set(own) - self._lending.barred() | self._lending.borrowed()
            self._mask = statics, held, version, NodeMask(tuple(sorted(nodes)), True, SHARDS)
        return self._mask[3]

    def _slice_of(self, node: str) -> int | None:
        if self._latest is None:
            return None
        statics = self._latest.nodes.statics
        row = statics.row.get(node)
        return None if row is None else int(self.division.slices(statics)[row])

    def _binding(self) -> set[str]:
        """The nodes of pods whose bindings the watch has not shown as of the latest snapshot."""
        jobs = () if self._latest is None else self._latest.jobs.values()
        ours = (job for job in jobs if job.counts[Status.BINDING])
        return {task.node for job in ours for task in job.tasks.values() if task.status is Status.BINDING}

    def _is_of(self, shard: int, key: str) -> bool:
        """Whether a job belongs to a shard, as one may that is not known any more."""
        latest = self._latest
        job = None if latest is None else latest.jobs.get(key)
        return job is None or latest is None or self.division.shard_of_job(job, latest.queues) == shard


SHARDS = "shards"
"""The name of the mask."""


def _nodes_in(report: CycleReport) -> frozenset[str]:
    """The nodes that a cycle decided about."""
    nodes = {one.node for one in report.binds} | {one.node for one in report.evictions}
    return frozenset(nodes | {one.node for one in report.nominations if one.node})
