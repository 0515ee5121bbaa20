"""The results of ``vsched bench-live`` as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.table import Table

from vsched.lab.bench.report import figures_table, pair, side_by_side
from vsched.lab.bench.words import live as words
from vsched.lab.claiming import DEVICES, VOLUMES

Result = Mapping[str, Any]
LOOPS = {
    "bindings": "bindings alone",
    "placed_at_once": words.VOLCANO_AT_ONCE,
    "seen_before": words.VOLCANO_SEEN_BEFORE,
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
    how = "over TLS" if result["tls"] else words.OVER_HTTP
    slow = words.server_time(result["server_ms"]) if result["server_ms"] else ""
    yield words.DAEMON_TIME, _figure(result["daemon_cpu_ms_per_pod"])
    yield "pods, gang, nodes", f"{result['pods']:,}, {result['gang']:,}, {result['nodes']:,}"
    yield "how", words.how(how, result["pod_bytes"], slow)
    yield words.EACH_CLAIMS, {VOLUMES: "a volume", DEVICES: "a device"}.get(result["claims"], "nothing")
    yield words.FIRST_TO_LAST, f"{result['seconds']:.2f}"
    yield "pods a second", f"{result['pods_per_second']:,.0f}"
    yield words.CREATING, f"{result['create_seconds']:.2f}"
    yield words.LATENCY_IN_BURST, pair(result["latency_ms"])
    yield words.LATENCY_ALONE, pair(result["single_latency_ms"])
    yield words.DAEMON_WRITES, _each(result["api_writes_per_pod"])
    yield words.PROCESSOR_TIME, _each(result["cpu_seconds"])
    yield words.SAME_FOR_EACH, _each(result["cpu_ms_per_pod"])
    if (waiting := result["waiting"]) is not None:
        yield words.WAITING, f"{waiting['pods_per_second']:,.0f} of {waiting['pods']:,}"
        yield words.WAITING_WRITES, _each(waiting["api_writes_per_pod"])
        yield words.WAITING_TIME, _each(waiting["cpu_ms_per_pod"])


def _loops(loops: Result) -> Table:
    table = side_by_side(words.LOOPS, ("pods/s", "writes/pod", "ms/write", "server"))
    for name, title in LOOPS.items():
        found = loops[name]
        served = _figure(found["server_cpu_ms_per_write"])
        writes, spent = f"{found['writes_per_pod']:g}", f"{found['cpu_ms_per_write']:.2f}"
        table.add_row(title, f"{found['pods_per_second']:,.0f}", writes, spent, served)
    return table


def _compared(result: Result) -> Iterator[tuple[str, str]]:
    yield words.RATIO, _figure(result["ratio"])
    for name, times in (result["times_volcano"] or {}).items():
        yield words.waiting_by_loop(LOOPS[name]), f"{times:.2f}"
    for name, times in (result["server_times_volcano"] or {}).items():
        yield words.server_by_waiting(LOOPS[name]), f"{times:.2f}"


def _against(result: Result) -> Table:
    title = words.medians(result["rounds"], result["revision"], result["commit"][:12])
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
