"""``vsched check``: whether a policy file is valid, and what it means."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import orjson

from vsched.cli.ask.cluster import ClusterFlags, cluster_flags
from vsched.cli.show.output import print_document, say
from vsched.errors import BadInput
from vsched.settings import Settings, load_file
from vsched.settings.describe import describe, describe_lines
from vsched.settings.installed import registry
from vsched.settings.load import MOST_BYTES, load_bytes

EPILOG = """\b
Examples:
  vsched check config/scheduler.yaml
  kubectl get configmap vsched -o yaml | vsched check -
  vsched check policy.yaml --probe      (queries the source of node usage, too)
"""


@click.command("check", epilog=EPILOG)
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("-o", "--output", type=click.Choice(["text", "json", "yaml"]), default="text", show_default=True)
@click.option("--probe", is_flag=True, help="query the source of node usage, and show what it answers")
@cluster_flags
def command(file: Path, output: str, probe: bool, cluster: ClusterFlags) -> None:
    """Validate a policy FILE (``-`` for stdin): tiers, the extension points of each plugin, and what has no effect.

    Exits 1 with the path and line of every error if the file is invalid; with --probe also if the source of node usage
    does not answer or knows none of the nodes. Only --probe reads the nodes of the cluster.
    """
    settings = _read(file)
    if output == "text":
        for line in (*describe_lines(settings, registry()), *settings.no_effect):
            say(line)
        for warning in settings.warnings:
            say(f"warning: {warning}", err=True)
    else:
        print_document(orjson.loads(orjson.dumps(describe(settings, registry()))), output)
    if probe:
        _probe(settings, cluster, err=output != "text")


def _probe(settings: Settings, cluster: ClusterFlags, *, err: bool) -> None:
    """Say what the source of node usage answers, a line a figure; raises BadInput where no node is known."""
    from vsched.cli.usage.source import read_usage  # imported here: most files are checked without a cluster
    from vsched.cli.usage.view import figure_lines, why_nothing

    found = read_usage(settings, cluster)
    for line in figure_lines(found):
        say(line, err=err)
    problem = why_nothing(found)
    if problem:
        raise BadInput(problem)


def _read(file: Path) -> Settings:
    if str(file) == "-":
        return load_bytes(sys.stdin.buffer.read(MOST_BYTES + 1), "stdin", registry())
    return load_file(file, registry())
