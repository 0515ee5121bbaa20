"""The results of ``vsched bench-live`` as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.table import Table

from vsched.lab.bench.report import figures_table, pair, side_by_side
from vsched.lab.claiming import DEVICES, VOLUMES

Result = Mapping[str, Any]
LOOPS = {
    "bindings": "bindings alone",
    "placed_at_once": "Volcano's writes, placed at once",
    "seen_before": "Volcano's writes, seen before",
}


def as_tables(result: Result) -> Iterator[Table]:
    """The figures of a run, the plain loops beside it, and what both say together."""
    if "figures" in result:
        yield _against(result)
        return
    yield figures_table(_rows(result))
    if result["loops"] is not None:
        yield _loops(result["loops"])
        yield figures_table(_compared(result))


def _rows(result: Result) -> Iterator[tuple[str, str]]:
    how = "over TLS" if result["tls"] else "over plain HTTP"
    slow = f", {result['server_ms']:g} ms of the server a write" if result["server_ms"] else ""
    yield "daemon's processor time for each pod (ms)", _figure(result["daemon_cpu_ms_per_pod"])
    yield "pods, gang, nodes", f"{result['pods']:,}, {result['gang']:,}, {result['nodes']:,}"
    yield "how", f"{how}, a pod of {result['pod_bytes']:,} bytes{slow}"
    yield "each pod claims", {VOLUMES: "a volume", DEVICES: "a device"}.get(result["claims"], "nothing")
    yield "first creation to last binding (s)", f"{result['seconds']:.2f}"
    yield "pods a second", f"{result['pods_per_second']:,.0f}"
    yield "creating alone (s)", f"{result['create_seconds']:.2f}"
    yield "creation to binding in the burst, p50 / p99 (ms)", pair(result["latency_ms"])
    yield "creation to binding one pod at a time, p50 / p99 (ms)", pair(result["single_latency_ms"])
    yield "daemon's writes a pod", _each(result["api_writes_per_pod"])
    yield "processor time (s)", _each(result["cpu_seconds"])
    yield "the same for each pod of the burst (ms)", _each(result["cpu_ms_per_pod"])
    if (waiting := result["waiting"]) is not None:
        yield "pods that wait already, pods a second", f"{waiting['pods_per_second']:,.0f} of {waiting['pods']:,}"
        yield "daemon's writes for each of these", _each(waiting["api_writes_per_pod"])
        yield "processor time for each of these (ms)", _each(waiting["cpu_ms_per_pod"])


def _loops(loops: Result) -> Table:
    table = side_by_side(
        "Plain loops of aiohttp: processor time of loop and server for each write",
        ("pods/s", "writes/pod", "ms/write", "server"),
    )
    for name, title in LOOPS.items():
        found = loops[name]
        served = _figure(found["server_cpu_ms_per_write"])
        writes, spent = f"{found['writes_per_pod']:g}", f"{found['cpu_ms_per_write']:.2f}"
        table.add_row(title, f"{found['pods_per_second']:,.0f}", writes, spent, served)
    return table


def _compared(result: Result) -> Iterator[tuple[str, str]]:
    yield "ratio: daemon's time a pod / loop's time a binding", _figure(result["ratio"])
    for name, times in (result["times_volcano"] or {}).items():
        yield f"pods/s of waiting / {LOOPS[name]}", f"{times:.2f}"
    for name, times in (result["server_times_volcano"] or {}).items():
        yield f"{LOOPS[name]} / waiting, time of the server", f"{times:.2f}"


def _against(result: Result) -> Table:
    title = f"Medians of {result['rounds']} runs each, in turns with {result['revision']} ({result['commit'][:12]})"
    table = side_by_side(title, ("today", "revision", "times"))
    for name, figure in result["figures"].items():
        row = [f"{figure[key]:,.3f}" for key in ("today", "revision")]
        table.add_row(name.replace("_", " ").replace(".", ": "), *row, _figure(figure["times"]))
    return table


def _each(figures: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in figures.items()) or "none"


def _figure(value: float | None) -> str:
    """A figure, or a dash on systems that do not tell it."""
    return "-" if value is None else f"{value:.2f}"
