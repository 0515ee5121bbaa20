"""``vsched tune``: arguments of a policy searched for an objective, on replays of a trace."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vsched.cli.options import options
from vsched.cli.show.output import Output, output_flags_of, print_document, say
from vsched.errors import BadInput
from vsched.lab import words as lab_words
from vsched.lab.replay.flags import FILE, moment, part_options
from vsched.lab.tune import words

if TYPE_CHECKING:
    from vsched.lab.tune.run import Tuned

EPILOG = """\b
Examples:
  vsched tune --trace nodes.csv pods.csv --objective config/samples/tune/objective.yaml --config policy.yaml
  vsched tune --trace jobs.csv --machines 4x8 --objective goals.yaml --trials 100 --out results
  vsched tune --trace jobs.csv.gz --from 2017-10-09 --days 28 --judge-from 14 --machines 72x8 --apart 15m \\
      --objective goals.yaml --minutes 15 --processes 2 --study study.log
"""
HELP = """Search the arguments of a policy for an objective, on replays of a trace.

The trace is split in time: the first part is searched on, the other one says whether what was found holds. The result
is the smallest change of the policy file that gets most of the gain, as a diff with what each part of it does, and a
table of the best candidates. --trace takes what vsched replay --trace takes.
"""
MOST_TRIALS, MOST_TOGETHER, MOST_PROCESSES = 100_000, 256, 256
TRIALS, TOGETHER = 40, 4


def share(ctx: click.Context, param: click.Parameter, value: float) -> float:
    return value / 100


tuning_options = options(
    click.option(
        "--objective",
        type=FILE,
        required=True,
        help="what to minimize or maximize, within which limits, and what to search: a YAML file",
    ),
    click.option("--config", "policy", type=FILE, metavar="POLICY", help="the policy in force.  [default: built-in]"),
    click.option(
        "--judge-from",
        callback=moment,
        metavar="TIME",
        help="a date (UTC), or days since the first pod: from there on nothing is tuned.  [default: the middle]",
    ),
    click.option(
        "--trials", type=click.IntRange(2, MOST_TRIALS), default=TRIALS, show_default=True, help="candidates to try"
    ),
    click.option(
        "--minutes",
        type=click.FloatRange(0, 100_000, min_open=True),
        help="begin no more candidates after this time",
    ),
    click.option(
        "--processes",
        type=click.IntRange(1, MOST_PROCESSES),
        help="replays at a time; the result does not depend on it.  [default: a processor each]",
    ),
    click.option(
        "--together",
        type=click.IntRange(1, MOST_TOGETHER),
        default=TOGETHER,
        show_default=True,
        help="candidates proposed at a time; at least as many as processes keep all of these busy",
    ),
    click.option("--study", type=FILE, help="keep the search in a file, and go on with what is in it"),
    click.option(
        "--bound",
        type=click.FloatRange(0, 90),
        default=10.0,
        show_default=True,
        metavar="PERCENT",
        callback=share,
        help="so much of the gain the smallest change may go without",
    ),
    click.option("--seed", type=click.IntRange(0, 2**31), default=1, show_default=True, help="of search and intervals"),
    click.option(
        "--out", type=click.Path(file_okay=False, path_type=Path), help="folder for results, policies and plots"
    ),
    click.option("--plots/--no-plots", default=None, help="draw plots, or not.  [default: with --out]"),
    click.option("--quiet", is_flag=True, help="show no progress"),
    output_flags_of("text", "json", "yaml"),
    click.option("--json", "as_json", is_flag=True, help="same as --output json"),
)


@click.command("tune", help=HELP, epilog=EPILOG)
@click.argument("files", nargs=-1, metavar="[PODS]", type=click.Path(path_type=Path))
@click.option(
    "--trace",
    type=click.Path(path_type=Path),
    required=True,
    metavar="JOBS | NODES PODS",
    help="a trace of a cluster: a file of jobs, and one of its nodes before it if any; or what vsched record wrote",
)
@part_options
@tuning_options
def command(
    files: tuple[Path, ...],
    trace: Path,
    objective: Path,
    policy: Path | None,
    judge_from: datetime | float | None,
    out: Path | None,
    plots: bool | None,
    quiet: bool,
    output: Output,
    as_json: bool,
    **asked: Any,
) -> None:
    """Tune a policy."""
    if len(files) > 1:
        raise click.UsageError(words.MOST_FILES)
    if plots and out is None:
        raise BadInput(lab_words.NOWHERE_TO_DRAW)
    if find_spec("optuna") is None:
        raise BadInput(words.NOT_INSTALLED)
    # Imported here, so that --help does not load the decision core.
    from vsched.lab.charts import check_installed, make_folder

    draws = out is not None if plots is None else plots
    if draws:
        # Checked now, not after minutes.
        check_installed()
    if out is not None:
        make_folder(out)
    found = _tune((trace, *files), objective, policy, judge_from, asked, quiet=quiet)
    # Shown first, so that the result is not lost where the files cannot be written.
    _show(found.document, output._replace(output="json") if as_json else output)
    if out is not None:
        _write(out, found, draws=draws)
    if not any(one["keeps_limits"] for one in found.document["tried"]):
        raise click.exceptions.Exit(1)


def _tune(
    files: tuple[Path, ...],
    objective_file: Path,
    policy: Path | None,
    judge_from: datetime | float | None,
    asked: Mapping[str, Any],
    *,
    quiet: bool,
) -> Tuned:
    from vsched.lab.tune.objective import read_objective
    from vsched.lab.tune.preparing import divided, facts_of, policy_text, prepared
    from vsched.lab.tune.run import SearchSettings, tune
    from vsched.lab.tune.search import digest_of
    from vsched.lab.tune.space import space_of
    from vsched.settings.installed import registry

    objective = read_objective(objective_file)
    text, name = policy_text(policy)
    space = space_of(text, name, registry(), objective.search, objective.where)
    trace, facts = prepared(files, policy, asked)
    objective.check_queues(facts["weights"])
    parts = divided(trace, facts, judge_from, asked, one_queue=bool(asked["one_queue"]))
    settings = SearchSettings(
        asked["trials"],
        asked["minutes"],
        asked["together"],
        asked["processes"] or min(os.cpu_count() or 1, asked["together"]),
        asked["seed"],
        asked["bound"],
        asked["study"],
        digest_of(text, objective.text, sorted(facts.items()), judge_from, asked["together"]),
    )
    told = facts_of(name, facts, parts, space)
    return tune(space, objective, parts, settings, told, (lambda line: None) if quiet else _tell)


def _tell(line: str) -> None:
    say(line, err=True)


def _show(document: dict[str, Any], output: Output) -> None:
    if output.output == "text":
        from vsched.lab.tune.view import show

        show(document, output.no_color)
    else:
        print_document(document, output.output)


def _write(out: Path, found: Tuned, *, draws: bool) -> None:
    """The document, charts, the diff and the policy files; raises BadInput."""
    from vsched.lab.charts import write_results
    from vsched.lab.tune.plots import draw

    write_results(out, "tune", found.document, {"tune": draw} if draws else {})
    smallest = found.document["smallest"]
    texts = {f"{name}.yaml": text for name, text in found.policies.items()}
    if smallest is not None:
        texts["smallest.diff"] = smallest["diff"]
    try:
        for name, text in texts.items():
            (out / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInput(lab_words.cannot_be_written(error.filename or out, error.strerror)) from None
