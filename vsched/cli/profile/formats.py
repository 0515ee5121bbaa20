"""A profile as a table of functions, and as the files that other programs read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

import orjson
from rich.console import Group, RenderableType
from rich.text import Text

from vsched.cli.profile import words
from vsched.cli.profile.flame import flame_graph
from vsched.cli.show.columns import TableColumn, table_of
from vsched.cli.show.drawing import Look
from vsched.web.pages.profile import ProfileShown

LINES = 25
"""Functions in a table that is not wide."""


class FunctionTime(NamedTuple):
    """How often a function was on a stack."""

    name: str
    own: int
    """As the innermost one."""
    total: int


def functions_of(found: ProfileShown) -> list[FunctionTime]:
    """The functions, those that take most time themselves first."""
    own: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for stack, times in found["stacks"].items():
        _, *frames = stack.split(";")
        own[frames[-1] if frames else stack] += times
        total.update(dict.fromkeys(frames or [stack], times))
    return sorted(
        (FunctionTime(name, own[name], times) for name, times in total.items()),
        key=lambda one: (-one.own, -one.total, one.name),
    )


def profile_page(found: ProfileShown, look: Look) -> RenderableType:
    """The functions that take most time, and how much the threads did."""
    seen = sum(found["stacks"].values())
    told = Text(words.sampled(found["samples"], found["seconds"], seen), style="dim")
    if not seen:
        return Group(Text(words.NOTHING_AT_WORK), told)
    columns: list[TableColumn[FunctionTime]] = [
        TableColumn("own", cell=lambda one, _: f"{one.own / seen:.1%}", number=True),
        TableColumn("total", cell=lambda one, _: f"{one.total / seen:.1%}", number=True),
        TableColumn("function", lambda one: one.name, folds=True),
    ]
    functions = functions_of(found)
    table = table_of(columns, functions if look.wide else functions[:LINES], look)
    at_work = Text(words.share_of_a_core(seen / max(1, found["samples"])), style="dim")
    return Group(table, Text(), at_work, told)


def collapsed(found: ProfileShown) -> str:
    """A line a stack: its frames with semicolons between them, and how often it was seen."""
    return "".join(f"{stack} {times}\n" for stack, times in sorted(found["stacks"].items()))


def speedscope(found: ProfileShown) -> str:
    """A file of https://www.speedscope.app, with a profile for each thread."""
    frames: dict[str, int] = {}
    by_thread: dict[str, list[tuple[list[int], int]]] = {}
    for stack, times in sorted(found["stacks"].items()):
        thread, *names = stack.split(";")
        known = [frames.setdefault(name, len(frames)) for name in names or [thread]]
        by_thread.setdefault(thread, []).append((known, times))
    return orjson.dumps(
        {
            "$schema": "https://www.speedscope.app/file-format-schema.json",
            "exporter": "vsched",
            "shared": {"frames": [{"name": name} for name in frames]},
            "profiles": list(_profiles(by_thread)),
        }
    ).decode()


def _profiles(by_thread: dict[str, list[tuple[list[int], int]]]) -> Iterator[dict[str, object]]:
    for thread, seen in by_thread.items():
        yield {
            "type": "sampled",
            "name": thread,
            "unit": "none",
            "startValue": 0,
            "endValue": sum(times for _, times in seen),
            "samples": [stack for stack, _ in seen],
            "weights": [times for _, times in seen],
        }


WRITTEN: dict[str, Callable[[ProfileShown], str]] = {
    ".svg": lambda found: flame_graph(found["stacks"]),
    ".txt": collapsed,
    ".json": speedscope,
}
"""What is written into a file, by the end of its name."""
