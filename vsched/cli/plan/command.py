"""``vsched plan``: a one-shot what-if on manifests. The daemon's mirror and cycle, without a cluster."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from shutil import get_terminal_size
from typing import Any

import click
from msgspec.structs import replace
from rich.console import Console

from vsched.api.manifests import Manifests, read
from vsched.arbitrator.rules import ArbitrationRules
from vsched.cli.ask.daemon import daemon_flags
from vsched.cli.ask.recordings import load
from vsched.cli.flags.ignoring import ignore_flag
from vsched.cli.flags.values import Period
from vsched.cli.plan.arbitrate import AT_ONCE
from vsched.cli.plan.buy.answer import Bought, bought
from vsched.cli.plan.buy.flags import BuyFlags, buy_flags
from vsched.cli.plan.changes_view import as_document as what_if_document
from vsched.cli.plan.changes_view import as_text as what_if_text
from vsched.cli.plan.edits import THE_DAEMON, InOrder, editing, edits_of, submitted
from vsched.cli.plan.live import OUR_NAMES, buy_live, consolidate_live, fetch, what_if
from vsched.cli.plan.moving import words as moving_words
from vsched.cli.plan.moving.answer import Consolidated, consolidated
from vsched.cli.plan.on_paper import decide_on_paper
from vsched.cli.plan.proving import Proof, unchecked
from vsched.cli.plan.several import words as several_words
from vsched.cli.plan.several.targets import AskedCluster, by_file, by_urls
from vsched.cli.plan.text import as_text
from vsched.cli.plan.trial import PlanEdit
from vsched.cli.plan.usage_file import read_usage
from vsched.cli.plan.view import Planned, as_document
from vsched.cli.plan.words import flags as words
from vsched.cli.plan.workloads import decode_with_pods, table_for
from vsched.cli.show.output import Output, guarded, print_document, say
from vsched.client.target import DaemonTarget
from vsched.errors import BadInput
from vsched.framework.policy import Policy
from vsched.model.nodes.usage import Reading
from vsched.plugins.extender import ExtenderArgs
from vsched.settings import Settings, default_settings, load_file
from vsched.settings.installed import registry

COLUMNS_OF_NO_TERMINAL = 120
MOST_NAMED = 5
"""Nodes without a manifest that are named in one line."""

EPILOG = """\b
Examples:
  vsched plan -f cluster.yaml
  kubectl get nodes,pods,podgroups.scheduling.volcano.sh,queues.scheduling.volcano.sh -A -o yaml | vsched plan -f -
  vsched plan -f cluster.yaml -f new-job.yaml --config policy.yaml --cycles 3 -o json
  vsched plan -f cluster.yaml --config config/policies/usage.yaml --usage usage.yaml
  vsched plan -f cluster.yaml --ignore-unsupported volumes,priority-classes
  vsched plan -f cluster.yaml --arbitrate --cycles 3
  vsched plan -f cluster.yaml --verify
  vsched plan --live --submit new-job.yaml
  vsched plan --live --drain node-7 --add-nodes 2 --like node-8 --set queue/research.weight=3
  vsched plan --from session.dump --config new-policy.yaml -o json
  vsched plan --live --buy
  vsched plan --live --submit new-job.yaml --buy --pools pools.yaml
  vsched plan --live --buy --context prod --most 3 -o json
  vsched plan --live --consolidate team-a/train
  vsched plan --live https://east:8443 --live https://west:8443 --submit new-job.yaml
  vsched plan --clusters clusters.yaml --submit new-job.yaml --to best
