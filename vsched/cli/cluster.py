"""``vsched cluster``: the embedded cluster as a command.

Reads the arguments, starts the cluster, says where it is and waits for a signal.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import shlex
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

import click

from vsched.errors import BadInput, VschedError
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.sim.controllers import ControllerSettings, PodTimes
from vsched.sim.controllers.objects import duration_seconds

EXAMPLES = """\b
Examples:
  vsched cluster --nodes 100 --kubeconfig-out /tmp/sim.kubeconfig
  kubectl --kubeconfig /tmp/sim.kubeconfig get nodes

\b
  vsched cluster --nodes fleet.yaml -f queues.yaml -f jobs.yaml --default-duration 30s
"""

_GC_THRESHOLDS = (100_000, 50, 100)
"""The store keeps nearly everything it is given, so looking through the young for garbage seldom pays."""


@dataclass(frozen=True, slots=True)
class ClusterArguments:
    """What the command was told."""

    nodes: int | Path
    host: str
    port: int
    kubeconfig: Path
    manifests: tuple[Path, ...]
    settings: ClusterSettings


def _nodes(context: click.Context, option: click.Parameter, value: str) -> int | Path:
    """A number of nodes, or a file that describes them."""
    return int(value) if value.isdecimal() else Path(value)


def _seconds(context: click.Context, option: click.Parameter, value: str | None) -> float | None:
    """A length of time such as 500ms, 30s or 1h30m."""
    if value is None:
        return None
    try:
        return duration_seconds(value)
    except BadInput as error:
        raise click.BadParameter(str(error), context, option) from None


@click.command(epilog=EXAMPLES, short_help="An embedded Kubernetes cluster on a loopback port.")
@click.option(
    "--nodes",
    metavar="N|FILE",
    callback=_nodes,
    default="3",
    show_default=True,
    help="How many, or a YAML file of them.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="A loopback address; there is no authentication.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default="a free one", help="Port to listen on.")
@click.option(
    "--kubeconfig-out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("vsched-cluster.kubeconfig"),
    show_default=True,
    help="Where to write a kubeconfig.",
)
@click.option(
    "-f",
    "--filename",
    "manifests",
    multiple=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Objects to create at the start, YAML or JSON; may be repeated; - is standard input.",
)
@click.option(
    "--default-duration", metavar="DURATION", callback=_seconds, help="Pods that say nothing end after this, not never."
)
@click.option(
    "--termination-seconds",
    type=click.FloatRange(min=0),
    default=0.5,
    show_default=True,
    help="How long deleted pods take to end, at most their own grace period.",
)
@click.option("--api-only", is_flag=True, help="No kubelets and controllers: nothing happens by itself.")
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="warning",
    show_default=True,
    help="What to log on standard error.",
)
def cluster(
    nodes: int | Path,
    host: str,
    port: int,
    kubeconfig_out: Path,
    manifests: tuple[Path, ...],
    default_duration: float | None,
    termination_seconds: float,
    api_only: bool,
    log_level: str,
) -> None:
    """Runs a Kubernetes API server with pretended nodes, kubelets and controllers until it is interrupted.

    Any Kubernetes client works against it. Pods run as soon as they are bound to a node; annotate a pod with
    vsched.io/duration (and vsched.io/exit-code) to have it end.
    """
    logging.basicConfig(level=log_level.upper(), stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    times = PodTimes(run=default_duration, termination=termination_seconds)
    settings = ClusterSettings(controllers=None if api_only else ControllerSettings(pods=times))
    arguments = ClusterArguments(nodes, host, port, kubeconfig_out, manifests, settings)
    try:
        with asyncio.Runner(loop_factory=_new_event_loop) as runner:
            runner.run(serve(arguments))
    except VschedError as error:
        raise click.ClickException(str(error)) from None


def _new_event_loop() -> asyncio.AbstractEventLoop:
    """The fast loop, where there is one."""
    if sys.platform == "win32":
        return asyncio.new_event_loop()
    import uvloop

    return uvloop.new_event_loop()


async def serve(arguments: ClusterArguments) -> None:
    """Runs the cluster until SIGINT or SIGTERM."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    embedded = Cluster(
        arguments.nodes,
        host=arguments.host,
        port=arguments.port,
        manifests=arguments.manifests,
        settings=arguments.settings,
    )
    async with embedded:
        embedded.write_kubeconfig(arguments.kubeconfig)
        _tune_garbage_collection()
        path = shlex.quote(str(arguments.kubeconfig))
        click.echo(f"API server   {embedded.url}")
        click.echo(f"kubeconfig   {arguments.kubeconfig}")
        click.echo(f"try          kubectl --kubeconfig {path} get nodes")
        sys.stdout.flush()
        await stop.wait()


def _tune_garbage_collection() -> None:
    """What was made so far stays for good; from now on the collector looks seldom."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_GC_THRESHOLDS)
