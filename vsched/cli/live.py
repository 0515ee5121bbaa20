"""What the demo and the end-to-end bench share: creating gangs fast over HTTP, and the book of what became of them.

A pod's latency is measured here, outside the scheduler: from just before its POST is sent to the moment a watch of
this process shows its ``spec.nodeName``.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import msgspec
import numpy as np
import orjson

from vsched.errors import Unavailable
from vsched.kube.client import JSON, ApiClient
from vsched.kube.deltas import BrokenObject, Delta
from vsched.kube.errors import error_from_answer
from vsched.kube.paths import ApiResource
from vsched.kube.reflector import Reflector

Obj = dict[str, Any]

PODS = ApiResource("", "v1", "pods")
PODGROUPS = ApiResource("scheduling.volcano.sh", "v1beta1", "podgroups")
QUEUES = ApiResource("scheduling.volcano.sh", "v1beta1", "queues", namespaced=False)
NAMESPACES = ApiResource("", "v1", "namespaces", namespaced=False)
QUOTAS = ApiResource("", "v1", "resourcequotas")

IN_FLIGHT = 32
"""Requests on the wire at once."""
LATENCIES = 100_000
"""The latest that are kept, in all and of each queue."""
FINISHED = frozenset({"Succeeded", "Failed"})


# -- sending


class Sender:
    """Requests over a fixed number of kept connections, one at a time on each: a client that costs next to nothing.

    Speaks just enough HTTP for an embedded cluster on this machine: no TLS, no chunked answers, nothing sent twice.
    """

    def __init__(self, server: str, connections: int = IN_FLIGHT) -> None:
        parts = urlsplit(server)
        self._host, self._port = parts.hostname or "", parts.port or 80
        self._server, self._at = server, parts.netloc
        self._free: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter] | None] = asyncio.Queue()
        for _ in range(connections):
            self._free.put_nowait(None)
        self._open: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for writer in self._open:
            writer.close()

    async def create(self, resource: ApiResource, obj: Obj) -> bytes:
        """POST an object where it belongs; the answer's body."""
        return await self.send("POST", resource.path(obj["metadata"].get("namespace", "")), orjson.dumps(obj))

    async def send(self, method: str, path: str, body: bytes = b"") -> bytes:
        """The body of a successful answer; raises ApiError or Unavailable."""
        connection = await self._free.get()
        try:
            if connection is None or connection[0].at_eof() or connection[1].is_closing():
                connection = await asyncio.open_connection(self._host, self._port)
                self._open.add(connection[1])
            reader, writer = connection
            head = f"{method} {path} HTTP/1.1\r\nHost: {self._at}\r\nContent-Type: {JSON}\r\n"
            writer.write(f"{head}Accept: {JSON}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
            code, headers, content = await _read_answer(reader)
        except (OSError, EOFError, ValueError) as error:
            if connection is not None:
                connection[1].close()
                self._open.discard(connection[1])
            connection = None
            raise Unavailable(f"{self._server}: {method} {path}: {error or type(error).__name__}") from error
        finally:
            self._free.put_nowait(connection)
        if code >= 300:
            raise error_from_answer(f"{self._server}: {method} {path}", code, headers, content)
        return content


async def _read_answer(reader: asyncio.StreamReader) -> tuple[int, dict[str, str], bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    return int(head[0].split(" ", 2)[1]), headers, await reader.readexactly(int(headers.get("content-length", "0")))


# -- the book


@dataclass(slots=True)
class Gang:
    """Pods that are to be placed together, and how far they are."""

    key: str
    """``namespace/name`` of the PodGroup, or of the pod where it stands alone."""
    queue: str
    pods: tuple[str, ...]
    """``namespace/name`` of each."""
    cpus: int = 0
    """What one of them asks for."""
    began: float = 0.0
    """When the first POST was sent; steady clock."""
    bound: int = 0
    bound_at: float = 0.0
    """When the last of them was seen on a node."""
    finished: int = 0
    nodes: set[str] = field(default_factory=set)

    @property
    def namespace(self) -> str:
        return self.key.partition("/")[0]

    @property
    def partial(self) -> bool:
        """Some on nodes, others not: what must not last."""
        return 0 < self.bound < len(self.pods)

    @property
    def waiting(self) -> int:
        return len(self.pods) - self.bound


@dataclass(slots=True)
class _PodEntry:
    gang: Gang
    sent: float = 0.0
    node: str = ""
    finished: bool = False


class _Metadata(msgspec.Struct, gc=False):
    name: str
    namespace: str


class _Spec(msgspec.Struct, rename="camel", gc=False):
    node_name: str = ""


class _Status(msgspec.Struct, gc=False):
    phase: str = ""


class PodSeen(msgspec.Struct, gc=False):
    """The little that is read of a pod."""

    metadata: _Metadata
    spec: _Spec
    status: _Status = msgspec.field(default_factory=_Status)


class Book:
    """What was created, and when it was placed and finished; a sink of a watch of pods."""

    def __init__(self, on_bound: Callable[[Gang], None] = lambda gang: None) -> None:
        self.gangs: dict[str, Gang] = {}
        """Those that are not forgotten yet."""
        self.created = self.bound = self.finished = self.gangs_bound = 0
        self.peak_per_second = 0
        """The most pods that were placed within one second."""
        self.latencies: deque[float] = deque(maxlen=LATENCIES)
        """Seconds, of all pods."""
        self.by_queue: dict[str, deque[float]] = {}
        self.on_nodes: Counter[str] = Counter()
        """Pods that are placed and not finished, by node."""
        self.holding: Counter[str] = Counter()
        """The same by queue."""
        self.done: deque[Gang] = deque()
        """Gangs whose pods have all finished, until somebody clears them away."""
        self._on_bound = on_bound
        self._pods: dict[str, _PodEntry] = {}
        self._recent: deque[float] = deque()

    def expect(self, gang: Gang) -> None:
        """A gang is about to be created."""
        self.gangs[gang.key] = gang
        self._pods.update((pod, _PodEntry(gang)) for pod in gang.pods)

    def sending(self, pod: str) -> None:
        """The POST of a pod is sent now."""
        entry = self._pods[pod]
        entry.sent = time.perf_counter()
        entry.gang.began = entry.gang.began or entry.sent
        self.created += 1

    def forget(self, gang: Gang) -> None:
        """A gang is no more of interest."""
        self.gangs.pop(gang.key, None)
        for pod in gang.pods:
            self._pods.pop(pod, None)

    def waiting(self) -> Counter[tuple[str, str]]:
        """The pods that are not on a node, by queue and namespace."""
        counts: Counter[tuple[str, str]] = Counter()
        for gang in self.gangs.values():
            counts[gang.queue, gang.namespace] += gang.waiting
        return counts

    def partial(self) -> list[str]:
        """Gangs with some of their pods on nodes and others not."""
        return [gang.key for gang in self.gangs.values() if gang.partial]

    def per_second(self) -> int:
        """Pods placed within the last second."""
        self._let_go(time.perf_counter())
        return len(self._recent)

    # The watch

    def replace(self, items: list[PodSeen], resource_version: str) -> None:
        for item in items:
            self._see(item)

    def apply(self, delta: Delta, item: PodSeen) -> None:
        if delta is not Delta.DELETED:
            self._see(item)

    def broken(self, raw: bytes, error: BrokenObject) -> None:
        """A pod without a name or a namespace is none of ours."""

    def _see(self, pod: PodSeen) -> None:
        entry = self._pods.get(f"{pod.metadata.namespace}/{pod.metadata.name}")
        if entry is None:
            return
        if pod.spec.node_name and not entry.node:
            self._placed(entry, pod.spec.node_name)
        if pod.status.phase in FINISHED and not entry.finished:
            self._ended(entry)

    def _placed(self, entry: _PodEntry, node: str) -> None:
        now, gang = time.perf_counter(), entry.gang
        entry.node = node
        self.bound += 1
        self.on_nodes[node] += 1
        self.holding[gang.queue] += 1
        self.latencies.append(now - entry.sent)
        self.by_queue.setdefault(gang.queue, deque(maxlen=LATENCIES)).append(now - entry.sent)
        self._recent.append(now)
        self._let_go(now)
        self.peak_per_second = max(self.peak_per_second, len(self._recent))
        gang.bound, gang.bound_at = gang.bound + 1, now
        gang.nodes.add(node)
        if gang.bound == len(gang.pods):
            self.gangs_bound += 1
            self._on_bound(gang)

    def _ended(self, entry: _PodEntry) -> None:
        entry.finished = True
        self.finished += 1
        if entry.node:
            self.holding[entry.gang.queue] -= 1
            self.on_nodes[entry.node] -= 1
            if not self.on_nodes[entry.node]:
                del self.on_nodes[entry.node]
        entry.gang.finished += 1
        if entry.gang.finished == len(entry.gang.pods):
            self.done.append(entry.gang)

    def _let_go(self, now: float) -> None:
        while self._recent and self._recent[0] < now - 1.0:
            self._recent.popleft()


def pod_watch(client: ApiClient, book: Book) -> Reflector[PodSeen]:
    """What keeps the book in step with the cluster."""
    return Reflector(client, PODS, msgspec.json.Decoder(PodSeen).decode, book)


async def submit(sender: Sender, book: Book, gang: Gang, objects: Sequence[Obj]) -> None:
    """Create a gang's PodGroup, where it has one, and then its pods, all at once."""
    book.expect(gang)
    pods = [found for found in objects if found["kind"] == "Pod"]
    for group in objects:
        if group["kind"] == "PodGroup":
            made = orjson.loads(await sender.create(PODGROUPS, group))
            owned_by(made, pods)
    async with asyncio.TaskGroup() as tasks:
        for pod in pods:
            tasks.create_task(_create_pod(sender, book, pod))


async def _create_pod(sender: Sender, book: Book, pod: Obj) -> None:
    path, body = PODS.path(pod["metadata"]["namespace"]), orjson.dumps(pod)
    book.sending(key_of(pod))
    await sender.send("POST", path, body)


def owned_by(group: Obj, pods: Iterable[Obj]) -> None:
    """Have the pods go when their PodGroup goes."""
    reference = {
        "apiVersion": group["apiVersion"],
        "kind": group["kind"],
        "name": group["metadata"]["name"],
        "uid": group["metadata"]["uid"],
    }
    for pod in pods:
        pod["metadata"]["ownerReferences"] = [reference]


def key_of(obj: Obj) -> str:
    """``namespace/name``."""
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"


def spread_ms(seconds: Iterable[float]) -> dict[str, float]:
    """Median and 99th percentile in milliseconds; zeros where there is nothing."""
    values = np.fromiter(seconds, float)
    if not values.size:
        return {"p50": 0.0, "p99": 0.0}
    p50, p99 = np.percentile(values, (50, 99)) * 1000
    return {"p50": round(float(p50), 2), "p99": round(float(p99), 2)}
