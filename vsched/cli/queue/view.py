"""Queues as the stable JSON shape, and as tables with bars for people. Pure: what is known in, what is shown out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from vsched.cli.queue.source import COUNTED, Named, Queues, QueueView
from vsched.cli.show.columns import NAMES, QUEUE, QUEUE_COUNTS, USUAL, columned, named
from vsched.cli.show.drawing import Look, bar, short
from vsched.controllers.queues import STATE_WISH
from vsched.model.queue import CLOSED, CLOSING, OPEN, UNKNOWN
from vsched.model.resources import format_amount

Document = dict[str, Any]

RANKS = ("weight", "priority")
"""Columns that narrow terminals have no room for."""
STATE_STYLES = {OPEN: "green", CLOSING: "yellow", CLOSED: "red", UNKNOWN: "magenta"}


def as_document(sight: QueueView) -> Document:
    """A queue for programs."""
    return {
        "name": sight.name,
        "state": sight.state,
        "parent": sight.parent,
        "priority": sight.priority,
        "priorityClassName": sight.priority_class,
        "weight": sight.weight,
        "reclaimable": sight.reclaimable,
        "share": None if sight.share is None else round(sight.share, 6),
        "overused": sight.overused,
        "allocated": _quantities(sight.allocated),
        "deserved": _quantities(sight.deserved),
        "guarantee": _quantities(sight.guarantee),
        "capability": _quantities(sight.capability),
        "podGroups": dict(sight.counts),
        "conditions": [dict(condition) for condition in sight.conditions],
    }


def list_document(queues: Queues) -> Document:
    """All queues for programs, in the order of the tree."""
    return {
        "queues": [as_document(sight) for _, sight in in_tree(queues)],
        "total": _quantities(queues.total),
    }


def get_document(queues: Queues, sight: QueueView, phases: Mapping[str, int]) -> Document:
    """Everything about one queue for programs."""
    return as_document(sight) | {
        "wish": sight.wish,
        "closedByParent": sight.by_parent,
        "below": queues.below(sight.name),
        "podGroupsByPhase": dict(phases),
        "creationTimestamp": sight.created,
    }


def in_tree(queues: Queues) -> Iterator[tuple[int, QueueView]]:
    """Every queue below its parent, with its depth; queues in a ring of parents come last, as if they had none."""
    shown: set[str] = set()

    def walk(name: str, depth: int) -> Iterator[tuple[int, QueueView]]:
        if name not in shown:
            shown.add(name)
            yield depth, queues.sights[name]
            for child in queues.below(name):
                yield from walk(child, depth + 1)

    for name, sight in queues.sights.items():
        if not sight.parent:
            yield from walk(name, 0)
    for name in queues.sights:
        yield from walk(name, 0)


def scarcest(queues: Queues) -> str | None:
    """The resource besides the usual ones of which the largest part is held, None where nobody holds or has any."""
    held: dict[str, float] = {}
    for sight in queues.sights.values():
        for name in {*sight.allocated, *sight.deserved, *sight.capability, *sight.guarantee} - set(USUAL):
            part = sight.allocated.get(name, 0) / (queues.total.get(name) or sight.allocated.get(name) or 1)
            held[name] = max(held.get(name, 0.0), part)
    return max(sorted(held), key=lambda name: held[name], default=None)


# -- for people -----------------------------------------------------------------------------------------------------


def as_table(
    queues: Queues, look: Look, rows: Iterable[tuple[int, QueueView]] | None = None, *, legend: bool = True
) -> RenderableType:
    """All queues, those below others indented, or some of these rows of the tree."""
    if not queues.sights:
        return Text("there are no queues")
    extra = scarcest(queues)
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
    for depth, sight in in_tree(queues) if rows is None else rows:
        table.add_row(*_row(queues, sight, depth, resources, counted, look))
    return Group(table, *([Text(), _legend(queues, look)] if legend and look.cells else []))


def _row(
    queues: Queues, sight: QueueView, depth: int, resources: list[str], counted: tuple[str, ...], look: Look
) -> list[RenderableType]:
    branch = "  " * (depth - 1) + look.branch if depth else ""
    trouble = " !" if sight.conditions else ""
    name = named(Text.assemble((branch, "dim"), sight.name, (trouble, "bold red")), unicode=look.unicode)
    cells: list[RenderableType] = [name, state_text(sight)]
    if look.ranks:
        cells += [str(sight.weight), _priority(sight)]
    # One that holds just what it deserves is overused as well, and takes from nobody.
    beyond = sight.overused and sight.share is not None and sight.share > 1
    if not look.narrow:
        cells.append("-" if sight.share is None else Text(f"{sight.share:.0%}", style="red" if beyond else ""))
    cells += [_held(queues, sight, resource, look) for resource in resources]
    counts = [sight.jobs, sight.waiting] if look.counts else []
    counts += [sight.counts[name] for name in counted]
    cells += [str(count) if count else Text("0", style="dim") for count in counts]
    if look.wide:
        cells += [_told(amounts) for amounts in (sight.deserved, sight.guarantee, sight.capability)]
        cells.append("yes" if sight.reclaimable else "no")
    return cells


def as_page(queues: Queues, sight: QueueView, phases: Mapping[str, int], look: Look) -> RenderableType:
    """Everything about one queue."""
    facts = Table.grid(padding=(0, 2, 0, 0))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column()
    rows: list[tuple[str, RenderableType]] = [
        ("queue", Text(sight.name, style="bold")),
        ("state", Text.assemble(state_text(sight), _why(sight, phases))),
        ("parent", sight.parent or "-"),
        ("below", ", ".join(queues.below(sight.name)) or "-"),
        ("weight", str(sight.weight)),
        ("priority", _priority(sight)),
        ("reclaimable", "yes" if sight.reclaimable else "no"),
        ("share", "-" if sight.share is None else f"{sight.share:.0%} of what it deserves"),
        ("PodGroups", ", ".join(f"{count} {phase}" for phase, count in phases.items()) or "none"),
        ("created", sight.created or "-"),
    ]
    for row in rows:
        facts.add_row(*row)
    parts: list[RenderableType] = [facts, Text(), _resources(queues, sight, look)]
    for condition in sight.conditions:
        told = f"{condition.get('reason', '')}: {condition.get('message', '')}"
        since = f" since {condition['lastTransitionTime']}" if "lastTransitionTime" in condition else ""
        parts += [Text(), Text.assemble((f"{condition.get('type', '')}{since}: ", "bold red"), told)]
    return Group(*parts)


def _resources(queues: Queues, sight: QueueView, look: Look) -> RenderableType:
    kinds = (sight.allocated, sight.deserved, sight.guarantee, sight.capability)
    named = sorted({name for amounts in kinds for name in amounts} - set(USUAL))
    table = columned(["resource", *(["held"] if look.cells else [])], unicode=look.unicode)
    for heading in ("allocated", "deserved", "guarantee", "capability", "cluster"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name in (*USUAL, *named):
        bar = [_bar(queues, sight, name, look)] if look.cells else []
        table.add_row(name, *bar, *(short(name, amounts.get(name)) for amounts in (*kinds, queues.total)))
    return table


def state_text(sight: QueueView) -> Text:
    """The state in its colour."""
    return Text(sight.state or "-", style=STATE_STYLES.get(sight.state, "dim"))


def remaining(phases: Mapping[str, int]) -> str:
    """How many PodGroups stand between a closing queue and its end."""
    count = sum(phases.values())
    return f"{count} PodGroup{'s remain' if count != 1 else ' remains'}"


def _why(sight: QueueView, phases: Mapping[str, int]) -> str:
    reasons = []
    if sight.state == CLOSING:
        reasons.append(remaining(phases))
    if sight.by_parent:
        reasons.append(f"with its parent {sight.parent}")
    if sight.wish:
        reasons.append(f"{STATE_WISH}: {sight.wish}")
    return f" ({'; '.join(reasons)})" if reasons else ""


def _legend(queues: Queues, look: Look) -> Text:
    full, empty, mark = look.signs
    text = f"{full} held  {empty} may be held (capability, else the cluster)  {mark} deserved"
    if not queues.divided and all(sight.share is None for sight in queues.sights.values()):
        text += "\nshares by weight are the daemon's to tell: --daemon URL"
    return Text(text, style="dim")


def _held(queues: Queues, sight: QueueView, resource: str, look: Look) -> Text:
    """What a queue holds of what it may hold, as a bar with numbers."""
    limit = _limit(queues, sight, resource)
    told = Text(f"{short(resource, sight.allocated.get(resource, 0))}/{short(resource, limit)}")
    return Text.assemble(_bar(queues, sight, resource, look), " ", told) if look.cells else told


def _bar(queues: Queues, sight: QueueView, resource: str, look: Look) -> Text:
    fair = sight.deserved.get(resource)
    return bar(look, _limit(queues, sight, resource), sight.allocated.get(resource, 0), fair=fair)


def _limit(queues: Queues, sight: QueueView, resource: str) -> int | None:
    """What a queue may hold at most."""
    total, capability = queues.total.get(resource), sight.capability.get(resource)
    if capability is None or total is None:
        return total if capability is None else capability
    return min(total, capability)


def _priority(sight: QueueView) -> str:
    if sight.priority is not None:
        return str(sight.priority)
    return sight.priority_class or "0"


def _quantities(amounts: Named) -> dict[str, str]:
    return {name: format_amount(name, value) for name, value in sorted(amounts.items()) if value}


def _told(amounts: Named) -> str:
    return ", ".join(f"{name} {short(name, value)}" for name, value in sorted(amounts.items())) or "-"
