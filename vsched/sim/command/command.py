"""``vsched cluster``: the embedded cluster as a command."""

from __future__ import annotations

import asyncio
import json
import math
import shlex
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING

import click

from vsched.cli.flags.values import Period
from vsched.log import LEVELS, LogFormat, configure
from vsched.sim.command import words
from vsched.sim.command.examples import DEVICES_EXAMPLE, NODES_EXAMPLE, POOLS_EXAMPLE
from vsched.together import run_fast

if TYPE_CHECKING:
    from vsched.sim.cluster import Authorization, Cluster

EPILOG = f"""\b
The YAML of --nodes FILE:
{indent(NODES_EXAMPLE, "  ")}
\b
The YAML of --devices FILE:
{indent(DEVICES_EXAMPLE, "  ")}
\b
The YAML of --pools FILE:
{indent(POOLS_EXAMPLE, "  ")}
\b
Examples:
  vsched cluster --nodes 100 --kubeconfig-out sim.kubeconfig
  kubectl --kubeconfig sim.kubeconfig get nodes

\b
  vsched cluster --nodes fleet.yaml -f queues.yaml -f jobs.yaml --default-duration 30s

\b
  vsched cluster --nodes 5000 --residents residents.yaml

\b
  vsched cluster --usage 0.2-1.4 --usage-window 1m --kubeconfig-out sim.kubeconfig
  kubectl --kubeconfig sim.kubeconfig top nodes

\b
  vsched cluster --authorization rbac --kubeconfig-out sim.kubeconfig
  kubectl --kubeconfig sim.kubeconfig auth can-i list pods --as system:serviceaccount:vsched:vsched

\b
  vsched cluster --runtime-config scheduling.k8s.io/v1beta1=true --kubeconfig-out sim.kubeconfig
  kubectl --kubeconfig sim.kubeconfig get workloads,podgroups.scheduling.k8s.io

\b
  vsched cluster --nodes 200 --faults config/faults.yaml

\b
  vsched cluster --nodes 1 --pools pools.yaml --kubeconfig-out sim.kubeconfig
  kubectl --kubeconfig sim.kubeconfig get nodes,provisioningrequests -A -w

\b
  vsched cluster --nodes 4 --devices devices.yaml --kubeconfig-out sim.kubeconfig
  kubectl --kubeconfig sim.kubeconfig get resourceslices,deviceclasses
  kubectl --kubeconfig sim.kubeconfig describe node node-0
"""


def _nodes(context: click.Context, option: click.Parameter, value: str) -> int | Path:
    """A number of nodes, or a file that describes them."""
    if value.isdecimal():
        return int(value)
    if not Path(value).suffix and not Path(value).exists():
        raise click.BadParameter(words.no_number_and_no_file(json.dumps(value)))
    return Path(value)


def _usage(context: click.Context, option: click.Parameter, value: str | None) -> tuple[float, float] | None:
    """A part of the request such as 0.6, or a range such as 0.2-1.4."""
    if value is None:
        return None
    low, dash, high = value.partition("-")
    try:
        found = float(low), float(high if dash else low)
    except ValueError:
        found = (-1.0, -1.0)
    if not 0.0 <= found[0] <= found[1] < math.inf:
        raise click.BadParameter(words.no_usage(value))
    return found


