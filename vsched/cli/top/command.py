"""``vsched top``: what a running daemon shares out, to whom, and who waits, live."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from vsched.cli.ask.daemon import Target, asking
from vsched.cli.show.output import print_document, showing_as

if TYPE_CHECKING:
    from vsched.web.overview.document import Overview

EPILOG = """\b
Examples:
  vsched top
  vsched top --once
  vsched top --daemon https://vsched.example.com --daemon-token-file token
  vsched top --once -o json | jq .queues
  vsched top --seconds 10 -o json       (a line for each picture)
"""

OUTPUTS = ("text", "json", "yaml")


@click.command("top", epilog=EPILOG)
@click.option("--once", is_flag=True, help="one picture, then end; so it is where there is no terminal")
@click.option("--seconds", type=click.FloatRange(0, 1e9, min_open=True), help="end after so many seconds")
@asking
@showing_as(OUTPUTS)
def command(once: bool, seconds: float | None, target: Target, no_color: bool, output: str) -> None:
    """Queues, namespaces, nodes, waiting jobs and sessions of a running daemon, as they change.

    Tab goes to the next table, arrows and page keys scroll, q quits. It goes on where the daemon is restarted.
    """
    # Imported here, so that --help does not load the client.
    from vsched.cli.ask.overview import read_picture
    from vsched.cli.top.live import follow, look_on, print_picture, watchable

    if once and seconds is not None:
        raise click.UsageError("--once and --seconds: one picture, or all of some time?")
    if output == "text" and not once and watchable(no_color):
        look_on(target, no_color, seconds)
    elif seconds is not None:
        follow(target, seconds, output)
    else:
        picture = read_picture(target)
        if output == "text":
            print_picture(target, picture, no_color)
        else:
            _print(picture, output)


def _print(overview: Overview, output: str) -> None:
    from vsched.cli.top.document import as_document

    print_document(as_document(overview), output)
