"""``vsched explain``: why a pod, a PodGroup or a queue waits, where it stands, and what would let it start."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click
from click.core import ParameterSource

from vsched.cli.ask.cluster import ClusterFlags, cluster_flags, full_name
from vsched.cli.ask.completing import QUEUE, explained, namespaces
from vsched.cli.ask.daemon import answer_of, daemon_flags
from vsched.cli.explain import words
from vsched.cli.flags.values import Period
from vsched.cli.show.output import Output, output_flags, say
from vsched.client.errors import Unknown
from vsched.client.target import DaemonTarget
from vsched.errors import BadInput, Unavailable

if TYPE_CHECKING:
    from vsched.client.daemon import DaemonClient, Kind
    from vsched.explain.records import Explanation

EPILOG = """\b
Examples:
  vsched explain team-a/train
  vsched explain train -n team-a --watch        (until it runs)
  vsched explain team-a/train-0 --pod -o json
  vsched explain team-a/mnist                   (a vcjob: its PodGroup)
  vsched explain queue/research                 (why its jobs wait)
  vsched explain team-a/train --from vsched-17.json.gz
"""

SEARCH_ON_SECONDS = 20
"""How long it is searched on for somebody who waits at a terminal."""
WATCH_SECONDS = 1.0
"""Between two questions of --watch."""


class ExplainedName(NamedTuple):
    """What is to be explained."""

    name: str
    """``NS/NAME`` of a pod or a job, or the name of a queue."""
    kind: Kind | None = None
    is_queue: bool = False


@click.command("explain", epilog=EPILOG)
@click.argument("name", metavar="NS/NAME|queue/NAME", shell_complete=explained)
@click.option(
    "-n", "--namespace", metavar="NS", shell_complete=namespaces, help="namespace of a NAME given without one"
)
@click.option("--pod", "kind", flag_value="Pod", help="explain the pod, if a PodGroup has the same name")
@click.option("--podgroup", "kind", flag_value="PodGroup", help="explain the PodGroup only")
@click.option("--watch", is_flag=True, help="explain again on every change, until it runs")
@click.option(
    "--from",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="read a recording of vsched dump instead of asking a daemon",
)
@click.option(
    "--search-time",
    type=Period(),
    default="2s",
    show_default=True,
    help="how long to search for changes that would help and for the start; at most 20s with a daemon",
)
@cluster_flags
@daemon_flags
@output_flags
def command(
    name: str,
    namespace: str | None,
    kind: Kind | None,
    watch: bool,
    file: Path | None,
    search_time: float,
    cluster: ClusterFlags,
    target: DaemonTarget,
    output: Output,
) -> None:
    """Explain why something waits: what blocks it, its place in the order, and the smallest change that would start it.

    NAME is that of a PodGroup, of a pod, or of the object a PodGroup was made for, such as a vcjob or a ReplicaSet.

    "waits" means that it may start later, when others end or make room. "cannot start as things are" ("never" in JSON)
    means that waiting does not help: an object or the policy has to change.
    """
    if file is not None and watch:
        raise click.UsageError(words.FILE_DOES_NOT_CHANGE)
    if namespace is None and kind is None and name.startswith(QUEUE):
        asked = ExplainedName(name.removeprefix(QUEUE), is_queue=True)
    else:
        asked = ExplainedName(full_name(name, namespace, cluster), kind)
    if file is not None:
        _show(_from_file(file, asked, search_time), output)
    elif watch:
        asyncio.run(_watch(target, asked, search_time, output))
    else:
        try:
            found = asyncio.run(_ask(target, asked, search_time))
        except Unknown as error:
            if (
                kind is None
                and not asked.is_queue
                and words.IS_KNOWN_HERE in str(error)  # else the daemon says what has become of the vcjob
                and (why := _of_vcjob(cluster, asked.name))
            ):
                raise Unknown(why) from error
            raise
        _show(found, output)
        from vsched.explain.words.reasons import CUT_SHORT

        default = click.get_current_context().get_parameter_source("search_time") is ParameterSource.DEFAULT
        if CUT_SHORT in found.notes and default and output.output in ("text", "wide") and sys.stdout.isatty():
            _look_on(target, asked, found, output)


def _look_on(target: DaemonTarget, asked: ExplainedName, first: Explanation, output: Output) -> None:
    """Search on for somebody who waits, and show the whole again where more is found."""
    say(words.searching_on(SEARCH_ON_SECONDS), err=True)
    found = asyncio.run(_ask(target, asked, SEARCH_ON_SECONDS))
    if (found.changes, found.message) == (first.changes, first.message):
        say(words.NOTHING_ELSE, err=True)
    else:
        _show(found, output)


def _of_vcjob(cluster: ClusterFlags, key: str) -> str:
    """Why nothing can be explained of the vcjob of this name; empty where there is none, or no cluster to ask."""
    from vsched.cli.job.vcjobs import known_vcjob
    from vsched.controllers.vcjobs.spec import JobPhase

    job = known_vcjob(cluster, key)
    if job is None:
        return ""
    status = job.status
    if status.phase is JobPhase.NEW:
        name = job.scheduler_name
        waits = words.NOT_LOOKED_AT + (words.of_scheduler(name) if name else "")
    else:
        waits = words.in_phase(status.phase) + "".join(f": {each}" for each in (status.reason, status.message) if each)
    return words.no_podgroup(key, waits)


async def _ask(target: DaemonTarget, asked: ExplainedName, seconds: float, *, changes: bool = True) -> Explanation:
    def read(daemon: DaemonClient) -> Awaitable[Explanation]:
        if asked.is_queue:
            return daemon.explain_queue(asked.name, seconds, changes=changes)
        return daemon.explain(asked.name, asked.kind, seconds, changes=changes)

    return await answer_of(target, read)


def _from_file(file: Path, asked: ExplainedName, seconds: float) -> Explanation:
    """The explanation from the session that a file holds; its searches take so many seconds together at most."""
    from vsched.cli.ask.recordings import load
    from vsched.explain.explaining import CHANGES_SHARE, explain, explain_queue
    from vsched.explain.names import kinds_of
    from vsched.framework.answers import Repeating
    from vsched.settings import load_text
    from vsched.settings.installed import registry

    recording = load(file)
    if recording.report is None:
        raise BadInput(words.cycle_ended_in_error(file))
    policy = load_text(recording.policy, str(file), registry()).policy
    session = (recording.snapshot, policy, registry(), recording.report)
    began = time.monotonic()

    def after(share: float) -> Callable[[], bool]:
        return lambda: time.monotonic() > began + share * seconds

    key, kind = asked.name, asked.kind or ""
    if not asked.is_queue:
        found = explain(
            *session,
            *key.split("/"),
            kind=kind,
            callout=Repeating(recording.calls),
            spent=after(CHANGES_SHARE),
            foreseen=after(1.0),
        )
    else:
        found = explain_queue(*session, key, callout=Repeating(recording.calls), spent=after(1.0))
    if found is None:
        known = () if asked.is_queue else kinds_of(recording.snapshot, recording.report, key)
        state = words.other_kind(known[0], kind) if known else words.NOT_IN_IT
        raise BadInput(f"{file}: {key} is {state}")
    return found


async def _watch(target: DaemonTarget, asked: ExplainedName, seconds: float, output: Output) -> None:
    """Show the explanation whenever it has changed, until what it is about runs or has finished."""
    from vsched.explain.records import Whereabouts

    before: object = None
    problem = ""
    while True:
        try:
            found = await _ask(target, asked, seconds, changes=False)
            if _essence(found) != before:
                full = await _ask(target, asked, seconds)
                before = _essence(found)
                _show(full, output)
            problem = ""
            if found.state in (Whereabouts.RUNS, Whereabouts.FINISHED):
                return
        except Unavailable as error:  # a daemon that answered once may be restarting: wait for it
            if before is None:
                raise
            if str(error) != problem:
                problem = str(error)
                say(f"vsched: {problem}", err=True)
        await asyncio.sleep(WATCH_SECONDS)


def _essence(found: Explanation) -> object:
    """The parts whose change is worth showing: neither the time nor what would help."""
    place = found.place
    return found.state, found.message, found.phase, found.counts, place and (place.position, place.of)


def _show(found: Explanation, output: Output) -> None:
    from msgspec import to_builtins

    from vsched.cli.explain.view import as_page

    output.show(lambda: to_builtins(found), lambda look: as_page(found, look, wide=output.wide))
