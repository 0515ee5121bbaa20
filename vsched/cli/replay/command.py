"""``vsched replay``: a recorded cycle again, or the trace of a cluster, or with ``--kueue`` a test of Kueue."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from vsched.cli.replay import words
from vsched.cli.replay.trace_options import trace_options
from vsched.cli.show.output import Output, output_flags_of
from vsched.cli.wings import load

EPILOG = """\b
Examples:
  vsched replay vsched-17.json.gz                       (are the decisions the same, byte for byte?)
  vsched replay vsched-17.json.gz --config policy.yaml  (what another policy would have decided)
  vsched replay vsched-17.json.gz --profile             (where the time goes, by action and plugin)
  vsched replay --trace nodes.csv pods.csv --policy a.yaml --policy b.yaml --out results
  vsched replay --trace nodes.csv pods.csv --fill 1.3 --seeds 42-51 --policy a.yaml --json
  vsched replay --trace jobs.csv --machines 4x8         (a table of yours: arrival, duration, cpu, gpus and more)
  vsched replay --trace jobs.csv.gz --from 2017-10-16 --days 7 --machines 88x8 --policy a.yaml --policy b.yaml
  vsched replay --kueue test/performance/scheduler/configs/baseline --json
"""
FILL_FLAGS = {"fill", "seeds", "policies", "share", "jobs", "out", "plots", "quiet"}
"""Those of --trace that the fill test knows as well, and its own; the rest is about time and queues."""
KUEUE_FLAGS = {"policies", "apart", "quiet"}
"""Those of --trace that --kueue knows as well."""


@click.command("replay", epilog=EPILOG)
@click.argument("files", nargs=-1, metavar="[FILE]", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--config", metavar="POLICY", type=click.Path(path_type=Path), help="policy to compare with the recorded one"
)
@click.option(
    "--cycles",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    help="number of cycles; the decisions of one are carried out before the next",
)
@click.option("--profile", is_flag=True, help="show the time by action and plugin")
@output_flags_of("text", "json", "yaml")
@click.option("--json", "as_json", is_flag=True, help="same as --output json")
@click.option(
    "--kueue",
    type=click.Path(exists=True, path_type=Path),
    metavar="DIR",
    help="Replay a performance test of Kueue: generator.yaml and, for the gates, rangespec.yaml; or a generator file.",
)
@trace_options
def command(
    files: tuple[Path, ...],
    config: Path | None,
    cycles: int,
    profile: bool,
    output: Output,
    as_json: bool,
    kueue: Path | None,
    trace: Path | None,
    **asked: Any,
) -> None:
    """Replay the session recorded in FILE by vsched dump, and say whether the decisions are the same.

    Nothing is written to a cluster and nothing is called: the file has the answers of extenders. Exits 1 if the
    decisions differ. With --config another policy decides, and the differences are shown.
    """
    if as_json:
        output = output._replace(output="json")
    if kueue is not None:
        _replay_kueue(kueue, files, output, asked)
        return
    if trace is not None:
        # The second file reaches us as an argument, because --trace takes one or two.
        if len(files) > 1 or config is not None:
            raise click.UsageError(words.TRACE_WITH_FILES)
        if useless := _given(("cycles", "profile")):
            raise click.UsageError(words.not_with_trace(useless))
        _replay_trace((trace, *files), output, asked)
        return
    if useless := _given(asked):
        raise click.UsageError(words.only_with_trace(useless))
    if not files:
        raise click.UsageError(words.NOTHING_TO_REPLAY)
    if len(files) > 1:
        raise click.UsageError(words.one_at_a_time(files[1]))
    # Imported here, so that --help does not load the decision core.
    from vsched.cli.replay.run import run
    from vsched.cli.replay.view import show

    found = run(files[0], config, cycles=cycles, profile=profile)
    show(found, output)
    if not found.same and config is None:
        raise click.exceptions.Exit(1)


def _replay_trace(files: tuple[Path, ...], output: Output, asked: dict[str, Any]) -> None:
    """Replay a trace in time, or run the fill test with its pods."""
    if asked["fill"] is None:
        if useless := _given({"seeds"}):
            raise click.UsageError(words.only_with_fill(useless))
        asked = {name: value for name, value in asked.items() if name not in ("fill", "seeds")}
        load("vsched.lab.trace.command", "replay --trace").replay_trace(files, output, **asked)
        return
    if useless := _given(asked.keys() - FILL_FLAGS):
        raise click.UsageError(words.not_with_fill(useless))
    asked = {name: value for name, value in asked.items() if name in FILL_FLAGS}
    load("vsched.lab.fill.command", "replay --fill").fill_test(files, output, **asked)


def _replay_kueue(kueue: Path, files: tuple[Path, ...], output: Output, asked: dict[str, Any]) -> None:
    """Replay a performance test of Kueue."""
    if files:
        raise click.UsageError(words.file_with_kueue(files[0]))
    if useless := _given(("trace", "config", "cycles", "profile", *(asked.keys() - KUEUE_FLAGS))):
        raise click.UsageError(words.not_with_kueue(useless))
    known = {name: asked[name] for name in KUEUE_FLAGS}
    load("vsched.lab.kueue.command", "replay --kueue").replay_kueue(kueue, output, **known)


def _given(names: Iterable[str]) -> str:
    """The flags among these that are on the command line, as they are written."""
    context = click.get_current_context()
    wanted = {name for name in names if context.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    return ", ".join(flag.opts[0] for flag in context.command.params if flag.name in wanted)
