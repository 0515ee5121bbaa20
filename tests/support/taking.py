"""Policies that take back, and clusters that go on for cycles while what was evicted comes back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import orjson

from tests.support.plans import NOW, Manifest, check, manifests, mirror, policy_from
from vsched import api
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.model.plan import CycleReport
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot
from vsched.settings.built_in import REGISTRY

SWITCHES = {
    "P": {"enablePreemptable": False},
    "R": {"enableReclaimable": False},
    "H": {"enableHierarchy": True},
    "L": {"enableHierarchy": True, "arguments": {"ancestorReclaimLevel": 1}},
    "A": {"enabledAllocatable": False},
    "N": {"enableNamespaceOrder": False},
}

TWO_NODES = "class high 9\nnode n1 cpu=2\nnode n2 cpu=2\n"


def spread(job: str, minimum: int) -> str:
    """A job that runs on ``TWO_NODES``, and leaves no room there: two pods of a core on each of them."""
    return f"job {job} min={minimum} phase=Running\npods {job} 2 cpu=1 on=n1\npods {job} 2 cpu=1 on=n2\n"


def taking(
    actions: str,
    *tiers: str,
    args: Mapping[str, object] | None = None,
    victims: str = "",
    gangs: Mapping[str, object] | None = None,
    plugins: Mapping[str, Mapping[str, object]] | None = None,
    keeps: list[str] | None = None,
    steps: int | None = None,
) -> Policy:
    """A policy: a line a tier, plugins with letters after a dash for what is off or on (``gang-P``, ``capacity-H``).

    P and R: no part in who is preempted and reclaimed from. A: none in what a queue may hold. H: hierarchy. L: the
    same, and queues one level up may claim. N: no order of namespaces. ``args`` are those of preempt, ``gangs`` those
    of gangpreempt, those in ``plugins`` of plugins; ``victims`` is how preempt and
    reclaim combine the tiers, ``keeps`` whose non-preemptible jobs keep all they have from reclaim and gangreclaim,
    ``steps`` how far all four look for fewer victims.
    """
    arguments = plugins or {}
    made = [
        [{"name": word, "arguments": arguments[word]} if word in arguments else _plugin(word) for word in tier.split()]
        for tier in tiers
    ]
    both = {"victimTiers": victims} if victims else {}
    kept = {"nonPreemptible": keeps} if keeps else {}
    wanted = (
        ("preempt", {**(args or {}), **both}),
        ("reclaim", {**both, **kept}),
        ("gangpreempt", gangs),
        ("gangreclaim", kept),
    )
    far = {} if steps is None else {"gangSearchSteps": steps}
    told = [{"name": name, "arguments": {**(found or {}), **far}} for name, found in wanted if found or far]
    policy = {"actions": actions, "tiers": [{"plugins": tier} for tier in made], "configurations": told}
    return policy_from(json.dumps(policy))


def _plugin(word: str) -> dict[str, object]:
    name, _, letters = word.rpartition("-")
    if not letters.isupper():
        return {"name": word}
    found: dict[str, object] = {"name": name}
    for letter in letters:
        found |= SWITCHES[letter]
    return found


class Busy:
    """A cluster over cycles: what is bound runs, what is evicted goes, and comes back where its owner wants it."""

    def __init__(self, text: str, policy: Policy, *, returning: bool = False, terminating: int = 0) -> None:
        found = manifests(text)
        self.cache = mirror(found)
        self.policy = policy
        self._returning = returning
        self._terminating = terminating
        """For how many cycles what is evicted is still there."""
        self._leaving: dict[str, int] = {}
        self._copies = 0
        self._pods: dict[str, Manifest] = {one["metadata"]["uid"]: one for one in found if one["kind"] == "Pod"}

    def snapshot(self) -> Snapshot:
        """The cluster as it is now."""
        return self.cache.snapshot(NOW)

    def task(self, name: str) -> Task:
        """The pod of this name."""
        (found,) = (task for task in self.tasks() if task.name == name)
        return found

    def tasks(self) -> Iterator[Task]:
        """All pods of jobs."""
        for job in self.cache.snapshot(NOW).jobs.values():
            yield from job.tasks.values()

    def cycle(self) -> CycleReport:
        """Decide once by the rules, and let it come true."""
        snapshot = self.snapshot()
        report = run_cycle(snapshot, self.policy, REGISTRY)
        check(snapshot, self.policy, report)
        self.carry_out(report)
        return report

    def carry_out(self, report: CycleReport) -> None:
        """Let what was decided come true."""
        evictions = report.evictions
        self.cache.settle(msgspec.structs.replace(report, evictions=() if self._terminating else evictions))
        for uid, cycles in list(self._leaving.items()):
            self._leaving[uid] = cycles - 1
            if cycles == 1:
                del self._leaving[uid]
                self._tell("DELETED", self._pods[uid])
        for bind in report.binds:
            self._pods[bind.uid]["spec"]["nodeName"] = bind.node
            self._pods[bind.uid]["status"] = {"phase": "Running"}
        for eviction in evictions:
            pod = self._pods[eviction.uid]
            if self._terminating:
                pod["metadata"]["deletionTimestamp"] = "2027-01-15T08:00:00Z"
                self._tell("MODIFIED", pod)
                self._leaving[eviction.uid] = self._terminating
            if self._returning:
                self._come_back(pod)

    def change(self, text: str, type: str = "MODIFIED") -> None:
        """Objects are made, changed or deleted, as the text has them."""
        for found in manifests(text):
            if found["kind"] == "Pod":
                self._pods[found["metadata"]["uid"]] = found
            self._tell(type, found)

    def _come_back(self, pod: Manifest) -> None:
        self._copies += 1
        copy: Any = orjson.loads(orjson.dumps(pod))
        copy["metadata"].pop("deletionTimestamp", None)
        name = copy["metadata"]["name"].partition("~")[0]
        copy["metadata"] |= {"name": f"{name}~{self._copies}", "uid": f"copy-{self._copies}"}
        copy["spec"].pop("nodeName", None)
        copy["status"] = {"phase": "Pending"}
        self._pods[copy["metadata"]["uid"]] = copy
        self._tell("ADDED", copy)

    def _tell(self, type: str, found: Manifest) -> None:
        kind = found["kind"]
        self.cache.intake.apply(kind, type, api.decode(kind, orjson.dumps(found)))


def evicted(report: CycleReport) -> list[str]:
    """Names of the pods that are to leave, in the order decided."""
    return [eviction.name for eviction in report.evictions]


def kept(report: CycleReport) -> dict[str, str]:
    """Nodes that are kept from now on, by the name of the pod; empty where one is given up."""
    return {nomination.name: nomination.node for nomination in report.nominations if nomination.lasting}
