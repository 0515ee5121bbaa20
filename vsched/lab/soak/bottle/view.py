"""What happened in a bottle as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Group, RenderableType
from rich.table import Table

from vsched.lab.soak.bottle import words
from vsched.lab.soak.bottle.run import Line
from vsched.lab.soak.bottle.settings import BottleSettings

BEFORE_SECONDS = 1.0
"""So long before a violation the command stops that shows how it came about."""


def as_table(result: Mapping[str, Any], settings: BottleSettings, faults: Path | None) -> RenderableType:
    """The result, and for a violation the command that runs to the moment before it."""
    table = Table(show_header=False, show_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right")
    table.add_row(words.SEED, f"{result['seed']}")
    table.add_row(words.VIRTUAL_SECONDS, f"{result['seconds']:,.0f}")
    table.add_row(words.PODS, "{created:,}, {bound:,}, {finished:,}".format(**result))
    table.add_row(words.STARTS, f"{result['starts']:,}")
    table.add_row(words.DIGEST, result["digest"][:16])
    parts: list[RenderableType] = [table]
    if result["violations"]:
        parts += ["", *_broken(result, settings, faults)]
    return Group(*parts)


def as_seeds_table(
    results: Sequence[Mapping[str, Any]], settings: BottleSettings, faults: Path | None
) -> RenderableType:
    """A row for each seed; for each promise, the first seed that broke it and the command to the moment before."""
    table = Table(show_edge=False)
    for column in words.SEEDS_COLUMNS:
        table.add_column(column, justify="right")
    parts: list[RenderableType] = [table]
    seen: set[str] = set()
    for result in results:
        counts = (result["bound"], result["starts"], sum(result["violations"].values()))
        table.add_row(f"{result['seed']}", f"{result['seconds'] / 60:,.1f}", *(f"{each:,}" for each in counts))
        if result["violations"].keys() - seen:
            seen |= result["violations"].keys()
            own = msgspec.structs.replace(settings, seed=result["seed"])
            parts += ["", *_broken(result, own, faults)]
    return Group(*parts)


def _broken(result: Mapping[str, Any], settings: BottleSettings, faults: Path | None) -> Iterator[str]:
    for promise, count in result["violations"].items():
        yield words.broken(promise, count)
        yield from (f"  {line}" for line in result["told"][promise])
    yield words.again(command_of(settings, faults, max(0.0, result["first_at"] - BEFORE_SECONDS)))


def command_of(settings: BottleSettings, faults: Path | None, until: float) -> str:
    """The command that runs a bottle to a moment, and writes down all that is sent."""
    numbers = (settings.seed, settings.seconds / 60, settings.nodes, settings.daemons, settings.pods_per_minute)
    more = "" if settings.shards == 1 else f" --shards {settings.shards}"
    usual = settings.lease_seconds == BottleSettings().lease_seconds
    more += "" if usual else f" --lease-seconds {settings.lease_seconds:g}"
    more += "" if settings.verify == 1.0 else f" --verify {100 * settings.verify:g}%"
    more += f" --more-nodes {settings.more_nodes}" if settings.more_nodes else ""
    more += " --arbitrate" if settings.arbitrate else ""
    more += " --claims" if settings.claims else ""
    more += " --ask" if settings.asked else ""
    more += " --namesakes" if settings.namesakes else ""
    more += "" if settings.policy is None else f" --policy {settings.policy}"
    return words.command(*numbers, more if faults is None else f"{more} --faults {faults}", until)


def as_log(lines: Iterable[Line]) -> str:
    """One line for each thing that happened."""
    return "".join(f"{line.at:.6f} {line.who or '-'} {line.what.encode('unicode_escape').decode()}\n" for line in lines)