@click.command("cluster", epilog=EPILOG, context_settings={"show_default": True})
@click.option(
    "--nodes",
    metavar="N|FILE",
    callback=_nodes,
    default="3",
    help="Number of nodes, or a YAML file of them (see below).",
)
@click.option("--host", default="127.0.0.1", help="A loopback address.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default="a free one", help="Port to listen on.")
@click.option(
    "--kubeconfig-out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("vsched-cluster.kubeconfig"),
    help="Where to write a kubeconfig.",
)
@click.option(
    "-f",
    "--filename",
    "manifests",
    metavar="MANIFEST",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Objects to create at the start, YAML or JSON; may be repeated; - is standard input.",
)
@click.option(
    "--residents",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Pods that run from the start, as groups of equal pods in YAML (see below).",
)
@click.option(
    "--devices",
    "devices_file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Devices of the nodes, published by a simulated DRA driver or by device plugins (see below); the file is "
    "watched.",
)
@click.option(
    "--pools",
    "pools_file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Run an autoscaler that adds nodes of these pools (see below) for Unschedulable pods and for "
    "ProvisioningRequests.",
)
@click.option(
    "--default-duration",
    type=Period(zero=True, bounded=False),
    help="How long pods without a duration run.  [default: for ever]",
)
@click.option(
    "--termination-seconds",
    type=click.FloatRange(0, 3600),
    default=0.5,
    help="How long deleted pods take to end, at most their grace period.",
)
@click.option(
    "--usage",
    metavar="SHARE|LOW-HIGH",
    callback=_usage,
    help="What share of their requests pods use, as metrics.k8s.io and custom.metrics.k8s.io report it.",
)
@click.option(
    "--usage-window",
    type=Period(zero=True, bounded=False),
    default="5m",
    help="Window of the averages of custom.metrics.k8s.io.",
)
@click.option(
    "--usage-swing",
    type=click.FloatRange(0, 1),
    default=0.0,
    help="How much the cpu usage of pods varies, as a share of itself.",
)
@click.option("--usage-seed", type=int, default=1, help="Random seed of --usage.")
@click.option("--events/--no-events", default=True, help="Whether controllers and kubelets write Events.")
@click.option(
    "--authorization",
    type=click.Choice(["none", "rbac"]),
    default="none",
    help="Authorization: everything is allowed, or RBAC decides for the bearer of a token.",
)
@click.option(
    "--tls/--no-tls",
    default=None,
    show_default="on with --authorization rbac",
    help="Serve over TLS, with a certificate of its own; kubectl sends no token without.",
)
@click.option(
    "--faults",
    "faults_file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Make requests fail as this YAML file says; the number is printed at the end.",
)
@click.option(
    "--write-ms",
    type=click.FloatRange(0, 1000),
    default=0.0,
    help="Least CPU time of the server for each write, in ms; a real API server takes about 1.25.",
)
@click.option(
    "--runtime-config",
    metavar="GROUP/VERSION=true,…",
    default="",
    show_default="none",
    help="Serve Kubernetes' own PodGroups, as kube-apiserver does: scheduling.k8s.io/v1beta1=true, and v1alpha2.",
)
@click.option(
    "--kubelets/--no-kubelets",
    default=True,
    help="Whether nodes have kubelets; without them bound pods never start.",
)
@click.option("--api-only", is_flag=True, help="Run no kubelets and no controllers.")
@click.option("--log-level", type=click.Choice(tuple(LEVELS)), default="warning", help="Log level.")
def command(
    nodes: int | Path,
    host: str,
    port: int,
    kubeconfig_out: Path,
    manifests: tuple[Path, ...],
    residents: Path | None,
    devices_file: Path | None,
    pools_file: Path | None,
    default_duration: float | None,
    termination_seconds: float,
    usage: tuple[float, float] | None,
    usage_window: float,
    usage_swing: float,
    usage_seed: int,
    events: bool,
    authorization: Authorization,
    tls: bool | None,
    faults_file: Path | None,
    write_ms: float,
    runtime_config: str,
    kubelets: bool,
    api_only: bool,
    log_level: str,
) -> None:
    """Run a Kubernetes API server with simulated nodes, kubelets and controllers until stopped.

    Any Kubernetes client works against it. Pods run as soon as they are bound to a node; the annotations
    vsched.io/duration and vsched.io/exit-code have them end. With --usage, vsched.io/cpu-usage and
    vsched.io/memory-usage set what a pod uses (1500m, 2Gi, or 80% of its request), and vsched.io/usage-swing how much
    its cpu varies; on a node they set what it uses besides its pods.

    SIGUSR1 ends every watch, and watches of pods cannot resume: clients have to list the pods again.
    """
    from vsched.apimachinery.objects.native_groups import served_versions
    from vsched.daemon.system.tuning import listed, tuned  # imported here, so that --help does not load the server
    from vsched.sim.api.fault_plan import read_faults
    from vsched.sim.api.slowing import SlowWrites
    from vsched.sim.cluster import Cluster, ClusterSettings
    from vsched.sim.controllers import ControllerSettings, PodTimes, UsageSettings

    configure(log_level, LogFormat.CONSOLE if sys.stderr.isatty() else LogFormat.JSON)
    times = PodTimes(run=default_duration, termination=termination_seconds)
    if usage is not None and api_only:
        raise click.UsageError(words.USAGE_WITH_API_ONLY)
    if devices_file is not None and api_only:
        raise click.UsageError(words.DEVICES_WITH_API_ONLY)
    if pools_file is not None and api_only:
        raise click.UsageError(words.POOLS_WITH_API_ONLY)
    if usage is not None and not kubelets:
        raise click.UsageError(words.USAGE_WITHOUT_KUBELETS)
    measured = None
    if usage is not None:
        measured = UsageSettings(*usage, swing=usage_swing, window_seconds=usage_window, seed=usage_seed)
    controllers = None
    if not api_only:
        controllers = ControllerSettings(pods=times, kubelets=kubelets, usage=measured, events=events)
    settings = ClusterSettings(
        controllers,
        authorization,
        native_groups=served_versions(runtime_config),
        tls=authorization == "rbac" if tls is None else tls,
    )
    faults = None if faults_file is None else read_faults(faults_file)
    embedded = Cluster(
        nodes,
        host=host,
        port=port,
        manifests=manifests,
        residents=residents or (),
        devices=devices_file,
        pools=pools_file or (),
        settings=settings,
        gate=SlowWrites(write_ms) if write_ms else None,
        faults=faults,
    )
    with tuned():
        run_fast(_serve(embedded, kubeconfig_out, listed))
    if faults is not None:
        click.echo("\n".join(faults.lines()))


async def _serve(embedded: Cluster, kubeconfig: Path, started: Callable[[], None]) -> None:
    """Run the cluster until SIGINT or SIGTERM."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    if sys.platform != "win32":
        loop.add_signal_handler(signal.SIGUSR1, embedded.expire_watches, "pods")
    async with embedded:
        embedded.write_kubeconfig(kubeconfig)
        started()
        click.echo(f"API server   {embedded.url}")
        click.echo(f"kubeconfig   {kubeconfig}")
        click.echo(words.to_try(shlex.quote(str(kubeconfig))))
        sys.stdout.flush()
        await stop.wait()
