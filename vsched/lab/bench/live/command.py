"""``vsched bench-live``: measures the way from a pod's creation to its binding, over HTTP."""

from __future__ import annotations

from pathlib import Path

import click

from vsched.lab.bench.live.against import measure_against
from vsched.lab.bench.live.measure import measure_end_to_end
from vsched.lab.bench.live.settings import LiveSettings
from vsched.lab.bench.live.view import as_tables
from vsched.lab.bench.report import json_option, print_result, seed_option
from vsched.lab.bench.words import live as words
from vsched.lab.claiming import DEVICES, VOLUMES

EPILOG = """\b
Examples:
  vsched bench-live
  vsched bench-live --nodes 100 --pods 1000 --waiting 1000 --posts 1000
  vsched bench-live --nodes 100 --pods 1000 --waiting 1000 --posts 1000 --server-ms 1.25
  vsched bench-live --nodes 100 --pods 1000 --against HEAD~20 --rounds 3 --json
  vsched bench-live --nodes 100 --pods 1000 --profile daemon.txt
  vsched bench-live --nodes 100 --pods 1000 --gang 1 --server-ms 1.25
  vsched bench-live --nodes 50 --pods 400 --claims devices
  vsched bench-live --no-tls --small

\b
Read daemon_cpu_ms_per_pod first: the daemon's processor time for each pod of
the burst, which says more than pods/s on a machine with other work.
  writes_per_pod      its writes for each pod; api_writes_per_pod by kind
  cpu_ms_per_pod      of the server with its kubelets, the daemon, the client
  waiting             the same for pods that were all there before
  loops               what plain loops of aiohttp took for --posts pods:
                      bindings alone, and all that Volcano writes
  ratio               daemon_cpu_ms_per_pod, by the loop's time a binding
  times_volcano       pods/s of "waiting", by those of Volcano's writes
  server_times_volcano
                      the server's processor time a pod for Volcano's writes,
                      by that for "waiting"

\b
With --against: "figures" has the medians, "times" is today by the revision,
"runs" has every result.
"""


@click.command("bench-live", epilog=EPILOG, context_settings={"show_default": True})
@click.option("--nodes", type=click.IntRange(1, 5_000), default=200)
@click.option("--pods", type=click.IntRange(1, 100_000), default=2_000, help="Pods to create and have placed.")
@click.option(
    "--gang",
    type=click.IntRange(1, 1_000),
    default=20,
    help="Pods in a gang; 1 for single pods.",
)
@click.option(
    "--waiting",
    type=click.IntRange(0, 100_000),
    default=0,
    help="As many pods again, all of which are there before they may be placed.",
)
@click.option("--singles", type=click.IntRange(0, 10_000), default=100, help="Pods created one at a time afterwards.")
@click.option(
    "--posts",
    type=click.IntRange(0, 100_000),
    default=0,
    help="Also measure plain loops that bind this many pods each, and write what Volcano writes besides.",
)
@click.option(
    "--claims", type=click.Choice([VOLUMES, DEVICES]), help="Each pod claims a volume made on its node, or a device."
)
@click.option("--tls/--no-tls", default=True, help="Whether the server is asked over TLS, as real ones are.")
@click.option(
    "--real/--small", "real", default=True, help="Pods of about 3 KB with managedFields, or as small as can be."
)
@click.option(
    "--server-ms",
    type=click.FloatRange(0, 100),
    default=0.0,
    help="Least CPU time of the server for each write, in ms; a real one takes about 1.25.",
)
@click.option("--against", metavar="REV", help="Run in turns with the daemon of this git revision.")
@click.option(
    "--rounds", type=click.IntRange(1, 20), default=2, help="How often each runs, with --against; medians are shown."
)
@click.option(
    "--profile",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a CPU profile of the daemon to this file.",
)
@seed_option
@json_option
def command(
    nodes: int,
    pods: int,
    gang: int,
    waiting: int,
    singles: int,
    posts: int,
    claims: str | None,
    tls: bool,
    real: bool,
    server_ms: float,
    against: str | None,
    rounds: int,
    profile: Path | None,
    seed: int,
    as_json: bool,
) -> None:
    """Measure the whole way on an embedded cluster: first creation to last binding, and the daemon's CPU time.

    The server with its kubelets, the daemon and the client are separate processes.
    """
    if against is not None and profile is not None:
        raise click.UsageError(words.PROFILE_OF_ONE)
    settings = LiveSettings(
        nodes=nodes,
        pods=pods,
        gang=gang,
        waiting=waiting,
        singles=singles,
        posts=posts,
        seed=seed,
        claims=claims,
        tls=tls,
        real=real,
        server_ms=server_ms,
    )
    if against is None:
        result = measure_end_to_end(settings, profile=profile)
    else:
        settings.check()
        result = measure_against(against, rounds, lambda environment: measure_end_to_end(settings, environment))
    print_result(result, as_json, as_tables)
