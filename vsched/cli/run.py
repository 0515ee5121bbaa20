"""``vsched run``: the scheduler daemon. Flags to ``Options``; what runs is the daemon's business."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any, get_args

import click
import msgspec

from vsched.daemon.options import EvictionMode, Options
from vsched.log import LEVELS, LogFormat, configure

EPILOG = """\b
Examples:
  vsched run --kubeconfig ~/.kube/config --scheduler-conf config/scheduler.yaml
  vsched run --scheduler-name vsched --scheduler-name volcano     (in a pod)

Every flag can be set by environment, as VSCHED_SCHEDULER_CONF.
"""

_DEFAULTS = Options()


class Period(click.ParamType[float]):
    """A length of time above zero, up to an hour: seconds, or with units as Volcano writes it."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds."""
        try:
            seconds = float(value)
        except ValueError:
            from vsched.settings.durations import parse_duration  # here, so that --help does not load the settings

            seconds = parse_duration(value) or 0.0
        if not 0 < seconds <= LONGEST_PERIOD_SECONDS:
            self.fail(
                f"{value!r} is not a time between 0 and 1h (expected seconds, or such as 500ms, 1m30s)", param, ctx
            )
        return seconds


LONGEST_PERIOD_SECONDS = 3600.0
PERIOD = Period()


@click.command("run", epilog=EPILOG, context_settings={"auto_envvar_prefix": "VSCHED", "show_default": True})
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path),
    help="kubeconfig file; else $KUBECONFIG, ~/.kube/config, or the account of the pod it runs in",
)
@click.option("--context", help="context of the kubeconfig, where not its current one")
@click.option(
    "--scheduler-name",
    "scheduler_names",
    multiple=True,
    default=_DEFAULTS.scheduler_names,
    help="pods with this spec.schedulerName are ours; repeatable",
)
@click.option(
    "--scheduler-conf",
    "policy_file",
    type=click.Path(path_type=Path),
    help="policy file; without one, the built-in one",
)
@click.option(
    "--schedule-period", "period_seconds", type=PERIOD, default="1s", help="time after which a session starts anyway"
)
@click.option(
    "--coalesce",
    "window_ms",
    type=click.FloatRange(0, 10_000),
    default=10.0,
    help="milliseconds a change waits for more of them, at most",
)
@click.option("--default-queue", default=_DEFAULTS.default_queue, help="queue of PodGroups that name none")
@click.option(
    "--queue-controller/--no-queue-controller",
    default=_DEFAULTS.queue_controller,
    help="look after the states of queues, and make the root and the default one; off where Volcano's controllers do",
)
@click.option("--listen-address", default=_DEFAULTS.listen_address, help="address of metrics and views; '' for none")
@click.option("--healthz-address", default=_DEFAULTS.healthz_address, help="address of health checks; '' for none")
@click.option(
    "--kube-api-qps", "api_qps", type=click.FloatRange(min=1), default=_DEFAULTS.api_qps, help="writes a second"
)
@click.option(
    "--kube-api-burst", "api_burst", type=click.IntRange(min=1), default=_DEFAULTS.api_burst, help="writes at once"
)
@click.option(
    "--max-in-flight", type=click.IntRange(1, 64), default=_DEFAULTS.max_in_flight, help="bindings on the wire at once"
)
@click.option(
    "--eviction-mode",
    type=click.Choice(get_args(EvictionMode)),
    default=_DEFAULTS.eviction_mode,
    help="how victims go: evicted within their disruption budgets, or deleted whatever those say",
)
@click.option("--event-qps", type=click.FloatRange(min=0.1), default=_DEFAULTS.event_qps, help="Events a second")
@click.option("--log-level", type=click.Choice(tuple(LEVELS)), default="info", help="what is worth a line")
@click.option(
    "--log-format",
    type=click.Choice([*(form.value for form in LogFormat), "auto"]),
    default="auto",
    help="auto: console on a terminal, else json",
)
def command(
    kubeconfig: Path | None, context: str | None, log_level: str, log_format: str, window_ms: float, **flags: Any
) -> None:
    """Schedule the pods of a cluster until told to stop (SIGTERM, SIGINT); SIGHUP reads the policy file again."""
    from vsched.daemon.app import serve  # here, so that --help does not load numpy and aiohttp
    from vsched.daemon.tuning import listed, tuned
    from vsched.kube.config import load_connection
    from vsched.settings.built_in import REGISTRY

    if log_format == "auto":
        log_format = LogFormat.CONSOLE if sys.stderr.isatty() else LogFormat.JSON
    configure(log_level, log_format)
    options = msgspec.convert({**flags, "window_seconds": window_ms / 1000}, Options)
    connection = load_connection(kubeconfig, context)
    with tuned(), asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(serve(options, connection, REGISTRY, listed))


def _loop_factory() -> Any:
    if sys.platform == "win32":
        return None
    import uvloop

    return uvloop.new_event_loop
