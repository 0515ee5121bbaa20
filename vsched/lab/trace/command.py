"""``vsched replay --trace``: a trace replayed under several policies, and how they compare.

Policies are replayed side by side, each in a process of its own that runs this same command with one policy; one
alone is replayed in this process.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import orjson

from vsched.cli.show.output import Output, print_document
from vsched.daemon.system.tuning import tuned
from vsched.errors import BadInput
from vsched.lab.children import child, scratch
from vsched.lab.trace.files import WHOLE_GPU, ClusterTrace, read_trace
from vsched.lab.trace.load import capacity_of, faster, faster_for, loads_of, scarcest, with_share_of_nodes
from vsched.lab.trace.run import ReplayProgress, replay, weights_of
from vsched.log import LogFormat, configure
from vsched.settings import load_file
from vsched.settings.installed import registry
from vsched.sim.tables.ages import short_duration
from vsched.together import first_error, run_fast, together

BUILT_IN = "default"
"""What the built-in policy is called."""
LOOK_SECONDS = 1.0
DIGITS = 4

Document = dict[str, Any]
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """What the command was told."""

    files: tuple[Path, Path]
    policies: tuple[Path, ...]
    share: float
    load: float | None
    weights: Mapping[str, int]
    seed: int
    jobs: int

    def arguments(self, policy: Path) -> tuple[str, ...]:
        """Those of a process that replays one of the policies."""
        return (
            *("replay", "--trace", *map(str, self.files), "--policy", str(policy), "--nodes", repr(self.share)),
            *(() if self.load is None else ("--load", repr(self.load))),
            *(part for queue, weight in self.weights.items() for part in ("--weight", f"{queue}={weight}")),
            *("--seed", str(self.seed), "--no-plots", "-o", "json"),
        )


def replay_trace(
    trace: tuple[Path, Path],
    output: Output,
    *,
    policies: Sequence[Path],
    share: float,
    load: float | None,
    weights: Mapping[str, int],
    seed: int,
    jobs: int,
    out: Path | None,
    plots: bool | None,
    quiet: bool,
) -> None:
    """Replay, compare, and show it as text, JSON or YAML; raises BadInput."""
    if plots and out is None:
        raise BadInput("--plots: nowhere to draw them (expected --out DIR with it)")
    plots = out is not None if plots is None else plots
    asked = ReplayRequest(trace, tuple(policies), share, load, weights, seed, jobs)
    names_of(asked.policies)
    for policy in asked.policies:
        load_file(policy, registry())
    if plots:
        # Looked for now: it would be a pity to find out after minutes.
        from vsched.lab.trace.plots import check_installed

        check_installed()
    prepared, facts = prepare(asked)
    if out is not None:
        _make(out)
    document = {"trace": facts, "policies": run_all(asked, prepared, _silent if quiet else _say)}
    # Shown first: what took minutes is not lost where it cannot be written.
    _show(document, output)
    if out is not None:
        _write(out, document, plots)


def prepare(asked: ReplayRequest) -> tuple[ClusterTrace, Document]:
    """The trace as it is to be replayed, and what there is to know of it."""
    trace = read_trace(*asked.files)
    trace = trace if asked.share == 1.0 else with_share_of_nodes(trace, asked.share)
    factor = 1.0 if asked.load is None else faster_for(trace, asked.load)
    trace = faster(trace, factor)
    weights = weights_of(trace, asked.weights)
    unknown = [queue for queue in asked.weights if queue not in weights]
    if unknown:
        raise BadInput(f"--weight: no pod is in queue {unknown[0]!r} (expected one of {', '.join(weights)})")
    facts = {
        "files": [path.name for path in asked.files],
        "nodes": len(trace.nodes),
        "gpus": capacity_of(trace.nodes)["gpu"] // WHOLE_GPU,
        "pods": len(trace.pods),
        "share_of_nodes": asked.share,
        "times_as_fast": round(factor, DIGITS),
        "load": {name: round(found, DIGITS) for name, found in loads_of(trace).items()},
        "scarcest": scarcest(trace),
        "weights": weights,
        "seed": asked.seed,
    }
    return trace, facts


def names_of(policies: Sequence[Path]) -> dict[str, Path | None]:
    """Policies by the names they are shown under; raises BadInput where two would have the same."""
    if not policies:
        return {BUILT_IN: None}
    counts = Counter(path.stem for path in policies)
    twice = [name for name, count in counts.items() if count > 1]
    if twice:
        raise BadInput(f"--policy: two files are called {twice[0]!r} (expected different names, to tell them apart)")
    return {path.stem: path for path in policies}


def run_all(asked: ReplayRequest, trace: ClusterTrace, say: Say) -> list[Document]:
    """What each policy made of it, in the order in which they were asked for."""
    try:
        if len(asked.policies) > 1:
            return run_fast(_side_by_side(asked, say))
        configure("warning", LogFormat.CONSOLE, sys.stderr)
        with tuned():
            return [run_fast(_alone(asked, trace, say))]
    except BaseExceptionGroup as errors:
        raise first_error(errors) from errors
    except asyncio.CancelledError:
        raise click.Abort from None


async def _alone(asked: ReplayRequest, trace: ClusterTrace, say: Say) -> Document:
    (name, policy), *_ = names_of(asked.policies).items()
    weights = weights_of(trace, asked.weights)
    found = await replay(trace, policy, weights, asked.seed, lambda standing: say(as_line(name, standing)))
    return {"policy": name} | found.summary()


async def _side_by_side(asked: ReplayRequest, say: Say) -> list[Document]:
    places = asyncio.Semaphore(asked.jobs)
    async with scratch() as folder, asyncio.TaskGroup() as group:
        # A terminal sends SIGINT to its whole group; whoever is told to end by other means has to end others, too.
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        running = [
            group.create_task(_in_a_process(asked, name, path, folder, places, say))
            for name, path in names_of(asked.policies).items()
            if path is not None
        ]
        return await together(*running)


async def _in_a_process(
    asked: ReplayRequest, name: str, policy: Path, folder: Path, places: asyncio.Semaphore, say: Say
) -> Document:
    printed, errors = folder / f"{name}.json", folder / f"{name}.log"
    async with places, child(f"replay under {name}", asked.arguments(policy), errors, output=printed) as started:
        following = asyncio.create_task(_follow(errors, say))
        try:
            code = await started.process.wait()
        finally:
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following
        if code:
            raise started.death()
        document: Document = orjson.loads(await asyncio.to_thread(printed.read_bytes))["policies"][0]
        return document


async def _follow(path: Path, say: Say) -> None:
    """Pass on what a process says, line by line."""
    seen = 0
    while True:
        try:
            await asyncio.sleep(LOOK_SECONDS)
        finally:
            seen += _pass_on(path, seen, say)


def _pass_on(path: Path, seen: int, say: Say) -> int:
    """Say the lines of a file that come after so many; how many there were."""
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")[seen:-1]
    for line in lines:
        say(line)
    return len(lines)


def as_line(name: str, standing: ReplayProgress) -> str:
    """How far a replay is."""
    pace = standing.sessions / standing.took_seconds if standing.took_seconds else 0.0
    return (
        f"{name}: {short_duration(standing.seconds)} in, {standing.created:,} of {standing.pods:,} pods came,"
        f" {standing.placed:,} run, {standing.waiting:,} wait; {standing.sessions:,} sessions"
        f" in {standing.took_seconds:.0f} s ({pace:.0f} a second)"
    )


def _say(line: str) -> None:
    click.echo(line, err=True)


def _silent(line: str) -> None:
    """Nobody wants to know."""


def _make(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"--out: {out}: cannot be made: {error.strerror}") from None


def _write(out: Path, document: Document, plots: bool) -> None:
    try:
        (out / "comparison.json").write_bytes(orjson.dumps(document, option=orjson.OPT_INDENT_2) + b"\n")
        if plots:
            from vsched.lab.trace.plots import draw

            for suffix in ("png", "svg"):
                draw(document, out / f"comparison.{suffix}")
    except OSError as error:
        raise BadInput(f"--out: {error.filename or out}: cannot be written: {error.strerror}") from None


def _show(document: Document, output: Output) -> None:
    if output.output == "text":
        from vsched.lab.trace.view import show

        show(document, output.no_color)
    else:
        print_document(document, output.output)
