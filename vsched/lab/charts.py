"""What all charts share: how they look, their title and legend, and the files that they are written to.

The colours are those of Okabe and Ito, which colour-blind people can tell apart; lines also differ in their dashes.
matplotlib is imported only when something is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from vsched.errors import BadInput
from vsched.lab import words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", "--", ":", "-.")
PAPER, INK, FAINT = "#fcfcfa", "#222222", "#d8d8d4"
STYLE: Any = {
    "font.size": 10,
    "axes.edgecolor": INK,
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    # So equal documents give equal files.
    "svg.hashsalt": "vsched",
}
Charts = Mapping[str, Callable[[dict[str, Any], Path], None]]
"""By name, what draws a document to a file."""
INCHES, DOTS_AN_INCH = (11.5, 7.6), 110


def check_installed() -> None:
    """Raise BadInput where matplotlib is not installed."""
    if find_spec("matplotlib") is None:
        raise BadInput(words.NOT_INSTALLED)


def make_folder(out: Path) -> None:
    """Fail early where nothing could be written in the end; raises BadInput."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(words.cannot_be_made(out, error.strerror)) from None


def write_results(out: Path, name: str, document: dict[str, Any], charts: Charts) -> None:
    """A document as JSON, and by its name what is drawn of it, as PNG and SVG; raises BadInput."""
    try:
        (out / f"{name}.json").write_bytes(orjson.dumps(document, option=orjson.OPT_INDENT_2) + b"\n")
        for chart, draw in charts.items():
            for suffix in ("png", "svg"):
                draw(document, out / f"{chart}.{suffix}")
    except OSError as error:
        raise BadInput(words.cannot_be_written(error.filename or out, error.strerror)) from None


@contextmanager
def titled_figure(title: str, path: Path, inches: tuple[float, float] = INCHES) -> Iterator[Figure]:
    """A figure with a title, which is written to a file at the end; a line of the title ends with ``; ``."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=inches, layout="constrained")
        yield figure
        figure.suptitle(title.replace("; ", "\n"), x=0.01, ha="left", fontsize=10, color=INK)
        metadata = {"Date": None} if path.suffix == ".svg" else None
        figure.savefig(path, dpi=DOTS_AN_INCH, metadata=metadata)


def legend(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    columns = len(labels) if len(labels) <= 4 else 3
    figure.legend(handles, labels, loc="outside upper right", ncols=columns, frameon=False)
