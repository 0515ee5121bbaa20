"""``vsched replay``: a recorded cycle again.

Where the lab is installed, ``vsched.lab.replay.command`` takes its place, which has flags for traces as well.
"""

from __future__ import annotations

from pathlib import Path

import click

from vsched.cli.options import options
from vsched.cli.replay import words
from vsched.cli.show.output import Output, output_flags_of
from vsched.cli.wings import load

EPILOG = """\b
Examples:
  vsched replay vsched-17.json.gz                       (are the decisions the same, byte for byte?)
  vsched replay vsched-17.json.gz --config policy.yaml  (what another policy would have decided)
  vsched replay vsched-17.json.gz --profile             (where the time goes, by action and plugin)
"""
HELP = """Replay the session recorded in FILE by vsched dump, and say whether the decisions are the same.

Nothing is written to a cluster and nothing is called: the file has the answers of extenders. Exits 1 if the
decisions differ. With --config another policy decides, and the differences are shown.
"""
FLAGS_OF_THE_LAB = ("--kueue", "--fill", "--trace")


class _WithoutLab(click.Command):
    """The command where the lab is not installed: a line says so if it is asked for."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = {argument.partition("=")[0] for argument in args}
        for flag in FLAGS_OF_THE_LAB:
            if flag in given:
                load("vsched.lab", f"replay {flag}")
        return super().parse_args(ctx, args)


recording_options = options(
    click.argument("files", nargs=-1, metavar="[FILE]", type=click.Path(path_type=Path, dir_okay=False)),
    click.option(
        "--config", metavar="POLICY", type=click.Path(path_type=Path), help="policy to compare with the recorded one"
    ),
    click.option(
        "--cycles",
        type=click.IntRange(1, 1000),
        default=1,
        show_default=True,
        help="number of cycles; the decisions of one are carried out before the next",
    ),
    click.option("--profile", is_flag=True, help="show the time by action and plugin"),
    output_flags_of("text", "json", "yaml"),
    click.option("--json", "as_json", is_flag=True, help="same as --output json"),
)


@click.command("replay", cls=_WithoutLab, help=HELP, epilog=EPILOG)
@recording_options
def command(
    files: tuple[Path, ...], config: Path | None, cycles: int, profile: bool, output: Output, as_json: bool
) -> None:
    """Replay a recording."""
    replay_recording(files, config, cycles, profile, output._replace(output="json") if as_json else output)


def replay_recording(files: tuple[Path, ...], config: Path | None, cycles: int, profile: bool, output: Output) -> None:
    """Decide a recorded session again, and show the result; exits 1 if the decisions differ."""
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
