"""``vsched top``: the overview of a running daemon, live."""

from __future__ import annotations

import click

from vsched.cli.ask.daemon import ask_daemon, daemon_flags
from vsched.cli.show.output import Output, output_flags_of, print_document
from vsched.cli.top import words
from vsched.client.target import DaemonTarget

EPILOG = """\b
Examples:
  vsched top
  vsched top --once
  vsched top --daemon https://vsched.example.com --daemon-token-file token
  vsched top --once -o json | jq .queues
  vsched top --seconds 10 -o json       (a line for each update)
"""


@click.command("top", epilog=EPILOG)
@click.option("--once", is_flag=True, help="print once and exit, as without a terminal")
@click.option("--seconds", type=click.FloatRange(0, 1e9, min_open=True), help="exit after this many seconds")
@daemon_flags
@output_flags_of("text", "json", "yaml")
def command(once: bool, seconds: float | None, target: DaemonTarget, output: Output) -> None:
    """Show queues, namespaces, nodes, waiting jobs and sessions of a running daemon, live.

    Tab goes to the next table, arrows and page keys scroll, q quits. It reconnects when the daemon restarts.
    """
    # Imported here, so that --help does not load the client.
    from vsched.cli.top.document import as_document
    from vsched.cli.top.live import can_redraw, follow, print_overview, show_live

    if once and seconds is not None:
        raise click.UsageError(words.ONCE_AND_SECONDS)
    if output.output == "text" and not once and can_redraw(output.no_color):
        show_live(target, output.no_color, seconds)
    elif seconds is not None:
        follow(target, seconds, output.output)
    else:
        overview = ask_daemon(target, lambda daemon: daemon.overview())
        if output.output == "text":
            print_overview(target, overview, output.no_color)
        else:
            print_document(as_document(overview), output.output)
