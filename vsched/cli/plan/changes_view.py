"""The answer to a what-if, for people: the fate of what was submitted, then what else is different from today. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import islice

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from vsched.cli.plan.changes import BindChange, Changes, EvictionChange, Fate, JobChange, QueueChange
from vsched.cli.plan.changes import as_document as changes_as_document
from vsched.cli.plan.live import WhatIf
from vsched.cli.plan.view import Document
from vsched.cli.plan.view import as_document as plan_as_document
from vsched.cli.plan.words import pages as words
from vsched.cli.show.columns import columned
from vsched.cli.show.drawing import Look, short
from vsched.cli.show.places import domain_name
from vsched.model.amounts.resources import parse_amount

ROWS_MAX = 20
"""Pods that are told one by one; of more, jobs are told."""
LINES_MAX = 50
"""Rows of any other table: who asks what a policy does to thousands of jobs wants to read the answer."""
NODES_MAX = 4
"""Nodes that are named in one line."""
NONE = "-"
STYLES = {"starts": "green", "grows": "green", "new": "green", "waits": "red", "shrinks": "yellow", "gone": "red"}
WORDS = {"reason": "still waits"}
RANKS = {
    name: rank for rank, name in enumerate(("waits", "gone", "starts", "new", "shrinks", "grows", "phase", "reason"))
}
"""What is told first of so many jobs that not all are: what a person would rather know."""
TITLES = {
    "waits": words.STOP_OR_WAIT,
    "starts": "start",
    "shrinks": "shrink",
    "grows": "grow",
    "phase": words.IN_ANOTHER_PHASE,
    "reason": "still wait",
}
USUAL = ("cpu", "memory")


def as_text(what: WhatIf, look: Look) -> RenderableType:
    """The whole answer."""
    changes = what.changes
    parts: list[RenderableType] = [_heading(what)]
    parts += [Text(f"  {note}", style="dim") for note in what.notes[:LINES_MAX]]
    if len(what.notes) > LINES_MAX:
        parts.append(Text(words.more_notes(len(what.notes) - LINES_MAX), style="dim"))
    if changes.submitted:
        parts.append(_titled("Submitted", _submitted(changes.submitted, look)))
    if changes.nothing:
        return Group(*parts, Text(words.NOTHING_DIFFERENT), *_ignored(what))
    if changes.jobs:
        parts.append(_titled(_jobs_title(changes.jobs), _jobs(changes.jobs, look)))
    if changes.binds:
        parts.append(_titled("Placements", _binds(changes.binds, look)))
    if changes.evictions:
        parts.append(_titled("Evictions", _evictions(changes.evictions)))
    parts.append(_titled(f"Nodes: {_pair(look, *changes.nodes)}", _nodes(changes, look)))
    if changes.queues:
        parts.append(_titled("Queues", _queues(changes, look)))
        parts += [_problem(name, queue) for name, queue in changes.queues.items() if "problem" in queue.fields]
    if changes.namespaces:
        parts.append(_titled("Namespaces", _namespaces(changes, look)))
    return Group(*parts, *_ignored(what))


def _ignored(what: WhatIf) -> Iterable[Text]:
    """What was submitted and makes no difference, in a line where there is anything."""
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(what.then.ignored.items()))
    return [Text(f"ignored: {told}", style="dim")] if told else []


def as_document(what: WhatIf) -> Document:
    """The answer as data: both plans in the stable shape, and what differs."""
    head = what.recording.head
    return {
        "session": {"number": head.number, "at": what.recording.snapshot.now, "version": head.version},
        "edits": list(what.edits),
        "notes": list(what.notes),
        "changes": changes_as_document(what.changes),
        "today": plan_as_document(what.today),
        "then": plan_as_document(what.then),
    }


def shift(look: Look, whole: float, today: float, then: float) -> Text:
    """What is held of the whole: what stays, what comes on top of it, and what is given back."""
    if not whole or not look.cells:
        return Text(" " * look.cells)
    full, empty, _ = look.signs
    more, less = ("▒", "░") if look.unicode else ("+", "-")
    at, to = (min(look.cells, round(amount / whole * look.cells)) for amount in (today, then))
    kept = min(at, to)
    if today < then:
        to = max(to, kept + 1) if kept < look.cells else to
    elif then < today:
        at = max(at, kept + 1) if kept < look.cells else at
    return Text.assemble(
        (full * kept, "cyan"),
        (more * (to - kept), "green"),
        (less * (at - kept), "red"),
        (empty * (look.cells - max(at, to, kept)), "dim"),
    )


def _arrow(look: Look) -> str:
    return "→" if look.unicode else "->"


def _pair(look: Look, today: object, then: object) -> str:
    """Both values, or the one there is."""
    old, new = (NONE if value in (None, "") else str(value) for value in (today, then))
    return new if old == new else f"{old} {_arrow(look)} {new}"


def _titled(title: str, table: Table) -> Group:
    """A table under its title; a title of the table's own would be as wide as the table."""
    return Group(Text(f"\n{title}", style="bold"), table)


