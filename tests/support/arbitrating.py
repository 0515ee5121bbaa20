"""A cluster of namespaces that lives through rounds of arbitration.

What is to be written is written, who is evicted leaves after a while and comes back, and who waits is placed first fit
as long as the namespace stays within its ceiling: the simplest scheduler that asks the arbitrator.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from tests.support.parties import NOW, Pod, amounts, party, world
from vsched.arbitrator.ceilings import bounds_of, part_of
from vsched.arbitrator.division.divide import divide
from vsched.arbitrator.effects import Effect, Promise, RoundResult, WriteAllocation, WriteStatus
from vsched.arbitrator.reconcile import reconcile
from vsched.arbitrator.rules import ArbitrationRules
from vsched.arbitrator.taking.placing import Placing
from vsched.model.arbitration.pooled import Pooled
from vsched.model.arbitration.records import SYSTEM_NAMESPACE, AllocationRecord, Bucket, Division, NamespaceAccount
from vsched.model.jobs.budget import DisruptionBudget
from vsched.model.plan import Evict
from vsched.model.pods.shape import Requirement, Selector
from vsched.model.pods.status import Status
from vsched.model.snapshot import Snapshot
from vsched.settings.built_in import REGISTRY

PLACING = Placing.of(REGISTRY)
AT_ONCE = ArbitrationRules(grace_seconds=0.0)


@dataclass
class Living:
    """A pod as it is now."""

    namespace: str
    app: str
    number: int
    request: dict[str, int]
    node: str = ""
    leaves_in: int = 0
    """Rounds until it is gone; 0 while it stays."""
    fields: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.app}-{self.number}"

    @property
    def keeps(self) -> bool:
        """Has a node, and stays there."""
        return bool(self.node) and not self.leaves_in

    def pod(self) -> Pod:
        status = Status.PENDING if not self.node else Status.RELEASING if self.leaves_in else Status.RUNNING
        return Pod(self.namespace, self.name, {**self.request, "pods": 1}, status, self.node, self.fields)


class Cluster:
    """Nodes by name with what they have, namespaces, and how many pods of an app have to stay (``namespace/app``)."""

    def __init__(
        self,
        nodes: Mapping[str, str],
        parties: Iterable[NamespaceAccount],
        *,
        buckets: Iterable[Bucket] = (),
        stay: Mapping[str, int] | None = None,
        rules: ArbitrationRules = AT_ONCE,
        terminating: int = 1,
    ) -> None:
        self.nodes = dict(nodes)
        self.parties = {one.namespace: one for one in parties}
        self.buckets = list(buckets)
        self.stay = dict(stay or {})
        self.rules = rules
        self.terminating = terminating
        """For how many rounds what is evicted is still there."""
        self.pods: list[Living] = []
        self.now = NOW
        self._made = 0
        self._before = 0.0
        self._promised: Mapping[str, Promise] = {}

    def run(self, app: str, count: int, request: str, *, on: str = "", **fields: Any) -> None:
        """So many pods more of an app, ``namespace/name``: on a node, else they wait."""
        namespace, _, name = app.partition("/")
        self.parties.setdefault(namespace, party(namespace))
        for _ in range(count):
            self._made += 1
            born = {"created": NOW - 1000 + self._made, **fields}
            self.pods.append(Living(namespace, name, self._made, amounts(request), on, 0, born))

    def snapshot(self) -> Snapshot:
        """The cluster as it is now."""
        found = world(
            self.nodes,
            list(self.parties.values()),
            buckets=self.buckets,
            pods=[living.pod() for living in self.pods],
        )
        return replace(found, now=self.now, budgets=self._budgets())

    def round(self, seconds: float = 1.0) -> tuple[Snapshot, Division, RoundResult]:
        """Arbitrate once, and let it come true."""
        self.now += seconds
        snapshot = self.snapshot()
        division = divide(snapshot)
        verdict = reconcile(snapshot, division, self.rules, PLACING, self._before, self._promised)
        self._before, self._promised = self.now, verdict.promised
        for effect in verdict.effects:
            self._write(effect)
        self._evict(verdict.evictions)
        self._place(division, lends=not verdict.promised)
        return snapshot, division, verdict

    def held(self, namespace: str) -> int:
        """How many pods of a namespace have a node and stay there."""
        return sum(living.keeps for living in self.pods if living.namespace == namespace)

    def _budgets(self) -> dict[str, list[DisruptionBudget]]:
        found: dict[str, list[DisruptionBudget]] = {}
        for app, number in self.stay.items():
            namespace, _, name = app.partition("/")
            runs = sum(one.keeps for one in self.pods if (one.namespace, one.app) == (namespace, name))
            selector = Selector((Requirement("app", "In", (name,)),))
            found.setdefault(namespace, []).append(DisruptionBudget(namespace, name, selector, max(0, runs - number)))
        return found

    def _write(self, effect: Effect) -> None:
        if isinstance(effect, WriteAllocation):
            old = self.parties[effect.namespace]
            record = next((one for one in old.allocations if one.name == effect.name), None)
            record = record or AllocationRecord(effect.namespace, effect.name, f"{effect.namespace}-allocation")
            record = msgspec.structs.replace(record, **(effect.spec or {}), **(effect.status or {}))
            self.parties[effect.namespace] = msgspec.structs.replace(old, allocations=(record,))
        elif isinstance(effect, WriteStatus) and effect.kind == "Consumer":
            old = self.parties[effect.namespace]
            assert old.claim is not None
            said = {"conditions": effect.status["conditions"], "observed": effect.status["observedGeneration"]}
            self.parties[effect.namespace] = msgspec.structs.replace(
                old, claim=msgspec.structs.replace(old.claim, **said)
            )
        elif isinstance(effect, WriteStatus):
            said = {name: value for name, value in effect.status.items() if name != "observedGeneration"}
            said["observed"] = effect.status["observedGeneration"]
            self.buckets = [
                msgspec.structs.replace(one, **said) if one.name == effect.name else one for one in self.buckets
            ]

    def _evict(self, evictions: Iterable[Evict]) -> None:
        for living in list(self.pods):
            if living.leaves_in:
                living.leaves_in -= 1
                if not living.leaves_in:
                    self._comes_back(living)
        for eviction in evictions:
            (victim,) = (one for one in self.pods if (one.namespace, one.name) == (eviction.namespace, eviction.name))
            assert victim.keeps, f"{victim.name} is evicted twice"
            victim.leaves_in = self.terminating
            if not self.terminating:
                self._comes_back(victim)

    def _comes_back(self, gone: Living) -> None:
        self.pods.remove(gone)
        self._made += 1
        born = {**gone.fields, "created": self.now}
        self.pods.append(Living(gone.namespace, gone.app, self._made, gone.request, fields=born))

    def _place(self, division: Division, *, lends: bool) -> None:
        snapshot = self.snapshot()
        nodes = snapshot.nodes
        free = {name: dict.fromkeys(nodes.axis.names, 0) for name in self.nodes}
        for row, name in enumerate(nodes.statics.names):
            free[name] = {resource: int(nodes.idle[column, row]) for column, resource in enumerate(nodes.axis.names)}
        assert snapshot.arbitration is not None
        books = pooled(division, snapshot.arbitration.parties, lends=lends)
        for living in self.pods:
            if living.node:
                continue
            asked = {**living.request, "pods": 1}
            if books.excess(living.namespace, list(asked.items())):
                continue
            on = next((n for n, has in free.items() if all(has.get(r, 0) >= v for r, v in asked.items())), "")
            if on:
                living.node = on
                for name, value in asked.items():
                    free[on][name] -= value
                books.shift(living.namespace, asked.items(), 1)


def pooled(division: Division, parties: Mapping[str, NamespaceAccount], *, lends: bool = True) -> Pooled[str]:
    """What namespaces keep of what a division lets them, each and together."""
    parts = {name: part_of(award, division, lends=lends) for name, award in division.namespaces.items()}
    parts.pop(SYSTEM_NAMESPACE, None)
    members = {pool: [name for name, part in parts.items() if pool in part.pools] for pool in bounds_of(division)}
    return Pooled(parts.get, bounds_of(division), lambda: members, lambda name: parties[name].kept)
