"""``vsched record``: the work of a cluster as a trace, whoever schedules it; and what is in such traces."""

from __future__ import annotations

import asyncio
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vsched.cli.ask.cluster import ClusterFlags, cluster_flags
from vsched.cli.flags.suggesting import SuggestingGroup
from vsched.cli.flags.values import BYTES
from vsched.cli.record import words
from vsched.cli.show.output import Output, output_flags_of, say
from vsched.errors import BadInput
from vsched.log import LogFormat, configure

if TYPE_CHECKING:
    from vsched.daemon.recording import RecordSettings
    from vsched.kube.auth.connection import Connection

EPILOG = """\b
Examples:
  vsched record --out work/                     (until Ctrl-C; goes on where it ended)
  vsched record --out work/ --scheduler-name volcano --anonymous
  vsched record info work/
  vsched record merge work/ -O november.jsonl.gz
  vsched record cut november.jsonl.gz --since 2026-11-09 --until 2026-11-16 -O week.jsonl.gz
  vsched replay --trace week.jsonl.gz --policy config/policies/taking-back.yaml

It only reads: nodes, queues, PodGroups, workloads and pods (get, list, watch). Folders have a file for each day and
each start; times of which nothing is known are said.
"""
SCHEDULERS = ("vsched", "volcano", "default-scheduler", "kai-scheduler", "yunikorn")
PATH = click.Path(path_type=Path)


class TraceMoment(click.ParamType["tuple[bool, float]"]):
    """A date, or a time after the beginning of a trace: whether it is a date, and seconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[bool, float]:
        """Seconds since the epoch, or since the beginning."""
        from vsched.model.amounts.durations import parse_duration

        text = str(value).strip()
        try:
            found = datetime.fromisoformat(text)
        except ValueError:
            days = text.removesuffix("d")
            seconds = float(days) * 86_400 if days != text and days.isdecimal() else parse_duration(text)
            if seconds is None or seconds < 0:
                self.fail(words.no_moment(value), param, ctx)
            return False, seconds
        return True, (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


@click.group("record", cls=SuggestingGroup, epilog=EPILOG, invoke_without_command=True)
@cluster_flags
@click.option("--out", type=PATH, metavar="FOLDER", help="where to record")
@click.option(
    "--scheduler-name",
    "schedulers",
    multiple=True,
    metavar="NAME",
    help=f"record pods with this spec.schedulerName; repeatable  [default: {', '.join(SCHEDULERS)}]",
)
@click.option("--anonymous", is_flag=True, help="replace names by made-up ones, always the same in one folder")
@click.option(
    "--keep",
    type=BYTES,
    default="512Mi",
    show_default=True,
    help="remove the oldest files beyond this size",
)
@click.option("--user-key", metavar="KEY", help="annotation or label that names the user of a job")
@click.option(
    "--workloads", "workloads_file", type=PATH, metavar="FILE", help="more kinds of workloads whose pods are gangs"
)
@click.pass_context
def command(
    ctx: click.Context,
    cluster: ClusterFlags,
    out: Path | None,
    schedulers: tuple[str, ...],
    anonymous: bool,
    keep: int,
    user_key: str | None,
    workloads_file: Path | None,
) -> None:
    """Record the work of a cluster over days: jobs, pods, nodes and queues, and who bound what when.

    Any scheduler may be in charge. vsched replay --trace replays the trace under other policies.
    """
    if ctx.invoked_subcommand is not None:
        if out is not None:
            raise click.UsageError(words.FOLDER_AND_COMMAND)
        return
    if out is None:
        raise click.UsageError(words.NO_FOLDER)
    from vsched.daemon.system.tuning import tuned
    from vsched.kube.auth.config import load_connection
    from vsched.together import run_fast

    configure("warning", LogFormat.CONSOLE if sys.stderr.isatty() else LogFormat.JSON)
    settings = settings_of(out, schedulers, anonymous, keep, user_key, workloads_file)
    with tuned():
        run_fast(_record(settings, load_connection(*cluster)))


def settings_of(
    out: Path,
    schedulers: tuple[str, ...],
    anonymous: bool,
    keep: int,
    user_key: str | None,
    workloads_file: Path | None,
) -> RecordSettings:
    """What is to be recorded, for parsed flags."""
    from vsched.daemon.recording import RecordSettings

    return RecordSettings(
        folder=out,
        most_bytes=keep,
        schedulers=schedulers or SCHEDULERS,
        anonymous=anonymous,
        workloads_file=workloads_file,
        **({} if user_key is None else {"user_key": user_key}),
    )


async def _record(settings: RecordSettings, connection: Connection) -> None:
    from vsched.daemon.recording import WorkRecording
    from vsched.kube.client import ApiClient
    from vsched.settings.installed import registry

    async with ApiClient(connection) as client:
        recording = await asyncio.to_thread(WorkRecording, settings, client, registry())
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, recording.stop)
        try:
            await recording.run(
                lambda sizes: say(
                    words.recording(settings.folder, words.sizes(sizes["nodes"], sizes["tasks"])), err=True
                )
            )
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)
    say(words.recorded(recording.trace.written, settings.folder), err=True)


# -- what is in traces


@command.command("info", epilog="Example:  vsched record info work/")
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=PATH)
@output_flags_of("text", "json", "yaml")
def info(files: tuple[Path, ...], output: Output) -> None:
    """Show what is in a trace: its time and what of it was not seen, nodes, jobs, pods, and waits by queue."""
    from vsched.cli.record.view import as_text
    from vsched.record.history import History, read_together
    from vsched.record.summary import summary

    found = summary(History(read_together(files)))
    output.show(lambda: found, lambda look: as_text(found, look))


@command.command("merge", epilog="Example:  vsched record merge monday.jsonl.gz work/ -O all.jsonl.gz")
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=PATH)
@click.option("-O", "--out", type=PATH, required=True, metavar="FILE", help="output file")
def merge(files: tuple[Path, ...], out: Path) -> None:
    """Put traces of one cluster together in one file."""
    from vsched.record.history import read_together

    _write(out, read_together(files))


@command.command(
    "cut", epilog="Example:  vsched record cut work/ --since 2026-11-09 --until 2026-11-16 -O week.jsonl.gz"
)
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=PATH)
@click.option("--since", type=TraceMoment(), metavar="TIME", help="date, or time after the beginning  [default: all]")
@click.option("--until", type=TraceMoment(), metavar="TIME", help="date, or time after the beginning  [default: all]")
@click.option("-O", "--out", type=PATH, required=True, metavar="FILE", help="output file")
def cut(files: tuple[Path, ...], since: tuple[bool, float] | None, until: tuple[bool, float] | None, out: Path) -> None:
    """Cut a part out of a trace: what was there at one time, and what changed until another."""
    from vsched.record import history
    from vsched.record.folder import read_all

    begin = next(read_all(files)).at

    def moment(given: tuple[bool, float] | None, default: float) -> float:
        return default if given is None else given[1] if given[0] else begin + given[1]

    first, last = moment(since, begin), moment(until, float("inf"))
    if first >= last:
        raise BadInput(words.nothing_between(*(_said(each) for each in (first, last))))
    _write(out, history.cut(read_all(files), first, last))


def _said(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%S}"


def _write(path: Path, lines: Any) -> None:
    from vsched.record.folder import write_file

    count = 0

    def counted() -> Any:
        nonlocal count
        for line in lines:
            count += 1
            yield line

    size = write_file(path, counted())
    say(words.written(path, count, size / 1000), err=True)
