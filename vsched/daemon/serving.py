"""A daemon as a program: run until a signal ends it, under a service manager where there is one."""

from __future__ import annotations

import asyncio
import signal
from contextlib import AsyncExitStack

from vsched.cel.devices import load
from vsched.clock import SystemClock
from vsched.daemon.app import Daemon, DaemonSettings
from vsched.daemon.observe.tracing import tracing_of
from vsched.daemon.options import Options
from vsched.daemon.policy.config_map import PolicyMap, map_key
from vsched.daemon.policy.reach import reach_of
from vsched.daemon.shadow.app import ShadowDaemon
from vsched.daemon.system.certificates import kept_certificate
from vsched.daemon.system.notify import notifier
from vsched.daemon.system.status_line import status_line
from vsched.daemon.system.supervision import Supervision, Watched, supervised
from vsched.daemon.system.tuning import Collector
from vsched.daemon.vcjobs import JobRunner
from vsched.framework.registry import Registry
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.log import logger


async def serve(options: Options, connection: Connection, registry: Registry, collector: Collector) -> None:
    """Run a daemon until a signal ends it; SIGHUP reads the policy again."""
    tracing = tracing_of(options)
    async with AsyncExitStack() as stack:
        if tracing is not None:
            stack.push_async_callback(tracing.close)
            connection = tracing.carrying(connection)
        client = await stack.enter_async_context(ApiClient(connection))
        policy = await _policy_map(options, client, registry)
        if options.vcjobs != "only":
            # In threads, because they read files: to make sense of them takes longer than the loop may be held.
            await asyncio.to_thread(load)

        def make() -> Daemon | ShadowDaemon | JobRunner:
            if options.vcjobs == "only":
                return JobRunner(options, client)
            if options.shadow:
                return ShadowDaemon(options, client, registry, policy=policy, collector=collector)
            settings = DaemonSettings(tracing=tracing)
            return Daemon(options, client, registry, policy=policy, settings=settings, collector=collector)

        keeping = kept_certificate(options, client, SystemClock(), logger("vsched").warning)
        await stack.enter_async_context(keeping)
        daemon = await asyncio.to_thread(make)
        async with supervised(_supervision(daemon)) as supervision:
            loop = asyncio.get_running_loop()

            def stop() -> None:
                supervision.stopping()
                daemon.stop()

            def reload() -> None:
                supervision.reloading()
                if not isinstance(daemon, JobRunner):
                    daemon.policy.nudge()

            reactions = {signal.SIGTERM: stop, signal.SIGINT: stop, signal.SIGHUP: reload}
            for number, react in reactions.items():
                loop.add_signal_handler(number, react)
            try:
                await daemon.run()
            finally:
                for number in reactions:
                    loop.remove_signal_handler(number)


async def _policy_map(options: Options, client: ApiClient, registry: Registry) -> PolicyMap | None:
    """The policy of the ConfigMap that the options name; None where they name none."""
    if not options.policy_map:
        return None
    at = map_key(options.policy_map)
    return await PolicyMap.open(
        at, client, registry, SystemClock(), logger("vsched").warning, reach_of(options, client.connection)
    )


def _supervision(daemon: Daemon | ShadowDaemon | JobRunner) -> Supervision:
    def status() -> str:
        if isinstance(daemon, JobRunner):
            return daemon.status()
        snapshot = daemon.telemetry.findings.snapshot
        return status_line(daemon.health.ready(), daemon.mirror.describe(), snapshot, daemon.policy.last)

    watched = Watched(
        ready=lambda: daemon.health.ready().ok,
        alive=lambda: daemon.health.live().ok,
        status=status,
        reading=lambda: None if isinstance(daemon, JobRunner) else daemon.policy.last,
    )
    return Supervision(notifier(), watched, SystemClock(), daemon.telemetry.worry)
