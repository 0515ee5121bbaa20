"""The report of a shadow as one page that needs nothing else: plots as SVG, and the tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib import resources
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement, tostring

from vsched.cli.shadow import words
from vsched.cli.shadow.view import NUMBERS, heading, lasting, tables
from vsched.printable import one_printable_line
from vsched.shadow.summary import Comparing

BARS_MAX = 20
"""So many bars a plot has."""
LABEL_LETTERS = 46
WIDTH, ROW, LEFT, RIGHT = 900, 22, 300, 110
"""Of a plot and its parts, in units of SVG."""
LEAST = 1e-9


class Bar(NamedTuple):
    """A bar of a plot."""

    label: str
    value: float
    says: str
    """The value as text."""


def page_of(found: Comparing) -> str:
    """The page. What anybody has named is text in it, and never markup."""
    page = Element("html", lang="en")
    head, body = SubElement(page, "head"), SubElement(page, "body")
    SubElement(head, "meta", charset="utf-8")
    SubElement(head, "meta", name="viewport", content="width=device-width")
    _text(head, "title", words.TITLE)
    _text(head, "style", resources.files("vsched.cli.shadow").joinpath("page.css").read_text(encoding="utf-8"))
    _text(body, "h1", words.TITLE)
    for line in heading(found):
        _text(body, "p", line, "remark")
    plots = dict(plots_of(found))
    _text(body, "h2", words.STARTS)
    body.append(plot(words.STARTS, plots[words.STARTS]))
    for title, remark, headings, rows in tables(found):
        _text(body, "h2", title)
        if remark:
            _text(body, "p", remark, "remark")
        if not rows:
            _text(body, "p", words.NONE)
            continue
        if title in plots:
            body.append(plot(title, plots[title], mark=1.0 if title == words.QUEUES else None))
        body.append(_table(headings, rows))
    _text(body, "h2", words.LIMITS)
    limits = SubElement(body, "ul")
    for limit in found.limits:
        _text(limits, "li", limit)
    return "<!doctype html>\n" + tostring(page, encoding="unicode", method="html") + "\n"


def plots_of(found: Comparing) -> Iterator[tuple[str, list[Bar]]]:
    """The bars of each plot by the title of its section."""
    starts = found.starts
    counts = (
        (words.START_LATER, starts.later),
        (words.START_ALIKE, starts.alike),
        (words.START_WAITS_HERE, starts.waits_here),
        (words.START_UNSEEN, starts.unseen),
    )
    yield words.STARTS, [Bar(label, count, f"{count:,}") for label, count in counts]
    yield words.WAITING, [Bar(one.job, one.seconds, lasting(one.seconds)) for one in found.waiting]
    yield words.LATER, [Bar(one.job, one.later_seconds, lasting(one.later_seconds)) for one in found.later]
    yield words.IDLE, [Bar(name, seconds, f"{seconds:,.1f}") for name, seconds in found.idle.items()]
    yield words.QUEUES, [Bar(one.queue, one.share, f"{one.share:.0%}") for one in found.queues]


def plot(title: str, bars: Sequence[Bar], mark: float | None = None) -> Element:
    """Horizontal bars as SVG, the first ``BARS_MAX``; ``mark`` is a value that a line is drawn at."""
    shown = bars[:BARS_MAX]
    top = max((*(bar.value for bar in shown), mark or 0.0, LEAST))
    height, room = ROW * len(shown) + 4, WIDTH - LEFT - RIGHT
    drawn = Element("svg", {"role": "img", "aria-label": one_printable_line(title)}, viewBox=f"0,0,{WIDTH},{height}")
    for number, bar in enumerate(shown):
        y, length = number * ROW, bar.value / top * room
        label = bar.label if len(bar.label) <= LABEL_LETTERS else f"{bar.label[: LABEL_LETTERS - 1]}…"
        named = _text(drawn, "text", label)
        named.attrib.update({"x": f"{LEFT - 8}", "y": f"{y + 16}", "text-anchor": "end"})
        SubElement(drawn, "rect", x=f"{LEFT}", y=f"{y + 4}", width=f"{length:.1f}", height=f"{ROW - 6}")
        _text(drawn, "text", bar.says).attrib.update({"x": f"{LEFT + length + 6:.1f}", "y": f"{y + 16}"})
    if mark is not None:
        x = f"{LEFT + mark / top * room:.1f}"
        SubElement(drawn, "line", x1=x, x2=x, y1="0", y2=f"{height}")
    return drawn


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Element:
    table = Element("table")
    kinds = ["number" if one in NUMBERS else "" for one in headings]
    for cell, row in (("th", headings), *(("td", row) for row in rows)):
        line = SubElement(table, "tr")
        for kind, text in zip(kinds, row, strict=True):
            _text(line, cell, text, kind)
    return table


def _text(inside: Element, tag: str, text: str, kind: str = "") -> Element:
    """An element with text, of a class if ``kind`` names one."""
    made = SubElement(inside, tag, {"class": kind} if kind else {})
    made.text = text if tag == "style" else one_printable_line(text)
    return made
