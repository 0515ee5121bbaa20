"""``vsched bench-arbitrate``: the cost of a round of arbitration, and the latency of the extender."""

from __future__ import annotations

import resource
from typing import Any

import click
from rich.table import Table

from vsched.arbitrator.rules import ArbitrationRules
from vsched.daemon.system.tuning import listed, tuned
from vsched.errors import BadInput, Unavailable
from vsched.lab import words as common
from vsched.lab.bench.arbitrator import CHANGES, STEPS, BenchArbitrator
from vsched.lab.bench.extender import ask
from vsched.lab.bench.namespaces import (
    NEWCOMER,
    NamespaceFeeder,
    NamespaceWorld,
)
from vsched.lab.bench.report import json_option, pair, print_result, seed_option, side_by_side
from vsched.lab.bench.words import arbitrate as words
from vsched.together import run_fast

EPILOG = """\b
Examples:
  vsched bench-arbitrate
  vsched bench-arbitrate --overused 0 --requests 0
  vsched bench-arbitrate --waiting 50000 --json       (half of what is asked for waits)

\b
In the JSON:
  first     a round that finds everything new, and how much it wants written
  steady    rounds when everything is written, ten pods replaced before each
  claim     rounds in which a namespace comes that has nothing and waits for ten
            pods: where others are overused, pods are evicted for it at once
  extender  how long another process waits until it knows whether a pod may be placed,
            all nodes named in each request, over one connection; every other pod
            may. First "idle", then "busy" with a round every second in a thread
            of the process that answers, as in the daemon
"""
WRITING_ROUNDS = 10
"""Rounds at most until nothing is left to write: Consumers come first, then their Allocations."""
AT_ONCE = ArbitrationRules(grace_seconds=0.0)


def measure(crowd: NamespaceWorld, rounds: int, requests: int) -> dict[str, Any]:
    """The result as one document."""
    if crowd.overused >= crowd.namespaces:
        raise BadInput(words.too_many_overused(crowd.overused))
    arbitrator = BenchArbitrator(NamespaceFeeder(crowd))
    with tuned():
        listed()
        result: dict[str, Any] = {
            "first": first(arbitrator, rounds),
            "steady": steady(arbitrator, rounds),
            "claim": claim(arbitrator, rounds),
        }
        if requests:
            result["extender"] = run_fast(ask(arbitrator, requests))
    return {**result, "rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)}


def first(arbitrator: BenchArbitrator, rounds: int) -> dict[str, Any]:
    """Rounds while nothing has been written; only the first of them publishes everything."""
    found = [arbitrator.round() for _ in range(rounds)]
    return {**arbitrator.times(), "effects": len(found[-1].verdict.effects)}


def steady(arbitrator: BenchArbitrator, rounds: int) -> dict[str, Any]:
    """Rounds once everything has been written."""
    settle(arbitrator)
    effects, overused = 0, 0
    for _ in range(rounds):
        arbitrator.realm.renew(CHANGES)
        verdict = arbitrator.round().verdict
        arbitrator.write(verdict)
        effects, overused = effects + len(verdict.effects), len(verdict.overused)
    return {**arbitrator.times(), "effects": effects, "overused": overused}


def settle(arbitrator: BenchArbitrator) -> None:
    """Run rounds until none wants to write any more."""
    for _ in range(WRITING_ROUNDS):
        verdict = arbitrator.round().verdict
        arbitrator.write(verdict)
        if not verdict.effects:
            arbitrator.times()
            return
    raise Unavailable(words.never_settles(WRITING_ROUNDS))


def claim(arbitrator: BenchArbitrator, rounds: int) -> dict[str, Any]:
    """Rounds in which a namespace newly claims what it deserves."""
    evictions = 0
    for _ in range(rounds):
        pods = [arbitrator.realm.ask(NEWCOMER) for _ in range(CHANGES)]
        evictions += sum(
            eviction.beneficiary.startswith(f"{NEWCOMER}/") for eviction in arbitrator.round(AT_ONCE).verdict.evictions
        )
        for pod in pods:
            arbitrator.realm.withdraw(pod)
    return {**arbitrator.times(), "evictions": evictions}


@click.command("bench-arbitrate", epilog=EPILOG, context_settings={"show_default": True})
@click.option("--nodes", type=click.IntRange(1, 100_000), default=5000)
@click.option("--namespaces", type=click.IntRange(1, 100_000), default=1000)
@click.option("--pods", type=click.IntRange(1, 1_000_000), default=50_000, help="Pods that run.")
@click.option("--waiting", type=click.IntRange(1, 1_000_000), default=5000, help="Pods that wait.")
@click.option("--buckets", type=click.IntRange(0, 10_000), default=10, help="Half of the namespaces are in one.")
@click.option("--overused", type=click.IntRange(0), default=100, help="Namespaces that hold several times as much.")
@click.option("--rounds", type=click.IntRange(1, 10_000), default=30, help="Rounds of each kind.")
@click.option(
    "--requests", type=click.IntRange(0, 1_000_000), default=2000, help="Pods that the extender is asked about."
)
@seed_option
@json_option
def command(rounds: int, requests: int, as_json: bool, **numbers: Any) -> None:
    """Measure the cost of a round of arbitration, and how soon kube-scheduler gets an answer about a pod."""
    print_result(measure(NamespaceWorld(**numbers), rounds, requests), as_json, as_tables)


ROUNDS = {"first": "nothing written", "steady": "all written", "claim": "somebody claims"}


def as_tables(result: dict[str, Any]) -> list[Table]:
    """The result as two tables: rounds, and the extender."""
    rounds = side_by_side("a round, p50 / p99 (ms)", ROUNDS.values())
    for step in STEPS:
        rounds.add_row(step, *(pair(result[key][f"{step}_ms"]) for key in ROUNDS))
    for label, key in (
        (words.OBJECTS_TO_WRITE, "effects"),
        ("overused namespaces", "overused"),
        ("evictions", "evictions"),
    ):
        rounds.add_row(label, *(f"{result[found][key]:,}" if key in result[found] else "" for found in ROUNDS))
    rounds.add_section()
    rounds.add_row(common.PEAK_MEMORY, "", "", f"{result['rss_mb']:,}")
    if "extender" not in result:
        return [rounds]
    answers = side_by_side(words.ANSWERS, ("at rest", "beside a round a second"))
    for label, key in (
        (words.PLACEABLE, "placeable_ms"),
        (words.REFUSED, "refused_ms"),
        ("all", "all_ms"),
    ):
        found = (result["extender"][state][key] for state in ("idle", "busy"))
        answers.add_row(label, *("{p50:,} / {p99:,} / {max:,}".format(**times) for times in found))
    return [rounds, answers]
