"""Shell completion of names, from a running daemon; where none answers at once, nothing is offered."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from vsched.client.target import DEFAULT_DAEMON, DaemonTarget
from vsched.errors import VschedError

QUEUE = "queue/"
"""Precedes the name of a queue where the name of a job is possible, too."""
PATIENCE_SECONDS = 1.0
"""The user has pressed a key and waits."""
MOST = 1_000
"""Names offered at most."""


def queue_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Names of queues."""
    return _starting(incomplete, _known(ctx, "/queues"))


def node_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Names of nodes."""
    return _starting(incomplete, _known(ctx, "/nodes"))


def job_keys(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """``NS/NAME`` of jobs; bare names with ``-n``."""
    keys: Iterable[str] = _known(ctx, "/jobs")
    namespace = ctx.params.get("namespace")
    if namespace and "/" not in incomplete:
        keys = [key.removeprefix(f"{namespace}/") for key in keys if key.startswith(f"{namespace}/")]
    return _starting(incomplete, keys)


def explained(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """What ``vsched explain`` takes: jobs, and queues as ``queue/NAME``."""
    if ctx.params.get("namespace") or not (incomplete.startswith(QUEUE) or QUEUE.startswith(incomplete)):
        return job_keys(ctx, param, incomplete)
    queues = [f"{QUEUE}{name}" for name in _known(ctx, "/queues")]
    return [*job_keys(ctx, param, incomplete), *_starting(incomplete, queues)]


def namespaces(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Namespaces that have jobs."""
    return _starting(incomplete, {key.partition("/")[0] for key in _known(ctx, "/jobs")})


def _starting(incomplete: str, names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if name.startswith(incomplete))[:MOST]


def _known(ctx: click.Context, path: str) -> Mapping[str, Any]:
    """A page of the daemon, a mapping by name; empty where it does not answer."""

    async def once() -> dict[str, Any]:
        from vsched.client.daemon import DaemonClient

        async with DaemonClient(_target(ctx.params), PATIENCE_SECONDS) as daemon:
            return await daemon.get(path)

    try:
        return asyncio.run(once())
    except VschedError:
        return {}


def _target(flags: Mapping[str, Any]) -> DaemonTarget:
    """The daemon named by the words typed so far, by the environment, or the default one."""

    def of(name: str) -> str:
        return str(flags.get(name) or os.environ.get(f"VSCHED_{name.upper()}") or "")

    def file(name: str) -> Path | None:
        found = of(f"daemon_{name}")
        return Path(found) if found else None

    return DaemonTarget(
        of("daemon") or DEFAULT_DAEMON,
        file("token_file"),
        file("ca_file"),
        file("cert_file"),
        file("key_file"),
        of("daemon_server_name"),
    )
