"""Explores the orders of scenes, and tells what went wrong in which."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from rich.console import Group, RenderableType
from rich.table import Table

from vsched.clock import perf_counter
from vsched.lab.soak.bottle import words
from vsched.lab.soak.bottle.orders import Order, as_text, explore
from vsched.lab.soak.bottle.scene import SceneRun
from vsched.lab.soak.bottle.scenes import SCENES

TOLD_EVERY = 200
"""Orders."""


class Explored(msgspec.Struct):
    """What came of a scene."""

    scene: str
    deviations: int
    orders: int = 0
    seconds: float = 0.0
    violations: Counter[str] = msgspec.field(default_factory=Counter)
    """In how many orders each promise was broken."""
    first: dict[str, tuple[str, list[str]]] = msgspec.field(default_factory=dict)
    """By promise: the first order in which it was broken, which has the fewest deviations, and what was told."""


def run_scene(scene: str, order: Order = (), *, trace: bool = False) -> SceneRun:
    """Run a scene to its end."""
    stage = SceneRun(SCENES[scene](), order, trace=trace)
    stage.run()
    return stage


def explored(scene: str, deviations: int, told: Callable[[Explored], None] = lambda found: None) -> Explored:
    """Run a scene in all its orders with at most so many deviations; ``told`` is called now and then."""
    found, began = Explored(scene, deviations), perf_counter()
    gc.freeze()  # what is there already is not searched again after each run
    for order, stage in explore(lambda order: run_scene(scene, order), deviations):
        found.orders += 1
        found.seconds = round(perf_counter() - began, 1)
        for promise, lines in stage.violations.first.items():
            found.violations[promise] += 1
            found.first.setdefault(promise, (as_text(order), lines))
        if not found.orders % TOLD_EVERY:
            told(found)
    return found


def order_table(result: Mapping[str, Any]) -> RenderableType:
    """What happened in one order."""
    table = Table(show_header=False, show_edge=False)
    table.add_row(words.VIRTUAL_SECONDS, f"{result['seconds']:,.0f}")
    table.add_row(words.DIGEST, result["digest"][:16])
    parts: list[RenderableType] = [table]
    for promise, count in result["violations"].items():
        parts += ["", words.broken(promise, count), *(f"  {line}" for line in result["told"][promise])]
    return Group(*parts)


def as_table(all_found: Sequence[Explored]) -> RenderableType:
    """The results, and for what was broken the command that shows how it came about."""
    table = Table(show_edge=False)
    for number, column in enumerate(words.COLUMNS):
        table.add_column(column, justify="right" if number else "left")
    parts: list[RenderableType] = [table]
    for found in all_found:
        numbers = (found.deviations, found.orders, found.seconds, found.violations.total())
        table.add_row(found.scene, *(f"{each:,}" for each in numbers))
        for promise, (order, lines) in found.first.items():
            parts += ["", words.broken(promise, found.violations[promise]), *(f"  {line}" for line in lines)]
            parts.append(words.order_command(found.scene, order))
    return Group(*parts)
