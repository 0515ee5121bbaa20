"""Control characters in what a rich console prints are written as escapes."""

from __future__ import annotations

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderableType, RenderHook, RenderResult
from rich.segment import Segment

from vsched.printable import printable


class Escaping(RenderHook):
    """Wraps every renderable of a console in ``Escaped``; a Live passes its own by this hook."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [Escaped(each) for each in renderables]


class Escaped:
    """A renderable whose texts cannot send control characters to the terminal; colours and cursor movements stay."""

    def __init__(self, inner: RenderableType) -> None:
        self._inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self._inner, options):
            text = segment.text
            yield segment if segment.control or text.isprintable() else Segment(printable(text), segment.style)
