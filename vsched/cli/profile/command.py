"""``vsched profile``: where a running daemon spends its time."""

from __future__ import annotations

from pathlib import Path

import click

from vsched.cli.ask.daemon import ask_daemon, daemon_flags
from vsched.cli.flags.values import Period
from vsched.cli.profile import words
from vsched.cli.show.output import Output, output_flags_of, say
from vsched.client.target import DaemonTarget
from vsched.errors import BadInput

EPILOG = """\b
Examples:
  vsched profile                            (functions by the time they take)
  vsched profile --seconds 20s -O flame.svg (a flame graph, for a browser)
  vsched profile -O stacks.txt              (a line a stack, as flamegraph.pl and speedscope read them)
  vsched profile -O profile.json            (for https://www.speedscope.app)
"""


@click.command("profile", epilog=EPILOG)
@click.option("--seconds", type=Period(), default="5s", show_default=True, help="how long to sample; 20s at most")
@click.option(
    "-O",
    "--out",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="write a flame graph (.svg), stacks (.txt) or a file for speedscope (.json) instead of a table",
)
@daemon_flags
@output_flags_of("text", "wide", "json", "yaml")
def command(seconds: float, out: Path | None, target: DaemonTarget, output: Output) -> None:
    """Sample the stacks of a running daemon, and show where it spends its time.

    Nothing is attached to the process and nothing is traced. Threads that wait for work are left out.
    """
    from vsched.cli.profile.formats import WRITTEN, profile_page

    if out is not None and out.suffix not in WRITTEN:
        raise BadInput(words.no_such_format(out, ", ".join(WRITTEN)))
    found = ask_daemon(target, lambda daemon: daemon.profile(seconds))
    if out is None:
        output.show(lambda: found, lambda look: profile_page(found, look))
        return
    try:
        out.write_text(WRITTEN[out.suffix](found), encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{out}: {error.strerror or error}") from None
    say(f"{out}: {words.sampled(found['samples'], found['seconds'], sum(found['stacks'].values()))}", err=True)
