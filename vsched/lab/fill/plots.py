"""Charts of the fill test: what is allocated as pods come, and how much of what was asked for is not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from vsched.lab.charts import COLOURS, DASHES, legend, titled_figure
from vsched.lab.fill import words
from vsched.lab.fill.view import title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Document = dict[str, Any]

INCHES = (11.5, 5.2)
FROM_PERCENT = 60
"""Where the chart of what is left begins: before, nothing is."""


def draw(document: Document, path: Path) -> None:
    """Draw both into a PNG or SVG file, by its suffix."""
    policies = document["policies"]
    with titled_figure(title_of(document["trace"]), path, INCHES) as figure:
        allocated, missing = figure.subplots(1, 2)
        for number, policy in enumerate(policies):
            _line(allocated, policy, number, "mean")
            _line(missing, policy, number, "left")
        last = policies[0]["curve"]["arrived_percent"][-1]
        allocated.set(title="GPUs allocated", ylabel=words.OF_ALL_GPUS, xlim=(0, last), ylim=(0, 103))
        missing.set(title=words.NOT_ALLOCATED, ylabel=words.OF_ALL_GPUS, ylim=(0, None))
        missing.set_xlim(min(FROM_PERCENT, last - 1), last)
        for axes in (allocated, missing):
            axes.set_xlabel(words.ASKED_FOR)
        legend(figure, allocated)


def _line(axes: Axes, policy: Document, number: int, name: str) -> None:
    """The mean over the seeds, on a band from the least to the most."""
    curve = policy["curve"]
    arrived = curve["arrived_percent"]

    def shown(values: list[float]) -> list[float]:
        if name == "mean":
            return values
        return [min(100.0, percent) - value for percent, value in zip(arrived, values, strict=True)]

    colour, dashes = COLOURS[number % len(COLOURS)], DASHES[number % len(DASHES)]
    axes.fill_between(arrived, shown(curve["least"]), shown(curve["most"]), color=colour, alpha=0.15, linewidth=0)
    axes.plot(arrived, shown(curve["mean"]), dashes, color=colour, linewidth=1.8, label=policy["policy"])
