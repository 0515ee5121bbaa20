"""Asking a running daemon: the flags for its address and our credentials, and how commands ask."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from vsched.cli.ask.cluster import USUAL_CLUSTER, ClusterFlags
from vsched.client.target import DEFAULT_DAEMON, DaemonTarget
from vsched.errors import VschedError

if TYPE_CHECKING:  # imported where it is used, so that --help does not load it
    from vsched.client.daemon import DaemonClient

C = TypeVar("C", bound=Callable[..., Any])
T = TypeVar("T")

NAMED = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)
"""The sources by which a user names a daemon."""

_FILE = click.Path(path_type=Path, dir_okay=False)


# -- flags


def daemon_flags(command: C) -> C:
    """Adds the flags for the daemon and the credentials; the command gets them as ``target``."""

    @functools.wraps(command)
    def with_target(**values: Any) -> Any:
        flags = {name: values.pop(f"daemon_{name}") for name in _FLAGS_HELP}
        return command(target=_target(values.pop("daemon"), flags), **values)

    made: Any = with_target
    for name, says_of_flag in reversed(_FLAGS_HELP.items()):
        flag = f"--daemon-{name.replace('_', '-')}"
        kind: Any = {"metavar": "NAME", "default": ""} if name == "server_name" else {"type": _FILE}
        made = click.option(flag, envvar=f"VSCHED_DAEMON_{name.upper()}", help=says_of_flag, **kind)(made)
    made = click.option(
        "--daemon",
        metavar="URL",
        default=DEFAULT_DAEMON,
        show_default=True,
        envvar="VSCHED_DAEMON",
        help="URL of a running daemon (its --listen-address)",
    )(made)
    found: C = made
    return found


_FLAGS_HELP = {
    "token_file": "file with the bearer token to send",
    "ca_file": "CA of its certificate, if it is a private one",
    "cert_file": "client certificate to send",
    "key_file": "key of --daemon-cert-file",
    "server_name": "name on its certificate, if it is reached by another name, as through a port-forward",
}


def _target(given: str, flags: dict[str, Any]) -> DaemonTarget:
    """The target that the flags name; an empty address names none."""
    source = click.get_current_context().get_parameter_source("daemon")
    return DaemonTarget(given or DEFAULT_DAEMON, **flags, named=bool(given) and source in NAMED)


# -- asking


def ask_daemon(target: DaemonTarget, question: Callable[[DaemonClient], Awaitable[T]]) -> T:
    """Ask a running daemon, outside of an event loop; raises what ``DaemonClient`` raises."""
    return asyncio.run(answer_of(target, question))


async def answer_of(target: DaemonTarget, question: Callable[[DaemonClient], Awaitable[T]]) -> T:
    """Ask a running daemon, inside of an event loop."""
    from vsched.client.daemon import DaemonClient

    async with DaemonClient(target) as daemon:
        return await question(daemon)


def target_beside(cluster: ClusterFlags, target: DaemonTarget) -> DaemonTarget | None:
    """The daemon that a command asks which reads a cluster, too.

    None where only a cluster is named: the daemon on this machine may be of another one.
    """
    return target if target.named or cluster == USUAL_CLUSTER else None


async def answer_if_any(target: DaemonTarget | None, question: Callable[[DaemonClient], Awaitable[T]]) -> T | None:
    """What a daemon answers; None without one, or where none was named and none answers. Else as ``answer_of``."""
    if target is None:
        return None
    try:
        return await answer_of(target, question)
    except VschedError:
        if target.named:
            raise
        return None
