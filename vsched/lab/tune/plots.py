"""A chart of a search: all candidates where they were tuned, the best of them, and these where nothing was tuned."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vsched.lab.charts import COLOURS, FAINT, INK, legend, titled_figure
from vsched.lab.tune import words
from vsched.lab.tune.figures import Unit
from vsched.lab.tune.view import title_of

Document = dict[str, Any]
INCHES = (9.0, 6.0)
SCALES = {Unit.SECONDS: (3600.0, "hours"), Unit.SHARE: (0.01, "%")}
"""What a unit is divided by to be drawn, and what that is called."""


def draw(document: Document, path: Path) -> None:
    """Draw the first two goals against each other, or a single one over the search, into a PNG or SVG file."""
    goals = document["goals"][:2]
    with titled_figure(title_of(document), path, INCHES) as figure:
        axes = figure.subplots()
        of_all = ((False, words.BROKEN_LIMITS, FAINT, "x"), (True, words.OTHERS, COLOURS[5], "o"))
        for keeps, label, colour, marker in of_all:
            tried = [one for one in document["tried"] if one["keeps_limits"] == keeps]
            points = [_at(one["values"], one["number"], goals) for one in tried]
            axes.scatter(*_columns(points), color=colour, marker=marker, s=18, label=label)
        for part, label, colour, marker in (
            (words.TUNED, words.FRONT, COLOURS[0], "o"),
            (words.JUDGED, words.JUDGED_FRONT, COLOURS[1], "s"),
        ):
            points = [_of(one["figures"][part], one["number"], goals) for one in document["front"]]
            axes.scatter(*_columns(points), color=colour, marker=marker, label=label, zorder=3)
            base = _of(document["in_force"][part], 0, goals)
            axes.scatter(*base, facecolor="none", edgecolor=colour, marker=marker, s=120, zorder=3)
            axes.annotate(f"  {words.IN_FORCE}, {part}", base, fontsize=8, color=INK)
        names = [f"{goal['figure']} ({_unit(goal)})" for goal in goals]
        axes.set(title=words.PARETO, ylabel=names[-1], xlabel=names[0] if len(names) > 1 else words.BY_CANDIDATE)
        legend(figure, axes)


def _columns(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]


def _of(figures: dict[str, dict[str, float]], number: int, goals: list[Document]) -> tuple[float, float]:
    return _at([figures[goal["figure"]]["value"] for goal in goals], number, goals)


def _at(values: Sequence[float], number: int, goals: list[Document]) -> tuple[float, float]:
    scaled = [value / SCALES.get(goal["unit"], (1.0, ""))[0] for value, goal in zip(values, goals, strict=False)]
    return (scaled[0], scaled[1]) if len(goals) > 1 else (float(number), scaled[0])


def _unit(goal: Document) -> str:
    return SCALES.get(goal["unit"], (1.0, str(goal["unit"])))[1]
