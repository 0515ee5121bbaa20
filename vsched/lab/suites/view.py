"""What was measured of workloads: as a document, as a table, and as lines while they run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from vsched.lab.suites import words
from vsched.lab.suites.run import Result


def document(results: Sequence[Result], where: str) -> dict[str, Any]:
    """All results as one document."""
    return {"measured": where, "workloads": [_entry(result) for result in results]}


def _entry(result: Result) -> dict[str, Any]:
    workload, threshold, times = result.workload, result.workload.threshold, result.times_threshold
    found: dict[str, Any] = {
        "case": workload.case,
        "workload": workload.name,
        "where": workload.where,
        "labels": list(workload.labels),
        "feature_gates": dict(workload.gates),
        "threshold": None if threshold is None else threshold.number,
        "threshold_counts": "" if threshold is None else threshold.counts or words.PODS_PER_SECOND,
        "pods_per_second": round(result.pods_per_second, 1),
        "times_threshold": None if times is None else round(times, 2),
        "measured": [
            {
                "name": each.name,
                "pods": each.pods,
                "seconds": round(each.seconds, 4),
                "cpu_ms_per_pod": {name: round(spent, 3) for name, spent in each.cpu_ms_per_pod.items()},
            }
            for each in result.measured
        ],
        "seconds_in_all": round(result.seconds, 2),
    }
    said = {"left_out": result.left_out, "problem": result.problem, "same_as": result.same_as}
    return found | {key: text for key, text in said.items() if text} | {"notes": list(workload.notes)}


def line(result: Result) -> str:
    """A result in one line."""
    if result.left_out:
        return words.left_out(result.left_out)
    if result.problem:
        return words.not_done(result.problem)
    said = f"{result.pods_per_second:,.0f} pods/s"
    times = result.times_threshold
    if times is not None and result.workload.threshold is not None:
        said += words.times_threshold(times, result.workload.threshold.number)
    spent = {} if result.slowest is None else result.slowest.cpu_ms_per_pod
    if spent:
        said += f"; CPU ms a pod: {', '.join(f'{name} {each:.2f}' for name, each in spent.items())}"
    return said + (f" (as {result.same_as})" if result.same_as else "")


def tables(results: Sequence[Result], where: str) -> RenderableType:
    """A row for each workload, and below what is to be said of them."""
    table = Table(title=words.pods_per_second(where), title_justify="left", show_edge=False)
    table.add_column("workload", overflow="fold")
    processes = list(dict.fromkeys(name for result in results for each in result.measured for name in each.cpu_seconds))
    spent = ("CPU ms/pod",) if processes else ()
    for heading in ("pods", "seconds", "pods/s", "threshold", "times", *spent):
        table.add_column(heading, justify="right", no_wrap=True)
    for result in results:
        if not result.left_out:
            table.add_row(*_row(result), *([_spent(result, processes)] if processes else ()))
    if processes:
        table.caption = f"CPU ms/pod: {', '.join(processes)}"
    return Group(table, *_remarks(results))


def _row(result: Result) -> tuple[str, ...]:
    threshold, times, slowest = result.workload.threshold, result.times_threshold, result.slowest
    measured = (f"{slowest.pods:,}", f"{slowest.seconds:.2f}") if slowest is not None else ("", "")
    return (
        result.workload.full_name,
        *measured,
        "not done" if result.problem else f"{result.pods_per_second:,.0f}",
        "" if threshold is None else f"{threshold.number:g}",
        "" if times is None else f"{times:,.1f}",
    )


def _spent(result: Result, processes: Sequence[str]) -> str:
    """The processor time of each process for a pod, of the slowest that was measured."""
    found = {} if result.slowest is None else result.slowest.cpu_ms_per_pod
    return ", ".join(f"{found[name]:.2f}" for name in processes if name in found)


def _remarks(results: Sequence[Result]) -> Iterator[str]:
    if any(result.workload.gates for result in results):
        yield f"\n{words.FEATURE_GATES}"
    for result in results:
        name, threshold = result.workload.full_name, result.workload.threshold
        if result.left_out:
            yield words.is_left_out(name, result.left_out)
        if result.problem:
            yield words.is_not_done(name, result.problem)
        if threshold is not None and threshold.counts:
            yield words.nothing_compared(name, threshold.counts)
        yield from (f"{name}: {note}" for note in result.workload.notes)
