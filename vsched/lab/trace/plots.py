"""Charts that compare replays: utilisation, fairness and fragments over time, work lost, waits by size, and shares."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vsched.lab.charts import COLOURS, DASHES, INCHES, INK, PAPER, legend, titled_figure
from vsched.lab.trace import words
from vsched.lab.trace.view import title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Document = dict[str, Any]

HATCHES = ("", "///", "...", "xxx")
OTHERS = "#bbbbb6"
TIMES = ((2 * 86_400, 86_400, "days"), (2 * 3_600, 3_600, "hours"), (0, 60, "minutes"))
"""For charts from so many seconds on: the seconds of a unit, and its name."""
PANELS = {
    "gpu": (words.GPUS_IN_USE, words.OF_ALL_GPUS),
    "fragmentation": (words.UNUSABLE_GPUS, words.OF_FREE_GPUS),
    "fairness": (words.FAIRNESS, "Jain's index"),
    "fairness_of_a_week": (words.FAIRNESS_OF_WEEK, "Jain's index"),
}
WAITED = ((60, "1 min"), (600, "10 min"), (3_600, "1 h"), (36_000, "10 h"), (864_000, "10 d"), (8_640_000, "100 d"))


def draw(document: Document, path: Path) -> None:
    """Draw four panels into a PNG or SVG file, by its suffix.

    Where pods have parts of GPUs, fragments are of interest; else the work that evictions cost.
    """
    policies = document["policies"]
    looks_back = all("fairness_of_a_week" in policy["series"] for policy in policies)
    with titled_figure(title_of(document["trace"]), path) as figure:
        (gpu, other), (waits, fairness) = figure.subplots(2, 2)
        _over_time(gpu, policies, "gpu")
        if document["trace"]["shares_gpus"]:
            _over_time(other, policies, "fragmentation")
        else:
            _lost(other, policies)
        _by_size(waits, policies)
        _over_time(fairness, policies, "fairness_of_a_week" if looks_back else "fairness")
        legend(figure, gpu)


def draw_shares(document: Document, path: Path) -> None:
    """Draw what each queue holds over time, a panel for each policy, into a PNG or SVG file."""
    policies = document["policies"]
    columns = min(3, len(policies))
    rows = -(-len(policies) // columns)
    with titled_figure(title_of(document["trace"]), path, (INCHES[0], 1.2 + 2.6 * rows)) as figure:
        panels = [*figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).flat]
        for axes, policy in zip(panels, policies, strict=False):
            _stacked(axes, policy, largest_queues(policies))
        for axes in panels[len(policies) :]:
            axes.set_visible(False)
        legend(figure, panels[0])


def largest_queues(policies: Sequence[Document]) -> list[str]:
    """The queues that use most over all policies, as many as there are colours."""
    used: dict[str, float] = {}
    for policy in policies:
        for name, lines in policy["shares"].items():
            used[name] = used.get(name, 0.0) + sum(lines["used"])
    return sorted(used, key=lambda name: (-used[name], name))[: len(COLOURS)]


def _stacked(axes: Axes, policy: Document, queues: Sequence[str]) -> None:
    """What the queues hold, one upon the other; those without a colour together at the top."""
    seconds, shares = policy["series"]["seconds"], policy["shares"]
    one, word, _ = _unit(seconds)
    others = [
        sum(values) for values in zip(*(shares[name]["used"] for name in shares if name not in queues), strict=True)
    ]
    lines = [*([value * 100 for value in shares[name]["used"]] for name in queues)]
    labels, colours = [*queues], [*COLOURS[: len(queues)]]
    if others:
        lines, labels, colours = [*lines, [value * 100 for value in others]], [*labels, "others"], [*colours, OTHERS]
    moments = [(second - seconds[0]) / one for second in seconds]
    axes.stackplot(moments, lines, labels=labels, colors=colours, linewidth=0)
    axes.set(title=policy["policy"], ylabel="% held", xlabel=f"time ({word})", ylim=(0, 103))
    axes.set_xlim(0, moments[-1] or 1)


def _lost(axes: Axes, policies: Sequence[Document]) -> None:
    """GPU hours that evictions threw away, a bar for each policy."""
    hours = [policy["lost_seconds"]["gpu"] / 3600 for policy in policies]
    places = range(len(policies))
    for place, value in zip(places, hours, strict=True):
        colour, hatch = COLOURS[place % len(COLOURS)], HATCHES[place % len(HATCHES)]
        axes.bar(place, value, 0.7, color=colour, hatch=hatch, edgecolor=PAPER, linewidth=0.5)
        axes.annotate(f"{value:,.0f}", (place, value), ha="center", va="bottom", fontsize=9, color=INK)
    axes.set_xticks([*places], [policy["policy"].replace("-", "-\n") for policy in policies], fontsize=8)
    axes.grid(visible=False, axis="x")
    axes.set(title=words.GPU_HOURS_LOST, ylabel="hours", ylim=(0, max(hours) * 1.15 or 1))


def _unit(seconds: Sequence[float]) -> tuple[int, str, float]:
    """The seconds of a unit of time that suits a chart, its name, and the length of the chart."""
    length = seconds[-1] - seconds[0]
    _, one, word = next(found for found in TIMES if length >= found[0])
    return one, word, length


def _over_time(axes: Axes, policies: Sequence[Document], name: str) -> None:
    title, unit = PANELS[name]
    seconds = policies[0]["series"]["seconds"]
    one, word, length = _unit(seconds)
    scale = 1.0 if name.startswith("fairness") else 100.0
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
    axes.annotate(words.LAST_POD_COMES, (last, 0.02), xycoords=("data", "axes fraction"), fontsize=8, color=INK)
    axes.set(title=title, ylabel=unit, xlabel=f"time ({word})", xlim=(0, length / one or 1))
    if not name.startswith("fairness"):
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
    axes.set(title=words.WAIT_BY_SIZE, ylabel=words.LOGARITHMIC, ylim=(0, most * 2))
