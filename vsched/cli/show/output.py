"""How results are shown: the flags that say how, the terminal there is, and data as JSON and YAML."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any, TypeVar, cast

import click

from vsched.printable import one_printable_line, printable_json

if TYPE_CHECKING:
    from rich.console import Console

    from vsched.cli.show.drawing import Look

PIPE_COLUMNS = 5_000
"""Room for a table that is wide, or goes to a file or a program: no line of it is ever broken."""
OUTPUTS = ("text", "wide", "json", "yaml")
_BLANKS = re.compile(r" +$", re.MULTILINE)

C = TypeVar("C", bound=Callable[..., Any])


def showing(command: C) -> C:
    """The flags that say how to show it."""
    return showing_as(OUTPUTS)(command)


def showing_as(outputs: tuple[str, ...]) -> Callable[[C], C]:
    """The same where there are other ways to show it; the first one is the usual one."""

    def with_flags(command: C) -> C:
        command = click.option("--no-color", is_flag=True, help="no colours; NO_COLOR does the same")(command)
        return click.option(
            "-o", "--output", type=click.Choice(outputs), default=outputs[0], show_default=True, help="how to show it"
        )(command)

    return with_flags


def say(line: str, *, err: bool = False) -> None:
    """Print one line, whatever the names and messages in it hold."""
    click.echo(one_printable_line(line), err=err)


def guarded(console: Console) -> Console:
    """The console, obeying nothing that stands in what it is given to print."""
    from vsched.cli.show.escaping import Escaping

    console.push_render_hook(Escaping())
    return console


def console_for(no_color: bool, wide: bool) -> Console:
    """The terminal, or room enough where a table is wide or goes to a file or a program."""
    from rich.console import Console

    if sys.stdout.isatty():
        return guarded(Console(no_color=no_color or None, width=PIPE_COLUMNS if wide else None, highlight=False))
    return guarded(
        Console(
            file=cast("IO[str]", Trimmed(sys.stdout)), no_color=no_color or None, width=PIPE_COLUMNS, highlight=False
        )
    )


class Trimmed:
    """A file or a pipe whose lines end where their words end: tables fill theirs with blanks up to the width."""

    def __init__(self, out: IO[str]) -> None:
        self._out = out

    def write(self, text: str) -> int:
        """Whole lines, as a console writes them."""
        return self._out.write(_BLANKS.sub("", text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._out, name)


def look_of(console: Console, wide: bool) -> Look:
    """What fits there."""
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
