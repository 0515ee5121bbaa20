"""A chart of ``vsched bench --grow``: what grows with nodes and pods, a line for each number of pods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from vsched.lab.bench.grow.view import page_ms
from vsched.lab.bench.words import grow as words
from vsched.lab.charts import COLOURS, DASHES, legend, titled_figure

Document = dict[str, Any]
Figure = Callable[[Document], float]

PANELS: tuple[tuple[str, str, Figure], ...] = (
    (words.GANG_WITH_NEW_SHAPE, "ms", lambda point: point["new_shape_ms"]),
    (words.SNAPSHOT_AFTER, "ms", lambda point: point["snapshot_ms"]),
    (words.NOTHING_CHANGED, "ms", lambda point: point["idle_ms"]),
    (words.RESTART, "s", lambda point: point["restart_seconds"]),
    (words.MEMORY, "MB", lambda point: point["memory"]["resident_mb"]),
    (words.PICTURE, "ms", page_ms),
)
"""Each panel: its title, its unit, and its figure."""
INCHES = (11.5, 7.6)


def draw(points: Sequence[Document], path: Path) -> None:
    """Draw them into a PNG or SVG file, by its suffix."""
    first = points[0]
    with titled_figure(words.chart(first["queues"], first["namespaces"]), path, INCHES) as figure:
        panels = [*figure.subplots(2, 3, sharex=True).flat]
        for axes, (heading, unit, figure_of) in zip(panels, PANELS, strict=True):
            for number, pods in enumerate(sorted({point["pods"] for point in points})):
                line = [point for point in points if point["pods"] == pods]
                axes.plot(
                    [point["nodes"] / 1_000 for point in line],
                    [figure_of(point) for point in line],
                    DASHES[number % len(DASHES)],
                    marker="o",
                    color=COLOURS[number % len(COLOURS)],
                    label=f"{pods:,} pods",
                )
            axes.set(title=heading, ylabel=unit, ylim=(0, None), xlim=(0, None))
        for axes in panels[3:]:
            axes.set_xlabel("thousand nodes")
        legend(figure, panels[0])
