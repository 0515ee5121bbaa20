"""How commands show results: the flags for it, the console, and documents as JSON or YAML."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import click

from vsched.cli.options import options_as_one
from vsched.printable import one_printable_line, printable_json

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from vsched.cli.show.drawing import Look
from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderableType, RenderHook, RenderResult
from rich.segment import Segment

from vsched.printable import printable

PIPE_COLUMNS = 5_000
"""Width of a wide table, and of one that goes to a file or a pipe: its lines are never broken."""

C = TypeVar("C", bound=Callable[..., Any])
_BLANKS = re.compile(r" +$", re.MULTILINE)


class Output(NamedTuple):
    """The values of ``--output`` and ``--no-color``: how a command shows its result."""

    output: str
    no_color: bool = False

    @property
    def wide(self) -> bool:
        """Whether a table shows all its columns."""
        return self.output == "wide"

    def show(self, document: Callable[[], object], page: Callable[[Look], RenderableType]) -> None:
        """Print the document as JSON or YAML, or the page as text; only what is printed is made."""
        if self.output in ("json", "yaml"):
            print_document(document(), self.output)
        else:
            console = console_for(self.no_color, self.wide)
            console.print(page(look_of(console, self.wide)))


def output_flags_of(*outputs: str) -> Callable[[C], C]:
    """A decorator that adds ``--output`` with these choices, the first as default, and ``--no-color``.

    The command gets both as ``output``.
    """
    return options_as_one(
        "output",
        Output,
        click.option(
            "-o", "--output", type=click.Choice(outputs), default=outputs[0], show_default=True, help="output format"
        ),
        click.option("--no-color", is_flag=True, help="no colours, as with NO_COLOR"),
    )


output_flags = output_flags_of("text", "wide", "json", "yaml")


def say(line: str, *, err: bool = False) -> None:
    """Print one line, with control characters escaped."""
    click.echo(one_printable_line(line), err=err)


def guarded(console: Console) -> Console:
    """The console, with control characters escaped in all that it prints."""
    from vsched.cli.show.output import Escaping

    console.push_render_hook(Escaping())
    return console


def console_for(no_color: bool, wide: bool) -> Console:
    """A console on standard output; as wide as needed for a wide table, a file or a pipe."""
    from rich.console import Console

    if sys.stdout.isatty():
        return guarded(Console(no_color=no_color or None, width=PIPE_COLUMNS if wide else None, highlight=False))
    return guarded(
        Console(
            file=cast("IO[str]", Trimmed(sys.stdout)), no_color=no_color or None, width=PIPE_COLUMNS, highlight=False
        )
    )


class Trimmed:
    """A file or a pipe that gets lines without trailing blanks, which rich puts behind the cells of tables."""

    def __init__(self, out: IO[str]) -> None:
        self._out = out

    def write(self, text: str) -> int:
        """Write whole lines, as a console does."""
        return self._out.write(_BLANKS.sub("", text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._out, name)


def look_of(console: Console, wide: bool) -> Look:
    """What fits the console."""
    from vsched.cli.show.drawing import look_for

    return look_for(console.width, wide, unicode=console.encoding.startswith("utf"))


def print_document(document: object, output: str) -> None:
    """Print data as JSON or YAML."""
    import orjson
    import yaml

    if output == "json":
        click.echo(printable_json(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()))
    else:
        click.echo(yaml.safe_dump(document, sort_keys=False), nl=False)


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