"""


@click.command("plan", cls=InOrder, epilog=EPILOG)
@click.option("-f", "--filename", "files", multiple=True, help="Manifests, YAML or JSON; - is stdin.")
@click.option("--config", metavar="POLICY", help="Policy file  [default: the built-in policy]")
@click.option(
    "--usage", metavar="FILE", help="Node usage as a YAML file: {node: {cpu: {5m: 63.0}, memory: {5m: 40.1}}}."
)
@click.option("--cycles", type=click.IntRange(1, 1000), default=1, show_default=True, help="How many cycles to run.")
@click.option("--now", metavar="RFC3339", help="The current time of the plan  [default: that of the newest object]")
@click.option("--scheduler-name", "names", multiple=True, help="Plan the pods of this scheduler name; repeatable.")
@click.option("--arbitrate", is_flag=True, help="Divide the cluster among namespaces; on if there are Consumers.")
@click.option(
    "--arbitrate-grace",
    type=Period(zero=True),
    help="How long a namespace may be overused before pods are evicted  [default: 0s]",
)
@click.option(
    "--arbitrate-evictions",
    type=click.IntRange(1, 1000),
    metavar="N",
    help="Most pods that arbitration evicts in a cycle  [default: 1]",
)
@click.option(
    "--workloads",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Table of workload kinds, as for vsched run: which kinds make pods, and which gangs these form.",
)
@click.option("--verify", "proves", is_flag=True, help="Check the plan against the rules; exit 1 if it violates one.")
@click.option(
    "--consolidate",
    metavar="JOB",
    help="Show which running pods would be moved so that this job has room, and what that costs. NAMESPACE/NAME.",
)
@ignore_flag
@editing
@buy_flags
@daemon_flags
@click.option("-o", "--output", type=click.Choice(("text", "json", "yaml")), default="text", show_default=True)
def command(
    files: tuple[str, ...],
    config: str | None,
    usage: str | None,
    cycles: int,
    now: str | None,
    names: tuple[str, ...],
    ignored: tuple[str, ...],
    arbitrate: bool,
    arbitrate_grace: float | None,
    arbitrate_evictions: int | None,
    workloads: Path | None,
    proves: bool,
    consolidate: str | None,
    output: str,
    live: tuple[str, ...],
    clusters: Path | None,
    to: str,
    dump: Path | None,
    target: DaemonTarget,
    buying: BuyFlags,
    **edits: tuple[Any, ...],
) -> None:
    """Show what would be bound, evicted and nominated, and why the rest waits, from manifests or a running cluster.

    Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs and Volcano's Jobs among the manifests count as the pods
    that their controllers would create. So do JobSets, RayClusters and the other kinds of the table of workload kinds,
    in the gangs that the daemon would form. Other kinds that create pods are listed as ignored.

    --live plans on a running cluster: what would change if objects were submitted, nodes drained or added, fields set,
    or another policy in force. The changes are made in the order of their flags.

    --buy shows what would start each gang that still lacks its minimum after the plan: nodes of which pool, more quota,
    how much time, or which work would have to end.

    --consolidate shows the fewest moves of running pods by which one waiting job would have room: each pod has a place
    on another node now.
    """
    buying.check(live=bool(live))
    if consolidate is not None and buying.buy:
        raise click.UsageError(moving_words.NOT_WITH_BUY)
    proof = Proof() if proves else None
    on_decided = unchecked if proof is None else proof.decided
    if clusters is not None or len(live) > 1:
        _refuse_with_live(files=files, usage=usage, now=now, arbitrate=arbitrate, ignore_unsupported=ignored)
        if proves or consolidate is not None or buying.buy or config or dump is not None or not edits["submit"]:
            raise click.UsageError(several_words.SUBMIT_ONLY)
        if clusters is not None and live:
            raise click.UsageError(several_words.LIVE_AND_CLUSTERS)
        changes = edits_of(click.get_current_context(), edits)
        if any(edits[name] for name in edits if name != "submit"):
            raise click.UsageError(several_words.SUBMIT_ONLY)
        urls = [target.daemon if url == THE_DAEMON else url for url in live]
        asked_of = by_urls(urls, target) if clusters is None else by_file(clusters)
        _ask_several(asked_of, changes, workloads, to, output)
        return
    if to:
        raise click.UsageError(several_words.TO_WITHOUT_CLUSTERS)
    if live and live[0] != THE_DAEMON:
        target = target._replace(daemon=live[0], named=True)
    if live or dump is not None:
        if live and dump is not None:
            raise click.UsageError(words.LIVE_OR_FILE)
        _refuse_with_live(
            files=files,
            usage=usage,
            now=now,
            arbitrate=arbitrate,
            arbitrate_grace=arbitrate_grace is not None,
            arbitrate_evictions=arbitrate_evictions,
            ignore_unsupported=ignored,
        )
        changes = edits_of(click.get_current_context(), edits)
        policy = _policy(config).policy if config else None
        table = table_for(submitted(changes), workloads)
        asked: dict[str, Any] = {"policy": policy, "config": config or "", "names": names, "workloads": table}
        asked["on_decided"] = on_decided
        recording = fetch(target) if dump is None else load(dump)
        if consolidate is not None:
            show_moves(consolidate_live(recording, changes, consolidate, cycles=cycles, **asked), output)
        elif buying.buy:
            show_menus(buy_live(recording, changes, buying, cycles=cycles, **asked), output)
        else:
            what = what_if(recording, changes, cycles=cycles, **asked)
            Output(output).show(lambda: what_if_document(what), lambda look: what_if_text(what, look))
        if proof is not None:
            proof.tell()
        return
    if not files:
        raise click.UsageError(words.NO_FILE)
    if any(edits.values()):
        flags = ", ".join(f"--{name.replace('_', '-')}" for name, given in edits.items() if given)
        raise click.UsageError(words.for_running_clusters(flags))
    settings = _policy(config)
    note_extender(settings.policy)
    found = list(read(files, sys.stdin))
    table = table_for((each for _, each in found), workloads)
    manifests = decode_with_pods(found, table)
    moment = _moment(now) if now else _newest(manifests)
    reading = read_usage(usage, moment) if usage else None
    if reading is not None:
        note_strangers(reading, manifests)
    rules = arbitration_rules(arbitrate, arbitrate_grace, arbitrate_evictions)
    paper = decide_on_paper(
        manifests,
        settings.policy,
        names or OUR_NAMES,
        cycles=cycles if consolidate is None else cycles - 1,
        now=moment,
        usage=reading,
        rules=rules,
        ignored=ignored,
        workloads=table,
        on_decided=on_decided,
    )
    if consolidate is not None:
        show_moves(consolidated(paper.snapshot(), paper.policy, consolidate), output)
    elif buying.buy:
        show_menus(bought(paper.snapshot(), paper.policy, buying), output)
    else:
        show(paper.planned, output)
    if proof is not None:
        proof.tell()


def _ask_several(
    clusters: list[AskedCluster], changes: list[PlanEdit], workloads: Path | None, to: str, output: str
) -> None:
    """Ask several clusters, print their answers, and hand over where that is wanted."""
    from vsched.cli.plan.several.answers import ask_all
    from vsched.cli.plan.several.handing import chosen, hand_over
    from vsched.cli.plan.several.view import answers_document, answers_text

    wanted = [*submitted(changes)]
    answers = ask_all(clusters, changes, table_for(wanted, workloads), _tell_cluster)
    Output(output).show(lambda: answers_document(answers), lambda look: answers_text(answers, look))
    if to:
        hand_over(chosen(to, clusters, answers), wanted, lambda line: say(line, err=True))
    if all(answer.problem for answer in answers):
        raise click.exceptions.Exit(1)


def _tell_cluster(name: str) -> None:
    if sys.stderr.isatty():
        say(several_words.asking(name), err=True)


def _refuse_with_live(**given: object) -> None:
    flags = [f"--{name.replace('_', '-')}" if name != "files" else "-f" for name, value in given.items() if value]
    if flags:
        raise click.UsageError(words.not_with_live(", ".join(flags)))


def _policy(config: str | None) -> Settings:
    """The policy of a file, else the built-in one, with its warnings told."""
    settings = load_file(config, registry()) if config else default_settings(registry())
    for warning in settings.warnings:
        say(f"vsched: {warning}", err=True)
    return settings


def show_menus(found: Bought, output: str) -> None:
    """Print the menus as people or programs want them."""
    from vsched.cli.plan.buy.view import menus_document, menus_text

    Output(output).show(lambda: menus_document(found), lambda look: menus_text(found, look))


def show_moves(found: Consolidated, output: str) -> None:
    """Print moves as people or programs want them."""
    from vsched.cli.plan.moving.view import moves_document, moves_text

    Output(output).show(lambda: moves_document(found), lambda look: moves_text(found, look))


def arbitration_rules(arbitrate: bool, grace: float | None, evictions: int | None) -> ArbitrationRules | None:
    """What the flags say of arbitration; None where they leave it to the manifests."""
    if not arbitrate and grace is None and evictions is None:
        return None
    return replace(AT_ONCE, grace_seconds=grace or 0.0, evictions_per_round=evictions or AT_ONCE.evictions_per_round)


def note_extender(policy: Policy) -> None:
    """Say that a service outside is asked, and told of placements that only the plan makes."""
    conf = policy.plugin("extender")
    if conf is not None and isinstance(conf.args, ExtenderArgs) and conf.args.url_prefix:
        say(words.calling_extender(conf.args.url_prefix), err=True)


def note_strangers(reading: Reading, manifests: Manifests) -> None:
    """Say which of the nodes whose usage is given are in no manifest."""
    known = {found.metadata.name for found in manifests.objects.get("Node", ())}
    strangers = sorted(reading.nodes.keys() - known)
    if strangers:
        shown = ", ".join(strangers[:MOST_NAMED]) + (", …" if len(strangers) > MOST_NAMED else "")
        say(words.no_such_nodes(shown), err=True)


def show(planned: Planned, output: str) -> None:
    """Print a plan as people or programs want it."""
    if output != "text":
        print_document(as_document(planned), output)
    else:
        width = get_terminal_size((COLUMNS_OF_NO_TERMINAL, 1)).columns
        console = guarded(Console(width=width, soft_wrap=not sys.stdout.isatty(), markup=False, emoji=False))
        console.print(as_text(planned, width, unicode=console.encoding.startswith("utf")))


def _moment(text: str) -> float:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise BadInput(words.no_moment(text)) from None
    if moment.tzinfo is None:
        raise BadInput(words.no_time_zone(text))
    return moment.timestamp()


def _newest(manifests: Manifests) -> float:
    """The creation time of the newest object: a moment that is the same for the same input."""
    stamps: list[Any] = [
        found.metadata.creation_timestamp for objects in manifests.objects.values() for found in objects
    ]
    return max((stamp.timestamp() for stamp in stamps if stamp is not None), default=0.0)
