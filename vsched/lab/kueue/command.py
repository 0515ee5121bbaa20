"""``vsched replay --kueue``: the generators of Kueue's performance tests in virtual time, beside their gates."""

from __future__ import annotations

import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from rich.console import Group
from rich.markup import escape
from rich.table import Table

from vsched.cli.show.output import Output, say
from vsched.daemon.system.tuning import tuned
from vsched.lab.kueue import words
from vsched.lab.kueue.gates import Figure, Gates, compared, read_gates
from vsched.lab.kueue.generator import Generator, read_generator
from vsched.lab.kueue.run import BUILT_IN, COHORTS, KueueProgress, KueueReplay
from vsched.settings import load_file, load_text
from vsched.settings.installed import registry

Document = dict[str, Any]
APART_SECONDS = 1.0
"""Between cycles while workloads wait; those of Volcano are as far apart by default."""
GENERATOR, RANGES = "generator.yaml", "rangespec.yaml"
DIFFERS = (
    words.TIME_IS_VIRTUAL,
    words.CORE_ALONE,
    words.LOOKS_AT_ALL,
    words.EVICTED_WAIT_AGAIN,
)


def replay_kueue(folder: Path, output: Output, *, policies: tuple[Path, ...], apart: float | None, quiet: bool) -> None:
    """Replay the generator in a folder, or a generator file, and show the result; raises BadInput."""
    if len(policies) > 1:
        raise click.UsageError(words.ONE_POLICY)
    path = folder / GENERATOR if folder.is_dir() else folder
    generator = read_generator(path)
    ranges = path.with_name(RANGES)
    gates = gates_for(generator, ranges) if ranges.exists() else Gates()
    apart = APART_SECONDS if apart is None else apart
    settings = load_file(policies[0], registry()) if policies else load_text(COHORTS, BUILT_IN, registry())
    tell: Callable[[KueueProgress], None] = _silent if quiet else _tell
    with tuned():
        replay = KueueReplay(generator, settings.policy, registry(), tell, apart_ms=round(apart * 1000))
        replay.run()
    name = policies[0].stem if policies else BUILT_IN
    found = document(replay, generator, gates, {"generator": str(path), "policy": name, "seconds_apart": apart})
    output.show(lambda: found, lambda _: as_page(found))


def gates_for(generator: Generator, path: Path) -> Gates:
    """The gates of a range file for the classes of a generator."""
    queues = {terms.class_name for cohort in generator.cohorts for terms in cohort.queues}
    return read_gates(path, queues, generator.workload_classes())


def document(replay: KueueReplay, generator: Generator, gates: Gates, run: Document) -> Document:
    """The result as one document; all but ``took`` is the same in each run."""
    accounts = replay.accounts
    figures = [*compared(gates, accounts.wall_ms, accounts.usage_percent(), accounts.mean_wait_ms())]
    queues = [*generator.queues()]
    return {
        **run,
        "cohorts": len({queue.cohort for queue in queues}),
        "queues": len(queues),
        "nodes": 0 if generator.topology is None else generator.topology.nodes,
        "workloads": accounts.created,
        "ended": accounts.ended,
        "figures": [figure.document() for figure in figures],
        "passed": _passed(figures, ended=accounts.ended == accounts.created),
        "evictions": {name: accounts.evictions[name] for name in accounts.mean_wait_ms()},
        "cycles": replay.cycles,
        "took": {
            "cpu_seconds": round(replay.cpu_seconds, 1),
            "rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        },
        "not_compared": [*gates.left_out],
        "differs": [*DIFFERS, *([words.NO_NODES] if generator.topology is None else ())],
    }


def _passed(figures: list[Figure], *, ended: bool) -> bool | None:
    """Whether all gates are passed; None without any."""
    judged = [figure.passed for figure in figures if figure.passed is not None]
    return ended and all(judged) if judged else None


# -- the page ---------------------------------------------------------------------------------------------------------


def as_page(found: Document) -> Group:
    """The result as text."""
    nodes = f" on {found['nodes']:,} nodes" if found["nodes"] else ""
    title = words.title(
        found["workloads"], found["queues"], found["cohorts"], nodes, found["policy"], found["seconds_apart"]
    )
    took, evictions = found["took"], sum(found["evictions"].values())
    ended = "" if found["ended"] == found["workloads"] else words.never_ended(found["workloads"] - found["ended"])
    below = words.totals(ended, found["cycles"], evictions, took["cpu_seconds"], took["rss_mb"])
    notes = [f"- {escape(text)}" for text in (*found["differs"], *found["not_compared"])]
    return Group(escape(title), as_table(found), escape(below), *notes)


def as_table(found: Document) -> Table:
    """A line for each figure, with its gate."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    for heading in ("here", words.GATE_OF_KUEUE, "passed"):
        table.add_column(heading, justify="right")
    for figure in found["figures"]:
        title = TITLES[figure["figure"]].format(escape(figure["class"]))
        share = figure["figure"] == "usage"
        value = figure["percent" if share else "ms"]
        gate, sign = figure["gate"], "at least" if share else "at most"
        bound = "none" if gate is None else f"{sign} {_shown(gate, share)}"
        verdict = {None: "", True: "yes", False: "NO"}[figure["passed"]]
        evicted = found["evictions"].get(figure["class"], 0) if figure["figure"] == "admission" else 0
        title += f" ({evicted:,} evictions)" if evicted else ""
        table.add_row(title, "never" if value is None else _shown(value, share), bound, verdict)
    return table


TITLES = {
    "wall": words.WALL_TIME,
    "usage": words.USAGE_OF_QUOTA,
    "admission": words.MEAN_TIME,
}


def _shown(value: float, share: bool) -> str:
    return f"{value:.1f} %" if share else f"{value / 1000:,.1f} s"


def _tell(progress: KueueProgress) -> None:
    say(
        words.progress(
            progress.at_ms / 1000,
            progress.created,
            progress.workloads,
            progress.admitted,
            progress.ended,
            progress.cycles,
            progress.took_seconds,
        ),
        err=True,
    )


def _silent(progress: KueueProgress) -> None:
    """With --quiet nothing is said."""
