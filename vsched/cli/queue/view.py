"""Queues as the stable JSON document, and as tables with bars. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from vsched.cli.queue import words
from vsched.cli.queue.source import COUNTED, Named, Queues, QueueView
from vsched.cli.show.amounts import amounts_table, facts, one_line, scarcest, with_bar
from vsched.cli.show.columns import NAMES, QUEUE, QUEUE_COUNTS, USUAL, columned, named
from vsched.cli.show.drawing import Look, bar, short
from vsched.controllers.queues import STATE_WISH
from vsched.model.amounts.resources import format_amount
from vsched.model.queues.queue import CLOSED, CLOSING, OPEN, UNKNOWN

Document = dict[str, Any]

RANKS = ("weight", "priority")
"""Columns for which narrow terminals have no room."""
STATE_STYLES = {OPEN: "green", CLOSING: "yellow", CLOSED: "red", UNKNOWN: "magenta"}


def as_document(queue: QueueView) -> Document:
    """The document of a queue."""
    return {
        "name": queue.name,
        "state": queue.state,
        "parent": queue.parent,
        "priority": queue.priority,
        "priorityClassName": queue.priority_class,
        "weight": queue.weight,
        "reclaimable": queue.reclaimable,
        "share": None if queue.share is None else round(queue.share, 6),
        "overused": queue.overused,
        "allocated": _quantities(queue.allocated),
        "deserved": _quantities(queue.deserved),
        "guarantee": _quantities(queue.guarantee),
        "capability": _quantities(queue.capability),
        "podGroups": dict(queue.counts),
        "conditions": [dict(condition) for condition in queue.conditions],
    }


def list_document(queues: Queues) -> Document:
    """The document of all queues, in the order of the tree."""
    return {
        "queues": [as_document(queue) for _, queue in in_tree(queues)],
        "total": _quantities(queues.total),
    }


def get_document(queues: Queues, queue: QueueView, phases: Mapping[str, int]) -> Document:
    """The document of everything about one queue."""
    return as_document(queue) | {
        "wish": queue.wish,
        "closedByParent": queue.by_parent,
        "below": queues.below(queue.name),
        "podGroupsByPhase": dict(phases),
        "creationTimestamp": queue.created,
    }


def in_tree(queues: Queues) -> Iterator[tuple[int, QueueView]]:
    """Every queue below its parent, with its depth; queues whose parents form a ring come last, as if at the top."""
    shown: set[str] = set()

    def walk(name: str, depth: int) -> Iterator[tuple[int, QueueView]]:
        if name not in shown:
            shown.add(name)
            yield depth, queues.by_name[name]
            for child in queues.below(name):
                yield from walk(child, depth + 1)

    for name, queue in queues.by_name.items():
        if not queue.parent:
            yield from walk(name, 0)
    for name in queues.by_name:
        yield from walk(name, 0)


def scarcest_resource(queues: Queues) -> str | None:
    """The resource besides the usual ones of which a queue uses the largest part of the cluster."""

    def parts(queue: QueueView) -> Iterator[tuple[str, float]]:
        for name in {*queue.allocated, *queue.deserved, *queue.capability, *queue.guarantee}:
            used = queue.allocated.get(name, 0)
            yield name, used / (queues.total.get(name) or used or 1)

    return scarcest(part for queue in queues.by_name.values() for part in parts(queue))


# -- for people -----------------------------------------------------------------------------------------------------


def as_table(
    queues: Queues, look: Look, rows: Iterable[tuple[int, QueueView]] | None = None, *, legend: bool = True
) -> RenderableType:
    """All queues, children indented below their parents, or some of these rows of the tree."""
    if not queues.by_name:
        return Text(words.NO_QUEUES)
    extra = scarcest_resource(queues)
    resources = [*USUAL, *([extra] if extra is not None else [])]
    counted = COUNTED if look.wide else ()
    table = columned(
        (
            *(
                heading
                for heading in QUEUE
                if (look.ranks or heading not in RANKS) and not (look.narrow and heading == "share")
            ),
            *resources,
            *(QUEUE_COUNTS if look.counts else ()),
            *counted,
        ),
        unicode=look.unicode,
        giving=NAMES,
    )
    for heading in ("deserved", "guarantee", "capability", "reclaimable") if look.wide else ():
        table.add_column(heading)
    for depth, queue in in_tree(queues) if rows is None else rows:
        table.add_row(*_row(queues, queue, depth, resources, counted, look))
    return Group(table, *([Text(), _legend(queues, look)] if legend and look.cells else []))


def _row(
    queues: Queues, queue: QueueView, depth: int, resources: list[str], counted: tuple[str, ...], look: Look
) -> list[RenderableType]:
    branch = "  " * (depth - 1) + look.branch if depth else ""
    trouble = " !" if queue.conditions else ""
    name = named(Text.assemble((branch, "dim"), queue.name, (trouble, "bold red")), unicode=look.unicode)
    cells: list[RenderableType] = [name, state_text(queue)]
    if look.ranks:
        cells += [str(queue.weight), _priority(queue)]
    # A queue that uses exactly what it deserves counts as overused, too, but takes nothing from others.
    beyond = queue.overused and queue.share is not None and queue.share > 1
    if not look.narrow:
        cells.append("-" if queue.share is None else Text(f"{queue.share:.0%}", style="red" if beyond else ""))
    cells += [_usage(queues, queue, resource, look) for resource in resources]
    counts = [queue.jobs, queue.waiting] if look.counts else []
    counts += [queue.counts[name] for name in counted]
    cells += [str(count) if count else Text("0", style="dim") for count in counts]
    if look.wide:
        cells += [one_line(amounts) for amounts in (queue.deserved, queue.guarantee, queue.capability)]
        cells.append("yes" if queue.reclaimable else "no")
    return cells


def as_page(queues: Queues, queue: QueueView, phases: Mapping[str, int], look: Look) -> RenderableType:
    """Everything about one queue."""
    rows: list[tuple[str, RenderableType]] = [
        ("queue", Text(queue.name, style="bold")),
        ("state", Text.assemble(state_text(queue), _why(queue, phases))),
        ("parent", queue.parent or "-"),
        ("below", ", ".join(queues.below(queue.name)) or "-"),
        ("weight", str(queue.weight)),
        ("priority", _priority(queue)),
        ("reclaimable", "yes" if queue.reclaimable else "no"),
        ("share", "-" if queue.share is None else words.share_of_deserved(queue.share)),
        ("PodGroups", ", ".join(f"{count} {phase}" for phase, count in phases.items()) or "none"),
        ("created", queue.created or "-"),
    ]
    kinds = {kind: getattr(queue, kind) for kind in ("allocated", "deserved", "guarantee", "capability")}
    table = amounts_table(look, kinds, queues.total, lambda name: _bar(queues, queue, name, look))
    parts: list[RenderableType] = [facts(rows), Text(), table]
    for condition in queue.conditions:
        said = f"{condition.get('reason', '')}: {condition.get('message', '')}"
        since = f" since {condition['lastTransitionTime']}" if "lastTransitionTime" in condition else ""
        parts += [Text(), Text.assemble((f"{condition.get('type', '')}{since}: ", "bold red"), said)]
    return Group(*parts)


def state_text(queue: QueueView) -> Text:
    """The state in its colour."""
    return Text(queue.state or "-", style=STATE_STYLES.get(queue.state, "dim"))


def remaining(phases: Mapping[str, int]) -> str:
    """How many PodGroups a closing queue still waits for."""
    count = sum(phases.values())
    return f"{count} PodGroup{'s remain' if count != 1 else ' remains'}"


def _why(queue: QueueView, phases: Mapping[str, int]) -> str:
    reasons = []
    if queue.state == CLOSING:
        reasons.append(remaining(phases))
    if queue.by_parent:
        reasons.append(words.with_its_parent(queue.parent))
    if queue.wish:
        reasons.append(f"{STATE_WISH}: {queue.wish}")
    return f" ({'; '.join(reasons)})" if reasons else ""


def _legend(queues: Queues, look: Look) -> Text:
    full, empty, mark = look.signs
    text = words.legend(full, empty, mark)
    if not queues.divided and all(queue.share is None for queue in queues.by_name.values()):
        text += words.DAEMON_KNOWS_SHARES
    return Text(text, style="dim")


def _usage(queues: Queues, queue: QueueView, resource: str, look: Look) -> Text:
    """What a queue uses of what it may use at most, as a bar with numbers."""
    limit = _limit(queues, queue, resource)
    said = f"{short(resource, queue.allocated.get(resource, 0))}/{short(resource, limit)}"
    return with_bar(look, _bar(queues, queue, resource, look), said)


def _bar(queues: Queues, queue: QueueView, resource: str, look: Look) -> Text:
    fair = queue.deserved.get(resource)
    return bar(look, _limit(queues, queue, resource), queue.allocated.get(resource, 0), fair=fair)


def _limit(queues: Queues, queue: QueueView, resource: str) -> int | None:
    """What a queue may use at most: its capability, and no more than the cluster has."""
    total, capability = queues.total.get(resource), queue.capability.get(resource)
    if capability is None or total is None:
        return total if capability is None else capability
    return min(total, capability)


def _priority(queue: QueueView) -> str:
    if queue.priority is not None:
        return str(queue.priority)
    return queue.priority_class or "0"


def _quantities(amounts: Named) -> dict[str, str]:
    return {name: format_amount(name, value) for name, value in sorted(amounts.items()) if value}
