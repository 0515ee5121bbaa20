"""What a picture costs: processor time of each step, and bytes on the wire, while jobs come and go.

``python -m tests.web.overview.pictures_at_scale [NODES [JOBS]]`` builds a cluster in memory, lets its first session
place what fits, and then has one job in a hundred end each second. Processor time of the thread alone, so
that a busy machine tells the same.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

import msgspec

from tests.support.plans import DEFAULT_POLICY, NOW, Manifest, manifests, mirror
from vsched.api.manifests import Origin, decode_manifests
from vsched.explain.order import waiting_order
from vsched.framework.cycle import run_cycle
from vsched.model.frozen import freeze
from vsched.model.plan import JobOutcome
from vsched.settings.built_in import REGISTRY
from vsched.web.overview.assembly import Around, assemble, nothing_changed, with_number
from vsched.web.overview.deltas import OverviewDelta
from vsched.web.overview.document import Overview
from vsched.web.overview.events import event, gzipped, piece
from vsched.web.snapshots import FrozenSnapshot

T = TypeVar("T")
STEPS = 5
ENDING = 0.01
"""Of the jobs that run, each second."""


class Costs:
    """Milliseconds of processor time by step."""

    def __init__(self) -> None:
        self.taken: dict[str, list[float]] = {}

    def of(self, step: str, work: Callable[[], T]) -> T:
        began = time.thread_time()
        found = work()
        self.taken.setdefault(step, []).append(1e3 * (time.thread_time() - began))
        return found

    def lines(self) -> Iterator[str]:
        for step, taken in self.taken.items():
            yield f"  {step:<40}{sorted(taken)[len(taken) // 2]:8.1f} ms"


class Shown(NamedTuple):
    """A picture, what it was made of, and how it differs from the one before."""

    overview: Overview
    change: OverviewDelta | None
    frozen: FrozenSnapshot


def described(nodes: int, jobs: int) -> str:
    draw = random.Random(1)
    lines = [f"queue q{number} weight={1 + number % 3}" for number in range(10)]
    for number in range(nodes):
        pool = f"node.kubernetes.io/instance-type=m{number % 5}"
        lines.append(f"node node-{number:05} cpu=32 memory=128Gi gpu={8 * (number % 4 == 0)} {pool}")
    for number in range(jobs):
        size, cpu, gpu = draw.choice((1, 2, 4, 8)), draw.choice((4, 8, 16)), draw.choice((0, 0, 0, 1))
        about = f"cpu={cpu} gpu={gpu} memory=4Gi queue=q{number % 10} age={number}"
        lines.append(f"job team-{number % 7}/job-{number:05} min={size} pods={4 * size} {about}")
    return "\n".join(lines)


class Scale:
    """A cluster of a size, its sessions, and their pictures."""

    def __init__(self, nodes: int, jobs: int) -> None:
        objects = manifests(described(nodes, jobs))
        self._cache = mirror(objects)
        self._pods = _pods_by_job(objects)
        self._now = NOW
        self._outcomes: dict[str, JobOutcome] = {}
        self._draw = random.Random(2)

    def look(self, before: Overview | None, costs: Costs) -> Shown:
        """A session a second later, carried out, and its picture."""
        self._now += 1.0
        snapshot = self._cache.snapshot(self._now)
        report = run_cycle(snapshot, DEFAULT_POLICY, REGISTRY)
        frozen = costs.of("freeze (in the session)", lambda: freeze(snapshot))
        self._cache.assumptions.assume(report)
        self._outcomes.update(report.jobs)
        seen = FrozenSnapshot(frozen, DEFAULT_POLICY, report, 1)
        places = costs.of("order", lambda: waiting_order(frozen, DEFAULT_POLICY, REGISTRY).positions())
        around = Around(self._now, "leader", outcomes=self._outcomes, positions=places)
        found = costs.of("picture", lambda: assemble(seen, around, before))
        overview, change = costs.of("delta", lambda: with_number(found, before))
        return Shown(overview, change, seen)

    def end(self, shown: Overview) -> None:
        """Some of those that run are over."""
        running = sorted(key for key, row in shown.jobs.items() if row.ready >= row.min_member)
        for key in self._draw.sample(running, round(ENDING * len(running))):
            for pod in self._pods[key]:
                self._cache.intake.apply("Pod", "DELETED", pod)


def _pods_by_job(objects: list[Manifest]) -> dict[str, list[Any]]:
    pods = [found for found in objects if found["kind"] == "Pod"]
    decoded = decode_manifests((Origin("text", str(at)), found) for at, found in enumerate(pods)).objects["Pod"]
    by_job: dict[str, list[Any]] = {}
    for pod, found in zip(pods, decoded, strict=True):
        metadata = pod["metadata"]
        by_job.setdefault(f"{metadata['namespace']}/{metadata['labels']['job']}", []).append(found)
    return by_job


def main(nodes: int = 5000, jobs: int = 5000) -> None:
    scale, costs = Scale(nodes, jobs), Costs()
    shown = scale.look(scale.look(None, Costs()).overview, Costs())
    print(f"{nodes} nodes, {jobs} jobs of which {shown.overview.counts['jobs_waiting']} wait")
    still = scale.look(shown.overview, Costs())
    again = scale.look(still.overview, Costs())
    costs.of("nothing changed", lambda: nothing_changed(still.frozen, again.frozen))
    sizes = []
    for _ in range(STEPS):
        scale.end(again.overview)
        again = scale.look(again.overview, costs)
        change = again.change
        told = costs.of("delta as JSON, deflated", lambda change=change: event("delta", "1-1", change))  # type: ignore[misc]
        sizes.append((len(told.plain), len(told.deflated)))
    whole = costs.of("the whole as JSON", lambda: msgspec.json.encode(again.overview))
    zipped = costs.of("the whole deflated", lambda: gzipped(piece(whole)))
    print(*costs.lines(), sep="\n")
    plain, deflated = sorted(sizes)[len(sizes) // 2]
    print(f"the whole: {len(whole):,} bytes, {len(zipped):,} gzipped")
    print(f"a second in which {ENDING:.0%} of the running jobs end: {plain:,} bytes, {deflated:,} gzipped")


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
