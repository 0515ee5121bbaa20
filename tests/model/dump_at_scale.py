"""What a recording of a big cluster costs: ``python -m tests.model.dump_at_scale``.

5,000 nodes and 140,000 pods with uids as in a cluster; packed while a second thread notes how late it is, read back,
and run again.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any
from uuid import UUID

import numpy as np

from vsched.framework.cycle import run_cycle
from vsched.lab.bench import world as bench_world
from vsched.lab.bench.world import MirrorFeeder, World
from vsched.model.dump.cycle import Recording, decode, pack, report_bytes
from vsched.model.frozen import freeze
from vsched.settings import default_settings, load_text
from vsched.settings.built_in import REGISTRY
from vsched.settings.document import policy_text

NOW = 1_800_000_000.0
PULSE_SECONDS = 0.001


@contextmanager
def random_uids() -> Iterator[None]:
    """Objects of a world have uids that compress as badly as real ones."""
    plain, random = bench_world.metadata_of, Random(3)

    def metadata_of(*about: Any) -> dict[str, Any]:
        return {**plain(*about), "uid": str(UUID(int=random.getrandbits(128), version=4))}

    bench_world.metadata_of = metadata_of
    try:
        yield
    finally:
        bench_world.metadata_of = plain


@contextmanager
def lateness(found: list[float]) -> Iterator[None]:
    """Note how late another thread wakes up meanwhile, in seconds."""
    over = threading.Event()

    def pulse() -> None:
        while not over.is_set():
            began = time.perf_counter()
            time.sleep(PULSE_SECONDS)
            found.append(time.perf_counter() - began - PULSE_SECONDS)

    thread = threading.Thread(target=pulse)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def main() -> None:
    """Measure and tell."""
    with random_uids():
        crowd = MirrorFeeder(World(nodes=5000, pods=20_000, running=120_000))
        crowd.fill()
    policy = default_settings(REGISTRY).policy
    snapshot = crowd.mirror.snapshot(NOW)
    recording = Recording(freeze(snapshot), policy_text(policy), run_cycle(snapshot, policy, REGISTRY))
    sys.setswitchinterval(0.001)  # as in the daemon
    late: list[float] = []
    with lateness(late):
        began = time.perf_counter()
        data = pack(recording)
        packed = time.perf_counter()
    back = decode(data)
    decoded = time.perf_counter()
    again = run_cycle(back.snapshot, load_text(back.policy, "recorded", REGISTRY).policy, REGISTRY)
    p99, longest = np.percentile(late, 99) * 1e3, max(late) * 1e3
    print(f"{len(data) / 1e6:.1f} MB, made in {packed - began:.2f} s, read in {decoded - packed:.2f} s")
    print(f"another thread was late by {p99:.1f} ms (99th percentile), {longest:.1f} ms at most")
    print(f"decided again: {'the same' if report_bytes(again) == report_bytes(recording.report) else 'something else'}")


if __name__ == "__main__":
    main()
