"""``vsched explain``: why a pod, a PodGroup or a queue waits, where it stands, and what would let it start."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vsched.cli.ask.cluster import full_name, reaching
from vsched.cli.ask.completing import QUEUE, explained, namespaces
from vsched.cli.ask.daemon import Target, asking
from vsched.cli.show.output import console_for, look_of, print_document, say, showing
from vsched.errors import BadInput, Unavailable

if TYPE_CHECKING:
    from vsched.explain.records import Explanation
    from vsched.kube.client import ApiClient

EPILOG = """\b
Examples:
  vsched explain team-a/train
  vsched explain train -n team-a --watch        (until it runs)
  vsched explain team-a/train-0 --pod -o json
  vsched explain queue/research                 (why its jobs wait)
  vsched explain team-a/train --from vsched-17.json.gz
"""

WATCH_SECONDS = 1.0
"""Between two looks, when watching."""
ESTIMATE_SECONDS = 5.0
"""How long is tried to foresee when something starts, where no daemon is asked."""


@click.command("explain", epilog=EPILOG)
@click.argument("name", metavar="NS/NAME|queue/NAME", shell_complete=explained)
@click.option("-n", "--namespace", metavar="NS", shell_complete=namespaces, help="where it is, for a name alone")
@click.option("--pod", "kind", flag_value="Pod", help="the pod of that name, where a PodGroup has it, too")
@click.option("--podgroup", "kind", flag_value="PodGroup", help="the PodGroup of that name and nothing else")
@click.option("--watch", is_flag=True, help="tell again whenever something changes, until it runs")
@click.option(
    "--from",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="ask a file that vsched dump wrote, and no daemon",
)
@reaching
@asking
@showing
def command(
    name: str,
    namespace: str | None,
    kind: str | None,
    watch: bool,
    file: Path | None,
    kubeconfig: Path | None,
    context: str | None,
    target: Target,
    output: str,
    no_color: bool,
) -> None:
    """Why something waits: what binds, its place in the order, and the smallest change that would let it start.

    What "waits" may get it by time, or from others. What "cannot start as things are" ("never" in JSON) asks for what
    cannot come as the cluster and the policy are: somebody has to change something.
    """
    if file is not None and watch:
        raise click.UsageError("--watch and --from: a file does not change")
    if namespace is None and kind is None and name.startswith(QUEUE):
        path = f"/explain-queue/{name.removeprefix(QUEUE)}"
    else:
        path = f"/explain/{full_name(name, namespace, kubeconfig, context)}"
    asked = {} if kind is None else {"kind": kind}
    if file is not None:
        _show(_from_file(file, path, kind or ""), output, no_color)
    elif watch:
        _watch(target, path, asked, output, no_color)
    else:
        _show(_ask(target, path, asked), output, no_color)


def _ask(target: Target, path: str, asked: dict[str, str]) -> Explanation:
    from vsched.cli.ask.daemon import ask_daemon

    return ask_daemon(target, lambda client: _told(client, path, asked))


async def _told(client: ApiClient, path: str, asked: dict[str, str]) -> Explanation:
    from vsched.cli.ask.daemon import understood
    from vsched.explain.records import Explanation

    found: Explanation = understood(client.connection.server, await client.get(path, asked), Explanation)
    return found


def _from_file(file: Path, path: str, kind: str) -> Explanation:
    """The explanation of the session that a file holds."""
    from vsched.cli.plan.live import load
    from vsched.explain.explaining import explain, explain_queue, kinds_of
    from vsched.framework.answers import Repeating
    from vsched.settings import load_text
    from vsched.settings.built_in import REGISTRY

    recording = load(file)
    if recording.report is None:
        raise BadInput(f"{file}: the cycle in it ended in an error, so nothing was decided")
    policy = load_text(recording.policy, str(file), REGISTRY).policy
    sight = (recording.snapshot, policy, REGISTRY, recording.report)
    _, what, *names = path.split("/")
    if what == "explain":
        callout = Repeating(recording.calls)
        found = explain(*sight, names[0], names[1], kind=kind, callout=callout, foreseen=_for_seconds(ESTIMATE_SECONDS))
    else:
        found = explain_queue(*sight, names[0], callout=Repeating(recording.calls))
    if found is None:
        key = "/".join(names)
        known = kinds_of(recording.snapshot, recording.report, key) if what == "explain" else ()
        raise BadInput(f"{file}: {key} is {f'a {known[0]}, and no {kind}' if known else 'not in it'}")
    return found


def _for_seconds(most: float) -> Callable[[], bool]:
    """Says whether this time is over."""
    import time

    until = time.monotonic() + most
    return lambda: time.monotonic() > until


def _watch(target: Target, path: str, asked: dict[str, str], output: str, no_color: bool) -> None:
    """Tell what there is whenever that is something else, until it runs or has finished."""
    import asyncio

    from vsched.cli.ask.daemon import asked as ask
    from vsched.explain.records import State

    async def look() -> None:
        before: object = None
        problem = ""
        while True:
            try:
                found = await ask(target, lambda client: _told(client, path, {**asked, "changes": "false"}))
                if _essence(found) != before:
                    full = await ask(target, lambda client: _told(client, path, asked))
                    before = _essence(found)
                    _show(full, output, no_color)
                problem = ""
                if found.state in (State.RUNS, State.FINISHED):
                    return
            except Unavailable as error:  # a daemon that has answered is waited for: it may be begun anew
                if before is None:
                    raise
                if str(error) != problem:
                    problem = str(error)
                    say(f"vsched: {problem}", err=True)
            await asyncio.sleep(WATCH_SECONDS)

    asyncio.run(look())


def _essence(found: Explanation) -> object:
    """What makes it worth telling again: neither the time nor what is looked for at length."""
    place = found.place
    return found.state, found.message, found.phase, found.counts, place and (place.position, place.of)


def _show(found: Explanation, output: str, no_color: bool) -> None:
    from msgspec import to_builtins

    from vsched.cli.explain.view import as_page

    if output in ("json", "yaml"):
        print_document(to_builtins(found), output)
        return
    console = console_for(no_color, output == "wide")
    console.print(as_page(found, look_of(console, output == "wide"), wide=output == "wide"))
