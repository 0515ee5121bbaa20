"""The deciding core without a daemon around it comes to the same as a daemon over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.traces import small_trace
from vsched.clock import FakeClock
from vsched.lab.trace.direct import DirectCore
from vsched.lab.trace.files import WHOLE_GPU, ClusterTrace, TraceGang, TracePod
from vsched.lab.trace.fleet import MachineKind, nodes_of
from vsched.lab.trace.machines import Machines, virtual_cluster
from vsched.lab.trace.run import SCHEDULER, TraceReplay, gives_vgpus, replay, weights_of
from vsched.settings import load_file
from vsched.settings.installed import registry
from vsched.together import run_fast

CONFIG = Path(__file__).parents[3] / "config"


def directly(trace: ClusterTrace, policy: Path) -> dict[str, Any]:
    async def run() -> TraceReplay:
        clock, weights = FakeClock(), weights_of(trace, {})
        async with virtual_cluster(clock) as cluster:
            machines = Machines(cluster, clock, SCHEDULER, one_queue=False, vgpus=gives_vgpus(policy))
            machines.set_up(trace, weights)
            core = DirectCore(cluster, load_file(policy, registry()).policy, clock, SCHEDULER)
            found = TraceReplay(trace, weights, clock, lambda progress: None, 0.0)
            await found.run(machines, core)
        return found

    return run_fast(run()).summary()


def two_queues() -> ClusterTrace:
    """One queue fills two machines; then gangs and single pods of another come, and more of the first."""

    def pod(
        name: str, queue: str, created: int, gpus: int = 1, gang: TraceGang | None = None, member: int = 0
    ) -> TracePod:
        runs = 1000 + 10 * created
        return TracePod(name, 0, 0, gpus, WHOLE_GPU, (), "", created, runs, queue, gang, member, declared_seconds=runs)

    pods = [pod(f"a-{number:02}", "a", number) for number in range(30)]
    for number in range(3):
        gang = TraceGang(f"b-{number}", 2, 6)
        pods += [pod(f"b-{number}-{at}", "b", 100 + 50 * number, 3, gang, at) for at in range(2)]
    pods += [pod(f"c-{number}", "b", 180 + number) for number in range(6)]
    nodes = nodes_of([MachineKind(2, 8)])
    return ClusterTrace(tuple(nodes), tuple(sorted(pods, key=lambda pod: (pod.created, pod.name))))


def test_it_decides_as_a_daemon_does_about_gangs_evictions_and_planned_starts() -> None:
    trace, path = two_queues(), CONFIG / "samples" / "philly" / "memory-1d-backfill.yaml"
    expected = run_fast(replay(trace, path, weights_of(trace, {}), 1, lambda progress: None)).summary()
    assert expected["pods"]["evicted"] > 5
    assert expected["waiting_seconds"]["by_size"]["gangs"]["max"] > 0
    assert directly(trace, path) == expected


def test_it_decides_as_a_daemon_does_about_parts_of_devices() -> None:
    trace, path = small_trace(nodes=6, pods=40, every_seconds=4), CONFIG / "policies" / "devices.yaml"
    expected = run_fast(replay(trace, path, weights_of(trace, {}), 1, lambda progress: None)).summary()
    assert expected["waiting_pods"]["peak"] > 5
    assert directly(trace, path) == expected
