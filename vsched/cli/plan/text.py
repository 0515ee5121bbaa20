"""What a plan says, as tables for people: what is decided, who waits and why, and how the queues share. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from vsched.cli.allocations.view import as_table
from vsched.cli.plan.view import Planned, quantities
from vsched.cli.plan.words import pages as words
from vsched.cli.show.drawing import look_for
from vsched.cli.show.places import domain_name
from vsched.framework.times import length
from vsched.model.claims.plan import ClaimPlan
from vsched.model.plan import CycleReport, Evict, JobOutcome, NamespaceOutcome, Nominate, QueueOutcome, Unschedulable
from vsched.model.pods.status import Phase
from vsched.model.queues.queue import Queue

ROWS_MAX = 20
"""A cycle that decides more is told job by job."""
WIDE_COLUMNS = 100
"""A terminal with fewer has no room for blanks around amounts."""
NONE = "-"


def as_text(planned: Planned, width: int, *, unicode: bool = True) -> RenderableType:
    """The whole plan, for a terminal of so many columns."""
    reports, last = planned.reports, planned.last
    parts: list[RenderableType] = [
        _decisions(number, len(reports), report) for number, report in enumerate(reports, start=1)
    ]
    parts += [Text(one) for one in planned.ended]
    waiting = {key: job for key, job in planned.jobs.items() if _waits(job) and not job.implicit}
    if waiting or last.unschedulable:
        parts.append(_waiting(waiting, last.unschedulable, planned.called))
    placed = {key: job for key, job in planned.jobs.items() if job.domain and not job.implicit}
    if placed:
        parts.append(_places(placed, planned.called))
    queues = [last.queues[name].shown for name in sorted(last.queues)]
    parts.append(_queues(queues, planned.queues, padding=1 if width >= WIDE_COLUMNS else 0))
    parts.append(Text(words.SHARE_OF_DESERVED, style="dim"))
    parts += [_problem(queue) for queue in queues if queue.problem]
    if last.namespaces:
        parts.append(_namespaces(last.namespaces))
        parts.append(Text(words.SHARE_OF_CLUSTER, style="dim"))
    if planned.shares is not None:
        look = look_for(width, wide=False, unicode=unicode)
        parts += [Text("\nAllocations", style="italic"), as_table(planned.shares, look, planned.now)]
    if planned.ignored:
        told = ", ".join(f"{count} {kind}" for kind, count in sorted(planned.ignored.items()))
        parts.append(Text(f"ignored: {told}", style="dim"))
    return Group(*parts)


# -- decisions ------------------------------------------------------------------------------------------------------


class Decision(NamedTuple):
    """One decision of a cycle, and what it is told together with."""

    kind: str
    pod: str
    group: str
    """The job, or the namespace of a pod that names none."""
    node: str
    note: str = ""
    beneficiary: str = ""
    beneficiaries: str = ""
    """The group of the beneficiary."""
    claims: str = ""
    """What the claims of the pod get."""

    @property
    def alike(self) -> tuple[str, ...]:
        """What decisions have in common that are told in one row."""
        return self.kind, self.group, self.note, self.beneficiaries


def _decisions(number: int, cycles: int, report: CycleReport) -> RenderableType:
    found = list(_found(report))
    if not found:
        return Text(words.decides_nothing(number, cycles))
    table = Table(title=words.decisions(number, cycles), title_justify="left", show_edge=False)
    for heading in ("decision", "pod", "node", "why"):
        table.add_column(heading, no_wrap=heading == "decision", overflow="fold")
    rows: dict[object, list[Decision]] = {}
    for at, one in enumerate(found):
        rows.setdefault(one.alike if len(found) > ROWS_MAX else at, []).append(one)
    for alike in rows.values():
        beneficiary = _and_more(one.beneficiary for one in alike)
        why = f"{alike[0].note} for {beneficiary}" if beneficiary else alike[0].note or alike[0].claims
        if alike[0].claims and len(alike) > 1:
            why = words.OWN_VOLUMES
        table.add_row(alike[0].kind, _and_more(one.pod for one in alike), _and_more(one.node for one in alike), why)
    return table


def _found(report: CycleReport) -> Iterator[Decision]:
    """Evictions, bindings and reservations, each in the order in which they were decided."""
    for evict in report.evictions:
        job, group = evict.beneficiary, _group(report, evict.beneficiary)
        told = Decision("evict", f"{evict.namespace}/{evict.name}", _group(report, evict.job), evict.node)
        action = words.moves_to(evict.action, evict.to) if evict.to else evict.action
        yield told._replace(note=f"{_asked(evict)}{action}", beneficiary=evict.whom or job, beneficiaries=group)
    for bind in report.binds:
        told = Decision("bind", f"{bind.namespace}/{bind.name}", _group(report, bind.job), bind.node)
        yield told._replace(claims=_claims(bind.claims))
    for one in report.lasting_nominations:
        group = _group(report, one.job)
        yield Decision("nominate", f"{one.namespace}/{one.name}", group, one.node or NONE, _reservation(one))


def _asked(evict: Evict) -> str:
    """``asked to end within 10m: ``; empty where the pod is evicted at once."""
    if not evict.asks:
        return ""
    return words.asked_to_end_within(length(evict.wait)) if evict.wait else words.ASKED_TO_END


def _claims(plan: ClaimPlan | None) -> str:
    """``volume pv-1, a new volume for data, devices n1/gpu-0 and 1 more``."""
    if plan is None:
        return ""
    told = [f"volume {one.volume}" if one.volume else words.new_volume(_name(one.claim)) for one in plan.volumes]
    devices = [f"{each.device.pool}/{each.device.device}" for one in plan.devices for each in one.allocation.devices]
    if devices:
        told.append(f"device{'s' if len(devices) > 1 else ''} {_and_more(devices)}")
    return ", ".join(told)


def _name(key: str) -> str:
    return key.partition("/")[2]


def _is_pod(report: CycleReport, job: str) -> bool:
    """Whether a job was made up for a pod that names no PodGroup."""
    return job in report.jobs and report.jobs[job].implicit


def _group(report: CycleReport, job: str) -> str:
    return job.partition("/")[0] if _is_pod(report, job) else job


def _reservation(one: Nominate) -> str:
    return words.RESERVED if one.node else words.NOT_RESERVED


def _and_more(names: Iterable[str]) -> str:
    """The first of the names, and how many others there are."""
    different = list(dict.fromkeys(names))
    return f"{different[0]} and {len(different) - 1} more" if len(different) > 1 else different[0]


# -- who waits ------------------------------------------------------------------------------------------------------


def _waits(job: JobOutcome) -> bool:
    """Whether pods of a job wait, or the PodGroup itself, before it has any."""
    return bool(job.pending) or (job.phase in (Phase.PENDING, Phase.INQUEUE) and bool(job.message))


def _waiting(jobs: Mapping[str, JobOutcome], pods: Mapping[str, Unschedulable], called: Callable[[str], str]) -> Table:
    table = Table(title="\nWaiting", title_justify="left", show_edge=False)
    table.add_column(words.JOB_OR_POD, overflow="fold")
    table.add_column("phase", no_wrap=True)
    table.add_column("ready", justify="right", no_wrap=True)
    table.add_column("why")
    for key, job in jobs.items():
        table.add_row(called(key), job.phase, f"{job.ready}/{job.min_member}", job.message)
    alike: dict[str, list[str]] = {}
    for key, pod in sorted(pods.items()):
        alike.setdefault(pod.message, []).append(key)
    for message, keys in alike.items():
        table.add_row(f"  {_and_more(keys)}", "", "", message, style="dim")
    return table


def _places(jobs: Mapping[str, JobOutcome], called: Callable[[str], str]) -> Table:
    """The closest domain of each job that asks for closeness, and of its sub-groups that do."""
    table = Table(title="\nPlaces", title_justify="left", show_edge=False)
    table.add_column("job", overflow="fold")
    table.add_column("domain", overflow="fold")
    table.add_column("tier", justify="right", no_wrap=True)
    for key, job in jobs.items():
        table.add_row(called(key), domain_name(job.domain), str(job.tier))
        for group in job.sub_groups:
            table.add_row(f"  {group.name}", domain_name(group.domain), str(group.tier))
    return table


# -- how the queues share -------------------------------------------------------------------------------------------


def _queues(queues: Sequence[QueueOutcome], records: Mapping[str, Queue], *, padding: int) -> Table:
    """A line a resource; columns that say nothing of any queue are left out."""
    table = Table(title="\nQueues", title_justify="left", show_edge=False, padding=(0, padding))
    told = [_amounts(queue) for queue in queues]
    kinds = [kind for kind in ("allocated", "deserved", "guarantee", "capability") if any(one[kind] for one in told)]
    by_priority = any(records[queue.name].priority for queue in queues)
    table.add_column("queue", overflow="fold")
    for heading in (*(["priority"] if by_priority else []), "weight", "share"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("resource", overflow="fold")
    for kind in kinds:
        table.add_column(kind, justify="right", no_wrap=True)
    for queue, amounts in zip(queues, told, strict=True):
        record = records[queue.name]
        first = [
            queue.name if record.open else f"{queue.name} ({record.state})",
            *([str(record.priority)] if by_priority else []),
            str(queue.weight),
            f"{queue.share:.0%}" if queue.deserved or queue.share else NONE,
        ]
        style = "bold red" if queue.overused and queue.share > 1 else None
        resources = sorted({resource for kind in kinds for resource in amounts[kind]})
        for at, resource in enumerate(resources or [""]):
            cells = [amounts[kind].get(resource, NONE) if resource else "" for kind in kinds]
            table.add_row(*(first if at == 0 else [""] * len(first)), resource, *cells, style=style)
    return table


def _amounts(queue: QueueOutcome) -> dict[str, dict[str, str]]:
    return {
        "allocated": quantities(queue.subtree or queue.allocated),
        "deserved": quantities(queue.deserved),
        "guarantee": quantities(queue.guarantee),
        "capability": quantities(queue.capability, slots=True),
    }


def _problem(queue: QueueOutcome) -> Text:
    return Text(f" queue {queue.name}: {queue.problem_reason}: {queue.problem}", style="bold red")


def _namespaces(namespaces: Mapping[str, NamespaceOutcome]) -> Table:
    table = Table(title="\nNamespaces", title_justify="left", show_edge=False)
    table.add_column("queue/namespace", overflow="fold")
    for heading in ("weight", "share"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("allocated")
    for key, namespace in sorted(namespaces.items()):
        held = ", ".join(f"{name} {value}" for name, value in quantities(namespace.allocated).items())
        table.add_row(key, str(namespace.weight), f"{namespace.share:.0%}", held or NONE)
    return table
