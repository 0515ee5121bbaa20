"""Charts that compare replays: utilisation, fragmentation and fairness over time, and waits by size.

The colours are those of Okabe and Ito, which colour-blind people can tell apart; lines also differ in their dashes.
matplotlib is imported only when something is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vsched.errors import BadInput
from vsched.lab.trace.view import title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Document = dict[str, Any]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", "--", ":", "-.")
HATCHES = ("", "///", "...", "xxx")
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
INCHES, DOTS_AN_INCH = (11.5, 7.6), 110
TIMES = ((2 * 86_400, 86_400, "days"), (2 * 3_600, 3_600, "hours"), (0, 60, "minutes"))
"""For charts from so many seconds on: the seconds of a unit, and its name."""
PANELS = (
    ("gpu", "GPUs in use", "% of all GPUs"),
    ("fragmentation", "Free GPUs that typical pods cannot use", "% of free GPUs"),
    ("fairness", "Fairness among queues", "Jain's index"),
)
WAITED = ((60, "1 min"), (600, "10 min"), (3_600, "1 h"), (36_000, "10 h"), (864_000, "10 d"), (8_640_000, "100 d"))


def check_installed() -> None:
    """Raise BadInput where matplotlib is not installed."""
    if find_spec("matplotlib") is None:
        raise BadInput("--plots: matplotlib is not installed (expected pip install 'vsched[plots]', or --no-plots)")


def draw(document: Document, path: Path) -> None:
    """Draw four panels into a PNG or SVG file, by its suffix."""
    import matplotlib
    from matplotlib.figure import Figure

    policies = document["policies"]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=INCHES, layout="constrained")
        (gpu, fragmentation), (waits, fairness) = figure.subplots(2, 2)
        for axes, (name, title, unit) in zip((gpu, fragmentation, fairness), PANELS, strict=True):
            _over_time(axes, policies, name, title, unit)
        _by_size(waits, policies)
        handles, labels = gpu.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper right", ncols=min(4, len(labels)), frameon=False)
        figure.suptitle(title_of(document["trace"]).replace("; ", "\n"), x=0.01, ha="left", fontsize=10, color=INK)
        metadata = {"Date": None} if path.suffix == ".svg" else None
        figure.savefig(path, dpi=DOTS_AN_INCH, metadata=metadata)


def _over_time(axes: Axes, policies: Sequence[Document], name: str, title: str, unit: str) -> None:
    seconds = policies[0]["series"]["seconds"]
    length = seconds[-1] - seconds[0]
    _, one, word = next(found for found in TIMES if length >= found[0])
    scale = 1.0 if name == "fairness" else 100.0
    for number, policy in enumerate(policies):
        line = policy["series"]
        moments = [(second - seconds[0]) / one for second in line["seconds"]]
        axes.plot(
            moments,
            [value * scale for value in line[name]],
            DASHES[number % len(DASHES)],
            color=COLOURS[number % len(COLOURS)],
            linewidth=1.8,
            label=policy["policy"],
        )
    measured = policies[0]["measured_seconds"]
    last = (measured["end"] - seconds[0]) / one
    axes.axvline(last, color=INK, linewidth=0.8, linestyle=(0, (1, 3)))
    axes.annotate(" last pod comes", (last, 0.02), xycoords=("data", "axes fraction"), fontsize=8, color=INK)
    axes.set(title=title, ylabel=unit, xlabel=f"time ({word})", xlim=(0, length / one or 1))
    if name != "fairness":
        axes.set_ylim(0, 103)
    else:
        axes.set_ylim(top=1.005)


def _by_size(axes: Axes, policies: Sequence[Document]) -> None:
    """The 99th percentile of the wait by size: a group of bars for each size, a bar for each policy."""
    sizes = list(dict.fromkeys(size for policy in policies for size in policy["waiting_seconds"]["by_size"]))
    width = 0.8 / len(policies)
    most = 1.0
    for number, policy in enumerate(policies):
        found = policy["waiting_seconds"]["by_size"]
        waits = [found.get(size, {}).get("p99", 0.0) for size in sizes]
        most = max(most, *waits)
        places = [place - 0.4 + width * (number + 0.5) for place in range(len(sizes))]
        colour, hatch = COLOURS[number % len(COLOURS)], HATCHES[number % len(HATCHES)]
        axes.bar(places, waits, width * 0.92, color=colour, hatch=hatch, edgecolor=PAPER, linewidth=0.5)
    axes.set_yscale("symlog", linthresh=60)
    ticks = [(0, "0"), *(tick for tick in WAITED if tick[0] <= most * 3)]
    axes.set_yticks([value for value, _ in ticks], [label for _, label in ticks])
    axes.set_yticks([], minor=True)
    axes.set_xticks(range(len(sizes)), [size.replace(" GPU", "\nGPU", 1) for size in sizes])
    axes.grid(visible=False, axis="x")
    axes.set(title="Wait of 99 in 100 pods, by what they ask for", ylabel="at most (logarithmic)", ylim=(0, most * 2))
