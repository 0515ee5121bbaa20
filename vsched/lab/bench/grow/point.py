"""One point of ``vsched bench --grow``: a cluster of one size is listed, decided on and shown, in this process alone.

``python -m vsched.lab.bench.grow.point POINT`` prints the figures as JSON. All times are processor times.
"""

from __future__ import annotations

import gc
import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any, TypeVar

import msgspec
from prometheus_client import generate_latest

from vsched import api
from vsched.clock import SystemClock
from vsched.daemon.observe.telemetry import Telemetry, Timing
from vsched.daemon.system.tuning import listed, tuned
from vsched.daemon.triggers import Reason
from vsched.explain.order import waiting_order
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.kube.watch.framing import decode_page
from vsched.lab.bench.grow.objects import ClusterSize, lists, new_gang
from vsched.lab.bench.growth import capacity_policy
from vsched.lab.bench.words import grow as words
from vsched.log import LogFormat, configure
from vsched.mirror.mirror import Mirror
from vsched.mirror.stores import MirrorSettings
from vsched.model.frozen import freeze
from vsched.model.memo import Memo
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot
from vsched.settings import load_file
from vsched.settings.installed import registry
from vsched.web.overview.assembly import Around, assemble
from vsched.web.overview.document import Overview
from vsched.web.overview.events import piece
from vsched.web.snapshots import LEADER, FrozenSnapshot

T = TypeVar("T")

NEW_GANG = 100
"""Pods of the gang with a new shape."""
TOLD_EVERY = 50_000
"""Objects between two lines of progress."""
NOW = 1_767_225_600.0
"""The beginning of 2026, when all objects were created."""


class GrowPoint(msgspec.Struct, frozen=True, kw_only=True):
    """What is measured, and how often."""

    cluster: ClusterSize
    config: str = ""
    """A policy file; empty for the built-in one with queues in a tree."""
    repeats: int = 7


def measure(point: GrowPoint, say: Callable[[str], None]) -> dict[str, Any]:
    """The figures of this point."""
    policy = load_file(point.config, registry()).policy if point.config else capacity_policy(in_a_tree=True)
    daemon = GrownDaemon(point.cluster, policy)
    listed_seconds = daemon.list(say)
    first = daemon.session()
    say(words.DECIDED_FIRST)
    idle = [daemon.session() for _ in range(point.repeats)]
    new = [daemon.new_shape(number) for number in range(point.repeats)]
    return {
        **msgspec.to_builtins(point.cluster),
        "restart_seconds": round(listed_seconds + first.seconds, 2),
        "listed_seconds": round(listed_seconds, 2),
        "first_session_seconds": round(first.seconds, 3),
        "placed_first": first.placed,
        "idle_ms": _least(session.seconds for session in idle),
        "new_shape_ms": _least(session.decide for session in new),
        "new_shape_placed": min(session.placed for session in new),
        "snapshot_ms": _least(session.snapshot for session in new),
        "memory": daemon.memory(),
        "metrics": daemon.metrics(),
        "page": daemon.page(),
        "peak_mb": _peak_mb(),
    }


class SessionTimes(msgspec.Struct, frozen=True):
    """What a session took, in seconds of processor time."""

    snapshot: float
    decide: float
    placed: int

    @property
    def seconds(self) -> float:
        return self.snapshot + self.decide


