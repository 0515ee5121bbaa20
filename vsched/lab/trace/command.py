"""``vsched replay --trace``: a trace replayed under several policies, and a comparison.

Several policies are replayed in processes of their own that run this command with one policy each; a single one is
replayed in this process.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from vsched.cli.show.output import Output, print_document
from vsched.daemon.system.tuning import tuned
from vsched.errors import BadInput
from vsched.lab import words as lab_words
from vsched.lab.charts import Charts, check_installed, make_folder, write_results
from vsched.lab.trace import words
from vsched.lab.trace.as_recorded import as_recorded, match
from vsched.lab.trace.checks import Checks
from vsched.lab.trace.files import WHOLE_GPU, ClusterTrace
from vsched.lab.trace.fleet import MachineKind
from vsched.lab.trace.formats import TraceFormat, format_of, read_files
from vsched.lab.trace.load import (
    capacity_of,
    declaring,
    faster,
    faster_for,
    loads_of,
    part_of,
    scarcest,
    with_share_of_nodes,
)
from vsched.lab.trace.processes import ReplayProcess, Say, side_by_side
from vsched.lab.trace.run import ReplayProgress, replay, weights_of
from vsched.log import LogFormat, configure
from vsched.model.amounts.durations import short_duration
from vsched.settings import load_file
from vsched.settings.installed import registry
from vsched.together import first_error, run_fast

BUILT_IN = "default"
"""The name of the built-in policy."""
PHILLY_APART_SECONDS = 60.0
"""Between sessions while pods wait: hundreds of jobs wait for hours; half of all run for 20 minutes and more."""
DIGITS = 4

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """The arguments of the command."""

    files: tuple[Path, ...]
    """One of jobs, or one of nodes and one of jobs."""
    format: TraceFormat | None
    """Of the jobs; None where the header decides."""
    policies: tuple[Path, ...]
    share: float
    machines: tuple[tuple[int, int], ...]
    """So many machines with so many GPUs each; where empty, those that fit the trace."""
    begin: datetime | float | None
    days: float | None
    apart: float
    """Seconds between sessions while pods wait."""
    one_queue: tuple[str, ...]
    """Names of policies under which pods of all queues wait in one line."""
    declared: float | None
    """So many times its true run time is what each job declares, if any."""
    load: float | None
    weights: Mapping[str, int]
    seed: int
    jobs: int
    verify: float
    """The share of the sessions that is checked against the rules."""

    def arguments(self, policy: Path) -> tuple[str, ...]:
        """The arguments of a process that replays one of the policies."""
        return (
            *("replay", "--trace", *map(str, self.files), "--policy", str(policy), "--nodes", repr(self.share)),
            *(() if self.format is None else ("--trace-format", self.format)),
            *(part for count, gpus in self.machines for part in ("--machines", f"{count}x{gpus}")),
            *(() if self.begin is None else ("--from", _written(self.begin))),
            *(() if self.days is None else ("--days", repr(self.days))),
            *("--apart", repr(self.apart)),
            *(("--one-queue", policy.stem) if policy.stem in self.one_queue else ()),
            *(() if self.declared is None else ("--declared", repr(self.declared))),
            *(() if self.load is None else ("--load", repr(self.load))),
            *(part for queue, weight in self.weights.items() for part in ("--weight", f"{queue}={weight}")),
            *(("--verify", f"{self.verify:.4%}") if self.verify else ()),
            *("--seed", str(self.seed), "--no-plots", "-o", "json"),
        )


def _written(begin: datetime | float) -> str:
    return begin.isoformat() if isinstance(begin, datetime) else repr(begin)


def replay_trace(
    trace: tuple[Path, ...],
    output: Output,
    *,
    trace_format: str | None,
    policies: Sequence[Path],
    share: float,
    machines: tuple[tuple[int, int], ...],
    begin: datetime | float | None,
    days: float | None,
    apart: float | None,
    one_queue: tuple[str, ...],
    declared: float | None,
    load: float | None,
    weights: Mapping[str, int],
    seed: int,
    jobs: int,
    verify: float,
    out: Path | None,
    plots: bool | None,
    quiet: bool,
) -> None:
    """Replay, compare, and show the result; raises BadInput."""
    if plots and out is None:
        raise BadInput(lab_words.NOWHERE_TO_DRAW)
    plots = out is not None if plots is None else plots
    format = None if trace_format is None else TraceFormat(trace_format)
    if apart is None:
        apart = PHILLY_APART_SECONDS if format_of(trace[-1], format) is TraceFormat.PHILLY else 0.0
    request = ReplayRequest(
        trace,
        format,
        tuple(policies),
        share,
        machines,
        begin,
        days,
        apart,
        one_queue,
        declared,
        load,
        weights,
        seed,
        jobs,
        verify,
    )
    strangers = [name for name in one_queue if name not in names_of(request.policies)]
    if strangers:
        raise BadInput(words.no_policy(strangers[0], ", ".join(names_of(policies))))
    for policy in request.policies:
        load_file(policy, registry())
    if plots:
        # Checked now, not after minutes.
        check_installed()
    prepared, facts = prepare(request)
    if out is not None:
        make_folder(out)
    found = run_all(request, prepared, silent if quiet else tell)
    recorded = {"recorded": as_recorded(prepared, facts["weights"])} if prepared.really else {}
    document = {"trace": facts, **recorded, "policies": found}
    # Shown first, so that the result is not lost where the files cannot be written.
    _show(document, output)
    if out is not None:
        write_results(out, "comparison", document, _charts() if plots else {})
    if any(policy.get("verify", {}).get("violations") for policy in found):
        raise click.exceptions.Exit(1)


def prepare(request: ReplayRequest) -> tuple[ClusterTrace, Document]:
    """The trace to replay, and facts about it."""
    trace = part_of(_read(request), request.begin, request.days)
    trace = trace if request.declared is None else declaring(trace, request.declared)
    trace = trace if request.share == 1.0 else with_share_of_nodes(trace, request.share)
    factor = 1.0 if request.load is None else faster_for(trace, request.load)
    trace = faster(trace, factor)
    if factor != 1.0 or request.share != 1.0:
        trace = replace(trace, really={})  # it is not what happened any more
    weights = weights_of(trace, request.weights)
    unknown = [queue for queue in request.weights if queue not in weights]
    if unknown:
        raise BadInput(words.no_such_queue(unknown[0], ", ".join(weights)))
    facts = {
        "files": [path.name for path in request.files],
        "nodes": len(trace.nodes),
        "gpus": capacity_of(trace.nodes)["gpu"] // WHOLE_GPU,
        "pods": len(trace.pods),
        "jobs": trace.jobs,
        "shares_gpus": trace.shares_gpus,
        "share_of_nodes": request.share,
        "one_queue": [*request.one_queue],
        "seconds_apart": request.apart,
        "times_as_fast": round(factor, DIGITS),
        "load": {name: round(found, DIGITS) for name, found in loads_of(trace).items()},
        "scarcest": scarcest(trace),
        "weights": weights,
        "seed": request.seed,
        **({"notes": [*trace.notes]} if trace.notes else {}),
    }
    return trace, facts


def _read(request: ReplayRequest) -> ClusterTrace:
    *nodes, jobs = request.files
    kinds = [MachineKind(*kind) for kind in request.machines]
    return read_files(nodes[0] if nodes else None, jobs, kinds, request.format)


def names_of(policies: Sequence[Path]) -> dict[str, Path | None]:
    """Policies by the name of their file; raises BadInput where two have the same name."""
    if not policies:
        return {BUILT_IN: None}
    counts = Counter(path.stem for path in policies)
    twice = [name for name, count in counts.items() if count > 1]
    if twice:
        raise BadInput(words.same_name(twice[0]))
    return {path.stem: path for path in policies}


def run_all(request: ReplayRequest, trace: ClusterTrace, say: Say) -> list[Document]:
    """The summary of each policy, in the order of the arguments."""
    try:
        if len(request.policies) > 1:
            return run_fast(_side_by_side(request, say))
        configure("warning", LogFormat.CONSOLE, sys.stderr)
        with tuned():
            return [run_fast(_alone(request, trace, say))]
    except BaseExceptionGroup as errors:
        raise first_error(errors) from errors
    except asyncio.CancelledError:
        raise click.Abort from None


async def _alone(request: ReplayRequest, trace: ClusterTrace, say: Say) -> Document:
    (name, policy), *_ = names_of(request.policies).items()
    weights = weights_of(trace, request.weights)
    checks = Checks(request.verify) if request.verify else None
    found = await replay(
        trace,
        policy,
        weights,
        request.seed,
        lambda progress: say(as_line(name, progress)),
        request.apart,
        one_queue=name in request.one_queue,
        checks=checks,
    )
    more = {} if checks is None else {"verify": checks.summary()}
    if trace.really:
        more["match"] = match(trace, found.accounts.waits)
    return {"policy": name} | found.summary() | more


async def _side_by_side(request: ReplayRequest, say: Say) -> list[Document]:
    policies = [(name, path) for name, path in names_of(request.policies).items() if path is not None]
    replays = [ReplayProcess(name, request.arguments(path)) for name, path in policies]
    return [document["policies"][0] for document in await side_by_side(replays, request.jobs, say)]


def as_line(name: str, progress: ReplayProgress) -> str:
    """The progress of a replay in one line."""
    pace = progress.sessions / progress.took_seconds if progress.took_seconds else 0.0
    return words.progress(
        name,
        short_duration(progress.seconds),
        progress.created,
        progress.pods,
        progress.placed,
        progress.waiting,
        progress.sessions,
        progress.took_seconds,
        pace,
    )


def tell(line: str) -> None:
    click.echo(line, err=True)


def silent(line: str) -> None:
    """With --quiet nothing is said."""


def _charts() -> Charts:
    from vsched.lab.trace.plots import draw, draw_shares

    return {"comparison": draw, "shares": draw_shares}


def _show(document: Document, output: Output) -> None:
    if output.output == "text":
        from vsched.lab.trace.view import show

        show(document, output.no_color)
    else:
        print_document(document, output.output)
