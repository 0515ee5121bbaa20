"""``vsched bench --shards``: one daemon that decides for all queues, and several at the same time, each for its shard.

Each daemon is a process with a mirror of the whole cluster. The queues are dealt out evenly, and every node belongs to
one shard. ``seconds`` has the snapshots, cycles and taken decisions of the slowest process, ``cpu_seconds`` their
processor time, ``others_seconds`` that of reading what the other daemons have bound, as their watches would show it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from time import perf_counter, process_time
from typing import Any

import msgspec
import orjson

from vsched import api
from vsched.daemon.system.tuning import listed, tuned
from vsched.errors import Unavailable
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.lab.bench.words import core as words
from vsched.lab.bench.world import MirrorFeeder, World
from vsched.mirror.sharding import ShardDivision, narrowed, territory
from vsched.model.memo import Memo
from vsched.model.nodes.masks import NodeMask
from vsched.model.queues.queue import Queue
from vsched.settings import default_settings, load_file
from vsched.settings.installed import registry

READY, GO = "ready", b"go\n"


class Dealt(ShardDivision):
    """The queues ``queue-0``, ``queue-1`` and so on, dealt out to the shards."""

    def shard_of_queue(self, name: str, queues: Mapping[str, Queue]) -> int:
        number = name.rpartition("-")[2]
        return int(number) % self.count if number.isdecimal() else 0


class WaitingPods(MirrorFeeder):
    """Keeps the pods that wait."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.waiting: dict[str, dict[str, Any]] = {}
        """By uid."""

    def _feed(self, kind: str, objects: Any, delta: str = "ADDED") -> None:
        found = list(objects)
        super()._feed(kind, found, delta)
        if kind == "Pod":
            self.waiting |= {pod["metadata"]["uid"]: pod for pod in found if "nodeName" not in pod["spec"]}


class ShardRun(msgspec.Struct, frozen=True):
    """What one process has to do."""

    world: World
    config: str | None
    """The policy file; None for the built-in policy."""
    shard: int
    count: int


def run_part(text: str) -> None:
    """The process of one shard: prints what ``measure_part`` finds."""
    part = msgspec.json.decode(text, type=ShardRun)
    policy = (load_file(part.config, registry()) if part.config else default_settings(registry())).policy
    with tuned():
        print(orjson.dumps(measure_part(part.world, policy, part.shard, part.count)).decode(), flush=True)


def measure_part(world: World, policy: Policy, shard: int, count: int) -> dict[str, Any]:
    """Decide for one shard until nothing more can be placed; waits for a line on the standard input before."""
    plugins = registry()
    crowd, division, held = WaitingPods(world), Dealt(count), frozenset({shard})
    crowd.fill()
    queues = crowd.mirror.snapshot(0.0).queues
    listed()
    print(READY, flush=True)
    sys.stdin.readline()
    began, cpu, placed, memo = perf_counter(), process_time(), 0, Memo()
    while True:
        whole = crowd.mirror.snapshot(0.0)
        mask = NodeMask(territory(whole.nodes.statics, division, held), True, "shards") if count > 1 else None
        report = run_cycle(narrowed(whole, division, held, mask), policy, plugins, memo=memo)
        crowd.mirror.assumptions.assume(report)
        if not report.binds:
            break
        placed += len(report.binds)
    decided, spent = perf_counter() - began, process_time() - cpu
    others = [
        orjson.dumps({**pod, "spec": {**pod["spec"], "nodeName": "node-00000"}})
        for uid, pod in crowd.waiting.items()
        if (task := crowd.mirror.task(uid)) is not None
        and not task.node
        and division.shard_of_job(whole.jobs[task.job], queues) != shard
    ]
    cpu = process_time()
    for line in others:
        crowd.mirror.intake.apply("Pod", "MODIFIED", api.decode("Pod", line))
    return {
        "placed": placed,
        "seconds": round(decided, 4),
        "cpu_seconds": round(spent, 4),
        "others_seconds": round(process_time() - cpu, 4),
    }


def measure_shards(world: World, config: str | None, count: int) -> dict[str, Any]:
    """The same work decided by one process, and by as many at a time as there are shards."""
    (one,), parts = _together(world, config, 1), _together(world, config, count)
    slowest, busiest = max(part["seconds"] for part in parts), max(part["cpu_seconds"] for part in parts)
    with_others = max(part["cpu_seconds"] + part["others_seconds"] for part in parts)
    return {
        "placed": sum(part["placed"] for part in parts),
        "seconds": slowest,
        "cpu_seconds": busiest,
        "others_seconds": max(part["others_seconds"] for part in parts),
        "one_placed": one["placed"],
        "one_seconds": one["seconds"],
        "one_cpu_seconds": one["cpu_seconds"],
        "times": round(one["seconds"] / max(slowest, 1e-9), 2),
        "times_cpu": round(one["cpu_seconds"] / max(busiest, 1e-9), 2),
        "times_cpu_with_others": round(one["cpu_seconds"] / max(with_others, 1e-9), 2),
    }


def _together(world: World, config: str | None, count: int) -> list[dict[str, Any]]:
    """The results of one process for each shard, which begin at the same time."""
    run = f"from {__name__} import run_part; import sys; run_part(sys.argv[1])"
    parts = [msgspec.json.encode(ShardRun(world, config, shard, count)).decode() for shard in range(count)]
    running = [
        subprocess.Popen([sys.executable, "-c", run, part], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for part in parts
    ]
    try:
        for child in running:
            assert child.stdout is not None
            if child.stdout.readline().decode().strip() != READY:
                raise Unavailable(words.PART_FAILED)
        for child in running:
            assert child.stdin is not None
            child.stdin.write(GO)
            child.stdin.flush()
        return [orjson.loads(child.communicate()[0]) for child in running]
    finally:
        for child in running:
            child.kill()
            child.wait()


def rows(result: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The rows of the result's table."""
    yield words.PLACED_BY_SHARDS, f"{result['one_placed']:,}, {result['placed']:,}"
    yield words.SECONDS_BY_SHARDS, f"{result['one_seconds']:,}, {result['seconds']:,}"
    cpu = f"{result['one_cpu_seconds']:,}, {result['cpu_seconds']:,}"
    yield words.PROCESSOR_TIME_BY_SHARDS, cpu
    yield words.READING_OTHERS, f"{result['others_seconds']:,}"
    yield words.TIMES_BY_CLOCK, f"{result['times']}"
    yield words.TIMES_BY_PROCESSOR, f"{result['times_cpu']}; {result['times_cpu_with_others']}"
