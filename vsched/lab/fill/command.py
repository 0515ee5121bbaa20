"""``vsched replay --trace NODES PODS --fill``: the fill test for several policies and seeds, and a comparison.

Each policy and seed runs in a process of its own that runs this command for these alone; where ``--jobs`` is 1 all run
in this process. The result is the same.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from vsched.cli.show.output import Output, print_document
from vsched.daemon.system.tuning import tuned
from vsched.errors import BadInput
from vsched.lab import words as lab_words
from vsched.lab.charts import Charts, check_installed, make_folder, write_results
from vsched.lab.fill import words
from vsched.lab.fill.arrivals import arrivals, gpus_of, summary
from vsched.lab.fill.run import FillProgress, fill_up, policy_of
from vsched.lab.trace.command import names_of, silent, tell
from vsched.lab.trace.files import WHOLE_GPU, ClusterTrace, read_asking
from vsched.lab.trace.load import with_share_of_nodes
from vsched.lab.trace.processes import ReplayProcess, Say, side_by_side
from vsched.log import LogFormat, configure
from vsched.together import first_error, run_fast

Document = dict[str, Any]
Run = tuple[str, Path | None, int]
"""The name of a policy, its file, and a seed."""


@dataclass(frozen=True, slots=True)
class FillRequest:
    """The arguments of the command."""

    nodes: Path
    pods: Path
    fill: float
    seeds: tuple[int, ...]
    policies: tuple[Path, ...]
    share: float
    jobs: int

    @property
    def runs(self) -> list[Run]:
        """Every policy with every seed."""
        return [(name, path, seed) for name, path in names_of(self.policies).items() for seed in self.seeds]

    def arguments(self, run: Run) -> tuple[str, ...]:
        """The arguments of a process for one run."""
        _, path, seed = run
        return (
            *("replay", "--trace", str(self.nodes), str(self.pods), "--fill", repr(self.fill)),
            *("--seeds", str(seed), "--nodes", repr(self.share), "--no-plots", "-o", "json"),
            *(() if path is None else ("--policy", str(path))),
        )


def fill_test(
    files: tuple[Path, ...],
    output: Output,
    *,
    fill: float,
    seeds: tuple[int, ...],
    policies: tuple[Path, ...],
    share: float,
    jobs: int,
    out: Path | None,
    plots: bool | None,
    quiet: bool,
) -> None:
    """Run all, and show the result; raises BadInput."""
    if plots and out is None:
        raise BadInput(lab_words.NOWHERE_TO_DRAW)
    if len(files) != 2:
        raise BadInput(words.ONE_FILE)
    request = FillRequest(*files, fill, seeds, policies, share, jobs)
    for _, path, _ in request.runs:
        policy_of(path)
    draws = out is not None if plots is None else plots
    if draws:
        # Checked now, not after minutes.
        check_installed()
    trace = read_asking(request.nodes, request.pods)
    trace = trace if share == 1.0 else with_share_of_nodes(trace, share)
    next(arrivals(trace, fill, seeds[0]))
    if out is not None:
        make_folder(out)
    found = _run_all(request, trace, silent if quiet else tell)
    document = {"trace": facts_of(request, trace), "policies": found}
    _show(document, output)
    if out is not None:
        write_results(out, "fill", document, _charts() if draws else {})


def facts_of(request: FillRequest, trace: ClusterTrace) -> Document:
    """What was run."""
    return {
        "files": [request.nodes.name, request.pods.name],
        "nodes": len(trace.nodes),
        "gpus": gpus_of(trace) // WHOLE_GPU,
        "pods": len(trace.pods),
        "fill": request.fill,
        "share_of_nodes": request.share,
        "seeds": [*request.seeds],
    }


def _run_all(request: FillRequest, trace: ClusterTrace, say: Say) -> list[Document]:
    runs = request.runs
    try:
        if len(runs) > 1 and request.jobs > 1:
            found = run_fast(_side_by_side(request, runs, say))
        else:
            configure("warning", LogFormat.CONSOLE, sys.stderr)
            with tuned():
                found = [_alone(request, trace, run, say) for run in runs]
    except BaseExceptionGroup as errors:
        raise first_error(errors) from errors
    except asyncio.CancelledError:
        raise click.Abort from None
    count = len(request.seeds)
    return [summary(runs[first][0], found[first : first + count]) for first in range(0, len(runs), count)]


def _alone(request: FillRequest, trace: ClusterTrace, run: Run, say: Say) -> Document:
    name, path, seed = run
    filled = fill_up(trace, policy_of(path), request.fill, seed, lambda progress: say(as_line(name, seed, progress)))
    return filled.document()


async def _side_by_side(request: FillRequest, runs: Sequence[Run], say: Say) -> list[Document]:
    replays = [
        ReplayProcess(f"{name}, seed {seed}", request.arguments((name, path, seed))) for name, path, seed in runs
    ]
    found = []
    for document in await side_by_side(replays, request.jobs, say):
        (policy,) = document["policies"]
        (seed,) = policy["seeds"]
        found.append({**seed, "curve": policy["curve"]["mean"]})
    return found


def as_line(name: str, seed: int, progress: FillProgress) -> str:
    """The progress of a run in one line."""
    pace = progress.pods / progress.took_seconds * 60
    return words.progress(
        name,
        seed,
        progress.arrived_percent,
        progress.allocated_percent,
        progress.dropped,
        progress.pods,
        progress.took_seconds,
        pace,
    )


def _charts() -> Charts:
    from vsched.lab.fill.plots import draw

    return {"fill": draw}


def _show(document: Document, output: Output) -> None:
    if output.output == "text":
        from vsched.lab.fill.view import show

        show(document, output.no_color)
    else:
        print_document(document, output.output)
