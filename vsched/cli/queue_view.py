"""Queues as the stable JSON shape, and as tables with bars for people. Pure: what is known in, what is shown out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from vsched.cli.queue_source import COUNTED, Named, Queues, Sight
from vsched.controllers.queues import STATE_WISH
from vsched.model.queue import CLOSED, CLOSING, OPEN, UNKNOWN
from vsched.model.resources import format_amount, scale_of

Document = dict[str, Any]

STATE_STYLES = {OPEN: "green", CLOSING: "yellow", CLOSED: "red", UNKNOWN: "magenta"}
USUAL = ("cpu", "memory")
"""Resources that are always shown; the scarcest of the others joins them."""


@dataclass(frozen=True, slots=True)
class Look:
    """What fits the terminal."""

    cells: int
    """Length of a bar; 0 for none."""
    ranks: bool
    """Whether priority and weight are shown."""
    counts: bool
    """Whether PodGroups are counted."""
    wide: bool = False
    signs: tuple[str, str, str] = ("█", "·", "┃")
    """A full cell, an empty one, and the mark of what is deserved."""
    branch: str = "└ "


def look_for(width: int, wide: bool, unicode: bool) -> Look:
    """What fits so many columns; a wide table has everything, and short bars."""
    cells = 8 if wide else next((cells for least, cells in ((180, 20), (160, 14), (100, 8)) if width >= least), 0)
    look = Look(cells, wide or width >= 140, wide or width >= 120, wide)
    return look if unicode else replace(look, signs=("#", ".", "|"), branch="- ")


def as_document(sight: Sight) -> Document:
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


def get_document(queues: Queues, sight: Sight, phases: Mapping[str, int]) -> Document:
    """Everything about one queue for programs."""
    return as_document(sight) | {
        "wish": sight.wish,
        "closedByParent": sight.by_parent,
        "below": queues.below(sight.name),
        "podGroupsByPhase": dict(phases),
        "creationTimestamp": sight.created,
    }


def in_tree(queues: Queues) -> Iterator[tuple[int, Sight]]:
    """Every queue below its parent, with its depth; queues in a ring of parents come last, as if they had none."""
    shown: set[str] = set()

    def walk(name: str, depth: int) -> Iterator[tuple[int, Sight]]:
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


def as_table(queues: Queues, look: Look) -> RenderableType:
    """All queues, those below others indented."""
    if not queues.sights:
        return Text("there are no queues")
    extra = scarcest(queues)
    resources = [*USUAL, *([extra] if extra is not None else [])]
    table = Table(show_edge=False, box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("queue", no_wrap=True)
    table.add_column("state", no_wrap=True)
    for heading in ("priority", "weight") if look.ranks else ():
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("share", justify="right", no_wrap=True)
    for resource in resources:
        table.add_column(resource.rpartition("/")[2], no_wrap=True)
    counted = COUNTED if look.wide else COUNTED[:3] if look.counts else ()
    for heading in counted:
        table.add_column(heading, justify="right", no_wrap=True)
    for heading in ("deserved", "guarantee", "capability", "reclaimable") if look.wide else ():
        table.add_column(heading)
    for depth, sight in in_tree(queues):
        table.add_row(*_row(queues, sight, depth, resources, counted, look))
    return Group(table, *([Text(), _legend(queues, look)] if look.cells else []))


def _row(
    queues: Queues, sight: Sight, depth: int, resources: list[str], counted: tuple[str, ...], look: Look
) -> list[RenderableType]:
    branch = "  " * (depth - 1) + look.branch if depth else ""
    trouble = " !" if sight.conditions else ""
    name = Text.assemble((branch, "dim"), sight.name, (trouble, "bold red"))
    cells: list[RenderableType] = [name, state_text(sight)]
    if look.ranks:
        cells += [_priority(sight), str(sight.weight)]
    cells.append("-" if sight.share is None else Text(f"{sight.share:.0%}", style="red" if sight.overused else ""))
    cells += [_held(queues, sight, resource, look) for resource in resources]
    cells += [str(sight.counts[name]) if sight.counts[name] else Text("0", style="dim") for name in counted]
    if look.wide:
        cells += [_told(amounts) for amounts in (sight.deserved, sight.guarantee, sight.capability)]
        cells.append("yes" if sight.reclaimable else "no")
    return cells


def as_page(queues: Queues, sight: Sight, phases: Mapping[str, int], look: Look) -> RenderableType:
    """Everything about one queue."""
    facts = Table.grid(padding=(0, 2, 0, 0))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column()
    rows: list[tuple[str, RenderableType]] = [
        ("queue", Text(sight.name, style="bold")),
        ("state", Text.assemble(state_text(sight), _why(sight, phases))),
        ("parent", sight.parent or "-"),
        ("below", ", ".join(queues.below(sight.name)) or "-"),
        ("priority", _priority(sight)),
        ("weight", str(sight.weight)),
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


def _resources(queues: Queues, sight: Sight, look: Look) -> RenderableType:
    kinds = (sight.allocated, sight.deserved, sight.guarantee, sight.capability)
    named = sorted({name for amounts in kinds for name in amounts} - set(USUAL))
    table = Table(show_edge=False, box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("resource", no_wrap=True)
    if look.cells:
        table.add_column("held", no_wrap=True)
    for heading in ("allocated", "deserved", "guarantee", "capability", "cluster"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name in (*USUAL, *named):
        bar = [_bar(queues, sight, name, look)] if look.cells else []
        table.add_row(name, *bar, *(short(name, amounts.get(name)) for amounts in (*kinds, queues.total)))
    return table


def state_text(sight: Sight) -> Text:
    """The state in its colour."""
    return Text(sight.state or "-", style=STATE_STYLES.get(sight.state, "dim"))


def remaining(phases: Mapping[str, int]) -> str:
    """How many PodGroups stand between a closing queue and its end."""
    count = sum(phases.values())
    return f"{count} PodGroup{'s remain' if count != 1 else ' remains'}"


def _why(sight: Sight, phases: Mapping[str, int]) -> str:
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
    if all(sight.share is None for sight in queues.sights.values()):
        text += "\nshares by weight are the daemon's to tell: --daemon URL"
    return Text(text, style="dim")


def _held(queues: Queues, sight: Sight, resource: str, look: Look) -> Text:
    """What a queue holds of what it may hold, as a bar with numbers."""
    limit = _limit(queues, sight, resource)
    told = Text(f"{short(resource, sight.allocated.get(resource, 0))}/{short(resource, limit)}")
    return Text.assemble(_bar(queues, sight, resource, look), " ", told) if look.cells else told


def _bar(queues: Queues, sight: Sight, resource: str, look: Look) -> Text:
    full, empty, mark = look.signs
    limit = _limit(queues, sight, resource)
    if not limit:
        return Text(" " * look.cells)
    held, deserved = sight.allocated.get(resource, 0), sight.deserved.get(resource)
    cells = min(look.cells, max(int(held > 0), round(held / limit * look.cells)))
    over = deserved is not None and held > deserved
    bar = Text.assemble((full * cells, "yellow" if over else "cyan"), (empty * (look.cells - cells), "dim"))
    if deserved is None:
        return bar
    at = min(look.cells - 1, round(deserved / limit * look.cells))
    return Text.assemble(bar[:at], (mark, "bold"), bar[at + 1 :])


def _limit(queues: Queues, sight: Sight, resource: str) -> int | None:
    """What a queue may hold at most."""
    total, capability = queues.total.get(resource), sight.capability.get(resource)
    if capability is None or total is None:
        return total if capability is None else capability
    return min(total, capability)


def _priority(sight: Sight) -> str:
    if sight.priority is not None:
        return str(sight.priority)
    return sight.priority_class or "0"


def _quantities(amounts: Named) -> dict[str, str]:
    return {name: format_amount(name, value) for name, value in sorted(amounts.items()) if value}


def _told(amounts: Named) -> str:
    return ", ".join(f"{name} {short(name, value)}" for name, value in sorted(amounts.items())) or "-"


def short(name: str, value: int | None) -> str:
    """An amount in three digits or so."""
    if value is None:
        return "-"
    if scale_of(name) == 1000:
        return f"{value / 1000:.4g}" if value < 10_000_000 else f"{value / 1_000_000:.3g}k"
    amount, suffixes = float(value), ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]
    while amount >= 1000 and len(suffixes) > 1:
        amount /= 1024
        suffixes.pop(0)
    return f"{amount:.3g}{suffixes[0]}"
