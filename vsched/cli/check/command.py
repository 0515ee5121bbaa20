"""``vsched check``: whether a policy file is valid, and what it means."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
import orjson

from vsched.cli.ask.cluster import ClusterFlags, cluster_flags
from vsched.cli.check import words
from vsched.cli.show.output import print_document, say
from vsched.daemon.policy.rollout.machine import limit_text, step_text
from vsched.errors import BadInput, BadPolicy
from vsched.settings import Settings, load_text
from vsched.settings.describe import describe, describe_lines
from vsched.settings.installed import registry
from vsched.settings.load import MOST_BYTES, read_file, text_of
from vsched.settings.rollout import RolloutMap, rollout_map

EPILOG = """\b
Examples:
  vsched check config/scheduler.yaml
  kubectl get configmap vsched -o yaml | vsched check -
  vsched check config/samples/live/rollout.yaml
  vsched check policy.yaml --probe      (queries the source of node usage, too)
"""


@click.command("check", epilog=EPILOG)
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("-o", "--output", type=click.Choice(["text", "json", "yaml"]), default="text", show_default=True)
@click.option("--probe", is_flag=True, help="query the source of node usage, and show what it answers")
@cluster_flags
def command(file: Path, output: str, probe: bool, cluster: ClusterFlags) -> None:
    """Validate a policy FILE (``-`` for stdin): tiers, the extension points of each plugin, and what has no effect.

    FILE may be a ConfigMap with one policy, also with its rollout and the candidate.

    Exits 1 with the path and line of every error if the file is invalid; with --probe also if the source of node usage
    does not answer or knows none of the nodes. Only --probe reads the nodes of the cluster.
    """
    checked = _read(file)
    if output == "text":
        for line in _lines(checked):
            say(line)
        for warning in (warning for settings in checked.policies for warning in settings.warnings):
            say(f"warning: {warning}", err=True)
    else:
        print_document(orjson.loads(orjson.dumps(_document(checked))), output)
    if probe:
        _probe(checked.policies[0], cluster, err=output != "text")


class Checked(NamedTuple):
    """What a file has."""

    policies: tuple[Settings, ...]
    """The policy, and the candidate of its rollout."""
    rollout: RolloutMap | None = None


def _lines(checked: Checked) -> Iterator[str]:
    own, *candidates = checked.policies
    yield from (*describe_lines(own, registry()), *own.no_effect)
    if checked.rollout is not None:
        spec = checked.rollout.spec
        yield words.rollout(spec.candidate, take_back=spec.take_back)
        yield from (words.step(number, step_text(step)) for number, step in enumerate(spec.steps, start=1))
        yield from (words.limit(limit.measure.value, limit_text(limit)) for limit in spec.limits)
        for candidate in candidates:
            yield words.candidate(spec.candidate)
            yield from (*describe_lines(candidate, registry()), *candidate.no_effect)


def _document(checked: Checked) -> dict[str, Any]:
    own, *candidates = (describe(settings, registry()) for settings in checked.policies)
    if checked.rollout is None:
        return own
    spec = checked.rollout.spec
    rollout = {
        "candidate": spec.candidate,
        "takeBack": spec.take_back,
        "steps": [step_text(step) for step in spec.steps],
        "limits": {limit.measure.value: limit_text(limit) for limit in spec.limits},
    }
    return {**own, "rollout": rollout, "candidate": candidates[0]}


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


def _read(file: Path) -> Checked:
    """Read a policy, or a ConfigMap with one, its rollout and its candidate; raises BadPolicy with all problems."""
    where = "stdin" if str(file) == "-" else str(file)
    text = text_of(sys.stdin.buffer.read(MOST_BYTES + 1) if where == "stdin" else read_file(where), where)
    rollout = rollout_map(text, where)
    if rollout is None:
        return Checked((load_text(text, where, registry()),))
    found, problems = list[Settings](), list[str]()
    for key in (rollout.own, rollout.spec.candidate):
        try:
            found.append(load_text(text, where, registry(), key=key))
        except BadPolicy as error:
            problems += error.problems
    if problems:
        raise BadPolicy(problems)
    return Checked(tuple(found), rollout)
