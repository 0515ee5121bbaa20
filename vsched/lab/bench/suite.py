"""``vsched bench --suite``: kube-scheduler's own workload files, with pods per second beside their thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
import orjson
from rich.console import Console

from vsched.files import text
from vsched.lab import words as common
from vsched.lab.bench.words import core as words
from vsched.lab.suites.live import live_of
from vsched.lab.suites.reading import chosen
from vsched.lab.suites.run import SUITE_POLICY, Result, core_of, run_all
from vsched.lab.suites.view import document, line, tables
from vsched.settings import load_file, load_text
from vsched.settings.installed import registry


def measure_suite(
    files: Sequence[Path],
    patterns: Sequence[str],
    labels: Sequence[str],
    config: str | None,
    *,
    live: bool,
    as_json: bool,
) -> None:
    """Measure the chosen workloads of these files, and print what was measured."""
    workloads = chosen(files, patterns, labels)
    if config is not None:
        policy = load_file(config, registry()).policy
    else:
        policy = load_text(SUITE_POLICY, common.BUILT_IN_POLICY, registry()).policy

    def tell(at: int, result: Result | None) -> None:
        if result is None:
            click.echo(f"{at + 1}/{len(workloads)} {workloads[at].full_name} …", err=True)
        else:
            click.echo(f"    {line(result)}", err=True)

    where = words.OVER_HTTP if live else words.CORE_ALONE
    perform = live_of(SUITE_POLICY if config is None else text(config)) if live else core_of(policy)
    results = run_all(workloads, perform, tell)
    if as_json:
        click.echo(orjson.dumps(document(results, where), option=orjson.OPT_INDENT_2))
    else:
        Console().print(tables(results, where))
