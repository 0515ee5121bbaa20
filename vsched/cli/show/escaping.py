"""What a rich console prints, with control characters in its texts written as escapes."""

from __future__ import annotations

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderableType, RenderHook, RenderResult
from rich.segment import Segment

from vsched.printable import printable


class Escaping(RenderHook):
    """Puts every renderable of a console into one that escapes it; what a Live shows passes it by."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [Escaped(each) for each in renderables]


class Escaped:
    """Another renderable, whose own texts cannot steer the terminal; colours and cursor of the console stay."""

    def __init__(self, inner: RenderableType) -> None:
        self._inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self._inner, options):
            text = segment.text
            yield segment if segment.control or text.isprintable() else Segment(printable(text), segment.style)
