"""A real Prometheus on the loopback, on blocks that were written beforehand: nodes as node_exporter shows them.

Back-filled, because averages over minutes cannot be had of live scraping in less. Skips where the binary is absent.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import aiohttp
import pytest

from vsched.lab.children import free_port

STEP_SECONDS = 15
MINUTES = 20
MEMORY_BYTES = 64 << 30


class Curve(NamedTuple):
    """What one node uses, in percent, by seconds before now; and where its samples end."""

    cpu: Callable[[float], float]
    memory: Callable[[float], float]
    until: float = 0.0
    """The newest sample is so many seconds old."""


def steady(cpu: float, memory: float = 50.0, until: float = 0.0) -> Curve:
    """The same all the time."""
    return Curve(lambda ago: cpu, lambda ago: memory, until)


def swinging(low: float, high: float, seconds: float = 60.0) -> Curve:
    """The processors between two levels, so long each."""
    return Curve(lambda ago: low if int(ago // seconds) % 2 else high, lambda ago: 50.0)


def open_metrics(nodes: Mapping[str, Curve], now: float, label: str = "instance") -> str:
    """The samples of the last minutes in OpenMetrics' text format; two processors a node."""
    start = int(now) - MINUTES * 60
    times = range(start - start % STEP_SECONDS, int(now) + 1, STEP_SECONDS)
    lines = ["# TYPE node_cpu_seconds counter"]
    for name, curve in nodes.items():
        for cpu in ("0", "1"):
            idle = 0.0
            for at in times:
                idle += STEP_SECONDS * (1 - curve.cpu(now - at) / 100)
                if now - at >= curve.until:
                    lines.append(f'node_cpu_seconds_total{{{label}="{name}",cpu="{cpu}",mode="idle"}} {idle:.6f} {at}')
    for gauge, of in (
        ("node_memory_MemTotal_bytes", lambda used: MEMORY_BYTES),
        ("node_memory_MemAvailable_bytes", lambda used: MEMORY_BYTES * (1 - used / 100)),
    ):
        lines.append(f"# TYPE {gauge} gauge")
        for name, curve in nodes.items():
            series = f'{gauge}{{{label}="{name}"}}'
            kept = (at for at in times if now - at >= curve.until)
            lines += [f"{series} {of(curve.memory(now - at)):.0f} {at}" for at in kept]
    return "\n".join([*lines, "# EOF", ""])


def binaries() -> tuple[str, str]:
    """Prometheus and its tool; skips the test where they are not there."""
    found = shutil.which("prometheus"), shutil.which("promtool")
    if found[0] is None or found[1] is None:
        pytest.skip("no prometheus on this machine (Debian: apt-get install prometheus)")
    return found[0], found[1]


def backfill(directory: Path, nodes: Mapping[str, Curve], label: str, tool: str, more: str = "") -> None:
    """Blocks with the samples of these nodes up to now, and with further lines of OpenMetrics."""
    text = directory / "samples.txt"
    text.write_text(open_metrics(nodes, time.time(), label).replace("# EOF", f"{more}# EOF"), encoding="utf-8")
    subprocess.run(
        [tool, "tsdb", "create-blocks-from", "openmetrics", str(text), str(directory / "data")],
        check=True,
        capture_output=True,
    )


@asynccontextmanager
async def prometheus(
    nodes: Mapping[str, Curve],
    *,
    label: str = "instance",
    web_config: str = "",
    authorization: str = "",
    more: str = "",
) -> AsyncIterator[str]:
    """The address of a Prometheus that knows these nodes; ended by its process id.

    ``authorization`` is the header that it wants to see, where it is configured to want one.
    ``more`` are further samples.
    """
    server, tool = binaries()
    with tempfile.TemporaryDirectory(prefix="vsched-prometheus-") as name:
        directory, port = Path(name), free_port()
        await asyncio.to_thread(backfill, directory, nodes, label, tool, more)
        (directory / "prometheus.yml").write_text("global: {}\n", encoding="utf-8")
        (directory / "web.yml").write_text(web_config, encoding="utf-8")
        process = await asyncio.create_subprocess_exec(
            server,
            f"--config.file={directory / 'prometheus.yml'}",
            f"--storage.tsdb.path={directory / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
            f"--web.config.file={directory / 'web.yml'}",
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            address = f"127.0.0.1:{port}"
            yield await _ready(address, authorization)
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()


async def _ready(address: str, authorization: str) -> str:
    """The URL, once questions are answered there."""
    headers = {"Authorization": authorization} if authorization else {}
    async with asyncio.timeout(60.0), aiohttp.ClientSession(headers=headers) as session:
        while True:
            try:
                async with session.get(f"http://{address}/-/ready") as answer:
                    if answer.status == 200:
                        return f"http://{address}"
            except aiohttp.ClientError:
                pass
            await asyncio.sleep(0.02)