def _heading(what: WhatIf) -> Text:
    head = what.recording.head
    moment = datetime.fromtimestamp(what.recording.snapshot.now, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
    asked = ", ".join(what.edits) or "nothing changes"
    return Text.assemble(("What if ", "bold"), (asked, "bold cyan"), f"  (session {head.number} of {moment})")


# -- what was submitted ---------------------------------------------------------------------------------------------


def _submitted(fates: Sequence[Fate], look: Look) -> Table:
    table = columned(("object", "pods", "", "placed", "where", words.WHY_NOT_ALL), numbers={"pods"})
    for column in table.columns[4:]:
        column.no_wrap, column.overflow = False, "fold"
    for fate in fates[:LINES_MAX]:
        done = fate.placed >= fate.pods
        table.add_row(
            f"{fate.kind} {fate.name}",
            str(fate.pods),
            shift(look, fate.pods, 0, fate.placed),
            Text(f"{fate.placed}/{fate.pods}", style="green" if done else "red"),
            _where(fate.nodes) + (f" (in {domain_name(fate.domain)}, tier {fate.tier})" if fate.domain else ""),
            fate.message,
        )
    return _bounded(table, len(fates))


def _where(nodes: dict[str, int]) -> str:
    told = [name if count == 1 else f"{count} on {name}" for name, count in list(nodes.items())[:NODES_MAX]]
    rest = len(nodes) - NODES_MAX
    return ", ".join((*told, f"and {rest} more")) if rest > 0 else ", ".join(told) or NONE


# -- jobs and pods --------------------------------------------------------------------------------------------------


def _jobs(jobs: Sequence[JobChange], look: Look) -> Table:
    table = columned(
        ("job", "queue", "change", "ready", "pending", "reason"), giving={"reason"}, numbers={"ready", "pending"}
    )
    some = jobs if len(jobs) <= LINES_MAX else sorted(jobs, key=lambda job: RANKS[job.change])[:LINES_MAX]
    for job in some:
        message = job.message[1] if job.message[1] is not None else ""
        table.add_row(
            job.job,
            job.queue,
            Text(_word(look, job), style=STYLES.get(job.change, "")),
            _pair(look, *job.ready),
            _pair(look, *job.pending),
            message,
        )
    return _bounded(table, len(jobs))


def _jobs_title(jobs: Sequence[JobChange]) -> str:
    """Where not every job has a row, how many of them there are of each sort."""
    counts = Counter(job.change for job in jobs)
    told = ", ".join(f"{counts[change]:,} {TITLES.get(change, change)}" for change in RANKS if counts[change])
    return f"Jobs: {told}" if len(jobs) > LINES_MAX else "Jobs"


def _word(look: Look, job: JobChange) -> str:
    return _pair(look, *job.phase) if job.change == "phase" else WORDS.get(job.change, job.change)


def _binds(binds: Sequence[BindChange], look: Look) -> Table:
    table = columned(("pod", "node"))
    if len(binds) <= ROWS_MAX:
        for bind in binds:
            table.add_row(bind.pod, _pair(look, bind.today, bind.then))
        return table
    table = columned(("job", "placed", "elsewhere", "no longer"))
    by_job: dict[str, list[BindChange]] = {}
    for bind in binds:
        by_job.setdefault(bind.job, []).append(bind)
    for job, found in islice(by_job.items(), LINES_MAX):
        counts = (
            sum(not bind.today for bind in found),
            sum(bool(bind.today and bind.then) for bind in found),
            sum(not bind.then for bind in found),
        )
        table.add_row(job, *(str(count) if count else NONE for count in counts))
    return _bounded(table, len(by_job))


def _evictions(evictions: Sequence[EvictionChange]) -> Table:
    table = columned(("pod", "node", "by", "for"))
    for eviction in evictions[:ROWS_MAX]:
        action = eviction.action if eviction.then else words.no_longer_by(eviction.action)
        style = "red" if eviction.then else "green"
        table.add_row(eviction.pod, eviction.node, Text(action, style=style), eviction.beneficiary)
    return _bounded(table, len(evictions), ROWS_MAX)


def _bounded(table: Table, count: int, most: int = LINES_MAX) -> Table:
    """The table, with a last line that says how many rows it does not have."""
    if count > most:
        table.add_row(Text(words.more_rows(count - most), style="dim"))
    return table


# -- amounts --------------------------------------------------------------------------------------------------------


def _nodes(changes: Changes, look: Look) -> Table:
    table = columned(("resource", "", "in use", "of"))
    for name, total in changes.total.items():
        used = changes.used.get(name, (0, 0))
        if name != "pods" and (used != (0, 0) or total[0] != total[1]):
            bar = shift(look, max(total), *used)
            table.add_row(name, bar, _amounts(look, name, used), _amounts(look, name, total))
    return table


def _amounts(look: Look, name: str, pair: tuple[int, int]) -> str:
    return _pair(look, short(name, pair[0]), short(name, pair[1]))


def _queues(changes: Changes, look: Look) -> Table:
    headings = ("queue", "share", "resource", "", "allocated", "deserved", "other")
    table = columned(headings, giving={"other"}, numbers={"share"})
    for name, queue in islice(changes.queues.items(), LINES_MAX):
        held, fair = queue.allocated, queue.fair
        resources = _resources(changes, (*held, *fair))
        table.add_row(
            name,
            _share(look, queue),
            Text("\n").join(Text(each.rpartition("/")[2]) for each in resources),
            Text("\n").join(
                shift(look, max(changes.total.get(each, (0, 0))), *(amounts.get(each, 0) for amounts in held))
                for each in resources
            ),
            "\n".join(_amounts(look, each, (held[0].get(each, 0), held[1].get(each, 0))) for each in resources),
            "\n".join(_amounts(look, each, (fair[0].get(each, 0), fair[1].get(each, 0))) for each in resources),
            _others(look, queue),
        )
    return _bounded(table, len(changes.queues))


def _resources(changes: Changes, amounts: Iterable[dict[str, int]]) -> list[str]:
    """The usual ones first; those of which there is anything."""
    named = {name for each in amounts for name, value in each.items() if value and name != "pods"}
    return sorted(named & changes.total.keys(), key=lambda name: (name not in USUAL, name))


def _share(look: Look, queue: QueueChange) -> str:
    if "share" not in queue.fields:
        return "as today"
    return _pair(look, *(f"{share:.0%}" if isinstance(share, float) else None for share in queue.fields["share"]))


def _others(look: Look, queue: QueueChange) -> str:
    """What else is different of a queue: everything that is no amount in a column of its own."""
    weights = queue.fields.get("weight", (0, 0))
    if None in weights:
        return "new" if weights[0] is None else "gone"
    told = ("share", "problem")
    return ", ".join(
        _differing(look, name, *pair)
        for name, pair in queue.fields.items()
        if name not in told and not name.startswith(("allocated.", "deserved."))
    )


def _short(name: str, pair: tuple[object, object]) -> tuple[object, object]:
    """Amounts as people read them: 961.8 and not 961750m."""
    kind, _, resource = name.partition(".")
    if kind != "allocated":
        return pair
    old, new = (each and short(resource, parse_amount(resource, str(each))) for each in pair)
    return old, new


def _differing(look: Look, name: str, today: object, then: object) -> str:
    if isinstance(then, bool):
        return name if then else words.no_longer(name)
    return f"{name} {_pair(look, today, then)}"


def _problem(name: str, queue: QueueChange) -> Text:
    before, problem = queue.fields["problem"]
    if problem:
        return Text(f" queue {name}: {problem}", style="bold red")
    return Text(words.no_problem_any_more(name) if before else "", style="green", end="\n" if before else "")


def _namespaces(changes: Changes, look: Look) -> Table:
    table = columned(("queue/namespace", "share", "change"), giving={"change"}, numbers={"share"})
    for key, fields in islice(changes.namespaces.items(), LINES_MAX):
        shares = fields.get("share", (None, None))
        told = [_differing(look, name, *_short(name, pair)) for name, pair in fields.items() if name != "share"]
        if None in fields.get("weight", ()):
            told[0] = "new" if fields["weight"][0] is None else "gone"
        share = _pair(look, *(f"{each:.0%}" if isinstance(each, float) else None for each in shares))
        table.add_row(key, share if "share" in fields else "as today", ", ".join(told))
    return _bounded(table, len(changes.namespaces))
