"""What a plan says, as the stable JSON shape and as tables for people. Pure: reports in, data or renderables out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from vsched.model.plan import CycleReport, JobOutcome, NamespaceOutcome, QueueOutcome, Unschedulable
from vsched.model.resources import format_amount

Document = dict[str, Any]


def as_document(reports: Sequence[CycleReport], ignored: Mapping[str, int]) -> Document:
    """The result of all cycles: decisions cycle by cycle, everything else as it stands after the last one."""
    last = reports[-1]
    jobs: dict[str, JobOutcome] = {}
    for report in reports:
        jobs.update(report.jobs)
    return {
        "cycles": [_cycle(report) for report in reports],
        "jobs": {key: _job(jobs[key]) for key in sorted(jobs) if not jobs[key].implicit},
        "queues": {name: _queue(last.queues[name]) for name in sorted(last.queues)},
        "namespaces": {key: _namespace(last.namespaces[key]) for key in sorted(last.namespaces)},
        "unschedulable": {key: _unschedulable(last.unschedulable[key]) for key in sorted(last.unschedulable)},
        "ignored": dict(sorted(ignored.items())),
    }


def _cycle(report: CycleReport) -> Document:
    return {
        "binds": [{"pod": f"{bind.namespace}/{bind.name}", "node": bind.node} for bind in report.binds],
        "evictions": [
            {
                "pod": f"{evict.namespace}/{evict.name}",
                "action": evict.action,
                "for": evict.beneficiary,
                "node": evict.node,
            }
            for evict in report.evictions
        ],
        "nominations": [{"pod": f"{one.namespace}/{one.name}", "node": one.node} for one in report.nominations],
    }


def _job(job: JobOutcome) -> Document:
    return {
        "phase": job.phase,
        "queue": job.queue,
        "minMember": job.min_member,
        "ready": job.ready,
        "pending": job.pending,
        "message": job.message,
        "reasons": dict(sorted(job.reasons.items())),
    }


def _queue(queue: QueueOutcome) -> Document:
    return {
        "share": round(queue.share, 6),
        "weight": queue.weight,
        "allocated": _quantities(queue.subtree or queue.allocated),
        "deserved": _quantities(queue.deserved),
        "capability": _quantities(queue.capability),
        "guarantee": _quantities(queue.guarantee),
        "overused": queue.overused,
    }


def _namespace(namespace: NamespaceOutcome) -> Document:
    return {
        "weight": namespace.weight,
        "share": round(namespace.share, 6),
        "allocated": _quantities(namespace.allocated),
    }


def _unschedulable(one: Unschedulable) -> Document:
    return {"message": one.message, "reasons": dict(sorted(one.reasons.items()))}


def _quantities(amounts: Mapping[str, int]) -> dict[str, str]:
    return {name: format_amount(name, value) for name, value in sorted(amounts.items()) if name != "pods"}


# -- for people -----------------------------------------------------------------------------------------------------


def as_text(document: Document) -> RenderableType:
    """The same document as tables: what is decided, who waits and why, and how the queues share."""
    parts: list[RenderableType] = []
    for number, cycle in enumerate(document["cycles"], start=1):
        parts.append(_decisions(number, len(document["cycles"]), cycle))
    waiting = {key: job for key, job in document["jobs"].items() if job["pending"]}
    if waiting or document["unschedulable"]:
        parts.append(_waiting(waiting, document["unschedulable"]))
    parts.append(_queues(document["queues"]))
    if document["namespaces"]:
        parts.append(_namespaces(document["namespaces"]))
    if document["ignored"]:
        told = ", ".join(f"{count} {kind}" for kind, count in document["ignored"].items())
        parts.append(Text(f"ignored: {told}", style="dim"))
    return Group(*parts)


def _decisions(number: int, cycles: int, cycle: Document) -> RenderableType:
    table = Table(title=f"Decisions of cycle {number} of {cycles}", title_justify="left", show_edge=False)
    for heading in ("decision", "pod", "node", "for"):
        table.add_column(heading)
    for kind, key in (("evict", "evictions"), ("bind", "binds"), ("nominate", "nominations")):
        for one in cycle[key]:
            table.add_row(kind, one["pod"], one["node"], one.get("for", ""))
    return table if table.row_count else Text(f"Cycle {number} of {cycles} decides nothing.")


def _waiting(jobs: Mapping[str, Document], pods: Mapping[str, Document]) -> Table:
    table = Table(title="\nWaiting", title_justify="left", show_edge=False)
    table.add_column("job or pod", no_wrap=True)
    table.add_column("phase")
    table.add_column("ready", justify="right")
    table.add_column("why")
    for key, job in jobs.items():
        table.add_row(key, job["phase"], f"{job['ready']}/{job['minMember']}", job["message"])
    alike: dict[str, list[str]] = {}
    for key, pod in pods.items():
        alike.setdefault(pod["message"], []).append(key)
    for message, keys in alike.items():
        more = f" and {len(keys) - 1} more" if len(keys) > 1 else ""
        table.add_row(f"  {keys[0]}{more}", "", "", message, style="dim")
    return table


def _queues(queues: Mapping[str, Document]) -> Table:
    table = Table(title="\nQueues", title_justify="left", show_edge=False)
    table.add_column("queue")
    for heading in ("weight", "share"):
        table.add_column(heading, justify="right")
    table.add_column("allocated")
    table.add_column("deserved")
    for name, queue in queues.items():
        table.add_row(
            name,
            str(queue["weight"]),
            f"{queue['share']:.0%}",
            _told(queue["allocated"]),
            _told(queue["deserved"]),
            style="bold red" if queue["overused"] and queue["share"] > 1 else None,
        )
    return table


def _namespaces(namespaces: Mapping[str, Document]) -> Table:
    table = Table(title="\nNamespaces", title_justify="left", show_edge=False)
    table.add_column("queue/namespace")
    for heading in ("weight", "share"):
        table.add_column(heading, justify="right")
    table.add_column("allocated")
    for key, namespace in namespaces.items():
        table.add_row(key, str(namespace["weight"]), f"{namespace['share']:.0%}", _told(namespace["allocated"]))
    return table


def _told(amounts: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in amounts.items()) or "-"
