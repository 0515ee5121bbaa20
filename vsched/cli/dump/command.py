"""``vsched dump``: a cycle of a running daemon as a file, or one that it kept because something looked wrong."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vsched.cli.ask.daemon import ask_daemon, daemon_flags
from vsched.cli.dump import words
from vsched.cli.show.output import Output, output_flags_of, say
from vsched.client.target import DaemonTarget, address_of
from vsched.errors import BadInput

if TYPE_CHECKING:
    from rich.console import RenderableType

    from vsched.cli.show.drawing import Look
    from vsched.web.pages.dumps import RecordingLine

EPILOG = """\b
Examples:
  vsched dump                              (the next session, as vsched-NUMBER.json.gz)
  vsched dump -O - | zcat | jq .head
  vsched dump --anonymous -O issue.json.gz (made-up names; the decisions stay the same)
  vsched dump --list                       (sessions in which something looked wrong)
  vsched dump --recording 17
"""

STDOUT = "-"


@click.command("dump", epilog=EPILOG)
@click.option(
    "-O", "--out", metavar="FILE", default="", help="output file; - is stdout  [default: vsched-NUMBER.json.gz]"
)
@click.option("--anonymous", is_flag=True, help="replace all names by made-up ones, in the same order")
@click.option("--recording", "number", type=click.IntRange(min=0), help="the recording of this session (see --list)")
@click.option("--list", "listing", is_flag=True, help="list the recordings of the daemon, and write nothing")
@output_flags_of("text", "json", "yaml")
@daemon_flags
def command(target: DaemonTarget, out: str, anonymous: bool, number: int | None, listing: bool, output: Output) -> None:
    """Record a session of a running daemon in a file, for vsched replay.

    The file has the cluster as the daemon sees it, the policy without secrets, the answers of extenders, and the
    decisions.
    """
    if listing and (out or anonymous or number is not None):
        raise click.UsageError(words.LIST_WRITES_NOTHING)
    if listing:
        _show_list(ask_daemon(target, lambda daemon: daemon.recordings()), output)
        return
    if out == STDOUT and sys.stdout.isatty():
        raise BadInput(words.NOT_TO_A_TERMINAL)
    data = _fetch(target, number, anonymous=anonymous)
    _write(data, out)


def _fetch(target: DaemonTarget, number: int | None, *, anonymous: bool) -> bytes:
    if sys.stderr.isatty():
        what = words.NEXT_SESSION if number is None else f"recording {number}"
        say(f"asking {address_of(target)} for {what} …", err=True)
    if number is None:
        return ask_daemon(target, lambda daemon: daemon.dump(anonymous=anonymous))
    return ask_daemon(target, lambda daemon: daemon.recording(number, anonymous=anonymous))


def _write(data: bytes, out: str) -> None:
    """Write the recording to its file or standard output, and say on standard error what is in it."""
    from vsched.cli.ask.recordings import decoded_recording
    from vsched.cli.replay.view import decided, described
    from vsched.model.plan import CycleReport

    recording = decoded_recording(data, words.WHAT_WAS_SENT)
    if out == STDOUT:
        sys.stdout.buffer.write(data)
    else:
        hidden = "-anonymous" if recording.head.anonymous else ""
        path = Path(out or f"vsched-{recording.head.number}{hidden}.json.gz")
        if not out and path.exists():
            raise BadInput(words.exists_already(path))
        try:
            path.write_bytes(data)
        except OSError as error:
            raise BadInput(f"{path}: {error.strerror or error}") from None
        say(f"{path}: {len(data) / 1000:,.0f} kB", err=True)
    for line in described(recording):
        say(line, err=True)
    say(recording.head.error or decided(recording.report or CycleReport()), err=True)


# -- the list


def _show_list(recordings: Sequence[RecordingLine], output: Output) -> None:
    if output.output == "text" and not recordings:
        say(words.NOTHING_LOOKED_WRONG)
    else:
        output.show(lambda: {"recordings": recordings}, lambda look: _table(recordings, look))


def _table(recordings: Sequence[RecordingLine], look: Look) -> RenderableType:
    from rich.text import Text

    from vsched.cli.replay.view import moment
    from vsched.cli.show.columns import columned

    table = columned(("number", "time", "kept for", "times", "kB", "says"), unicode=look.unicode)
    for one in recordings:
        size, says = f"{one['bytes'] / 1000:,.0f}", one["says"] or one["error"]
        cells = (str(one["number"]), moment(one["at"]), one["why"], str(one["times"]), size, says)
        table.add_row(*map(Text, cells))
    return table
