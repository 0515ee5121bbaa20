"""Queues as the stable JSON document, and as tables with bars. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from vsched.cli.queue import words
from vsched.cli.queue.shown import (
    Queues,
    QueueView,
    columns,
    priority_text,
    quantities,
    state_text,
    usage_bar,
)
from vsched.cli.show.amounts import amounts_table, facts, scarcest
from vsched.cli.show.columns import USUAL, entries, table_of
from vsched.cli.show.drawing import Look
from vsched.controllers.queues import STATE_WISH
from vsched.model.queues.queue import CLOSING

Document = dict[str, Any]


def list_document(queues: Queues) -> Document:
    """The document of all queues, in the order of the tree."""
    shown = columns(queues)
    return {
        "queues": [entries(shown, queue) for _, queue in in_tree(queues)],
        "total": quantities(queues.total),
    }


def get_document(queues: Queues, queue: QueueView, phases: Mapping[str, int]) -> Document:
    """The document of everything about one queue."""
    return entries(columns(queues), queue) | {
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
    found = list(in_tree(queues) if rows is None else rows)
    shown = columns(queues, [*USUAL, *([extra] if extra else [])], {queue.name: depth for depth, queue in found})
    table = table_of(shown, [queue for _, queue in found], look)
    return Group(table, *([Text(), _legend(queues, look)] if legend and look.cells else []))


def as_page(queues: Queues, queue: QueueView, phases: Mapping[str, int], look: Look) -> RenderableType:
    """Everything about one queue."""
    rows: list[tuple[str, RenderableType]] = [
        ("queue", Text(queue.name, style="bold")),
        ("state", Text.assemble(state_text(queue), _why(queue, phases))),
        ("parent", queue.parent or "-"),
        ("below", ", ".join(queues.below(queue.name)) or "-"),
        ("weight", str(queue.weight)),
        ("priority", priority_text(queue)),
        ("reclaimable", "yes" if queue.reclaimable else "no"),
        ("share", "-" if queue.share is None else words.share_of_deserved(queue.share)),
        ("PodGroups", ", ".join(f"{count} {phase}" for phase, count in phases.items()) or "none"),
        ("created", queue.created or "-"),
    ]
    kinds = {kind: getattr(queue, kind) for kind in ("allocated", "deserved", "guarantee", "capability")}
    table = amounts_table(look, kinds, queues.total, lambda name: usage_bar(queues, queue, name, look))
    parts: list[RenderableType] = [facts(rows), Text(), table]
    for condition in queue.conditions:
        said = f"{condition.get('reason', '')}: {condition.get('message', '')}"
        since = f" since {condition['lastTransitionTime']}" if "lastTransitionTime" in condition else ""
        parts += [Text(), Text.assemble((f"{condition.get('type', '')}{since}: ", "bold red"), said)]
    return Group(*parts)


def remaining(phases: Mapping[str, int]) -> str:
    """What a closing queue still waits for: PodGroups, or else what has none."""
    count = sum(phases.values())
    if not count:
        return words.PODS_REMAIN
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
