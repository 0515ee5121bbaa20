"""Clusters in which jobs of a few kinds wait, come and go, and cycles on them that share what they keep."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

import orjson

from tests.support.apart import KNOWN, told_apart
from tests.support.keeping import keeping
from tests.support.plans import NOW, manifests, mirror
from vsched import api
from vsched.framework.backlog import Backlog
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.framework.session import BACKLOG
from vsched.kube.watch.deltas import Delta
from vsched.model.dump.cycle import report_bytes
from vsched.model.jobs.advice import Advice, headline_of
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot

FURNITURE = """
queue q capability=cpu:9
queue r weight=2
queue s deserved=cpu:4
class high 1000
node n1 cpu=8 zone=a
node n2 cpu=4 zone=b
pods x/held 2 cpu=1 on=n1
"""
KINDS = {
    "single": "queue=r min=1 pods=1 cpu=3",
    "gang": "queue=r min=2 pods=2 cpu=3",
    "limited": "queue=q min=2 pods=3 cpu=4",
    "urgent": "queue=q min=1 pods=1 cpu=2 class=high",
    "huge": "queue=s min=1 pods=1 cpu=64",
    "small": "queue=s min=1 pods=1 cpu=1",
    "near": "queue=r min=1 pods=1 cpu=4 selector=zone:b",
    "proud": "queue=r min=1 pods=1 cpu=1 apart=held labels=app:web",
    "pending": "queue=q min=2 pods=2 cpu=5 phase=Pending minResources=cpu:10",
    "entering": "queue=r min=1 pods=1 cpu=2 phase=Pending minResources=cpu:2",
    "promised": "queue=r min=2 pods=0 phase=Pending minResources=cpu:6",
    "lacking": "queue=r min=3 pods=2 cpu=1",
}
ENTERING = {
    "pending": KINDS["pending"],
    "entering": KINDS["entering"],
    "promised": KINDS["promised"],
    "little": "queue=s min=1 pods=1 cpu=1 phase=Pending minResources=cpu:1",
    "eager": "queue=r min=1 pods=1 cpu=2 phase=Pending minResources=cpu:2 class=high",
    "greedy": "queue=s min=2 pods=2 cpu=32 phase=Pending minResources=cpu:64",
    "modest": "queue=q min=2 pods=2 cpu=1 phase=Pending minResources=cpu:2,memory:1Gi",
    "unasked": "queue=r min=1 pods=1 cpu=1 phase=Pending",
    "empty": "queue=s min=1 pods=0 phase=Pending minResources=cpu:64",
    "spare": "queue=q min=1 pods=3 cpu=1 phase=Pending minResources=cpu:1",
}
"""Kinds of jobs that wait to be admitted."""
CAPPED = {
    "one": "queue=q min=1 pods=1 cpu=1",
    "two": "queue=q min=1 pods=1 cpu=2",
    "pair": "queue=q min=2 pods=2 cpu=1",
    "elastic": "queue=q min=1 pods=3 cpu=1",
    "growing": "queue=q min=2 pods=5 cpu=2",
    "preferred": "queue=q min=1 pods=1 cpu=1 class=high",
    "latest": "queue=q min=1 pods=1 cpu=3 phase=Pending minResources=cpu:3",
}
"""Kinds of jobs of a queue that may not hold all that waits in it."""
TAKING = {
    **{kind: KINDS[kind] for kind in ("single", "urgent", "limited", "huge", "near", "proud", "entering")},
    "couple": "queue=r min=2 pods=2 cpu=2 class=high",
    "claiming": "queue=s min=1 pods=1 cpu=2",
    "wide": "queue=s min=1 pods=3 cpu=1 class=high",
    "loose": "queue=s min=0 pods=2 cpu=1",
    "keen": "queue=q min=1 pods=1 cpu=1 class=high",
    "hopeless": "queue=q min=1 pods=1 cpu=48 class=high",
}
"""Kinds of jobs that may take from others."""
FACTS = (
    "node n3 cpu=2",
    "node n3 cpu=16",
    "node n1 cpu=8 zone=a cordoned",
    "pods x/runs 2 cpu=2 on=n2",
    "pods y/leaves 2 cpu=2 on=n1 leaving",
    "queue q capability=cpu:30",
    "quota x/small requests.cpu=6 used=requests.cpu:3",
    "queue r closed",
    "queue r capability=cpu:4",
    "queue r capability=cpu:40",
    "queue s weight=9 deserved=cpu:40",
    "queue s capability=cpu:10000 deserved=cpu:4",
    "job x/nominated queue=r min=1 pods=1 cpu=1 nominated=n2",
    "job x/more queue=r min=1 pods=1 cpu=1 gated",
)
JOBS_OF_A_KIND = 9


class Backlogged:
    """A cluster in which jobs of a few kinds come and go, and cycles on it that share what they keep."""

    def __init__(self, *lines: str) -> None:
        self._objects: dict[tuple[str, str, str], dict[str, Any]] = {}
        self._lines: dict[str, str] = {}
        self.cache = mirror([])
        self.memo = keeping()
        self.now = NOW
        self.last = CycleReport()
        self.put(*FURNITURE.strip().splitlines(), *lines)

    @property
    def names(self) -> Sequence[str]:
        """The first words of all lines."""
        return [*self._lines]

    def put(self, *lines: str) -> None:
        """Create what lines say, or make it so."""
        self._lines.update((" ".join(line.split()[:2]), line) for line in lines)
        self._follow()

    def drop(self, name: str) -> None:
        """Delete what a line with these first words says; nothing where there is none."""
        if self._lines.pop(name, None) is not None:
            self._follow()

    def _follow(self) -> None:
        made = manifests("\n".join(self._lines.values()))
        after = {(one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]): one for one in made}
        before, self._objects = self._objects, after
        for key in [*before.keys() - after.keys(), *after]:
            found = after.get(key)
            if found is None:
                self._apply(key[0], Delta.DELETED, before[key])
            elif found != before.get(key):
                self._apply(key[0], Delta.ADDED if key not in before else Delta.MODIFIED, found)

    def _apply(self, kind: str, delta: Delta, found: dict[str, Any]) -> None:
        found["metadata"].setdefault("uid", found["metadata"]["name"])
        self.cache.intake.apply(kind, delta, api.decode(kind, orjson.dumps(found)))

    def advise(self, key: str) -> None:
        """Give advice on a job, and on no other."""
        outcome = self.last.jobs.get(key)
        if outcome is not None:
            advice = Advice(headline_of(outcome.message), "more of everything")
            self.cache.inputs.advise({outcome.key: advice})

    def decided(self, policy: Policy) -> tuple[Snapshot, CycleReport]:
        """A cycle that goes on with what the last one has kept."""
        self.now += 1.0
        snapshot = self.cache.snapshot(self.now)
        return snapshot, run_cycle(snapshot, policy, KNOWN, memo=self.memo)

    def run(self, policy: Policy, *, assume: bool) -> CycleReport:
        """A cycle, compared with one that nothing was kept for, and with one that takes the jobs one by one."""
        snapshot, report = self.decided(policy)
        assert report_bytes(report) == report_bytes(run_cycle(snapshot, policy, KNOWN))
        assert report_bytes(report) == report_bytes(run_cycle(snapshot, told_apart(policy), KNOWN))
        if assume:
            self.cache.assumptions.assume(report)
        self.last = report
        return report

    @property
    def classes(self) -> list[list[str]]:
        """The jobs that are alike, by class."""
        backlog = self.memo.take(BACKLOG, Backlog)
        assert backlog is not None
        self.memo.leave(BACKLOG, backlog)
        return sorted(sorted(one.keys()) for one in backlog.classes or () if len(one) > 1)


def job(number: int, kind: str, namespace: str = "x", age: int = 0) -> str:
    words = {**CAPPED, **TAKING, **ENTERING, **KINDS}[kind]
    words = words if "phase=" in words else f"{words} phase=Inqueue"
    return f"job {namespace}/{kind}{number} {words} age={age}"


def backlog(random: Random, among: Iterable[str] = KINDS) -> list[str]:
    """Jobs of a few kinds, in places mixed by age and by name."""
    kinds, spaces = random.sample([*among], random.randint(1, 3)), random.choice(("x", "y", "xy"))
    places = [(kind, space) for kind in kinds for space in spaces]
    ages = random.choice((0, 0, 2))
    return [
        job(number, kind, space, random.randint(0, ages)) for kind, space in places for number in range(JOBS_OF_A_KIND)
    ]


def change(random: Random, cluster: Backlogged, among: Iterable[str] = KINDS, facts: Sequence[str] = FACTS) -> None:
    """Something changes: a job mostly, of a kind that waits or of another one."""
    jobs = [name for name in cluster.names if name.startswith("job ")]
    known = [name.partition("/")[2].rstrip("0123456789") for name in jobs]
    match random.randint(0, 6):
        case 0 | 1:
            kind = random.choice([one for one in known if one in {*among}] or [*among])
            kind = random.choice([*among]) if random.random() < 0.2 else kind
            cluster.put(job(random.randint(0, 29), kind, random.choice("xy"), random.choice((0, 0, 3))))
        case 2 if jobs:
            cluster.drop(random.choice(jobs))
        case 3 if jobs:
            cluster.advise(random.choice(jobs).removeprefix("job "))
        case 4:
            cluster.put(random.choice(facts))
        case 5:
            cluster.drop(" ".join(random.choice(facts).split()[:2]))
