"""``vsched replay`` where the lab is installed: a recorded cycle, the trace of a cluster, or a test of Kueue."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from vsched.cli.options import typed_flags
from vsched.cli.replay.command import EPILOG as EPILOG_OF_RECORDINGS
from vsched.cli.replay.command import HELP, recording_options, replay_recording
from vsched.cli.show.output import Output
from vsched.lab.replay import words
from vsched.lab.replay.flags import trace_options

EPILOG = f"""{EPILOG_OF_RECORDINGS}\
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


@click.command("replay", help=HELP, epilog=EPILOG)
@recording_options
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
    """Replay a recording, a trace or a test of Kueue."""
    if as_json:
        output = output._replace(output="json")
    if kueue is not None:
        _replay_kueue(kueue, files, output, asked)
    elif trace is not None:
        # The second file reaches us as an argument, because --trace takes one or two.
        if len(files) > 1 or config is not None:
            raise click.UsageError(words.TRACE_WITH_FILES)
        if useless := _given(("cycles", "profile")):
            raise click.UsageError(words.not_with_trace(useless))
        _replay_trace((trace, *files), output, asked)
    else:
        if useless := _given(asked):
            raise click.UsageError(words.only_with_trace(useless))
        replay_recording(files, config, cycles, profile, output)


def _replay_trace(files: tuple[Path, ...], output: Output, asked: dict[str, Any]) -> None:
    """Replay a trace in time, or run the fill test with its pods."""
    if asked["fill"] is None:
        if useless := _given({"seeds"}):
            raise click.UsageError(words.only_with_fill(useless))
        # Imported here and below, so that --help does not load the decision core.
        from vsched.lab.trace.command import replay_trace

        replay_trace(files, output, **{name: value for name, value in asked.items() if name not in ("fill", "seeds")})
        return
    if useless := _given(asked.keys() - FILL_FLAGS):
        raise click.UsageError(words.not_with_fill(useless))
    from vsched.lab.fill.command import fill_test

    fill_test(files, output, **{name: asked[name] for name in FILL_FLAGS})


def _replay_kueue(kueue: Path, files: tuple[Path, ...], output: Output, asked: dict[str, Any]) -> None:
    """Replay a performance test of Kueue."""
    if files:
        raise click.UsageError(words.file_with_kueue(files[0]))
    if useless := _given(("trace", "config", "cycles", "profile", *(asked.keys() - KUEUE_FLAGS))):
        raise click.UsageError(words.not_with_kueue(useless))
    from vsched.lab.kueue.command import replay_kueue

    replay_kueue(kueue, output, **{name: asked[name] for name in KUEUE_FLAGS})


def _given(names: Iterable[str]) -> str:
    """The flags among these that are on the command line, as they are written."""
    wanted = {*names}
    return ", ".join(flag for name, flag in typed_flags().items() if name in wanted)
