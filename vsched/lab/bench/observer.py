"""What benches measure of a daemon from outside: bindings, readiness, stalls, metrics, memory."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Set
from pathlib import Path

import msgspec
from prometheus_client.parser import text_string_to_metric_families

from vsched.api.resources import PODS
from vsched.errors import Unavailable
from vsched.kube.client import ApiClient
from vsched.kube.errors import ApiError
from vsched.kube.watch.framing import LineSplitter, decode_event
from vsched.lab import words
from vsched.lab.outcomes import PodSeen

PATIENCE_SECONDS = 300.0
PROBE_SECONDS = 0.01
LINE_BYTES = 16 << 20
_read_pod = msgspec.json.Decoder(PodSeen).decode


class Observer:
    """Notes when a watch of the cluster first shows each pod on a node; keeps names and times only."""

    def __init__(self, client: ApiClient) -> None:
        self.opened = asyncio.Event()
        self.bound: dict[str, float] = {}
        """When each pod was first seen on a node, by name; steady clock."""
        self._client = client
        self._moved = asyncio.Event()

    async def run(self) -> None:
        """Watch until cancelled. Pods bound between the end of a watch and the next one are missed."""
        while True:
            page = await self._client.get(PODS.path(), {"limit": "1"})
            params = {"watch": "1", "resourceVersion": page["metadata"]["resourceVersion"]}
            splitter = LineSplitter(LINE_BYTES)
            try:
                async with self._client.stream(PODS.path(), params, silence_seconds=PATIENCE_SECONDS) as chunks:
                    self.opened.set()
                    async for chunk in chunks:
                        for line in splitter.feed(chunk):
                            self._see(line)
            except Unavailable:
                continue

    def _see(self, line: bytes) -> None:
        pod = _read_pod(decode_event(line).object)
        if pod.spec.node_name and pod.metadata.name not in self.bound:
            self.bound[pod.metadata.name] = time.perf_counter()
            self._moved.set()

    async def until(self, count: int) -> None:
        """Wait until so many pods were bound; raises Unavailable where that takes too long."""
        await self._until(lambda: count - len(self.bound))

    async def until_all(self, names: Set[str]) -> None:
        """Wait until these pods were bound; raises Unavailable where that takes too long."""
        await self._until(lambda: len(names - self.bound.keys()))

    async def _until(self, missing: Callable[[], int]) -> None:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while missing() > 0:
                    self._moved.clear()
                    await self._moved.wait()
        except TimeoutError:
            raise Unavailable(words.not_bound(missing(), PATIENCE_SECONDS)) from None


class Probe:
    """Asks a daemon again and again whether it is ready, and times the answers."""

    def __init__(self, client: ApiClient) -> None:
        self.answers = asyncio.Event()
        self.ready = asyncio.Event()
        self.ready_at = 0.0
        """When it was first ready; steady clock."""
        self.seconds: list[float] = []
        """How long each answer took, since ``longest_ms`` was last called."""
        self._client = client

    async def run(self) -> None:
        """Ask until cancelled."""
        while True:
            began = time.perf_counter()
            ready = await self._ask()
            if ready is not None:
                self.answers.set()
                ended = time.perf_counter()
                self.seconds.append(ended - began)
                if ready and not self.ready.is_set():
                    self.ready_at = ended
                    self.ready.set()
            await asyncio.sleep(PROBE_SECONDS)

    def longest_ms(self) -> float:
        """The longest answer since the last call."""
        seconds, self.seconds = self.seconds, []
        return round(max(seconds, default=0.0) * 1e3, 1)

    async def _ask(self) -> bool | None:
        """Whether the daemon is ready; None where it does not answer yet."""
        try:
            await self._client.request("GET", "/readyz", attempts=1)
        except Unavailable:
            return None
        except ApiError:
            return False
        return True


async def counter(daemon: ApiClient, name: str, label: str) -> Counter[str]:
    """A counter of a daemon's metrics, summed by one of its labels."""
    text = (await daemon.request("GET", "/metrics")).body.decode()
    counts: Counter[str] = Counter()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == name:
                counts[sample.labels[label]] += int(sample.value)
    return counts


async def relists(daemon: ApiClient) -> Counter[str]:
    """How often a daemon has listed each kind again."""
    return await counter(daemon, "vsched_watch_relists_total", "name")


def memory_mb(process: int) -> dict[str, int]:
    """The resident memory of a process now, and at its peak; empty on systems without /proc."""
    status = Path(f"/proc/{process}/status")
    if not status.exists():
        return {}
    fields = dict(line.split(":", 1) for line in status.read_text(encoding="ascii").splitlines())
    return {name: int(fields[field].split()[0]) // 1024 for name, field in (("peak", "VmHWM"), ("now", "VmRSS"))}