class GrownDaemon:
    """The parts of a daemon that grow with its cluster, without requests and threads."""

    def __init__(self, cluster: ClusterSize, policy: Policy) -> None:
        self._cluster = cluster
        self._policy = policy
        self.mirror = Mirror(MirrorSettings(frozenset({"vsched"}), open_without_state=True))
        self._memo = Memo()
        self._telemetry = Telemetry(SystemClock(), self.mirror.task)
        self._now = NOW
        self._base_mb = _resident_mb()
        self._last: tuple[Snapshot, CycleReport] | None = None

    def list(self, say: Callable[[str], None]) -> float:
        """Read every list, as a reflector does; returns the seconds without those that making the lists takes."""
        seconds, count, begun = 0.0, 0, set[str]()
        for kind, data in lists(self._cluster):
            start = process_time()
            if kind not in begun:
                begun.add(kind)
                self.mirror.intake.restart(kind)
            for part in decode_page(data).items or ():
                self.mirror.intake.include(kind, api.read(kind, bytes(part)))
                count += 1
                if not count % TOLD_EVERY:
                    say(words.objects_listed(count))
            seconds += process_time() - start
        start = process_time()
        for kind in begun:
            for _ in self.mirror.intake.finish(kind):
                pass
        listed()
        return seconds + process_time() - start

    def session(self) -> SessionTimes:
        """One session; its decisions are assumed."""
        self._now += 1
        start = process_time()
        snapshot = self.mirror.snapshot(self._now)
        seen = process_time()
        report = run_cycle(snapshot, self._policy, registry(), memo=self._memo)
        decided = process_time()
        self.mirror.assumptions.assume(report)
        list(self._telemetry.telling(snapshot, report, Timing(Reason.CHANGE, seen - start, decided - seen, 0.0)))
        self._last = snapshot, report
        return SessionTimes(seen - start, decided - seen, len(report.binds))

    def new_shape(self, number: int) -> SessionTimes:
        """The session after a gang came whose pods ask for what no pod has asked for."""
        for kind, data in new_gang(self._cluster, number, NEW_GANG):
            self.mirror.intake.apply(kind, "ADDED", api.read(kind, data))
        return self.session()

    def memory(self) -> dict[str, float]:
        """MB that the process has now, after a collection, and KB for each pod of what came since the lists began."""
        gc.unfreeze()
        gc.collect()
        resident = _resident_mb()
        pods = self._cluster.pods + self._cluster.waiting
        return {"resident_mb": resident, "pod_kb": round((resident - self._base_mb) * 1024 / pods, 2)}

    def metrics(self) -> dict[str, float]:
        """The size of ``/metrics``, and how long it takes."""
        seconds, text = _timed(lambda: generate_latest(self._telemetry.registry))
        return {"bytes": len(text), "series": sum(line[:1] != b"#" for line in text.splitlines()), "ms": _ms(seconds)}

    def page(self) -> dict[str, float]:
        """The size of the page's picture of the cluster, and how long it takes to make."""
        assert self._last is not None
        snapshot, report = self._last
        frozen_in, still = _timed(lambda: freeze(snapshot))
        frozen = FrozenSnapshot(still, self._policy, report, 1)

        def drawn() -> Overview:
            positions = waiting_order(still, self._policy, registry()).positions()
            outcomes = self._telemetry.findings.jobs
            return assemble(frozen, Around(self._now, LEADER, outcomes=outcomes, positions=positions))

        drawn_in, overview = _timed(drawn)
        encoded_in, encoded = _timed(lambda: piece(msgspec.json.encode(overview)))
        return {
            "bytes": len(encoded.plain),
            "gzip_bytes": len(encoded.deflated),
            "freeze_ms": _ms(frozen_in),
            "draw_ms": _ms(drawn_in),
            "encode_ms": _ms(encoded_in),
        }


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    start = process_time()
    found = work()
    return process_time() - start, found


def _least(seconds: Any) -> float:
    """The least of some times: the machine can only add to it."""
    return _ms(min(seconds))


def _ms(seconds: float) -> float:
    return round(seconds * 1e3, 2)


def _peak_mb() -> int:
    """The most memory that this process has had; on Linux, not that of the process that started it."""
    status = Path("/proc/self/status")
    if status.exists():
        fields = dict(line.split(":", 1) for line in status.read_text(encoding="ascii").splitlines())
        return int(fields["VmHWM"].split()[0]) // 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def _resident_mb() -> float:
    """The memory that this process has now; its peak on systems without /proc."""
    resident = Path("/proc/self/statm")
    if resident.exists():
        return int(resident.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGESIZE") / (1 << 20)
    return float(_peak_mb())


def main() -> None:
    """Measure the point that the only argument describes."""
    configure("warning", LogFormat.CONSOLE, sys.stderr)
    point = msgspec.json.decode(sys.argv[1], type=GrowPoint)
    with tuned():
        found = measure(point, lambda text: print(f"    {text}", file=sys.stderr, flush=True))
    print(msgspec.json.encode(found).decode())


if __name__ == "__main__":
    main()
