"""Workloads on a mirror in memory: whole cycles of the decision core, and nothing else in the time that is measured.

Objects enter the mirror as the API server would show them. The clock is the processor time of the cycles: of the
snapshot, the decision, and taking it for granted. What happens at intervals, such as churn, goes by this clock as well.
It jumps to the next interval where nothing can be done until then.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from time import process_time

import orjson

from vsched import api
from vsched.daemon.system.tuning import listed
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.lab.suites import words
from vsched.lab.suites.objects import key_of
from vsched.lab.suites.place import Action, NotPlaced, SuiteCluster, UnclaimedDevices
from vsched.lab.suites.templates import Obj
from vsched.mirror.mirror import Mirror
from vsched.mirror.stores import MirrorSettings
from vsched.model.memo import Memo
from vsched.model.plan import CycleReport
from vsched.settings.installed import registry
from vsched.sim.fleet.sample_gangs import SCHEDULER_NAME

CREATED = "2026-01-01T00:00:00Z"
IDLE_CYCLES = 2
"""So many cycles without a decision, and nothing more can be done now."""
PATIENCE_SECONDS = 120.0
"""Pods that got no node in so much time of the clock never will."""


class CoreCluster(SuiteCluster):
    """A mirror, and the objects it was fed with."""

    def __init__(self, policy: Policy) -> None:
        super().__init__()
        self.cycles: list[float] = []
        """The seconds of each cycle."""
        self._policy, self._memo = policy, Memo()
        self._mirror = Mirror(MirrorSettings(frozenset({SCHEDULER_NAME}), open_without_state=True))
        self.objects: dict[str, dict[str, Obj]] = defaultdict(dict)
        """By kind and key."""
        self._claims: dict[str, list[str]] = {}
        """The claims that were made for a pod, by its key."""
        self._devices = UnclaimedDevices()
        self._clock = 0.0
        self._intervals: list[tuple[float, int, float, Action]] = []
        self._numbers = count()

    def now(self) -> float:
        return self._clock

    def begin_measuring(self) -> None:
        listed()

    def close(self) -> None:
        """Stop what happens at intervals."""
        self._intervals.clear()

    # Objects

    async def create(self, objects: Iterable[Obj]) -> None:
        for found in objects:
            self._create(found)

    def _create(self, found: Obj) -> None:
        kind, key = found["kind"], key_of(found)
        uid = f"{kind}/{key}/{next(self._numbers)}"
        found["metadata"] |= {"uid": uid, "creationTimestamp": CREATED}
        self._devices.see(found)
        if kind == "Pod":
            found["status"] = {"phase": "Pending"}
            self.pods.add(found)
            claims = list(self._claims_for(found))
            self._put(found, "ADDED")
            for claim in claims:
                self._create(claim)
            if claims:
                self._claims[key] = [key_of(claim) for claim in claims]
        else:
            self._put(found, "ADDED")

    def _claims_for(self, pod: Obj) -> Iterator[Obj]:
        """The claims that the controllers of a cluster would make for a pod."""
        metadata, statuses = pod["metadata"], []
        for entry in pod["spec"].get("resourceClaims") or ():
            named = entry.get("resourceClaimTemplateName")
            template = self.objects["ResourceClaimTemplate"].get(f"{metadata['namespace']}/{named}")
            if template is None:
                continue
            name = f"{metadata['name']}-{entry['name']}"
            statuses.append({"name": entry["name"], "resourceClaimName": name})
            owner = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]}
            yield {
                "apiVersion": template["apiVersion"],
                "kind": "ResourceClaim",
                "metadata": {
                    "name": name,
                    "namespace": metadata["namespace"],
                    "ownerReferences": [{**owner, "controller": True}],
                },
                "spec": template["spec"]["spec"],
            }
        if statuses:
            pod["status"]["resourceClaimStatuses"] = statuses

    def _put(self, found: Obj, change: str) -> None:
        kind = found["kind"]
        self.objects[kind][key_of(found)] = found
        self._show(found, change)

    def _show(self, found: Obj, change: str) -> None:
        """Have the mirror see a change, if it keeps objects of this kind."""
        kind = found["kind"]
        if kind in api.RESOURCES:
            self._mirror.intake.apply(kind, change, api.decode(kind, orjson.dumps(found)))

    async def update(self, found: Obj) -> None:
        before = self.objects[found["kind"]].get(key_of(found))
        if before is None:
            raise NotPlaced(words.cannot_be_updated(found["kind"], key_of(found)))
        kept = {name: before["metadata"][name] for name in ("uid", "creationTimestamp")}
        found["metadata"] |= kept
        if found["kind"] == "Pod":
            found["status"] = before["status"]
            for name in ("nodeName", "schedulerName"):
                if name in before["spec"]:
                    found["spec"][name] = before["spec"][name]
            self.pods.relabel(found)
        elif found["kind"] == "Node":
            status = found["status"] = dict(found.get("status") or before.get("status") or {})
            status.setdefault("allocatable", status.get("capacity") or {})
        self._put(found, "MODIFIED")

    async def delete(self, kind: str, keys: Iterable[str]) -> None:
        for key in keys:
            self._delete(kind, key)

    def _delete(self, kind: str, key: str) -> None:
        found = self.objects[kind].pop(key, None)
        if kind == "Pod":
            self.pods.known.pop(key, None)
        if found is None:
            return
        if found["metadata"].get("finalizers"):
            found["metadata"] |= {"deletionTimestamp": CREATED, "deletionGracePeriodSeconds": 0}
            self._show(found, "MODIFIED")
            return
        self._show(found, "DELETED")
        for claim in self._claims.pop(key, ()) if kind == "Pod" else ():
            self._delete("ResourceClaim", claim)

    async def allocate(self, namespace: str) -> None:
        for claim in list(self.objects["ResourceClaim"].values()):
            if claim["metadata"]["namespace"] == namespace:
                claim["status"] = self._devices.give(claim)
                self._show(claim, "MODIFIED")

    # Time

    async def until_placed(self, keys: Sequence[str], at_least: int) -> None:
        patient_until, idle = self._clock + PATIENCE_SECONDS, 0
        allowed = len(keys) - at_least
        while (waiting := self.pods.waiting(keys)) > allowed:
            report = self._cycle()
            if self.pods.waiting(keys) < waiting:
                patient_until = self._clock + PATIENCE_SECONDS
            idle = 0 if report.binds or report.evictions else idle + 1
            if await self._due() or idle < IDLE_CYCLES:
                continue
            if not self._intervals or self._intervals[0][0] > patient_until:
                raise NotPlaced(words.not_placed(waiting - allowed, len(keys)))
            self._clock = self._intervals[0][0]
            await self._due()
            idle = 0

    async def until_attempted(self, keys: Sequence[str]) -> None:
        idle = 0
        while idle < IDLE_CYCLES:
            report = self._cycle()
            idle = 0 if report.binds or report.evictions else idle + 1
            await self._due()

    async def sleep(self, seconds: float) -> None:
        end = self._clock + seconds
        while self._intervals and self._intervals[0][0] <= end:
            self._clock = max(self._clock, self._intervals[0][0])
            await self._due()
            self._cycle()
        self._clock = max(self._clock, end)

    def every(self, seconds: float, action: Action) -> None:
        heapq.heappush(self._intervals, (self._clock + seconds, next(self._numbers), seconds, action))

    async def until_over(self, action: Action) -> None:
        while any(each[3] is action for each in self._intervals):
            self._clock = max(self._clock, self._intervals[0][0])
            await self._due()
            self._cycle()

    async def _due(self) -> bool:
        """Do what is due by now; False where nothing is."""
        did = False
        while self._intervals and self._intervals[0][0] <= self._clock:
            due, _, seconds, action = heapq.heappop(self._intervals)
            if await action():
                heapq.heappush(self._intervals, (due + seconds, next(self._numbers), seconds, action))
            did = True
        return did

    def _cycle(self) -> CycleReport:
        """Decide, take it for granted, and have the mirror see what became of it."""
        start = process_time()
        report = run_cycle(self._mirror.snapshot(self._clock), self._policy, registry(), memo=self._memo)
        self._mirror.assumptions.assume(report)
        seconds = process_time() - start
        self.cycles.append(seconds)
        self._clock += seconds
        for bind in report.binds:
            key = f"{bind.namespace}/{bind.name}"
            self.pods.bind(key, self._clock)
            pod = self.objects["Pod"][key]
            pod["spec"]["nodeName"] = bind.node
            pod["status"]["phase"] = "Running"
            if bind.claims is None:  # claims are as decided until the watch shows them written, which nobody does here
                self._show(pod, "MODIFIED")
        for eviction in report.evictions:
            self._delete("Pod", f"{eviction.namespace}/{eviction.name}")
        return report
