"""A flame graph as SVG: each function as wide as the time that it takes, and below it what it calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element, SubElement, tostring
from zlib import crc32

WIDTH, ROW, MARGIN = 1200.0, 17, 8
LETTER = 6.6
"""The width of a letter of the labels."""
NARROWEST = 0.5
"""Narrower boxes are left out, with what they call."""


@dataclass(slots=True)
class FlameBox:
    """A function in its place, and what it calls."""

    name: str
    times: int = 0
    calls: dict[str, FlameBox] = field(default_factory=dict)


def flame_graph(stacks: Mapping[str, int]) -> str:
    """The graph of stacks that were seen so often, each with semicolons between its frames."""
    root = FlameBox("all")
    for stack, times in stacks.items():
        root.times += times
        box = root
        for name in stack.split(";"):
            box = box.calls.setdefault(name, FlameBox(name))
            box.times += times
    scale = (WIDTH - 2 * MARGIN) / max(1, root.times)
    drawn = list(_drawn(root, 0, float(MARGIN), scale))
    height = 2 * MARGIN + ROW * (1 + max(depth for _, depth, _ in drawn))
    svg = Element("svg", xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {WIDTH:g} {height}")
    svg.attrib |= {"font-family": "monospace", "font-size": "11"}
    SubElement(svg, "rect", width="100%", height="100%", fill="#fff")
    for box, depth, x in drawn:
        _draw(SubElement(svg, "g"), box, depth, x, scale, root.times)
    return tostring(svg, encoding="unicode")


def _drawn(box: FlameBox, depth: int, x: float, scale: float) -> Iterator[tuple[FlameBox, int, float]]:
    """Each box with its row and its left edge."""
    left = [(box, depth, x)]
    while left:
        box, depth, x = left.pop()
        yield box, depth, x
        for name in sorted(box.calls):
            inner = box.calls[name]
            if inner.times * scale >= NARROWEST:
                left.append((inner, depth + 1, x))
            x += inner.times * scale


def _draw(group: Element, box: FlameBox, depth: int, x: float, scale: float, total: int) -> None:
    width, y = box.times * scale, MARGIN + ROW * depth
    room = int((width - 6) / LETTER)
    label = box.name if len(box.name) <= room else f"{box.name[: room - 1]}…" if room > 3 else ""
    colour = f"hsl({20 + crc32(box.name.encode()) % 40},80%,72%)"
    SubElement(group, "title").text = f"{box.name}: {box.times} ({box.times / max(1, total):.1%})"
    wide, high = f"{max(0.1, width - 0.5):.1f}", str(ROW - 1)
    SubElement(group, "rect", x=f"{x:.1f}", y=str(y), fill=colour, width=wide, height=high)
    if label:
        SubElement(group, "text", x=f"{x + 3:.1f}", y=str(y + 12)).text = label
